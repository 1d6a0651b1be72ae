"""The instructor's notebooks, solutions included: run once they are green, and run again they say
the same.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.authoring.loading import load_exercises
from autograder.authoring.release import source_notebook
from autograder.course import chapters
from autograder.shared.learner import LOADING

TWICE = ("ch04_attention",)  # the others are run again by `make test-long`
CELL_SECONDS = 120
ATTEMPTS = 2  # at starting a kernel: two that start at once may choose one port
SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")
MORE_CASES = {
    "text/plain": "0.0",
    "text/html": "<small>More cases, with fresh numbers, are run when you hand in.</small>",
}

stems = [
    pytest.param(stem, marks=pytest.mark.xdist_group(f"notebook {stem}")) for stem in chapters()
]
stems_run_twice = [
    pytest.param(
        stem,
        marks=[pytest.mark.xdist_group(f"notebook {stem}")]
        + [pytest.mark.long] * (stem not in TWICE),
    )
    for stem in chapters()
]


def executed(notebook, path):
    """Run a notebook from top to bottom, and write it with its outputs."""
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": path.parent}},
    )
    for attempt in range(1, ATTEMPTS + 1):
        try:
            client.execute()
            break
        except RuntimeError:  # of the kernel; what a cell does is tried once
            if attempt == ATTEMPTS:
                raise
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def executed_notebook(tmp_path_factory):
    """A function from a chapter to its notebook, executed once for all tests."""
    folder = tmp_path_factory.mktemp("notebooks")
    return functools.cache(lambda stem: executed(source_notebook(stem), folder / f"{stem}.ipynb"))


def run_again(path):
    """Run an executed notebook under nbval, which compares each cell's outputs with those in the
    file.
    """
    pytest_alone = f"-m pytest -c {os.devnull} --rootdir=. -p no:cacheprovider -q -rf"
    nbval = f"--nbval --nbval-current-env --nbval-cell-timeout={CELL_SECONDS} --nbval-sanitize-with"
    return subprocess.run(
        [sys.executable, *pytest_alone.split(), *nbval.split(), SANITIZE, path.name],
        cwd=path.parent,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )


def outputs_of_a_solved_cell(stem, cell):
    """Return what a cell of an instructor's notebook is to print or to show."""
    kind, _, name = cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("_")
    if kind == "check":
        count = sum(case.visible for case in load_exercises(stem)[name].asked)
        return [f"\x1b[32m✓ {name}: all {count} cases pass.\x1b[0m\n"]
    return [MORE_CASES] if kind == "hidden" else []


def shown_by(cell):
    """Return what a cell printed, as one text however many messages brought it, or else showed; not
    that PyTorch loads a part of itself, which the first check that needs it says.
    """
    printed = "".join(each.text for each in cell.outputs if each.output_type == "stream")
    printed = printed.replace(f"{LOADING}\n", "")
    return [printed] * bool(printed) + [
        each.data for each in cell.outputs if each.output_type != "stream"
    ]


@pytest.mark.parametrize("stem", stems)
def test_an_instructors_notebook_is_green(stem, executed_notebook):
    cells = nbformat.read(executed_notebook(stem), as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    checks = [cell.id.removeprefix("check_") for cell in code if cell.id.startswith("check_")]
    assert checks == list(load_exercises(stem))
    for cell in code:
        assert shown_by(cell) == outputs_of_a_solved_cell(stem, cell), cell.source


@pytest.mark.parametrize("stem", stems_run_twice)
def test_an_instructors_notebook_says_the_same_again(stem, executed_notebook):
    path = executed_notebook(stem)
    cells = nbformat.read(path, as_version=4).cells
    again = run_again(path)
    assert again.returncode == 0, again.stdout[-3000:] + again.stderr
    assert f"{sum(cell.cell_type == 'code' for cell in cells)} passed" in again.stdout


def test_another_output_is_a_difference_and_another_time_or_address_is_none(tmp_path):
    sources = [
        "print('took', f'{time.perf_counter():.3f} s')",
        "print(object())",
        "print(random.random())",
    ]
    cells = [nbformat.v4.new_code_cell(source) for source in ("import random, time", *sources)]
    path = tmp_path / "drifting.ipynb"
    executed(nbformat.v4.new_notebook(cells=cells), path)
    again = run_again(path)
    assert again.returncode == 1
    assert "1 failed, 3 passed" in again.stdout
    assert "drifting.ipynb::Cell 3" in again.stdout
