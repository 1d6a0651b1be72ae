"""Root mean square normalisation: a norm without a mean and without a bias."""

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


def off_centre(rng, *shape):
    """Draw rows whose mean is nowhere near 0."""
    centres = draw.normal(rng, *shape[:-1], 1, dtype=torch.float64, scale=2.0)
    return centres + 1.5 + draw.normal(rng, *shape, dtype=torch.float64, scale=2.5)


def wide(rng, *shape):
    """Draw such rows, but so wide that eps does not show; other cases ask what it does."""
    return 200 * off_centre(rng, *shape)


def tiny(rng, *shape):
    """Draw rows whose mean square is as small as the usual eps."""
    return 0.003 * draw.normal(rng, *shape, dtype=torch.float64) + 0.001


def zeros(rng, *shape):
    return torch.zeros(shape, dtype=torch.float64)


def zeros_between(rng, *shape):
    """Draw rows of which every second one is 0."""
    x = off_centre(rng, *shape)
    x[::2] = 0
    return x


def too_large_to_square(rng, *shape):
    """Draw rows of integers whose squares float16 cannot hold."""
    sign = torch.from_numpy(rng.choice([-1.0, 1.0], shape))
    return sign * torch.from_numpy(rng.integers(300, 900, shape)).double()


def too_small_to_square(rng, *shape):
    """Draw rows whose squares float16 cannot hold, and an eps does not replace."""
    sign = torch.from_numpy(rng.choice([-1.0, 1.0], shape))
    return sign * torch.from_numpy(rng.integers(1, 9, shape)).double() / 8192


@drawn
def norm_case(
    rng, *shape, dtype=torch.float64, rows=wide, new=False, eps=None, wide_weight=False, **parts
):
    """Make the inputs of an RMSNorm on rows of a shape.

    Args:
        new: leave its weight at ones.
        eps: None for its default, a number, or two between which one is drawn.
        wide_weight: give it a float32 weight, whatever the dtype of the rows.
    """
    constructor = shape[-1:]
    if eps is not None:
        constructor += (eps if isinstance(eps, float) else round(float(rng.uniform(*eps)), 3),)
    x = rows(rng, *shape).to(dtype)
    of_weights = torch.float32 if wide_weight else dtype
    made = draw.module_case(rng, reference.RMSNorm, constructor, {"x": x}, of_weights, **parts)
    if new:
        made["weights"] = dict(reference.RMSNorm(shape[-1]).to(of_weights).state_dict())
    return made


class Rules(reference.RMSNorm):
    def widened(self, x):
        return x.to(torch.promote_types(x.dtype, torch.float32))

    def mean_square(self, x, axis=-1, keepdim=True):
        return x.square().mean(dim=axis, keepdim=keepdim)

    def centred(self, x):
        return x

    def divisor(self, mean_square):
        return (mean_square + self.eps).sqrt()

    def scaled(self, normalised):
        return normalised * self.weight

    def forward(self, x):
        wide = self.centred(self.widened(x))
        return self.scaled(wide / self.divisor(self.mean_square(wide))).to(x.dtype)


def over(axis):
    """Make a rule: over which axis, where there is more than one."""
    return lambda self, x: Rules.mean_square(self, x, axis if x.ndim > 1 else -1)


checks = Checks(
    reference.RMSNorm, family=Rules, shortcuts="RMSNorm rms_norm LlamaRMSNorm T5LayerNorm"
)
shown, hidden, wrong, right = checks.words

shown("rows get a mean square of 1, and keep their mean", norm_case(3, 4, new=True), weight=3)
shown("then each feature gets its own weight", norm_case(3, 4), weight=2)
shown("each position of a batch by itself", norm_case(2, 3, 4), weight=2)
shown("another eps", norm_case(2, 4, rows=off_centre, eps=(0.3, 2.0)), weight=2)
shown("numbers so small that eps counts", norm_case(3, 4, rows=tiny))
shown("zeros stay zeros", norm_case(2, 4, rows=zeros))
shown(
    "a new one has a weight of ones, and no other parameter",
    constructor={"d_model": integer(3, 7)},
    shown=["weight"],
    probe=at_the_start,
    weight=2,
)
shown("gradients reach x and the weight", norm_case(2, 4), probe=gradients, weight=2)
shown(
    "float16 rows whose squares are too large",
    norm_case(2, 4, dtype=torch.float16, rows=too_large_to_square),
    weight=2,
)
shown("bfloat16 in, bfloat16 out", norm_case(2, 4, dtype=torch.bfloat16))
shown("x stays as it was", norm_case(2, 4), probe=arguments_after)
hidden("rows of another width", norm_case(4, 6, new=True), weight=2)
hidden("four axes", norm_case(2, 3, 2, 5), weight=2)
hidden("a single position without a batch", norm_case(5))
hidden("batch, positions and features of one size", norm_case(4, 4, 4))
hidden("a large eps on a batch", norm_case(2, 3, 5, rows=off_centre, eps=(0.5, 4.0)), weight=2)
hidden("a batch of small numbers", norm_case(2, 3, 6, rows=tiny))
hidden("zeros in a batch", norm_case(2, 3, 5, rows=zeros_between))
hidden(
    "one position changes, and no other",
    at_one_position(off_centre, reference.RMSNorm, (4,), (2, 5, 4), 2),
    probe=moved,
)
hidden("gradients on a batch", norm_case(2, 3, 5), probe=gradients, weight=2)
hidden("gradients where rows are zeros", norm_case(4, 4, rows=zeros_between), probe=gradients)
hidden("a batch in float32", norm_case(2, 3, 4, dtype=torch.float32))
hidden(
    "a float16 batch whose squares are too large",
    norm_case(2, 3, 4, dtype=torch.float16, rows=too_large_to_square),
    weight=2,
)
hidden(
    "a float16 batch whose squares are too small",
    norm_case(2, 3, 4, dtype=torch.float16, rows=too_small_to_square, eps=1e-8),
)
hidden(
    "bfloat16 rows under a float32 weight",
    norm_case(2, 3, 4, dtype=torch.bfloat16, wide_weight=True),
    weight=2,
)
hidden("train mode changes nothing", norm_case(3, 4, train=True))
hidden("numbers that are not contiguous in memory", norm_case(2, 3, 4), probe=returned_for_views)
hidden("a batch stays as it was", norm_case(2, 3, 4), probe=arguments_after)


wrong(
    "a norm subtracts the mean",
    "The mean of your rows is 0. What does the formula do with the mean?",
    centred=lambda self, x: x - x.mean(dim=-1, keepdim=True),
    widened=lambda self, x: x,  # as in chapter 7's LayerNorm
)


wrong(
    "squares add up",
    """Your rows become shorter the more features they have. The M of RMS: what is taken of the
    squares?""",
    mean_square=lambda self, x: x.square().sum(dim=-1, keepdim=True),
)


wrong(
    "the spread is divided out",
    """You divide by the standard deviation. It measures distances from the mean: from where does
    the formula measure?""",
    mean_square=lambda self, x: x.var(dim=-1, keepdim=True, correction=0),
)


wrong(
    "one feature is not counted",
    "Your results are a little too small. By how many numbers is the sum of squares divided?",
    mean_square=lambda self, x: x.square().sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1),
)


wrong(
    "the mean is squared",
    """You take the mean first and square it then, so that features of opposite signs cancel. In
    which order does the formula do the two?""",
    mean_square=lambda self, x: x.mean(dim=-1, keepdim=True).square(),
)


wrong(
    "the mean size does as well",
    "You average sizes without squaring them. What does the formula average?",
    divisor=lambda self, mean_size: mean_size + self.eps,
    mean_square=lambda self, x: x.abs().mean(dim=-1, keepdim=True),
)


wrong(
    "one divides by the mean square",
    """Multiply every x by 10: your result becomes a tenth, and a norm should not notice. Which
    letter of RMS is missing?""",
    divisor=lambda self, mean_square: mean_square + self.eps,
)


wrong(
    "eps is added to the root",
    """With a tiny eps and large numbers you cannot see the difference; with a large eps you can. Is
    eps added before the root is taken, or after?""",
    divisor=lambda self, mean_square: mean_square.sqrt() + self.eps,
)


wrong(
    "no eps is needed",
    "What is the mean square of zeros, and what happens when you divide by its root?",
    divisor=lambda self, mean_square: mean_square.sqrt(),
)


wrong(
    "eps is a smallest root",
    """Your eps acts only where the root is smaller. In the formula it is always there: added to
    what?""",
    divisor=lambda self, mean_square: mean_square.sqrt().clamp(min=self.eps),
)


wrong(
    "eps is a root itself",
    "Your eps acts as its square does. It is added to a mean square; is it one already?",
    eps=lambda eps: eps**2,
)


wrong(
    "eps is always 0.00001",
    """You are right with the usual eps. Does the number that the caller asked for reach your
    formula?""",
    eps=1e-5,
)


wrong(
    "the usual eps is much smaller",
    """You are right as long as the caller names an eps. Compare your default with the one in the
    first line of the stub.""",
    __init__=lambda self, d_model, eps=1e-8: reference.RMSNorm.__init__(self, d_model, eps),
)


wrong(
    "all positions of a sentence share a mean square",
    "Two axes went into your mean. Each position has one of its own.",
    mean_square=over((-2, -1)),
)


wrong(
    "the mean runs over the positions",
    """Your mean runs over the positions, feature by feature. Along which axis do the features of
    one position lie?""",
    mean_square=over(-2),
)


wrong(
    "the features are always axis 1",
    """Your result is right for rows, and wrong for a batch of sentences: axis 1 holds the features
    only where there are two axes. Which axis holds them however many there are?""",
    mean_square=lambda self, x: Rules.mean_square(self, x, 1),
)


wrong(
    "one mean square serves the whole tensor",
    "You have one mean for all. Each position should be normalised by itself.",
    mean_square=lambda self, x: x.square().mean(),
)


wrong(
    "the mean lines up by itself",
    """A mean that drops its axis is then lined up with the features, not with the positions. How
    can it keep that axis?""",
    mean_square=lambda self, x: Rules.mean_square(self, x, keepdim=False),
)


wrong(
    "the weight is there to be had",
    "Your result does not depend on the weight. Where is it in the formula?",
    scaled=lambda self, normalised: normalised,
)


wrong(
    "the weight is added",
    "A new norm has a weight of ones, and leaves what it has normalised as it is. Does yours?",
    scaled=lambda self, normalised: normalised + self.weight,
)


@wrong(
    "the weight comes first",
    """Your weight takes part in the mean square. Is it applied to what comes in, or to what has
    been normalised?""",
    rule="forward",
)
def weighted_first(self, x):
    weighted = x * self.weight
    return weighted / self.divisor(self.mean_square(weighted))


wrong(
    "the weight starts at zero",
    "Your norm, when new, gives zeros for any x. Which weight leaves numbers as they are?",
    made=lambda self: self.weight.data.zero_(),
)


@wrong(
    "the weight is a constant",
    """An optimizer finds what is registered as a parameter, and nothing else. Which class of
    torch.nn does that?""",
    rule="made",
)
def with_a_buffer(self):
    weight = self.weight.detach()
    del self.weight
    self.register_buffer("weight", weight)


wrong(
    "squares fit into any dtype",
    """Your result is right in float32. What is the largest number of float16, and what is the
    square of 300? See in which precision the statement has the mean taken.""",
    widened=lambda self, x: x,
)


wrong(
    "float32 leaves as float32",
    "The numbers are right. Which dtype came in, and which one leaves?",
    forward=lambda self, x: Rules.scaled(
        self, x.float() / self.divisor(self.mean_square(x.float()))
    ),
)


wrong(
    "the weight decides about the dtype",
    """Your result has the dtype of the weight. It may be wider than what came in; which dtype
    should leave?""",
    forward=lambda self, x: Rules.forward(self, x).to(self.weight.dtype),
)


wrong(
    "single precision is enough on the way",
    """A float64 came in, and your result has only about seven correct digits. In which dtype was
    the mean computed?""",
    forward=lambda self, x: Rules.forward(self, x.float()).to(x.dtype),
)


wrong(
    "the mean square does not depend on x",
    """The values are right, but the gradients are not. The divisor depends on x as well: is that
    path cut somewhere?""",
    mean_square=lambda self, x: Rules.mean_square(self, x.detach()),
)


@wrong(
    "the caller's x is free to be changed",
    """The numbers are right, but compare x before and after the call. Which of your operators write
    into x?""",
    rule="forward",
)
def in_place(self, x):
    wide = self.widened(x)
    return self.scaled(wide.div_(self.divisor(self.mean_square(wide)))).to(x.dtype)


@right
class NormByTorch(nn.RMSNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps=eps)

    def forward(self, x):
        wide = torch.promote_types(x.dtype, torch.float32)
        return functional.rms_norm(x.to(wide), x.shape[-1:], self.weight.to(wide), self.eps).to(
            x.dtype
        )


@right
def in_float64(self, x):
    wide = x.double()
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    return (wide * (length**2 / x.shape[-1] + self.eps) ** -0.5 * self.weight).to(x.dtype)


@right
def as_llama(self, x):
    """Goes back to the dtype of x before the weight, and again after it."""
    wide = x if x.dtype == torch.float64 else x.float()
    normalised = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
    return (self.weight * normalised.to(x.dtype)).to(x.dtype)


@right
def row_by_row(self, x):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    rows = [
        row / (row.dot(row) / len(row) + self.eps).sqrt() for row in wide.reshape(-1, x.size(-1))
    ]
    return (torch.stack(rows).reshape(x.shape) * self.weight).to(x.dtype)
