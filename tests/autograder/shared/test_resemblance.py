"""Where no known thought fits, a learner hears how the wrong numbers are related to the right ones;
and only what is true in every case with wrong numbers."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.loading import load_exercises
from autograder.shared.resemblance import resemblances
from solutions.ch04_attention import (
    attention_scores,
    scaled_dot_product_attention,
    softmax,
    softmax_backward,
)
from solutions.ch06_masking import masked_attention
from tests.conftest import judged

EXERCISES = {
    **load_exercises("ch04_attention"),
    **load_exercises("ch06_masking"),
    **load_exercises("ch07_layers"),
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
            "all numbers agree to the precision of float32, but not to that of float64: is a step"
            " done in float32, or is something small added?",
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


def test_dropped_numbers_are_named_where_they_are_seen():
    kept = np.array([[0, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]])
    clause = (
        "some numbers have become 0 and the others are 1.25 times what they should be, as by"
        " dropout: is it on where it should be off?"
    )
    assert seen((RIGHT, 1.25 * kept * RIGHT), (RIGHT, RIGHT + 1)) == [clause, ""]
    weights_and_output = [(RIGHT, RIGHT + 1), (RIGHT, 1.25 * kept * RIGHT)]
    assert resemblances([({}, weights_and_output)]) == [f"in one of the results, {clause}"]


@pytest.mark.parametrize(
    "got",
    [
        RIGHT * [[0, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]],  # the others are right
        RIGHT * [[0, 1.5, 1.5, 0], [1.5, 1.25, 0, 1.5], [1.5, 0, 1.5, 1.5]],
        RIGHT * np.array([[2, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),  # two numbers are too few
        0.5 * RIGHT * [[0, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]],
        0 * RIGHT,
    ],
)
def test_other_zeros_are_not_taken_for_dropout(got):
    assert not any("dropout" in clause for clause in seen((RIGHT, got)))


def test_dropout_without_a_mode_is_named():
    class Dropping(nn.Module):
        def __init__(self, d_model, d_ff, dropout=0.0):
            super().__init__()
            self.linear_1, self.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

        def forward(self, x):
            return functional.dropout(self.linear_2(self.linear_1(x).relu()), 0.2)

    torch.manual_seed(0)
    assert any("as by dropout" in message for message in messages("FeedForward", Dropping))


def test_one_or_two_numbers_are_a_coincidence():
    assert seen((np.array([2.0, 3.0]), np.array([4.0, 6.0]))) == [""]


@pytest.mark.parametrize("answer", [0.5, 0.0, 9.0])
def test_one_answer_to_everything_is_not_called_right(answer):
    rates = [(np.array(rate), np.array(answer)) for rate in (0.25, 2 / 3, 1 / 3, 1.0)]
    assert seen(*rates) == [""] * 4
    assert seen((RIGHT, np.full_like(RIGHT, answer))) == [""]


def test_single_numbers_that_have_one_thing_in_common_are_told():
    rates = [(np.array(rate), np.array(3 * rate)) for rate in (0.25, 2 / 3, 1 / 3)]
    assert seen(*rates) == ["every number is 3 times what it should be"] * 3


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


@pytest.mark.parametrize(
    ("exercise", "exchanged", "words"),
    [
        (
            "scaled_dot_product_attention",
            lambda query, key, value: scaled_dot_product_attention(query, value, key),
            "`key` and `value` are exchanged",
        ),
        (
            "masked_attention",
            lambda query, key, value, mask=None: masked_attention(query, value, key, mask),
            "`key` and `value` are exchanged",
        ),
        (
            "softmax_backward",
            lambda weights, grad_weights: softmax_backward(grad_weights, weights),
            "`weights` and `grad_weights` are exchanged",
        ),
    ],
)
def test_exchanged_arguments_are_named(exercise, exchanged, words):
    told = messages(exercise, exchanged)
    assert sum(words in message for message in told) >= len(told) / 2, told


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
