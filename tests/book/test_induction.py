"""The models in which induction heads form, and those that the page of chapter 12 runs: what is
measured is tried on untrained models and on weights that are made by hand, so that the truth is
known.
"""

import itertools

import pytest
import torch

from book.experiments import measurements
from book.experiments.heads import by_place, in_the_page, induction, marked
from solutions.ch12_interpretation import induction_score


@pytest.fixture
def model():
    torch.manual_seed(0)
    return induction.AttentionOnly().requires_grad_(False)


@pytest.fixture
def ids():
    return induction.texts(8, 6, torch.Generator().manual_seed(0))


def test_a_text_says_its_words_twice_and_none_of_them_more_often(ids):
    assert ids.shape == (8, 12) and ids[:, :6].equal(ids[:, 6:])
    assert all(len(set(row.tolist())) == 6 for row in ids)
    assert len(set(induction.WORDS)) == 32 and set(induction.SENTENCE) <= set(induction.WORDS)


def test_a_position_knows_nothing_of_later_words(model, ids):
    changed = ids.clone()
    changed[:, 7] = (changed[:, 7] + 1) % 32
    before, after = model(ids)[0], model(changed)[0]
    assert torch.equal(before[:, :7], after[:, :7]) and not torch.allclose(
        before[:, 7:], after[:, 7:]
    )


def test_heads_add_up_to_what_their_layer_finds(model, ids):
    x = model.embedding(ids)
    whole, _ = model.attend(0, x, x, x)
    parts = [induction.found_by(model, head, ids) for head in (0, 1)]
    assert torch.allclose(sum(parts), whole, atol=1e-5) and not torch.allclose(*parts, atol=1e-2)


def test_only_what_reads_a_change_is_changed(model, ids):
    change = torch.randn(8, 12, 64)
    assert torch.allclose(induction.read_with(model, ids, change), model(ids)[0], atol=1e-5)
    each = [induction.read_with(model, ids, change, name) for name in ("query", "key", "value")]
    assert not any(torch.allclose(one, model(ids)[0], atol=1e-2) for one in each)
    pairs = itertools.combinations(each, 2)
    assert not any(torch.allclose(*pair, atol=1e-2) for pair in pairs)


def test_the_place_before_has_all_the_weight_of_a_perfect_head():
    before = torch.eye(12).roll(1, 0)[None, None]  # row i looks at i - 1
    assert induction.previous_score(before).tolist() == [1]
    assert induction.previous_score(torch.eye(12)[None, None]).tolist() == [0]


def test_the_second_half_is_right_where_the_next_word_is_said(ids):
    said = torch.nn.functional.one_hot(ids.roll(-1, 1), 32).float()
    assert induction.right(said, ids) == 1
    said[0, 7] = said[0, 7].roll(1)  # one of five words in one of eight texts
    assert induction.right(said, ids) == pytest.approx(39 / 40)
    said[:, :6] = 0  # the first half does not count, nor what comes at its end
    said[:, 11] = 0
    assert induction.right(said, ids) == pytest.approx(39 / 40)


def test_circuits_are_what_the_model_computes(model):
    """The score of a place without positions, where the key is only what a head has brought."""
    qk, ov = induction.circuits(model, 1, 0)
    words = model.embedding.weight
    first, second = model.layers
    marked = first.w_o.weight[:, 32:] @ first.w_v(words).T[32:]  # (64, 32 words)
    query, key = second.w_q(words)[:, :32], second.w_k(marked.T)[:, :32]
    assert torch.allclose(qk, query @ key.T / 32**0.5, atol=1e-5)
    found = second.w_v(words)[:, :32] @ second.w_o.weight[:, :32].T
    assert torch.allclose(ov, model.generator(found), atol=1e-5)


def test_a_short_training_is_recorded(monkeypatch):
    monkeypatch.setattr(induction, "TEXTS", 4)
    runs = induction.measure(26, range(1))
    looks, (model,) = runs[:-1], runs[-1:]
    assert [look["step"] for look in looks] == [0, 25]
    assert looks[1]["second"] < looks[0]["second"]
    assert model["induction"] == [] and model["right"] < 0.5
    assert set(model["copied"]) == {"query", "key", "value"} and len(model["circuits"]) == 2
    assert [told["after"] for told in model["sentence"]] == [[0], [0, 0]]


def test_the_rate_rises_and_falls():
    shares = [induction.share_of_rate(step, 1000) for step in range(1001)]
    assert shares.index(max(shares)) == induction.WARM_UP - 1 and max(shares) == 1
    assert 0 < shares[0] < 0.02 and 0 < shares[-1] < 0.02


def test_rounded_numbers_are_near_and_come_with_what_is_known(tmp_path):
    tensors = {"matrix": torch.randn(5, 7) * torch.tensor([[1.0], [100], [0.01], [1], [0]])}
    tensors["bias"] = torch.randn(7)
    in_the_page.save(tmp_path / "model.safetensors", tensors, words=["il", "la"])
    found, known = in_the_page.load(tmp_path / "model.safetensors")
    assert known == {"words": ["il", "la"]} and found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        largest = tensor.abs().amax(dim=-1, keepdim=True)
        assert ((found[name] - tensor).abs() <= largest / 254 + 1e-9).all()


def test_the_translator_of_the_page_translates():
    model, english, italian = in_the_page.translator()
    english_ids = [english.index(word) for word in ("the", "hen", "does", "not", "sleep")]
    source, written = torch.tensor([english_ids]), [italian.index("<bos>")]
    while italian[written[-1]] != "<eos>" and len(written) < 9:
        written.append(int(model(source, torch.tensor([written]))[0, -1].argmax()))
    assert " ".join(italian[word] for word in written) == "<bos> la gallina non dorme <eos>"


def test_the_repeating_model_of_the_page_is_that_of_the_record():
    model, ids = in_the_page.repeater(), induction.examples()
    (run,) = (
        run
        for run in measurements.load("induction")["runs"]
        if run["kind"] == "model" and run["seed"] == 0
    )
    logits, (first, second) = model(ids)
    assert induction.right(logits, ids) == pytest.approx(run["right"], abs=0.005)
    assert int(induction.previous_score(first).argmax()) == run["previous"]
    assert induction_score(second, ids).mean(dim=0).min() > induction.MOSTLY
    assert induction.copied(model, run["previous"], ids, "key") == pytest.approx(
        run["copied"]["key"], abs=0.05
    )


def test_an_answer_is_as_old_as_its_place_in_the_list():
    """After 3 1 4 5 | 3, the words that came only once are 1, 4 and 5; after 3 1, only 4 and 5."""
    rows = torch.tensor([[3, 1, 4, 5]] * 3)
    said = torch.tensor([[1, 4, 5], [4, 5, 5], [5, 3, 9]])
    once, age = by_place.ages(said, rows)
    assert once.tolist() == [[True] * 3, [True] * 3, [True, False, False]]
    assert age.tolist() == [[0, 0, -1], [0.5, 1, -1], [1, -1, -1]]


def test_a_head_that_marks_by_hand_hands_on_the_word_before_and_the_other_what_it_found(model, ids):
    x = model.embedding(ids)
    words = x @ induction.through(model.layers[0].w_v, model.layers[0].w_o, 0, model.layers[0])
    before = torch.cat([words[:, :1], words[:, :-1]], dim=1)
    change = before - induction.found_by(model, 0, ids)
    x = x + model.attend(0, x, x, x)[0] + change
    wanted = model.generator(x + model.attend(1, x, x, x)[0])
    assert torch.allclose(marked.marked_by_hand(model, 0, ids), wanted, atol=1e-5)


def test_places_add_nothing_without_positions_and_more_with_larger_ones(model):
    small = marked.places(model, 0)
    model.position.weight.mul_(2)
    assert marked.places(model, 0) == pytest.approx(4 * small, rel=1e-4)
    model.position.weight.zero_()
    assert marked.places(model, 0) == 0


def test_marks_by_hand_keep_a_model_right_that_makes_them_itself():
    model, ids = in_the_page.repeater(), induction.examples()
    found = marked.looked_into(model, ids)
    assert found["by_hand"][found["previous"]] > 0.99
    assert min(found["match"]) > 5 * max(found["places"])
