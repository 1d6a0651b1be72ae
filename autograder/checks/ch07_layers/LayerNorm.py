"""Layer normalisation: features of mean 0 and variance 1, scaled and shifted."""

import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from autograder.authoring import draw
from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.laws import standardised
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch07_layers as reference


def off_centre(rng, *shape, dtype=torch.float64):
    """Draw rows whose mean is nowhere near 0, and whose spread is nowhere near 1."""
    centres = draw.normal(rng, *shape[:-1], 1, dtype=torch.float64, scale=2.0)
    return (centres + 1.5 + draw.normal(rng, *shape, dtype=torch.float64, scale=2.5)).to(dtype)


@drawn
def norm_case(rng, *shape, dtype=torch.float64, rows=off_centre, new=False, eps=None, **parts):
    """Make the inputs of a LayerNorm on rows of a shape; `new` leaves its gain and bias at ones and
    zeros.
    """
    constructor = (shape[-1],)
    if eps is not None:
        constructor += (round(float(rng.uniform(*eps)), 3),)
    x = rows(rng, *shape, dtype=dtype)
    made = draw.module_case(rng, reference.LayerNorm, constructor, {"x": x}, dtype, **parts)
    if new:
        made["weights"] = {
            "weight": torch.ones(shape[-1], dtype=dtype),
            "bias": torch.zeros(shape[-1], dtype=dtype),
        }
    return made


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


@drawn
def at_one_position(rng, make, reference, constructor, shape, position):
    """Make a case in which x changes at one position, for the probe `moved`."""
    x = make(rng, *shape)
    other = x.clone()
    other[:, position] = make(rng, *shape)[:, position]
    made = draw.module_case(rng, reference, constructor, {"x": x}, torch.float64)
    return {**made, "changed": {"x": other}}


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


def deviation(x):
    return x.std(-1, correction=0, keepdim=True)


def centred(x):
    return x - x.mean(-1, keepdim=True)


def starting_with(gain):
    """Make a LayerNorm whose gain starts at `gain(d_model)`."""

    class LayerNorm(reference.LayerNorm):
        def __init__(self, d_model, eps=1e-5):
            super().__init__(d_model, eps)
            self.weight = nn.Parameter(gain(d_model))

    return LayerNorm


def through(dtype, and_back=True):
    """Make a LayerNorm that computes in a dtype of its own."""

    class LayerNorm(reference.LayerNorm):
        def forward(self, x):
            normalised = standardise(x.to(dtype), self.eps)
            result = normalised * self.weight.to(dtype) + self.bias.to(dtype)
            return result.to(x.dtype) if and_back else result

    return LayerNorm


checks = Checks(
    reference.LayerNorm,
    family=norm_with,
    laws=(standardised,),
    shortcuts="""LayerNorm layer_norm native_layer_norm GroupNorm group_norm native_group_norm
    instance_norm""",
)
shown, hidden, wrong, right = checks.words

shown("rows get mean 0 and variance 1", norm_case(3, 4, new=True), weight=2)
shown("then each feature gets its own gain and bias", norm_case(3, 4))
shown("each position of a batch by itself", norm_case(2, 3, 4), weight=2)
shown("as many positions as features", norm_case(2, 3, 3))
shown("another eps", norm_case(2, 4, eps=(0.3, 2.0)), weight=2)
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
hidden("a large eps on a batch", norm_case(2, 3, 5, eps=(0.5, 4.0)), weight=2)
hidden("a batch of numbers that hardly differ", norm_case(2, 3, 6, rows=almost_equal))
hidden("equal numbers in a batch", norm_case(2, 3, 5, rows=all_equal))
hidden(
    "one position changes, and no other",
    at_one_position(off_centre, reference.LayerNorm, (4,), (2, 5, 4), 2),
    probe=moved,
)
hidden("gradients on a batch", norm_case(2, 3, 5), probe=gradients, weight=2)
hidden(
    "gradients where rows are equal numbers", norm_case(4, 4, rows=equal_and_not), probe=gradients
)
hidden("train mode changes nothing", norm_case(3, 4, train=True))
hidden("a batch in bfloat16", norm_case(2, 3, 8, dtype=torch.bfloat16, rows=in_quarters))
hidden("float16 in, float16 out", norm_case(2, 8, dtype=torch.float16, rows=in_quarters))
hidden("numbers that do not lie side by side", norm_case(2, 3, 4), probe=returned_for_views)
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
    normalise=partial(standardise, correction=1),
)


wrong(
    "eps is added to the standard deviation",
    """With a tiny eps and a large variance you cannot see the difference; with a large eps you can.
    In the formula, is eps added before the root is taken, or after?""",
    normalise=lambda x, eps: centred(x) / (deviation(x) + eps),
)


wrong(
    "eps is added at the end",
    """Equal numbers have a variance of 0, and 0 divided by 0 is nan. Is your eps there when the
    division happens?""",
    normalise=lambda x, eps: centred(x) / deviation(x) + eps,
)


wrong(
    "eps is a smallest standard deviation",
    """Your eps acts only when the spread is smaller than it. In the formula it is always there:
    added to what?""",
    normalise=lambda x, eps: centred(x) / deviation(x).clamp(min=eps),
)


wrong(
    "no eps is needed",
    """What is the variance of features that are all equal, and what happens when you divide by its
    root?""",
    normalise=lambda x, eps: centred(x) / deviation(x),
)


wrong(
    "eps is a standard deviation",
    "Your eps acts as its square does. It is added to a variance; is it one already?",
    eps=lambda eps: eps**2,
)


wrong(
    "eps is always 0.00001",
    """With the usual eps you are right. Does the number that the caller asked for reach your
    formula?""",
    eps=1e-5,
)


wrong(
    "the usual eps is much smaller",
    """You are right as long as the caller names an eps. Compare your default with the one in the
    first line of the stub.""",
    default=1e-12,
)


wrong(
    "all positions of a sentence share a mean",
    "Two axes went into your mean. Each position has a mean and a variance of its own.",
    normalise=lambda x, eps: standardise(x, eps, (-2, -1) if x.ndim > 1 else -1),
)


wrong(
    "the statistics are those of the batch",
    """Your mean runs over the first axis, as in batch norm. Along which axis do the features of one
    position lie?""",
    normalise=partial(standardise, axis=0),
)


wrong(
    "the statistics run over the positions",
    """Your mean runs over the positions, feature by feature. Along which axis do the features of
    one position lie?""",
    normalise=lambda x, eps: standardise(x, eps, -2 if x.ndim > 1 else -1),
)


wrong(
    "one mean and one variance serve the whole tensor",
    """You have one mean for all. Each position should be normalised by itself, whatever its
    neighbours hold.""",
    normalise=lambda x, eps: (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps),
)


wrong(
    "the mean lines up by itself",
    """A mean that drops its axis is then lined up with the features, not with the positions. How
    can it keep that axis?""",
    normalise=lambda x, eps: (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + eps),
)


wrong(
    "only the spread has to be divided out",
    "The spread of your rows is 1, but their mean is not 0. What is missing in your numerator?",
    normalise=lambda x, eps: x / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps),
)


wrong(
    "the root of the mean square is the spread",
    """You divide by the root of the mean square. The variance is the mean square of something else:
    of the distances from what?""",
    normalise=lambda x, eps: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps),
)


wrong(
    "one divides by the variance",
    """Multiply every x by 10: your result becomes a tenth, and a norm should not notice. Variance
    or its root?""",
    normalise=lambda x, eps: centred(x) / (x.var(-1, correction=0, keepdim=True) + eps),
)


wrong(
    "the bias multiplies and the gain is added",
    """Of gain and bias, one multiplies and one is added. A new norm has ones in one and zeros in
    the other: which must be which?""",
    affine=lambda normalised, weight, bias: normalised * bias + weight,
)


wrong(
    "the gain multiplies the bias too",
    "The order of two steps matters: does your gain multiply the bias as well?",
    affine=lambda normalised, weight, bias: (normalised + bias) * weight,
)


wrong(
    "gain and bias are there to be had",
    """Your rows have mean 0 and variance 1, whatever weight and bias hold. Where does your forward
    use the two?""",
    affine=lambda normalised, weight, bias: normalised,
)


wrong(
    "only the gain is used",
    "Your result does not depend on the bias. Where does it stand in the formula?",
    affine=lambda normalised, weight, bias: normalised * weight,
)


@wrong(
    "gain and bias are constants",
    """An optimizer finds what is registered as a parameter, and nothing else. Which class of
    torch.nn does that?""",
)
class NormWithoutParameters(norm_with()):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        for name, parameter in list(self.named_parameters()):
            delattr(self, name)
            self.register_buffer(name, parameter.detach())


@wrong("a gain is enough", "How many things does the formula learn for each feature?")
class NormWithoutBias(norm_with(affine=lambda normalised, weight, bias: normalised * weight)):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.bias = None


wrong(
    "a gain starts like the weights of a linear layer",
    "A new norm should leave what it has normalised as it is. Which gain does that?",
)(starting_with(partial(torch.linspace, -1, 1)))


wrong(
    "a gain starts at zero",
    "A new norm of yours gives zeros for any x. Which gain leaves numbers as they are?",
)(starting_with(torch.zeros))


@wrong(
    "mean and variance do not depend on x",
    """The values are right and the gradients are not. Mean and variance depend on x as well: is
    that path cut somewhere?""",
    rule="normalise",
)
def with_constant_statistics(x, eps):
    variance, mean = torch.var_mean(x.detach(), dim=-1, correction=0, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps)


@wrong(
    "the caller's x is free to be changed",
    """The numbers are right, but compare x before and after the call. Which of your operators write
    into x?""",
    rule="normalise",
)
def in_place(x, eps):
    x -= x.mean(-1, keepdim=True)
    x /= torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return x


wrong(
    "the result is float32 whatever comes in",
    """Somewhere the dtype of x is lost. What should the result have, if x is a bfloat16 or a
    float64?""",
)(through(torch.float32, and_back=False))


wrong(
    "single precision is enough on the way",
    """A float64 came in, and your result has only about seven correct digits. In which dtype were
    the statistics computed?""",
)(through(torch.float32))


right(through(torch.float64))


@right
class NormByTorch(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps=eps)


@right
class NormByFunction(reference.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias, self.eps)


@right
class NormWithHalvesInFloat32(reference.LayerNorm):
    def forward(self, x):
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        return (standardise(wide, self.eps).to(x.dtype) * self.weight) + self.bias


@right
class NormByTheSecondMoment(reference.LayerNorm):
    def forward(self, x):
        away = x - x.mean(dim=-1, keepdim=True)
        return torch.addcmul(
            self.bias, away / (away.square().mean(-1, True) + self.eps) ** 0.5, self.weight
        )


@right
class NormByStandardDeviation(reference.LayerNorm):
    def forward(self, x):
        count = x.size(-1)
        mean = x.sum(-1, keepdim=True) / count
        variance = ((x - mean) ** 2).sum(-1, keepdim=True) / count
        return self.weight / (variance + self.eps).sqrt() * (x - mean) + self.bias


@right
class NormByRows(reference.LayerNorm):
    def forward(self, x):
        rows = [
            (row - row.mean()) / (row.var(unbiased=False) + self.eps).sqrt()
            for row in x.reshape(-1, x.shape[-1])
        ]
        return torch.stack(rows).reshape(x.shape) * self.weight + self.bias
