"""The entropy of rows of attention weights."""

import math

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.probes import arguments_after, gradients_where_not_zero
from solutions.ch12_interpretation import attention_entropy


@drawn
def rows(rng, *shape, zeros=0, dtype=torch.float64, scale=1.5):
    """Draw rows of weights, each with this number of zeros at random places."""
    scores = normal(rng, *shape, scale=scale, dtype=torch.float64)
    places = torch.from_numpy(rng.permuted(scores.argsort().argsort().numpy(), axis=-1))
    return scores.masked_fill(places < zeros, -math.inf).softmax(-1).to(dtype)


@drawn
def single(rng, *shape, dtype=torch.float64):
    """Draw rows that have all their weight on one key."""
    return rows(rng, *shape, zeros=shape[-1] - 1, dtype=dtype)


@drawn
def tiny(rng, *shape, dtype=torch.float64):
    """Draw rows with a zero and with a weight so small that a constant would hide it."""
    weights = rows(rng, *shape, zeros=1)
    least = weights.masked_fill(weights == 0, math.inf).argmin(-1, keepdim=True)
    small = 10.0 ** -torch.from_numpy(rng.integers(12, 30, (*shape[:-1], 1))).double()
    freed = weights.gather(-1, least) - small
    weights = weights.scatter(-1, least, small)
    return weights.scatter_add(-1, weights.argmax(-1, keepdim=True), freed).to(dtype)


def mixed(rng):
    """Draw an even row, a row with all its weight on one key, and rows with zeros."""
    even = torch.full((1, 5), 0.2, dtype=torch.float64)
    return {"weights": torch.cat([even, single(rng, 1, 5), rows(rng, 2, 5, zeros=2)])}


def entropy_with(
    floor=lambda weights: weights.masked_fill(weights == 0, 1),
    logarithm=torch.log,
    factor=lambda weights: weights,
    summed=lambda terms: terms.sum(dim=-1),
    sign=-1,
    swept=lambda terms: terms,
):
    """Make an entropy from its rules: what the logarithm is taken of, which one, what it is
    multiplied by, how the terms are added up and with which sign.
    """

    def attention_entropy(weights):
        terms = factor(weights) * logarithm(floor(weights))
        return sign * summed(swept(terms))

    return attention_entropy


checks = Checks(attention_entropy, family=entropy_with, shortcuts="entropy entr Categorical")
shown, hidden, wrong, right = checks.words

shown("one row", weights=rows(4), weight=3)
shown("rows of two heads", weights=rows(2, 3, 4), weight=2)
shown("a weight of 0 contributes 0", weights=rows(5, zeros=2), weight=2)
shown("even rows, rows of one key, rows with zeros", mixed)
shown("gradients are those of the formula", weights=rows(3, 4), probe=gradients_where_not_zero)
shown(
    "gradients are finite where a weight is 0, and those of the formula elsewhere",
    weights=rows(2, 5, zeros=2),
    probe=gradients_where_not_zero,
    weight=2,
)
shown("float32 in, float32 out", weights=rows(2, 4, zeros=1, dtype=torch.float32))
hidden("rows of a whole batch", weights=rows(2, 3, 4, 6), weight=3)
hidden("a causal mask's zeros", lambda rng: {"weights": causal(rng, 2, 5)}, weight=2)
hidden(
    "all weight on one key",
    lambda rng: {"weights": torch.cat([single(rng, 3, 6), rows(rng, 1, 6)])},
)
hidden("two keys", weights=rows(4, 2))
hidden("a sharp row", weights=rows(3, 8, scale=9.0))
hidden("many keys", weights=rows(2, 60, zeros=20))
hidden(
    "gradients under a causal mask",
    lambda rng: {"weights": causal(rng, 2, 4)},
    probe=gradients_where_not_zero,
    weight=2,
)
hidden("gradients of weights that are tiny", weights=tiny(2, 6), probe=gradients_where_not_zero)
hidden(
    "gradients in float32",
    weights=rows(2, 5, zeros=2, dtype=torch.float32),
    probe=gradients_where_not_zero,
)
hidden("float32 with tiny weights", weights=tiny(3, 5, dtype=torch.float32))
hidden("the argument stays as it was", weights=rows(2, 5, zeros=2), probe=arguments_after)


def causal(rng, heads, seq_len):
    scores = normal(rng, heads, seq_len, seq_len, dtype=torch.float64)
    later = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -math.inf).softmax(-1)


wrong(
    "the formula is all there is",
    "What is ln 0, and what is 0 times that? Masked keys have a weight of exactly 0.",
    floor=lambda weights: weights,
)


wrong(
    "a nan can be removed at the end",
    """The numbers are right, but a backward pass multiplies by everything on its way, and where a
    weight is 0 yours meets something infinite. What does the logarithm see there?""",
    floor=lambda weights: weights,
    swept=torch.nan_to_num,
)


wrong(
    "a small number in the logarithm does no harm",
    """The values agree to some digits. Ask for the gradient of a weight that is smaller than your
    small number. What does it depend on?""",
    floor=lambda weights: weights + 1e-9,
)


wrong(
    "a larger number in the logarithm does no harm",
    "Your values are off in the sixth digit or so. What do you add to the weights, and to which?",
    floor=lambda weights: weights + 1e-5,
)


wrong(
    "weights that are too small can be raised",
    """The values are right, but a weight below your bound gets the gradient of the bound. Which
    weights need a bound at all?""",
    floor=lambda weights: weights.clamp(min=1e-8),
)


wrong(
    "a very small number does no harm",
    """The values are right, but the gradient of an even smaller weight depends on your very small
    number. Which weights need one at all?""",
    floor=lambda weights: weights.clamp(min=1e-12),
)


wrong(
    "the logarithm has the base 2",
    "Everything is 1.44 times what it should be. In which unit is the entropy asked for?",
    logarithm=torch.log2,
)


wrong(
    "entropy is a sum of logarithms",
    "What does the formula multiply each logarithm by?",
    factor=torch.ones_like,
)


wrong(
    "the sign does not matter",
    "An entropy is never negative. What does the formula begin with?",
    sign=1,
)


wrong(
    "an entropy is a mean",
    "Your result shrinks as keys are added. Does the formula divide by their number?",
    summed=lambda terms: terms.mean(dim=-1),
)


wrong(
    "there is one number for all rows",
    "Each row has an entropy of its own. Which axes does your sum run over?",
    summed=lambda terms: terms.sum(dim=-1).mean(),
)


wrong(
    "the last axis is the one to keep",
    "Rows sum to 1 along the last axis. Which axis is gone from your result?",
    summed=lambda terms: terms.sum(dim=0),
)


@wrong(
    "an entropy lies between 0 and 1",
    """You divide by the largest entropy that a row of this length can have. In which unit is the
    result asked for?""",
    around=True,
)
def of_the_largest(right, weights):
    return right(weights) / math.log(weights.shape[-1])


wrong(
    "scores come in, not weights",
    "Your function turns its argument into weights. What does each row sum to when it comes in?",
    weights=lambda weights: weights.softmax(-1),
)


wrong(
    "weights still have to be made to sum to 1",
    """The numbers are right, but the gradients are not those of the formula. If you divide a row by
    its sum, each of its numbers depends on all of them. Do the rows need that?""",
    weights=lambda weights: weights / weights.sum(dim=-1, keepdim=True),
)


checks.usual("in float32")
checks.usual("detached")


@right
def by_selection(weights):
    is_positive = weights > 0
    safe = torch.where(is_positive, weights, torch.ones_like(weights))
    return -torch.where(is_positive, weights * safe.log(), torch.zeros_like(weights)).sum(-1)


@right
def by_the_smallest_number(weights):
    """Adds the smallest number that there is, where a weight is 0, and nowhere else."""
    least = torch.full_like(weights, torch.finfo(weights.dtype).tiny)
    return (weights * -(weights + least * (weights == 0)).log()).sum(-1)


@right
def by_cross_entropy(weights):
    logarithms = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
    return -torch.einsum("...k,...k->...", weights, logarithms)
