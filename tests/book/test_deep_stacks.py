"""The stacks of chapter 7 are encoder layers, and lack what they say they lack."""

import math

import pytest
import torch

from book.experiments.depth import deep_stacks
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
    # not to the bit: the whole layer uses the fused kernel, which rounds in another order
    assert torch.allclose(layer(x), whole(x), atol=1e-6)


def test_without_residuals_a_silent_part_leaves_nothing():
    layer = deep_stacks.stack(1, None, residual=False, initialisation="Glorot")[0]
    torch.nn.init.zeros_(layer.feed_forward.linear_2.weight)
    assert not layer(torch.randn(1, 3, deep_stacks.D_MODEL)).any()


def test_the_gradient_norm_is_that_of_all_matrices_together():
    layer = deep_stacks.stack(1, "post", residual=True, initialisation="PyTorch")[0]
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


def test_the_own_share_is_what_is_left_beside_the_common_part():
    common, own = torch.eye(5)[:1], torch.eye(5)[1:]  # all at right angles
    x = (0.8 * common + 0.6 * own)[None]
    assert math.isclose(deep_stacks.own_share(deep_stacks.likeness(x)), 0.6, rel_tol=1e-5)
    assert deep_stacks.own_share(1 + 1e-9) == 0


def test_matrices_are_drawn_by_the_rule_that_is_named():
    def spread_of(initialisation):
        torch.manual_seed(0)
        layer = deep_stacks.stack(1, "post", True, initialisation)[0]
        attention, network = layer.self_attention, layer.feed_forward
        return [
            each.weight.std().item() for each in (attention.w_v, attention.w_o, network.linear_2)
        ]

    glorot = [(2 / 64) ** 0.5, (2 / 64) ** 0.5, (2 / 96) ** 0.5]
    default = [(1 / 3 / 32) ** 0.5, (1 / 3 / 32) ** 0.5, (1 / 3 / 64) ** 0.5]
    assert spread_of("Glorot") == pytest.approx(glorot, rel=0.1)
    assert spread_of("PyTorch") == pytest.approx(default, rel=0.1)
    assert spread_of("N(0, 0.02)") == pytest.approx([0.02] * 3, rel=0.1)
    third = [glorot[0], glorot[1] / 3, glorot[2] / 3]
    assert spread_of("Glorot, a third") == pytest.approx(third, rel=0.1)
    assert spread_of("Glorot, W^O a third") == pytest.approx([*third[:2], glorot[2]], rel=0.1)
    assert spread_of("Glorot, W_2 a third") == pytest.approx([*glorot[:2], third[2]], rel=0.1)


def test_what_attention_adds_is_measured_where_it_is_added():
    layer = deep_stacks.stack(1, "pre", residual=True, initialisation="Glorot")[0]
    for parameter in layer.self_attention.parameters():
        torch.nn.init.zeros_(parameter)
    x = torch.randn(2, 5, deep_stacks.D_MODEL)
    assert deep_stacks.added_by_attention(layer, x) == 0
    torch.nn.init.ones_(layer.self_attention.w_o.bias)
    expected = (deep_stacks.D_MODEL**0.5 / x.norm(dim=-1)).mean().item()
    assert deep_stacks.added_by_attention(layer, x) == pytest.approx(expected)


def test_smaller_matrices_keep_positions_apart_longer():
    """The mechanism that the page gives, at the depth and with seeds that it does not show."""
    for seed in range(100, 103):
        glorot, third, default = (
            deep_stacks.at_the_start(16, "post", True, seed, name)
            for name in ("Glorot", "Glorot, a third", "PyTorch")
        )
        assert glorot["likeness"][-1] > 0.98
        assert third["likeness"][-1] < 0.9 and default["likeness"][-1] < 0.9
        assert max(glorot["added"]) > 2 * max(default["added"])
