"""Checks of `ch07_layers`.

Nothing here asks what the contract leaves open: how a LayerNorm computes its variance where the
mean is so large that float32 runs out of digits, which extra attributes a module has, and how often
dropout draws. The cases that ask where dropout acts use weights that let only a few numbers
through, because then the smallest and the largest result of 400 calls are certain, though no single
call is.
"""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.authoring import draw
from autograder.authoring.drawn import drawn


@drawn
def at_one_position(rng, make, reference, constructor, shape, position):
    """Make a case in which x changes at one position, for the probe `moved`."""
    x, changed = make(rng, *shape), make(rng, *shape)
    case = draw.module_case(rng, reference, constructor, {"x": x}, torch.float64)
    return draw.changing(rng, case, "x", position, lambda rng, x: changed[:, position])


def post_norm(self, x, part, norm):
    return norm(x + self.dropout(part(x)))


def pre_norm(self, x, part, norm):
    return x + self.dropout(part(norm(x)))


def pre_norm_without_stream(self, x, part, norm):
    return pre_norm(self, norm(x), part, nn.Identity())


def without_norm(self, x, part, norm):
    return x + self.dropout(part(x))


def undropped_post_norm(self, x, part, norm):
    return norm(x + part(x))


def undropped_pre_norm(self, x, part, norm):
    return x + part(norm(x))


def only(number, count, one, others):
    """Return the steps of so many parts, of which the one with a number, counted from 0, is
    another than the others.
    """
    return tuple(one if each == number else others for each in range(count))


WITHOUT_RESIDUAL = {
    "post": lambda self, x, part, norm: norm(self.dropout(part(x))),
    "pre": lambda self, x, part, norm: self.dropout(part(norm(x))),
}
DROPPING_THE_SUM = {
    "post": lambda self, x, part, norm: norm(self.dropout(x + part(x))),
    "pre": lambda self, x, part, norm: self.dropout(x + part(norm(x))),
}


class AlwaysDropping(nn.Dropout):
    def forward(self, x):
        return F.dropout(x, self.p, training=True)


def without_inner_dropout(self):
    self.feed_forward.dropout.p = 0.0


class Dropping:
    """A module in which a rule says what its dropout is."""

    dropping = nn.Dropout

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.dropout = self.dropping(self.dropout.p)


class InSteps(Dropping):
    """A layer whose rules say in which order the parts come, which norm each has, and how each
    result is added: one rule for all parts, or one for each.
    """

    norms = None  # as in `order`
    post, pre = post_norm, pre_norm

    def through(self, x, *attentions):
        self.start = x
        parts = *attentions, self.feed_forward
        steps = type(self).pre if self.norm_first else type(self).post
        for part, norm in zip(self.order, self.norms or self.order, strict=True):
            step = steps[part - 1] if isinstance(steps, tuple) else steps
            x = step(self, x, parts[part - 1], getattr(self, f"norm_{norm}"))
        return x
