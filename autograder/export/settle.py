"""Parts that work together: each was checked beside others than those it meets in an export, so the
whole is checked again, and what does not work in this company gives way to the course's.
"""

import re
import secrets
import tempfile
from pathlib import Path

from autograder.authoring.loading import load_exercises
from autograder.boundary.kernel import LearnerKernel
from autograder.boundary.sandbox import boundary
from autograder.course import CourseError
from autograder.export.chapter import chapters_of
from autograder.grading.grade import Limits, ask_all
from autograder.shared.judge import judge, share

PACKAGE_SECONDS = 300  # to try a whole package
IMPORT = """
import sys, traceback
sys.path.insert(0, {folder!r})
try:
    from candidate import *
except BaseException as error:
    frames = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.name == "<module>" and frame.filename.startswith({folder!r})
    ]
    if isinstance(error, SyntaxError) and str(error.filename).startswith({folder!r}):
        frames.append((error.filename, error.lineno))
    for filename, line in frames[-1:]:
        print("stopped at", filename, "line", line)
    raise
"""


def settled_files(standings, own, references):
    """Return the files of a package whose parts work together: name -> text.

    Args:
        standings: list of Standing; those of the learner's parts that do not work in this company
            become the course's.
        own: stem -> the learner's notebook, rebuilt.
        references: stem -> the course's own.

    Raises:
        CourseError: if even the course's own parts fail.
    """
    while True:
        chapters = chapters_of(standings, own, references)
        if without_what_they_use(chapters, standings):
            continue
        files = files_of(chapters, standings)
        if not withdraw(failures_of(files, chapters, standings), chapters, standings):
            return files


def files_of(chapters, standings):
    """Return the modules of a package, and an `__init__.py` that has every exercise by name."""
    names = {stem: [each.exercise for each in standings if each.stem == stem] for stem in chapters}
    imports = [f"from .{stem} import {', '.join(names[stem])}" for stem in chapters]
    exported = "".join(f'    "{standing.exercise}",\n' for standing in standings)
    opening = "\n".join(imports) + f"\n\n__all__ = [\n{exported}]\n"
    return {
        "__init__.py": opening,
        **{f"{stem}.py": chapter.text() for stem, chapter in chapters.items()},
    }


def without_what_they_use(chapters, standings):
    """Let the course's parts replace those of the learner's that use a name which their module does
    not have; return whether there were any.
    """
    found = False
    for standing in standings:
        missing = chapters[standing.stem].needs(standing.exercise).missing
        if standing.yours and missing:
            names = " and ".join(sorted(missing))
            standing.yours, found = False, True
            standing.why = (
                standing.doubt
                or f"yours passes, but uses {names}, which no cell before its check defines"
            )
    return found


def failures_of(files, chapters, standings):
    """Check the parts of a package as the grader checks a notebook, except what is imported from
    the course.

    Returns:
        dict: exercise -> message of the first case that fails, or what stops the import of the
            package there.
    """
    failures = {}
    limits = Limits()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder) / "candidate", files)
        around = boundary(standings[0].stem, unsandboxed=True)
        with LearnerKernel(around, PACKAGE_SECONDS) as kernel:
            kernel.run("__import__('torch');", limits.cell)
            ran = kernel.run(IMPORT.format(folder=folder), limits.cell)
            if ran.status != "ok":
                return stopped(ran, limits, chapters, standings)
            for standing in standings:
                if is_imported(standing, chapters):
                    continue
                exercise = load_exercises(standing.stem)[standing.exercise]
                prepared = exercise.prepare(secrets.token_bytes(16))
                verdicts = judge(prepared, ask_all(kernel, prepared, limits, None))
                if share(verdicts) < 1:
                    failed = next(each for each in verdicts if not each.passed)
                    failures[standing.exercise] = failed.message
    return failures


def write_files(folder, files):
    """Write a package into a new folder."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")


def is_imported(standing, chapters):
    """Return whether a part comes from the course as it is."""
    parts = chapters[standing.stem].parts
    return parts.get(standing.exercise, "").startswith("from solutions.")


def stopped(ran, limits, chapters, standings):
    """Return exercise -> why, for those that need what stopped the import of a package."""
    why = f"the package stops with {ran.error or ran.status}"
    if ran.status == "timeout":
        why = f"the package takes more than {limits.cell:.0f} s to import"
    where = re.findall(r"^stopped at .*?(\w+)\.py line (\d+)$", ran.text, re.MULTILINE)
    found = []
    for stem, line in where[-1:]:
        found = chapters[stem].exercises_at(int(line)) if stem in chapters else []
    every = [each.exercise for each in standings]
    return dict.fromkeys(found or every, why)


def withdraw(failures, chapters, standings):
    """Let the course's parts replace those of the learner's that fail in the package, or that make
    the course's fail.

    Returns:
        whether any did.

    Raises:
        CourseError: if parts fail that only the course's are used by.
    """
    by_name = {standing.exercise: standing for standing in standings}
    culprits = {name: message for name, message in failures.items() if by_name[name].yours}
    for name, message in failures.items() if not culprits else ():
        used = chapters[by_name[name].stem].needs(name).names & set(by_name)
        culprits |= {each: f"{name}: {message}" for each in used if by_name[each].yours}
    if not culprits and failures:
        message = next(iter(failures.values()))
        culprits = {standing.exercise: message for standing in standings if standing.yours}
    if not culprits and failures:
        name, message = next(iter(failures.items()))
        raise CourseError(
            f"the course's own {name} fails in this package: {message}; please report it"
        )
    for name, message in culprits.items():
        again = chapters[by_name[name].stem].bound_again(name)
        company = "yours passes, but not beside the parts here"
        if by_name[name].doubt:
            company = "yours fails, also beside the parts here"
        elif again:
            names = " and ".join(again)
            company = (
                f"yours passes, but a later cell of your notebook redefines {names}; use another"
                " name there"
            )
        by_name[name].yours, by_name[name].why = False, f"{company}: {message}"
    return bool(culprits)
