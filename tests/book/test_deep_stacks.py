"""The stacks of chapter 7 are encoder layers, and lack what they say they lack."""

import math
from itertools import product

import pytest
import torch

from book.experiments import deep_stacks
from solutions.ch07_layers import EncoderLayer


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_with_all_its_parts_a_partial_layer_is_an_encoder_layer(norm):
    torch.manual_seed(0)
    layer = deep_stacks.PartialLayer(norm, residual=True)
    whole = EncoderLayer(
        deep_stacks.D_MODEL, deep_stacks.NUM_HEADS, deep_stacks.D_FF, norm_first=norm == "pre"
    )
    whole.load_state_dict(layer.state_dict())
    x = torch.randn(2, 5, deep_stacks.D_MODEL)
    assert torch.equal(layer(x), whole(x))


def test_without_residuals_a_silent_part_leaves_nothing():
    layer = deep_stacks.stack(1, None, residual=False)[0]
    torch.nn.init.zeros_(layer.feed_forward.linear_2.weight)
    assert not layer(torch.randn(1, 3, deep_stacks.D_MODEL)).any()


def test_the_gradient_norm_is_that_of_all_matrices_together():
    layer = deep_stacks.stack(1, "post", residual=True)[0]
    layer(torch.randn(1, 3, deep_stacks.D_MODEL)).square().sum().backward()
    matrices = [parameter.grad.flatten() for parameter in layer.parameters() if parameter.ndim > 1]
    assert len(matrices) == 6
    assert math.isclose(
        deep_stacks.gradient_norm(layer), torch.cat(matrices).norm().item(), rel_tol=1e-5
    )


def test_likeness_is_one_for_one_direction_and_zero_for_right_angles():
    row = torch.randn(1, 1, 8)
    assert math.isclose(
        deep_stacks.likeness(torch.cat([row, 2 * row, 3 * row], dim=1)), 1, rel_tol=1e-5
    )
    assert abs(deep_stacks.likeness(torch.eye(4)[None])) < 1e-6


def test_knowing_the_letters_but_not_their_places(monkeypatch):
    monkeypatch.setattr(deep_stacks, "LETTERS", 3)
    monkeypatch.setattr(deep_stacks, "WORD_LEN", 4)
    words = list(product(range(3), repeat=4))
    shares = [[word.count(letter) / 4 for letter in range(3)] for word in words]
    mean = sum(-sum(p * math.log(p) for p in share if p) for share in shares) / len(words)
    assert math.isclose(deep_stacks.loss_of_letters_without_places(), mean)
