"""The feed-forward network, the same at every position."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.authoring import draw
from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch07_layers import AlwaysDropping, Dropping, at_one_position
from autograder.shared.probes import arguments_after, extremes, gradients, moved, returned_for_views
from solutions import ch07_layers as reference


def float64_normal(rng, *shape):
    return draw.normal(rng, *shape, dtype=torch.float64)


@drawn
def network_case(rng, *shape, d_ff, dtype=torch.float64, dropout=None, **parts):
    """Make the inputs of a FeedForward; without `dropout` its default is meant."""
    constructor = (shape[-1], d_ff)
    if dropout is not None:
        constructor += (dropout,)
    x = draw.normal(rng, *shape, dtype=dtype)
    return draw.module_case(rng, reference.FeedForward, constructor, {"x": x}, dtype, **parts)


@drawn
def two_units_awake(rng, dropout, train, d_model=2):
    """Make a case with two features in between, both above 0: each of the four ways to drop them
    comes up in 400 calls.
    """
    made = network_case(rng, 1, 1, d_model, d_ff=2, dropout=dropout, train=train)
    first, second = made["weights"]["linear_1.weight"], made["weights"]["linear_2.weight"]
    made["weights"] |= {
        "linear_1.weight": (0.3 * first).round(decimals=3),
        "linear_1.bias": 3 + float64_normal(rng, 2).abs(),
        "linear_2.weight": second.sign() * (0.5 + second.abs()),
    }
    return made


class Rules(Dropping, reference.FeedForward):
    activation = nn.ReLU()

    def forward(self, x):
        activation = type(
            self
        ).activation  # the rule, and not what the reference keeps in an object
        return self.linear_2(self.dropout(activation(self.linear_1(x))))


checks = Checks(reference.FeedForward, family=Rules, shortcuts="FeedForward MLP")
shown, hidden, wrong, right = checks.words

shown("a single position", network_case(1, 3, d_ff=5))
shown("a batch of sentences", network_case(2, 3, 4, d_ff=6), weight=2)
shown(
    "one position changes, and no other",
    at_one_position(float64_normal, reference.FeedForward, (4, 6), (2, 5, 4), 1),
    probe=moved,
)
shown("d_ff may equal d_model", network_case(2, 2, 4, d_ff=4))
shown("gradients reach x and every weight", network_case(2, 3, d_ff=4), probe=gradients)
shown("without a dropout, train mode changes nothing", network_case(2, 3, 4, d_ff=6, train=True))
shown(
    "in train mode some features in between are dropped",
    two_units_awake(0.3, True),
    probe=extremes,
    weight=2,
)
shown("in eval mode none are", two_units_awake(0.4, False), probe=extremes, weight=2)
shown("float32 in, float32 out", network_case(2, 3, d_ff=4, dtype=torch.float32))
shown("bfloat16 in, bfloat16 out", network_case(2, 3, d_ff=4, dtype=torch.bfloat16))
shown("x stays as it was", network_case(2, 3, d_ff=4), probe=arguments_after)
hidden("a longer batch", network_case(3, 5, 6, d_ff=11), weight=2)
hidden("fewer features in between than outside", network_case(2, 3, 5, d_ff=2))
hidden("four times as many in between", network_case(2, 3, 2, d_ff=8))
hidden("four axes", network_case(2, 2, 3, 4, d_ff=5))
hidden(
    "one position of many changes, and no other",
    at_one_position(float64_normal, reference.FeedForward, (3, 7), (2, 7, 3), 4),
    probe=moved,
)
hidden("gradients on a batch", network_case(2, 3, 4, d_ff=6), probe=gradients, weight=2)
hidden("a dropout of 0 in train mode", network_case(2, 4, d_ff=6, dropout=0.0, train=True))
hidden("without one, in train mode", network_case(3, 3, 4, d_ff=9, train=True))
hidden(
    "most features in between are dropped", two_units_awake(0.6, True, 3), probe=extremes, weight=2
)
hidden("none are in eval mode", two_units_awake(0.5, False, 3), probe=extremes, weight=2)
hidden("a batch in float32", network_case(2, 3, 4, d_ff=6, dtype=torch.float32))
hidden("float16 in, float16 out", network_case(2, 4, d_ff=6, dtype=torch.float16))
hidden("a batch in bfloat16", network_case(2, 3, 4, d_ff=6, dtype=torch.bfloat16))
hidden(
    "numbers that are not contiguous in memory",
    network_case(2, 3, 4, d_ff=5),
    probe=returned_for_views,
)
hidden("a batch stays as it was", network_case(2, 3, 4, d_ff=6), probe=arguments_after)


wrong(
    "two linear layers are enough",
    """Two linear layers, one right after the other, are no more than one. What does the formula put
    between them?""",
    activation=nn.Identity(),
)


wrong(
    "the ReLU comes at the end",
    "Your result has no negative number in it. Where does the ReLU belong?",
    activation=nn.Identity(),
    then=torch.relu,
)


wrong(
    "there is a ReLU after each layer",
    "Your result has no negative number in it. How many times does the formula apply the ReLU?",
    then=torch.relu,
)


wrong(
    "any activation will do",
    """A little of the negative numbers gets through your activation. Which one does the formula
    name?""",
    activation=nn.GELU(),
)


wrong(
    "a ReLU may leak",
    """A hundredth of each negative number gets through your activation. Which one does the formula
    name?""",
    activation=nn.LeakyReLU(),
)


wrong(
    "an activation squeezes",
    "Large numbers do not get through your activation. What does a ReLU do with them?",
    activation=nn.Tanh(),
)


wrong(
    "an activation lies between 0 and 1",
    "All of your inner features lie between 0 and 1. Which activation does the formula name?",
    activation=nn.Sigmoid(),
)


wrong(
    "nn.ReLU is a function",
    """The name `nn.ReLU` is that of a class: calling it makes a layer. What do you give it, and
    what comes back?""",
    activation=nn.ReLU,
)


wrong(
    "the ReLU comes first",
    "You apply the ReLU to x. What does the formula apply it to?",
    forward=lambda self, x: self.linear_2(self.dropout(self.linear_1(torch.relu(x)))),
)


@wrong(
    "one matrix serves both ways",
    "Changing linear_2.weight does not change your result. Do your two layers share a matrix?",
)
def tied(self, x):
    hidden = self.dropout(torch.relu(self.linear_1(x)))
    return F.linear(hidden, self.linear_1.weight.T, self.linear_2.bias)


@wrong(
    "the biases can be left out",
    "The formula adds something after each of its two products.",
    rule="made",
)
def without_biases(self):
    self.linear_1.bias = self.linear_2.bias = None


@wrong(
    "d_ff is always four times d_model",
    "The inner width is an argument. Does it reach your layers?",
    rule="__init__",
)
def of_fixed_width(self, d_model, d_ff, dropout=0.0):
    reference.FeedForward.__init__(self, d_model, 4 * d_model, dropout)


wrong(
    "the residual connection belongs to the network",
    "You add x to the result. The formula of this exercise does not; the layer around it will.",
    forward=lambda self, x: x + Rules.forward(self, x),
)


wrong(
    "dropout can be forgotten",
    """In train mode your result is the same each time. What should happen to the features in
    between?""",
    dropping=nn.Identity,
)


wrong(
    "dropout comes at the end",
    """In train mode some numbers of your result are exactly 0. Which features should be dropped:
    those at the end, or those in between?""",
    forward=lambda self, x: self.dropout(self.linear_2(torch.relu(self.linear_1(x)))),
)


wrong(
    "dropout comes in between and at the end",
    """In train mode you drop twice: in between, which is right, and once more. The network's output
    is a matter for the layer around it.""",
    forward=lambda self, x: self.dropout(Rules.forward(self, x)),
)


wrong(
    "dropout comes first",
    """In train mode you drop features of x. Which features should be dropped: those that come in,
    or those in between?""",
    forward=lambda self, x: self.linear_2(torch.relu(self.linear_1(self.dropout(x)))),
)


wrong(
    "dropout knows by itself when training is over",
    "Your results vary in eval mode, too. How does your dropout know which mode the module is in?",
    dropping=AlwaysDropping,
)


@wrong(
    "training means no dropout",
    """Your dropout works in eval mode and not in train mode. What does True mean for the switch
    that you set?""",
    rule="dropping",
)
class DroppingOnlyInEval(nn.Dropout):
    def forward(self, x):
        return F.dropout(x, self.p, training=not self.training)


@wrong(
    "what stays needs no scale",
    """You drop some features and leave the others as they are, so their sum shrinks. By what does
    dropout divide the features that stay?""",
    rule="dropping",
)
class DroppingWithoutScale(nn.Dropout):
    def forward(self, x):
        return x * (torch.rand_like(x) >= self.p) if self.training else x


@wrong(
    "the scale belongs to eval mode",
    """In eval mode you shrink the features in between. In torch, dropout does nothing at all in
    eval mode. When does it scale instead?""",
    rule="dropping",
)
class ScalingInEval(nn.Dropout):
    def forward(self, x):
        return x * (torch.rand_like(x) >= self.p) if self.training else x * (1 - self.p)


wrong(
    "dropout is the part that stays",
    """You keep what should be dropped and drop what should be kept. Is the number a probability of
    dropping or of keeping?""",
    dropping=lambda self, rate: nn.Dropout(1 - rate),
)


@right
class NetworkAsSequence(nn.Sequential):  # without the optional parameter
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1, self.relu = nn.Linear(d_model, d_ff), nn.ReLU()
        self.dropout, self.linear_2 = nn.Dropout(dropout), nn.Linear(d_ff, d_model)


@right
def by_products(self, x):
    first, second = self.linear_1, self.linear_2
    hidden = F.relu(x @ first.weight.T + first.bias)
    hidden = F.dropout(hidden, p=self.dropout.p, training=self.training)
    return torch.einsum("...f,df->...d", hidden, second.weight) + second.bias


@right
def with_a_mask_of_its_own(self, x):
    hidden = self.linear_1(x)
    if self.training and self.dropout.p > 0:
        kept = torch.bernoulli(torch.full_like(hidden, 1 - self.dropout.p))
        hidden = hidden * kept / (1 - self.dropout.p)
    return self.linear_2(hidden.clamp(min=0))  # dropping does not change a sign
