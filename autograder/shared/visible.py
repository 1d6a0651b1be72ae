"""The learner's side of the checks: data, not answers.

`make notebooks` writes, for each chapter, one file with the visible cases
(`autograder.authoring.visible_cases`). `check` reads it and needs nothing else: no reference, no
hidden case.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from autograder.shared.prepared import PreparedCase, PreparedExercise
from autograder.shared.wire import from_json

VISIBLE = Path(__file__).resolve().parents[1] / "visible"
NAME = re.compile(r'^ "exercise": "(\w+)"', re.MULTILINE)  # as an exercise's text begins


def names_by_chapter():
    """Return the names of each chapter's exercises, dict[str, list[str]], without reading their
    cases: those of all chapters take a second.
    """
    return {
        path.stem: NAME.findall(path.read_text(encoding="utf-8"))
        for path in sorted(VISIBLE.glob("*.json"))
    }


class VisibleExercises(Mapping):
    """The exercises of all chapters by name, each with its visible cases: a PreparedExercise. A
    chapter is read when the first of its exercises is asked for.
    """

    def __init__(self):
        self.stems = {name: stem for stem, names in names_by_chapter().items() for name in names}

    def __getitem__(self, name):
        return read_visible_cases(self.stems[name])[name]

    def __iter__(self):
        return iter(self.stems)

    def __len__(self):
        return len(self.stems)


def read_visible_cases(stem):
    """Return a chapter's exercises with their visible cases.

    Returns:
        dict[str, PreparedExercise].

    Raises:
        FileNotFoundError: if the chapter has no such file.
    """
    path = VISIBLE / f"{stem}.json"
    if not path.exists():
        raise FileNotFoundError(
            f"{path.name} is missing from autograder/visible; `make notebooks` writes it"
        )
    return exercises_in(path, path.stat().st_mtime_ns)


@cache
def exercises_in(path, changed):
    """Read a file, anew only after it has changed: a notebook asks for the same ones all the
    time.
    """
    return {
        each["exercise"]: exercise_from_json(each)
        for each in json.loads(path.read_text(encoding="utf-8"))
    }


def exercise_from_json(each):
    """Return the PreparedExercise that `exercise_text` wrote."""
    cases = tuple(map(case_from_json, each["cases"]))
    told = tuple(each["returns"]), tuple(each["hints"])
    return PreparedExercise(each["exercise"], *told, cases, defaults=each["defaults"])


def case_from_json(case):
    """Return the PreparedCase that `case_as_json` wrote."""
    return PreparedCase(
        title=case["title"],
        probe=case["probe"],
        inputs=from_json(case["inputs"]),
        expected=from_json(case["expected"]),
        lookalike=lambda index: from_json(case["lookalikes"].get(str(index), case["expected"])),
        properties=tuple((law, arguments) for law, arguments in case["properties"]),
        visible=True,
        weight=case["weight"],
        exact=case.get("exact", False),
    )
