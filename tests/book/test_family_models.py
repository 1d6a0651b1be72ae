"""The tiny GPT of chapter 13 and what is made of it: counting sums to 1, each change since 2017 has
the parameters that it should, LoRA's two exact facts; and the page's claims hold with seeds that it
does not show.
"""

import copy
import itertools
import math

import pytest
import torch

from book.experiments import measurements
from book.experiments.after_2017 import beyond, experts, lora, low_rank, scaling, since_2017
from book.experiments.family import alice
from book.experiments.undisturbed import one_thread
from solutions.ch07_layers import EncoderLayer
from solutions.family.lora import LoRA, with_lora

UNSEEN = range(100, 103)


@pytest.fixture
def tiny():
    """A GPT of letters that has learned nothing."""
    torch.manual_seed(0)
    return alice.Letters(len(alice.letters()), 16, 16, 2, 2, 32).eval()


def test_the_three_texts_are_the_book():
    parts = alice.texts()
    assert "".join(parts.values()) == alice.TEXT.read_text(encoding="utf-8")
    assert parts["validation"].startswith("CHAPTER XI\n")
    assert parts["test"].startswith("CHAPTER XII\n")
    assert len(alice.letters()) == 68


def test_ids_lead_back_to_their_letters():
    known = alice.letters()
    text = "'Curiouser and curiouser!' cried Alice"
    assert "".join(known[each] for each in alice.encoded(text).tolist()) == text


def test_pieces_predict_every_letter_once():
    pieces = alice.cut(torch.arange(21), 6)
    assert pieces[:, 1:].flatten().tolist() == list(range(1, 21))
    assert pieces[:, 0].tolist() == [0, 5, 10, 15]


@pytest.mark.parametrize("order", [0, 1, 3])
def test_what_counting_says_sums_to_one(order):
    vocabulary = "abcd"
    counts = alice.Counts("abacabad" * 2 + "abc", order, vocabulary)
    for context in map("".join, itertools.product(vocabulary, repeat=4)):
        said = [counts.probability(letter, context) for letter in vocabulary]
        assert min(said) > 0 and math.isclose(sum(said), 1)


def test_counting_by_hand():
    """After "a" came "b" twice and "c" once; of all seven letters two were "b"."""
    counts = alice.Counts("abacaba", 1, "abcd")
    shorter = (2 + 3 / 4) / (7 + 3)  # "b", with every letter equally likely before
    assert counts.probability("b", "a") == pytest.approx((2 + 2 * shorter) / (3 + 2))


def test_writing_is_the_same_with_the_same_seed_and_longer_than_the_positions(tiny):
    one, same, other = (alice.write(tiny, "Alice ", 30, seed)[0] for seed in (0, 0, 1))
    assert one == same != other and len(one) == 30
    greedy = {alice.write(tiny, "Alice ", 10, seed, temperature=0)[0] for seed in (0, 1)}
    assert len(greedy) == 1
    assert len(set(alice.write(tiny, "Alice ", 10, 0, rows=3))) == 3


def test_a_short_training_learns_and_keeps_its_best_weights(tiny):
    parts = alice.texts()
    ids, validation = alice.encoded(parts["train"]), alice.encoded(parts["validation"][:640])
    with one_thread():
        history = alice.train(tiny, ids, validation, steps=30, seed=0)
    assert [each["step"] for each in history] == [30]
    assert history[-1]["validation"] < 3.8 < math.log(68)
    again = alice.loss_on(tiny, alice.cut(validation, tiny.max_len))
    assert again == pytest.approx(history[-1]["validation"])


def test_the_committed_weights_are_those_of_the_recorded_run():
    """In 16 bits, and without its last position, seed 0's model has nearly the recorded loss."""
    recorded = next(run for run in measurements.load("alice")["runs"] if run.get("seed") == 0)
    model, validation = alice.loaded(), alice.encoded(alice.texts()["validation"])
    with one_thread():
        loss = alice.loss_on(model, alice.cut(validation, model.max_len))
    assert loss == pytest.approx(recorded["validation"], abs=0.01)
    assert alice.WEIGHTS.stat().st_size < 700_000


@pytest.mark.parametrize("new", [(), *((each,) for each in since_2017.VARIANTS[1:-1])])
def test_every_variant_is_causal_and_its_loss_falls(new):
    torch.manual_seed(0)
    model = since_2017.Letters(len(alice.letters()), new).eval()
    ids = torch.randint(68, (2, 32))
    changed = ids.clone()
    changed[:, 20] = (changed[:, 20] + 1) % 68
    with torch.no_grad():
        before, after = model(ids), model(changed)
    assert torch.equal(before[:, :20], after[:, :20])
    assert not torch.allclose(before[:, 20:], after[:, 20:])
    validation = alice.encoded(alice.texts()["validation"][:640])
    with one_thread():
        history = alice.train(model, validation, validation, steps=20, seed=0)
    assert history[-1]["validation"] < 3.8 < math.log(68)


def test_the_old_variant_is_chapter_thirteens_language_model():
    """With the same weights both say the same."""
    torch.manual_seed(0)
    old = since_2017.Letters(68).eval()
    sizes = since_2017.D_MODEL, since_2017.HEADS, since_2017.LAYERS, 4 * since_2017.D_MODEL
    model = alice.Letters(68, since_2017.MAX_LEN, *sizes).eval()
    model.token_embedding = old.embedding
    model.position_embedding.weight.data.copy_(old.positions)
    parts = zip(
        model.layers, old.attentions, old.networks, old.norms[::2], old.norms[1::2], strict=False
    )
    for layer, attention, network, first, second in parts:
        assert isinstance(layer, EncoderLayer)
        layer.self_attention.load_state_dict(attention.state_dict())
        layer.feed_forward, layer.norm_1, layer.norm_2 = network, first, second
    model.final_norm = old.norms[-1]
    ids = torch.randint(68, (2, 40))
    with torch.no_grad():
        assert torch.allclose(model(ids, pad_id=-1), old(ids), atol=1e-5)


def test_the_parameters_of_each_variant():
    count = {
        variant: sum(
            each.numel()
            for each in since_2017.Letters(68, since_2017.parts_of(variant)).parameters()
        )
        for variant in since_2017.VARIANTS
    }
    old, width, layers = count["as in GPT"], since_2017.D_MODEL, since_2017.LAYERS
    assert old - count["rotary positions"] == since_2017.MAX_LEN * width
    assert old - count["RMSNorm"] == (2 * layers + 1) * width  # the biases
    assert old - count["grouped queries"] == layers * 2 * (width * width // 2 + width // 2)
    assert abs(old - count["SwiGLU"]) / old < 0.02  # two thirds of the width, and no biases


def test_grouped_queries_halve_the_cache():
    old, grouped = (
        since_2017.cached_bytes(variant, 64) for variant in ("as in GPT", "grouped queries")
    )
    assert old == 2 * grouped == 2 * since_2017.LAYERS * 64 * since_2017.D_MODEL * 4


def test_rotary_scores_depend_on_distances_alone():
    """Moving the whole text by three positions changes nothing that is said of its letters."""
    torch.manual_seed(0)
    attention = since_2017.GroupedAttention(16, 2, 2, rotary=True).double()
    x = torch.randn(1, 9, 16, dtype=torch.float64)
    weights = []
    for start in (0, 3):
        positions = torch.arange(start, start + 9)
        query, key = (
            since_2017.apply_rotary(since_2017.split_heads(w(x), 2), positions)
            for w in (attention.w_q, attention.w_k)
        )
        weights.append(query @ key.mT)
    assert torch.allclose(*weights, atol=1e-12)


def test_losses_by_position_are_of_the_same_letters():
    """A model that looks at nothing but the last letter loses as much with any context."""
    torch.manual_seed(0)
    table = torch.nn.Embedding(68, 68)
    ids = torch.randint(68, (4 * beyond.LONGEST,))
    rows = beyond.by_position(table, ids)
    assert [row["begin"] for row in rows] == list(beyond.BEGINS)
    for row in rows[2:]:  # windows of the first piece begin before the text
        assert row["before"] == pytest.approx(row["window"], rel=1e-5)


def test_a_straight_line_is_found():
    sizes = [100, 200, 400, 800]
    power, off = scaling.straight_line(sizes, [3 * size**-0.25 for size in sizes])
    assert power == pytest.approx(0.25) and off < 1e-9
    _, off = scaling.straight_line(sizes, [3, 2, 2, 3])
    assert off > 0.1


def test_lora_is_the_base_at_the_start(tiny):
    ids = torch.randint(68, (2, 16))
    with torch.no_grad():
        before = tiny(ids, pad_id=alice.PAD)
        after = with_lora(copy.deepcopy(tiny), rank=2)(ids, pad_id=alice.PAD)
    assert torch.equal(before, after)


def test_lora_trains_two_thin_matrices_a_layer_and_leaves_the_rest_alone(tiny):
    model = with_lora(copy.deepcopy(tiny), rank=2)
    learning = [each for each in model.parameters() if each.requires_grad]
    assert sum(each.numel() for each in learning) == 2 * 2 * (2 * 16 + 16 * 2)
    before = {name: each.clone() for name, each in model.named_parameters()}
    ids = alice.encoded(alice.texts()["validation"][:320])
    with one_thread():
        alice.train(model, ids, ids, steps=4, seed=0)
    for name, each in model.named_parameters():
        assert torch.equal(before[name], each) == (not each.requires_grad), name


def test_lora_merged_equals_unmerged(tiny):
    model = with_lora(copy.deepcopy(tiny), rank=2).double()
    for each in model.modules():
        if isinstance(each, LoRA):
            torch.nn.init.normal_(each.up)
    ids = torch.randint(68, (2, 16))
    with torch.no_grad():
        before = model(ids, pad_id=alice.PAD)
        after = lora.merged(model)(ids, pad_id=alice.PAD)
    assert torch.allclose(before, after, atol=1e-12)
    assert not any(isinstance(each, LoRA) for each in model.modules())
    assert not torch.allclose(after, tiny.double()(ids, pad_id=alice.PAD), atol=1e-3)


def test_sentences_of_the_new_style_are_in_one_text_only():
    lines = [set(text.splitlines()) for text in lora.sentences().values()]
    assert [len(each) for each in lines] == [lora.TRAINED, lora.ASKED, lora.ASKED]
    assert not lines[0] & lines[1] and not lines[0] & lines[2] and not lines[1] & lines[2]


def test_changes_that_are_cut_to_no_rank_or_to_all_are_the_models_before_and_after(tiny):
    before, after = tiny, copy.deepcopy(tiny).requires_grad_(False)
    weights = low_rank.matrices(after)
    assert len(weights) == 2 * len(lora.LAYERS)
    changes = {name: 0.3 * torch.randn_like(weight) for name, weight in weights.items()}
    for name, weight in weights.items():
        weight.add_(changes[name])
    pieces = torch.randint(68, (4, 16))
    wanted = [alice.loss_on(model, pieces) for model in (before, after)]
    rows = low_rank.losses_by_rank(after, changes, pieces)
    assert [row["rank"] for row in rows] == list(range(17))
    assert [rows[0]["test"], rows[-1]["test"]] == pytest.approx(wanted, rel=1e-5)
    assert rows[0]["kept"] == 0 and rows[-1]["kept"] == pytest.approx(1)
    assert all(one["kept"] < other["kept"] for one, other in itertools.pairwise(rows))


def test_a_mixture_is_the_weighted_sum_of_the_experts_it_chose():
    torch.manual_seed(0)
    mixture = experts.Mixture(16, 8, bonus=0.5).eval()
    x = torch.randn(2, 5, 16)
    with torch.no_grad():
        chosen, shares = mixture.route(x.flatten(0, 1))
        every = torch.stack([expert(x.flatten(0, 1)) for expert in mixture.experts])
        wanted = sum(
            shares[:, i, None] * every[chosen[:, i], torch.arange(10)]
            for i in range(experts.AT_WORK)
        )
        assert torch.allclose(mixture(x).flatten(0, 1), wanted, atol=1e-6)
        assert not mixture.bonus.any()  # in eval mode nothing is balanced
        mixture.train()(x)
    rest = experts.loads(chosen) < 1 / experts.EXPERTS
    assert torch.equal(mixture.bonus > 0, rest)
    assert experts.loads(chosen).sum().item() == pytest.approx(1)


def test_a_bonus_changes_who_is_chosen_and_not_the_shares():
    mixture = experts.Mixture(16, 8, bonus=0.01)
    x = torch.randn(50, 16)
    mixture.bonus[3], mixture.bonus[5] = 1e6, 1e5
    chosen, shares = mixture.route(x)
    assert (chosen == torch.tensor([3, 5])).all()
    assert torch.allclose(shares, mixture.router(x)[:, [3, 5]].softmax(dim=-1))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_gpt_beats_counting_with_other_seeds():
    parts = alice.texts()
    orders = [alice.Counts(parts["train"], order, alice.letters()) for order in range(3, 6)]
    best = min(orders, key=lambda counts: counts.loss_on(parts["validation"]))
    counted = {name: best.loss_on(parts[name]) for name in ("validation", "test")}
    for seed in UNSEEN:
        model, _ = alice.trained(alice.STEPS, seed)
        with one_thread():
            for name, loss in counted.items():
                pieces = alice.cut(alice.encoded(parts[name]), model.max_len)
                assert alice.loss_on(model, pieces) < loss, (seed, name)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_more_of_lora_learns_more_and_gentle_training_forgets_less_with_other_seeds():
    """At the rate that the recorded run found best for each, and its budget."""
    recorded = measurements.load("lora")
    texts = lora.sentences()
    new = {name: alice.encoded(text) for name, text in texts.items()}
    old = alice.cut(alice.encoded(alice.texts()["test"]), alice.loaded().max_len)

    def learned(way, rate=None):
        rate = rate or lora.at_the_best_rate(recorded["runs"], way)[0]["rate"]
        steps = recorded["budget"]["steps"]
        found = [lora.learn(way, rate, steps, seed, new, old) for seed in UNSEEN]
        return [[run[key] for run in found] for key in ("test", "old")]

    one, eight, everything = map(learned, ("LoRA of rank 1", "LoRA of rank 8", lora.EVERYTHING))
    gentle = learned(lora.EVERYTHING, 0.001)
    assert max(everything[0]) < min(eight[0]) and max(eight[0]) < min(one[0])
    assert min(everything[1]) > max(eight[1])
    assert max(gentle[0]) < min(eight[0]) and max(gentle[1]) < min(eight[1])
