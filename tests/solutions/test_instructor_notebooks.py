"""The instructor's notebooks, solutions included: run once they are green, and run again they say
the same.
"""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.exercise import load_exercises
from autograder.authoring.release import source_notebook
from autograder.course import chapters

ALWAYS = ("ch01_embeddings", "ch04_attention")  # the others are run by `make test-long`
CELL_SECONDS = 120
NO_KERNEL = (
    "Kernel died before replying",
    "Kernel didn't respond",
)  # two that start at once may choose one port
ATTEMPTS = 2  # at starting a kernel; what a cell does is tried once
SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")

stems = pytest.mark.parametrize(
    "stem",
    [pytest.param(stem, marks=[] if stem in ALWAYS else [pytest.mark.long]) for stem in chapters()],
)


def executed(notebook, path):
    """Write a notebook, run it from top to bottom, and return it with its outputs."""
    nbformat.write(notebook, path)
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "notebook",
        "--execute",
        "--inplace",
        path.name,
    ]
    for _ in range(ATTEMPTS):
        ran = subprocess.run(command, cwd=path.parent, capture_output=True, text=True)
        if not any(sentence in ran.stderr for sentence in NO_KERNEL):
            break
    assert ran.returncode == 0, ran.stderr[-3000:]
    return nbformat.read(path, as_version=4)


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


@stems
def test_an_instructors_notebook_is_green_and_says_the_same_again(stem, tmp_path):
    path = tmp_path / f"{stem}.ipynb"
    notebook = executed(source_notebook(stem), path)
    printed = {
        cell.id.removeprefix("check_"): "".join(output.get("text", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.id.startswith("check_")
    }
    assert list(printed) == list(load_exercises(stem))
    for name, exercise in load_exercises(stem).items():
        count = sum(case.visible for case in exercise.cases)
        assert printed[name] == f"\x1b[32m✓ {name}: all {count} cases pass.\x1b[0m\n"
    again = run_again(path)
    assert again.returncode == 0, again.stdout[-3000:] + again.stderr
    assert f"{sum(cell.cell_type == 'code' for cell in notebook.cells)} passed" in again.stdout


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
