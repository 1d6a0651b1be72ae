"""The words of a real book: pairs are counted as the chapter counts them, the loss falls to its floor,
and what is recorded is what training gives.
"""

import numpy as np
import pytest

from book.experiments import measurements
from book.experiments.words import alice_words

RECORDED = measurements.load("alice_words")


def test_words_are_those_of_the_book(monkeypatch, tmp_path):
    assert alice_words.words_of("'Oh dear! I can't,' SAID the Mock-Turtle") == [
        *("oh", "dear", "i", "can't", "said", "the", "mock-turtle"),
    ]
    assert len(alice_words.chapters()) == 12
    short = tmp_path / "short.txt"
    short.write_text("One two three four. One two.")
    monkeypatch.setattr(alice_words, "TEXT", short)
    monkeypatch.setattr(alice_words, "LEAST", 1)
    words, near = alice_words.pair_counts()
    assert words == ["one", "two", "three", "four"]
    assert near.tolist() == [[0, 2, 1, 0], [2, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 0]]
    near = alice_words.pair_counts(window=1)[1]
    assert near.tolist() == [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]


def test_words_with_the_same_company_come_close_and_the_loss_finds_its_floor():
    near = np.array(
        [[0, 0, 6, 2, 0], [0, 0, 3, 1, 0], [6, 3, 0, 0, 1], [2, 1, 0, 0, 5], [0, 0, 1, 5, 0]]
    )
    table, loss = alice_words.train(near.astype(float), 0, 600)
    assert alice_words.neighbours(list("abcde"), table, "a", 1) == ["b"]
    share = near / near.sum(axis=1, keepdims=True)
    floor = -np.sum(near * np.log(share, where=near > 0, out=np.zeros(near.shape))) / near.sum()
    assert floor <= loss < floor + 0.02


@pytest.mark.parametrize("seed", [0, 1])
def test_recorded_rows_are_those_of_a_training(seed):
    words, near = alice_words.pair_counts()
    (run,) = (run for run in RECORDED["runs"] if run["seed"] == seed and "rows" in run)
    rows = np.array(run["rows"])
    assert rows.shape == (len(words), alice_words.WIDTH)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=0.03)
    share, chance = alice_words.share_in_group(words, rows)
    assert abs(share - run["share"]) < 0.03 and share > 10 * chance
    if seed == 0:
        table, loss = alice_words.train(near, seed, run["steps"])
        assert abs(loss - run["loss"]) < 0.01
        assert abs(alice_words.share_in_group(words, table)[0] - run["share"]) < 0.06
