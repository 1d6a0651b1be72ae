"""What each ingredient buys: every variant differs from the recipe in what its name says, and the
page's tables take what is there.
"""

import json
import math

import pytest

from book.experiments import measurements
from solutions.translator import corpus
from solutions.translator.measure import ingredients
from solutions.translator.settings import Settings, Shape


@pytest.fixture
def few(monkeypatch):
    """A part of the corpus that is drawn in no time, and one thread."""
    writer = corpus.Writer("few", frozenset())
    pairs = corpus.collect(60, writer, ("quality",), lambda drawn: True, set())
    splits = {
        "train": pairs[:40],
        "validation": pairs[40:45],
        "random": pairs[45:50],
        "combinations": pairs[50:],
    }
    monkeypatch.setattr(ingredients, "easy_part", lambda: splits)
    return splits


@pytest.mark.parametrize("name", ingredients.VARIANTS)
def test_a_variant_changes_something_and_can_be_trained(few, name):
    variant = ingredients.VARIANTS[name]
    changed = [variant.shape, variant.settings, variant.pairs, variant.change]
    assert any(changed) == (name != ingredients.FULL)
    Shape(**ingredients.SHAPE | variant.shape)
    Settings(**ingredients.SETTINGS | variant.settings)
    run = ingredients.measure(name, 0, 2)
    assert run["ingredient"] == name and math.isfinite(run["loss"])
    assert 0 <= run["exact"] <= 1 and 0 < run["fill"] <= 1


def test_the_easy_part_holds_short_sentences_and_every_word_of_the_promise():
    easy = ingredients.easy_part()
    known = {word for english, _ in easy["train"] for word in corpus.words(english)}
    assert known.issuperset(corpus.words(corpus.PROMISE))
    assert corpus.PROMISE not in {english for pairs in easy.values() for english, _ in pairs}
    for pairs in easy.values():
        assert all(len(corpus.words(english)) <= ingredients.LONGEST for english, _ in pairs)
    assert all(easy[name] for name in ("train", "validation", "random", "combinations"))


def test_the_file_is_what_was_measured(tmp_path):
    runs = [
        {"ingredient": "a", "seed": seed, "exact": 0.5, "loss": 1.0, "fill": 0.9, "seconds": 2.0}
        for seed in (0, 1)
    ]
    ingredients.write(tmp_path / "found.json", {"steps": 3, "hardware": {"cores": 2}, "runs": runs})
    assert json.loads((tmp_path / "found.json").read_text()) == {
        "steps": 3,
        "hardware": {"cores": 2},
        "runs": runs,
    }
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]


def test_the_file_in_the_book_has_every_variant_as_often_as_every_other():
    groups = measurements.by_ingredient(measurements.load("ingredients"))
    assert list(groups) == list(ingredients.VARIANTS)
    assert len({len(scores) for scores in groups.values()}) == 1


def test_worse_is_what_is_worse_with_every_seed():
    groups = {"all": [0.5, 0.6], "less": [0.3, 0.49], "perhaps": [0.1, 0.55]}
    assert measurements.clearly_worse(groups, "all") == ["less"]


def test_the_table_of_runs_takes_what_is_there():
    assert "No runs measured yet" in measurements.runs_table(None).data
    whole = {
        "text": "Multi30k", "command": "python -m x", "hardware": "a CPU", "date": "2026-01-01", "weights": 1234567, "seconds": 600,
        "bleu_greedy": 30.123, "bleu_beam_5": 31.0, "chrf": 55.5, "signature": "nrefs:1", "remark": "The third of three tries.",
    }  # fmt: skip
    table = measurements.runs_table([whole, {"text": "something else", "chrf": None}]).data
    assert "| Multi30k | 1,234,567 | 10 min | 30.1 | 31.0 | 55.5 |" in table
    assert "| something else | – | – | – | – | – |" in table
    assert "\npython -m x\nnrefs:1\n" in table
    assert "The third of three tries." in table


def test_runs_that_differ_in_their_seed_alone_are_one_row():
    one, other = (
        {"text": "a", "command": f"train --into work/{seed} --seed {seed} --steps 9", "chrf": chrf}
        for seed, chrf in ((0, 50.0), (1, 52.0))
    )
    longer = {**one, "command": "train --into work/2 --seed 0 --steps 10"}
    rows = measurements.runs_table([one, other, longer]).data.split("\n")
    scores = [row.split("|")[-2].strip() for row in rows if row.startswith("| a")]
    assert scores == ["51.0 (50.0 to 52.0)", "50.0"]
