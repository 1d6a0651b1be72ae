"""The sliders that a notebook offers: each turns the learner's own function, from end to end, and a
function that is not there yet stops nothing.
"""

import importlib
import itertools
import json
import re

import ipywidgets
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from autograder.authoring.loading import load_exercises
from autograder.course import ROOT, chapters


def offered(stem):
    """Return the Python of a notebook's texts that offers a slider."""
    notebook = ROOT / "notebooks" / stem / f"{stem}.ipynb"
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    blocks = re.findall(r"^```python\n(.*?)^```", "\n".join(texts), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if "@interact" in block]


def ends(knob):
    """Return the values of a knob that are tried: all of a list, both ends of a range."""
    return knob if isinstance(knob, list) else knob[:2]


@pytest.fixture
def names(monkeypatch):
    """Return a function that gives the names of a chapter's notebook, before learners begin or
    after.
    """
    mpl.use("agg")
    monkeypatch.setattr(plt, "show", plt.close)

    def given(stem, finished):
        found = dict(vars(importlib.import_module(f"solutions.{stem}")))
        for name in () if finished else load_exercises(stem):
            found[name] = not_begun
        return found

    return given


def not_begun(*arguments, **options):
    raise NotImplementedError


@pytest.mark.parametrize("stem", chapters())
def test_a_notebook_has_a_knob_that_turns_from_end_to_end(stem, names, monkeypatch, capsys):
    turned = []

    def interact(**knobs):
        def turn(function):
            for values in itertools.product(*map(ends, knobs.values())):
                function(**dict(zip(knobs, values, strict=True)))
                turned.append(capsys.readouterr().out)
            function()  # with its own defaults
            return function

        return turn

    monkeypatch.setattr(ipywidgets, "interact", interact)
    for block in offered(stem):
        exec(block, names(stem, finished=True))
    assert len(set(turned)) > 1 or "plt.plot" in "".join(offered(stem))


@pytest.mark.parametrize("stem", chapters())
def test_a_knob_of_a_function_that_is_not_there_yet_stops_nothing(stem, names):
    for block in offered(stem):
        exec(block, names(stem, finished=False))
