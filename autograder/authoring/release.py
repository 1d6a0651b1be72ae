"""From `solutions/chNN_x.py` to the notebook that learners get.

An author writes `exercise="softmax" points=2` on a cell. Here that becomes nbgrader's metadata, the
statement before it is locked, and the check and hidden cells are added after it; nbgrader's own
`generate_assignment` then takes the solutions out.
"""

import logging
import re

import jupytext
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.authoring.loading import load_exercises, solution_sources
from autograder.authoring.released import WRITTEN, modules_imported, solutions_in
from autograder.authoring.visible_cases import write_visible_cases
from autograder.course import BUILD, NOTEBOOKS, ROOT, CourseError, chapters, repository, source_of
from autograder.shared.visible import VISIBLE
from autograder.term.questions import read_questions

STUB = "raise NotImplementedError"
ANSWER = "*Write your answer here, in place of this sentence.*"
CHECK_IMPORT = "from autograder import check"
COURSE = "autograder"  # the module that tells whether the course is there
LOOK_FOR_COURSE = """\
# A notebook opened alone has no course beside it. Where the course is installed, this cell does
# nothing.
from importlib.util import find_spec

if not find_spec("{course}"):
    raise ImportError(
        "this notebook needs its course: get the course's whole folder, type `make lab` in it, "
        "and open your copy there"
    )
"""
GET_COURSE = """\
# A notebook opened alone, as on Colab, gets here what it needs. Where the course is installed,
# this cell does nothing.
from importlib.util import find_spec

needed = {needed}
if missing := [package for module, package in needed.items() if not find_spec(module)]:
    get_ipython().run_line_magic("pip", "install --quiet " + " ".join(missing))
"""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def release(stem, notebooks=NOTEBOOKS, visible=VISIBLE):
    """Write a chapter's notebook and the visible side of its checks.

    Args:
        notebooks: folder that gets `<stem>/<stem>.ipynb`.
        visible: folder that gets `<stem>.json`.

    Returns:
        the path of the notebook.

    Raises:
        CourseError: if source and checks do not name the same exercises, or the source lacks a
            part.
    """
    source = source_notebook(stem)
    require_same_exercises(stem, source)
    path = BUILD / "source" / stem / f"{stem}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(source, path)
    generate_assignment(stem, notebooks)
    write_visible_cases(stem, visible)
    return notebooks / stem / f"{stem}.ipynb"


def source_notebook(stem):
    """Return a chapter's source as a notebook with nbgrader's metadata, solutions included."""
    notebook = jupytext.read(source_of(stem))
    cells = []
    for cell in notebook.cells:
        exercise, points = cell.metadata.get("exercise"), cell.metadata.get("points")
        cell.metadata = {}
        cells.append(cell)
        if exercise is not None:
            cells += exercise_cells(stem, exercise, points, statement=cells[-2], solution=cell)
    setup = setup_cell(stem, cells)
    cells += question_cells(stem)
    for index, cell in enumerate(cells):
        cell["id"] = cell.metadata.get("nbgrader", {}).get("grade_id", f"cell-{index}")
    cells.insert(cells.index(setup), course_cell(setup.source))
    setup.source = f"{setup.source}\n\n{CHECK_IMPORT}"
    notebook.cells = cells
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat_minor = 5
    return notebook


def exercise_cells(stem, exercise, points, statement, solution):
    """Mark the statement and the solution of an exercise; return the check and hidden cells to add
    after them.
    """
    if statement.cell_type != "markdown":
        raise CourseError(
            f"{source_of(stem)}: put the statement of {exercise!r} in a markdown cell right"
            " before it"
        )
    if not isinstance(points, int | float) or points <= 0:
        raise CourseError(
            f"{source_of(stem)}: {exercise!r} needs points=..., a number above 0, and has"
            f" {points!r}"
        )
    statement.metadata = nbgrader_metadata(f"about_{exercise}", locked=True)
    solution.metadata = nbgrader_metadata(exercise, solution=True)
    check = new_code_cell(f'check("{exercise}")')
    check.metadata = nbgrader_metadata(
        f"check_{exercise}", grade=True, locked=True, points=points / 2
    )
    hidden = new_code_cell(f'check("{exercise}", hidden=True)  # graded when you hand in')
    hidden.metadata = nbgrader_metadata(
        f"hidden_{exercise}", grade=True, locked=True, points=points / 2
    )
    return [check, hidden]


def question_cells(stem):
    """Return the cells of a class's own questions about a chapter, which are answered in words."""
    names = [name for each in chapters() for name in solution_sources(each)]
    questions = [each for each in read_questions(chapters(), names).values() if each.stem == stem]
    cells = [new_markdown_cell("## In words")] if questions else []
    for question in questions:
        worth = f"{question.points:g} point{'s' * (question.points != 1)}"
        asks = new_markdown_cell(
            f"### `{question.name}`\n\n{question.asks}\n\n*{worth}; a person marks it.*"
        )
        asks.metadata = nbgrader_metadata(f"about_{question.name}", locked=True)
        answer = new_markdown_cell(ANSWER)
        answer.metadata = nbgrader_metadata(
            f"{WRITTEN}{question.name}", grade=True, solution=True, points=question.points
        )
        cells += [asks, answer]
    return cells


def nbgrader_metadata(grade_id, *, grade=False, solution=False, locked=False, points=None):
    """Return the metadata of one cell in nbgrader's schema 3."""
    nbgrader = {
        "grade": grade,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        nbgrader["points"] = points
    return nbformat.from_dict({"nbgrader": nbgrader})


def setup_cell(stem, cells):
    """Return the setup cell, the first one of code. It does not import `check` in a source, so that
    a reference imports no grader.
    """
    setup = next((cell for cell in cells if cell.cell_type == "code"), None)
    if setup is None or "nbgrader" in setup.metadata:
        raise CourseError(
            f"{source_of(stem)}: the first code cell must be the setup cell with the imports"
        )
    return setup


def course_cell(setup, published=None):
    """Return the cell that stands before the setup cell, for a notebook opened alone. It costs a
    notebook that is not alone a millisecond.

    It carries nothing of nbgrader's: a gradebook with submissions to a release without it takes no
    other cells.

    Args:
        setup: the setup cell's source; what it imports is needed.
        published: (address, branch) of the course's repository; those of `_config.yml` if None.
    """
    address, branch = published or repository()
    if address:
        pins = pinned_packages()
        modules = dict.fromkeys(name.split(".")[0] for name in modules_imported(setup))
        needed = {module: pins[module] for module in modules if module in pins}
        needed[COURSE] = f"git+{address}@{branch}"
        lines = [f'    "{module}": "{package}",' for module, package in needed.items()]
        source = GET_COURSE.format(needed="\n".join(["{", *lines, "}"]))
    else:
        source = LOOK_FOR_COURSE.format(course=COURSE)
    cell = new_code_cell(source.rstrip(), id="course")
    cell.metadata = nbformat.from_dict({"deletable": False, "editable": False})
    return cell


def pinned_packages():
    """Return the lines of requirements.txt without their reasons, "numpy==2.4.6", by the package's
    name.
    """
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return {
        match[1]: match[0] for line in lines if (match := re.match(r"([\w.-]+)==[\w.+-]+", line))
    }


def require_same_exercises(stem, source):
    """Raise a CourseError unless the source and the checks of a chapter name the same exercises."""
    ids, checks = list(solutions_in(source)), list(load_exercises(stem))
    if ids != checks:
        raise CourseError(
            f"solutions/{stem}.py has the exercises {ids}, autograder/checks/{stem}/ has"
            f" {checks}: they must be the same, in the same order"
        )


def generate_assignment(stem, notebooks):
    """Run nbgrader's `generate_assignment` from `_build/source` to a folder of notebooks, without a
    gradebook.
    """
    config = Config()
    config.CourseDirectory.root = str(ROOT)
    config.CourseDirectory.source_directory = str(BUILD / "source")
    config.CourseDirectory.release_directory = str(notebooks)
    config.CourseDirectory.assignment_id = stem
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.text_stub = ANSWER
    config.SaveCells.enabled = False
    config.GenerateAssignment.no_database = True
    config.GenerateAssignment.force = True
    converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
    converter.log.setLevel(logging.ERROR)
    converter.start()
