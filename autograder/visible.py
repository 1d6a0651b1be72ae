"""The learner's side of the checks: data, not answers.

`make notebooks` writes, for each chapter, one file with the visible cases: their inputs, what is right, what each misconception gives, and
its hint. `check` reads it and needs nothing else: no reference, no hidden case.
"""

import json
from functools import cache

from autograder.course import VISIBLE, CourseError
from autograder.exercise import PUBLIC_SEED, PreparedCase, PreparedExercise, load_exercises
from autograder.judge import same
from autograder.wire import from_json, to_json


def write_visible_cases(stem, folder=VISIBLE):
    """Write a chapter's visible cases, unless the file holds the same up to rounding.

    Another processor may round the last digit otherwise; that is no reason for a file in git to change.
    """
    prepared = [exercise.prepare(PUBLIC_SEED, visible=True) for exercise in load_exercises(stem).values()]
    text = "[\n" + ",\n".join(map(exercise_text, prepared)) + "\n]\n"
    path = folder / f"{stem}.json"
    if path.exists() and same_up_to_rounding(path.read_text(encoding="utf-8"), text):
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def read_visible_cases(stem):
    """Return a chapter's exercises with their visible cases.

    Returns:
        dict[str, PreparedExercise].

    Raises:
        CourseError: if the chapter has no such file.
    """
    path = VISIBLE / f"{stem}.json"
    if not path.exists():
        raise CourseError(f"{path.name} is missing from autograder/visible; `make notebooks` writes it")
    return exercises_in(path, path.stat().st_mtime_ns)


@cache
def exercises_in(path, changed):
    """Read a file, anew only after it has changed: a notebook asks for the same ones all the time."""
    return {each["exercise"]: exercise_from_json(each) for each in json.loads(path.read_text(encoding="utf-8"))}


def exercise_text(exercise):
    """Write one exercise as JSON, a line for each case."""
    head = json.dumps(
        {"exercise": exercise.name, "returns": exercise.returns, "hints": exercise.hints}, ensure_ascii=False, indent=1
    )
    cases = ",\n".join(
        json.dumps(case_as_json(case, len(exercise.hints)), ensure_ascii=False, separators=(",", ":"))
        for case in exercise.cases
    )
    return f'{head[:-2]},\n "cases": [\n{cases}\n]}}'


def case_as_json(case, misconceptions):
    """Return a case as what JSON can hold; of so many misconceptions, those that answer rightly here are left out."""
    others = [(index, case.lookalike(index)) for index in range(misconceptions)]
    return {
        "title": case.title,
        "probe": case.probe,
        "weight": case.weight,
        "properties": case.properties,
        "inputs": to_json(case.inputs),
        "expected": to_json(case.expected),
        "lookalikes": {str(index): to_json(other) for index, other in others if not same(other, case.expected)},
    }


def exercise_from_json(each):
    """Return the PreparedExercise that `exercise_text` wrote."""
    cases = tuple(map(case_from_json, each["cases"]))
    return PreparedExercise(each["exercise"], tuple(each["returns"]), tuple(each["hints"]), cases)


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
    )


def same_up_to_rounding(one, other):
    """Return whether two texts hold the same JSON, but for the last digits of numbers in its arrays and tensors."""
    try:
        return _same(json.loads(one), json.loads(other))
    except ValueError:
        return False


def _same(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        if "values" in one and "values" in other:
            return same(from_json(one), from_json(other))
        return list(one) == list(other) and all(_same(value, other[key]) for key, value in one.items())
    return same(one, other)
