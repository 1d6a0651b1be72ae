"""Turns graded cells into text, text into code and solutions into kinds of cell that do not
exist.
"""


def hand_in(notebook):
    kinds = {"code": "markdown", "markdown": "code"}
    for number, cell in enumerate(notebook["cells"]):
        cell["cell_type"] = "heading" if number % 5 == 0 else kinds[cell["cell_type"]]
        cell["metadata"]["nbgrader"] = {
            **cell["metadata"].get("nbgrader", {}),
            "cell_type": "raw",
            "task": True,
        }
    return notebook
