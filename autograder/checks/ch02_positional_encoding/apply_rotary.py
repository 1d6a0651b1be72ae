"""Queries and keys, turned by their positions."""

from functools import partial

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import draw, drawn, sizeable
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
from autograder.shared.laws import keeps_lengths
from autograder.shared.probes import arguments_after
from solutions import ch02_positional_encoding as reference

queries = partial(sizeable, tenths=(5, 21))


def out_of_order(rng, count, low=1, high=12):
    """Draw different positions of which at least one falls, so that counting rows gives others."""
    positions = np.sort(rng.choice(range(low, high), size=count, replace=False))
    return np.roll(positions, rng.integers(1, max(count, 2)))


@drawn
def rows(rng, *shape, dtype=np.float64, low=1, high=12):
    return {
        "x": queries(rng, *draw(shape, rng), dtype=dtype),
        "positions": out_of_order(rng, shape[-2], low, high),
    }


def first_and_later(rng):
    return {"x": queries(rng, 2, 2), "positions": np.array([0, rng.integers(1, 9)])}


def the_same_row_twice(rng):
    near, far = sorted(rng.choice(range(2, 12), size=2, replace=False))
    return {"x": queries(rng, 1, 4).repeat(3, axis=0), "positions": np.array([far, near, far])}


@drawn
def beyond_two_thousand(rng, *shape):
    positions = 2 * out_of_order(rng, shape[-2], 1030, 2000) + 1
    return {"x": queries(rng, *shape), "positions": positions}


def neighbours(x):
    return x[..., ::2], x[..., 1::2]


def turned(first, second, cosines, sines):
    return first * cosines - second * sines, first * sines + second * cosines


def rotary_with(turn=turned, pairs=neighbours, rates=rates_of, layout=interleaved):
    """Make an `apply_rotary` from rules for how pairs turn, for what makes them, for their rates,
    and for where they go.
    """

    def apply_rotary(x, positions):
        require_even(x.shape[-1])
        angles = angles_of(positions, x.shape[-1], rates)
        return layout(*turn(*pairs(x), np.cos(angles), np.sin(angles))).astype(x.dtype)

    return apply_rotary


checks = Checks(
    reference.apply_rotary,
    laws=(keeps_lengths,),
    shortcuts="RotaryEmbedding RotaryPositionalEmbeddings apply_rotary_emb apply_rotary_pos_emb",
    family=rotary_with,
)
shown, hidden, wrong, right = checks.words

shown("one row, one pair", rows(1, 2), weight=2)
shown("position 0 stays, a later one turns", first_and_later)
shown("each pair turns at its own rate", rows(1, even(4, 6)), weight=4)
shown("positions need not be in order", rows(3, even(2, 4)), weight=2)
shown("the same row at the same position turns alike", the_same_row_twice)
shown("heads are carried along", rows(2, 3, 4), weight=2)
shown("float32 in, float32 out", rows(2, 4, dtype=np.float32, high=6))
shown("x and positions stay as they were", rows(2, even(4, 6)), probe=arguments_after)
shown("positions beyond two thousand", beyond_two_thousand(2, 2))
shown("an odd head_dim is refused", rows(2, odd(3, 9)))
hidden("batch and heads", rows(2, 3, 4, even(6, 10)), weight=3)
hidden("as many heads as rows", rows(3, 3, even(4, 6)), weight=2)
hidden("the width of a real head", rows(5, 64, high=16), weight=4)
hidden("batch and heads in float32", rows(2, 2, 3, even(4, 8), dtype=np.float32, high=6))
hidden("heads far beyond two thousand", beyond_two_thousand(2, 3, 6))
hidden("a single feature is refused", rows(2, 1))
hidden("a batch stays as it was", rows(2, 3, even(4, 6)), probe=arguments_after)


wrong(
    "the first half turns with the second",
    "Which two features turn together in your function? The formula pairs neighbours.",
    pairs=lambda x: np.split(x, 2, axis=-1),
    layout=in_halves,
)


wrong(
    "the turned pairs may be left in halves",
    "The numbers are right but have moved: where should the two new numbers of a pair stand?",
    layout=in_halves,
)


wrong(
    "rows stand at 0, 1, 2 and so on",
    """Your angles come from the number of the row. Which argument says where a row really
    stands?""",
    positions=lambda positions: np.arange(len(positions)),
)


wrong(
    "positions count from 1",
    "Each row has turned one position too far. By how much does the row at position 0 turn?",
    positions=lambda positions: positions + 1,
)


checks.usual(
    "into an argument",
    belief="the caller's x is free to be turned",
    hint="""The numbers are right, but compare x before and after the call. Does a slice of x share
    its memory?""",
)


wrong(
    "the sign of the sine does not matter",
    """The angles are right, and the direction is not. Into which quarter of the plane does (1, 0)
    move first?""",
    turn=lambda first, second, cosines, sines: turned(first, second, cosines, -sines),
)


@wrong(
    "the first number can be replaced before the second is made",
    """The second number of each pair was made from a first one that had already been replaced.
    Which of the two first numbers does the formula mean?""",
    rule="turn",
)
def one_after_the_other(first, second, cosines, sines):
    first = first * cosines - second * sines
    return first, first * sines + second * cosines


@wrong(
    "both terms are added",
    """A turn keeps the length of a pair, and yours does not. Compare the signs in the two lines of
    the formula.""",
    rule="turn",
)
def mirrored(first, second, cosines, sines):
    return first * cosines + second * sines, first * sines + second * cosines


wrong(
    "the cosine is enough",
    """Each of your new numbers depends on one old number only. What does the other one of the pair
    contribute?""",
    turn=lambda first, second, cosines, sines: (first * cosines, second * cosines),
)


wrong(
    "all pairs turn at one rate",
    """All your pairs turn by the same angle. By which angle does the second pair turn at one
    position?""",
    rates=one_rate,
)


wrong(
    "i is the number of the column",
    """The first pair is right, and the others turn too slowly. In the exponent stands 2i: what does
    i count?""",
    rates=doubled_exponent,
)


wrong(
    "the base is 1000",
    "The first pair is right, and the others turn too fast. Count the zeros of the base.",
    rates=base_1000,
)


checks.usual(
    "in float64",
    hint="Somewhere a float64 enters. What is the dtype of the cosine of an array of integers?",
)


wrong(
    "half precision is enough for a position",
    """Small positions are right, and large ones are not. Which whole numbers does the dtype of your
    positions have?""",
    positions=lambda positions: positions.astype(np.float16),
)


@wrong(
    "rotary positions are added too",
    """You add something to x, and its length changes. What should happen to a row, if nothing is
    added to it?""",
)
def by_adding(x, positions):
    require_even(x.shape[-1])
    return (x + encoding_at(positions, x.shape[-1])).astype(x.dtype)


@wrong(
    "positions belong to the axis in front of the rows",
    """Without heads all is well. Along which axis of x do the positions run, once there are axes in
    front?""",
    rule="turn",
)
def along_the_axis_before(first, second, *angles):
    cosines, sines = (each[:, np.newaxis] if first.ndim > 2 else each for each in angles)
    return turned(first, second, cosines, sines)


@wrong(
    "an odd width leaves a feature over",
    "What should happen when the last feature has no neighbour to turn with?",
)
def of_any_width(x, positions):
    even_width = x.shape[-1] // 2 * 2
    pairs = reference.apply_rotary(x[..., :even_width], positions)
    return np.concatenate([pairs, x[..., even_width:]], axis=-1)


@right
@rotary_with
def by_complex_numbers(first, second, cosines, sines):
    points = (first + 1j * second) * (cosines + 1j * sines)
    return points.real, points.imag


@right
def by_matrices(x, positions):
    require_even(x.shape[-1])
    matrices = [reference.offset_matrix(position, x.shape[-1]) for position in positions]
    return np.einsum("...ri,rij->...rj", x, matrices).astype(x.dtype)


@right
def by_table(x, positions):
    table = reference.sinusoidal_encoding(int(positions.max()) + 1, x.shape[-1])
    encoding = table[positions].astype(x.dtype)
    sines, cosines = (half.repeat(2, axis=-1) for half in neighbours(encoding))
    first, second = neighbours(x)
    return x * cosines + interleaved(-second, first) * sines


@right
def in_the_dtype_of_x(x, positions):
    require_even(x.shape[-1])
    angles = positions.astype(x.dtype)[:, None] * rates_of(x.shape[-1]).astype(x.dtype)
    return interleaved(*turned(*neighbours(x), np.cos(angles), np.sin(angles)))


@right
@rotary_with
def by_loops(first, second, cosines, sines):
    both = np.empty((2, *first.shape))
    for *where, row, pair in np.ndindex(first.shape):
        place = (*where, row, pair)
        both[:, *place] = turned(first[place], second[place], cosines[row, pair], sines[row, pair])
    return both
