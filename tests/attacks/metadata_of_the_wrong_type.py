"""Puts lists, numbers and nothing where a notebook has its metadata, its cells' metadata and its
sources.
"""


def hand_in(notebook):
    oddities = [
        [],
        7,
        None,
        "x",
        {"nbgrader": []},
        {"nbgrader": {"grade_id": []}},
        {"nbgrader": {"grade_id": {}}},
    ]
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = oddities[number % len(oddities)]
        cell["outputs"] = cell["execution_count"] = oddities[-number % len(oddities)]
    notebook["cells"] += [*oddities, {"cell_type": "code", "source": oddities}]
    notebook["metadata"], notebook["nbformat"], notebook["nbformat_minor"] = [], "4", None
    return notebook
