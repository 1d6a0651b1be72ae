"""An answer with two faults meets a hint that is true of one of them, and none that is false.

`python -m tests.autograder.shared.test_two_faults` prints what each chapter's pairs meet.
"""

from dataclasses import dataclass
from functools import cache
from importlib import import_module

import pytest

from autograder.authoring.exercise import PUBLIC_SEED
from autograder.authoring.loading import load_exercises
from autograder.course import chapters
from tests.conftest import judged


def pairs_of(stem):
    """Return a chapter's answers with two faults."""
    return import_module(f"tests.two_faults.{stem}").PAIRS


@dataclass(frozen=True)
class Met:
    """Beliefs whose hints an answer's failed cases show."""

    failed: int
    true: tuple[str, ...]
    false: tuple[str, ...]


@cache
def met_in(stem):
    """Judge a chapter's pairs; return for each, by its name, what it met."""
    exercises, prepared, found = load_exercises(stem), {}, {}
    for pair in pairs_of(stem):
        exercise = exercises[pair.exercise]
        if pair.exercise not in prepared:
            prepared[pair.exercise] = exercise.prepare(PUBLIC_SEED)
        verdicts = judged(prepared[pair.exercise], pair.answer)
        beliefs = {
            prepared[pair.exercise].beliefs[verdict.misconception]
            for verdict in verdicts
            if verdict.misconception is not None
        }
        true = {*pair.beliefs, *pair.true_too}
        found[pair] = Met(
            sum(not verdict.passed for verdict in verdicts),
            tuple(sorted(beliefs & true)),
            tuple(sorted(beliefs - true)),
        )
    return found


@pytest.mark.parametrize("stem", chapters())
def test_a_chapter_has_pairs_of_beliefs_that_it_knows(stem):
    exercises = load_exercises(stem)
    assert len(pairs_of(stem)) >= 5
    for pair in pairs_of(stem):
        known = {each.belief for each in exercises[pair.exercise].misconceptions}
        assert {*pair.beliefs, *pair.true_too} <= known, pair


if __name__ == "__main__":
    for stem in chapters():
        met = met_in(stem)
        hints, lies = (
            sum(bool(getattr(m, kind)) for m in met.values()) for kind in ("true", "false")
        )
        print(f"{stem}: {len(met)} pairs, {hints} meet a true hint, {lies} a false one")
        for pair, each in met.items():
            if each.false or not each.true:
                print("   ", pair.exercise, pair.beliefs, each)
