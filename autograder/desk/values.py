"""Values of a case written out in full, for somebody who has to decide about them."""

import numpy as np

from autograder.shared.wire import Tensor, dtype_name, numbers
from autograder.shared.wording import describe

MOST_NUMBERS = 2_000  # of one array; of a longer one, the first and last of each axis are shown
MOST_CHARACTERS = 20_000
INDENT = "  "


def in_full(value, indent=""):
    """Write a plain value out, its arrays with all their numbers."""
    match value:
        case np.ndarray() | Tensor():
            array = numbers(value)
            text = np.array2string(
                array, precision=10, threshold=MOST_NUMBERS, max_line_width=96, separator=", "
            )
            kind = "torch tensor of " if isinstance(value, Tensor) else ""
            lines = [f"{kind}{dtype_name(value)}, shape {array.shape}", *text.split("\n")]
        case dict() if value:
            lines = [
                line
                for key, each in value.items()
                for line in named(key, in_full(each, INDENT).split("\n"))
            ]
        case list() | tuple() if any(map(is_long, value)):
            lines = [
                line
                for place, each in enumerate(value)
                for line in named(f"[{place}]", in_full(each, INDENT).split("\n"))
            ]
        case None | bool() | int() | float() | str() | list() | tuple() | dict():
            lines = [repr(value)]
        case _:
            lines = [describe(value)]
    return "\n".join(indent + line for line in lines)[:MOST_CHARACTERS]


def is_long(value):
    """Return whether a value takes lines of its own."""
    return isinstance(value, np.ndarray | Tensor | dict) or (
        isinstance(value, list | tuple) and any(map(is_long, value))
    )


def named(name, lines):
    """Return a value's lines with its name: before the only one, or above several."""
    if len(lines) == 1:
        return [f"{name} = {lines[0].strip()}"]
    return [f"{name} =", *lines]


def observation_in_full(seen):
    """Write out what was observed of a function in a case."""
    match seen:
        case None:
            return "no answer"
        case {"unfit": reason}:
            return f"it {reason}"
        case {"raised": raised}:
            line = f", in line {raised['line']}" if raised.get("line") else ""
            return f"raises {raised['type']}: {raised['message']}{line}"
        case {"changed": []}:
            return "leaves its arguments as they were"
        case {"changed": names}:
            return f"changes {', '.join(names)}"
    texts = [in_full(seen["result"])] if "result" in seen else []
    texts += [f"observed beside it:\n{in_full(seen['noted'], INDENT)}"] if "noted" in seen else []
    return "\n".join(texts) or "nothing that could be read"


def distance(one, other):
    """Return by how much the numbers of two observations differ at most; None where they cannot
    be compared.
    """
    ours, theirs = arrays_in(one.get("result")), arrays_in(other.get("result"))
    if not ours or [each.shape for each in ours] != [each.shape for each in theirs]:
        return None
    with np.errstate(all="ignore"):
        apart = [
            np.abs(np.where(a == b, 0.0, a.astype(float) - b.astype(float)))
            for a, b in zip(ours, theirs, strict=True)
        ]
    most = max((float(np.max(each)) for each in apart if each.size), default=0.0)
    return None if np.isnan(most) else most


def arrays_in(value):
    """Return all numbers within a plain value, as arrays of real numbers, in order."""
    match value:
        case bool() | int() | float():
            try:
                return [np.array(value, dtype=float)]
            except OverflowError:  # 10 ** 400
                return []
        case np.ndarray() | Tensor():
            array = numbers(value)
            return [array] if array.dtype.kind in "biuf" else []
        case tuple() | list():
            return [array for each in value for array in arrays_in(each)]
        case dict():
            return [array for each in value.values() for array in arrays_in(each)]
        case _:
            return []
