"""What the grader itself causes in a learner's process is not charged to the learner."""

import nbformat
import pytest

from autograder.grading.grade import Limits, grade_notebook
from autograder.grading.handed_in.submission import rebuild, submission_of
from autograder.reporting.record import outcomes_of
from tests.conftest import solved_notebook

STEM = "ch09_training"
SHORT = Limits(case=1.0, exercise=4.0)  # torch's compiler, which an optimizer loads, takes longer


def graded(unsandboxed):
    """Return the outcome of a right `train_step`, graded with little time for a case."""
    own = solved_notebook(STEM)
    notebook = rebuild(STEM, submission_of(f"{STEM}.ipynb", nbformat.writes(own).encode()))
    grade_notebook(notebook, STEM, "ada", SHORT, unsandboxed, seed=b"any")
    return outcomes_of(notebook.metadata["autograder"])["train_step"]


@pytest.mark.parametrize("unsandboxed", [False, True])
def test_what_an_optimizer_loads_takes_none_of_a_cases_time(request, unsandboxed):
    if not unsandboxed:
        request.getfixturevalue("sandbox")
    outcome = graded(unsandboxed)
    assert [case["message"] for case in outcome.cases if not case["passed"]] == []
    assert outcome.score == outcome.points
