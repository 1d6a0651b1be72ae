"""A default is part of what an exercise asks: an answer with another one loses a case."""

import inspect
import types

import pytest

from autograder.authoring.loading import load_exercises
from autograder.course import chapters
from tests.conftest import kept, prepared


def functions_of(reference):
    """Return the functions with defaults of a reference, by the name that they have in it."""
    if inspect.isfunction(reference):
        return {None: reference}
    return {name: vars(reference)[name] for name in ("__init__", "forward")}


def with_default(reference, within, name, value):
    """Return a reference that has another default."""
    function = functions_of(reference)[within]
    defaults = [
        value if each.name == name else each.default
        for each in inspect.signature(function).parameters.values()
        if each.default is not each.empty
    ]
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        tuple(defaults),
        function.__closure__,
    )
    return made if within is None else type(reference.__name__, (reference,), {within: made})


DEFAULTS = [
    pytest.param(exercise, within, each.name, id=f"{stem}:{name}:{each.name}")
    for stem in chapters()
    for name, exercise in load_exercises(stem).items()
    for within, function in functions_of(exercise.reference).items()
    for each in inspect.signature(function).parameters.values()
    if isinstance(each.default, int | float)
]


@pytest.mark.parametrize(("exercise", "within", "name"), DEFAULTS)
def test_another_default_loses_points(exercise, within, name):
    function = functions_of(exercise.reference)[within]
    default = inspect.signature(function).parameters[name].default
    for value in others(default):
        made = with_default(exercise.reference, within, name, value)
        assert kept(prepared(exercise, b"any"), made)[0] < 1, value


@pytest.mark.parametrize(
    "made",
    [
        lambda search: lambda *given, **named: search(*given, **named),
        lambda search: (
            lambda step, bos=1, eos=2, beam=None, most=64, penalty=0.6: search(
                step, bos, eos, beam or 4, most, penalty
            )
        ),
    ],
    ids=["a plain decorator", "None that means four"],
)
def test_a_signature_that_does_not_tell_loses_nothing(made):
    exercise = load_exercises("ch09_training")["beam_search"]
    assert kept(prepared(exercise, b"any"), made(exercise.reference)) == (1, [])


def others(default):
    """Return what else a default might be."""
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1, default + 2]
    return [1.5 * default + 0.01, 3 * default + 0.01]
