"""An answer with two faults meets a hint that is true of one of them, and none that is false.

`python -m tests.autograder.shared.test_two_faults` prints what each chapter's pairs meet.
"""

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

import pytest
import torch
from torch import nn

from autograder.authoring.exercise import PUBLIC_SEED
from autograder.authoring.loading import load_exercises
from autograder.course import chapters
from autograder.shared.tolerances import same
from solutions.ch13_family import RMSNorm
from tests.conftest import judged


def pairs_of(stem, *, held_out=False):
    """Return a chapter's answers with two faults."""
    module = import_module(f"tests.two_faults.{stem}")
    return module.HELD_OUT if held_out else module.PAIRS


@dataclass(frozen=True)
class Met:
    """Beliefs whose hints an answer's failed cases show."""

    failed: int
    true: tuple[str, ...]
    false: tuple[str, ...]


@cache
def met_in(stem, *, held_out=False):
    """Judge a chapter's pairs; return for each what it met."""
    exercises, prepared, found = load_exercises(stem), {}, {}
    for pair in pairs_of(stem, held_out=held_out):
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
    for pair in (*pairs_of(stem), *pairs_of(stem, held_out=True)):
        known = {each.belief for each in exercises[pair.exercise].misconceptions}
        assert {*pair.beliefs, *pair.true_too} <= known, pair


CHAPTERS = [
    # seconds where answers are functions of arrays, half a minute where they are models
    stem if stem < "ch05" else pytest.param(stem, marks=pytest.mark.long)
    for stem in chapters()
]


@pytest.mark.parametrize("stem", CHAPTERS)
def test_eight_of_ten_answers_with_two_faults_meet_a_true_hint(stem):
    met = [*met_in(stem).values(), *met_in(stem, held_out=True).values()]
    assert sum(bool(each.true) for each in met) >= 0.8 * len(met)
    assert sum(bool(each.false) for each in met) <= 1


def without(prepared, index):
    """Return an exercise as it is to who does not know of one of its misconceptions."""

    def drop(known):
        return known[:index] + known[index + 1 :]

    def old(new):
        return new + (new >= index) if isinstance(new, int) else tuple(map(old, new))

    def asked(case):
        return replace(case, lookalike=lambda new: case.lookalike(old(new)))

    return replace(
        prepared,
        hints=drop(prepared.hints),
        beliefs=drop(prepared.beliefs),
        cases=tuple(map(asked, prepared.cases)),
        combinations=tuple(
            tuple(each - (each > index) for each in both)
            for both in prepared.combinations
            if index not in both
        ),
    )


@pytest.mark.parametrize(("stem", "most"), list(zip(chapters(), (18, 5, 4, 3), strict=False)))
def test_an_unknown_fault_seldom_meets_the_hint_of_another(stem, most):
    """Takes each misconception out of the list; what its answer meets then is said of another. Two
    of chapter 2's five and all of chapter 4's have a sister whose hint is true of them, too.
    """
    told = 0
    for exercise in load_exercises(stem).values():
        prepared = exercise.prepare(PUBLIC_SEED)
        for index, wrong in enumerate(exercise.misconceptions):
            verdicts = judged(without(prepared, index), wrong.implementation)
            told += any(verdict.misconception is not None for verdict in verdicts)
    assert told <= most


def test_of_two_faults_the_one_is_told_that_fails_by_itself():
    prepared = load_exercises("ch03_bottleneck")["rnn_encode"].prepare(b"any")
    pairs = pairs_of("ch03_bottleneck")
    [pair] = [each for each in pairs if each.answer.__name__ == "last_state_without_bias"]
    told = [
        (case, verdict.misconception)
        for verdict, case in zip(judged(prepared, pair.answer), prepared.cases, strict=True)
        if verdict.misconception is not None
    ]
    assert {prepared.beliefs[wrong] for _, wrong in told} == set(pair.beliefs)
    assert not any(same(case.lookalike(wrong), case.expected) for case, wrong in told)


class NormWithABias(RMSNorm):
    """Has one mean for all rows, and a parameter too many: the grader knows no belief like this."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        normalised = wide / (wide.square().mean() + self.eps).sqrt()
        return (normalised * self.weight + self.bias).to(x.dtype)


def test_where_two_faults_would_do_otherwise_nothing_is_told():
    prepared = load_exercises("ch13_family")["RMSNorm"].prepare(b"any")
    verdicts = {each.title: each for each in judged(prepared, NormWithABias)}
    of_parameters = verdicts["a new one has a weight of ones, and no other parameter"]
    assert of_parameters.misconception is None
    assert sum(each.misconception is not None for each in verdicts.values()) > 20


if __name__ == "__main__":
    for stem in chapters():
        for held_out in (False, True):
            met = met_in(stem, held_out=held_out)
            hints, lies = (
                sum(bool(getattr(m, kind)) for m in met.values()) for kind in ("true", "false")
            )
            name = f"{stem}, held out" if held_out else stem
            print(f"{name}: {len(met)} pairs, {hints} meet a true hint, {lies} a false one")
            for pair, each in met.items():
                if each.false or not each.true:
                    print("   ", pair.exercise, pair.beliefs, each)
