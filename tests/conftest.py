"""What several tests share."""

import functools
import os

os.environ["OMP_NUM_THREADS"] = (
    "1"  # before torch is imported: the workers share the cores, and sums depend on the number of threads
)

import nbformat
import pytest

from autograder.course import CourseError
from autograder.judge import judge
from autograder.probes import observe
from autograder.sample_class import notebook_with, solution_sources
from autograder.sandbox import Sandbox
from autograder.wire import decode, encode


def judged(prepared, implementation):
    """Judge an implementation on prepared cases, as the grader would, without a kernel."""
    return judge(
        prepared, [observe(case.probe, implementation, decode(encode(case.inputs))) for case in prepared.cases]
    )


def solved_notebook(stem, changes=None, extra_cells=()):
    """Return a chapter's notebook as a learner hands it in.

    Args:
        changes: source by exercise, instead of the right one; None leaves the stub.
        extra_cells: sources of code cells added after the setup cell.
    """
    notebook = notebook_with(stem, {**solution_sources(stem), **(changes or {})})
    notebook.cells[2:2] = [nbformat.v4.new_code_cell(source) for source in extra_cells]
    return notebook


def hand_in(folder, learner, stem, notebook, name=None, below="submitted"):
    """Write a notebook, or any text, where nbgrader looks for submissions; return its path."""
    path = folder / below / learner / stem / (name or f"{stem}.ipynb")
    path.parent.mkdir(parents=True)
    path.write_text(notebook if isinstance(notebook, str) else nbformat.writes(notebook), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def course_folder(tmp_path_factory):
    """A folder for submissions, grades and a gradebook of their own."""
    return tmp_path_factory.mktemp("class")


@functools.cache
def why_no_sandbox():
    """Return why there is no sandbox on this machine, or None where there is one."""
    try:
        with Sandbox("ch01_embeddings") as sandbox:
            sandbox.wait_until_ready()
    except CourseError as error:
        return str(error)


@pytest.fixture(scope="session")
def sandbox():
    """Skip what cannot be tried without a sandbox, and say why there is none."""
    if why_no_sandbox():
        pytest.skip(why_no_sandbox())
