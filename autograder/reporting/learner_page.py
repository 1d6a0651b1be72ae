"""Each learner's feedback page, straight from the graded notebook: the template of `nbgrader
generate_feedback`, without its database.
"""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from autograder.authoring.released import stubs
from autograder.reporting.record import group_in, late_in, outcomes_of
from autograder.shared.wire import unmasked

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
NO_RESPONSE = "No response."  # how nbgrader says that a cell is as it was released


def feedback_page(learner, stem, notebook):
    """Return a learner's page as HTML, in which whatever they wrote or printed is text.

    Args:
        learner: their name, as the folder of the submission has it.
        stem: the chapter.
        notebook: the graded notebook, as a dictionary or NotebookNode; it is not changed.
    """
    record = notebook["metadata"]["autograder"]
    cells = {cell["cell"]: cell for cell in record["cells"]}
    outcomes = outcomes_of(record)
    late = late_in(record)
    penalty = late.penalty if late else 0
    about = {
        "notebook": stem,
        "student": learner,
        "score": round(sum(outcome.score for outcome in outcomes.values()) - penalty, 2),
        "max_score": sum(outcome.points for outcome in outcomes.values()),
        "late_penalty": penalty,
        "late": late,
        "group": group_in(record),
        "outcomes": outcomes,
    }
    returned = [as_returned(cell, stem, cells, notebook) for cell in notebook["cells"]]
    shown = {"metadata": notebook["metadata"], "cells": returned}
    return (
        environment()
        .get_template("course_feedback/index.html.j2")
        .render(nb=shown, resources={"nbgrader": about})
    )


def as_returned(cell, stem, graded, notebook):
    """Return a cell with what nbgrader takes from its gradebook: the score of a graded cell, the
    comment on a solution.
    """
    nbgrader = cell["metadata"].get("nbgrader")
    if not nbgrader:
        return cell
    name, more = nbgrader.get("grade_id"), {}
    if name in graded:
        more = {"score": graded[name]["score"], "points": graded[name]["points"]}
    elif nbgrader.get("solution") and not nbgrader.get("grade"):
        untouched = cell["source"] == stubs(stem).get(name) and not notebook["metadata"][
            "autograder"
        ].get("problem")
        more = {"comment": NO_RESPONSE if untouched else None}
    return {**cell, "metadata": {**cell["metadata"], "nbgrader": {**nbgrader, **more}}}


def without_code(notebook, reason):
    """Return a graded notebook with nothing in it that the learner wrote or printed; what is
    returned says the reason instead.
    """
    shown = f"It is not shown here: {reason}."
    cells = [{**cell, "source": shown, "outputs": []} for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


@cache
def environment():
    """Return the templates' environment: everything that they show is escaped."""
    made = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    made.filters["unmasked"] = lambda value: unmasked(str(value))
    return made
