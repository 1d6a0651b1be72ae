"""How values, and calls with them, are written for people."""

import numpy as np

from autograder.shared.wire import Opaque, Tensor, dtype_name, numbers, plain

# Arrays of at most so many numbers are written out in a message; of larger ones, the shape.
CHANGE = "the change of "  # with it begins what is noted of weights that a training has moved
SHOWN_INLINE = 6
LONGEST_INLINE = 72  # characters of any other argument


def describe(value):
    """Say in a few words what a value is: `a list of 3`, `None`, `a float64 array of shape (2,
    3)`.
    """
    value = plain(value)
    match value:
        case None:
            return "None"
        case np.ndarray():
            return f"{article(value.dtype.name)} array of shape {value.shape}"
        case Tensor():
            return f"a torch tensor of {value.dtype} and shape {value.values.shape}"
        case Opaque():
            return value.description
        case tuple() | list() | dict():
            return f"a {type(value).__name__} of {len(value)}"
        case bool() | int() | float():
            return f"the {type(value).__name__} {value}"
        case _:
            return f"the string {value[:40]!r}"


def article(name):
    """Return a noun with its indefinite article."""
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def value_text(value):
    """Write a value that is no array; arrays within it by what they are."""
    match value:
        case list():
            return f"[{', '.join(map(value_text, value))}]"
        case np.ndarray() | Tensor():
            return describe(value)
        case _:
            return repr(value)


def entry_text(entry):
    """Write a dictionary's entry: a number or a word as it is, anything else by what it is."""
    return repr(entry)[:60] if isinstance(entry, int | float | str) else describe(entry)


def call_of(name, case):
    """Write the call as a learner would: short arguments in full, long or hidden ones by their
    shape.
    """
    texts = arguments_text(case.inputs.get("forward", case.inputs), case.visible)
    if case.probe == "returned_for_generator":
        key, _, value = texts[0].partition("=")
        texts[0] = f"{key}=iter({value or key})"
    call = f"({', '.join(texts)})"
    if "constructor" not in case.inputs:
        return f"{name}{call}"
    made = f"{name}({', '.join(arguments_text(case.inputs['constructor'], True))})"
    if "forward" not in case.inputs:
        return made
    method = f".{case.inputs['method']}" if "method" in case.inputs else ""
    return f"{made}{'.train()' if case.inputs.get('train') else ''}{method}{call}"


def arguments_text(arguments, shown):
    """Write each argument of a call."""
    return [argument_text(key, value, shown) for key, value in arguments.items()]


def argument_text(name, value, shown):
    """Write one argument of a call."""
    if isinstance(value, np.ndarray | Tensor):
        array = numbers(value)
        usual = (
            ("float64", "int64") if isinstance(value, np.ndarray) else ("float32", "int64", "bool")
        )
        dtype = "" if dtype_name(value) in usual else f"{dtype_name(value)} "
        if shown and array.size <= SHOWN_INLINE and (array.size or array.ndim == 1):
            return f"{name}={dtype}{array_text(array)}"
        return f"{dtype}{name} of shape {array.shape}"
    if value is None or isinstance(value, int | float):
        return f"{name}={value}"
    match value:
        case {"stand_in": "dtype", "name": dtype}:
            return f"{name}=torch.{dtype}"
        case {"stand_in": "pairs", "pairs": pairs}:
            text = f"{{{', '.join(map(repr, pairs))}}}" if pairs else "set()"
        case {"stand_in": _}:  # a description of a model
            return name
        case _:
            text = repr(value)
    return f"{name}={text}" if shown and len(text) <= LONGEST_INLINE else name


def array_text(array):
    """Write a short array as nested lists, with six significant digits."""
    if array.ndim and array.size:
        return f"[{', '.join(map(array_text, array))}]"
    return str(array.tolist()) if array.dtype.kind in "biu" or array.ndim else f"{array:.6g}"


def in_places(wrong):
    """Say how many of the numbers are meant: ` in 2 of 6 places`; "" where there is one alone."""
    return f" in {int(wrong.sum())} of {wrong.size} places" if wrong.size > 1 else ""
