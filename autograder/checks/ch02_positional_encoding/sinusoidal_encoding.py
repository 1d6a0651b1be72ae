"""Positions as sines and cosines."""

import math

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import integer
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch02_positional_encoding import (
    angles_of,
    base_1000,
    doubled_exponent,
    encoding_at,
    even,
    in_halves,
    interleaved,
    odd,
    one_rate,
    rates_of,
    require_even,
)
from solutions import ch02_positional_encoding as reference


def encoding_with(
    rates=rates_of, start=0, layout=interleaved, first=np.sin, second=np.cos, dtype=np.float64
):
    """Make a `sinusoidal_encoding` from rules for the rates, the first position, the columns, the
    functions and the dtype of positions.
    """

    def sinusoidal_encoding(seq_len, d_model):
        require_even(d_model)
        angles = angles_of(np.arange(start, seq_len + start).astype(dtype), d_model, rates)
        return layout(first(angles), second(angles))

    return sinusoidal_encoding


checks = Checks(
    reference.sinusoidal_encoding,
    shortcuts="PositionalEncoding PositionalEncoding1D SinusoidalPositionalEmbedding",
    family=encoding_with,
)
shown, hidden, wrong, right = checks.words

shown(
    "two columns are the sine and the cosine of the position",
    seq_len=integer(3, 12),
    d_model=2,
)
# Widths are graded where no table of answers has them; positions stay few, because float32 costs a
# case of its own.
shown(
    "a few positions, a few pairs",
    seq_len=integer(3, 9),
    d_model=even(4, 8),
    graded={"seq_len": integer(3, 9), "d_model": even(18, 256)},
    weight=3,
)
shown("position 0 is 0, 1, 0, 1 and so on", seq_len=1, d_model=even(4, 30))
shown(
    "many pairs, each slower than the one before",
    seq_len=integer(3, 6),
    d_model=even(10, 18),
    graded={"seq_len": integer(3, 6), "d_model": even(18, 256)},
    weight=2,
)
shown("an odd d_model is refused", seq_len=integer(2, 40), d_model=odd(3, 21))
shown(
    "as many positions as columns",
    even(4, 10).then(lambda size: {"seq_len": size, "d_model": size}),
    weight=2,
)
hidden("thousands of positions, each exact", seq_len=integer(2300, 2600), d_model=even(4, 6))
hidden("the width of a real model", seq_len=integer(8, 16), d_model=even(256, 512), weight=3)
hidden("a few more positions and pairs", seq_len=integer(8, 16), d_model=even(18, 256), weight=5)
hidden("a single column is refused", seq_len=integer(1, 99), d_model=1)


wrong(
    "the sines come first, then the cosines",
    """Your sines fill the first half of the row and your cosines the second. Which columns does the
    formula give to pair 0?""",
    layout=in_halves,
)


wrong(
    "i is the number of the column",
    """The first pair is right, but the others turn too slowly. The exponent contains 2i. Does your
    i count pairs, or is it already the number of a column?""",
    rates=doubled_exponent,
)


wrong(
    "every column has an angle of its own",
    """The sine and the cosine of a pair should share one angle. How many different exponents does
    your row have, and how many pairs are there?""",
    rates=lambda width: 10000.0 ** (-np.arange(width) / width),
    first=lambda angles: np.sin(angles[:, ::2]),
    second=lambda angles: np.cos(angles[:, 1::2]),
)


wrong(
    "every column has an angle of its own, with twice its number",
    """The sine and the cosine of a pair should share one angle. Does your i count columns or pairs,
    and how many different angles does one position have?""",
    rates=lambda width: 10000.0 ** (-2 * np.arange(width) / width),
    first=lambda angles: np.sin(angles[:, ::2]),
    second=lambda angles: np.cos(angles[:, 1::2]),
)


@wrong(
    "even and odd are positions",
    """Your rows take turns between sine and cosine. What do even and odd count in the formula:
    positions or columns?""",
    rule="layout",
)
def by_parity_of_the_position(sines, cosines):
    positions = np.arange(len(sines))[:, np.newaxis]
    return np.where(positions % 2, cosines, sines).repeat(2, axis=-1)


wrong(
    "cosine comes first",
    "What are the sine and the cosine of 0, and which of the two is in column 0 of your first row?",
    first=np.cos,
    second=np.sin,
)


wrong(
    "the base is 1000",
    "The first pair is right, but the others turn too fast. Count the zeros of the base.",
    rates=base_1000,
)


wrong(
    "the slowest rate is 1/10000 exactly",
    """The first pair is right, but your last one turns by exactly 1/10000 radian per position. What
    does the formula divide by in the exponent, and what do you divide by?""",
    rates=lambda width: 10000.0 ** (-np.arange(width // 2) / max(width // 2 - 1, 1)),
)


wrong(
    "the exponent runs from 0 to one half",
    """The first pair is right, but your slowest one turns by about 1/100 radian per position. How
    large does the exponent of the last pair become in the formula?""",
    rates=lambda width: 10000.0 ** (-np.arange(width // 2) / width),
)


wrong(
    "the rate multiplies the position the other way up",
    "Your later pairs turn faster and faster. On which side of the fraction is the power of 10000?",
    rates=lambda width: 1 / rates_of(width),
)


wrong(
    "the exponent may be rounded down",
    """The first pair is right, and all your others turn as fast. Print the exponents of the pairs:
    which numbers should they be, and which does `//` make of them?""",
    rates=one_rate,
)


wrong(
    "a power reaches as far as the fraction",
    """Your first pair does not turn at all. Python raises to a power before it multiplies or
    divides: what is the exponent in your line?""",
    rates=lambda width: np.arange(width // 2) / (10000.0**2 * width),
)


wrong(
    "a reshape puts each sine beside its cosine",
    """The numbers are right, but in the wrong places. A reshape takes numbers in the order in which
    they lie in memory: which axis of your array would have to be the last one?""",
    layout=lambda sines, cosines: np.stack([sines, cosines]).reshape(len(sines), -1),
)


wrong(
    "the first position is all of it",
    """Only your first row holds anything but 0. Does your function return before its loop is
    through? Or does your array have room for whole numbers alone?""",
    then=lambda encoding: encoding * (np.arange(len(encoding)) == 0)[:, np.newaxis],
)


@wrong(
    "positions and pairs share an axis",
    """Each position has an angle for each pair, which makes a table. Your positions and your rates
    both lie along the same axis: where should the other axis come from?""",
)
def along_one_axis(seq_len, d_model):
    require_even(d_model)
    encoding = np.zeros((seq_len, d_model))
    angles = np.arange(seq_len) * rates_of(d_model)
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


wrong(
    "positions count from 1",
    """Your rows are right, but each comes one place too early. What is the angle at the first
    position?""",
    start=1,
)


wrong(
    "half precision is enough for a position",
    """The first two thousand positions are right, but after them neighbours become the same. Which
    whole numbers can the dtype of your positions hold?""",
    dtype=np.float16,
)


wrong(
    "single precision is enough for an angle",
    """The numbers have only about seven correct digits, although their dtype could hold more. In
    which dtype do you compute the angles?""",
    dtype=np.float32,
    rates=lambda width: rates_of(width).astype(np.float32),
    then=lambda encoding: encoding.astype(np.float64),
)


wrong(
    "the result may be float32",
    """The numbers are right as far as their precision goes. Compare their dtype with the one that
    the docstring names.""",
    then=lambda encoding: encoding.astype(np.float32),
)


@wrong(
    "an odd width just loses its last cosine",
    "What should happen when the last sine has no cosine beside it?",
)
def of_any_width(seq_len, d_model):
    return encoding_at(np.arange(seq_len), d_model)[:, :d_model]


@right
def by_loops(seq_len, d_model):
    require_even(d_model)
    encoding = np.zeros((seq_len, d_model))
    for position, pair in np.ndindex(seq_len, d_model // 2):
        angle = position / 10000 ** (2 * pair / d_model)
        encoding[position, 2 * pair] = math.sin(angle)
        encoding[position, 2 * pair + 1] = math.cos(angle)
    return encoding


@right
@encoding_with
def by_logarithm(width):
    return np.exp(np.arange(0, width, 2) * (-math.log(10000) / width))


@right
def by_complex_numbers(seq_len, d_model):
    require_even(d_model)
    encoding = np.empty((seq_len, d_model))
    turns = np.exp(1j * np.outer(np.arange(seq_len), rates_of(d_model)))
    encoding[:, ::2], encoding[:, 1::2] = turns.imag, turns.real
    return encoding


right(encoding_with(second=lambda angles: np.sin(angles + math.pi / 2)))


@right
@with_tensors
def by_torch(seq_len, d_model):
    import torch

    require_even(d_model)
    rates = 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.outer(torch.arange(seq_len).double(), rates)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
