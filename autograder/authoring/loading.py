"""The exercises of a chapter, loaded from the files that declare them and from a class's own."""

import importlib
import importlib.util
import re
import sys
from dataclasses import replace
from functools import cache, lru_cache

from autograder.authoring.exercise import Exercise
from autograder.authoring.faults import misplaced
from autograder.course import PRIVATE, ROOT, CourseError, source_of

EXERCISE_CELL = re.compile(r'^# %%.*\bexercise="(\w+)"', re.MULTILINE)
# the same, with all that is below it until the next cell
SOLUTION = re.compile(r'^# %%.*\bexercise="(\w+)".*\n((?:(?!# %%).*\n?)*)', re.MULTILINE)
MOST_SEEDS = 8  # whose questions are kept; they take a few megabytes


@lru_cache(MOST_SEEDS)
def questions_of(stem, seed):
    """Return all questions of a chapter that a seed draws, with the reference's answers.

    To answer them ourselves takes as long as a learner's process does, so it is done once for all
    who are asked the same.

    Returns:
        dict: PreparedExercise by kind and name of a graded cell: ("check", "softmax") the visible
            cases, ("hidden", "softmax") the rest.
    """
    exercises = load_exercises(stem)
    return {
        (kind, name): exercise.prepare(seed, visible=kind == "check")
        for name, exercise in exercises.items()
        for kind in ("check", "hidden")
    }


@cache
def solution_sources(stem):
    """Return the reference's source of each exercise of a chapter."""
    text = source_of(stem).read_text(encoding="utf-8")
    return {name: source.strip() for name, source in SOLUTION.findall(text)}


def load_exercises(stem):
    """Return the exercises of a chapter by name, in order, and have them calculate on one thread.
    This imports the reference: only a grader's process may.

    A class's own hidden cases, in `autograder/private/<stem>.py`, are laid over those that
    everybody can read.

    Raises:
        CourseError: if the chapter has no checks, or the private ones do not fit it.
    """
    exercises = declared_exercises(stem)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # sums depend on it; learners' processes have one, too
    try:
        for name, cases in private_cases(stem).items():
            if name not in exercises:
                there = ", ".join(exercises)
                raise CourseError(
                    f"autograder/private/{stem}.py has cases for {name!r}; there are: {there}"
                )
            exercises[name] = with_private_cases(stem, exercises[name], cases)
    except CourseError:
        raise
    except Exception as error:  # it is somebody's own code
        raise CourseError(
            f"autograder/private/{stem}.py stops with {type(error).__name__}: {error}"
        ) from error
    return exercises


def declared_exercises(stem):
    """Return the exercises that `autograder/checks/<stem>/` declares, in the order of the source.

    Raises:
        CourseError: if the source has exercises without checks, or the checks are of none.
    """
    folder = ROOT / "autograder" / "checks" / stem
    source = source_of(stem)
    names = EXERCISE_CELL.findall(source.read_text(encoding="utf-8")) if source.exists() else [stem]
    written = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    if missing := [name for name in names if name not in written]:
        raise CourseError(
            f"{missing[0]} has no checks; write autograder/checks/{stem}/{missing[0]}.py"
            " (CONTRIBUTING.md shows how)"
        )
    if others := sorted(written.difference(names)):
        raise CourseError(
            f"autograder/checks/{stem}/{others[0]}.py is of no exercise in solutions/{stem}.py;"
            f" there are: {', '.join(names)}"
        )
    return {name: declared_exercise(stem, name) for name in names}


def declared_exercise(stem, name):
    """Return the exercise that a file of checks declares."""
    module = importlib.import_module(f"autograder.checks.{stem}.{name}")
    for value in vars(module).values():
        exercise = getattr(value, "exercise", None)
        if isinstance(exercise, Exercise) and exercise.name == name:
            return exercise
    raise CourseError(f"autograder/checks/{stem}/{name}.py should hold Checks(reference.{name})")


def private_cases(stem):
    """Return a class's own cases of a chapter, by exercise."""
    path = PRIVATE / f"{stem}.py"
    if not path.exists():
        return {}
    spec = importlib.util.spec_from_file_location(f"private_{stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not isinstance(getattr(module, "CASES", None), dict):
        raise CourseError(
            f'autograder/private/{stem}.py should hold CASES = {{"exercise": (Case(...), ...)}}'
        )
    return module.CASES


def with_private_cases(stem, exercise, cases):
    """Return an exercise with more hidden cases.

    Raises:
        CourseError: if one of them could not be told from another, or is no question that the
            reference answers.
    """
    titles = {case.title for case in exercise.cases}
    for case in cases:
        if case.visible or case.title in titles:
            what = "is visible; say visible=False" if case.visible else "has the title of another"
            raise CourseError(
                f"in autograder/private/{stem}.py, a case of {exercise.name} {what}: {case.title!r}"
            )
        titles.add(case.title)
    more = replace(exercise, cases=(*exercise.cases, *cases))
    prepared = more.prepare(b"any", visible=False)
    for case in prepared.cases[-len(cases) :] if cases else ():
        raised = case.expected.get("raised", {"deliberate": True})
        if "unfit" in case.expected or not raised["deliberate"]:
            why = case.expected.get("unfit") or f"stops with {raised['type']}: {raised['message']}"
            raise CourseError(
                f"in autograder/private/{stem}.py, {case.title!r}: the reference {exercise.name}"
                f" {why}"
            )
    if faults := misplaced(more, [prepared]):
        raise CourseError(f"in autograder/private/{stem}.py, {faults[0]}")
    return more
