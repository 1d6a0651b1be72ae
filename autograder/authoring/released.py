"""A chapter's released notebook, and what its cells are: read once, for all who ask.

The functions on cells take those of a notebook on disk, dictionaries, as well as NotebookNodes.
"""

import ast
from functools import cache

import nbformat

from autograder.course import chapters, notebook_of

MISSING = "# This cell was missing from the notebook that was handed in."
WRITTEN = "written_"  # begins the ids of answers in words
ADDED = "extra-"  # begins the ids of the cells that a learner added; the release has none of these


@cache
def released(stem):
    """Return a chapter's released notebook. It is shared: copy it before you change it."""
    return nbformat.read(notebook_of(stem), as_version=4)


def about(cell):
    """Return nbgrader's metadata of a cell; {} where it has none."""
    return cell["metadata"].get("nbgrader", {})


def is_solution(cell):
    """Return whether a cell is one that the learner completes."""
    return about(cell).get("solution", False)


def carries_points(cell):
    """Return whether a cell is a check or a hidden one."""
    return about(cell).get("grade", False) and not is_solution(cell)


def is_written(cell):
    """Return whether a cell is the answer to a question that a person marks."""
    return about(cell).get("grade", False) and is_solution(cell)


def is_added(cell):
    """Return whether a cell was added by the learner; `autograder.grading.handed_in.submission`
    names them.
    """
    return (
        cell["cell_type"] == "code"
        and "nbgrader" not in cell["metadata"]
        and cell.get("id", "").startswith(ADDED)
    )


def graded_cells(notebook):
    """Return the cells that carry points."""
    return [cell for cell in notebook["cells"] if carries_points(cell)]


@cache
def stubs(stem):
    """Return the source of each solution cell as it was released, by exercise."""
    return solutions_in(released(stem))


def solutions_in(notebook):
    """Return the source of each solution cell of a notebook, by exercise."""
    return {
        about(cell)["grade_id"]: cell["source"]
        for cell in notebook["cells"]
        if is_solution(cell) and not is_written(cell)
    }


def written_in(notebook):
    """Return the cells of a notebook that answer a question in words, by the question's name."""
    return {
        about(cell)["grade_id"].removeprefix(WRITTEN): cell
        for cell in notebook["cells"]
        if is_written(cell)
    }


@cache
def exercises_by_name():
    """Return (chapter, points) of each exercise of the course, by its name."""
    found = {}
    for stem in ids_by_chapter():
        for cell in graded_cells(released(stem)):
            name = about(cell)["grade_id"].split("_", 1)[1]
            found[name] = stem, found.get(name, (stem, 0))[1] + about(cell)["points"]
    return found


@cache
def grade_ids(stem):
    """Return the ids of the released notebook's statements, solutions and checks."""
    return {about(cell)["grade_id"] for cell in released(stem).cells if about(cell)}


@cache
def ids_by_chapter():
    """Return the same of each chapter that has been released, dict[str, set[str]]."""
    return {stem: grade_ids(stem) for stem in chapters() if notebook_of(stem).exists()}


@cache
def title_of(stem):
    """Return a chapter's title, as its notebook has it."""
    for cell in released(stem).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("# "):
            return cell.source.split("\n")[0].removeprefix("# ")
    return stem


def modules_of_notebook(stem):
    """Return the names of the modules that a chapter's released notebook imports."""
    cells = [cell for cell in released(stem).cells if cell.cell_type == "code"]
    return list(dict.fromkeys(name for cell in cells for name in modules_imported(cell.source)))


def modules_imported(source):
    """Return the names of the modules that a piece of Python imports, in order, each once."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module)
    return list(dict.fromkeys(names))
