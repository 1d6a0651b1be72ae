"""Laws that every right answer obeys. A case names them; they are checked before any single number
is.

A law is `law(inputs, results, **arguments) -> str | None`: a clause that says how the results break
it, or None. `results` maps the names of the returned values to arrays or tensors whose types and
shapes have been found right.
"""

import numpy as np

from autograder.shared.tolerances import FLOAT32_STEPS, TOLERANCES
from autograder.shared.wire import dtype_name, numbers


def sums_to_one(inputs, results, of="the result", axis=-1):
    """The weights along an axis sum to 1. An argument called `axis` in the inputs takes
    precedence.
    """
    axis = inputs.get("axis", axis)
    sums = numbers(results[of]).sum(axis=axis, dtype=np.float64)
    off = np.abs(sums - 1) > relative(results[of])
    if not off.any():
        return None
    return (
        f"{of} should sum to 1 along axis {axis}, but {name_of_slice(of, off, axis)} sums to"
        f" {apart(sums[off].flat[0], 1)[0]}"
    )


def zero_where_minus_infinity(inputs, results, of="the result", argument="scores"):
    """Where a score is -inf, the weight is exactly 0."""
    masked = np.isneginf(numbers(inputs[argument]))
    return nothing_where(
        numbers(results[of]), masked, f"{of} should be exactly 0 where {argument} is -inf"
    )


def zero_where_masked(inputs, results, of="weights", argument="mask"):
    """Where the mask is False, the weight is exactly 0."""
    weights = numbers(results[of])
    masked = ~np.broadcast_to(numbers(inputs[argument]), weights.shape)
    return nothing_where(weights, masked, f"{of} should be exactly 0 where {argument} is False")


def looks_back_only(inputs, results, of="the result"):
    """No query may attend to a key that comes later."""
    ahead = np.argwhere(np.triu(numbers(results[of]), k=1))
    if not len(ahead):
        return None
    *_, query, key = ahead[0]
    return f"query {query} may attend to key {key}, which lies in its future"


def hides_padding(inputs, results, of="the result"):
    """No query may attend to padding."""
    token_ids, pad_id = numbers(inputs["token_ids"]), inputs.get("pad_id", 0)
    seen = numbers(results[of]).any(axis=(1, 2))  # of a mask (batch, 1, ..., key_len)
    open_keys = np.argwhere((token_ids == pad_id) & seen)
    if not len(open_keys):
        return None
    row, key = open_keys[0]
    return f"key {key} of sentence {row} is padding, and may be attended to"


def nothing_where(array, masked, demand):
    """Return the demand that an array is exactly 0 in places, and what is there instead, or
    None.
    """
    if not np.any(array[masked]):
        return None
    return f"{demand}, but is {np.abs(array[masked]).max():.4g} there"


def between_the_values(inputs, results, of="output", argument="value"):
    """An average lies between the smallest and the largest of what it averages, feature by
    feature.
    """
    values, averages = numbers(inputs[argument]), numbers(results[of])
    slack = max(1e-6, relative(results[of])) * np.abs(values).max()
    low, high = (
        values.min(axis=-2, keepdims=True) - slack,
        values.max(axis=-2, keepdims=True) + slack,
    )
    outside = (averages < low) | (averages > high)
    if not outside.any():
        return None
    places = f"{int(outside.sum())} of {outside.size} places"
    return (
        f"{of} should be an average of the rows of {argument}, but it leaves their range in"
        f" {places}"
    )


def sums_to_zero(inputs, results, of="the result", axis=-1):
    """The numbers along an axis cancel."""
    terms = numbers(results[of])
    sums = terms.sum(axis=axis, dtype=np.float64)
    off = np.abs(sums) > relative(results[of]) * max(1.0, float(np.abs(terms).max(initial=0)))
    if not off.any():
        return None
    return (
        f"{of} should sum to 0 along axis {axis}, but {name_of_slice(of, off, axis)} sums to"
        f" {sums[off].flat[0]:.4g}"
    )


def exactly_one(inputs, results, of="the result"):
    """A softmax over a single score is exactly 1, whatever the score."""
    weights = numbers(results[of])
    off = np.abs(weights - 1) > 4 * np.finfo(weights.dtype).eps
    if not off.any():
        return None
    return (
        f"{of} should be exactly 1, but differs from it by {float(np.abs(weights - 1).max()):.1e}"
    )


def keeps_lengths(inputs, results, of="the result", argument="x"):
    """A rotation leaves every row along the last axis as long as it was."""
    before, after = (
        np.linalg.norm(numbers(rows).astype(np.float64), axis=-1)
        for rows in (inputs[argument], results[of])
    )
    off = np.abs(after - before) > 10 * relative(results[of]) * np.maximum(before, 1)
    if not off.any():
        return None
    row, (has, had) = name_of_slice(of, off, -1), apart(after[off].flat[0], before[off].flat[0])
    return f"turning a row keeps its length, but {row} has length {has}, and had {had}"


def within_one(inputs, results, of="the result"):
    """What tanh returns lies between -1 and 1."""
    states = numbers(results[of])
    outside = np.abs(states) > 1
    if not outside.any():
        return None
    return (
        f"{of} should lie between -1 and 1, but reaches {states.flat[np.abs(states).argmax()]:.4g}"
    )


def standardised(inputs, results, of="the result"):
    """Every slice along the last axis has mean 0 and variance 1, up to what an eps costs. For new
    norms: gain 1, bias 0.
    """
    slices = numbers(results[of]).astype(np.float64)
    for name, found, wanted in (
        ("mean", slices.mean(axis=-1), 0),
        ("variance", slices.var(axis=-1), 1),
    ):
        off = np.abs(found - wanted) > 1e-3
        if off.any():
            return (
                f"along the last axis, {of} should have the {name} {wanted}, but that of "
                f"{name_of_slice(of, off, -1)} is {apart(found[off].flat[0], wanted)[0]}"
            )
    return None


def relative(value):
    """Return how far numbers of this dtype may lie from obeying a law, as a part of them."""
    return max(TOLERANCES[dtype_name(value)][0], FLOAT32_STEPS)


def apart(one, other):
    """Write two different numbers with as few digits as show that they differ."""
    for digits in range(4, 18):
        texts = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if texts[0] != texts[1]:
            break
    return texts


def name_of_slice(of, off, axis):
    """Write the first slice that breaks a law as an index: `weights[0, :]`."""
    place = [str(i) for i in np.argwhere(off)[0]] if off.ndim else []
    place.insert(axis if axis >= 0 else len(place) + 1 + axis, ":")
    return f"{of.removeprefix('the ')}[{', '.join(place)}]"


LAWS = {
    law.__name__: law
    for law in (
        sums_to_one,
        sums_to_zero,
        exactly_one,
        zero_where_minus_infinity,
        zero_where_masked,
        between_the_values,
        looks_back_only,
        hides_padding,
        keeps_lengths,
        within_one,
        standardised,
    )
}
