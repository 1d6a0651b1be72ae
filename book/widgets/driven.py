"""Explorers in a notebook: a learner's function is called with what the explorer shows, and the
explorer shows what it returns.

What one can move in an explorer are its inputs, each a trait of the widget. When they have changed,
`notebook.js` counts `asked` up, one question at a time. Python answers with `computed`, a
dictionary of

    number: the question that it answers,
    inputs: what the function was asked about,
    numbers: what it returned, or instead
    problem: a sentence that says why there is nothing to show.
"""

from functools import cache
from pathlib import Path

import anywidget
import numpy as np
import traitlets

from book.widgets.scripts import FOLDER, script, style

LONGEST = 300  # characters of an error message that are shown
# An echo would move a slider back to where it was when the question was sent.
MOVED = {
    "sync": True,
    "echo_update": False,
}


class Unfit(Exception):
    """What a learner's function did that cannot be shown, in a sentence."""


class Driven(anywidget.AnyWidget):
    """An explorer that shows what a learner's function returns.

    Args:
        ask: a function of the inputs, by name, that returns numbers by name: arrays, or anything
            that JSON can hold. It raises `Unfit` where the learner's function gives it nothing to
            show.
        yours: the name of the learner's function.
        fixed: what the explorer shows and nobody moves.
        inputs: where that starts which one can move.
    """

    asked = traitlets.Int(0).tag(**MOVED)
    computed = traitlets.Dict().tag(sync=True)
    # Not a trait for each entry: attention's `keys` is a name that widgets have taken.
    fixed = traitlets.Dict().tag(sync=True)
    yours = traitlets.Unicode().tag(sync=True)

    def __init__(self, ask, yours, fixed, **inputs):
        self._ask, self._inputs = ask, tuple(inputs)
        super().__init__(
            yours=yours, fixed=fixed, computed={"number": 0, **answer(ask, inputs)}, **inputs
        )
        self.observe(self._answer, names=["asked", *inputs])

    def _answer(self, change):
        inputs = {name: getattr(self, name) for name in self._inputs}
        # a message from the page changes several traits, each of which calls this; the function is
        # called once
        content = self.computed if inputs == self.computed["inputs"] else answer(self._ask, inputs)
        self.computed = {**content, "number": self.asked}


def answer(ask, inputs):
    """Ask with these inputs; return them with the numbers, or with the problem that a sentence
    describes.
    """
    try:
        return {
            "inputs": inputs,
            "numbers": {name: as_lists(found) for name, found in ask(**inputs).items()},
        }
    except Unfit as problem:
        return {"inputs": inputs, "problem": str(problem)}


def as_lists(found):
    """Return an array as lists, and anything else as it is."""
    return found.tolist() if isinstance(found, np.ndarray) else found


def drive(name, ask, function, inputs, fixed=None):
    """Make an explorer whose numbers come from a learner's function; for the arguments see
    `Driven`.
    """
    return _widget_class(name, tuple(sorted(inputs)))(ask, name_of(function), fixed or {}, **inputs)


def read(path):
    """Return what a script or style sheet says; they hold signs beyond ASCII."""
    return path.read_text(encoding="utf-8")


@cache
def _widget_class(name, inputs):
    traits = {key: traitlets.Any().tag(**MOVED) for key in inputs}
    scripts = (FOLDER / "kit.js", script(name), Path(__file__).parent / "notebook.js")
    parts = [*map(read, scripts), f'export default driven("{name}");\n']
    sheets = (FOLDER / "palette.css", FOLDER / "explorers.css", style(name))
    sources = {"_esm": "\n".join(parts), "_css": "\n".join(map(read, sheets))}
    return type(f"{name.title()}Explorer", (Driven,), {**sources, **traits})


def name_of(function):
    """Return the name of a function or class, as an error or a caption says it."""
    return getattr(function, "__name__", type(function).__name__)


def called(function, *arguments, speaker=None, **options):
    """Call a learner's function.

    Args:
        speaker: whose name the sentence bears; the function's own by default.

    Raises:
        Unfit: if it raises anything; the sentence holds the kind of error and its message. An
            interrupt counts: a loop without an end leaves no other way out.
    """
    try:
        return function(*arguments, **options)
    except Unfit:  # of a call within this one
        raise
    except (Exception, KeyboardInterrupt) as error:
        message = " ".join(str(error).split())
        if len(message) > LONGEST:
            message = f"{message[:LONGEST]} …"
        said = f"{type(error).__name__}: {message}" if message else f"{type(error).__name__}."
        raise Unfit(f"Your {name_of(speaker or function)} stopped with {said}") from error


def pair(found, function, names="output and weights"):
    """Return the two results of a function that returns two, called by these names.

    Raises:
        Unfit: if it is not two.
    """
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Unfit(
            f"Your {name_of(function)} returns {kind_of(found)}; it should return two arrays,"
            f" {names}."
        )
    return found


def numbers(found, shape, what, function):
    """Return what a function returned as float64.

    Args:
        found: a NumPy array, a tensor, or what can become one.
        shape: the shape that it should have; None for any length.
        what: what it is called in a sentence.

    Raises:
        Unfit: if it is no array of numbers, has another shape, or holds numbers that are not
            finite.
    """
    name = name_of(function)
    if hasattr(found, "detach"):  # a tensor
        found = found.detach().cpu()
        # NumPy has no bfloat16.
        found = (found.double() if found.is_floating_point() else found).numpy()
    try:
        array = np.asarray(found).astype(np.float64, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise Unfit(
            f"Your {name} returns {kind_of(found)} as {what}, which is no array of numbers."
        ) from error
    if array.ndim != len(shape) or any(
        size not in (None, has) for size, has in zip(shape, array.shape, strict=True)
    ):
        raise Unfit(
            f"Your {name} returns {what} of shape {array.shape}; here it should be"
            f" {shown_shape(shape)}."
        )
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)]
        raise Unfit(
            f"Your {name} returns {what} with {bad[0]} in {len(bad)} of {array.size} places."
        )
    return array


def kind_of(found):
    """Name the type of a result as a sentence does."""
    name = type(found).__name__
    # An ndarray, an int.
    return "None" if found is None else f"{'an' if name[0] in 'aeion' else 'a'} {name}"


def shown_shape(shape):
    """Write a shape with a word for an axis of any length."""
    return str(tuple("any" if size is None else size for size in shape)).replace("'any'", "any")


def made(module_class, parameters, *arguments, **options):
    """Return a learner's module with these parameters.

    Raises:
        Unfit: if it cannot be made, or has no parameters of these names and shapes.
    """
    module = called(module_class, *arguments, **options)
    missing = sorted(set(parameters) - set(called(module.state_dict, speaker=module_class)))
    if missing:
        raise Unfit(f"Your {name_of(module_class)} has no parameter {missing[0]}.")
    floats = {name: parameter.float() for name, parameter in parameters.items()}
    called(module.load_state_dict, floats, strict=False, speaker=module_class)
    return module.eval()
