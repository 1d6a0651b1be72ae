"""The matrix that moves sinusoidal encodings by an offset."""

import math

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import integer
from autograder.checks.ch02_positional_encoding import (
    base_1000,
    doubled_exponent,
    encoding_at,
    even,
    one_rate,
    rates_of,
)
from solutions import ch02_positional_encoding as reference


def right_block(cosine, sine):
    return [[cosine, sine], [-sine, cosine]]


def offset_with(block=right_block, rates=rates_of):
    """Make an `offset_matrix` from rules for the blocks on its diagonal, each of which belongs to
    one pair, and for the rates of the pairs.
    """

    def offset_matrix(offset, d_model):
        matrix = np.zeros((d_model, d_model))
        for pair, angle in enumerate(offset * rates(d_model)):
            place = slice(2 * pair, 2 * pair + 2)
            matrix[place, place] = block(math.cos(angle), math.sin(angle))
        return matrix

    return offset_matrix


def fitted_to(positions):
    def offset_matrix(offset, d_model):
        start, end = (encoding_at(np.asarray(positions) + shift, d_model) for shift in (0, offset))
        return np.linalg.lstsq(start, end, rcond=None)[0].T

    return offset_matrix


checks = Checks(reference.offset_matrix, family=offset_with)
shown, hidden, wrong, right = checks.words

# Widths are graded where no table of answers has them.
shown("one pair, a few positions on", offset=integer(1, 12), d_model=2, weight=2)
shown(
    "each pair turns at its own rate",
    offset=integer(2, 12),
    d_model=even(4, 8),
    graded={"offset": integer(2, 12), "d_model": even(18, 48)},
    weight=2,
)
shown(
    "a negative offset leads back",
    offset=-1 * integer(1, 12),
    d_model=even(4, 8),
    graded={"offset": -1 * integer(1, 12), "d_model": even(18, 48)},
    weight=2,
)
shown("an offset of 0 changes nothing", offset=0, d_model=even(4, 30))
shown(
    "many pairs",
    offset=integer(2, 40),
    d_model=16,
    graded={"offset": integer(2, 40), "d_model": even(18, 48)},
    weight=2,
)
hidden("a far offset", offset=integer(100, 900), d_model=even(4, 12), weight=2)
hidden("a far offset, back", offset=-1 * integer(100, 900), d_model=even(4, 12))
hidden("one step, one pair, back", offset=-1, d_model=even(2, 6))
hidden("many pairs, far", offset=integer(20, 90), d_model=even(18, 24))


wrong(
    "the usual rotation matrix will do",
    """Multiply your matrix by the encoding of position 0. Does it move on or back? In an encoding,
    the sine comes before the cosine.""",
    block=lambda cosine, sine: [[cosine, -sine], [sine, cosine]],
)


wrong(
    "both sines have the same sign",
    """Compare the two addition formulas: in one of them a term is subtracted. And does a vector
    keep its length when you multiply it by your matrix?""",
    block=lambda cosine, sine: [[cosine, sine], [sine, cosine]],
)


wrong(
    "the diagonal holds the sines",
    "With an offset of 0 nothing should move. What does your matrix do then?",
    block=lambda cosine, sine: [[sine, cosine], [cosine, -sine]],
)


@wrong(
    "an offset counts forward",
    """Nothing in the addition formulas needs the offset to be positive. Where do you refuse a
    negative one?""",
    around=True,
)
def forward_only(right, offset, d_model):
    if offset < 0:
        raise ValueError("offset must not be negative")
    return right(offset, d_model)


wrong(
    "only the size of the offset matters",
    """Moving forward and moving back should be different turns. What happens to the sign of the
    offset?""",
    offset=abs,
)


wrong(
    "the offset is always 1",
    "Your matrix is the same for every offset. Where does the argument enter the angles?",
    offset=1,
)


@wrong(
    "the block of pair i begins in row i",
    """Your blocks lie over each other. How many rows does each pair have, and in which row does the
    second pair begin?""",
)
def overlapping(offset, d_model):
    matrix = np.zeros((d_model, d_model))
    for pair, angle in enumerate(offset * rates_of(d_model)):
        place = slice(pair, pair + 2)
        matrix[place, place] = right_block(math.cos(angle), math.sin(angle))
    return matrix


wrong(
    "a pair has no more than its cosines",
    """Each of the two addition formulas has two terms. Which of them are missing in your blocks,
    and where does an encoding keep the number that they are multiplied by?""",
    block=lambda cosine, sine: [[cosine, 0], [0, cosine]],
)


@wrong(
    "sines and cosines stand in halves",
    """The numbers are right, but they are in the wrong rows and columns. Where are the sine and the
    cosine of one pair in an encoding?""",
)
def in_halves(offset, d_model):
    angles = offset * rates_of(d_model)
    cosines, sines = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[cosines, sines], [-sines, cosines]])


wrong(
    "all pairs turn at one rate",
    """Your blocks are all alike. By which angle does the second pair turn from one position to the
    next?""",
    rates=one_rate,
)


wrong(
    "i is the number of the column",
    """The first block is right, but the others turn too little. The exponent contains 2i. What does
    i count?""",
    rates=doubled_exponent,
)


wrong(
    "the rate multiplies the offset the other way up",
    """The first block is right, but your later pairs turn faster and faster. On which side of the
    fraction is the power of 10000?""",
    rates=lambda width: 1 / rates_of(width),
)


wrong(
    "the base is 1000",
    "The first block is right, but the others turn too far. Count the zeros of the base.",
    rates=base_1000,
)


wrong(
    "moving on shifts the columns",
    """A matrix with a shifted diagonal moves numbers from one column to another. What happens to
    the two numbers of a pair when the position grows?""",
)(lambda offset, d_model: np.eye(d_model, k=offset))


@wrong(
    "one position is enough to find the matrix",
    """Your matrix is right for position 0. Try it at position 1: it has to be the same matrix for
    every position.""",
)
def from_one_position(offset, d_model):
    start, end = encoding_at([0, offset], d_model)
    return np.outer(end, start) / (start @ start)


@wrong(
    "each number has its own factor",
    """One factor per number can be right for one position only. Which two numbers does the new sine
    depend on?""",
)
def as_ratios(offset, d_model):
    start, end = encoding_at([1, 1 + offset], d_model)
    return np.diag(end / start)


wrong(
    "a fit to the first positions finds the matrix",
    """Over a few dozen positions the slowest pairs hardly turn, so a fit cannot tell their columns
    apart. Can you write the matrix down without a fit, or give the fit positions that are far
    apart?""",
)(fitted_to(range(64)))


wrong(
    "an identity of integers can hold it",
    "Your matrix holds only whole numbers. Which dtype does the array have that you write into?",
    then=lambda matrix: matrix.astype(np.int64),
)


@right
def by_kron(offset, d_model):
    turns = np.exp(1j * offset * rates_of(d_model))
    return np.kron(np.diag(turns.real), np.eye(2)) + np.kron(np.diag(turns.imag), [[0, 1], [-1, 0]])


@right
def by_steps(offset, d_model):
    one_step = offset_with()(1, d_model)
    return np.linalg.matrix_power(one_step if offset >= 0 else one_step.T, abs(offset))


@right
def by_torch(offset, d_model):
    import torch

    angles = torch.from_numpy(offset * rates_of(d_model))
    blocks = (torch.tensor(right_block(angle.cos(), angle.sin())) for angle in angles)
    return torch.block_diag(*blocks).numpy()


right(fitted_to(range(0, 60_000, 37)))
