"""Checks of `ch02_positional_encoding`.

The contract leaves open, and so nothing here asks: an empty sequence, negative positions in
`apply_rotary`, an odd `d_model` in `offset_matrix`, float16 queries. Numbers are compared to 1e-8
in float64: a least-squares fit is a right `offset_matrix` only if its positions are spread widely
enough for the slowest pair to be seen turning.
"""

import cmath
import math

import numpy as np

from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import arguments_after
from solutions import ch02_positional_encoding as reference

KEEPS_LENGTHS = ("keeps_lengths", {})


def even(rng, low, high):
    """Draw an even number, `low` and `high` included."""
    return 2 * int(rng.integers(low // 2, high // 2 + 1))


def odd(rng, low, high):
    """Draw an odd number, `low` and `high` included."""
    return even(rng, low - 1, high - 1) + 1


def rates_of(width, base=10000.0):
    """Return how far each pair turns at one position, in radians."""
    return base ** (-np.arange(0, width, 2) / width)


def interleaved(first, second):
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


# --- sinusoidal_encoding
# ---------------------------------------------------------------------------------------------


def positions_and_columns(positions, columns):
    """Draw a number of positions and an even number of columns, each from a range."""

    def inputs(rng):
        return {"seq_len": int(rng.integers(*positions)), "d_model": even(rng, *columns)}

    return inputs


def odd_columns(low, high):
    return lambda rng: {"seq_len": int(rng.integers(2, 40)), "d_model": odd(rng, low, high)}


def require_even(width):
    if width % 2:
        raise ValueError("the width must be even")


def encoding_with(
    rates=rates_of, start=0, layout=interleaved, first=np.sin, second=np.cos, dtype=np.float64
):
    """Make a `sinusoidal_encoding` from rules for the rates, the first position, the columns and
    the functions.
    """

    def sinusoidal_encoding(seq_len, d_model):
        require_even(d_model)
        positions = np.arange(start, seq_len + start).astype(dtype)
        angles = positions[:, np.newaxis] * rates(d_model)
        return layout(first(angles), second(angles))

    return sinusoidal_encoding


def doubled_exponent(width):
    return 10000.0 ** (-2 * np.arange(0, width, 2) / width)


def stretched_to_the_end(width):
    return 10000.0 ** (-np.arange(width // 2) / max(width // 2 - 1, 1))


def divided_by_the_pairs_twice(width):
    return 10000.0 ** (-np.arange(width // 2) / width)


def in_halves(first, second):
    return np.concatenate([first, second], axis=-1)


def encoding_with_an_angle_for_each_column(seq_len, d_model):
    require_even(d_model)
    columns = np.arange(d_model)
    angles = np.arange(seq_len)[:, np.newaxis] / 10000.0 ** (columns / d_model)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


def encoding_by_parity_of_the_position(seq_len, d_model):
    require_even(d_model)
    positions = np.arange(seq_len)[:, np.newaxis]
    angles = positions * np.repeat(rates_of(d_model), 2)
    return np.where(positions % 2 == 0, np.sin(angles), np.cos(angles))


def encoding_of_any_width(seq_len, d_model):
    angles = np.arange(seq_len)[:, np.newaxis] * rates_of(d_model)
    return interleaved(np.sin(angles), np.cos(angles))[:, :d_model]


def encoding_in_float32(seq_len, d_model):
    return reference.sinusoidal_encoding(seq_len, d_model).astype(np.float32)


def encoding_computed_in_float32(seq_len, d_model):
    require_even(d_model)
    angles = np.arange(seq_len, dtype=np.float32)[:, np.newaxis] * rates_of(d_model).astype(
        np.float32
    )
    return interleaved(np.sin(angles), np.cos(angles)).astype(np.float64)


def encoding_by_loops(seq_len, d_model):
    if d_model % 2 == 1:
        raise ValueError
    encoding = np.zeros((seq_len, d_model))
    for position in range(seq_len):
        for pair in range(d_model // 2):
            angle = position / 10000 ** (2 * pair / d_model)
            encoding[position, 2 * pair] = math.sin(angle)
            encoding[position, 2 * pair + 1] = math.cos(angle)
    return encoding


def encoding_by_logarithm(seq_len, d_model):
    require_even(d_model)
    encoding = np.empty((seq_len, d_model))
    rates = np.exp(np.arange(0, d_model, 2) * (-math.log(10000) / d_model))
    encoding[:, ::2] = np.sin(np.outer(np.arange(seq_len), rates))
    encoding[:, 1::2] = np.cos(np.outer(np.arange(seq_len), rates))
    return encoding


def encoding_by_complex_numbers(seq_len, d_model):
    require_even(d_model)
    turns = np.exp(1j * np.arange(seq_len)[:, None] * rates_of(d_model)[None])
    return np.dstack([turns.imag, turns.real]).reshape(seq_len, d_model)


def encoding_by_sines_alone(seq_len, d_model):
    require_even(d_model)
    columns = np.arange(d_model)
    angles = np.arange(seq_len)[:, None] / np.power(10000.0, (columns - columns % 2) / d_model)
    return np.sin(angles + math.pi / 2 * (columns % 2))


def encoding_by_torch(seq_len, d_model):
    import torch

    require_even(d_model)
    angles = torch.arange(seq_len, dtype=torch.float64)[:, None] / 10000 ** (
        torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    )
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).numpy()


ENCODING = Exercise(
    reference=reference.sinusoidal_encoding,
    cases=(
        Case(
            "two columns are the sine and the cosine of the position",
            positions_and_columns((3, 12), (2, 2)),
        ),
        Case("a few positions, a few pairs", positions_and_columns((3, 9), (4, 8)), weight=2),
        Case(
            "position 0 is 0, 1, 0, 1 and so on",
            lambda rng: {"seq_len": 1, "d_model": even(rng, 4, 30)},
        ),
        Case(
            "many pairs, each slower than the one before", positions_and_columns((3, 6), (10, 18))
        ),
        Case("an odd d_model is refused", odd_columns(3, 21)),
        Case(
            "as many positions as columns",
            lambda rng: dict.fromkeys(("seq_len", "d_model"), even(rng, 4, 10)),
        ),
        Case(
            "thousands of positions, each exact",
            positions_and_columns((2300, 2600), (4, 6)),
            visible=False,
            weight=2,
        ),
        Case(
            "the width of a real model", positions_and_columns((10, 20), (256, 512)), visible=False
        ),
        Case(
            "a few more positions and pairs", positions_and_columns((8, 30), (4, 20)), visible=False
        ),
        Case(
            "a single column is refused",
            lambda rng: {"seq_len": int(rng.integers(1, 99)), "d_model": 1},
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the sines come first, then the cosines",
            encoding_with(layout=in_halves),
            "Your sines fill the first half of the row and your cosines the second. Which columns"
            " does the formula give to pair 0?",
        ),
        Misconception(
            "i is the number of the column",
            encoding_with(rates=doubled_exponent),
            "The first pair is right, and the others turn too slowly. In the exponent stands 2i:"
            " does your i count pairs, or is it the number of a column already?",
        ),
        Misconception(
            "every column has an angle of its own",
            encoding_with_an_angle_for_each_column,
            "Sine and cosine of a pair should share one angle. How many different exponents has"
            " your row, and how many pairs are there?",
        ),
        Misconception(
            "even and odd are positions",
            encoding_by_parity_of_the_position,
            "Your rows take turns between sine and cosine. What do even and odd count in the"
            " formula: positions or columns?",
        ),
        Misconception(
            "cosine comes first",
            encoding_with(first=np.cos, second=np.sin),
            "What are the sine and the cosine of 0, and which of the two stands in column 0 of your"
            " first row?",
        ),
        Misconception(
            "the base is 1000",
            encoding_with(rates=lambda width: rates_of(width, 1000.0)),
            "The first pair is right, and the others turn too fast. Count the zeros of the base.",
        ),
        Misconception(
            "the slowest rate is 1/10000 exactly",
            encoding_with(rates=stretched_to_the_end),
            "The first pair is right, and your last one turns by exactly 1/10000 radian a position."
            " By what does the formula divide in the exponent, and by what do you?",
        ),
        Misconception(
            "the exponent runs from 0 to one half",
            encoding_with(rates=divided_by_the_pairs_twice),
            "The first pair is right, and your slowest one turns by about 1/100 radian a position."
            " How large does the exponent of the last pair become in the formula?",
        ),
        Misconception(
            "the rate multiplies the position the other way up",
            encoding_with(rates=lambda width: 1 / rates_of(width)),
            "Your later pairs turn faster and faster. On which side of the fraction does the power"
            " of 10000 stand?",
        ),
        Misconception(
            "positions count from 1",
            encoding_with(start=1),
            "Your rows are right, one place too early. What is the angle at the first position?",
        ),
        Misconception(
            "half precision is enough for a position",
            encoding_with(dtype=np.float16),
            "The first two thousand positions are right, and then neighbours become the same. Which"
            " whole numbers does the dtype of your positions have?",
        ),
        Misconception(
            "single precision is enough for an angle",
            encoding_computed_in_float32,
            "The numbers have only about seven correct digits, although their dtype could hold"
            " more. In which dtype were the angles made?",
        ),
        Misconception(
            "the result may be float32",
            encoding_in_float32,
            "The numbers are right as far as they go; compare their dtype with the one that the"
            " docstring names.",
        ),
        Misconception(
            "an odd width just loses its last cosine",
            encoding_of_any_width,
            "What should happen when the last sine has no cosine beside it?",
        ),
    ),
    alternatives=(
        encoding_by_loops,
        encoding_by_logarithm,
        encoding_by_complex_numbers,
        encoding_by_sines_alone,
        encoding_by_torch,
    ),
    shortcuts=("PositionalEncoding", "PositionalEncoding1D", "SinusoidalPositionalEmbedding"),
)

# --- offset_matrix
# ---------------------------------------------------------------------------------------------------


def an_offset(low, high, columns, sign=1):
    return lambda rng: {
        "offset": sign * int(rng.integers(low, high)),
        "d_model": even(rng, *columns),
    }


def blocks_of(angles, block):
    """Put a 2 × 2 block for each angle on the diagonal."""
    matrix = np.zeros((2 * len(angles), 2 * len(angles)))
    for pair, angle in enumerate(angles):
        matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = block(angle)
    return matrix


def right_block(angle):
    return [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]


def turning(angle):
    return [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]


def mirroring(angle):
    return [[math.cos(angle), math.sin(angle)], [math.sin(angle), math.cos(angle)]]


def swapping(angle):
    return [[math.sin(angle), math.cos(angle)], [math.cos(angle), -math.sin(angle)]]


def offset_with(block=right_block, rates=rates_of):
    return lambda offset, d_model: blocks_of(offset * rates(d_model), block)


def offset_forward_only(offset, d_model):
    if offset < 0:
        raise ValueError("offset must not be negative")
    return reference.offset_matrix(offset, d_model)


def offset_without_sign(offset, d_model):
    return reference.offset_matrix(abs(offset), d_model)


def offset_in_halves(offset, d_model):
    angles = offset * rates_of(d_model)
    cosines, sines = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[cosines, sines], [-sines, cosines]])


def offset_of_whole_numbers(offset, d_model):
    matrix = np.eye(d_model, dtype=np.int64)
    matrix[:] = reference.offset_matrix(offset, d_model)
    return matrix


def offset_as_a_shift(offset, d_model):
    return np.eye(d_model, k=offset)


def encoding_at(positions, d_model):
    angles = np.asarray(positions)[:, np.newaxis] * rates_of(d_model)
    return interleaved(np.sin(angles), np.cos(angles))


def offset_from_one_position(offset, d_model):
    start, end = encoding_at([0, offset], d_model)
    return np.outer(end, start) / (start @ start)


def offset_as_ratios(offset, d_model):
    start, end = encoding_at([1, 1 + offset], d_model)
    return np.diag(end / start)


def offset_fitted_to(positions):
    def offset_matrix(offset, d_model):
        start, end = (encoding_at(np.asarray(positions) + shift, d_model) for shift in (0, offset))
        return np.linalg.lstsq(start, end, rcond=None)[0].T

    return offset_matrix


def offset_fitted_to_far_positions(offset, d_model):
    return offset_fitted_to(range(0, 60_000, 37))(offset, d_model)


def offset_by_kron(offset, d_model):
    cosines = np.cos(offset * rates_of(d_model))
    sines = np.sin(offset * rates_of(d_model))
    return np.kron(np.diag(cosines), np.eye(2)) + np.kron(np.diag(sines), [[0, 1], [-1, 0]])


def offset_by_steps(offset, d_model):
    one_step = offset_with()(1, d_model)
    return np.linalg.matrix_power(one_step if offset >= 0 else one_step.T, abs(offset))


def offset_by_complex_numbers(offset, d_model):
    matrix = np.zeros((d_model, d_model))
    for pair, rate in enumerate(rates_of(d_model).tolist()):
        turn = cmath.rect(1, offset * rate)
        matrix[2 * pair, 2 * pair] = matrix[2 * pair + 1, 2 * pair + 1] = turn.real
        matrix[2 * pair, 2 * pair + 1], matrix[2 * pair + 1, 2 * pair] = turn.imag, -turn.imag
    return matrix


def offset_by_torch(offset, d_model):
    import torch

    angles = offset / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.block_diag(
        *(torch.tensor(right_block(float(angle)), dtype=torch.float64) for angle in angles)
    ).numpy()


OFFSET = Exercise(
    reference=reference.offset_matrix,
    cases=(
        Case("one pair, a few positions on", an_offset(1, 12, (2, 2)), weight=2),
        Case("each pair turns at its own rate", an_offset(2, 12, (4, 8))),
        Case("a negative offset leads back", an_offset(1, 12, (4, 8), sign=-1)),
        Case(
            "an offset of 0 changes nothing", lambda rng: {"offset": 0, "d_model": even(rng, 4, 30)}
        ),
        Case("many pairs", an_offset(2, 40, (16, 16))),
        Case("a far offset", an_offset(100, 900, (4, 12)), visible=False, weight=2),
        Case("a far offset, back", an_offset(100, 900, (4, 12), sign=-1), visible=False),
        Case(
            "one step, one pair, back",
            lambda rng: {"offset": -1, "d_model": even(rng, 2, 6)},
            visible=False,
        ),
        Case("many pairs, far", an_offset(20, 90, (18, 24)), visible=False),
    ),
    misconceptions=(
        Misconception(
            "the usual rotation matrix will do",
            offset_with(turning),
            "Multiply your matrix with the encoding of position 0: does it lead on or back? In an"
            " encoding the sine stands above the cosine.",
        ),
        Misconception(
            "both sines have the same sign",
            offset_with(mirroring),
            "Compare the two addition formulas: in one of them a term is subtracted. And how long"
            " does a vector become under your matrix?",
        ),
        Misconception(
            "the diagonal holds the sines",
            offset_with(swapping),
            "With an offset of 0 nothing should move. What does your matrix do then?",
        ),
        Misconception(
            "an offset counts forward",
            offset_forward_only,
            "Nothing in the addition formulas needs the offset to be positive. Where do you"
            " refuse it?",
        ),
        Misconception(
            "only the size of the offset matters",
            offset_without_sign,
            "Forward and back should be different turns. What becomes of the sign of the offset?",
        ),
        Misconception(
            "sines and cosines stand in halves",
            offset_in_halves,
            "The right numbers, in the wrong rows and columns: where do the sine and the cosine of"
            " one pair stand in an encoding?",
        ),
        Misconception(
            "all pairs turn at one rate",
            offset_with(rates=lambda width: np.ones(width // 2)),
            "Your blocks are all alike. By which angle does the second pair turn at one position?",
        ),
        Misconception(
            "i is the number of the column",
            offset_with(rates=doubled_exponent),
            "The first block is right, and the others turn too little. In the exponent stands 2i:"
            " what does i count?",
        ),
        Misconception(
            "the base is 1000",
            offset_with(rates=lambda width: rates_of(width, 1000.0)),
            "The first block is right, and the others turn too far. Count the zeros of the base.",
        ),
        Misconception(
            "moving on shifts the columns",
            offset_as_a_shift,
            "A matrix with a shifted diagonal moves numbers from one column to another. What"
            " happens to the two numbers of a pair when the position grows?",
        ),
        Misconception(
            "one position is enough to find the matrix",
            offset_from_one_position,
            "Your matrix is right for position 0. Try it at position 1: it has to be the same"
            " matrix for every position.",
        ),
        Misconception(
            "each number has its own factor",
            offset_as_ratios,
            "A factor for each number fits one position only. Which two numbers does the new sine"
            " depend on?",
        ),
        Misconception(
            "a fit to the first positions finds the matrix",
            offset_fitted_to(range(64)),
            "Over a few dozen positions the slowest pairs hardly turn, so that a fit cannot tell"
            " their columns apart. Can you write the matrix down without a fit, or give it"
            " positions far apart?",
        ),
        Misconception(
            "an identity of integers can hold it",
            offset_of_whole_numbers,
            "Your matrix holds whole numbers only. Which dtype had the array that you wrote into?",
        ),
    ),
    alternatives=(
        offset_by_kron,
        offset_by_steps,
        offset_by_complex_numbers,
        offset_by_torch,
        offset_fitted_to_far_positions,
    ),
)

# --- apply_rotary
# ----------------------------------------------------------------------------------------------------


def sizeable(rng, *shape, dtype=np.float64):
    """Draw numbers with one decimal between 0.5 and 2 in size: none so small that its turn could go
    unseen.
    """
    return (rng.integers(5, 21, size=shape) / 10 * rng.choice([-1, 1], size=shape)).astype(dtype)


def out_of_order(rng, count, low=1, high=12):
    """Draw different positions of which at least one falls, so that counting rows gives others."""
    positions = np.sort(rng.choice(np.arange(low, high), size=count, replace=False))
    return np.roll(positions, int(rng.integers(1, count))) if count > 1 else positions


def rows(*batch, seq_len, columns, dtype=np.float64, low=1, high=12):
    def inputs(rng):
        x = sizeable(rng, *batch, seq_len, even(rng, *columns), dtype=dtype)
        return {"x": x, "positions": out_of_order(rng, seq_len, low, high)}

    return inputs


def first_and_later(rng):
    return {"x": sizeable(rng, 2, 2), "positions": np.array([0, rng.integers(1, 9)])}


def the_same_row_twice(rng):
    near, far = sorted(rng.choice(np.arange(2, 12), size=2, replace=False).tolist())
    return {"x": np.tile(sizeable(rng, 1, 4), (3, 1)), "positions": np.array([far, near, far])}


def beyond_two_thousand(*batch, seq_len, columns):
    def inputs(rng):
        positions = 2 * out_of_order(rng, seq_len, 1030, 2000) + 1
        return {"x": sizeable(rng, *batch, seq_len, columns), "positions": positions}

    return inputs


def odd_features(low, high):
    return lambda rng: {
        "x": sizeable(rng, 2, odd(rng, low, high)),
        "positions": out_of_order(rng, 2),
    }


def angles_of(positions, head_dim, rates=rates_of):
    return positions[:, np.newaxis] * rates(head_dim)


def turned(first, second, angles):
    cosines, sines = np.cos(angles), np.sin(angles)
    return first * cosines - second * sines, first * sines + second * cosines


def rotary_with(angles=angles_of, turn=turned):
    """Make an `apply_rotary` from rules for the angles and for how a pair turns by them."""

    def apply_rotary(x, positions):
        require_even(x.shape[-1])
        pair = turn(x[..., ::2], x[..., 1::2], angles(positions, x.shape[-1]))
        return interleaved(*pair).astype(x.dtype)

    return apply_rotary


def backwards(first, second, angles):
    return turned(first, second, -angles)


def one_after_the_other(first, second, angles):
    first = first * np.cos(angles) - second * np.sin(angles)
    return first, first * np.sin(angles) + second * np.cos(angles)


def mirrored(first, second, angles):
    return first * np.cos(angles) + second * np.sin(angles), first * np.sin(
        angles
    ) + second * np.cos(angles)


def scaled_only(first, second, angles):
    return first * np.cos(angles), second * np.cos(angles)


def counting_rows(positions, head_dim):
    return angles_of(np.arange(len(positions)), head_dim)


def counting_from_one(positions, head_dim):
    return angles_of(positions + 1, head_dim)


def in_half_precision(positions, head_dim):
    return angles_of(positions.astype(np.float16), head_dim)


def rotary_of_halves(x, positions):
    require_even(x.shape[-1])
    half = x.shape[-1] // 2
    pair = turned(x[..., :half], x[..., half:], angles_of(positions, x.shape[-1]))
    return np.concatenate(pair, axis=-1).astype(x.dtype)


def rotary_of_neighbours_into_halves(x, positions):
    require_even(x.shape[-1])
    pair = turned(x[..., ::2], x[..., 1::2], angles_of(positions, x.shape[-1]))
    return np.concatenate(pair, axis=-1).astype(x.dtype)


def rotary_into_its_input(x, positions):
    x[...] = reference.apply_rotary(x, positions)
    return x


def rotary_in_float64(x, positions):
    return reference.apply_rotary(x.astype(np.float64), positions)


def rotary_of_any_width(x, positions):
    width = x.shape[-1]
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width % 2)])
    first, second = turned(padded[..., ::2], padded[..., 1::2], angles_of(positions, width))
    return interleaved(first, second)[..., :width].astype(x.dtype)


def rotary_by_adding(x, positions):
    require_even(x.shape[-1])
    return (x + encoding_at(positions, x.shape[-1])).astype(x.dtype)


def rotary_along_the_axis_before(x, positions):
    require_even(x.shape[-1])
    angles = angles_of(positions, x.shape[-1])
    if x.ndim > 2:
        angles = angles[:, np.newaxis]
    return interleaved(*turned(x[..., ::2], x[..., 1::2], angles)).astype(x.dtype)


def rotary_by_complex_numbers(x, positions):
    require_even(x.shape[-1])
    points = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles_of(positions, x.shape[-1]))
    rotated = np.empty_like(x)
    rotated[..., ::2], rotated[..., 1::2] = points.real, points.imag
    return rotated


def rotary_by_matrices(x, positions):
    require_even(x.shape[-1])
    rotated = np.empty_like(x)
    for row, position in enumerate(positions.tolist()):
        rotated[..., row, :] = x[..., row, :] @ reference.offset_matrix(position, x.shape[-1])
    return rotated


def rotary_by_table(x, positions):
    table = reference.sinusoidal_encoding(int(positions.max()) + 1, x.shape[-1])[positions]
    sines, cosines = (np.repeat(table[:, start::2], 2, axis=-1).astype(x.dtype) for start in (0, 1))
    neighbours = np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    return x * cosines + neighbours * sines


def rotary_in_the_dtype_of_x(x, positions):
    require_even(x.shape[-1])
    angles = positions.astype(x.dtype)[:, None] * rates_of(x.shape[-1]).astype(x.dtype)
    return interleaved(*turned(x[..., ::2], x[..., 1::2], angles))


def rotary_by_loops(x, positions):
    if x.shape[-1] % 2:
        raise ValueError(f"{x.shape[-1]} features")
    rotated = x.copy()
    for *where, row, pair in np.ndindex(*x.shape[:-1], x.shape[-1] // 2):
        angle = int(positions[row]) / 10000 ** (2 * pair / x.shape[-1])
        first, second = (float(x[(*where, row, 2 * pair + side)]) for side in (0, 1))
        rotated[(*where, row, 2 * pair)] = first * math.cos(angle) - second * math.sin(angle)
        rotated[(*where, row, 2 * pair + 1)] = first * math.sin(angle) + second * math.cos(angle)
    return rotated


ROTARY = Exercise(
    reference=reference.apply_rotary,
    cases=(
        Case(
            "one row, one pair",
            rows(seq_len=1, columns=(2, 2)),
            properties=(KEEPS_LENGTHS,),
            weight=2,
        ),
        Case("position 0 stays, a later one turns", first_and_later, properties=(KEEPS_LENGTHS,)),
        Case(
            "each pair turns at its own rate",
            rows(seq_len=1, columns=(4, 6)),
            properties=(KEEPS_LENGTHS,),
        ),
        Case(
            "positions need not be in order",
            rows(seq_len=3, columns=(2, 4)),
            properties=(KEEPS_LENGTHS,),
        ),
        Case(
            "the same row at the same position turns alike",
            the_same_row_twice,
            properties=(KEEPS_LENGTHS,),
        ),
        Case(
            "heads are carried along",
            rows(2, seq_len=3, columns=(4, 4)),
            properties=(KEEPS_LENGTHS,),
        ),
        Case("float32 in, float32 out", rows(seq_len=2, columns=(4, 4), dtype=np.float32, high=6)),
        Case(
            "x and positions stay as they were",
            rows(seq_len=2, columns=(4, 6)),
            probe=arguments_after,
        ),
        Case(
            "positions beyond two thousand",
            beyond_two_thousand(seq_len=2, columns=2),
            properties=(KEEPS_LENGTHS,),
        ),
        Case("an odd head_dim is refused", odd_features(3, 9)),
        Case(
            "batch and heads",
            rows(2, 3, seq_len=4, columns=(6, 10)),
            properties=(KEEPS_LENGTHS,),
            visible=False,
            weight=2,
        ),
        Case(
            "as many heads as rows",
            rows(3, seq_len=3, columns=(4, 6)),
            properties=(KEEPS_LENGTHS,),
            visible=False,
        ),
        Case(
            "a single row far on", rows(seq_len=1, columns=(8, 16), low=40, high=900), visible=False
        ),
        Case("the width of a real head", rows(seq_len=5, columns=(64, 64), high=90), visible=False),
        Case(
            "batch and heads in float32",
            rows(2, 2, seq_len=3, columns=(4, 8), dtype=np.float32, high=6),
            visible=False,
        ),
        Case(
            "heads far beyond two thousand",
            beyond_two_thousand(2, seq_len=3, columns=6),
            visible=False,
        ),
        Case("a single feature is refused", odd_features(1, 1), visible=False),
        Case(
            "a batch stays as it was",
            rows(2, seq_len=3, columns=(4, 6)),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the first half turns with the second",
            rotary_of_halves,
            "Which two features turn together in your function? The formula pairs neighbours.",
        ),
        Misconception(
            "the turned pairs may be left in halves",
            rotary_of_neighbours_into_halves,
            "The numbers are right but have moved: where should the two new numbers of a pair"
            " stand?",
        ),
        Misconception(
            "rows stand at 0, 1, 2 and so on",
            rotary_with(counting_rows),
            "Your angles come from the number of the row. Which argument says where a row really"
            " stands?",
        ),
        Misconception(
            "positions count from 1",
            rotary_with(counting_from_one),
            "Each row has turned one position too far. By how much does the row at position 0"
            " turn?",
        ),
        Misconception(
            "the caller's x is free to be turned",
            rotary_into_its_input,
            "The numbers are right, but compare x before and after the call. Does a slice of x"
            " share its memory?",
        ),
        Misconception(
            "the sign of the sine does not matter",
            rotary_with(turn=backwards),
            "The angles are right, and the direction is not. Into which quarter of the plane does"
            " (1, 0) move first?",
        ),
        Misconception(
            "the first number can be replaced before the second is made",
            rotary_with(turn=one_after_the_other),
            "The second number of each pair was made from a first one that had already been"
            " replaced. Which of the two first numbers does the formula mean?",
        ),
        Misconception(
            "both terms are added",
            rotary_with(turn=mirrored),
            "A turn keeps the length of a pair, and yours does not. Compare the signs in the two"
            " lines of the formula.",
        ),
        Misconception(
            "the cosine is enough",
            rotary_with(turn=scaled_only),
            "Each of your new numbers depends on one old number only. What does the other one of"
            " the pair contribute?",
        ),
        Misconception(
            "all pairs turn at one rate",
            rotary_with(
                lambda positions, head_dim: angles_of(
                    positions, head_dim, lambda width: np.ones(width // 2)
                )
            ),
            "All your pairs turn by the same angle. By which angle does the second pair turn at one"
            " position?",
        ),
        Misconception(
            "i is the number of the column",
            rotary_with(
                lambda positions, head_dim: angles_of(positions, head_dim, doubled_exponent)
            ),
            "The first pair is right, and the others turn too slowly. In the exponent stands 2i:"
            " what does i count?",
        ),
        Misconception(
            "the base is 1000",
            rotary_with(
                lambda positions, head_dim: angles_of(
                    positions, head_dim, lambda width: rates_of(width, 1000.0)
                )
            ),
            "The first pair is right, and the others turn too fast. Count the zeros of the base.",
        ),
        Misconception(
            "the result is float64 whatever comes in",
            rotary_in_float64,
            "Somewhere a float64 enters. What is the dtype of the cosine of an array of integers?",
        ),
        Misconception(
            "half precision is enough for a position",
            rotary_with(in_half_precision),
            "Small positions are right, and large ones are not. Which whole numbers does the dtype"
            " of your positions have?",
        ),
        Misconception(
            "rotary positions are added too",
            rotary_by_adding,
            "You add something to x, and its length changes. What should happen to a row, if"
            " nothing is added to it?",
        ),
        Misconception(
            "positions belong to the axis in front of the rows",
            rotary_along_the_axis_before,
            "Without heads all is well. Along which axis of x do the positions run, once there are"
            " axes in front?",
        ),
        Misconception(
            "an odd width leaves a feature over",
            rotary_of_any_width,
            "What should happen when the last feature has no neighbour to turn with?",
        ),
    ),
    alternatives=(
        rotary_by_complex_numbers,
        rotary_by_matrices,
        rotary_by_table,
        rotary_in_the_dtype_of_x,
        rotary_by_loops,
    ),
    shortcuts=(
        "RotaryEmbedding",
        "RotaryPositionalEmbeddings",
        "apply_rotary_emb",
        "apply_rotary_pos_emb",
    ),
)

EXERCISES = (ENCODING, OFFSET, ROTARY)
