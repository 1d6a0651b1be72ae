"""The sentences of the first page: recorded, and followed through rounded parameters."""

import numpy as np
import pytest

from book.experiments import measurements
from book.experiments.followed_sentences import followed_examples

CHANGED = 0.03  # at most, of a weight, because the parameters are rounded to a byte each


@pytest.fixture(scope="module")
def recorded():
    return measurements.load("first_translations")["runs"]


@pytest.fixture(scope="module")
def followed(recorded):
    return followed_examples(recorded)


def test_rounded_parameters_write_what_was_recorded_and_look_nearly_alike(recorded, followed):
    for kept, each in zip(recorded, followed, strict=True):
        assert kept["written"] == each["written"]
        assert np.abs(np.array(kept["weights"]) - each["weights"]).max() < CHANGED


def test_scores_are_of_the_head_that_is_named(followed):
    for each in followed:
        asks = each["inside"]["asks"]
        for place, (scores, head) in enumerate(zip(asks["scores"], asks["heads"], strict=True)):
            powers = np.exp(scores)
            weights = each["weights"][place][-1][head]
            assert powers / powers.sum() == pytest.approx(weights, abs=0.01)  # two decimals


def test_the_same_words_in_another_order_are_another_sentence():
    [moved] = followed_examples([], "your lovely cat is a cat")
    assert moved["written"][:-1] == ["il", "tuo", "gatto", "adorabile", "è", "un", "gatto"]
    means = [np.mean(weights[-1], axis=0) for weights in moved["weights"]]
    assert [means[place].argmax() for place in (2, 6)] == [2, 5]  # each cat, where it is now
