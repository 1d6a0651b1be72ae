"""What can be wrong with an exercise's checks and shows only when they are drawn and answered; too
slow for grading, so the tests ask.
"""

import inspect

from autograder.authoring.obeyed import laws_obeyed
from autograder.shared.wire import encode


def faults_of(exercise, preparations):
    """Return what is wrong with an exercise, a sentence each.

    Args:
        exercise: an Exercise.
        preparations: what it prepared, all cases, from a seed each.
    """
    return [
        f"{exercise.name}: {fault}"
        for found in (
            twins(exercise, preparations),
            misplaced(exercise, preparations),
            chances(exercise, preparations),
        )
        for fault in found
    ]


def twins(exercise, preparations):
    """Find wrong answers that answer like an older one, wherever they are asked."""
    alike = [range(len(exercise.misconceptions))]
    for case in (case for prepared in preparations for case in prepared.cases):
        alike = [part for indices in alike for part in not_told_apart(case, indices)]
    pairs = sorted((index, oldest) for oldest, *younger in alike for index in younger)
    beliefs = [wrong.belief for wrong in exercise.misconceptions]
    return [f"{beliefs[one]!r} answers exactly like {beliefs[other]!r}" for one, other in pairs]


def not_told_apart(case, indices):
    """Return those of some wrong answers that answer a case alike, as lists of two or more."""
    by_answer = {}
    for index in indices:
        by_answer.setdefault(encode(case.lookalike(index)), []).append(index)
    return [part for part in by_answer.values() if len(part) > 1]


def misplaced(exercise, preparations):
    """Find cases whose inputs are not what a signature begins with, in its order: probes hand them
    over by position.
    """
    declared = {case.title for case in exercise.cases}
    return list(
        dict.fromkeys(
            f"{case.title!r} gives {given}; the signature begins {takes}"
            for prepared in preparations
            for case in prepared.cases
            if case.title in declared
            for given, takes in names_given(exercise.reference, case.inputs)
            if given != takes
        )
    )


def names_given(reference, inputs):
    """Yield the names of the inputs of each call that a case makes, and as many that its signature
    begins with.
    """
    calls = [(reference, inputs.get("constructor", inputs.get("forward", inputs)))]
    if "constructor" in inputs and "forward" in inputs:
        method = getattr(reference, inputs.get("method", "forward"))
        calls.append((method, {"self": None, **inputs["forward"]}))
    for function, given in calls:
        yield list(given), list(inspect.signature(function).parameters)[: len(given)]


def chances(exercise, preparations):
    """Find cases in which the reference obeys a law of the exercise with some numbers and not with
    others.
    """
    found = []
    for index, case in enumerate(exercise.cases):
        drawn = [prepared.cases[index] for prepared in preparations]
        obeyed = {
            repr(laws_obeyed(exercise.laws, each.inputs, each.expected, exercise.returns))
            for each in drawn
        }
        if case.properties is None and len(obeyed) > 1:
            found.append(f"{case.title!r} obeys a law by chance; say which in its laws=")
    return found
