"""The Python side of the explorers: how a learner's function is called, and what is said where it gives nothing to show."""

import numpy as np
import pytest
import torch

from book.explorers import (
    explore_attention,
    explore_decoding,
    explore_heads,
    explore_layer_norm,
    explore_masks,
    explore_positions,
    names,
    script,
)
from book.explorers.notebook import trained_reader
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch04_attention import scaled_dot_product_attention
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import causal_mask, masked_attention
from solutions.ch07_layers import LayerNorm
from solutions.ch08_encoder_decoder import greedy_decode

LARGEST = 30_000  # bytes of a script


def problem(widget):
    assert "numbers" not in widget.computed
    return widget.computed["problem"]


@pytest.mark.parametrize("name", names())
def test_a_script_is_small(name):
    assert script(name).stat().st_size < LARGEST


def test_an_unknown_explorer_is_refused():
    with pytest.raises(ValueError, match="there is no explorer 'nothing'; there are: attention"):
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
    assert widget.computed["numbers"] == {"weights": weights[0].tolist(), "output": output[0].tolist()}


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
    widget.set_state({"asked": 2})  # nothing that the function sees has changed: an answer, and no call
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


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (raising(ValueError("no\n  such thing")), "stopped with ValueError: no such thing"),
        (raising(NotImplementedError()), "stopped with NotImplementedError."),
        (raising(KeyboardInterrupt()), "stopped with KeyboardInterrupt."),
        (raising(RuntimeError("x" * 400)), f"stopped with RuntimeError: {'x' * 300} …"),
        (returning(lambda output, weights: None), "returns None; it should return two arrays, output and weights."),
        (
            returning(lambda output, weights: output),
            "returns an ndarray; it should return two arrays, output and weights.",
        ),
        (returning(lambda output, weights: (output, None)), "returns None as weights, which is no array of numbers."),
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
        (returning(lambda output, weights: (output, weights * np.nan)), "returns weights with nan in 5 of 5 places."),
        (
            returning(lambda output, weights: (np.where([True, False], np.inf, output), weights)),
            "returns an output with inf in 1 of 2 places.",
        ),
    ],
)
def test_what_cannot_be_shown_is_said(function, said):
    assert problem(explore_attention(function)) == f"Your scaled_dot_product_attention {said}"


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


def test_heads_have_the_parameters_of_the_trained_model():
    widget = explore_heads(MultiHeadAttention, gates=(0, 0, 0, 0))
    reader = trained_reader()
    base = reader.output(reader.attention.w_o.bias).view(4, -1)  # what is left if no head brings anything
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


def test_a_module_without_a_layer_of_the_contract():
    class MultiHead(torch.nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            self.query = torch.nn.Linear(d_model, d_model)

    assert problem(explore_heads(MultiHead)) == "Your MultiHead has no parameter w_k.bias."


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda n: np.tril(np.ones((n, n))), "Your <lambda> returns an ndarray; a mask is a boolean tensor."),
        (lambda n: torch.ones(n, n).tril(), "Your <lambda> returns torch.float32; a mask is a boolean tensor."),
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
    assert not np.allclose(only_values, explore_masks(masked_attention).computed["numbers"]["gradients"])


def test_an_error_inside_the_gradients_is_the_functions_own():
    def fails(query, key, value, mask=None):
        raise ValueError("no mask")

    assert problem(explore_masks(fails)) == "Your fails stopped with ValueError: no mask"


def test_a_layer_norm_gets_gain_bias_and_eps():
    widget = explore_layer_norm(LayerNorm)
    widget.set_state({"x": [2, 2, 2, 6], "eps": 1.0, "gain": 2, "bias": -1, "asked": 1})
    assert np.allclose(
        widget.computed["numbers"]["result"], [-2, -2, -2, 2]
    )  # mean 3, variance 3, divided by the root of 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda ids: ids[0], "returns ids of shape (9,); here it should be (1, any)."),
        (lambda ids: ids[:, :1], "returns 1 ids: no word behind <bos>."),
        (lambda ids: ids + 1000, "returns ids that are not in the vocabulary of"),
        (lambda ids: ids.repeat(1, 3), "returns 27 ids, although max_len is 20."),
    ],
)
def test_ids_that_are_no_translation(change, said):
    def changed(model, src, max_len=64):
        return change(greedy_decode(model, src, max_len))

    assert problem(explore_decoding(changed)).startswith(f"Your changed {said}")
