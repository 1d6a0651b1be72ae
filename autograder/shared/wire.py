"""Plain values as JSON text: what crosses between the grader and a process that nobody trusts.

Only data crosses: numbers, strings, arrays, tensors, tuples, lists and dictionaries. Reading cannot
run code, and unpacks nothing larger than the text itself. An array is written as its dtype, its
shape, and its numbers, so that a person can read them in a file; between processes, where to write
and read numbers would take longer than most questions, its bytes go instead. A torch tensor is data
too; this module never imports torch, which takes a second: only `autograder.shared.probes.live`
makes tensors of such data again.
"""

import json
import math
import sys
from binascii import a2b_base64, b2a_base64
from dataclasses import dataclass

import numpy as np

LARGEST_TEXT = 4_000_000  # characters; an exercise's answers are thousands of numbers, not millions
LARGEST_ARRAY = 150_000  # elements
LARGEST_SHAPE = 2**32  # of the lengths that are not 0: even an empty array can be too large to copy
MOST_PARTS = 100_000  # lists, arrays, entries, items; some take twenty times their text in memory
# Larger whole numbers may all have one hash, and a dictionary of them takes hours to read.
LARGEST_KEY = 2**60
DEEPEST = 12
PLAIN_TYPES = {type(None), bool, int, float, str}  # what is data already
ARRAY_DTYPES = {
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
}
# torch's name -> the array that holds it exactly
TENSOR_DTYPES = {"bfloat16": "float32"} | {name: name for name in ARRAY_DTYPES}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A torch tensor as data.

    Args:
        values: its numbers, as an array; those of a bfloat16 in float32, for NumPy has no such
            dtype.
        dtype: torch's name of its dtype, such as "bfloat16".
    """

    values: np.ndarray
    dtype: str


@dataclass(frozen=True)
class Opaque:
    """Stands for a value that is not data: an object of a type that an exercise has no use for."""

    description: str


class WireError(ValueError):
    """The text is not a value that this module wrote."""


def plain(value, depth=0):
    """Reduce a value to data; what is not data becomes `Opaque` with its type's name."""
    if type(value) in PLAIN_TYPES:
        return value
    if depth > DEEPEST:
        return Opaque("something nested very deeply")
    if isinstance(value, np.ndarray | np.generic):
        return plain_array(np.asarray(value))
    if isinstance(value, Opaque | Tensor):
        return value
    if is_tensor(value):
        return plain_tensor(value)
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)  # a subclass, such as an IntEnum, is as good as its number
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, tuple | list):
        sequence = tuple if isinstance(value, tuple) else list
        return sequence(plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return {plain_key(key): plain_entry(item, depth) for key, item in value.items()}
    return Opaque(f"a value of type {type_name(value)}")


def plain_key(key):
    """Reduce a dictionary's key to text or a whole number; NumPy's kinds of both are as good as
    Python's.
    """
    if isinstance(key, str):
        return str(key)
    return int(key) if isinstance(key, int | np.integer) else f"a key of type {type_name(key)}"


def plain_entry(item, depth):
    """Reduce a dictionary's entry to data; a NumPy scalar is as good as Python's number."""
    return plain(item.item() if isinstance(item, np.generic) else item, depth + 1)


def plain_array(array):
    """Copy an array of numbers; arrays of anything else, or too large to send, become `Opaque`."""
    if array.dtype.name not in ARRAY_DTYPES:
        return Opaque(f"a NumPy array of dtype {array.dtype.name}")
    if array.size > LARGEST_ARRAY:
        return Opaque(f"a NumPy array of shape {array.shape}, too large to check")
    return np.array(array)


def is_tensor(value):
    """Return whether a value is a torch tensor; where nobody has imported torch, none is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def plain_tensor(tensor):
    """Copy a tensor's numbers from wherever they are; what holds no numbers, or too many, becomes
    `Opaque`.
    """
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in TENSOR_DTYPES or str(tensor.layout) != "torch.strided" or tensor.is_meta:
        return Opaque(f"a torch tensor of dtype {dtype}")
    if tensor.numel() > LARGEST_ARRAY:
        return Opaque(f"a torch tensor of shape {tuple(tensor.shape)}, too large to check")
    values = tensor.detach().cpu().resolve_neg()
    if dtype == "bfloat16":
        values = values.float()
    return Tensor(np.array(values.numpy()), dtype)


def numbers(value):
    """Return the array of an array or a tensor."""
    return value.values if isinstance(value, Tensor) else value


def dtype_name(value):
    """Return the name of an array's or a tensor's dtype."""
    return value.dtype if isinstance(value, Tensor) else value.dtype.name


def type_name(value):
    """Return the name of a value's type as a learner would write it: `torch.Tensor`, `set`."""
    kind = type(value)
    module = (
        "" if kind.__module__ in ("builtins", "__main__") else kind.__module__.split(".")[0] + "."
    )
    return f"{module}{kind.__qualname__}"[:80]


def printable(text):
    """Drop the characters that steer a terminal, turn the direction of writing, or cannot be
    written to a file.
    """
    return "".join(c for c in text if c in "\n\t" or c.isprintable())


def unmasked(text):
    """Write the characters that `printable` drops as escapes, so that a person sees them: code may
    hide what it does behind them.
    """
    return "".join(
        c if c in "\n\t\xa0" or c.isprintable() else c.encode("unicode_escape").decode()
        for c in text
    )


def copied(value):
    """Return a copy of a plain value that shares no array, list or dictionary with it."""
    if type(value) in PLAIN_TYPES:
        return value
    match value:
        case np.ndarray():
            return value.copy()
        case Tensor():
            return Tensor(value.values.copy(), value.dtype)
        case tuple() | list():
            return type(value)(map(copied, value))
        case dict():
            return {key: copied(item) for key, item in value.items()}
        case _:
            return value


def encode(value):
    """Write a plain value as text."""
    return json.dumps(to_json(value, packed=True), separators=(",", ":"))


def decode(text):
    """Read a plain value from text that may come from anybody.

    Raises:
        WireError: if the text is too long or is not what `encode` writes.
    """
    if len(text) > LARGEST_TEXT:
        raise WireError(f"the value takes {len(text):,} characters, more than {LARGEST_TEXT:,}")
    if sum(map(text.count, "[{,")) > MOST_PARTS:
        raise WireError(f"the value has more than {MOST_PARTS:,} parts")
    try:
        return from_json(json.loads(text))
    except WireError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise WireError(f"the text is not a value: {error}") from None


def to_json(value, *, packed=False):
    """Return a plain value as what JSON can hold; `packed`, with the bytes of arrays instead of
    their numbers.
    """
    if type(value) in PLAIN_TYPES:
        return value
    match value:
        case np.ndarray():
            return {
                "array": value.dtype.name,
                "shape": list(value.shape),
                **content_of(value, packed),
            }
        case Tensor():
            return {
                "tensor": value.dtype,
                "shape": list(value.values.shape),
                **content_of(value.values, packed),
            }
        case Opaque():
            return {"opaque": value.description}
        case tuple():
            return {"tuple": [to_json(item, packed=packed) for item in value]}
        case list():
            return [to_json(item, packed=packed) for item in value]
        case dict():
            return {"dict": [[key, to_json(item, packed=packed)] for key, item in value.items()]}
        case _:
            return value


def content_of(array, packed):
    """Return an array's numbers, or their bytes: the lowest byte of a number first, in base 64."""
    if not packed:
        return {"values": short_numbers(array)}
    return {
        "bytes": b2a_base64(
            array.astype(array.dtype.newbyteorder("<")).tobytes(), newline=False
        ).decode()
    }


def short_numbers(array):
    """Return an array's numbers as Python's, floats with no more digits than tell them apart in
    their own dtype.
    """
    if array.dtype.kind == "f" and array.dtype != np.float64:
        array = array.astype(str).astype(np.float64)
    return array.ravel().tolist()


def from_json(value):
    """Return the plain value that `to_json` made this of; see `decode` for text from anybody."""
    if type(value) is list:
        return [from_json(item) for item in value]
    if type(value) is not dict:
        return value
    kind, content = next(iter(value.items()), ("nothing", None))  # `to_json` says first what it is
    match kind, content:
        case "dict", list(pairs):
            return {key_from_json(key): from_json(item) for key, item in pairs}
        case "tensor", str(dtype):
            if dtype not in TENSOR_DTYPES:
                raise WireError(f"no tensor has dtype {dtype[:40]!r} here")
            return Tensor(array_from_json(TENSOR_DTYPES[dtype], value), dtype)
        case "array", str(dtype):
            return array_from_json(dtype, value)
        case "tuple", list(items):
            return tuple(from_json(item) for item in items)
        case "opaque", str(description):
            return Opaque(description[:200])
    raise WireError("a dictionary that stands for nothing")


def key_from_json(key):
    """Return a dictionary's key, after looking at it."""
    if not isinstance(key, str) and not (type(key) is int and abs(key) < LARGEST_KEY):
        raise WireError("a key must be text or a whole number")
    return key


def array_from_json(dtype, parts):
    """Return an array, after looking at each of its parts.

    Args:
        parts: has its `shape`, and its `values`, a list of numbers, or their `bytes` as text.
    """
    if dtype not in ARRAY_DTYPES:
        raise WireError(f"no array has dtype {dtype[:40]!r} here")
    shape, content = parts.get("shape"), parts.get("bytes", parts.get("values"))
    if (
        type(shape) is not list
        or len(shape) > 16
        or not all(type(length) is int and length >= 0 for length in shape)
        or math.prod(length or 1 for length in shape) > LARGEST_SHAPE
    ):
        raise WireError("a shape must be a few whole numbers")
    if type(content) is str:
        kind = np.dtype("uint8" if dtype == "bool" else dtype).newbyteorder("<")
        return (
            np.frombuffer(a2b_base64(content, strict_mode=True), kind).astype(dtype).reshape(shape)
        )
    if type(content) is not list or not set(map(type, content)) <= {bool, int, float}:
        raise WireError("an array must hold numbers")
    with np.errstate(all="ignore"):  # a number too large for its dtype is infinite
        return np.array(content, dtype=dtype).reshape(shape)
