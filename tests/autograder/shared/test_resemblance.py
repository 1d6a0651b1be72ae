"""Where no known thought fits, a learner hears how the wrong numbers are related to the right ones;
and only what is true in every case with wrong numbers."""

import numpy as np
import pytest
import torch

from autograder.authoring.loading import load_exercises
from autograder.shared.resemblance import resemblances
from solutions.ch04_attention import attention_scores, softmax, softmax_backward
from tests.conftest import judged

EXERCISES = {
    **load_exercises("ch04_attention"),
    **load_exercises("ch06_masking"),
    **load_exercises("ch09_training"),
}
RNG = np.random.default_rng(0)
RIGHT = RNG.normal(size=(3, 4))


def messages(exercise, implementation):
    verdicts = judged(EXERCISES[exercise].prepare(b"any"), implementation)
    return [verdict.message for verdict in verdicts if not verdict.passed]


def seen(*pairs, **inputs):
    return resemblances([(inputs, [pair]) for pair in pairs])


@pytest.mark.parametrize(
    ("got", "clause"),
    [
        (-RIGHT, "every number has the opposite sign"),
        (8 * RIGHT, "every number is 8 times what it should be"),
        (RIGHT / 3, "every number is 1/3 of what it should be"),
        (RIGHT.T, "the numbers are right, but the last two axes are swapped"),
        (RIGHT[:, ::-1], "the numbers are right, but in reverse order along the last axis"),
        (RIGHT[::-1], "the numbers are right, but in reverse order along the second to last axis"),
        (RIGHT.clip(min=0.25), "the numbers are right, but those below 0.25 have become 0.25"),
        (RIGHT.clip(max=0.5), "the numbers are right, but those above 0.5 have become 0.5"),
        (
            RIGHT * [[2], [3], [0.5]],
            "along axis -1 the numbers are in the right proportion, but not of the right size: what"
            " are they divided by?",
        ),
        (
            RIGHT.astype(np.float32).astype(np.float64),
            "all numbers agree to the precision of float32, but not to that of float64: which step"
            " is done in float32?",
        ),
        (RIGHT + RNG.normal(size=RIGHT.shape), ""),
        (RIGHT * np.nan, ""),
    ],
)
def test_a_relation_is_named(got, clause):
    assert seen((RIGHT, got)) == [clause]


def test_a_relation_holds_in_every_case_or_is_not_named():
    assert seen((RIGHT, -RIGHT), (RIGHT, RIGHT + 1)) == ["", ""]
    assert seen((RIGHT, 2 * RIGHT), (RIGHT, 3 * RIGHT)) == [
        "every number is 2 times what it should be",
        "every number is 3 times what it should be",
    ]


def test_one_or_two_numbers_are_a_coincidence():
    assert seen((np.array([2.0, 3.0]), np.array([4.0, 6.0]))) == [""]


def test_ids_that_should_not_be_there_are_named():
    ids = np.array([7.0, 9.0, 8.0])
    assert seen((ids, np.array([1.0, 7, 9, 8])), bos_id=1) == [
        "it still begins with bos_id, which is 1"
    ]
    assert seen((ids, np.array([7.0, 9, 8, 2, 2])), max_len=5) == [
        "it is as long as max_len, which is 5, and should have ended before"
    ]


def test_the_learner_reads_it_where_no_hint_fits():
    assert all(
        "every number is 8 times what it should be" in message
        for message in messages("softmax", lambda scores, axis=-1: 8 * softmax(scores, axis))
        if "counts once the function" not in message
    )
    negated = messages("softmax_backward", lambda *inputs: -softmax_backward(*inputs))
    assert negated and not any("opposite" in message for message in negated)  # it has a hint


def test_a_slip_in_the_form_costs_one_case():
    lost = messages(
        "attention_scores", lambda query, key: attention_scores(query, key).astype(np.float32)
    )
    assert len(lost) == 1
    assert "the result has dtype float32, but should have float64" in lost[0]
    lost = messages(
        "causal_mask",
        lambda seq_len, device=None: torch.ones(seq_len, seq_len, device=device).tril(),
    )
    assert len(lost) == 1


def test_a_slip_in_precision_costs_one_case_and_is_named():
    def in_float32(scores, axis=-1):
        below = (scores - scores.max(axis=axis, keepdims=True)).astype(np.float32)
        return softmax(below, axis).astype(scores.dtype)

    lost = [each for each in messages("softmax", in_float32) if "float32" in each]
    assert len(lost) == 1
    assert "agree to the precision of float32, but not to that of float64" in lost[0]
