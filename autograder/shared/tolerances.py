"""How far a right answer may lie from the reference: one table for all checks."""

import numpy as np

from autograder.shared.wire import Tensor, dtype_name, numbers

# By dtype: (relative, absolute). Right answers may add in another order, or subtract a logarithm
# where the reference divides; they stay a hundred times closer than this; in half precision, where
# each step rounds at 0.1 % or 0.4 %, a few times. What must hold exactly (a weight of 0, a weight
# of 1) is a law of its own, not a number to compare.
TOLERANCES = {
    "float64": (1e-8, 1e-10),
    "float32": (1e-4, 1e-6),
    "float16": (1e-2, 4e-3),
    "bfloat16": (4e-2, 3e-2),
}


def same(one, other):
    """Return whether two plain values are equal, floating numbers up to the tolerance of their
    dtype.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | Tensor):
        alike = dtype_name(one) == dtype_name(other) and numbers(one).shape == numbers(other).shape
        return alike and bool(close(one, other).all())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return bool(close(np.asarray(one), np.asarray(other)))
    return one == other


def close(wanted, got):
    """Return, number by number, whether two arrays or tensors of one dtype agree."""
    relative, absolute = TOLERANCES.get(dtype_name(wanted), (0, 0))
    wanted, got = numbers(wanted), numbers(got)
    if wanted.dtype.kind != "f":
        return wanted == got
    with np.errstate(all="ignore"):
        return np.isclose(
            got.astype(np.float64),
            wanted.astype(np.float64),
            rtol=relative,
            atol=absolute,
            equal_nan=True,
        )
