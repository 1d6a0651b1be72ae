"""What the grader itself causes in a learner's process is not charged to the learner."""

import subprocess
import sys

import nbformat
import pytest

from autograder.course import ROOT
from autograder.grading.grade import Limits, grade_notebook
from autograder.grading.handed_in.submission import rebuild, submission_of
from autograder.reporting.record import outcomes_of
from tests.conftest import solved_notebook

STEM = "ch09_training"
SHORT = Limits(case=1.0, exercise=4.0)  # torch's compiler, which an optimizer loads, takes longer


# Prints what a case loads when a mask is made as most people make it.
ON_ANOTHER_DEVICE = """
import importlib, sys, torch
from autograder.shared.probes import observe
from autograder.shared.probes.stand_ins import modules_for
from autograder.shared.visible import read_visible_cases
def causal_mask(seq_len, device=None):
    return torch.ones(1, 1, seq_len, seq_len, dtype=torch.bool).tril()
cases = read_visible_cases("ch06_masking")["causal_mask"].cases
[case] = [each for each in cases if each.probe == "device_kept"]
for name in modules_for(case):
    importlib.import_module(name)
before = set(sys.modules)
observe(case.probe, causal_mask, case.inputs)
print(sorted({name for name in set(sys.modules) - before if name.startswith("torch._dynamo")}))
"""


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


def test_a_cell_that_is_gone_is_told_from_a_function_that_is_called_otherwise(sandbox):
    stem = "ch04_attention"
    own = solved_notebook(stem, {"softmax": "def soft_max(scores):\n    return scores"})
    gone, elsewhere = "attention_scores", "softmax_backward"
    moved = next(each for each in own.cells if is_cell_of(elsewhere, each))
    moved.metadata.pop("nbgrader")
    own.cells = [each for each in own.cells if not is_cell_of(gone, each)]
    notebook = rebuild(stem, submission_of(f"{stem}.ipynb", nbformat.writes(own).encode()))
    grade_notebook(notebook, stem, "ada", seed=b"any")
    outcomes = outcomes_of(notebook.metadata["autograder"])
    assert outcomes["softmax"].cases[0]["message"] == "softmax is not defined."
    assert (
        outcomes[gone]
        .cases[0]["message"]
        .startswith(
            f"{gone} is not defined, because its cell is missing from the notebook that was handed in;"
        )
    )
    assert outcomes[elsewhere].score == outcomes[elsewhere].points  # in a cell of their own


def is_cell_of(exercise, cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id") == exercise


def test_what_another_default_device_loads_takes_none_of_a_cases_time():
    ran = subprocess.run(
        [sys.executable, "-c", ON_ANOTHER_DEVICE], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.stdout == "[]\n", ran.stderr
