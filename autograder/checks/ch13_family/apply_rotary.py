"""Queries and keys, turned by their positions."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import draw, drawn
from autograder.shared.laws import keeps_lengths
from autograder.shared.probes import (
    arguments_after,
    device_kept,
    gradients,
    products_of_rows,
    returned_for_views,
)
from solutions.ch13_family import apply_rotary


def sizeable(rng, *shape, dtype=torch.float32):
    """Draw numbers none of which is near 0."""
    sizes = torch.from_numpy(rng.integers(5, 21, shape)) / 10
    return (sizes * torch.from_numpy(rng.choice([-1, 1], shape))).to(dtype)


def out_of_order(rng, count, low=1, high=12):
    """Draw different positions of which at least one falls, so that counting rows gives others."""
    positions = np.sort(rng.choice(range(low, high), size=count, replace=False))
    return torch.from_numpy(np.roll(positions, rng.integers(1, max(count, 2))))


@drawn
def rows(rng, *shape, dtype=torch.float32, low=1, high=12):
    shape = draw(shape, rng)
    return {
        "x": sizeable(rng, *shape, dtype=dtype),
        "positions": out_of_order(rng, shape[-2], low, high),
    }


def first_and_later(rng):
    return {"x": sizeable(rng, 2, 2), "positions": torch.tensor([0, int(rng.integers(1, 9))])}


def the_same_row_twice(rng):
    near, far = sorted(rng.choice(range(2, 12), size=2, replace=False).tolist())
    return {
        "x": sizeable(rng, 1, 4).repeat(3, 1),
        "positions": torch.tensor([far, near, far]),
    }


@drawn
def counted_rows(rng, *shape):
    """Draw rows that stand at 0, 1, 2 and so on."""
    return {"x": sizeable(rng, *shape), "positions": torch.arange(shape[-2])}


@drawn
def rows_alike(rng, *shape):
    """Draw rows whose numbers differ in sign alone, each equal to the others, at positions that
    follow each other.
    """
    size = float(rng.integers(5, 21)) / 10
    row = size * torch.from_numpy(rng.choice([-1.0, 1.0], shape[-1])).float()
    start = int(rng.integers(2, 9))
    return {"x": row.repeat(*shape[:-1], 1), "positions": start + torch.arange(shape[-2])}


def clear_of_zero(rows):
    """Make another drawing of rows, which no right turn brings near 0: there, angles that float32
    rounds differently would show.
    """

    def drawing(rng):
        drawn_rows = rows(rng)
        x, positions = drawn_rows["x"], drawn_rows["positions"]
        return {"x": apply_rotary(x.double(), -positions).to(x.dtype), "positions": positions}

    return drawing


@drawn
def tiny(rng, *shape):
    """Draw float64 rows so small that what float32 makes of their angles is within the tolerance:
    the contract asks for no more.
    """
    return {
        "x": 4e-6 * sizeable(rng, *shape, dtype=torch.float64),
        "positions": out_of_order(rng, shape[-2], high=4),
    }


@drawn
def far_out(rng, *shape, dtype=torch.float32):
    """Draw rows at odd positions, which 16 bits cannot tell from even ones."""
    low, high = (1030, 2000) if dtype == torch.float16 else (130, 250)
    positions = 2 * out_of_order(rng, shape[-2], low, high) + 1
    return {"x": sizeable(rng, *shape, dtype=dtype), "positions": positions}


def rates_of(head_dim, dtype, device=None):
    pairs = torch.arange(0, head_dim, 2, dtype=dtype, device=device)
    return 10000 ** (-pairs / head_dim)


def neighbours(x):
    return x[..., 0::2], x[..., 1::2]


def interleaved(first, second):
    return torch.stack([first, second], dim=-1).flatten(-2)


def in_halves(first, second):
    return torch.cat([first, second], dim=-1)


def turned(first, second, cosines, sines):
    return first * cosines - second * sines, first * sines + second * cosines


def rotary_with(
    turn=turned,
    pairs=neighbours,
    rates=rates_of,
    layout=interleaved,
    angles=lambda positions, rates: positions.to(rates)[:, None] * rates,
    wide=lambda dtype: torch.promote_types(dtype, torch.float32),
):
    """Make an `apply_rotary` from rules for how pairs turn, what makes them, their rates, where
    they go, their angles, and the dtype in which all that is computed.
    """

    def apply_rotary(x, positions):
        if x.shape[-1] % 2:
            raise ValueError("an odd head_dim")
        dtype = wide(x.dtype)
        of_pairs = angles(positions, rates(x.shape[-1], dtype, x.device)).to(dtype)
        first, second = pairs(x.to(dtype))
        return layout(*turn(first, second, of_pairs.cos(), of_pairs.sin())).to(x.dtype)

    return apply_rotary


checks = Checks(
    apply_rotary,
    laws=(keeps_lengths,),
    shortcuts="""RotaryEmbedding RotaryPositionalEmbeddings apply_rotary_emb apply_rotary_pos_emb
    apply_rotary_embedding""",
    family=rotary_with,
)
shown, hidden, wrong, right = checks.words

shown("one row, one pair", rows(1, 2), weight=2)
shown("position 0 stays, a later one turns", first_and_later)
shown("each pair turns at its own rate", rows(1, 6), weight=4)
shown("positions need not be in order", rows(3, 4), weight=2)
shown("positions may be those of the rows", counted_rows(3, 4))
shown(
    "the products of turned rows tell how far apart they stand",
    rows_alike(3, 4),
    probe=products_of_rows,
    weight=3,
)
shown("the same row at the same position turns alike", the_same_row_twice)
shown("heads are carried along", rows(2, 3, 4), weight=2)
shown("gradients flow", rows(2, 4), probe=gradients)
shown("x and positions stay as they were", rows(2, 4), probe=arguments_after)
shown("positions beyond two hundred", far_out(2, 2))
shown("positions beyond two hundred in bfloat16", far_out(2, 4, dtype=torch.bfloat16), weight=2)
shown("an odd head_dim is refused", rows(2, 5), weight=2)
hidden("batch and heads", rows(2, 3, 4, 8), weight=3)
hidden("a batch whose positions are those of its rows", counted_rows(2, 4, 6))
hidden(
    "the products of turned rows of a batch",
    rows_alike(2, 4, 6),
    probe=products_of_rows,
    weight=3,
)
hidden("as many heads as rows", rows(3, 3, 6), weight=2)
hidden("the width of a real head", clear_of_zero(rows(5, 64, high=16)), weight=4)
hidden("batch and heads in float64", tiny(2, 2, 3, 6))
hidden("heads far into a text", clear_of_zero(far_out(2, 3, 6)))
hidden("heads beyond two thousand in float16", far_out(2, 3, 6, dtype=torch.float16), weight=2)
hidden("a batch in bfloat16", rows(2, 3, 4, dtype=torch.bfloat16))
hidden("a single feature is refused", rows(2, 1))
hidden("gradients flow to a batch", rows(2, 3, 6), probe=gradients)
hidden("a batch stays as it was", rows(2, 3, 4), probe=arguments_after)
hidden("numbers that are not contiguous in memory", rows(2, 3, 6), probe=returned_for_views)
hidden("the result lies where x lies", rows(2, 3, 4), probe=device_kept)


wrong(
    "the first half turns with the second",
    """Which two features turn together in your function? Many models pair x[i] with the feature
    half a row further on; the statement pairs others.""",
    pairs=lambda x: x.chunk(2, dim=-1),
    layout=in_halves,
)


wrong(
    "the turned pairs may be left in halves",
    "The numbers are right but have moved: where should the two new numbers of a pair go?",
    layout=in_halves,
)


wrong(
    "the halves are turned, and then woven together",
    "You take the two numbers of a pair from one place and put them back into another.",
    pairs=lambda x: x.chunk(2, dim=-1),
)


wrong(
    "rows stand at 0, 1, 2 and so on",
    """Your angles come from the number of the row. Which argument says at which position a row
    really is?""",
    positions=lambda positions: torch.arange(len(positions)),
)


wrong(
    "positions count from 1",
    "Each row has turned one position too far. By how much does the row at position 0 turn?",
    positions=lambda positions: positions + 1,
)


@wrong(
    "the caller's x is free to be turned",
    """The numbers are right, but compare x before and after the call. Does a slice of x share its
    memory?""",
)
def into_x(x, positions):
    result = apply_rotary(x, positions)
    x.detach().copy_(result.detach())
    return result


wrong(
    "the sign of the sine does not matter",
    """The angles are right, but the direction is not. Into which quarter of the plane does (1, 0)
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
    rates=lambda head_dim, dtype, device: torch.ones(head_dim // 2, dtype=dtype, device=device),
)


wrong(
    "i is the number of the column",
    """The first pair is right, and the others turn too slowly. The exponent has 2i in it: what does
    i count?""",
    rates=lambda head_dim, dtype, device: rates_of(head_dim, dtype, device) ** 2,
)


wrong(
    "the exponent is i, and not 2i",
    """The first pair is right, but the others turn too fast. What is divided by head_dim in the
    exponent?""",
    rates=lambda head_dim, dtype, device: rates_of(head_dim, dtype, device) ** 0.5,
)


wrong(
    "the rates are spread over half the width",
    """The first pair is right. Your exponent divides by the number of pairs less one: where does
    the last pair end up, and where in the formula?""",
    rates=lambda head_dim, dtype, device: (
        10000 ** -torch.linspace(0, 1, head_dim // 2, dtype=dtype, device=device)
    ),
)


wrong(
    "the base is 1000",
    "The first pair is right, and the others turn too fast. Count the zeros of the base.",
    rates=lambda head_dim, dtype, device: rates_of(head_dim, dtype, device) ** 0.75,
)


wrong(
    "angles are in degrees",
    "Your rows hardly turn. Which unit do sin and cos expect?",
    angles=lambda positions, rates: (positions.to(rates)[:, None] * rates).deg2rad(),
)


wrong(
    "far pairs turn faster",
    "Your first pair turns as the last one should. Does a rate grow with i, or fall?",
    rates=lambda head_dim, dtype, device: rates_of(head_dim, dtype, device).flip(0),
)


wrong(
    "angles fit into the dtype of x",
    """Small positions are right, and large ones are not. Which whole numbers does bfloat16 have
    beyond 256? In which precision should you compute the angles, according to the statement?""",
    wide=lambda dtype: dtype,
)


@wrong(
    "rotary positions are added",
    """You add something to x, so its length changes. How can a position change a row without
    adding anything to it?""",
)
def by_adding(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    angles = positions.float()[:, None] * rates_of(x.shape[-1], torch.float32, x.device)
    return x + interleaved(angles.sin(), angles.cos()).to(x.dtype)


@wrong(
    "positions belong to the axis in front of the rows",
    """This is right without heads. Along which axis of x do the positions run, once there are axes
    in front?""",
    rule="turn",
)
def along_the_axis_before(first, second, *angles):
    cosines, sines = (each[:, None] if first.ndim > 2 else each for each in angles)
    return turned(first, second, cosines, sines)


@wrong(
    "an odd width leaves a feature over",
    "What should happen when the last feature has no neighbour to turn with?",
)
def of_any_width(x, positions):
    even = x.shape[-1] // 2 * 2
    return torch.cat([apply_rotary(x[..., :even], positions), x[..., even:]], dim=-1)


checks.usual("detached")


wrong(
    "the result has the dtype of the angles",
    "The numbers are right. Which dtype came in, and which one leaves?",
    then=lambda result: result.to(torch.promote_types(result.dtype, torch.float32)),
)


wrong(
    "angles live on the CPU",
    """A new tensor is made on the default device unless you say otherwise. Which of yours should
    lie where x is?""",
    rates=lambda head_dim, dtype, device: rates_of(head_dim, dtype),
    angles=lambda positions, rates: positions.cpu().to(rates)[:, None] * rates,
)


@right
@rotary_with
def by_complex_numbers(first, second, cosines, sines):
    points = torch.complex(first, second) * torch.complex(cosines, sines)
    return points.real, points.imag


@right
def by_matrices(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    wide = torch.promote_types(x.dtype, torch.float32)
    angles = positions.to(x.device, wide)[:, None] * rates_of(x.shape[-1], wide, x.device)
    lines = [
        torch.stack([angles.cos(), -angles.sin()], -1),
        torch.stack([angles.sin(), angles.cos()], -1),
    ]
    pairs = x.to(wide).unflatten(-1, (-1, 2))
    return (
        torch.einsum("rpij,...rpj->...rpi", torch.stack(lines, -2), pairs).flatten(-2).to(x.dtype)
    )


@right
def in_single_precision(x, positions):
    """Computes in float32 whatever comes in, and gives back the dtype of x."""
    return apply_rotary(x.float(), positions).to(x.dtype)


@right
def with_a_turned_copy(x, positions):
    """Multiplies x by cosines, and a copy whose pairs are turned by a right angle by sines."""
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    angles = positions.double()[:, None] * rates_of(x.shape[-1], torch.double, x.device)
    angles = angles.repeat_interleave(2, dim=-1)
    first, second = neighbours(x)
    copy = interleaved(-second, first)
    return (x.double() * angles.cos() + copy.double() * angles.sin()).to(x.dtype)


@right
def pair_by_pair(x, positions):
    if x.shape[-1] % 2:
        raise ValueError("an odd head_dim")
    wide, columns = x.to(torch.promote_types(x.dtype, torch.float32)), []
    for i in range(0, x.shape[-1], 2):
        angle = positions.to(wide) / 10000 ** (i / x.shape[-1])
        columns += turned(wide[..., i], wide[..., i + 1], angle.cos(), angle.sin())
    return torch.stack(columns, dim=-1).to(x.dtype)
