"""Names a kernel, a language and a preprocessor of its own in the notebook's metadata."""


def hand_in(notebook):
    spec = {
        "name": "../../evil",
        "display_name": "<b>x",
        "language": "bash",
        "argv": ["/bin/sh", "-c", "touch /tmp/attacks-were-here"],
    }
    notebook["metadata"] = {
        "kernelspec": spec,
        "language_info": {"name": "bash", "nbconvert_exporter": "os.system"},
    }
    notebook["metadata"]["jupytext"] = {"text_representation": {"extension": ".sh"}}
    return notebook
