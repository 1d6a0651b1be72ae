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
            strangers(exercise, preparations),
            chances(exercise, preparations),
        )
        for fault in found
    ]


def twins(exercise, preparations):
    """Find wrong answers that answer like an older one, wherever they are asked."""
    older, found = {}, []
    for index, wrong in enumerate(exercise.misconceptions):
        answers = tuple(
            encode(case.lookalike(index)) for prepared in preparations for case in prepared.cases
        )
        if answers in older:
            found.append(f"{wrong.belief!r} answers exactly like {older[answers]!r}")
        older.setdefault(answers, wrong.belief)
    return found


def strangers(exercise, preparations):
    """Find cases with inputs that are not in the signature."""
    if inspect.isclass(exercise.reference):
        return []
    takes = list(inspect.signature(exercise.reference).parameters)
    return [
        f"{case.title!r} gives {name!r}; the signature has {takes}"
        for case in preparations[0].cases
        for name in case.inputs.get("forward", case.inputs)
        if name not in takes
    ]


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
