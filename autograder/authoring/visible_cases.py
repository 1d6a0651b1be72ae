"""Writes the learner's side of the checks: for each chapter one file with the visible cases, their
inputs, what is right, what each misconception gives, and its hint. `autograder.shared.visible`
reads it."""

import contextlib
import json
import sys

import numpy as np

from autograder.authoring.exercise import PUBLIC_SEED
from autograder.authoring.loading import load_exercises
from autograder.shared.tolerances import same
from autograder.shared.visible import VISIBLE
from autograder.shared.wire import dtype_name, from_json, numbers, to_json


def write_visible_cases(stem, folder=VISIBLE):
    """Write a chapter's visible cases, unless the file holds the same up to rounding.

    Another processor may round the last digit otherwise; that is no reason for a file in git to
    change.
    """
    exercises = load_exercises(stem).values()
    with the_same_chance():
        prepared = [exercise.prepare(PUBLIC_SEED, visible=True) for exercise in exercises]
        text = "[\n" + ",\n".join(map(exercise_text, prepared)) + "\n]\n"
    path = folder / f"{stem}.json"
    if path.exists() and same_up_to_rounding(path.read_text(encoding="utf-8"), text):
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def the_same_chance():
    """Have torch draw the same numbers each time, for answers with dropout: the largest of many
    results need not be as large the next time.
    """
    if "torch" not in sys.modules:
        yield
        return
    import torch

    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        yield


def exercise_text(exercise):
    """Write one exercise as JSON, a line for each case."""
    head = json.dumps(
        {
            "exercise": exercise.name,
            "defaults": exercise.defaults,
            "returns": exercise.returns,
            "hints": exercise.hints,
        },
        ensure_ascii=False,
        indent=1,
    )
    cases = ",\n".join(
        json.dumps(
            case_as_json(case, len(exercise.hints)), ensure_ascii=False, separators=(",", ":")
        )
        for case in exercise.cases
    )
    return f'{head[:-2]},\n "cases": [\n{cases}\n]}}'


def case_as_json(case, misconceptions):
    """Return a case as what JSON can hold; of so many misconceptions, those that answer rightly
    here are left out.
    """
    others = [(index, case.lookalike(index)) for index in range(misconceptions)]
    return {
        "title": case.title,
        "probe": case.probe,
        "weight": case.weight,
        **({"exact": True} if case.exact else {}),
        "properties": case.properties,
        "inputs": to_json(case.inputs),
        "expected": to_json(case.expected),
        "lookalikes": {
            str(index): to_json(other) for index, other in others if not same(other, case.expected)
        },
    }


def same_up_to_rounding(one, other):
    """Return whether two texts hold the same JSON, but for the last digits of numbers in its arrays
    and tensors.
    """
    try:
        return _same(json.loads(one), json.loads(other))
    except ValueError:
        return False


def _same(one, other, wrong=False):
    """Compare what JSON holds; `wrong` within the answers of wrong implementations, some of which
    amplify the last digit.
    """
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            _same(*pair, wrong) for pair in zip(one, other, strict=True)
        )
    if isinstance(one, dict) and isinstance(other, dict):
        if "values" in one and "values" in other:
            one, other = from_json(one), from_json(other)
            return same(one, other) or (wrong and nearly_the_same(one, other))
        return list(one) == list(other) and all(
            _same(value, other[key], wrong or key == "lookalikes") for key, value in one.items()
        )
    return same(one, other)


def nearly_the_same(one, other):
    """Return whether two arrays or tensors agree to four digits: a fit that can hardly tell two
    columns apart depends on the processor.
    """
    alike = type(one) is type(other) and dtype_name(one) == dtype_name(other)
    one, other = numbers(one), numbers(other)
    return (
        alike
        and one.shape == other.shape
        and np.allclose(one, other, rtol=1e-4, atol=1e-4, equal_nan=True)
    )
