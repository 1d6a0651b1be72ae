"""The tiny model that fills gaps: what it is asked, what counting would guess, and what its weights
in git are worth.
"""

import pytest
import torch

from book.experiments import measurements
from book.experiments.family import dependencies, gap_model
from solutions.translator.data.tokenizer import PAD

TRAIN = [["the", "cat", "sleeps"], ["the", "cat", "eats"], ["a", "cat", "eats"], ["the", "dog"]]


def test_each_word_is_hidden_once_and_nothing_else_changes():
    ids = torch.tensor([[7, 8, 9], [6, 5, PAD]])
    inputs, places, labels = gap_model.each_word_hidden(ids)
    assert labels.tolist() == [7, 8, 9, 6, 5]
    assert inputs[1].tolist() == [7, gap_model.MASK, 9]
    assert inputs[4].tolist() == [6, gap_model.MASK, PAD]
    restored = inputs.scatter(1, places[:, None], labels[:, None])
    assert restored.tolist() == ids[[0, 0, 0, 1, 1]].tolist()


def test_counting_guesses_what_came_most_often():
    shares = gap_model.by_counting(TRAIN, [["the", "cat", "eats"], ["a", "dog"]])
    # "the" and "cat" are as frequent; the one that came first counts: 1 of 5 words
    assert shares["nothing"] == 1 / 5
    # "the" begins, "cat" follows "the", "eats" follows "cat"; "a" does not begin most often
    assert shares["left"] == 3 / 5
    # nothing was ever between the beginning and "dog" but "the", or between "a" and the end
    assert shares["both"] == 3 / 5


def test_a_seed_is_repeated_and_another_is_another():
    words = gap_model.vocabulary(TRAIN)
    ids = gap_model.encoded(TRAIN, words)
    one, same, other = (gap_model.trained(ids, words, 3, seed) for seed in (0, 0, 1))
    parameters = [each.token_embedding.weight for each in (one, same, other)]
    assert torch.equal(parameters[0], parameters[1])
    assert not torch.equal(parameters[0], parameters[2])
    assert not one.causal and not one.training


def test_what_is_written_is_read_with_its_words(tmp_path, monkeypatch):
    monkeypatch.setattr(gap_model, "sentences", lambda split: TRAIN)
    gap_model.save(steps=2, path=tmp_path / "weights.safetensors")
    model, words = gap_model.load(tmp_path / "weights.safetensors")
    assert words == gap_model.vocabulary(TRAIN)
    assert all(each.dtype == torch.float32 for each in model.state_dict().values())
    assert all(torch.equal(each.half().float(), each) for each in model.state_dict().values())


def test_the_weights_in_git_are_those_of_the_record_and_better_than_counting():
    model, words = gap_model.load()
    test = gap_model.sentences("random")
    share = gap_model.accuracy(model, gap_model.encoded(test, words))
    runs = measurements.load("gap_model")["runs"]
    assert [run["seed"] for run in runs] == [0, 1, 2]
    assert share == pytest.approx(runs[0]["model"], abs=0.002)  # 16 bits move a word or two
    for run in runs:
        assert run["model"] > run["both"] > run["left"] > run["nothing"]


def test_outputs_that_cannot_see_an_input_stay_exactly_where_they_are():
    moved = {probe["name"]: torch.tensor(probe["moved"]) for probe in dependencies.probed()}
    assert moved["BERT"].min() > 0 and moved["ViT"].min() > 0
    assert torch.equal(moved["GPT"] > 0, torch.ones(5, 5).triu() > 0)
    sources = len(dependencies.SOURCE)
    assert moved["T5"][:sources].min() > 0
    assert moved["T5"][sources:, :sources].max() == 0
    below = moved["T5"][sources:, sources:]
    assert torch.equal(below > 0, torch.ones_like(below).triu() > 0)
