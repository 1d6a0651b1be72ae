"""What an answer says, apart from the form it comes in.

Dtype, precision and axes of length 1 are asked for in cases of their own (`exact`), so that a slip
in them is charged once. In all other cases an answer is first brought into the form that is wanted,
where this changes nothing of what it says.
"""

import numpy as np

from autograder.shared.tolerances import TOLERANCES
from autograder.shared.wire import Tensor, dtype_name, numbers
from autograder.shared.wording import CHANGE

LENIENT = ("float64", "bool", "int64")  # narrower floats are wanted only where the dtype is asked
NUMERIC = "biuf"
MOST_WHOLE = 2**53  # from here on a float does not tell all whole numbers apart


def in_the_form_of(expected, seen):
    """Return an observation in the form of the expected one, as far as that changes only its form.

    Args:
        expected, seen: observations of the reference and of an answer, as data.
    """
    changed = {}
    if "result" in expected and "result" in seen:
        changed["result"] = like(expected["result"], seen["result"])
    if "noted" in expected and "noted" in seen:
        changed["noted"] = {
            name: like(expected["noted"].get(name), value) for name, value in seen["noted"].items()
        }
    return {**seen, **changed}


def like(wanted, got):
    """Return a value with the dtype, and a mask with the axes, of the wanted one, 3.0 as 3, and a
    tensor without axes as its number; as it is where that would change what it says.
    """
    if type(wanted) in (int, float) and isinstance(got, np.ndarray | Tensor):
        got = number_in(got)
    if {type(wanted), type(got)} == {int, float} and abs(got) < MOST_WHOLE and got == int(got):
        return type(wanted)(got)
    if isinstance(wanted, tuple | list):
        several = isinstance(got, tuple | list) and len(got) == len(wanted)
        return type(got)(map(like, wanted, got)) if several else got
    if type(got) is not type(wanted) or not isinstance(got, np.ndarray | Tensor):
        return got
    values, kind = numbers(got), numbers(wanted).dtype
    if dtype_name(wanted) not in LENIENT or values.dtype.kind not in NUMERIC:
        return got
    with np.errstate(invalid="ignore"):  # of nan there is no integer
        cast = values.astype(kind)
    if kind.kind in "bi" and not np.array_equal(cast, values):
        return got
    if kind.kind == "b" and cast.shape != numbers(wanted).shape:
        cast = stretched(cast, numbers(wanted).shape)
    return Tensor(cast, dtype_name(wanted)) if isinstance(wanted, Tensor) else cast


def number_in(got):
    """Return the number that an array without axes holds; any other array as it is."""
    values = numbers(got)
    return values.item() if values.shape == () and values.dtype.kind in "iuf" else got


def stretched(mask, shape):
    """Return a mask as it broadcasts to a shape; as it is where it does not."""
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        return mask


def numbers_of(value):
    """Return a value's numbers as a floating array; None where it has none, or too large ones."""
    several = isinstance(value, list) and all(type(each) in (int, float) for each in value)
    if several or type(value) in (int, float):
        try:
            return np.array(value, dtype=np.float64)
        except OverflowError:
            return None
    if not isinstance(value, np.ndarray | Tensor) or numbers(value).dtype.kind not in NUMERIC:
        return None
    values = numbers(value)
    return values if values.dtype.kind == "f" else values.astype(np.float64)


def is_ordinary(case):
    """Return whether a case asks for a result with something in it: neither a refusal, nor an array
    of nothing or of zeros. Weights that have to move are one, too.
    """
    noted = case.expected.get("noted", {})
    changes = [each for name, each in noted.items() if name.startswith(CHANGE)]
    return has_substance([case.expected.get("result"), *changes])


def has_substance(value):
    """Return whether a plain value is more than nothing, zeros (up to rounding) or empty
    containers.
    """
    if isinstance(value, np.ndarray | Tensor):
        _, absolute = TOLERANCES.get(dtype_name(value), (0, 0))
        return not bool((np.abs(numbers(value)) <= absolute).all())
    if isinstance(value, tuple | list):
        return any(map(has_substance, value))
    if isinstance(value, float):
        return not abs(value) <= TOLERANCES["float64"][1]
    return bool(value)
