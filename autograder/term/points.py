"""A course of one's own choice: which chapters are graded, and what their exercises count.

`course.csv` lies in the class's folder, beside its gradebook:

    chapter,exercise,points
    ch01_embeddings,,
    ch04_attention,softmax,3
    ch04_attention,softmax_backward,0

Only the chapters that it names are graded. In these, an exercise without a row counts what its
notebook says; one with 0 points is checked, and does not count. Without the table everything is
graded.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import nbformat

from autograder.course import CourseError
from autograder.term.tables import Table, closest, number_in
from autograder.whole_files import write_whole

FILE = "course.csv"
LEAST, MOST = 0.01, 10_000  # scores have two places, and hundreds of them have a sum
APPLIED = "points.json"  # beside a chapter's report, as long as it has points of the class's own


@dataclass(frozen=True)
class Points:
    """What counts in a class.

    Args:
        of_release: called, gives name -> (chapter, points) of the whole course.
        chapters: those that are graded; None for all.
        given: name -> (chapter, points), where the class has points of its own.
    """

    of_release: Callable
    chapters: frozenset | None = None
    given: dict = field(default_factory=dict)

    def exercises(self):
        """Return (chapter, points) of each exercise of the course, by its name."""
        return {**self.of_release(), **self.given}

    def has(self, stem):
        """Return whether a chapter is graded in this class."""
        return self.chapters is None or stem in self.chapters

    def require(self, stem):
        """Raise a CourseError if a chapter is not graded in this class."""
        if not self.has(stem):
            raise CourseError(f"{stem} is not in {FILE}, so it is not graded in this class")

    def chosen(self, found, remark):
        """Return what was handed in for the chapters that are graded.

        Args:
            found: list of HandedIn.
            remark: called with a sentence about those that are passed over.

        Raises:
            CourseError: if none is left.
        """
        if self.chapters is None:
            return found
        left = [each for each in found if each.stem in self.chapters]
        others = sorted({each.stem for each in found} - self.chapters)
        if others:
            count = len(found) - len(left)
            text = f"{count} for {', '.join(others)} are passed over: {FILE} does not name them"
            if not left:
                raise CourseError(text)
            remark(text)
        return left

    def cells(self, stem):
        """Return the points of each graded cell of a chapter, by its name."""
        return {
            f"{kind}_{name}": points / 2
            for name, (chapter, points) in self.exercises().items()
            for kind in ("check", "hidden")
            if chapter == stem
        }

    def given_in(self, stem):
        """Return the points of a chapter's exercises that have others than in the release, by
        name.
        """
        return {name: points for name, (chapter, points) in self.given.items() if chapter == stem}

    def as_they_count(self, stem, record):
        """Return a record whose cells have the points that hold today, where the class has given
        the chapter points of its own; it is itself otherwise.
        """
        if not self.given_in(stem):
            return record
        record = {**record, "cells": [dict(cell) for cell in record["cells"]]}
        weighed_anew(record["cells"], self.cells(stem))
        return record

    def weigh(self, stem, places, scores):
        """Bring records and gradebook to the points that hold today, without running anybody's
        code.

        Args:
            places: where the graded notebooks lie.
            scores: the chapter's Scores.

        Returns:
            list of the learners for whom that changed anything.
        """
        told = places.folder / "reports" / stem / APPLIED
        given = self.given_in(stem)
        if not given and not told.exists():
            return []  # all count what they always did
        cells, changed = self.cells(stem), []
        told.parent.mkdir(parents=True, exist_ok=True)
        write_whole(told, json.dumps(given))  # before anything counts otherwise than in the release
        for learner, when in sorted(scores.weigh(cells).items()):
            path = places.graded(learner, stem)
            try:
                notebook = json.loads(path.read_text(encoding="utf-8"))
                outcomes = notebook["metadata"]["autograder"]["cells"]
                others = weighed_anew(outcomes, cells)
            except (OSError, ValueError, KeyError, TypeError):
                continue  # the report says of such a file what is wrong with it
            if others:
                places.feedback(learner, stem).unlink(missing_ok=True)
                text = json.dumps(notebook, ensure_ascii=False, separators=(",", ":"))
                write_whole(path, text)
                scores.store(learner, nbformat.from_dict(notebook), when)
                changed.append(learner)
        if not given:
            told.unlink()
        return changed


def weighed_anew(outcomes, cells):
    """Give a record's cells the points that hold today, in place; return those that had others.

    Args:
        cells: points by name of a cell; one that it does not name stays as it is.
    """
    others = [
        each for each in outcomes if cells.get(each["cell"], each["points"]) != each["points"]
    ]
    for each in others:
        each["points"] = cells[each["cell"]]
        each["score"] = round(each["points"] * share(each["cases"]), 2)
    return others


def share(cases):
    """Return the share of a cell's points that its cases earn, from 0 to 1."""
    earned = sum(case["weight"] * case.get("earned", float(case["passed"])) for case in cases)
    return earned / sum(case["weight"] for case in cases)


def read_points(folder, exercises):
    """Return the Points of the class in a folder.

    Args:
        exercises: called, gives name -> (chapter, points) of the whole course.

    Raises:
        CourseError: if the table is not clear; the message names each line.
    """
    path = folder / FILE
    if not path.exists():
        return Points(exercises)
    known = exercises()
    stems, lines = {stem for stem, _ in known.values()}, {}
    chosen, given = set(), {}
    with Table(path, ("chapter",), optional=("exercise", "points")) as table:
        for line, row in table.rows():
            stem, name = row["chapter"], row.get("exercise", "")
            own = [each for each, (chapter, _) in known.items() if chapter == stem]
            if stem not in stems:
                table.fault(line, f"there is no chapter “{stem}”{closest(stem, stems)}")
            elif name and name not in own:
                table.fault(line, f"{stem} has no exercise “{name}”{closest(name, own)}")
            elif first := lines.get((stem, name)):
                table.fault(line, f"line {first} says so of {name or stem} already")
            elif bool(row.get("points", "")) != bool(name):
                table.fault(line, "points belong to an exercise, and an exercise to its points")
            else:
                lines[stem, name] = line
                chosen.add(stem)
                try:
                    if name:
                        given[name] = stem, points_in(row["points"])
                except ValueError as error:
                    table.fault(line, str(error))
        if not lines and not table.faults:
            table.fault(1, "it names no chapter, so nothing would be graded")
    return Points(exercises, frozenset(chosen), given)


def points_in(text):
    """Return the number of points that a text names.

    Raises:
        ValueError: with a sentence, if it names none.
    """
    points = number_in(text)
    if points and not LEAST <= points <= MOST:
        raise ValueError(f"“{text}” points: 0, or from {LEAST} to {MOST:,}")
    return points
