"""The toy language of chapter 6: its grammar is right, its loss has the floor that the page draws, and
its translators differ in their masks alone.
"""

import math

import pytest
import torch

from book.experiments import two_translators as toy


def test_nouns_articles_and_adjectives_agree():
    genders = dict(toy.NOUNS.values())
    endings = {"m": "o", "f": "a"}
    adjectives = {stem + end for stems in toy.ADJECTIVES.values() for stem in stems for end in "oa"}
    for english, italian in toy.PAIRS:
        words = italian.split()
        assert len(words) == len(english.split())
        for place, word in enumerate(words):
            if word in genders:
                assert words[place - 1] in {
                    toy.ARTICLES[article][genders[word]] for article in toy.ARTICLES
                }
                if place + 1 < len(words) and words[place + 1] in adjectives:
                    assert words[place + 1].endswith(endings[genders[word]])


def test_no_sentence_is_both_learned_and_held_out():
    assert not {english for english, _ in toy.LEARNED} & {english for english, _ in toy.HELD_OUT}


def test_the_floor_is_log_2_for_each_free_choice():
    pairs = [
        ("a small cat sees the moon", "un gatto piccolo guarda la luna"),
        ("the moon seeks a dog", "la luna cerca un cane"),
    ]
    assert math.isclose(toy.loss_floor(pairs), 2 * math.log(2) / (7 + 6))


def test_any_choice_between_equals_is_right():
    pairs = [("a small cat sees the moon", "un gatto piccolo guarda la luna")] * 3
    said = ["un gatto minuscolo vede la luna", "un gatto piccola guarda la luna", ""]
    assert toy.count_right(said, pairs) == 1


def untrained(mask):
    torch.manual_seed(7)
    return toy.MASKS[mask](len(toy.ENGLISH), len(toy.ITALIAN), **toy.SIZES).eval()


def test_later_words_move_the_loss_of_every_mask_but_the_right_one():
    gaps = {
        mask: abs(toy.held_out_loss(model) - toy.cut_loss(model))
        for mask, model in ((mask, untrained(mask)) for mask in toy.MASKS)
    }
    assert gaps["before the softmax"] < 1e-6
    assert gaps["after it"] > 1e-4 and gaps["none"] > 1e-4


def test_a_late_mask_takes_weights_away_and_leaves_the_others():
    late = untrained("after it").decoder[0].self_attention
    x = torch.randn(1, 4, toy.SIZES["d_model"], generator=torch.Generator().manual_seed(0))
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    everything = late(x, x, x, torch.ones(4, 4, dtype=torch.bool))[1]
    weights = late(x, x, x, mask)[1]
    assert torch.equal(weights, everything * mask)
    assert (weights.sum(dim=-1)[..., :3] < 1).all()


def test_translators_with_any_mask_start_from_the_same_numbers():
    models = [untrained(mask).state_dict() for mask in toy.MASKS]
    for other in models[1:]:
        assert all(torch.equal(models[0][name], other[name]) for name in models[0])


def test_recorded_numbers_are_those_of_their_mask_and_budget():
    runs = [
        {"mask": mask, "steps": steps, "right": 10 * steps + place}
        for place, mask in enumerate(("after it", "none"))
        for steps in (1, 2)
    ]
    assert toy.recorded(runs, "none", 2, "right").tolist() == [21]


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_with_enough_steps_a_late_mask_is_no_mask():
    floor = toy.loss_floor()
    for run in toy.measure(("after it",), (2400,), range(100, 103)):
        # the page says that the best of these three gets about half right
        assert run["loss"] < 0.25 * floor < 5 * floor < run["cut"] and run["right"] < 60
    for run in toy.measure(("before the softmax",), (600,), range(100, 103)):
        assert run["right"] >= 98 and 0.95 * floor < run["loss"] < 1.1 * floor
        assert math.isclose(run["loss"], run["cut"], rel_tol=1e-3)
