"""What a class wrote down before the modules had rooms still works: its private cases, and its own
`nbgrader_config.py`.
"""

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("exercise", "authoring.exercise", ["Case", "Exercise", "Misconception"]),
        ("probes", "shared.probes", ["arguments_after", "gradients", "returned"]),
        ("wire", "shared.wire", ["unmasked"]),
        ("preprocessors", "grading.nbgrader_plugin", ["GradeExercises", "SubmissionExporter"]),
    ],
)
def test_the_old_name_gives_the_same_thing(old, new, names):
    before, now = import_module(f"autograder.{old}"), import_module(f"autograder.{new}")
    assert all(getattr(before, name) is getattr(now, name) for name in names)
