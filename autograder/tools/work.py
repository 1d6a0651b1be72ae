"""For whoever studies alone: own copies of the notebooks in `work/`, graded on request. Nothing
here overwrites what a learner wrote.
"""

import shutil
from datetime import datetime

from autograder.course import ROOT, WORK, CourseError, chapters, notebook_of
from autograder.grading.grade import grade_notebook
from autograder.grading.submission import read_submission, rebuild
from autograder.reporting.terminal import rows_of, table


def copy_missing():
    """Put a copy of each released notebook into `work/`, where there is none yet."""
    WORK.mkdir(exist_ok=True)
    for stem in chapters():
        own = WORK / f"{stem}.ipynb"
        if own.exists():
            print(
                f"{own.relative_to(ROOT)}: yours, left as it is (rename it, and this command puts a"
                " fresh one here)"
            )
        else:
            shutil.copyfile(notebook_of(stem), own)
            print(f"{own.relative_to(ROOT)}: new")


def grade_work(stems=()):
    """Grade the copies in `work/` and print score and hints.

    Args:
        stems: chapters to grade; all that are there, if none is named.

    Raises:
        CourseError: if there is nothing to grade.
    """
    here = [stem for stem in chapters() if (WORK / f"{stem}.ipynb").exists()]
    missing = [stem for stem in stems if stem not in here]
    if missing or not here:
        raise CourseError(
            f"there is no work/{(missing or ['*'])[0]}.ipynb; `make lab` puts a copy there for you"
            " to complete"
        )
    for stem in stems or here:
        saved = datetime.fromtimestamp((WORK / f"{stem}.ipynb").stat().st_mtime)
        print(
            f"{stem}: running your notebook as you saved it at {saved:%H:%M} on {saved:%d %B} ...",
            flush=True,
        )
        notebook = rebuild(stem, read_submission(WORK / f"{stem}.ipynb"))
        grade_notebook(
            notebook, stem, student="you", unsandboxed=True
        )  # it is your own code, on your own machine
        print(f"\n{table(rows_of('you', notebook))}\n")
