"""The Python side of the explorers: how a learner's function is called, and what is said where it
gives nothing to show.
"""

import numpy as np
import pytest
import torch

from book.experiments import unsure_translator
from book.explorers import (
    explore_attention,
    explore_beam,
    explore_copying,
    explore_decoding,
    explore_heads,
    explore_layer_norm,
    explore_lookup,
    explore_masks,
    explore_positions,
    names,
    script,
)
from book.widgets.models import trained_reader, trained_unsure_translator
from solutions.ch01_embeddings import embed, encode, one_hot
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch03_bottleneck import additive_attention
from solutions.ch04_attention import scaled_dot_product_attention
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import causal_mask, masked_attention
from solutions.ch07_layers import LayerNorm
from solutions.ch08_encoder_decoder import greedy_decode
from solutions.ch09_training import beam_search

# with the same explorers in a browser: their models are trained once in a process
pytestmark = pytest.mark.xdist_group("explorers in a notebook")

LARGEST = 30_000  # bytes of a script


def problem(widget):
    assert "numbers" not in widget.computed
    return widget.computed["problem"]


@pytest.mark.parametrize("name", names())
def test_a_script_is_small(name):
    assert script(name).stat().st_size < LARGEST


def test_an_unknown_explorer_is_refused():
    with pytest.raises(
        ValueError, match=f"there is no explorer 'nothing'; there are: {names()[0]}"
    ):
        script("nothing")


@pytest.mark.parametrize("d_k", [2, 64])
def test_attention_is_asked_about_the_plane_and_wider(d_k):
    seen = []

    def noted(query, key, value):
        seen.append((query, key, value))
        return scaled_dot_product_attention(query, key, value)

    widget = explore_attention(noted, query=(1.5, -2.0), d_k=d_k)
    ((query, key, value),) = seen
    assert (query.shape, key.shape, value.shape) == ((1, d_k), (5, d_k), (5, 2))
    in_the_plane = np.array([1.5, -2.0]) @ np.array(widget.fixed["keys"]).T
    assert np.allclose(query @ key.T, in_the_plane * np.sqrt(d_k / 2))
    output, weights = scaled_dot_product_attention(query, key, value)
    assert widget.computed["numbers"] == {
        "weights": weights[0].tolist(),
        "output": output[0].tolist(),
    }


def test_words_keys_and_values_can_be_ones_own():
    state = {"words": ["a", "b"], "keys": [[1, 0], [0, 1]], "values": [[2, 0], [0, 2]]}
    widget = explore_attention(scaled_dot_product_attention, query=(1, 1), **state)
    assert widget.computed["numbers"]["weights"] == [0.5, 0.5]
    assert widget.fixed == state


def test_a_message_from_the_page_calls_the_function_once():
    calls = []

    def noted(query, key, value):
        calls.append(query.tolist())
        return scaled_dot_product_attention(query, key, value)

    widget = explore_attention(noted)
    widget.set_state({"query": [0.0, 1.0], "d_k": 4, "asked": 1})
    assert len(calls) == 2  # once at the start, once for three traits
    assert widget.computed["number"] == 1
    assert widget.computed["inputs"] == {"query": [0.0, 1.0], "d_k": 4}
    # Nothing that the function sees has changed: an answer, and no call.
    widget.set_state({"asked": 2})
    assert len(calls) == 2
    assert widget.computed["number"] == 2
    widget.query = [1.0, 0.0]  # from a cell
    assert len(calls) == 3
    assert widget.computed["inputs"]["query"] == [1.0, 0.0]


def test_what_is_moved_is_not_echoed_to_the_page():
    widget = explore_positions(sinusoidal_encoding)
    for name in ("asked", *widget.computed["inputs"]):
        assert widget.trait_metadata(name, "sync")
        assert widget.trait_metadata(name, "echo_update") is False


def raising(error):
    def scaled_dot_product_attention(query, key, value):
        raise error

    return scaled_dot_product_attention


def returning(change):
    def scaled_dot_product_attention(query, key, value):
        return change(np.full((1, 2), 0.5), np.full((1, 5), 0.2))

    return scaled_dot_product_attention


def test_a_function_that_stopped_is_asked_again():
    def moody(query, key, value):
        if query[0, 0] > 1:
            raise ValueError("too far")
        return scaled_dot_product_attention(query, key, value)

    widget = explore_attention(moody)
    assert problem(widget) == "Your moody stopped with ValueError: too far"
    widget.set_state({"query": [0.5, 0.0], "asked": 1})
    assert set(widget.computed) == {"number", "inputs", "numbers"}


@pytest.mark.parametrize("d_model", [4, 16, 512])
def test_positions_are_read_from_the_table(d_model):
    widget = explore_positions(sinusoidal_encoding, position=128, offset=64, d_model=d_model)
    found = {name: np.array(numbers) for name, numbers in widget.computed["numbers"].items()}
    table = sinusoidal_encoding(193, d_model)
    assert np.array_equal(found["first"], table[128])
    assert np.array_equal(found["second"], table[192])
    assert np.isclose(found["curve"][64], 1)
    assert np.isclose(found["curve"][-1], table[10] @ table[74] / (d_model / 2))
    widget.dial = 7  # the slowest pair that has a clock
    assert np.array_equal(np.array(widget.computed["numbers"]["wave"]).T, table[:, -2:])


def test_a_lookup_asks_one_function_with_what_the_one_before_returned():
    def shifted(sentence, vocabulary):
        return encode(sentence, vocabulary) - 1

    widget = explore_lookup(embed, one_hot, shifted, sentence="cats like blue fish")
    numbers = widget.computed["numbers"]
    assert numbers["ids"] == [3, 4, 2, 6]
    assert np.argmax(numbers["oneHot"], axis=1).tolist() == [3, 4, 2, 6]
    assert numbers["product"] == [widget.table[row] for row in (3, 4, 2, 6)]
    widget.sentence = "one two three four five six seven"
    assert len(widget.computed["numbers"]["ids"]) == 6
    widget.sentence = ""
    assert widget.computed["numbers"] == {"ids": [], "oneHot": [], "product": []}
    assert set(explore_lookup(embed).computed["numbers"]) == {"product"}


def test_the_copying_machine_looks_back_through_the_learners_function():
    widget = explore_copying(additive_attention, seq_len=8)
    numbers = widget.computed["numbers"]
    assert numbers["written"] == widget.fixed["attention"][0][0]["written"][7]
    assert np.allclose(np.sum(numbers["weights"], axis=1), 1)
    assert widget.fixed["curves"]["attention"][0][0][7] > 0.9

    def blind(query, keys, w_query, w_key, v):
        assert (query.shape, keys.shape, w_query.shape, w_key.shape, v.shape) == (
            (32,),
            (8, 32),
            (32, 16),
            (32, 16),
            (16,),
        )
        return keys.mean(axis=0), np.full(len(keys), 1 / len(keys))

    numbers = explore_copying(blind, seq_len=8).computed["numbers"]
    assert numbers["written"] != widget.computed["numbers"]["written"]
    assert np.allclose(numbers["weights"], 1 / 8)


def test_heads_have_the_parameters_of_the_trained_model():
    widget = explore_heads(MultiHeadAttention, gates=(0, 0, 0, 0))
    reader = trained_reader()
    # What is left if no head brings anything.
    base = reader.output(reader.attention.w_o.bias).view(4, -1)
    assert np.allclose(widget.computed["numbers"]["logits"], base, atol=1e-4)
    widget.set_state({"query": 9, "asked": 1})  # a word that a shorter sentence does not have
    assert np.shape(widget.computed["numbers"]["maps"]) == (4, 6)


def test_training_leaves_the_learners_random_numbers_and_threads_alone():
    trained_reader.cache_clear()
    torch.manual_seed(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    trained_reader()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda n: np.tril(np.ones((n, n))),
            "Your <lambda> returns an ndarray; a mask is a boolean tensor.",
        ),
        (
            lambda n: torch.ones(n, n).tril(),
            "Your <lambda> returns torch.float32; a mask is a boolean tensor.",
        ),
        (
            lambda n: torch.ones(3, 3).bool(),
            "Your <lambda> returns a mask of shape (3, 3), which does not broadcast to",
        ),
    ],
)
def test_a_mask_that_is_none(make, said):
    widget = explore_masks(masked_attention, make)
    assert "numbers" in widget.computed  # "none" asks for no mask of the learner's
    widget.preset = "causal"
    assert said in problem(widget)


def test_gradients_go_through_the_learners_function():
    widget = explore_masks(masked_attention, causal_mask)
    widget.preset = "causal"
    gradients = np.array(widget.computed["numbers"]["gradients"])
    assert (gradients[np.tril_indices(5)] > 0).all()
    assert (gradients[np.triu_indices(5, 1)] == 0).all()

    def cut_off(query, key, value, mask=None):
        return masked_attention(query.detach(), key.detach(), value, mask)

    only_values = np.array(explore_masks(cut_off).computed["numbers"]["gradients"])
    assert not np.allclose(
        only_values, explore_masks(masked_attention).computed["numbers"]["gradients"]
    )


def test_a_layer_norm_gets_gain_bias_and_eps():
    widget = explore_layer_norm(LayerNorm)
    widget.set_state({"x": [2, 2, 2, 6], "eps": 1.0, "gain": 2, "bias": -1, "asked": 1})
    # Mean 3, variance 3, divided by the root of 4.
    assert np.allclose(widget.computed["numbers"]["result"], [-2, -2, -2, 2])


def levels_of(search, **inputs):
    """Return what a search kept alive, as the explorer shows it: for each length its beginnings,
    the likeliest first.
    """
    found = explore_beam(search, **inputs).computed["numbers"]
    return [[each["ids"] for each in level] for level in found["levels"]], found


@pytest.mark.parametrize("sentence", range(len(unsure_translator.SENTENCES)))
@pytest.mark.parametrize("beam_size", [1, 3, 5])
def test_a_search_is_shown_by_what_it_asks_about(sentence, beam_size):
    questions = []

    def noted(step_log_probs, **settings):
        def asked(prefixes):
            questions.append(prefixes[:, 1:].tolist())
            return step_log_probs(prefixes)

        return beam_search(asked, **settings)

    levels, found = levels_of(noted, sentence=sentence, beam_size=beam_size, length_penalty=0.3)
    assert [sorted(level) for level in levels] == [sorted(question) for question in questions]
    assert found["alive"] == [
        sorted((each["log_prob"] for each in level), reverse=True) for level in found["levels"]
    ]
    model = unsure_translator.next_words(
        trained_unsure_translator(), unsure_translator.SENTENCES[sentence]
    )
    assert found["result"] == beam_search(model, beam_size=beam_size, max_len=7, length_penalty=0.3)
    ended = len(found["result"]) < 6
    whole = [1, *found["result"], *[2] * ended]
    rows = [model(torch.tensor([whole[:length]]))[0] for length in range(1, len(whole))]
    log_prob = sum(float(row[word]) for row, word in zip(rows, whole[1:], strict=True))
    assert np.isclose(found["log_prob"], log_prob)
    assert np.isclose(found["score"], log_prob / ((5 + len(whole) - 1) / 6) ** 0.3)


def test_neither_the_order_of_prefixes_nor_their_number_in_a_question_matters():
    def one_by_one(step_log_probs, **settings):
        def asked(prefixes):
            rows = [step_log_probs(prefix[None]) for prefix in reversed(prefixes)]
            assert torch.equal(step_log_probs(prefixes), torch.cat(rows[::-1]))
            return torch.cat(rows[::-1])

        return beam_search(asked, **settings)

    assert levels_of(one_by_one, beam_size=4) == levels_of(beam_search, beam_size=4)


def test_beginnings_that_live_twice_are_shown_twice():
    def copies(step_log_probs, beam_size, **settings):
        step_log_probs(torch.tensor([[1]] * beam_size))
        return []

    assert levels_of(copies, beam_size=3)[0] == [[[], [], []]]


def test_the_model_answers_for_beginnings_that_no_beam_asks_about():
    asked_about = {each for ids, _, _ in unsure_rows(0) for each in ids}
    word = next(
        each
        for each in range(3, len(trained_unsure_translator().italian))
        if each not in asked_about
    )
    answers = []

    def curious(step_log_probs, **settings):
        answers.append(step_log_probs(torch.tensor([[1, word, word, word]])))
        return [word]

    levels, _ = levels_of(curious)
    assert levels == [[], [], [], [[word] * 3]]
    assert np.isclose(answers[0].exp().sum(), 1, atol=0.01)  # rounded


def unsure_rows(sentence):
    return explore_beam(beam_search).fixed["sentences"][sentence]["rows"]


def test_training_leaves_random_numbers_and_threads_alone():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before = torch.get_rng_state()
        translator = unsure_translator.trained(steps=2)
        unsure_translator.next_words(translator, "the fox runs")(torch.tensor([[1]]))
        assert torch.equal(torch.get_rng_state(), before)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_what_the_page_holds_is_what_the_model_says():
    model = unsure_translator.next_words(
        trained_unsure_translator(), unsure_translator.SENTENCES[0]
    )
    for ids, words, log_probs in unsure_rows(0):
        row = model(torch.tensor([[1, *ids]]))[0]
        assert np.allclose(row[words], log_probs, atol=1e-6)
        assert row.topk(10).indices.tolist() == words


def asking(prefixes):
    def beam_search(step_log_probs, **settings):
        for _ in range(1000):
            step_log_probs(prefixes)

    return beam_search


def giving(change):
    def changed(step_log_probs, **settings):
        return change(beam_search(step_log_probs, **settings))

    changed.__name__ = "beam_search"
    return changed


def translating(change):
    def changed(model, src, max_len=64):
        return change(greedy_decode(model, src, max_len))

    return changed


def swapped(*arguments):
    context, weights = additive_attention(*arguments)
    return weights, context


def without_mask(query, key, value, mask=None):
    raise ValueError("no mask")


class MultiHead(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.query = torch.nn.Linear(d_model, d_model)


# What a learner's function does that cannot be shown, and the whole sentence or its beginning.
ATTENTIONS = [
    (raising(ValueError("no\n  such thing")), "stopped with ValueError: no such thing"),
    (raising(NotImplementedError()), "stopped with NotImplementedError."),
    (raising(KeyboardInterrupt()), "stopped with KeyboardInterrupt."),
    (raising(RuntimeError("x" * 400)), f"stopped with RuntimeError: {'x' * 300} …"),
    (
        returning(lambda output, weights: None),
        "returns None; it should return two arrays, output and weights.",
    ),
    (
        returning(lambda output, weights: output),
        "returns an ndarray; it should return two arrays, output and weights.",
    ),
    (
        returning(lambda output, weights: (output, None)),
        "returns None as weights, which is no array of numbers.",
    ),
    (
        returning(lambda output, weights: (output, "weights")),
        "returns a str as weights, which is no array of numbers.",
    ),
    (
        returning(lambda output, weights: (weights, output)),
        "returns weights of shape (1, 2); here it should be (1, 5).",
    ),
    (
        returning(lambda output, weights: (output[0], weights)),
        "returns an output of shape (2,); here it should be (1, 2).",
    ),
    (
        returning(lambda output, weights: (output, weights * np.nan)),
        "returns weights with nan in 5 of 5 places.",
    ),
    (
        returning(lambda output, weights: (np.where([True, False], np.inf, output), weights)),
        "returns an output with inf in 1 of 2 places.",
    ),
]
LOOKUPS = [
    (
        (lambda ids, table: table[:2],),
        "Your <lambda> returns embeddings of shape (2, 3); here it should be (4, 3).",
    ),
    (
        (embed, lambda ids, size: np.eye(3)[:1]),
        "Your <lambda> returns one-hot vectors of shape (1, 3); here it should be (4, 9).",
    ),
    (
        (embed, one_hot, lambda *_: [1, 2]),
        "Your <lambda> returns ids of shape (2,); here it should be (4,).",
    ),
    (
        (embed, one_hot, lambda *_: [1, 2, 3, 9]),
        "Your <lambda> returns ids that are not in the vocabulary of 9 words.",
    ),
    (
        (embed, one_hot, lambda *_: [0, 1, 2, 0.5]),
        "Your <lambda> returns ids that are not in the vocabulary of 9 words.",
    ),
]
TRANSLATIONS = [
    (lambda ids: ids[0], "returns ids of shape (9,); here it should be (1, any)."),
    (lambda ids: ids[:, :1], "returns 1 ids: no word behind <bos>."),
    (lambda ids: ids + 1000, "returns ids that are not in the vocabulary of"),
    (lambda ids: ids.repeat(1, 3), "returns 27 ids, although max_len is 20."),
]
SEARCHES = [
    (asking([[1]]), "asks step_log_probs about a list; prefixes are a tensor of torch.int64."),
    (
        asking(torch.ones(1, 1)),
        "asks step_log_probs about torch.float32; prefixes are a tensor of torch.int64.",
    ),
    (
        asking(torch.tensor([1])),
        "asks step_log_probs about prefixes of shape (1,); it should be (beam, len).",
    ),
    (
        asking(torch.ones(0, 1).long()),
        "asks step_log_probs about prefixes of shape (0, 1); it should be (beam, len).",
    ),
    (
        asking(torch.ones(1, 8).long()),
        "asks step_log_probs about prefixes of 8 ids, although max_len is 7.",
    ),
    (
        asking(torch.tensor([[5]])),
        "asks step_log_probs about a prefix that does not begin with bos_id.",
    ),
    (
        asking(torch.tensor([[1, 999]])),
        "asks step_log_probs about ids that are not in the vocabulary of",
    ),
    (
        asking(torch.tensor([[1]])),
        "asks step_log_probs more than 500 times, and does not stop.",
    ),
    (lambda step_log_probs, **settings: [], "never asks step_log_probs."),
    (giving(lambda ids: None), "returns None; it should return a list of int."),
    (giving(torch.tensor), "returns a Tensor; it should return a list of int."),
    (
        giving(lambda ids: [*torch.tensor(ids)]),
        "returns a list that holds a Tensor; it should hold int alone.",
    ),
    (giving(lambda ids: [999, *ids]), "returns ids that are not in the vocabulary of"),
    (giving(lambda ids: [1, *ids]), "returns bos_id among its ids; it should leave it out."),
    (giving(lambda ids: [*ids, 2]), "returns eos_id among its ids; it should leave it out."),
    (giving(lambda ids: [9] * 7), "returns 7 ids; behind <bos> there is room for 6."),
]
OTHERS = [
    (
        explore_copying,
        swapped,
        "Your swapped returns weights of shape (32,); here it should be (6,).",
    ),
    (
        explore_copying,
        lambda *_: None,
        "Your <lambda> returns None; it should return two arrays, context and weights.",
    ),
    (explore_heads, MultiHead, "Your MultiHead has no parameter w_k.bias."),
    (explore_masks, without_mask, "Your without_mask stopped with ValueError: no mask"),
]


@pytest.mark.parametrize(
    ("explore", "functions", "said"),
    [
        *(
            (explore_attention, (each,), f"Your scaled_dot_product_attention {said}")
            for each, said in ATTENTIONS
        ),
        *((explore_lookup, each, said) for each, said in LOOKUPS),
        *(
            (explore_decoding, (translating(each),), f"Your changed {said}")
            for each, said in TRANSLATIONS
        ),
        *((explore_beam, (each,), f"Your {each.__name__} {said}") for each, said in SEARCHES),
        *((explore, (each,), said) for explore, each, said in OTHERS),
    ],
)
def test_what_cannot_be_shown_is_said(explore, functions, said):
    found = problem(explore(*functions))
    assert found.startswith(said)
    assert found == said or said.endswith(" in the vocabulary of")  # how many differs
