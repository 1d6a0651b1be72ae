"""Wrong answers that most exercises have, made from the reference, by name."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np


@dataclass(frozen=True)
class Usual:
    """A wrong answer to any exercise.

    Args:
        belief, hint: as of a wrong answer of one exercise; an exercise may give better ones.
        make: `make(reference)` returns the wrong implementation.
    """

    belief: str
    hint: str
    make: Callable


def of_arguments(change):
    """Make wrong answers that change each argument and then do it right."""

    def make(reference):
        @wraps(reference)
        def wrong(*arguments, **named):
            changed = {name: change(argument) for name, argument in named.items()}
            return reference(*map(change, arguments), **changed)

        return wrong

    return make


def of_argument(**changes):
    """Make wrong answers that change single arguments, by name, and then do it right:
    `of_argument(eps=1e-5)` for one that ignores its argument, and
    `of_argument(max_len=lambda max_len: max_len + 1)`, which leaves a None as it is. Of a class,
    arguments that make it, or those of its `forward`.
    """

    def make(reference):
        right, method = reference, "forward"
        if inspect.isclass(reference):
            if set(changes) <= set(inspect.signature(reference).parameters):
                method = "__init__"
            right = getattr(reference, method)
        signature = inspect.signature(right)

        @wraps(right)
        def wrong(*arguments, **named):
            given = signature.bind(*arguments, **named)
            given.apply_defaults()
            for name, change in changes.items():
                old = given.arguments[name]
                if not callable(change):
                    given.arguments[name] = change
                elif old is not None:
                    given.arguments[name] = change(old)
            return right(*given.args, **given.kwargs)

        return instead_of(method, wrong, reference)

    return make


def exchanging(one, other):
    """Make wrong answers that take two arguments, of a class those of its `forward`, for each
    other.
    """

    def make(reference):
        right = reference.forward if inspect.isclass(reference) else reference
        signature = inspect.signature(right)

        @wraps(right)
        def wrong(*arguments, **named):
            given = signature.bind(*arguments, **named)
            taken = given.arguments
            taken[one], taken[other] = taken[other], taken[one]
            return right(*given.args, **given.kwargs)

        return instead_of("forward", wrong, reference)

    return make


def of_result(change):
    """Make wrong answers that do it right and then change the result; of a class, that of its
    `forward`.
    """

    def make(reference):
        right = reference.forward if inspect.isclass(reference) else reference

        @wraps(right)
        def wrong(*arguments, **named):
            return change(right(*arguments, **named))

        return instead_of("forward", wrong, reference)

    return make


def instead_of(method, wrong, reference):
    """Return `wrong`, or a class like the reference with `wrong` as a method of that name."""
    if inspect.isclass(reference):
        return type(reference.__name__, (reference,), {method: wrong})
    return wrong


def each(change):
    """Turn a change of one value into a change of a result that may have several."""

    def change_all(result):
        if isinstance(result, tuple):
            return tuple(map(change, result))
        return change(result)

    return change_all


def cast(dtype):
    """Make a change that casts floating arrays and tensors to a dtype, "float32" or "float64"."""

    def change(value):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return value.astype(dtype)
        torch = sys.modules.get("torch")
        if torch and isinstance(value, torch.Tensor) and value.is_floating_point():
            return value.to(getattr(torch, dtype))
        return value

    return change


def in_dtype(dtype):
    """Make wrong answers of one dtype; those of a class leave its weights as they are."""
    from_arguments, from_result = of_arguments(cast(dtype)), of_result(each(cast(dtype)))
    return lambda reference: (from_result if inspect.isclass(reference) else from_arguments)(
        reference
    )


def after_zeroing_the_first(reference):
    """Make a wrong answer that does it right, and leaves zeros in its first argument."""

    @wraps(reference)
    def wrong(first, *arguments, **named):
        result = reference(first, *arguments, **named)
        (first.detach() if hasattr(first, "detach") else first)[...] = 0
        return result

    return wrong


def after_flattening_the_arguments(reference):
    """Make a wrong answer that does it right, and leaves its arrays with a single axis."""

    @wraps(reference)
    def wrong(*arguments):
        result = reference(*arguments)
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument.resize(argument.size, refcheck=False)
        return result

    return wrong


def through_float32(reference):
    """Make a wrong answer whose numbers have been float32 on their way to the right dtype."""
    in_float32 = in_dtype("float32")(reference)

    @wraps(reference)
    def wrong(*arguments, **named):
        return in_float32(*arguments, **named).astype(reference(*arguments, **named).dtype)

    return wrong


def into_an_argument(reference):
    """Make a wrong answer that writes its result into the first argument of the result's shape."""

    @wraps(reference)
    def wrong(*arguments, **named):
        result = reference(*arguments, **named)
        for argument in arguments:
            if getattr(argument, "shape", None) == result.shape:
                argument[...] = result
                return argument
        return result

    return wrong


USUAL = {
    "in float64": Usual(
        "the result is float64 whatever comes in",
        "Somewhere your numbers become float64. Which of your operations does that?",
        in_dtype("float64"),
    ),
    "in float32": Usual(
        "the result is float32 whatever comes in",
        "The result should have the dtype of the arguments. Which of your steps chooses another?",
        in_dtype("float32"),
    ),
    "through float32": Usual(
        "float32 is precise enough",
        "Only about the first seven digits are right. Through which narrower dtype do your numbers"
        " pass on their way?",
        through_float32,
    ),
    "into an argument": Usual(
        "the caller's array may be written into",
        "The numbers are right, but compare the arguments before and after the call. Which line of"
        " yours writes into one of them instead of making a new array?",
        into_an_argument,
    ),
    "detached": Usual(
        "numbers may be copied out and in again",
        "The numbers are right, but no gradient can flow back through them. Which step leaves"
        " PyTorch, or copies bare numbers into a new tensor?",
        of_result(each(lambda tensor: tensor.detach().clone())),
    ),
    "inverted": Usual(
        "True means masked",
        "Your True and False are swapped. What does True mean in the masks of this course?",
        of_result(lambda mask: ~mask),
    ),
    "transposed": Usual(
        "rows and columns are swapped",
        "The numbers are right, but rows and columns are swapped. What should a row belong to, and"
        " what a column?",
        of_result(lambda matrix: matrix.swapaxes(-2, -1)),
    ),
    "negated": Usual(
        "the sign is flipped",
        "The size is right, but the sign is not. Which way should the result point?",
        of_result(lambda numbers: -numbers),
    ),
    "in another order": Usual(
        "the returned values may come in any order",
        "All values are there. In which order should you return them?",
        of_result(lambda results: results[::-1]),
    ),
    "as numbers": Usual(
        "ones and zeros are as good as True and False",
        "Your numbers say the right thing, but in the wrong type. What does `~` make of an integer"
        " 1, and what does it make of True?",
        of_result(lambda mask: mask.int()),
    ),
    "as a float": Usual(
        "a whole number may come as a float",
        "The number is right, but its type is not. Which type does the docstring ask for?",
        of_result(float),
    ),
    "added to the scores": Usual(
        "a mask is what is added to the scores",
        "You return what would be added to the scores, but that comes later. Which dtype does a"
        " mask have in this course?",
        of_result(lambda mask: (~mask).float().masked_fill(~mask, float("-inf"))),
    ),
    "without axes of length 1": Usual(
        "an axis of length 1 may be left out",
        "Count the axes of your result. Which ones are missing, and what would the remaining axes"
        " line up with when the result is broadcast?",
        of_result(each(lambda result: result.squeeze())),
    ),
    "on the default device": Usual(
        "a new tensor is made where it is needed",
        "PyTorch makes a new tensor on the default device unless you say otherwise. Which of yours"
        " should be on another device?",
        of_argument(device=None),
    ),
    "changes its argument": Usual(
        "the caller's arguments may be written into",
        "Compare the arguments before and after the call. Which line writes into one of them"
        " instead of making a new array?",
        after_zeroing_the_first,
    ),
    "reshapes its arguments": Usual(
        "the caller's arrays may be reshaped",
        "Compare the arguments, with their shapes, before and after the call. Which line changes"
        " one of them instead of making a new array?",
        after_flattening_the_arguments,
    ),
}
