"""Whose implementation of each exercise goes into an export: the learner's where it passes its
checks, or else the course's.
"""

from dataclasses import dataclass
from datetime import datetime

from autograder.authoring.loading import load_exercises
from autograder.authoring.released import MISSING, solutions_in, stubs
from autograder.export.chapter import Chapter
from autograder.grading.grade import grade_notebook, suspects_of
from autograder.grading.handed_in.submission import read_submission, rebuild


@dataclass
class Standing:
    """Whose implementation of an exercise goes into the package.

    Args:
        yours: the learner's, or else the course's.
        why: why not the learner's, or what theirs needs beside it.
        doubt: why the learner's failed in their notebook, where that may be the fault of another
            function that it calls.
    """

    stem: str
    exercise: str
    yours: bool
    why: str = ""
    doubt: str = ""


def graded_work(stems, work):
    """Grade what is in a folder of notebooks.

    Returns:
        own: stem -> the learner's notebook, rebuilt.
        standings: list of Standing, one for each exercise.
    """
    own, standings = {}, []
    for stem in stems:
        path = work / f"{stem}.ipynb"
        if not path.exists():
            why = f"there is no work/{stem}.ipynb"
            standings += [Standing(stem, exercise, False, why) for exercise in load_exercises(stem)]
            continue
        saved = datetime.fromtimestamp(path.stat().st_mtime)
        print(
            f"{stem}: checking your notebook as you saved it at {saved:%H:%M} on {saved:%d %B} ...",
            flush=True,
        )
        notebook = own[stem] = rebuild(stem, read_submission(path))
        # It is your own code, on your own machine.
        grade_notebook(notebook, stem, student="you", unsandboxed=True)
        collectable = collectable_in(stem, notebook)
        standings += [
            standing_of(stem, exercise, notebook, exercise in collectable)
            for exercise in load_exercises(stem)
        ]
    return own, standings


def collectable_in(stem, notebook):
    """Return the exercises that a notebook answers with code of the learner's own."""
    standings = {name: Standing(stem, name, True) for name in load_exercises(stem)}
    chapter = Chapter(stem, notebook, standings, parts={})
    return {name for name in standings if chapter.is_collectable(name)}


def standing_of(stem, exercise, notebook, collectable):
    """Say whether a learner's implementation may go into the package.

    Args:
        collectable: whether it is code of their own.
    """
    record = notebook.metadata["autograder"]
    source = solutions_in(notebook)[exercise]
    if record["problem"]:
        return Standing(stem, exercise, False, record["problem"])
    cells = [cell for cell in record["cells"] if cell["exercise"] == exercise]
    failed = [case for cell in cells for case in cell["cases"] if not case["passed"]]
    if failed and source.strip() == stubs(stem)[exercise].strip():
        return Standing(stem, exercise, False, "yours is not begun")
    if failed and source == MISSING:
        return Standing(stem, exercise, False, "its cell is not in your notebook")
    if failed:
        message = " ".join(failed[0]["message"].split())
        why = f"yours fails “{failed[0]['title']}”: {message}"
        blamed = suspects_of(exercise, source, record["cells"])
        if blamed and collectable:
            beside = f"yours passes beside another {' and '.join(blamed)} than yours"
            return Standing(stem, exercise, True, beside, doubt=why)
        return Standing(stem, exercise, False, why)
    followed = sorted({name for cell in cells for name in cell.get("followed", ())})
    if followed and collectable:
        beside = f"yours passes beside another {' and '.join(followed)} than yours"
        return Standing(stem, exercise, True, beside)
    if not collectable:
        why = "yours passes, but your notebook takes it from elsewhere"
        return Standing(stem, exercise, False, why)
    return Standing(stem, exercise, True)
