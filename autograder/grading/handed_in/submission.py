"""What a learner handed in, read without trusting it, and laid over the released notebook.

The structure (cells, ids, points, order) comes from the release; from the learner come the sources
of solution cells and of code cells that they added. A file that cannot be read becomes a blank
notebook with the reason, and grading goes on.
"""

import codecs
import copy
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import nbformat
from nbformat.v4 import new_code_cell

from autograder.authoring.released import ADDED, MISSING, ids_by_chapter, is_solution, released
from autograder.grading.handed_in.files import as_utf8, find_notebook, read_bytes
from autograder.grading.handed_in.numbers_of_python import without_nan
from autograder.shared.wire import printable

LARGEST_SOURCE = 200_000  # characters in one cell
LARGEST_CODE = 2_000_000  # characters in all cells
LARGEST_PART = 12 * LARGEST_SOURCE  # bytes of JSON; a character takes up to twelve
MOST_CELLS = 1_000
GRADE_ID = re.compile(rb'"grade_id"\s*:\s*"(\w+)"')
MALFORMED_AT = re.compile(r"\(byte (\d+)\)$")


class Cell(msgspec.Struct):
    """What counts of a cell that was handed in, as JSON; the rest of it is not looked at."""

    cell_type: msgspec.Raw = msgspec.Raw(b"null")
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    source: msgspec.Raw = msgspec.Raw(b"null")


# A list's first parts; those that follow are skipped, and take no memory. There is room for the
# release's cells, which a graded notebook has beside the learner's.
Cells = msgspec.defstruct(
    "Cells",
    [(f"cell{number}", msgspec.Raw, msgspec.Raw()) for number in range(2 * MOST_CELLS)],
    array_like=True,
)


class Notebook(msgspec.Struct):
    """What counts of a notebook that was handed in; its outputs may have any size."""

    cells: Cells


@dataclass(frozen=True)
class Submission:
    """A notebook as it was handed in, reduced to the code that counts.

    Args:
        sha256: of the file's bytes; of nothing, if there was no file.
        cells: (grade_id or None, source) of each code cell and each solution cell, in order.
        problem: why nothing could be read, or None.
        notes: remarks for the instructor.
        known_as: the learning platform and its own number for the learner, "canvas 101" or "moodle
            101", where their file's name has it.
        file_time: "zip 2026-03-01 12:00:00" or "file ...": when the file was last changed, by that
            clock; "" where a timestamp.txt says when it was handed in.
    """

    sha256: str
    cells: list[tuple[str | None, str]] = field(default_factory=list)
    problem: str | None = None
    notes: tuple[str, ...] = ()
    known_as: str = ""
    file_time: str = ""

    @classmethod
    def unreadable(cls, reason, notes=()):
        """Return a submission of which not even the bytes could be read."""
        return cls(hashlib.sha256(b"").hexdigest(), problem=reason, notes=notes)


def read_submission(path):
    """Read the notebook that was handed in as `<chapter>.ipynb`. Never raises: what is wrong with
    it is in `problem`.
    """
    stem, (path, notes) = Path(path).stem, find_notebook(Path(path))
    try:
        content = read_bytes(path)
    except (OSError, ValueError) as error:
        return Submission.unreadable(str(error), notes)
    return submission_of(path.name, content, stem, notes)


def submission_of(name, content, stem=None, notes=()):
    """Read the bytes of a file that was handed in under some name. Never raises, either.

    Args:
        stem: the chapter to which it was handed in; None for the one that its cells tell.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        content = as_utf8(content)
        cells = list(code_cells(content))
    except (ValueError, RecursionError) as error:
        problem = (
            f"{printable(name)} is not a notebook: {why_unreadable(error)}; "
            "take a fresh copy, move your functions into it, and hand that in"
        )
        return Submission(sha256, problem=problem, notes=notes)
    other = chapter_told_by(content)
    if stem and other and stem not in parts_of_chapters(content):
        problem = (
            f"{printable(name)} holds the exercises of {other}, but it was handed in as {stem};"
            f" hand in your notebook of {stem}"
        )
        return Submission(sha256, problem=problem, notes=notes)
    return Submission(sha256, cells, notes=notes)


def chapter_told_by(content, likely=None):
    """Return the chapter whose released cells a notebook has, or None where it has none's. Of
    several it is the one of which it has the largest part.

    Args:
        content: the notebook's bytes.
        likely: the chapter that it is of where it has as much of another one.
    """
    parts = parts_of_chapters(content)
    return max(parts, key=lambda stem: (parts[stem], stem == likely), default=None)


def parts_of_chapters(content):
    """Return which part of each chapter's released cells a notebook has, where it has any,
    dict[str, float].

    The cells' ids are looked for in the bytes, so that a damaged notebook tells its chapter too.
    """
    known = set().union(*ids_by_chapter().values())
    told = (match[1].decode() for match in GRADE_ID.finditer(content))
    found = {grade_id for grade_id in told if grade_id in known}  # there may be millions of others
    return {
        stem: len(ids & found) / len(ids) for stem, ids in ids_by_chapter().items() if ids & found
    }


def code_cells(content, most=MOST_CELLS, room=LARGEST_CODE):
    """Yield (grade_id or None, source) of the cells of a notebook that may hold a learner's code.

    Args:
        most: cells that are looked at; None for all.
        room: characters of code that are kept.

    Raises:
        ValueError, RecursionError: if this is not a notebook of format 4.
    """
    for raw in first_cells(content)[:most]:
        try:
            cell = msgspec.json.decode(raw, type=Cell)
        except msgspec.ValidationError:  # no dictionary
            continue
        grade_id = grade_id_of({"metadata": part(cell.metadata)})
        source = text_of(part(cell.source))
        if source is not None and (part(cell.cell_type) == "code" or grade_id):
            source = source[: min(LARGEST_SOURCE, room)].encode("utf-8", "replace").decode("utf-8")
            room -= len(source)
            yield grade_id, source


def first_cells(content):
    """Return the JSON of each of a notebook's cells, of thousands the first.

    Raises:
        ValueError, RecursionError: if this is not a notebook of format 4.
    """
    try:
        content = without_nan(content.removeprefix(codecs.BOM_UTF8))
        notebook = msgspec.json.decode(content, type=Notebook)
    except msgspec.ValidationError:
        raise ValueError("it has no list of cells, as notebooks of format 4 have") from None
    except msgspec.DecodeError as error:
        damage = MALFORMED_AT.search(str(error))
        before = content[: int(damage[1])] if damage else content
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise ValueError(
            f"its JSON breaks off or is damaged in line {line}, column {column}"
        ) from None
    return [raw for raw in msgspec.structs.astuple(notebook.cells) if raw]


def part(raw):
    """Return what a small part of a notebook says; of a large one, nothing."""
    return json.loads(bytes(raw)) if len(raw) <= LARGEST_PART else None


def text_of(source):
    """Return a cell's source in one piece, or None where it is none."""
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else None


def why_unreadable(error):
    """Say in a few words why a file's content is no notebook."""
    match error:
        case UnicodeDecodeError():
            return "it is not text in UTF-8"
        case json.JSONDecodeError():
            return f"the JSON of a cell is damaged: {error.msg}"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return str(error)[:200]


def grade_id_of(cell):
    """Return a cell's nbgrader id, or None."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return grade_id if isinstance(grade_id, str) else None


def rebuild(stem, submission):
    """Lay what a learner wrote over the released notebook of a chapter.

    Returns:
        the notebook to grade: the release's cells with the learner's solutions, and the learner's
            own code cells between them.
    """
    notebook = copy.deepcopy(released(stem))
    if submission.problem is None:
        solutions, added = sort_out(notebook, submission.cells)
        for cell in filter(is_solution, notebook.cells):
            cell.source = solutions.get(cell.metadata.nbgrader.grade_id, MISSING)
        notebook.cells = with_added_cells(notebook.cells, added)
    kept = ("problem", "notes", "known_as", "file_time")
    record = {"notebook": submission.sha256} | {each: getattr(submission, each) for each in kept}
    notebook.metadata["autograder"] = nbformat.from_dict(record)
    return notebook


def with_added_cells(cells, added):
    """Return released cells with a learner's own after those that they follow.

    Args:
        added: lists of (number, source), as `sort_out` returns them.
    """
    together = []
    for place, cell in enumerate([None, *cells]):
        together += [cell] if cell else []
        together += [
            new_code_cell(source, id=f"{ADDED}{number}") for number, source in added.get(place, [])
        ]
    return together


def sort_out(release, cells):
    """Tell a learner's solutions from the code cells that they added.

    Args:
        release: the released notebook.
        cells: (grade_id or None, source) of what was handed in, in order.

    Returns:
        solutions: source by grade_id. Of cells with one id the last counts; the others stay as
            added cells.
        added: lists of (number, source) by the place of the released cell that they follow,
            counted from 1; 0 is the top.
    """
    place_of_id, place_of_source = places_in(release)
    completed = {cell.metadata.nbgrader.grade_id for cell in filter(is_solution, release.cells)}
    last = {grade_id: number for number, (grade_id, _) in enumerate(cells)}
    solutions, added, place = {}, {}, 0
    for number, (grade_id, source) in enumerate(cells):
        if grade_id in place_of_id and number == last[grade_id]:
            place = place_of_id[grade_id]
            if grade_id in completed:
                solutions[grade_id] = source
        elif source in place_of_source:  # released as it is here, such as the setup cell
            place = place_of_source[source]
        elif grade_id in place_of_id and grade_id not in completed:
            continue  # a check or a statement that is there twice
        else:
            added.setdefault(place, []).append((number, source))
    return solutions, added


def places_in(release):
    """Return the places of a release's cells, counted from 1: by id, and of code cells without one
    by source.
    """
    by_id, by_source = {}, {}
    for place, cell in enumerate(release.cells, 1):
        if "nbgrader" in cell.metadata:
            by_id[cell.metadata.nbgrader.grade_id] = place
        elif cell.cell_type == "code":
            by_source[cell.source] = place
    return by_id, by_source
