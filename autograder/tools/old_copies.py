"""A learner's copy outlives the release that it was made from. Here the two are told apart: what in
a copy is the course's, and of which release; what is the learner's, and where it goes in a fresh
copy.
"""

import ast
import copy
import re
from dataclasses import dataclass

import nbformat
from nbformat.v4 import new_code_cell

from autograder.authoring.released import about, carries_points, is_solution, is_written
from autograder.grading.handed_in.submission import grade_id_of
from autograder.tools.definitions import (
    changed_signatures,
    defined_in,
    names_bound,
    with_docstrings_of,
)

GIVEN = re.compile(r"cell-\d+|course")  # how a release calls the cells that nbgrader has no id for
KIND = re.compile(r"(about|check|hidden|written)_")
SETUP = "the cells above the exercises"


@dataclass(frozen=True)
class Renewed:
    """A fresh copy, and what became of what was in the old one.

    Args:
        notebook: the release, with the learner's answers and their own cells.
        answers: exercises whose answers it has.
        new: exercises that the old copy did not have.
        gone: exercises that the release no longer has, and whose answers are now plain cells.
        own: how many other cells of the learner's it has.
        signatures: (function or method, the release's signature, the answer's) where they differ.
    """

    notebook: nbformat.NotebookNode
    answers: list[str]
    new: list[str]
    gone: list[str]
    own: int
    signatures: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Sorted:
    """The cells of a copy, sorted by what the release knows of them.

    Args:
        known: the copy's cell for each `grade_id` of the release; a solution cell is known by the
            function that it defines where its id is another.
        own: (place, cell) of each other cell that goes on; `place` counts the release's cells down
            to the one that it follows, 0 for none.
        gone: the course's cells that the release does not have.
        unnamed_code: sources of the copy's code cells that nbgrader has no id for.
    """

    known: dict[str, nbformat.NotebookNode]
    own: list[tuple[int, nbformat.NotebookNode]]
    gone: list[nbformat.NotebookNode]
    unnamed_code: list[str]


def is_of_course(notebook, release):
    """Return whether a notebook began as a copy of this chapter's, of whatever release."""
    ids = {grade_id_of(cell) for cell in release.cells} - {None}
    checks = {cell.source for cell in release.cells if carries_points(cell)}
    return any(grade_id_of(cell) in ids or cell.source in checks for cell in notebook.cells)


def differences(notebook, release):
    """Name the exercises in which the course's part of a copy is not the release's: locked cells,
    stubs and docstrings; and the cells above the exercises, where one lacks a line of theirs.

    What a learner may change counts for nothing: a solution's code, cells of their own, the prose
    between the exercises, lines that they added to the imports.
    """
    parts = sort_cells(notebook, release)
    names = [exercise_of(cell) for cell in parts.gone]
    for cell in release.cells:
        grade_id = grade_id_of(cell)
        if is_given_code(cell) and not lines_of(cell.source) <= lines_of(*parts.unnamed_code):
            names.append(SETUP)
        elif grade_id and (grade_id not in parts.known or is_older(parts.known[grade_id], cell)):
            names.append(exercise_of(cell))
    return list(dict.fromkeys(names))


def lines_of(*sources):
    """Return the lines of sources as a set."""
    return {line.rstrip() for source in sources for line in source.splitlines()}


def renew(notebook, release):
    """Carry what a learner wrote from their copy into a fresh one; neither argument is changed."""
    parts = sort_cells(notebook, release)
    fresh = copy.deepcopy(release)
    fresh.metadata.update(notebook.metadata)  # their choice of kernel
    answers, new, signatures = [], [], []
    for cell in filter(is_solution, fresh.cells):
        exercise = grade_id_of(cell)
        if exercise not in parts.known:
            new.append(exercise_of(cell))
        elif is_begun(parts.known[exercise], cell):
            answers.append(exercise_of(cell))
            theirs = with_docstrings_of(cell.source, parts.known[exercise].source)
            signatures += changed_signatures(cell.source, theirs)
            cell.source = theirs
    cells = []
    for place, cell in enumerate([None, *fresh.cells]):
        cells += [cell] if cell else []
        cells += [as_own(each) for where, each in parts.own if where == place]
    fresh.cells = with_ids_of_their_own(cells)
    gone = [exercise_of(cell) for cell in parts.gone if is_answer(cell)]
    return Renewed(fresh, answers, new, gone, len(parts.own) - len(gone), signatures)


def as_own(cell):
    """Return a cell as one of the learner's own, which nbgrader does not look at."""
    own = copy.deepcopy(cell)
    for key in ("nbgrader", "deletable", "editable"):
        own.metadata.pop(key, None)
    return own


def with_ids_of_their_own(cells):
    """Return cells of which no two have the same id; the first one keeps it."""
    seen = set()
    for cell in cells:
        if cell.get("id") is None or cell.id in seen:
            cell["id"] = new_code_cell().id
        seen.add(cell.id)
    return cells


def sort_cells(notebook, release):
    """Tell the course's cells in a copy from the learner's.

    Of several cells for one exercise the last is the answer, as when it is graded; the others are
    the learner's own.
    """
    ids = [grade_id_of(cell) for cell in release.cells]
    told = names_of(notebook.cells, release)
    last = {grade_id: index for index, grade_id in enumerate(told)}
    parts, place = Sorted({}, [], [], []), 0
    for index, (cell, grade_id) in enumerate(zip(notebook.cells, told, strict=True)):
        if grade_id in ids and grade_id and last[grade_id] == index:
            place = ids.index(grade_id) + 1
            parts.known[grade_id] = cell
        elif grade_id in ids and grade_id:
            parts.own.append((place, cell))
        elif grade_id:
            parts.gone.append(cell)
            parts.own.extend([(place, cell)] if is_answer(cell) else [])
        else:
            place = place_of_given(cell, release) or place
            parts.unnamed_code.extend([cell.source] if cell.cell_type == "code" else [])
            parts.own.extend((place, each) for each in theirs_in(cell, release))
    return parts


def names_of(cells, release):
    """Return for each cell of a copy the `grade_id` that it has, or must have lost; None for a cell
    that the course has no name for.

    Where an id is missing, it is that of a cell that kept its other id, that has the text of the
    release, or that defines the function; the cells around an exercise follow its solution cell.
    """
    ids = {grade_id_of(cell): cell for cell in release.cells if grade_id_of(cell)}
    texts = {cell.source: grade_id for grade_id, cell in ids.items()}
    solutions = {grade_id: cell for grade_id, cell in ids.items() if is_solution(cell)}
    asked = {
        defined_in(cell.source)[-1]: grade_id
        for grade_id, cell in solutions.items()
        if not is_written(cell)
    }
    guesses = [
        lambda cell: [cell.get("id")],
        lambda cell: [texts.get(cell.source)],
        lambda cell: [asked.get(name) for name in defined_in(cell.source)],
    ]
    told = [grade_id_of(cell) for cell in cells]
    for guess in guesses:
        missing = ids.keys() - set(told)
        for index, cell in enumerate(cells):
            if told[index] not in ids:
                told[index] = next(filter(missing.__contains__, guess(cell)), told[index])
    renamed = {
        grade_id_of(cell): new for cell, new in zip(cells, told, strict=True) if new in solutions
    }
    for index, cell in enumerate(cells):
        if told[index] not in ids and exercise_of(cell) in renamed.keys() - {None}:
            told[index] = KIND.match(told[index])[0] + renamed[exercise_of(cell)]
    return told


def exercise_of(cell):
    """Return the exercise that one of the course's cells belongs to; None for other cells."""
    grade_id = grade_id_of(cell)
    named = is_solution(cell) and not is_written(cell)
    return grade_id if named or not grade_id else KIND.sub("", grade_id, count=1)


def is_answer(cell):
    """Return whether this is a solution cell in which a learner has written something."""
    return is_solution(cell) and not is_untouched(cell)


def place_of_given(cell, release):
    """Return the place, counted from 1, of the release's cell without a `grade_id` that this is a
    copy of, or None.
    """
    for place, given in enumerate(release.cells, 1):
        same_id = cell.get("id") == given.id and cell.cell_type == "code"
        if not grade_id_of(given) and (same_id or cell.source.rstrip() == given.source.rstrip()):
            return place
    return None


def theirs_in(cell, release):
    """Return what goes on of a cell that nbgrader has no id for: all of a learner's own, what they
    added to one of the course's.
    """
    if place_of_given(cell, release) is None and not GIVEN.fullmatch(cell.get("id", "")):
        return [cell]
    added = added_statements(cell, release) if cell.cell_type == "code" else ""
    return [new_code_cell(added)] if added else []


def is_given_code(cell):
    """Return whether a release's cell holds code that exercises rest on, such as the imports."""
    return cell.cell_type == "code" and not grade_id_of(cell) and cell.id != "course"


def added_statements(cell, release):
    """Return what a learner added to a cell of imports: each statement of it that the release does
    not have, and that makes no name which the release makes.
    """
    there = "\n".join(each.source for each in release.cells if is_given_code(each))
    if cell.get("id") == "course":
        return ""
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:  # a magic of IPython's, or a line that is being written
        return "" if cell.source.rstrip() in there else cell.source
    known = set(names_bound(ast.parse(there).body))
    statements = [(node, ast.get_source_segment(cell.source, node)) for node in tree.body]
    return "\n".join(
        text
        for node, text in statements
        if text not in there and known.isdisjoint(names_bound([node]))
    )


def is_older(cell, released):
    """Return whether the course's part of a cell is not the release's."""
    if not is_solution(released):
        return cell.source.rstrip() != released.source.rstrip()
    renewed = with_docstrings_of(released.source, cell.source)
    recorded = recorded_checksum(cell)
    if recorded == recorded_checksum(released):  # what they changed since then is theirs
        return renewed == released.source != cell.source
    return recorded is not None or renewed != cell.source


def is_begun(cell, released):
    """Return whether a solution cell holds more than a stub."""
    renewed = with_docstrings_of(released.source, cell.source)
    return renewed != released.source and not is_untouched(cell)


def is_untouched(cell):
    """Return whether a cell is as its release had it, by the checksum that nbgrader wrote then."""
    from nbgrader.utils import compute_checksum  # takes a second, and most copies are of today

    return recorded_checksum(cell) is not None and recorded_checksum(cell) == compute_checksum(cell)


def recorded_checksum(cell):
    """Return the checksum that nbgrader wrote into a cell when it was released, or None."""
    return about(cell).get("checksum")
