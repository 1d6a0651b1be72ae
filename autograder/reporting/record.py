"""The record that a graded notebook carries: its cells' scores, and each case's verdict."""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.course import AUTOGRADED
from autograder.shared.wire import printable


@dataclass(frozen=True)
class Outcome:
    """What one exercise earned, its check and its hidden cell together.

    Args:
        score, points: what it earned, and could.
        cases: what became of each case, as the record has it, and whether it is `hidden`.
    """

    score: float = 0.0
    points: float = 0.0
    cases: tuple = ()


def outcomes_of(record):
    """Return the Outcome of each exercise, in the notebook's order."""
    by_exercise = {}
    for cell in record["cells"]:
        by_exercise.setdefault(cell["exercise"], []).append(cell)
    return {exercise: outcome_of(cells) for exercise, cells in by_exercise.items()}


def outcome_of(cells):
    """Return the Outcome of an exercise's graded cells, as the record has them."""
    return Outcome(
        score=round(sum(cell["score"] for cell in cells), 2),
        points=sum(cell["points"] for cell in cells),
        cases=tuple(
            {**case, "hidden": cell["cell"].startswith("hidden_")}
            for cell in cells
            for case in cell["cases"]
        ),
    )


def read_graded(stem, autograded=AUTOGRADED, remark=None):
    """Yield (learner, notebook) for each graded notebook of a chapter, one at a time, by name.

    Where a record does not say when it was made, `graded` becomes the time of its file.

    Args:
        stem: the chapter.
        autograded: the folder that holds `<learner>/<stem>/<stem>.ipynb`.
        remark: called with a sentence about each file that is skipped; by default it is printed on
            stderr.
    """
    remark = remark or (lambda sentence: print(sentence, file=sys.stderr))
    folder = Path(autograded)
    for learner in (
        sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else ()
    ):
        path = folder / learner / stem / f"{stem}.ipynb"
        if not path.exists():
            continue
        name = printable(f"{learner}/{stem}/{stem}.ipynb")
        try:
            notebook = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            remark(f"{name} is left out of the report: it cannot be read ({type(error).__name__})")
            continue
        if not is_graded(notebook):
            remark(f"{name} is left out of the report: this grader has not graded it")
            continue
        when = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
        notebook["metadata"]["autograder"].setdefault("graded", when)
        yield learner, joined(notebook)


def joined(notebook):
    """Return a notebook with its texts in one piece each; on disk they are lists of lines. It is
    changed in place.
    """
    for cell in notebook["cells"]:
        for part, key in [
            (cell, "source"),
            *((output, "text") for output in cell.get("outputs", ())),
        ]:
            if isinstance(part.get(key), list):
                part[key] = "".join(part[key])
    return notebook


def is_graded(notebook):
    """Return whether a notebook carries the record that `autograder.grading.grade` writes,
    whole.
    """
    try:
        outcomes = notebook["metadata"]["autograder"]["cells"]
        kept = {"cell", "exercise", "points", "score", "cases"}
        return (
            bool(notebook["cells"])
            and bool(outcomes)
            and all(kept <= outcome.keys() for outcome in outcomes)
        )
    except (KeyError, TypeError, AttributeError):
        return False
