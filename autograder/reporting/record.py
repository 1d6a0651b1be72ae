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
        dispute: `why` its learner complained, the `points` that an instructor gave instead, or
            None, and the `reason`, or ""; None where nobody did.
        graded: what the grader gave, whoever decided otherwise.
        followed: the exercises whose mistakes were not charged here a second time.
        written: what the record says of an answer in words, which a person marks; None for an
            exercise. As long as nobody has, its `score` is None, and the answer counts 0.
    """

    score: float = 0.0
    points: float = 0.0
    cases: tuple = ()
    dispute: dict | None = None
    graded: float = 0.0
    written: dict | None = None
    followed: tuple = ()


def outcomes_of(record):
    """Return the Outcome of each exercise that counts, in the notebook's order, then those of
    answers in words.
    """
    by_exercise = {}
    for cell in record["cells"]:
        by_exercise.setdefault(cell["exercise"], []).append(cell)
    disputes = record.get("disputes", {})
    outcomes = {
        exercise: outcome_of(cells, disputes.get(exercise))
        for exercise, cells in by_exercise.items()
        if any(cell["points"] for cell in cells)
    }
    for name, answer in record.get("written", {}).items():
        score = answer["score"] or 0.0
        outcomes[name] = Outcome(score, answer["points"], graded=score, written=answer)
    return outcomes


def outcome_of(cells, dispute=None):
    """Return the Outcome of an exercise's graded cells, as the record has them.

    Args:
        dispute: what the record says of a complaint.
    """
    graded = round(sum(cell["score"] for cell in cells), 2)
    decided = dispute is not None and dispute["points"] is not None
    return Outcome(
        score=dispute["points"] if decided else graded,
        points=sum(cell["points"] for cell in cells),
        followed=tuple(dict.fromkeys(name for cell in cells for name in cell.get("followed", ()))),
        dispute=dispute,
        graded=graded,
        cases=tuple(
            {**case, "hidden": cell["cell"].startswith("hidden_")}
            for cell in cells
            for case in cell["cases"]
        ),
    )


def points_lost(outcome):
    """Return the points that each failed case cost, by (whether it is hidden, title)."""
    weights = {half: 0 for half in (False, True)}
    for case in outcome.cases:
        weights[case["hidden"]] += case["weight"]
    return {
        (case["hidden"], case["title"]): outcome.points
        / 2
        * case["weight"]
        / weights[case["hidden"]]
        * (1 - case.get("earned", 0.0))
        for case in outcome.cases
        if not case["passed"]
    }


def total_of(record):
    """Return what counts in the end: what the exercises earn, less what being late costs."""
    late = late_in(record)
    earned = sum(outcome.score for outcome in outcomes_of(record).values())
    return round(earned - (late.penalty if late else 0), 2)


def known_on(platform, notebook):
    """Return a learning platform's own number of who handed in a graded notebook, or ""."""
    known = str(notebook["metadata"]["autograder"].get("known_as", ""))
    return known.removeprefix(f"{platform} ") if known.startswith(f"{platform} ") else ""


@dataclass(frozen=True)
class Late:
    """When something was due and handed in, and what that costs.

    Args:
        due, handed_in: as people read them, in the deadline's zone; "" where nobody knows when.
        by: how late it was, as people say it; "" where it was in time.
        kept: the share of the points that is kept.
        penalty: the points that are taken off.
    """

    due: str
    handed_in: str
    by: str
    kept: float
    penalty: float


def late_in(record):
    """Return the Late that a record tells, or None where it tells of no deadline."""
    told = record.get("late")
    if not told:
        return None
    earned = sum(outcome.score for outcome in outcomes_of(record).values())
    zone = told.get("zone", "UTC")  # which older records are in
    return Late(
        due=moment(told["due"], zone),
        handed_in=moment(told["handed_in"], zone) if told["handed_in"] else "",
        by=duration(told["late"]),
        kept=told["kept"],
        penalty=round(earned * (1 - told["kept"]), 2),
    )


def group_in(record):
    """Return the name of the group for which something was handed in, and who did so; or None."""
    told = record.get("group")
    return (told["name"], told["handed_in_by"]) if told else None


def moment(text, zone):
    """Return an ISO time of a zone as people read it, to the minute."""
    return f"{text[:16].replace('T', ' ')} {zone}"


def duration(seconds):
    """Return how long so many seconds are, in two units at most: "1 day 3 hours"."""
    units = {"day": 86400, "hour": 3600, "minute": 60}
    parts = []
    for name, length in units.items():
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count} {name}{'s' * (count != 1)}")
    return " ".join(parts[:2]) or ("less than a minute" if seconds else "")


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


def answers_that_wait(stem, autograded=AUTOGRADED):
    """Return how many answers in words nobody has marked in a chapter's graded notebooks."""
    return sum(
        answer["score"] is None
        for _, notebook in read_graded(stem, autograded, lambda sentence: None)
        for answer in notebook["metadata"]["autograder"].get("written", {}).values()
    )


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
