"""What is wrong with an observation, as a clause: did it run, type, shape, finite, the laws that it
must obey, the numbers; the first that is found counts.
"""

import inspect
import re

import numpy as np

from autograder.shared.laws import LAWS, apart
from autograder.shared.substance import numbers_of
from autograder.shared.tolerances import close, same
from autograder.shared.wire import Opaque, Tensor, dtype_name, numbers
from autograder.shared.wording import article, describe, entry_text, in_places, value_text

# What Python says of an argument that a function has not, and torch of how to leave it.
UNKNOWN_ARGUMENT = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
AWAY_FROM_TORCH = re.compile(r"\. Use [Tt]ensor\.(detach|cpu)\(\).*", re.DOTALL)
WITHOUT_SUPER = "does `__init__` begin with `super().__init__()`?"
MANY_TRUTHS = (
    "many numbers have no single truth value, which `if`, `and`, `or`, `not`, `in`, `max` or a"
    " chain such as `a < b < c` would need"
)
BEFORE_COMPARISONS = "Python evaluates `&` and `|` before a comparison, so what do yours combine?"
IN_PLACE = "which line of yours writes into a tensor instead of making a new one?"
WHERE = "which of them was made without saying where?"
NO_POWER = "in Python `^` is no power"
FLOAT_SIZE = "a size is a whole number, and `/` always gives a float"
LAST_AXES = (
    "shapes are lined up at their last axes, where two sizes must be equal, or one of them 1"
)
MET_IN_A_PRODUCT = "in `a @ b` the last axis of `a` meets the last but one of `b`"
# Words of an exception's message, and what it means whatever the exercise.
MEANINGS = (
    ("before Module.__init__() call", WITHOUT_SUPER),
    ("has no attribute '_parameters'", WITHOUT_SUPER),
    ("more than one value is ambiguous", MANY_TRUTHS),
    ("more than one element is ambiguous", MANY_TRUTHS),
    ("bitwise_and", BEFORE_COMPARISONS),
    ("bitwise_or", BEFORE_COMPARISONS),
    ("bitwise_xor", NO_POWER),
    ("operand type(s) for ^", NO_POWER),
    ("being used in an in-place operation", IN_PLACE),
    ("modified by an inplace operation", IN_PLACE),
    ("tuple of ints,but got float", FLOAT_SIZE),
    ("'float' object cannot be interpreted as an integer", FLOAT_SIZE),
    ("could not be broadcast together", LAST_AXES),
    ("at non-singleton dimension", LAST_AXES),
    ("mismatch in its core dimension", MET_IN_A_PRODUCT),
    ("shapes cannot be multiplied", MET_IN_A_PRODUCT),
    ("dimensions of batch2 tensor to be", MET_IN_A_PRODUCT),
    ("tensors to be on the same device", WHERE),
    ("is not on the expected device", WHERE),
)


def find(exercise, case, seen):
    """Return the first thing wrong with an observation, as a clause, or None."""
    if not seen:
        return "gave no answer"
    if "unfit" in seen:
        return seen["unfit"]
    if "raised" in seen or "raised" in case.expected:
        return find_in_exception(exercise.name, case.expected.get("raised"), seen)
    if "changed" in case.expected:
        return find_in_changed(seen.get("changed", ["an argument"]))
    leaves, found = all_leaves(exercise, case, seen)
    if found:
        return found
    for stage in STAGES:
        for name, wanted, got in leaves:
            if found := stage(name, wanted, got):
                return found
    for law, arguments in case.properties:
        inputs = case.inputs.get("forward", case.inputs)
        if found := LAWS[law](inputs, {name: got for name, _, got in leaves}, **arguments):
            return found
    return next(
        (found for leaf in leaves if (found := find_in_values(*leaf, case))),
        None,
    )


def find_in_exception(name, expected, seen):
    """Return what is wrong where the function or the reference raised an exception, or None if both
    raised alike.
    """
    if "raised" not in seen:
        returned = describe(seen.get("result"))
        return (
            f"it returned {returned}, but should raise a {expected['type']} that says what is wrong"
        )
    raised = seen["raised"]
    if told := stub_in(seen):
        stub, method = told
        own = stub in (name, "")
        if method:
            whose = f"has a method {method} that" if own else f"calls {stub}, whose method {method}"
        else:
            whose = "" if own else f"calls {stub}, which"
        clause = f"{whose} is still the stub; replace `raise NotImplementedError` with your code"
        return clause.strip()
    if expected and expected["type"] in raised["bases"]:
        return None
    where = (
        f", in line {raised['line']} of its cell: `{raised['source']}`"
        if raised["line"] is not None
        else ""
    )
    should = f", but should raise a {expected['type']}" if expected else ""
    message = AWAY_FROM_TORCH.sub("", raised["message"].strip()).rstrip(".")
    return f"it raised {article(raised['type'])}{': ' if message else ''}{message}{where}{should}"


def meaning(expected, seen):
    """Say what an exception that was not expected means, whatever the exercise, as a clause; "" of
    one that speaks for itself.
    """
    if "raised" not in seen or "raised" in expected:
        return ""
    raised = seen["raised"]
    if raised["meant"]:
        return f"did you mean `{raised['meant']}`?"
    if raised["type"] == "NameError":
        in_method = "." in raised["function"].replace(".<locals>.", "")
        belongs = "does it belong to `self`, or " if in_method else ""
        return f"{belongs}is it defined anywhere above?"
    if raised["type"] == "SystemExit":
        return "that ends the whole program, and a function ends with `return`"
    if AWAY_FROM_TORCH.search(raised["message"]):
        return "torch has functions of its own, which keep the gradients and the device"
    if clause := next((clause for words, clause in MEANINGS if words in raised["message"]), ""):
        return clause
    called = UNKNOWN_ARGUMENT.match(raised["message"])
    if not called:
        return ""
    name, argument = called.groups()
    if argument in ("dim", "keepdim") and (name.startswith("_") or hasattr(np, name)):
        return f"`{argument}` is torch's word: what does NumPy call it?"
    return f"what are the arguments of {name} called?"


def stub_in(seen):
    """Return the function or class that an observation of a stub left as it was is about, and which
    method of the class, or ""; () where there is none.
    """
    if "raised" not in seen or not seen["raised"]["stub"]:
        return ()
    name, _, method = seen["raised"]["function"].partition(".")
    return name, method if method.isidentifier() else ""


def find_in_changed(changed):
    """Return that the function changed its arguments, or None."""
    if not changed:
        return None
    return (
        f"it changed {' and '.join(changed)}; arguments belong to the caller, and must stay as they"
        " were"
    )


def all_leaves(exercise, case, seen):
    """Pair all parts of what was expected in a case with those of what was seen: of the result, and
    of what was noted beside it.

    Returns:
        list of (name, wanted, got), and None or a clause that says why the parts do not correspond.
    """
    leaves, found = [], None
    if "result" in case.expected:
        leaves, found = pair_up(case.expected["result"], seen.get("result"), exercise.returns)
    for name, wanted in case.expected.get("noted", {}).items():
        got = seen.get("noted", {}).get(name)
        found = found or find_in_type(name, wanted, got)
        leaves.append((name, wanted, got))
    return leaves, found


def parts_that_are_right(exercise, case, seen):
    """Return the names of those returned values that are right, where several are returned and
    something else is wrong.
    """
    if "raised" in seen or not isinstance(case.expected.get("result"), tuple):
        return []
    leaves, _ = all_leaves(exercise, case, seen)
    stages = (find_in_type, *STAGES)
    fitting = {leaf[0]: leaf for leaf in leaves if not any(stage(*leaf) for stage in stages)}
    inputs = case.inputs.get("forward", case.inputs)
    results = {name: got for name, (_, _, got) in fitting.items()}
    broken = {
        speaks_of(law, arguments)
        for law, arguments in case.properties
        if speaks_of(law, arguments) in results and LAWS[law](inputs, results, **arguments)
    }
    return [
        name
        for name, leaf in fitting.items()
        if name in exercise.returns and name not in broken and not find_in_values(*leaf, case)
    ]


def speaks_of(law, arguments):
    """Return the name of the returned value that a law is about."""
    return arguments.get("of", inspect.signature(LAWS[law]).parameters["of"].default)


def wrong_numbers(exercise, case, seen):
    """Return the numbers, wanted and got, of all parts in which they differ."""
    if "raised" in case.expected or "changed" in case.expected:
        return []
    pairs = [
        (numbers_of(wanted), numbers_of(got))
        for name, wanted, got in all_leaves(exercise, case, seen)[0]
        if not same(wanted, got, case.exact)
        and not (find_in_type(name, wanted, got) or find_in_dtype(name, wanted, got))
    ]
    return [pair for pair in pairs if not any(each is None for each in pair)]


def pair_up(wanted, got, names=()):
    """Pair the parts of what was wanted with those of what was returned.

    Args:
        wanted, got: the reference's result and the learner's.
        names: of the returned values, where there are several.

    Returns:
        list of (name, wanted, got), and None or a clause that says why the parts do not correspond.
    """
    if got is None and wanted is not None:
        return [], "it returned None; is a `return` missing?"
    if isinstance(wanted, tuple) and names:
        if not isinstance(got, tuple | list) or len(got) != len(wanted):
            return [], f"it returned {describe(got)}, but should return ({', '.join(names)})"
        leaves = list(zip(names, wanted, got, strict=True))
    else:
        leaves = [("the result", wanted, got)]
    return leaves, next(filter(None, (find_in_type(*leaf) for leaf in leaves)), None)


def find_in_type(name, wanted, got):
    """Return that a value is of another type than it should be, or None."""
    if isinstance(wanted, np.ndarray | Tensor):
        fits = isinstance(got, type(wanted))
        should = (
            f"a {'torch tensor' if isinstance(wanted, Tensor) else 'NumPy array'} of"
            f" {dtype_name(wanted)}"
        )
    elif type(wanted) is float or type(wanted) is int:
        fits = type(got) in (int, float)
        should = "a Python number"
    elif isinstance(wanted, Opaque):
        fits = isinstance(got, Opaque) and got == wanted
        should = describe(wanted)
    else:
        fits = type(got) is type(wanted)
        should = article(type(wanted).__name__)
    return None if fits else f"{name} is {describe(got)}, but should be {should}"


def find_in_dtype(name, wanted, got):
    """Return that an array has another dtype than it should have, or None."""
    if isinstance(wanted, np.ndarray | Tensor) and dtype_name(wanted) != dtype_name(got):
        return f"{name} has dtype {dtype_name(got)}, but should have {dtype_name(wanted)}"
    return None


def find_in_shape(name, wanted, got):
    """Return that an array has another shape than it should have, or None."""
    if isinstance(wanted, np.ndarray | Tensor) and numbers(wanted).shape != numbers(got).shape:
        return f"{name} has shape {numbers(got).shape}, but should have {numbers(wanted).shape}"
    return None


def find_in_finiteness(name, wanted, got):
    """Return that there are infinities or NaNs where finite numbers should be, or None."""
    if not isinstance(wanted, np.ndarray | Tensor) or numbers(wanted).dtype.kind != "f":
        return None
    bad = np.isfinite(numbers(wanted)) & ~np.isfinite(numbers(got))
    if not bad.any():
        return None
    what = "nan" if np.isnan(numbers(got)[bad]).any() else "infinite"
    return f"{name} is {what}{in_places(bad)}"


STAGES = (find_in_dtype, find_in_shape, find_in_finiteness)


def find_in_values(name, wanted, got, case):
    """Return that numbers, words or entries differ, or None."""
    if isinstance(wanted, dict):
        return find_in_dictionary(name, wanted, got, entries_shown=case.visible)
    if {type(wanted), type(got)} == {int, float} and wanted == got:
        should = "the whole number " if isinstance(wanted, int) else ""
        return f"{name} is the {type(got).__name__} {got}, but should be {should}{wanted}"
    if not isinstance(wanted, np.ndarray | Tensor):
        return (
            None
            if same(wanted, got, case.exact)
            else f"{name} is {value_text(got)}, but should be {value_text(wanted)}"[:300]
        )
    wrong = ~close(wanted, got, case.exact)
    if not wrong.any():
        return None
    if not case.visible:
        return f"{name} is wrong{in_places(wrong)}"
    place = np.unravel_index(np.argmax(wrong), wrong.shape)
    spot = f"{name.removeprefix('the ')}[{', '.join(map(str, place))}]" if place else name
    shown, should = apart(numbers(got)[place], numbers(wanted)[place])
    rest = f"; {name} is wrong{in_places(wrong)}" if wrong.size > 1 else ""
    return f"{spot} is {shown}, but should be {should}{rest}"


def find_in_dictionary(name, wanted, got, *, entries_shown):
    """Return the first entry in which two dictionaries differ, or None."""
    if same(wanted, got):
        return None
    if not entries_shown:
        right = sum(key in got and same(entry, got[key]) for key, entry in wanted.items())
        count = (
            ""
            if len(got) == len(wanted)
            else f"{name} has {len(got)} entries, but should have {len(wanted)}; "
        )
        return (
            f"{count}{right} of its entries are right"
            if count
            else f"{right} of the {len(wanted)} entries are right"
        )
    missing = [key for key in wanted if key not in got]
    if missing:
        return f"{name} has no entry for {missing[0]!r}"
    extra = [key for key in got if key not in wanted]
    if extra:
        return f"{name} has an entry for {extra[0]!r}, which should not be there"
    wrong = [key for key in wanted if not same(wanted[key], got[key])]
    if wrong:
        return (
            f"{wrong[0]!r} has {entry_text(got[wrong[0]])}, but should have"
            f" {entry_text(wanted[wrong[0]])}"
        )
    return None
