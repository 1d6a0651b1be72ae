"""Checks of `ch07_layers`.

The contract leaves open, and so nothing here asks: how a LayerNorm computes its variance where the
mean is so large that float32 runs out of digits, which extra attributes a module has, and how often
dropout draws. Where dropout acts is asked with weights that let only a few numbers through: then
the smallest and the largest result of 400 calls are certain, though no single round is.
"""

import math
from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

from autograder.authoring import draw
from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    extremes,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch07_layers as reference
from solutions.ch05_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch06_masking import causal_mask, decoder_mask, padding_mask

STANDARDISED = ("standardised", {})

# --- LayerNorm
# -------------------------------------------------------------------------------------------------------


def off_centre(rng, *shape, dtype=torch.float64):
    """Draw rows whose mean is nowhere near 0, and whose spread is nowhere near 1."""
    centres = draw.normal(rng, *shape[:-1], 1, dtype=torch.float64, scale=2.0)
    return (centres + 1.5 + draw.normal(rng, *shape, dtype=torch.float64, scale=2.5)).to(dtype)


def norm_case(*shape, dtype=torch.float64, rows=off_centre, new=False, eps=None, **parts):
    """Make the inputs of a LayerNorm on rows of a shape; `new` leaves its gain and bias at ones and
    zeros.
    """

    def inputs(rng):
        constructor = {"d_model": shape[-1]}
        if eps is not None:
            constructor["eps"] = round(float(rng.uniform(*eps)), 3)
        x = rows(rng, *shape, dtype=dtype)
        made = draw.module_case(rng, reference.LayerNorm, constructor, {"x": x}, dtype, **parts)
        if new:
            made["weights"] = {
                "weight": torch.ones(shape[-1], dtype=dtype),
                "bias": torch.zeros(shape[-1], dtype=dtype),
            }
        return made

    return inputs


def almost_equal(rng, *shape, dtype=torch.float64):
    """Draw rows of which the variance is as small as the usual eps."""
    steps = torch.from_numpy(
        rng.permuted([[-4, -1, 2, 3, 5, -6][: shape[-1]]] * math.prod(shape[:-1]), axis=-1)
    )
    return (0.001 * steps + draw.normal(rng, math.prod(shape[:-1]), 1)).reshape(shape).to(dtype)


def all_equal(rng, *shape, dtype=torch.float64):
    """Draw rows of one number each, in quarters, so that their mean is exact."""
    return (
        torch.from_numpy(rng.integers(-9, 10, (*shape[:-1], 1)) / 4)
        .expand(shape)
        .contiguous()
        .to(dtype)
    )


def in_quarters(rng, *shape, dtype):
    """Draw rows that half precision holds exactly, and whose mean it holds exactly if their width
    is a power of two.
    """
    return torch.from_numpy(rng.integers(-10, 13, shape) / 4).to(dtype)


def equal_and_not(rng, *shape, dtype=torch.float64):
    """Draw rows of which every second one is a single number repeated."""
    x = off_centre(rng, *shape, dtype=dtype)
    x[::2] = all_equal(rng, *x[::2].shape, dtype=dtype)
    return x


def at_one_position(make, reference, constructor, shape, position):
    """Make a case in which x changes at one position, for the probe `moved`."""

    def inputs(rng):
        x = make(rng, *shape)
        other = x.clone()
        other[:, position] = make(rng, *shape)[:, position]
        made = draw.module_case(rng, reference, constructor, {"x": x}, torch.float64)
        return {**made, "changed": {"x": other}}

    return inputs


def standardise(x, eps, axis=-1, correction=0):
    variance, mean = torch.var_mean(x, dim=axis, correction=correction, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps)


def scale_and_shift(normalised, weight, bias):
    return normalised * weight + bias


def norm_with(normalise=standardise, affine=scale_and_shift, default=1e-5):
    """Make a LayerNorm from rules for what is normalised and how gain and bias are applied."""

    class LayerNorm(reference.LayerNorm):
        def __init__(self, d_model, eps=default):
            super().__init__(d_model, eps)

        def forward(self, x):
            return affine(normalise(x, self.eps), self.weight, self.bias)

    return LayerNorm


def norm_over(axis):
    return norm_with(lambda x, eps: standardise(x, eps, axis))


def over_the_last_two(x, eps):
    return standardise(x, eps, (-2, -1) if x.ndim > 1 else -1)


def over_everything(x, eps):
    return (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps)


def deviation(x):
    return x.std(-1, correction=0, keepdim=True)


def centred(x):
    return x - x.mean(-1, keepdim=True)


def without_keeping_the_axis(x, eps):
    return (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + eps)


def by_the_root_mean_square(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def without_the_root(x, eps):
    return centred(x) / (x.var(-1, correction=0, keepdim=True) + eps)


def with_constant_statistics(x, eps):
    variance, mean = torch.var_mean(x.detach(), dim=-1, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps)


def in_place(x, eps):
    x -= x.mean(-1, keepdim=True)
    x /= torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return x


class NormWithoutParameters(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(d_model))
        self.register_buffer("bias", torch.zeros(d_model))

    def forward(self, x):
        return standardise(x, self.eps) * self.weight + self.bias


class NormWithoutBias(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return standardise(x, self.eps) * self.weight


class NormWithARandomStart(reference.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
        self.weight = nn.Parameter(torch.linspace(-1, 1, d_model))


class NormThatStartsAtZero(reference.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)
        self.weight = nn.Parameter(torch.zeros(d_model))


class NormLeftInFloat32(reference.LayerNorm):
    def forward(self, x):
        return standardise(x.float(), self.eps) * self.weight.float() + self.bias.float()


class NormThroughFloat32(reference.LayerNorm):
    def forward(self, x):
        return (standardise(x.float(), self.eps) * self.weight.float() + self.bias.float()).to(
            x.dtype
        )


class NormByTorch(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps=eps)


class NormByFunction(reference.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias, self.eps)


class NormWithHalvesInFloat32(reference.LayerNorm):
    def forward(self, x):
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        return (standardise(wide, self.eps).to(x.dtype) * self.weight) + self.bias


class NormInFloat64(reference.LayerNorm):
    def forward(self, x):
        exact = standardise(x.double(), self.eps) * self.weight.double() + self.bias.double()
        return exact.to(x.dtype)


class NormByTheSecondMoment(reference.LayerNorm):
    def forward(self, x):
        away = x - x.mean(dim=-1, keepdim=True)
        return torch.addcmul(
            self.bias, away / (away.square().mean(-1, True) + self.eps) ** 0.5, self.weight
        )


class NormByStandardDeviation(reference.LayerNorm):
    def forward(self, x):
        count = x.size(-1)
        mean = x.sum(-1, keepdim=True) / count
        variance = ((x - mean) ** 2).sum(-1, keepdim=True) / count
        return self.weight / (variance + self.eps).sqrt() * (x - mean) + self.bias


class NormByRows(reference.LayerNorm):
    def forward(self, x):
        rows = [
            (row - row.mean()) / (row.var(unbiased=False) + self.eps).sqrt()
            for row in x.reshape(-1, x.shape[-1])
        ]
        return torch.stack(rows).reshape(x.shape) * self.weight + self.bias


LAYER_NORM = Exercise(
    reference=reference.LayerNorm,
    cases=(
        Case(
            "rows get mean 0 and variance 1",
            norm_case(3, 4, new=True),
            properties=(STANDARDISED,),
            weight=2,
        ),
        Case("then each feature gets its own gain and bias", norm_case(3, 4)),
        Case("each position of a batch by itself", norm_case(2, 3, 4), weight=2),
        Case("as many positions as features", norm_case(2, 3, 3)),
        Case("another eps", norm_case(2, 4, eps=(0.3, 2.0)), weight=2),
        Case(
            "numbers that hardly differ: eps is as large as their variance",
            norm_case(3, 4, rows=almost_equal),
        ),
        Case("equal numbers give the bias", norm_case(3, 4, rows=all_equal)),
        Case(
            "a new one has a gain of ones and a bias of zeros",
            lambda rng: {
                "constructor": {"d_model": int(rng.integers(3, 7))},
                "shown": ["weight", "bias"],
            },
            probe=at_the_start,
        ),
        Case(
            "gradients pass through mean and variance too",
            norm_case(2, 4),
            probe=gradients,
            weight=2,
        ),
        Case("float32 in, float32 out", norm_case(2, 4, dtype=torch.float32)),
        Case("bfloat16 in, bfloat16 out", norm_case(2, 4, dtype=torch.bfloat16, rows=in_quarters)),
        Case("x stays as it was", norm_case(2, 4), probe=arguments_after),
        Case(
            "rows of another width get mean 0 and variance 1",
            norm_case(4, 6, new=True),
            properties=(STANDARDISED,),
            visible=False,
        ),
        Case("four axes", norm_case(2, 3, 2, 5), visible=False, weight=2),
        Case("a single position without a batch", norm_case(5), visible=False),
        Case("batch, positions and features of one size", norm_case(4, 4, 4), visible=False),
        Case("a large eps on a batch", norm_case(2, 3, 5, eps=(0.5, 4.0)), visible=False, weight=2),
        Case(
            "a batch of numbers that hardly differ",
            norm_case(2, 3, 6, rows=almost_equal),
            visible=False,
        ),
        Case("equal numbers in a batch", norm_case(2, 3, 5, rows=all_equal), visible=False),
        Case(
            "one position changes, and no other",
            at_one_position(off_centre, reference.LayerNorm, {"d_model": 4}, (2, 5, 4), 2),
            probe=moved,
            visible=False,
        ),
        Case("gradients on a batch", norm_case(2, 3, 5), probe=gradients, visible=False, weight=2),
        Case(
            "gradients where rows are equal numbers",
            norm_case(4, 4, rows=equal_and_not),
            probe=gradients,
            visible=False,
        ),
        Case("train mode changes nothing", norm_case(3, 4, train=True), visible=False),
        Case(
            "a batch in bfloat16",
            norm_case(2, 3, 8, dtype=torch.bfloat16, rows=in_quarters),
            visible=False,
        ),
        Case(
            "float16 in, float16 out",
            norm_case(2, 8, dtype=torch.float16, rows=in_quarters),
            visible=False,
        ),
        Case(
            "numbers that do not lie side by side",
            norm_case(2, 3, 4),
            probe=returned_for_views,
            visible=False,
        ),
        Case("a batch stays as it was", norm_case(2, 3, 4), probe=arguments_after, visible=False),
        Case(
            "a new wide one has a gain of ones and a bias of zeros",
            lambda rng: {
                "constructor": {"d_model": int(rng.integers(8, 40))},
                "shown": ["weight", "bias"],
            },
            probe=at_the_start,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "torch.var divides by d_model",
            norm_with(lambda x, eps: standardise(x, eps, correction=1)),
            "Your results are a little too small, most of all where there are few features. By what"
            " does torch divide when it computes a variance or a standard deviation, and by what"
            " does the formula?",
        ),
        Misconception(
            "eps is added to the standard deviation",
            norm_with(lambda x, eps: centred(x) / (deviation(x) + eps)),
            "With a tiny eps and a large variance you cannot see the difference; with a large eps"
            " you can. In the formula, is eps added before the root is taken, or after?",
        ),
        Misconception(
            "eps is added at the end",
            norm_with(lambda x, eps: centred(x) / deviation(x) + eps),
            "Equal numbers have a variance of 0, and 0 divided by 0 is nan. Is your eps there when"
            " the division happens?",
        ),
        Misconception(
            "eps is a smallest standard deviation",
            norm_with(lambda x, eps: centred(x) / deviation(x).clamp(min=eps)),
            "Your eps acts only when the spread is smaller than it. In the formula it is always"
            " there: added to what?",
        ),
        Misconception(
            "no eps is needed",
            norm_with(lambda x, eps: centred(x) / deviation(x)),
            "What is the variance of features that are all equal, and what happens when you divide"
            " by its root?",
        ),
        Misconception(
            "eps is a standard deviation",
            norm_with(lambda x, eps: standardise(x, eps**2)),
            "Your eps acts as its square does. It is added to a variance; is it one already?",
        ),
        Misconception(
            "eps is always 0.00001",
            norm_with(lambda x, eps: standardise(x, 1e-5)),
            "With the usual eps you are right. Does the number that the caller asked for reach your"
            " formula?",
        ),
        Misconception(
            "the usual eps is much smaller",
            norm_with(default=1e-12),
            "You are right as long as the caller names an eps. Compare your default with the one in"
            " the first line of the stub.",
        ),
        Misconception(
            "all positions of a sentence share a mean",
            norm_with(over_the_last_two),
            "Two axes went into your mean. Each position has a mean and a variance of its own.",
        ),
        Misconception(
            "the statistics are those of the batch",
            norm_over(0),
            "Your mean runs over the first axis, as in batch norm. Along which axis do the features"
            " of one position lie?",
        ),
        Misconception(
            "the statistics run over the positions",
            norm_with(lambda x, eps: standardise(x, eps, -2 if x.ndim > 1 else -1)),
            "Your mean runs over the positions, feature by feature. Along which axis do the"
            " features of one position lie?",
        ),
        Misconception(
            "one mean and one variance serve the whole tensor",
            norm_with(over_everything),
            "You have one mean for all. Each position should be normalised by itself, whatever its"
            " neighbours hold.",
        ),
        Misconception(
            "the mean lines up by itself",
            norm_with(without_keeping_the_axis),
            "A mean that drops its axis is then lined up with the features, not with the positions."
            " How can it keep that axis?",
        ),
        Misconception(
            "only the spread has to be divided out",
            norm_with(lambda x, eps: x / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)),
            "The spread of your rows is 1, but their mean is not 0. What is missing in your"
            " numerator?",
        ),
        Misconception(
            "the root of the mean square is the spread",
            norm_with(by_the_root_mean_square),
            "You divide by the root of the mean square. The variance is the mean square of"
            " something else: of the distances from what?",
        ),
        Misconception(
            "one divides by the variance",
            norm_with(without_the_root),
            "Multiply every x by 10: your result becomes a tenth, and a norm should not notice."
            " Variance or its root?",
        ),
        Misconception(
            "the bias multiplies and the gain is added",
            norm_with(affine=lambda normalised, weight, bias: normalised * bias + weight),
            "Of gain and bias, one multiplies and one is added. A new norm has ones in one and"
            " zeros in the other: which must be which?",
        ),
        Misconception(
            "the gain multiplies the bias too",
            norm_with(affine=lambda normalised, weight, bias: (normalised + bias) * weight),
            "The order of two steps matters: does your gain multiply the bias as well?",
        ),
        Misconception(
            "gain and bias are there to be had",
            norm_with(affine=lambda normalised, weight, bias: normalised),
            "Your rows have mean 0 and variance 1, whatever weight and bias hold. Where does your"
            " forward use the two?",
        ),
        Misconception(
            "only the gain is used",
            norm_with(affine=lambda normalised, weight, bias: normalised * weight),
            "Your result does not depend on the bias. Where does it stand in the formula?",
        ),
        Misconception(
            "gain and bias are constants",
            NormWithoutParameters,
            "An optimizer finds what is registered as a parameter, and nothing else. Which class of"
            " torch.nn does that?",
        ),
        Misconception(
            "a gain is enough",
            NormWithoutBias,
            "How many things does the formula learn for each feature?",
        ),
        Misconception(
            "a gain starts like the weights of a linear layer",
            NormWithARandomStart,
            "A new norm should leave what it has normalised as it is. Which gain does that?",
        ),
        Misconception(
            "a gain starts at zero",
            NormThatStartsAtZero,
            "A new norm of yours gives zeros for any x. Which gain leaves numbers as they are?",
        ),
        Misconception(
            "mean and variance do not depend on x",
            norm_with(with_constant_statistics),
            "The values are right and the gradients are not. Mean and variance depend on x as well:"
            " is that path cut somewhere?",
        ),
        Misconception(
            "the caller's x is free to be changed",
            norm_with(in_place),
            "The numbers are right, but compare x before and after the call. Which of your"
            " operators write into x?",
        ),
        Misconception(
            "the result is float32 whatever comes in",
            NormLeftInFloat32,
            "Somewhere the dtype of x is lost. What should the result have, if x is a bfloat16 or a"
            " float64?",
        ),
        Misconception(
            "single precision is enough on the way",
            NormThroughFloat32,
            "A float64 came in, and your result has only about seven correct digits. In which dtype"
            " were the statistics computed?",
        ),
    ),
    alternatives=(
        NormByTorch,
        NormByFunction,
        NormWithHalvesInFloat32,
        NormInFloat64,
        NormByTheSecondMoment,
        NormByStandardDeviation,
        NormByRows,
    ),
    shortcuts=(
        "LayerNorm",
        "layer_norm",
        "native_layer_norm",
        "GroupNorm",
        "group_norm",
        "native_group_norm",
        "instance_norm",
    ),
)

# --- FeedForward
# -----------------------------------------------------------------------------------------------------


def float64_normal(rng, *shape):
    return draw.normal(rng, *shape, dtype=torch.float64)


def network_case(*shape, d_ff, dtype=torch.float64, dropout=None, **parts):
    """Make the inputs of a FeedForward; without `dropout` its default is meant."""

    def inputs(rng):
        constructor = {"d_model": shape[-1], "d_ff": d_ff} | (
            {} if dropout is None else {"dropout": dropout}
        )
        x = draw.normal(rng, *shape, dtype=dtype)
        return draw.module_case(rng, reference.FeedForward, constructor, {"x": x}, dtype, **parts)

    return inputs


def two_units_awake(dropout, train, d_model=2):
    """Make a case with two features in between, both above 0: each of the four ways to drop them
    comes up in 400 calls.
    """

    def inputs(rng):
        made = network_case(1, 1, d_model, d_ff=2, dropout=dropout, train=train)(rng)
        weights = made["weights"]
        weights["linear_1.weight"] = (0.3 * weights["linear_1.weight"]).round(decimals=3)
        weights["linear_1.bias"] = 3 + draw.normal(rng, 2, dtype=torch.float64).abs()
        weights["linear_2.weight"] = weights["linear_2.weight"].sign() * (
            0.5 + weights["linear_2.weight"].abs()
        )
        return made

    return inputs


def think(self, x):
    return self.linear_2(self.dropout(torch.relu(self.linear_1(x))))


def network_with(forward=think, dropout=nn.Dropout):
    """Make a FeedForward from another forward, or another dropout of a given probability."""

    class FeedForward(reference.FeedForward):
        def __init__(self, d_model, d_ff, dropout_=0.0):
            super().__init__(d_model, d_ff)
            self.dropout = dropout(dropout_)

    FeedForward.forward = forward
    return FeedForward


def activated_by(function):
    return network_with(lambda self, x: self.linear_2(self.dropout(function(self.linear_1(x)))))


class AlwaysDropping(nn.Dropout):
    def forward(self, x):
        return F.dropout(x, self.p, training=True)


class DroppingWithoutScale(nn.Dropout):
    def forward(self, x):
        return x * (torch.rand_like(x) >= self.p) if self.training else x


class DroppingOnlyInEval(nn.Dropout):
    def forward(self, x):
        return F.dropout(x, self.p, training=not self.training)


class ScalingInEval(nn.Dropout):
    def forward(self, x):
        return x * (torch.rand_like(x) >= self.p) if self.training else x * (1 - self.p)


class TiedNetwork(reference.FeedForward):
    def forward(self, x):
        hidden = self.dropout(torch.relu(self.linear_1(x)))
        return F.linear(hidden, self.linear_1.weight.T, self.linear_2.bias)


class NetworkWithoutBiases(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff, bias=False)
        self.linear_2 = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    forward = think


class NetworkOfFixedWidth(reference.FeedForward):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, 4 * d_model, dropout)


class NetworkAsSequence(nn.Sequential):
    def __init__(self, d_model, d_ff, dropout=0.0):
        parts = (
            nn.Linear(d_model, d_ff),
            nn.ReLU(),
            nn.Dropout(p=dropout),
            nn.Linear(d_ff, d_model),
        )
        super().__init__(
            OrderedDict(zip(("linear_1", "relu", "dropout", "linear_2"), parts, strict=True))
        )


class NetworkOfFunctions(reference.FeedForward):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, d_ff)
        self.rate = dropout

    def forward(self, x):
        hidden = F.relu(self.linear_1(x))
        return self.linear_2(F.dropout(hidden, p=self.rate, training=self.training))


class NetworkOfProducts(reference.FeedForward):
    def forward(self, x):
        first, second = self.linear_1, self.linear_2
        hidden = self.dropout((x @ first.weight.T + first.bias).clamp(min=0))
        return torch.einsum("...f,df->...d", hidden, second.weight) + second.bias


class NetworkThatDropsFirst(reference.FeedForward):
    def forward(self, x):  # dropping does not change a sign, so it may come before the ReLU
        return self.linear_2(torch.relu(self.dropout(self.linear_1(x))))


class NetworkWithAMaskOfItsOwn(reference.FeedForward):
    def forward(self, x):
        hidden = self.linear_1(x) * (self.linear_1(x) > 0)
        if self.training and self.dropout.p > 0:
            kept = torch.bernoulli(torch.full_like(hidden, 1 - self.dropout.p))
            hidden = hidden * kept / (1 - self.dropout.p)
        return self.linear_2(hidden)


FEED_FORWARD = Exercise(
    reference=reference.FeedForward,
    cases=(
        Case("a single position", network_case(1, 3, d_ff=5)),
        Case("a batch of sentences", network_case(2, 3, 4, d_ff=6), weight=2),
        Case(
            "one position changes, and no other",
            at_one_position(
                float64_normal, reference.FeedForward, {"d_model": 4, "d_ff": 6}, (2, 5, 4), 1
            ),
            probe=moved,
        ),
        Case("d_ff may equal d_model", network_case(2, 2, 4, d_ff=4)),
        Case("gradients reach x and every weight", network_case(2, 3, d_ff=4), probe=gradients),
        Case(
            "without a dropout, train mode changes nothing",
            network_case(2, 3, 4, d_ff=6, train=True),
        ),
        Case(
            "in train mode some features in between are dropped",
            two_units_awake(0.3, True),
            probe=extremes,
            weight=2,
        ),
        Case("in eval mode none are", two_units_awake(0.4, False), probe=extremes),
        Case("float32 in, float32 out", network_case(2, 3, d_ff=4, dtype=torch.float32)),
        Case("bfloat16 in, bfloat16 out", network_case(2, 3, d_ff=4, dtype=torch.bfloat16)),
        Case("x stays as it was", network_case(2, 3, d_ff=4), probe=arguments_after),
        Case("a longer batch", network_case(3, 5, 6, d_ff=11), visible=False, weight=2),
        Case(
            "fewer features in between than outside", network_case(2, 3, 5, d_ff=2), visible=False
        ),
        Case("four times as many in between", network_case(2, 3, 2, d_ff=8), visible=False),
        Case("four axes", network_case(2, 2, 3, 4, d_ff=5), visible=False),
        Case(
            "one position of many changes, and no other",
            at_one_position(
                float64_normal, reference.FeedForward, {"d_model": 3, "d_ff": 7}, (2, 7, 3), 4
            ),
            probe=moved,
            visible=False,
        ),
        Case(
            "gradients on a batch",
            network_case(2, 3, 4, d_ff=6),
            probe=gradients,
            visible=False,
            weight=2,
        ),
        Case(
            "a dropout of 0 in train mode",
            network_case(2, 4, d_ff=6, dropout=0.0, train=True),
            visible=False,
        ),
        Case(
            "without one, in train mode", network_case(3, 3, 4, d_ff=9, train=True), visible=False
        ),
        Case(
            "most features in between are dropped",
            two_units_awake(0.6, True, 3),
            probe=extremes,
            visible=False,
            weight=2,
        ),
        Case(
            "none are in eval mode", two_units_awake(0.5, False, 3), probe=extremes, visible=False
        ),
        Case(
            "a batch in float32", network_case(2, 3, 4, d_ff=6, dtype=torch.float32), visible=False
        ),
        Case(
            "float16 in, float16 out",
            network_case(2, 4, d_ff=6, dtype=torch.float16),
            visible=False,
        ),
        Case(
            "a batch in bfloat16",
            network_case(2, 3, 4, d_ff=6, dtype=torch.bfloat16),
            visible=False,
        ),
        Case(
            "numbers that do not lie side by side",
            network_case(2, 3, 4, d_ff=5),
            probe=returned_for_views,
            visible=False,
        ),
        Case(
            "a batch stays as it was",
            network_case(2, 3, 4, d_ff=6),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "two linear layers are enough",
            activated_by(lambda hidden: hidden),
            "Two linear layers one after the other are one linear layer. What stands between them?",
        ),
        Misconception(
            "the ReLU comes at the end",
            network_with(lambda self, x: torch.relu(self.linear_2(self.dropout(self.linear_1(x))))),
            "Your result has no negative number in it. Where does the ReLU belong?",
        ),
        Misconception(
            "there is a ReLU after each layer",
            network_with(lambda self, x: torch.relu(think(self, x))),
            "Your result has no negative number in it. How many times does the formula apply the"
            " ReLU?",
        ),
        Misconception(
            "any activation will do",
            activated_by(F.gelu),
            "A little of the negative numbers gets through your activation. Which one does the"
            " formula name?",
        ),
        Misconception(
            "a ReLU may leak",
            activated_by(F.leaky_relu),
            "A hundredth of each negative number gets through your activation. Which one does the"
            " formula name?",
        ),
        Misconception(
            "an activation squeezes",
            activated_by(torch.tanh),
            "Large numbers do not get through your activation. What does a ReLU do with them?",
        ),
        Misconception(
            "one matrix serves both ways",
            TiedNetwork,
            "Changing linear_2.weight does not change your result. Do your two layers share a"
            " matrix?",
        ),
        Misconception(
            "the biases can be left out",
            NetworkWithoutBiases,
            "The formula adds something after each of its two products.",
        ),
        Misconception(
            "d_ff is always four times d_model",
            NetworkOfFixedWidth,
            "The inner width is an argument. Does it reach your layers?",
        ),
        Misconception(
            "the residual connection belongs to the network",
            network_with(lambda self, x: x + think(self, x)),
            "You add x to the result. The formula of this exercise does not; the layer around it"
            " will.",
        ),
        Misconception(
            "dropout can be forgotten",
            network_with(lambda self, x: self.linear_2(torch.relu(self.linear_1(x)))),
            "In train mode every result of yours is the same. What should happen to the features in"
            " between?",
        ),
        Misconception(
            "dropout comes at the end",
            network_with(lambda self, x: self.dropout(self.linear_2(torch.relu(self.linear_1(x))))),
            "In train mode whole numbers of your result become 0. Which features should be dropped:"
            " those at the end, or those in between?",
        ),
        Misconception(
            "dropout comes in between and at the end",
            network_with(lambda self, x: self.dropout(think(self, x))),
            "In train mode you drop twice: in between, which is right, and once more. The layer"
            " around the network will see to its output.",
        ),
        Misconception(
            "dropout comes first",
            network_with(lambda self, x: self.linear_2(torch.relu(self.linear_1(self.dropout(x))))),
            "In train mode you drop features of x. Which features should be dropped: those that"
            " come in, or those in between?",
        ),
        Misconception(
            "dropout knows by itself when training is over",
            network_with(dropout=AlwaysDropping),
            "Your results vary in eval mode too. How does your dropout learn which mode the module"
            " is in?",
        ),
        Misconception(
            "training means no dropout",
            network_with(dropout=DroppingOnlyInEval),
            "Yours drops in eval mode and not in train mode. What does True mean for the switch"
            " that you set?",
        ),
        Misconception(
            "what stays needs no scale",
            network_with(dropout=DroppingWithoutScale),
            "You drop some features and leave the others as they are, so that their sum shrinks. By"
            " what are those that stay divided?",
        ),
        Misconception(
            "the scale belongs to eval mode",
            network_with(dropout=ScalingInEval),
            "Your eval mode shrinks the features in between. In torch, eval mode does nothing at"
            " all; when is the scale applied instead?",
        ),
        Misconception(
            "dropout is the part that stays",
            network_with(dropout=lambda rate: nn.Dropout(1 - rate)),
            "You keep what should be dropped and drop what should be kept. Is the number a"
            " probability of dropping or of keeping?",
        ),
    ),
    alternatives=(
        NetworkAsSequence,
        NetworkOfFunctions,
        NetworkOfProducts,
        NetworkThatDropsFirst,
        NetworkWithAMaskOfItsOwn,
    ),
    shortcuts=("FeedForward", "MLP"),
)

# --- EncoderLayer
# ----------------------------------------------------------------------------------------------------


def layer_case(
    batch, seq_len, d_model=4, heads=2, d_ff=6, *, norm_first=None, dropout=0.0, mask=None, **parts
):
    """Make the inputs of an EncoderLayer; `mask(rng)` draws its mask, and without `norm_first` its
    default is meant.
    """

    def inputs(rng):
        constructor = {"d_model": d_model, "num_heads": heads, "d_ff": d_ff}
        if norm_first is not None:
            constructor |= {"dropout": dropout, "norm_first": norm_first}
        forward = {
            "x": (1.5 * float64_normal(rng, batch, seq_len, d_model) + 0.5).round(decimals=3)
        }
        if mask is not None:
            forward["mask"] = mask(rng)
        return draw.module_case(
            rng, reference.EncoderLayer, constructor, forward, torch.float64, **parts
        )

    return inputs


def gentle(dtype, norm_first, batch=1):
    """Make a case for a narrow dtype: rows whose norm is nowhere near 0 / 0, and small matrices, so
    that no rounding grows on its way.
    """

    def inputs(rng):
        made = layer_case(batch, 3, norm_first=norm_first)(rng)
        rows = (
            rng.permuted([[-1.5, -0.5, 0.5, 1.5]] * (3 * batch), axis=-1)
            + rng.integers(-2, 3, (3 * batch, 1)) / 4
        )
        made["forward"]["x"] = torch.from_numpy(rows).reshape(batch, 3, 4).to(dtype)
        shrunk = {
            name: weight * (0.4 if weight.ndim > 1 else 1)
            for name, weight in made["weights"].items()
        }
        made["weights"] = {
            name: weight.round(decimals=3).to(dtype) for name, weight in shrunk.items()
        }
        return made

    return inputs


def padding(*lengths, seq_len):
    return lambda rng: padding_mask(draw.padded(rng, rng.permutation(lengths), seq_len))


def what_is_masked_changes(norm_first):
    """Make a case in which x changes at positions that nobody may attend to."""

    def inputs(rng):
        made = layer_case(
            2, 5, norm_first=norm_first, mask=lambda rng: padding_mask(draw.padded(rng, [3, 4], 5))
        )(rng)
        x = made["forward"]["x"].clone()
        x[0, 4] += 1 + draw.normal(rng, 4, dtype=torch.float64).abs()
        x[1, 4] -= draw.normal(rng, 4, dtype=torch.float64) + 2
        return {**made, "changed": {"x": x}}

    return inputs


def the_last_word_changes(rng):
    made = layer_case(2, 4, norm_first=True, mask=lambda rng: causal_mask(4))(rng)
    x = made["forward"]["x"].clone()
    x[:, 3] += 1
    return {**made, "changed": {"x": x}}


OUTPUTS = [
    f"{name}.{kind}"
    for name in ("self_attention.w_o", "feed_forward.linear_2")
    for kind in ("weight", "bias")
]


def sized(rng, *shape):
    """Draw numbers between 1 and 2 in size, of either sign: none that could be dropped unseen."""
    return torch.from_numpy(((1 + rng.random(shape)) * rng.choice([-1, 1], shape)).round(3))


def almost_silent(speaking, norm_first, train, dropout, d_model=2):
    """Make a case in which both parts put out zeros, but for the parameters named in `speaking`.

    Then few numbers are left that dropout can touch, and each way to drop them comes up in 400
    calls.
    """

    def inputs(rng):
        made = layer_case(1, 1, d_model, 1, 2, norm_first=norm_first, dropout=dropout, train=train)(
            rng
        )
        weights = made["weights"]
        for name in OUTPUTS:
            weights[name] = (
                sized(rng, *weights[name].shape)
                if name in speaking
                else torch.zeros_like(weights[name])
            )
        weights["feed_forward.linear_1.bias"] = 6 + sized(rng, 2)  # awake, whatever comes in
        made["forward"]["x"] = 3 * sized(rng, 1, 1, d_model)
        return made

    return inputs


ATTENTION_SPEAKS = ("self_attention.w_o.bias",)
NETWORK_SPEAKS = ("feed_forward.linear_2.weight",)


def attend(self, x, mask):
    return self.self_attention(x, x, x, mask, need_weights=False)[0]


def post_norm(x, part, norm, dropout):
    return norm(x + dropout(part(x)))


def pre_norm(x, part, norm, dropout):
    return x + dropout(part(norm(x)))


def layer_with(
    post=post_norm, pre=pre_norm, attend=attend, pairs=lambda steps: steps, dropout=nn.Dropout
):
    """Make an EncoderLayer from rules for a step of post-norm and of pre-norm, for attention, and
    for which norm goes with which part.
    """

    class EncoderLayer(reference.EncoderLayer):
        def __init__(self, d_model, num_heads, d_ff, dropout_=0.0, norm_first=False):
            super().__init__(d_model, num_heads, d_ff, dropout_, norm_first)
            self.dropout = dropout(dropout_)

        def forward(self, x, mask=None):
            steps = [
                (lambda x: attend(self, x, mask), self.norm_1),
                (self.feed_forward, self.norm_2),
            ]
            step = pre if self.norm_first else post
            for part, norm in pairs(steps):
                x = step(x, part, norm, self.dropout)
            return x

    return EncoderLayer


def layer_with_parts(made):
    """Make an EncoderLayer whose parts are changed after they are made."""

    class EncoderLayer(reference.EncoderLayer):
        def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
            super().__init__(d_model, num_heads, d_ff, dropout, norm_first)
            made(self, d_model, d_ff, dropout)

    return EncoderLayer


def norm_inside_the_sum(x, part, norm, dropout):
    return x + norm(dropout(part(x)))


def norms_at_both_ends(x, part, norm, dropout):
    return norm(x + dropout(part(norm(x))))


def without_norm(x, part, norm, dropout):
    return x + dropout(part(x))


def residual_of_what_was_normalised(x, part, norm, dropout):
    x = norm(x)
    return x + dropout(part(x))


def attend_over_the_batch(self, x, mask):
    x = x.transpose(0, 1)
    return self.self_attention(x, x, x, mask)[0].transpose(0, 1)


def the_first_norm_twice(steps):
    (attention, norm), (network, _) = steps
    return [(attention, norm), (network, norm)]


def norms_exchanged(steps):
    (attention, first), (network, second) = steps
    return [(attention, second), (network, first)]


def parts_exchanged(steps):
    (attention, first), (network, second) = steps
    return [(network, first), (attention, second)]


class LayerWithKeysAsTheyCome(reference.EncoderLayer):
    def forward(self, x, mask=None):
        if not self.norm_first:
            return super().forward(x, mask)
        x = x + self.dropout(self.self_attention(self.norm_1(x), x, x, mask)[0])
        return x + self.dropout(self.feed_forward(self.norm_2(x)))


class LayerThatWritesIntoX(reference.EncoderLayer):
    def forward(self, x, mask=None):
        if not self.norm_first:
            return super().forward(x, mask)
        x += self.dropout(attend(self, self.norm_1(x), mask))
        x += self.dropout(self.feed_forward(self.norm_2(x)))
        return x


class LayerThatAddsItsInputTwice(reference.EncoderLayer):
    def forward(self, x, mask=None):
        if self.norm_first:
            seen = x + self.dropout(attend(self, self.norm_1(x), mask))
            return x + self.dropout(self.feed_forward(self.norm_2(seen)))
        seen = self.norm_1(x + self.dropout(attend(self, x, mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(seen)))


class LayerWithOneResidual(reference.EncoderLayer):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.dropout(attend(self, self.norm_1(x), mask))
            return self.dropout(self.feed_forward(self.norm_2(x)))
        x = self.norm_1(x + self.dropout(attend(self, x, mask)))
        return self.norm_2(self.dropout(self.feed_forward(x)))


class LayerInParallel(reference.EncoderLayer):
    def forward(self, x, mask=None):
        if self.norm_first:
            return (
                x
                + self.dropout(attend(self, self.norm_1(x), mask))
                + self.dropout(self.feed_forward(self.norm_2(x)))
            )
        first = self.norm_1(x + self.dropout(attend(self, x, mask)))
        return first + self.norm_2(x + self.dropout(self.feed_forward(x)))


class LayerWithoutANetwork(reference.EncoderLayer):
    def forward(self, x, mask=None):
        if self.norm_first:
            return x + self.dropout(attend(self, self.norm_1(x), mask))
        return self.norm_1(x + self.dropout(attend(self, x, mask)))


class LayerWithANormAtTheEnd(reference.EncoderLayer):
    def forward(self, x, mask=None):
        x = super().forward(x, mask)
        return self.norm_2(x) if self.norm_first else x


def one_norm_with_two_names(self, d_model, d_ff, dropout):
    self.norm_2 = self.norm_1


def network_without_dropout(self, d_model, d_ff, dropout):
    self.feed_forward = reference.FeedForward(d_model, d_ff)


class LayerOfTorchsParts(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = NetworkAsSequence(d_model, d_ff, dropout)
        for name in ("norm_1", "norm_2"):
            setattr(self, name, nn.LayerNorm(d_model))
        self.dropout_1, self.dropout_2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.pre = norm_first

    def forward(self, x, mask=None):
        normal = self.norm_1(x) if self.pre else x
        x = x + self.dropout_1(self.self_attention(normal, normal, normal, mask)[0])
        if not self.pre:
            x = self.norm_1(x)
        normal = self.norm_2(x) if self.pre else x
        x = x + self.dropout_2(self.feed_forward(normal))
        return x if self.pre else self.norm_2(x)


class Residual(nn.Module):
    """Holds a norm that its owner also holds under a name of its own."""

    def __init__(self, norm, dropout, norm_first):
        super().__init__()
        self.norm, self.dropout, self.norm_first = norm, dropout, norm_first

    def forward(self, x, part):
        dropped = F.dropout(
            part(self.norm(x) if self.norm_first else x), self.dropout, self.training
        )
        return x + dropped if self.norm_first else self.norm(x + dropped)


class LayerOfResiduals(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff, dropout)
        self.norm_1, self.norm_2 = (reference.LayerNorm(d_model) for _ in range(2))
        self.around = nn.ModuleList(
            [Residual(norm, dropout, norm_first) for norm in (self.norm_1, self.norm_2)]
        )

    def forward(self, x, mask=None):
        x = self.around[0](x, lambda x: self.self_attention(x, x, x, mask)[0])
        return self.around[1](x, self.feed_forward)


class LayerOfFunctions(reference.EncoderLayer):
    def dropped(self, x):
        return F.dropout(x, self.dropout.p, self.training)

    def normal(self, x, norm):
        return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, 1e-5)

    def attended(self, x, mask):
        own = self.self_attention
        query, key, value = (
            split_heads(each(x), own.num_heads) for each in (own.w_q, own.w_k, own.w_v)
        )
        return own.w_o(
            merge_heads(F.scaled_dot_product_attention(query, key, value, attn_mask=mask))
        )

    def forward(self, x, mask=None):
        if self.norm_first:
            x = self.dropped(self.attended(self.normal(x, self.norm_1), mask)) + x
            return self.dropped(self.feed_forward(self.normal(x, self.norm_2))) + x
        x = self.normal(self.dropped(self.attended(x, mask)) + x, self.norm_1)
        return self.normal(self.dropped(self.feed_forward(x)) + x, self.norm_2)


class LayerOfTwoForwards(reference.EncoderLayer):
    def forward(self, x, mask=None):
        return self.pre(x, mask) if self.norm_first else self.post(x, mask)

    def post(self, x, mask):
        attended, _ = self.self_attention(query=x, key=x, value=x, mask=mask)
        x = self.norm_1(torch.add(x, self.dropout(attended)))
        return self.norm_2(torch.add(x, self.dropout(self.feed_forward(x))))

    def pre(self, x, mask):
        residual = x.clone()
        x = self.norm_1(x)
        x, _ = self.self_attention(x, x, x, mask)
        x = residual + self.dropout(x)
        residual = x
        return residual + self.dropout(self.feed_forward(self.norm_2(x)))


ENCODER_LAYER = Exercise(
    reference=reference.EncoderLayer,
    cases=(
        Case("post-norm is the default", layer_case(2, 3), weight=3),
        Case("pre-norm, when norm_first is True", layer_case(2, 3, norm_first=True), weight=3),
        Case("a single position", layer_case(1, 1, norm_first=True)),
        Case("as many sentences as positions", layer_case(3, 3, norm_first=False)),
        Case(
            "post-norm with padding masked",
            layer_case(2, 4, norm_first=False, mask=padding(2, 4, seq_len=4)),
            weight=2,
        ),
        Case(
            "pre-norm with a causal mask of two axes",
            layer_case(2, 3, norm_first=True, mask=lambda rng: causal_mask(3)[0, 0]),
            weight=2,
        ),
        Case("what is masked is not seen", what_is_masked_changes(False), probe=moved),
        Case("gradients, post-norm", layer_case(1, 2, 4, 2, 3), probe=gradients, weight=2),
        Case(
            "gradients, pre-norm",
            layer_case(1, 2, 4, 2, 3, norm_first=True),
            probe=gradients,
            weight=2,
        ),
        Case("without a dropout, train mode changes nothing", layer_case(2, 3, train=True)),
        Case(
            "in train mode the attention's output is dropped",
            almost_silent(ATTENTION_SPEAKS, norm_first=True, train=True, dropout=0.4),
            probe=extremes,
        ),
        Case(
            "and the network's, inside and behind it",
            almost_silent(NETWORK_SPEAKS, norm_first=True, train=True, dropout=0.5),
            probe=extremes,
        ),
        Case(
            "in eval mode nothing is dropped",
            almost_silent(NETWORK_SPEAKS, norm_first=True, train=False, dropout=0.5),
            probe=extremes,
        ),
        Case("float32 in, float32 out", gentle(torch.float32, False)),
        Case("x stays as it was", layer_case(2, 3, norm_first=True), probe=arguments_after),
        Case("post-norm on a larger batch", layer_case(3, 5, 8, 4, 10), visible=False, weight=3),
        Case(
            "pre-norm on a larger batch",
            layer_case(3, 5, 6, 3, 9, norm_first=True),
            visible=False,
            weight=3,
        ),
        Case(
            "as many sentences as positions, pre-norm",
            layer_case(4, 4, norm_first=True),
            visible=False,
        ),
        Case("one head, one position", layer_case(2, 1, 4, 1, 3, norm_first=False), visible=False),
        Case(
            "pre-norm with padding masked",
            layer_case(3, 5, norm_first=True, mask=padding(2, 5, 3, seq_len=5)),
            visible=False,
            weight=2,
        ),
        Case(
            "post-norm with a causal mask of four axes",
            layer_case(2, 4, norm_first=False, mask=lambda rng: causal_mask(4)),
            visible=False,
        ),
        Case(
            "pre-norm with a mask for each sentence",
            layer_case(
                2, 4, norm_first=True, mask=lambda rng: decoder_mask(draw.padded(rng, [4, 2], 4))
            ),
            visible=False,
        ),
        Case(
            "post-norm with a mask for each head",
            layer_case(2, 3, norm_first=False, mask=lambda rng: draw.mask(rng, 2, 2, 3, 3)),
            visible=False,
        ),
        Case(
            "what is masked is not seen, pre-norm",
            what_is_masked_changes(True),
            probe=moved,
            visible=False,
        ),
        Case(
            "earlier words do not see the last one",
            the_last_word_changes,
            probe=moved,
            visible=False,
        ),
        Case(
            "gradients on a batch, post-norm",
            layer_case(2, 3),
            probe=gradients,
            visible=False,
            weight=2,
        ),
        Case(
            "gradients under a mask, pre-norm",
            layer_case(2, 3, norm_first=True, mask=lambda rng: causal_mask(3)[0, 0]),
            probe=gradients,
            visible=False,
            weight=2,
        ),
        Case(
            "a dropout of 0 in train mode, pre-norm",
            layer_case(2, 3, norm_first=True, train=True),
            visible=False,
        ),
        Case(
            "dropout before the sum, post-norm",
            almost_silent(ATTENTION_SPEAKS, norm_first=False, train=True, dropout=0.5, d_model=3),
            probe=extremes,
            visible=False,
        ),
        Case(
            "dropout in the network and behind it, three features",
            almost_silent(NETWORK_SPEAKS, norm_first=True, train=True, dropout=0.5, d_model=3),
            probe=extremes,
            visible=False,
        ),
        Case(
            "no dropout in eval mode, post-norm",
            almost_silent(ATTENTION_SPEAKS, norm_first=False, train=False, dropout=0.5, d_model=3),
            probe=extremes,
            visible=False,
        ),
        Case("float32, pre-norm", gentle(torch.float32, True, batch=2), visible=False),
        Case("bfloat16 in, bfloat16 out", gentle(torch.bfloat16, True), visible=False),
        Case("float16 in, float16 out", gentle(torch.float16, True), visible=False),
        Case(
            "numbers that do not lie side by side",
            layer_case(2, 3),
            probe=returned_for_views,
            visible=False,
        ),
        Case(
            "x stays as it was, post-norm", layer_case(2, 3), probe=arguments_after, visible=False
        ),
    ),
    misconceptions=(
        Misconception(
            "there is only post-norm",
            layer_with(pre=post_norm),
            "Your layer does the same whatever norm_first says. Where in forward do you ask"
            " for it?",
        ),
        Misconception(
            "there is only pre-norm",
            layer_with(post=pre_norm),
            "Your layer normalises what goes into each part, and never the sum. What is the default"
            " of norm_first?",
        ),
        Misconception(
            "norm_first is the other one",
            layer_with(post=pre_norm, pre=post_norm),
            "Both orders are there, but exchanged. Which of the two normalises before the part?",
        ),
        Misconception(
            "attention finds the mask by itself",
            layer_with(attend=lambda self, x, mask: attend(self, x, None)),
            "Without a mask you are right. Follow the argument mask through your forward: where"
            " does it end?",
        ),
        Misconception(
            "True in a mask means hidden",
            layer_with(
                attend=lambda self, x, mask: attend(self, x, None if mask is None else ~mask)
            ),
            "What you show is what should be hidden. What does True mean in a mask of this course?",
        ),
        Misconception(
            "attention returns one thing",
            layer_with(attend=lambda self, x, mask: self.self_attention(x, x, x, mask)),
            "What does MultiHeadAttention return, and which part of that goes on?",
        ),
        Misconception(
            "x may be written into",
            LayerThatWritesIntoX,
            "The numbers are right, but compare x before and after the call. Which of your"
            " operators write into x?",
        ),
        Misconception(
            "a part replaces what it reads",
            layer_with(
                post=lambda x, part, norm, dropout: norm(dropout(part(x))),
                pre=lambda x, part, norm, dropout: dropout(part(norm(x))),
            ),
            "What a part says replaces x in your layer. What does a residual connection do with the"
            " two?",
        ),
        Misconception(
            "only attention needs a residual",
            LayerWithOneResidual,
            "Around attention all is well. Compare your two lines: what does the first one add that"
            " the second does not?",
        ),
        Misconception(
            "the residual starts behind the norm",
            layer_with(pre=residual_of_what_was_normalised),
            "In your pre-norm x itself is lost: what is added is already normalised. Which tensor"
            " goes around the part untouched?",
        ),
        Misconception(
            "both residuals start at the layer's input",
            LayerThatAddsItsInputTwice,
            "Your second sum starts again from the layer's input. What should the feed-forward"
            " network's output be added to?",
        ),
        Misconception(
            "the two parts work side by side",
            LayerInParallel,
            "Your feed-forward network reads the layer's input. Should it see what attention has"
            " found?",
        ),
        Misconception(
            "attention is all of it",
            LayerWithoutANetwork,
            "The weights of the feed-forward network do not matter to your result. How many parts"
            " has a layer?",
        ),
        Misconception(
            "one norm serves both parts",
            layer_with(pairs=the_first_norm_twice),
            "norm_2 does not matter to your result. Which norm belongs to the second part?",
        ),
        Misconception(
            "two names may hold one norm",
            layer_with_parts(one_norm_with_two_names),
            "norm_1 and norm_2 are one and the same module in your layer. How many norms did you"
            " make?",
        ),
        Misconception(
            "residuals are enough",
            layer_with(post=without_norm, pre=without_norm),
            "Neither norm_1 nor norm_2 matters to your result. Where do they stand in the"
            " formulas?",
        ),
        Misconception(
            "a pre-norm layer ends with a norm too",
            LayerWithANormAtTheEnd,
            "Your pre-norm result has been normalised. In the formulas of pre-norm, does a norm act"
            " on a sum?",
        ),
        Misconception(
            "norm_1 belongs to the feed-forward network",
            layer_with(pairs=norms_exchanged),
            "Both norms are used, each with the other's part. In which order does the docstring"
            " name them?",
        ),
        Misconception(
            "the feed-forward network comes first",
            layer_with(pairs=parts_exchanged),
            "Your two parts run in the wrong order. Which one looks around, and which one thinks"
            " about what was found?",
        ),
        Misconception(
            "attention runs over the first axis",
            layer_with(attend=attend_over_the_batch),
            "Positions of different sentences see each other in your layer. Which axis does"
            " MultiHeadAttention take for the positions?",
        ),
        Misconception(
            "the norm goes around the part",
            layer_with(post=norm_inside_the_sum),
            "You normalise what a part says and add x afterwards. What does post-norm normalise:"
            " the part's output, or the sum?",
        ),
        Misconception(
            "normalising twice is safer",
            layer_with(post=norms_at_both_ends, pre=norms_at_both_ends),
            "Each of your norms is applied twice. How often does it stand in each formula?",
        ),
        Misconception(
            "only the query is normalised",
            LayerWithKeysAsTheyCome,
            "In pre-norm your queries are normalised, and your keys and values are not. In"
            " self-attention, are these different tensors?",
        ),
        Misconception(
            "the network needs no dropout of its own",
            layer_with_parts(network_without_dropout),
            "In train mode nothing is dropped inside the feed-forward network. What did you give it"
            " when you made it?",
        ),
        Misconception(
            "dropout belongs to the network alone",
            layer_with(dropout=lambda rate: nn.Identity()),
            "In train mode the outputs of the two parts are added in full. What should happen to"
            " them first?",
        ),
        Misconception(
            "dropout may go on after training",
            layer_with(dropout=AlwaysDropping),
            "Your results vary in eval mode too. How does your dropout learn which mode the layer"
            " is in?",
        ),
        Misconception(
            "dropout comes behind the sum",
            layer_with(
                post=lambda x, part, norm, dropout: norm(dropout(x + part(x))),
                pre=lambda x, part, norm, dropout: dropout(x + part(norm(x))),
            ),
            "In train mode parts of the sum are dropped, and so of x itself. Which of the two terms"
            " should dropout touch?",
        ),
        Misconception(
            "dropout comes before a part",
            layer_with(
                post=lambda x, part, norm, dropout: norm(x + part(dropout(x))),
                pre=lambda x, part, norm, dropout: x + part(dropout(norm(x))),
            ),
            "In train mode you drop what goes into a part. The statement names what comes out"
            " of it.",
        ),
    ),
    alternatives=(
        LayerOfTorchsParts,
        LayerOfResiduals,
        LayerOfFunctions,
        LayerOfTwoForwards,
    ),
    shortcuts=("TransformerEncoderLayer", "TransformerEncoder", "_transformer_encoder_layer_fwd"),
)

EXERCISES = (LAYER_NORM, FEED_FORWARD, ENCODER_LAYER)
