"""Layer normalisation: features of mean 0 and variance 1, scaled and shifted."""

from functools import partialmethod

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from autograder.authoring import draw
from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.checks.ch07_layers import at_one_position
from autograder.shared.laws import standardised
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch07_layers as reference


def off_centre(rng, *shape):
    """Draw rows whose mean is nowhere near 0, and whose spread is nowhere near 1."""
    centres = draw.normal(rng, *shape[:-1], 1, dtype=torch.float64, scale=2.0)
    return centres + 1.5 + draw.normal(rng, *shape, dtype=torch.float64, scale=2.5)


def wide(rng, *shape):
    """Draw such rows, but so wide that eps does not show; other cases ask what it does."""
    return 200 * off_centre(rng, *shape)


@drawn
def norm_case(rng, *shape, dtype=torch.float64, rows=wide, new=False, eps=None, **parts):
    """Make the inputs of a LayerNorm on rows of a shape; `new` leaves its gain and bias at ones and
    zeros.
    """
    constructor = shape[-1:]
    if eps is not None:
        constructor += (round(float(rng.uniform(*eps)), 3),)
    x = rows(rng, *shape).to(dtype)
    made = draw.module_case(rng, reference.LayerNorm, constructor, {"x": x}, dtype, **parts)
    if new:
        made["weights"] = dict(reference.LayerNorm(shape[-1]).to(dtype).state_dict())
    return made


def almost_equal(rng, *shape):
    """Draw rows of which the variance is as small as the usual eps."""
    steps = np.broadcast_to([-4, -1, 2, 3, 5, -6][: shape[-1]], shape)
    steps = torch.from_numpy(rng.permuted(steps, axis=-1))
    return 0.001 * steps + draw.normal(rng, *shape[:-1], 1)


def all_equal(rng, *shape):
    """Draw rows of one number each, in quarters, so that their mean is exact."""
    return torch.from_numpy(rng.integers(-9, 10, (*shape[:-1], 1)) / 4).repeat_interleave(
        shape[-1], -1
    )


def all_equal_and_large(rng, *shape):
    """Draw such rows, but of numbers whose squares float32 does not hold exactly."""
    numbers = rng.integers(10_001, 40_000, (*shape[:-1], 1)) / 4
    return torch.from_numpy(numbers).repeat_interleave(shape[-1], -1)


def in_quarters(rng, *shape):
    """Draw rows that half precision holds exactly, and whose mean it holds exactly if their width
    is a power of two.
    """
    return torch.from_numpy(rng.integers(-10, 13, shape) / 4)


def equal_and_not(rng, *shape):
    """Draw rows of which every second one is a single number repeated."""
    x = wide(rng, *shape)
    x[::2] = all_equal(rng, *x[::2].shape)
    return x


class Rules(reference.LayerNorm):
    def statistics(self, x, axis=-1, correction=0, keepdim=True):
        return torch.var_mean(x, dim=axis, correction=correction, keepdim=keepdim)

    def centred(self, x, mean):
        return x - mean

    def divisor(self, variance):
        return (variance + self.eps).sqrt()

    def affine(self, normalised):
        return normalised * self.weight + self.bias

    def forward(self, x):
        variance, mean = self.statistics(x)
        return self.affine(self.centred(x, mean) / self.divisor(variance))


def statistics_over(axis):
    """Make a rule: over which axis, where there is more than one."""
    return lambda self, x: Rules.statistics(self, x, axis if x.ndim > 1 else -1)


checks = Checks(
    reference.LayerNorm,
    family=Rules,
    laws=(standardised,),
    shortcuts="""LayerNorm layer_norm native_layer_norm GroupNorm group_norm native_group_norm
    instance_norm InstanceNorm1d batch_norm native_batch_norm BatchNorm1d""",
)
shown, hidden, wrong, right = checks.words

shown("rows get mean 0 and variance 1", norm_case(3, 4, new=True), weight=2)
shown("then each feature gets its own gain and bias", norm_case(3, 4))
shown("each position of a batch by itself", norm_case(2, 3, 4), weight=2)
shown("as many positions as features", norm_case(2, 3, 3))
shown("another eps", norm_case(2, 4, rows=off_centre, eps=(0.3, 2.0)), weight=2)
shown(
    "numbers that hardly differ: eps is as large as their variance",
    norm_case(3, 4, rows=almost_equal),
)
shown("equal numbers give the bias", norm_case(3, 4, rows=all_equal))
shown(
    "a new one has a gain of ones and a bias of zeros",
    constructor={"d_model": integer(3, 7)},
    shown=["weight", "bias"],
    probe=at_the_start,
)
shown("gradients pass through mean and variance too", norm_case(2, 4), probe=gradients, weight=2)
shown("float32 in, float32 out", norm_case(2, 4, dtype=torch.float32))
shown("bfloat16 in, bfloat16 out", norm_case(2, 4, dtype=torch.bfloat16, rows=in_quarters))
shown("x stays as it was", norm_case(2, 4), probe=arguments_after)
hidden("rows of another width get mean 0 and variance 1", norm_case(4, 6, new=True))
hidden("four axes", norm_case(2, 3, 2, 5), weight=2)
hidden("a single position without a batch", norm_case(5))
hidden("batch, positions and features of one size", norm_case(4, 4, 4))
hidden("a large eps on a batch", norm_case(2, 3, 5, rows=off_centre, eps=(0.5, 4.0)), weight=2)
hidden("a batch of numbers that hardly differ", norm_case(2, 3, 6, rows=almost_equal))
hidden("equal numbers in a batch", norm_case(2, 3, 5, rows=all_equal))
hidden(
    "large equal numbers in float32",
    norm_case(4, 6, 6, dtype=torch.float32, rows=all_equal_and_large),
)
hidden(
    "one position changes, and no other",
    at_one_position(wide, reference.LayerNorm, (4,), (2, 5, 4), 2),
    probe=moved,
)
hidden("gradients on a batch", norm_case(2, 3, 5), probe=gradients, weight=2)
hidden(
    "gradients where rows are equal numbers", norm_case(4, 4, rows=equal_and_not), probe=gradients
)
hidden("train mode changes nothing", norm_case(3, 4, train=True))
hidden("a batch in bfloat16", norm_case(2, 3, 8, dtype=torch.bfloat16, rows=in_quarters))
hidden("float16 in, float16 out", norm_case(2, 8, dtype=torch.float16, rows=in_quarters))
hidden("numbers that are not contiguous in memory", norm_case(2, 3, 4), probe=returned_for_views)
hidden("a batch stays as it was", norm_case(2, 3, 4), probe=arguments_after)
hidden(
    "a new wide one has a gain of ones and a bias of zeros",
    constructor={"d_model": integer(8, 40)},
    shown=["weight", "bias"],
    probe=at_the_start,
)


wrong(
    "torch.var divides by d_model",
    """Your results are a little too small, most of all where there are few features. By what does
    torch divide when it computes a variance or a standard deviation, and by what does the
    formula?""",
    statistics=partialmethod(Rules.statistics, correction=1),
)


def mean_of_squares(self, x):
    mean = x.mean(-1, keepdim=True)
    return x.square().mean(-1, keepdim=True) - mean.square(), mean


wrong(
    "the variance is the mean of the squares less the square of the mean",
    """On paper your variance is right. But you subtract two large numbers that are almost the same:
    how precise is what float32 leaves of them, and can it be below zero? What does the formula
    square?""",
    statistics=mean_of_squares,
)


wrong(
    "eps is added to the standard deviation",
    """With a tiny eps and a large variance you cannot see the difference; with a large eps you can.
    In the formula, is eps added before the root is taken, or after?""",
    divisor=lambda self, variance: variance.sqrt() + self.eps,
)


wrong(
    "eps is added at the end",
    """Equal numbers have a variance of 0, and 0 divided by 0 is nan. Is your eps there when the
    division happens?""",
    divisor=lambda self, variance: variance.sqrt(),
    affine=lambda self, normalised: Rules.affine(self, normalised + self.eps),
)


wrong(
    "eps is a smallest standard deviation",
    """Your eps acts only where the spread is smaller than eps. In the formula it is always there.
    What is it added to?""",
    divisor=lambda self, variance: variance.sqrt().clamp(min=self.eps),
)


wrong(
    "no eps is needed",
    """What is the variance of features that are all equal, and what happens when you divide by its
    root?""",
    divisor=lambda self, variance: variance.sqrt(),
)


wrong(
    "eps is a standard deviation",
    """Your eps acts like its square. In the formula it is added to a variance: is it squared
    before?""",
    eps=lambda eps: eps**2,
)


wrong(
    "eps is always 0.00001",
    """With the usual eps your result is right. Does the eps that the caller asked for reach your
    formula?""",
    eps=1e-5,
)


wrong(
    "the usual eps is much smaller",
    """Your result is right as long as the caller names an eps. Compare your default with that in
    the stub's `__init__`.""",
    __init__=lambda self, d_model, eps=1e-12: reference.LayerNorm.__init__(self, d_model, eps),
)


wrong(
    "all positions of a sentence share a mean",
    "Two axes went into your mean. Each position has a mean and a variance of its own.",
    statistics=statistics_over((-2, -1)),
)


wrong(
    "the statistics are those of the batch",
    """Your mean runs over the first axis, as in batch norm. Along which axis are the features of
    one position?""",
    statistics=partialmethod(Rules.statistics, axis=0),
)


wrong(
    "the statistics run over the positions",
    """Your mean runs over the positions, feature by feature. Along which axis are the features of
    one position?""",
    statistics=statistics_over(-2),
)


wrong(
    "the features are always axis 1",
    """Your result is right for rows, and wrong for a batch of sentences: axis 1 holds the features
    only where there are two axes. Which axis holds them however many there are?""",
    statistics=partialmethod(Rules.statistics, axis=1),
)


wrong(
    "one mean and one variance serve the whole tensor",
    """You have one mean for the whole tensor. Each position should be normalised by itself,
    whatever its neighbours hold.""",
    statistics=partialmethod(Rules.statistics, axis=None),
)


wrong(
    "the mean lines up by itself",
    """Your mean has dropped its axis, so broadcasting lines it up with the features, not with the
    positions. How can it keep that axis?""",
    statistics=partialmethod(Rules.statistics, keepdim=False),
)


wrong(
    "only the spread has to be divided out",
    "The spread of your rows is 1, but their mean is not 0. What is missing in your numerator?",
    centred=lambda self, x, mean: x,
)


wrong(
    "the root of the mean square is the spread",
    """You divide by the root of the mean square. The variance is the mean square of something else:
    of the distances from what?""",
    statistics=lambda self, x: (x.pow(2).mean(-1, keepdim=True), 0),
)


wrong(
    "squared distances add up",
    """Your rows become shorter the more features they have. What is taken of the squared distances:
    their sum?""",
    statistics=lambda self, x: (
        x.var(-1, correction=0, keepdim=True) * x.shape[-1],
        x.mean(-1, keepdim=True),
    ),
)


wrong(
    "the mean distance is squared",
    """Distances from the mean cancel when you average them. In which order does a variance square
    and average?""",
    statistics=lambda self, x: (0 * x.mean(-1, keepdim=True) ** 2, x.mean(-1, keepdim=True)),
)


wrong(
    "a variance is what the root was taken of twice",
    """You take a root of something that is a root already. Which of torch's functions gives the
    variance, and which its root?""",
    divisor=lambda self, variance: (variance.sqrt() + self.eps).sqrt(),
)


wrong(
    "a fraction takes in all that is on its left",
    """Python divides before it subtracts. What exactly is divided in your line, and what should
    be?""",
    forward=lambda self, x: (
        x
        - x.mean(-1, keepdim=True)
        / (x.var(-1, correction=0, keepdim=True) + self.eps).sqrt()
        * self.weight
        + self.bias
    ),
)


wrong(
    "one divides by the variance",
    """Multiply every x by 10, and your result shrinks to a tenth, where a norm should not change.
    Do you divide by the variance, or by its root?""",
    divisor=lambda self, variance: variance + self.eps,
)


wrong(
    "the bias multiplies and the gain is added",
    """Of gain and bias, one multiplies and one is added. A new norm has ones in one and zeros in
    the other: which must be which?""",
    affine=lambda self, normalised: normalised * self.bias + self.weight,
)


wrong(
    "the gain multiplies the bias too",
    "The order of two steps matters: does your gain multiply the bias as well?",
    affine=lambda self, normalised: (normalised + self.bias) * self.weight,
)


wrong(
    "gain and bias are there to be had",
    """Your rows have mean 0 and variance 1, whatever weight and bias hold. Where does your forward
    use the two?""",
    affine=lambda self, normalised: normalised,
)


wrong(
    "only the gain is used",
    "Your result does not depend on the bias. Where in the formula is it?",
    affine=lambda self, normalised: normalised * self.weight,
)


@wrong(
    "gain and bias are constants",
    """An optimizer finds what is registered as a parameter, and nothing else. Which class of
    torch.nn does that?""",
    rule="made",
)
def with_buffers(self):
    for name, parameter in list(self.named_parameters()):
        delattr(self, name)
        self.register_buffer(name, parameter.detach())


@wrong(
    "a gain is enough",
    "How many things does the formula learn for each feature?",
    rule="made",
)
def without_bias(self):
    self.bias = None


wrong(
    "a gain starts like the weights of a linear layer",
    "A new norm should leave what it has normalised as it is. Which gain does that?",
    made=lambda self: self.weight.data.copy_(torch.linspace(-1, 1, len(self.weight))),
)


wrong(
    "a gain starts at zero",
    "Your new norm returns zeros for every x. Which gain leaves numbers as they are?",
    made=lambda self: self.weight.data.zero_(),
)


wrong(
    "mean and variance do not depend on x",
    """The values are right, but the gradients are not. Mean and variance depend on x as well: is
    that path cut somewhere?""",
    statistics=lambda self, x: Rules.statistics(self, x.detach()),
)


wrong(
    "the caller's x is free to be changed",
    """The numbers are right, but compare x before and after the call. Which of your operators write
    into x?""",
    centred=lambda self, x, mean: x.sub_(mean),
)


checks.usual(
    "in float32",
    hint="""Somewhere the dtype of x is lost. Which dtype should the result have if x is a bfloat16
    or a float64?""",
)


wrong(
    "single precision is enough on the way",
    """A float64 came in, but your result has only about seven correct digits. In which dtype did
    you compute the statistics?""",
    then=lambda result: result.float().to(result.dtype),
)


@right
class NormByTorch(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps=eps)


@right
def in_float64(self, x):
    normalised = F.layer_norm(x.double(), x.shape[-1:], eps=self.eps)
    return normalised.to(x.dtype) * self.weight + self.bias


@right
def by_sums(self, x):
    count = x.size(-1)
    away = x - x.sum(-1, keepdim=True) / count
    variance = (away**2).sum(-1, keepdim=True) / count
    return torch.addcmul(self.bias, self.weight / (variance + self.eps) ** 0.5, away)


@right
def by_rows(self, x):
    rows = [
        (row - row.mean()) / (row.var(unbiased=False) + self.eps).sqrt()
        for row in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape) * self.weight + self.bias
