"""Gives its own cells the ids of graded cells, of statements and of nobody, before and behind the
real ones.
"""


def hand_in(notebook):
    for grade_id in (
        "hidden_softmax",
        "check_softmax",
        "softmax",
        "about_softmax",
        "hidden_nothing",
        "",
        "../x",
        "check_",
    ):
        nbgrader = {
            "grade": True,
            "grade_id": grade_id,
            "points": 10,
            "locked": True,
            "schema_version": 3,
            "solution": True,
        }
        cell = {
            "cell_type": "code",
            "source": "10.0",
            "metadata": {"nbgrader": nbgrader},
            "outputs": [],
            "id": "same",
        }
        notebook["cells"].insert(0, cell)
        notebook["cells"].append(cell)
    return notebook
