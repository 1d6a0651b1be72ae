"""How wrong numbers are related to the right ones: observations that are true of any exercise.

An observation `observation(pairs, inputs) -> str | None` looks at the parts of one case whose
numbers are wrong, (wanted, got) each, and at the case's arguments. It says in a clause what it
sees. Because numbers may look alike by chance, it speaks only where it holds in every case with
wrong numbers. A learner is told this where no known misconception fits.
"""

import numpy as np

from autograder.shared.tolerances import FLOAT32_STEPS, largest

FEWEST = 3  # numbers that have to agree before it is no coincidence
FLOAT16_STEPS = FLOAT32_STEPS * 2**12  # float16 has 12 binary digits fewer


def resemblances(cases):
    """Say of each case how its wrong numbers are related to the right ones.

    What agrees to float32's precision and dropped numbers are told where they are seen, because
    nothing else looks like them; anything else only if it holds in all other cases, and in the same
    words in those that have a single number: any one number is some multiple of any other.

    Args:
        cases: (inputs, pairs) of each failed case in which there are numbers to compare; pairs are
            (wanted, got) of each part that is wrong.

    Returns:
        list of clauses, one for each case; "" where there is nothing to say.
    """
    clauses = [lack_of_precision(pairs) or dropped_numbers(pairs) for _, pairs in cases]
    rest = [index for index, clause in enumerate(clauses) if not clause]
    if sum(np.count_nonzero(wanted) for i in rest for wanted, _ in cases[i][1]) < FEWEST:
        return clauses
    for observation in OBSERVATIONS:
        found = [observation(cases[index][1], cases[index][0]) for index in rest]
        of_single_numbers = {
            clause for i, clause in zip(rest, found, strict=True) if has_one_number(cases[i][1])
        }
        if all(found) and len(of_single_numbers) <= 1:
            for index, clause in zip(rest, found, strict=True):
                clauses[index] = clause
            break
    return clauses


def has_one_number(pairs):
    """Return whether a case has no more than one wrong number."""
    return sum(wanted.size for wanted, _ in pairs) <= 1


def opposite_sign(pairs, inputs):
    """Every number is right but for its sign."""
    if all(alike(-wanted, got) for wanted, got in pairs):
        return "every number has the opposite sign"
    return None


def constant_factor(pairs, inputs):
    """Every number is the same multiple of the right one."""
    found = [factor_of(wanted, got) for wanted, got in pairs]
    factor = found[0]
    if None in found or not np.allclose(found, factor, rtol=1e-6):
        return None
    if abs(factor) >= 1:
        return f"every number is {factor:.5g} times what it should be"
    return f"every number is 1/{1 / factor:.5g} of what it should be"


def transposed(pairs, inputs):
    """The last two axes have changed places."""
    if all(
        wanted.ndim > 1 and alike(wanted.swapaxes(-1, -2), got) and not alike(wanted, got)
        for wanted, got in pairs
    ):
        return "the numbers are right, but the last two axes are swapped"
    return None


def reversed_order(pairs, inputs):
    """One axis runs the other way."""
    for axis, name in ((-1, "the last axis"), (-2, "the second to last axis")):
        if all(wanted.ndim >= -axis and alike(np.flip(wanted, axis), got) for wanted, got in pairs):
            return f"the numbers are right, but in reverse order along {name}"
    return None


def cut_off(pairs, inputs):
    """Numbers beyond a bound are replaced by the bound, and others are as they were."""
    for bound, beyond, side in ((np.min, np.maximum, "below"), (np.max, np.minimum, "above")):
        if all(
            same_shape(wanted, got)
            and wanted.size
            and alike(beyond(wanted, bound(got)), got)
            and (got != bound(got)).any()
            for wanted, got in pairs
        ):
            value = bound(pairs[0][1])
            return f"the numbers are right, but those {side} {value:.4g} have become {value:.4g}"
    return None


def factor_of_each_row(pairs, inputs):
    """Every slice along an axis is right but for a factor of its own."""
    axis = inputs.get("axis", -1)
    axis = axis if isinstance(axis, int) else -1
    if all(
        same_shape(wanted, got) and -wanted.ndim <= axis < wanted.ndim and scaled(wanted, got, axis)
        for wanted, got in pairs
    ):
        return (
            f"along axis {axis} the numbers are in the right proportion, but not of the right"
            " size: what are they divided by?"
        )
    return None


def first_id_kept(pairs, inputs):
    """The id that the sentence began with is still there."""
    begins = inputs.get("bos_id")
    if begins is not None and all(
        got.ndim
        and got.shape[-1] == wanted.shape[-1] + 1
        and (got[..., 0] == begins).all()
        and alike(wanted, got[..., 1:])
        for wanted, got in pairs
        if wanted.ndim
    ):
        return f"it still begins with bos_id, which is {begins}"
    return None


def whole_length(pairs, inputs):
    """Nothing ends before the longest length."""
    longest = inputs.get("max_len")
    if longest is not None and all(
        got.ndim and got.shape[-1] >= longest and wanted.shape[-1] < got.shape[-1]
        for wanted, got in pairs
        if wanted.ndim
    ):
        return f"it is as long as max_len, which is {longest}, and should have ended before"
    return None


def precision_of(wanted, got):
    """Name the precision with which numbers that should be more precise agree, as a clause, or
    None.
    """
    if wanted.dtype == np.float64 and agree(wanted, got, FLOAT32_STEPS):
        return (
            "all numbers agree to the precision of float32, but not to that of float64: is a step"
            " done in float32, or is something small added?"
        )
    return None


def narrower(pairs, inputs):
    """All numbers agree to a few digits."""
    digits = [digits_of(wanted, got) for wanted, got in pairs]
    if None in digits:
        return None
    return (
        f"all numbers agree to {min(digits)} digits: is a step done in a narrower dtype, or is"
        " something small added?"
    )


def digits_of(wanted, got):
    """Return to how many digits numbers agree that should agree to more; None if these are fewer
    than a step in float16 leaves.
    """
    if wanted.dtype.itemsize <= 2 or not agree(wanted, got, FLOAT16_STEPS):
        return None
    return int(-np.log10(np.abs(got - wanted).max() / largest(wanted)))


def agree(wanted, got, steps):
    """Return whether arrays of one dtype are as close as a lack of precision leaves them, and yet
    not the same.
    """
    if not same_shape(wanted, got) or wanted.dtype != got.dtype:
        return False
    with np.errstate(invalid="ignore"):  # one infinity less another is nan, like nothing else
        return bool(0 < np.abs(got - wanted).max(initial=0) <= steps * largest(wanted))


def lack_of_precision(pairs):
    """Say with which precision numbers agree that should be more precise; "" if they do not."""
    clauses = [precision_of(wanted, got) for wanted, got in pairs]
    return clauses[0] if all(clauses) else ""


def dropped_numbers(pairs):
    """Say that some numbers have become 0 and the others larger by one factor; "" where it is
    otherwise. Of several results it is enough that one is so, because another may follow from it.
    """
    factors = [factor_of_those_kept(wanted, got) for wanted, got in pairs]
    if not any(factors):
        return ""
    where = "in one of the results, " if len(pairs) > 1 else ""
    return (
        f"{where}some numbers have become 0 and the others are {max(filter(None, factors)):.4g}"
        " times what they should be, as by dropout: is it on where it should be off?"
    )


def factor_of_those_kept(wanted, got):
    """Return the factor, larger than 1, of those numbers that have not become 0; None where none
    has or they have no factor in common.
    """
    if not same_shape(wanted, got):
        return None
    kept = got != 0
    if np.count_nonzero(wanted[kept]) < FEWEST or not np.count_nonzero(wanted[~kept]):
        return None
    factor = factor_of(wanted[kept], got[kept])
    return factor if factor and factor > 1 else None


def factor_of(wanted, got):
    """Return the factor between two arrays, or None where there is none or it is 1 or 0."""
    if not same_shape(wanted, got) or not np.count_nonzero(wanted):
        return None
    place = np.unravel_index(np.abs(wanted).argmax(), wanted.shape)
    with np.errstate(invalid="ignore"):
        factor = got[place] / wanted[place]
    if not np.isfinite(factor) or abs(factor) < 1e-6 or not alike(factor * wanted, got):
        return None
    return None if np.isclose(factor, 1, rtol=1e-3) else float(factor)


def scaled(wanted, got, axis):
    """Return whether each slice along an axis is a positive multiple of the right one."""
    size, right = (np.abs(each).sum(axis=axis, keepdims=True) for each in (got, wanted))
    with np.errstate(all="ignore"):
        return wanted.shape[axis] >= FEWEST and alike(np.nan_to_num(got / size * right), wanted)


def same_shape(wanted, got):
    return wanted.shape == got.shape


def alike(wanted, got):
    """Return whether two arrays hold the same finite numbers, to float32's precision."""
    return (
        same_shape(wanted, got)
        and bool(np.isfinite(got).all())
        and bool(np.abs(got - wanted).max(initial=0) <= FLOAT32_STEPS * largest(wanted))
    )


OBSERVATIONS = (
    narrower,
    opposite_sign,
    constant_factor,
    transposed,
    reversed_order,
    cut_off,
    factor_of_each_row,
    first_id_kept,
    whole_length,
)
