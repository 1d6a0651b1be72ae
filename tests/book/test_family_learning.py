"""What chapter 13 measures of learning from the prompt and from preferences.
Data and scores are those that are counted by hand, each model learns, and what the recorded runs
tell apart, other seeds tell apart, too.
"""

import copy
import math

import pytest
import torch

from book.experiments import measurements
from book.experiments.after_2017 import preferences
from book.experiments.family import alice, in_context
from book.experiments.undisturbed import one_thread, undisturbed

UNSEEN = range(100, 103)


def test_a_text_shows_one_mapping_and_without_one_it_does_not():
    ids = in_context.texts(200, torch.Generator().manual_seed(0))
    keys, values = ids[:, ::2], ids[:, 1::2] - in_context.LETTERS
    assert ids.shape == (200, 2 * in_context.PAIRS)
    assert keys.max() < in_context.LETTERS and values.min() >= 0
    assert values.max() < in_context.LETTERS
    for row_keys, row_values in zip(keys.tolist(), values.tolist(), strict=True):
        assert len({*row_keys}) == len({*zip(row_keys, row_values, strict=True)})
        assert len({*row_keys}) <= in_context.KEYS
    ids = in_context.texts(200, torch.Generator().manual_seed(0), consistent=False)
    pairs = [({*row[::2]}, {*zip(row[::2], row[1::2], strict=True)}) for row in ids.tolist()]
    assert sum(len(each) < len(both) for each, both in pairs) > 180


def test_mappings_that_are_asked_are_in_no_training():
    def drawn(fresh):
        keys, values = in_context.mappings(5000, torch.Generator().manual_seed(0), fresh)
        assert len(keys) == len(values) == 5000
        rows = zip(keys.tolist(), values.tolist(), strict=True)
        return {tuple(sorted(zip(*each, strict=True))) for each in rows}

    learned, asked = drawn(False), drawn(True)
    assert not learned & asked
    assert all(len({key for key, _ in each}) == in_context.KEYS for each in learned | asked)


def test_what_was_shown_before_by_hand():
    keys = [3, 4, 3, 5, 4]
    ids = torch.tensor([[part for key in keys for part in (key, 15)]])
    assert in_context.shown_before(ids).tolist() == [[False, False, True, False, True]]


def test_a_model_that_looks_up_is_right_wherever_it_can_be():
    ids = in_context.texts(50, torch.Generator().manual_seed(0))

    def looks_up(ids, pad_id):
        logits = torch.zeros(*ids.shape, len(in_context.WORDS))
        for row, said in zip(ids.tolist(), logits, strict=True):
            known = {}
            for place in range(0, len(row), 2):
                said[place, known.get(row[place], 0)] = 1  # 0 is never right
                known[row[place]] = row[place + 1]
        return logits

    found = in_context.by_examples(looks_up, ids)
    assert found["right"] == found["shown"] and found["right"][0] == 0
    assert (found["looked_up"], found["guessed"]) == (1, 0)


def test_the_model_in_the_page_is_that_of_the_record():
    recorded = next(
        run for run in measurements.load("in_context")["runs"]
        if run["seed"] == 0 and run["texts"] == "mappings"
    )  # fmt: skip
    model = in_context.loaded()
    with one_thread():
        found = in_context.by_examples(model, in_context.asked(0))
    assert found["looked_up"] == pytest.approx(recorded["looked_up"], abs=0.01)
    assert in_context.answer(model, "a>f b>c a>f d>h b>")[0] == "c"
    assert in_context.WEIGHTS.stat().st_size < 200_000


def test_a_short_training_of_each_kind_learns_which_words_come_where():
    for consistent in (True, False):
        with undisturbed():
            model = in_context.trained(80, 0, consistent)
        ids = in_context.texts(20, torch.Generator().manual_seed(1), consistent)
        said = model(ids, pad_id=alice.PAD).argmax(dim=-1)
        assert (said[:, ::2] >= in_context.LETTERS).float().mean() > 0.9


@pytest.fixture
def tiny():
    """A GPT of letters that has learned nothing."""
    torch.manual_seed(0)
    return alice.Letters(len(alice.letters()), 60, 16, 2, 2, 32).eval()


def test_the_judge_by_hand():
    assert preferences.word_length("a cat ran\nhome") == 11 / 4
    assert preferences.word_length("  ") == 2
    assert preferences.judged("a cat", "the cats") == 1
    assert preferences.judged("the cats", "a cat") == 0
    assert preferences.judged("the cat", "cat the") == 0.5


def test_log_probabilities_are_of_the_letters_after_the_prompt(tiny):
    ids = torch.randint(68, (3, preferences.PROMPT + preferences.LENGTH))
    with torch.no_grad():
        shares = tiny(ids, pad_id=alice.PAD).log_softmax(dim=-1)
        found = preferences.log_probability(tiny, ids)
    for row, total in zip(range(3), found, strict=True):
        by_hand = sum(
            shares[row, place - 1, ids[row, place]]
            for place in range(preferences.PROMPT, ids.shape[1])
        )
        assert total.item() == pytest.approx(by_hand.item(), rel=1e-4)


def test_the_loss_of_preferences_by_hand():
    zeros = torch.zeros(4)
    assert preferences.dpo_loss(zeros, zeros, 0.3).item() == pytest.approx(math.log(2))
    found = preferences.dpo_loss(torch.tensor([3.0]), torch.tensor([1.0]), 0.5).item()
    assert found == pytest.approx(-math.log(1 / (1 + math.exp(-1))))


def test_pairs_are_judged_and_learned(tiny):
    ids = alice.encoded(alice.texts()["train"])
    with undisturbed():
        chosen, rejected = preferences.pairs(tiny, ids, torch.Generator().manual_seed(0))
    assert torch.equal(chosen[:, : preferences.PROMPT], rejected[:, : preferences.PROMPT])
    for better, worse in zip(*map(preferences.written, (chosen, rejected)), strict=True):
        assert preferences.judged(better, worse) == 1
    model = copy.deepcopy(tiny)
    given = chosen[:8], rejected[:8], 0.3, 20, torch.Generator().manual_seed(0)
    with one_thread():
        preferences.prefer(model, tiny, *given)
    with torch.no_grad():
        gains = [
            preferences.log_probability(model, each) - preferences.log_probability(tiny, each)
            for each in given[:2]
        ]
    assert (gains[0] > gains[1]).float().mean() > 0.8


def test_a_model_that_is_as_it_was_has_not_moved(tiny):
    ids = torch.randint(68, (3, preferences.PROMPT + preferences.LENGTH))
    assert preferences.moved(tiny, tiny, ids, ids) == {"won": 0, "lost": 0, "fell": 0}


def test_the_loss_on_short_words_asks_for_nothing_else(tiny):
    text = "I am Wonderland "
    with torch.no_grad():
        logits = tiny(alice.encoded(text)[None], pad_id=alice.PAD)[0].log_softmax(dim=-1)
    by_hand = [-logits[place - 1, alice.letters().index(text[place])] for place in (2, 3)]
    tiny.position_embedding = torch.nn.Embedding.from_pretrained(
        tiny.position_embedding.weight[: len(text)]
    )
    found = preferences.loss_on_short_words(tiny, text)
    assert found == pytest.approx(sum(by_hand).item() / 2, rel=1e-4)


def test_the_lookup_of_the_page_needs_its_first_layer_alone():
    with one_thread():
        found = in_context.looked_into(in_context.loaded(), in_context.asked(0)[:300])
    assert max(map(max, found["induction"])) < 0.3
    first, second = found["looked_up_without"]
    assert first < 0.2 and second > 0.75


def test_by_place_asks_the_last_letter_of_texts_that_showed_it_once():
    model, ids = in_context.loaded(), in_context.asked(0)[:300]
    with one_thread(), torch.no_grad():
        found = in_context.by_place(model, ids)
        said = model(ids, pad_id=alice.PAD)[:, -2].argmax(dim=-1).tolist()
    answers = [[] for _ in range(in_context.PAIRS - 1)]
    for row, letter in zip(ids.tolist(), said, strict=True):
        *before, last = row[::2]
        if before.count(last) == 1:
            answers[before.index(last)].append(letter == row[-1])
    assert found == pytest.approx([sum(each) / len(each) for each in answers])


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_other_seeds_learn_from_the_prompt_and_not_without_mappings():
    for run in in_context.measure(in_context.STEPS, UNSEEN):
        if run["texts"] == "mappings":
            assert run["looked_up"] > 0.7
        else:
            assert run["looked_up"] < 0.2


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_other_seeds_do_what_is_preferred_and_move_farther_with_a_small_beta():
    budget = measurements.load("preferences")["budget"]
    runs = preferences.measure(**budget | {"betas": (0.1, 3.0), "seeds": UNSEEN})
    for seed in UNSEEN:
        before, small, large = (
            next(run for run in runs if run["seed"] == seed and run["beta"] == beta)
            for beta in (None, 0.1, 3.0)
        )
        assert before["wins"] < min(small["wins"], large["wins"])
        assert before["kl"] < large["kl"] < small["kl"] and large["old"] < small["old"]
