"""A feed-forward network whose hidden features are gated."""

import torch
from torch import nn
from torch.nn import functional

from autograder.authoring import draw
from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.checks.ch07_layers import at_one_position
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch13_family as reference


def float64_normal(rng, *shape):
    return draw.normal(rng, *shape, dtype=torch.float64)


@drawn
def network_case(rng, *shape, d_ff, dtype=torch.float64, scale=1.5, **parts):
    """Make the inputs of a SwiGLU."""
    x = draw.normal(rng, *shape, dtype=dtype, scale=scale)
    return draw.module_case(rng, reference.SwiGLU, (shape[-1], d_ff), {"x": x}, dtype, **parts)


@drawn
def open_or_shut(rng, *shape, d_ff):
    """Make a case of one feature in which no gate is half open."""
    case = network_case(rng, *shape, 1, d_ff=d_ff)
    x = case["forward"]["x"]
    case["forward"]["x"] = x + x.sign()
    signs = torch.from_numpy(rng.permutation([1.0, -1.0] * d_ff)[:d_ff])
    case["weights"]["w_gate.weight"] = 80.0 * signs[:, None]
    return case


@drawn
def with_equal_gates(rng, *shape, d_ff):
    """Make a case whose gate has the same numbers as what it lets through."""
    case = network_case(rng, *shape, d_ff=d_ff)
    case["weights"]["w_gate.weight"] = case["weights"]["w_up.weight"].clone()
    return case


class Rules(reference.SwiGLU):
    def gate(self, x):
        return self.w_gate(x)

    def activation(self, gate):
        return functional.silu(gate)

    def up(self, x):
        return self.w_up(x)

    def joined(self, gate, up):
        return gate * up

    def forward(self, x):
        return self.w_down(self.joined(self.activation(self.gate(x)), self.up(x)))


checks = Checks(reference.SwiGLU, family=Rules, shortcuts="SwiGLU SwiGLUFFN swiglu LlamaMLP")
shown, hidden, wrong, right = checks.words

shown("a single position", network_case(1, 3, d_ff=5), weight=2)
shown("a batch of sentences", network_case(2, 3, 4, d_ff=6), weight=3)
shown(
    "one position changes, and no other",
    at_one_position(float64_normal, reference.SwiGLU, (4, 6), (2, 5, 4), 1),
    probe=moved,
)
shown("gates are wide open or shut", open_or_shut(3, d_ff=4))
shown("gate and up have the same numbers", with_equal_gates(2, 3, d_ff=4))
shown("d_ff may equal d_model", network_case(2, 2, 4, d_ff=4))
shown("zeros stay zeros", network_case(2, 3, d_ff=5, scale=0.0))
shown("gradients reach x and every weight", network_case(2, 3, d_ff=4), probe=gradients, weight=2)
shown(
    "a new one has three matrices, and no other parameter",
    constructor={"d_model": integer(3, 6), "d_ff": integer(7, 10)},
    probe=at_the_start,
    weight=4,
)
shown("float32 in, float32 out", network_case(2, 3, d_ff=4, dtype=torch.float32))
shown("x stays as it was", network_case(2, 3, d_ff=4), probe=arguments_after)
hidden("a longer batch", network_case(3, 5, 6, d_ff=11), weight=3)
hidden("fewer features in between than outside", network_case(2, 3, 5, d_ff=2))
hidden("four times as many in between", network_case(2, 3, 2, d_ff=8))
hidden("gates of a batch are wide open or shut", open_or_shut(2, 3, d_ff=6), weight=2)
hidden("gate and up of a batch have the same numbers", with_equal_gates(2, 3, 4, d_ff=5))
hidden("four axes", network_case(2, 2, 3, 4, d_ff=5))
hidden(
    "a new one that is narrow inside has three matrices, too",
    constructor={"d_model": integer(7, 10), "d_ff": integer(3, 6)},
    probe=at_the_start,
    weight=4,
)
hidden("large numbers", network_case(2, 3, 4, d_ff=6, scale=20.0), weight=2)
hidden(
    "one position of many changes, and no other",
    at_one_position(float64_normal, reference.SwiGLU, (3, 7), (2, 7, 3), 4),
    probe=moved,
)
hidden("gradients on a batch", network_case(2, 3, 4, d_ff=6), probe=gradients, weight=2)
hidden("train mode changes nothing", network_case(3, 4, d_ff=5, train=True))
hidden("a batch in float32", network_case(2, 3, 4, d_ff=6, dtype=torch.float32))
hidden("bfloat16 in, bfloat16 out", network_case(2, 3, 4, d_ff=6, dtype=torch.bfloat16))
hidden(
    "numbers that are not contiguous in memory",
    network_case(2, 3, 4, d_ff=5),
    probe=returned_for_views,
)
hidden("a batch stays as it was", network_case(2, 3, 4, d_ff=6), probe=arguments_after)


wrong(
    "gate and up may change places",
    """This is right for a network in which `w_gate` and `w_up` are exchanged. Which of the two goes
    through the activation?""",
    gate=lambda self, x: self.w_up(x),
    up=lambda self, x: self.w_gate(x),
)


wrong(
    "a gate is a sigmoid",
    "Your gate lies between 0 and 1, as in the first gated unit. Which function has this one?",
    activation=lambda self, gate: torch.sigmoid(gate),
)


wrong(
    "the gate has a GELU",
    "You are close wherever numbers are large. Which activation is in the name?",
    activation=lambda self, gate: functional.gelu(gate),
)


wrong(
    "the gate has a ReLU",
    "Your gate is closed for every negative number. What does silu give for -1?",
    activation=lambda self, gate: torch.relu(gate),
)


wrong(
    "the gate has a tanh",
    "Your gate does not grow beyond 1. What does silu give for 5?",
    activation=lambda self, gate: torch.tanh(gate),
)


wrong(
    "the gate is linear",
    "Double x: your result is four times as large. Where is the activation?",
    activation=lambda self, gate: gate,
)


wrong(
    "both sides have an activation",
    "How many times does the formula apply silu?",
    up=lambda self, x: functional.silu(self.w_up(x)),
)


wrong(
    "the activation comes after the product",
    "What goes through silu: the product, or one of its factors?",
    activation=lambda self, gate: gate,
    joined=lambda self, gate, up: functional.silu(gate * up),
)


wrong(
    "gate and up add up",
    "A gate lets something through, or does not. Which operation does that?",
    joined=lambda self, gate, up: gate + up,
)


wrong(
    "a gate alone is a network",
    "Changing w_up does not change your result. Where is it in the formula?",
    joined=lambda self, gate, up: gate,
)


wrong(
    "there is no gate",
    "Changing w_gate does not change your result. Where is it in the formula?",
    joined=lambda self, gate, up: functional.silu(up),
)


wrong(
    "one matrix serves for gate and up",
    "Your gate and what it lets through are made by one matrix. How many are there?",
    gate=lambda self, x: self.w_up(x),
)


wrong(
    "there is a residual connection inside",
    "Your result holds x itself. The layer around this network adds it already.",
    forward=lambda self, x: x + Rules.forward(self, x),
)


@wrong(
    "linear layers have a bias",
    """How many numbers does each of your three layers have? The statement says what they go
    without.""",
    rule="made",
)
def with_biases(self):
    for layer in self.w_gate, self.w_up, self.w_down:
        layer.bias = nn.Parameter(torch.zeros(layer.out_features))


@wrong(
    "d_ff is two thirds of four times d_model",
    "The inner width is an argument. Does it reach your layers as it is?",
    rule="__init__",
)
def of_fixed_width(self, d_model, d_ff):
    reference.SwiGLU.__init__(self, d_model, 8 * d_model // 3)


@wrong(
    "gate and up are one layer",
    "The statement names three layers. Which of them do you have?",
    rule="__init__",
)
def with_one_layer_for_both(self, d_model, d_ff):
    nn.Module.__init__(self)
    self.w_in = nn.Linear(d_model, 2 * d_ff, bias=False)
    self.w_down = nn.Linear(d_ff, d_model, bias=False)


wrong(
    "the gate does not learn",
    "The values are right, but no gradient reaches w_gate. Where is that path cut?",
    gate=lambda self, x: self.w_gate(x).detach(),
)


checks.usual("in float32")


@right
def with_a_sigmoid(self, x):
    gate = self.w_gate(x)
    return self.w_down(gate * torch.sigmoid(gate) * self.w_up(x))


@right
def by_one_product(self, x):
    both = functional.linear(x, torch.cat([self.w_gate.weight, self.w_up.weight]))
    gate, up = both.chunk(2, dim=-1)
    return self.w_down(nn.functional.silu(gate) * up)


@right
def by_matrices(self, x):
    gate = x @ self.w_gate.weight.T
    return (gate / (1 + torch.exp(-gate)) * (x @ self.w_up.weight.T)) @ self.w_down.weight.T


@right
class WithAModuleForSilu(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w_down = nn.Linear(d_ff, d_model, bias=False)
        self.w_up = nn.Linear(d_model, d_ff, bias=False)
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.activation = nn.SiLU()

    def forward(self, x):
        return self.w_down(self.w_up(x) * self.activation(self.w_gate(x)))
