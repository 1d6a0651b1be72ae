"""Tags the graded cells so that they are neither run nor shown nor kept."""


def hand_in(notebook):
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = [
            "skip-execution",
            "remove-cell",
            "raises-exception",
            "parameters",
            "hide-input",
        ]
        cell["metadata"]["deletable"] = False
    return notebook
