"""For whoever studies alone: own copies of the notebooks in `work/`, graded on request. Nothing
here overwrites what a learner wrote.
"""

import os
import shutil
from datetime import date, datetime
from itertools import count

import nbformat

from autograder.authoring.released import released
from autograder.course import ROOT, WORK, CourseError, chapters, notebook_of
from autograder.grading.grade import grade_notebook
from autograder.grading.handed_in.submission import (
    code_cells,
    read_submission,
    rebuild,
    why_unreadable,
)
from autograder.reporting.terminal import rows_of, table
from autograder.tools.old_copies import differences, is_of_course, renew
from autograder.whole_files import write_whole

LEFT = "yours, left as it is"
AGAIN = "rename it, and this command puts a fresh one here"


def put_copies():
    """Put a copy of each released notebook into `work/`, where there is none yet or it is of an
    older release, and say which; what a learner wrote is carried into it, and their old copy stays.
    """
    WORK.mkdir(exist_ok=True)
    for stem in chapters():
        own = WORK / f"{stem}.ipynb"
        print(f"{own.relative_to(ROOT)}: {put_copy(stem, own)}")


def put_copy(stem, own):
    """Put a chapter's notebook where a learner works on it; return what was done, in words.

    Args:
        own: path of the learner's copy.
    """
    if not own.exists() and not own.is_symlink():
        shutil.copyfile(notebook_of(stem), own)
        return "new"
    try:
        content, notebook = read_copy(own)
    except (ValueError, OSError, RecursionError, nbformat.ValidationError) as error:
        return f"{LEFT}, because it cannot be read: {why_unreadable(error)} ({AGAIN})"
    release = released(stem)
    if not is_of_course(notebook, release):
        return f"{LEFT}, because it is not a copy of the course's notebook ({AGAIN})"
    older = differences(notebook, release)
    if not older:
        return f"{LEFT} ({AGAIN})"
    fresh = renew(notebook, release)
    kept = keep(own, content)
    write_whole(own, nbformat.writes(fresh.notebook) + "\n")
    return "\n    ".join(
        [
            f"fresh, because your copy was of an older release (changed since: {joined(older)})",
            *what_was_carried(fresh),
            f"your old copy is still there: {kept.relative_to(ROOT)}",
        ]
    )


def read_copy(path):
    """Return the bytes of a notebook, and the notebook.

    Raises:
        ValueError, OSError, RecursionError, nbformat.ValidationError: if it is none.
    """
    if path.is_symlink() or not path.is_file():
        raise ValueError("it is a link or a folder")
    content = path.read_bytes()
    # Says what is wrong where nbformat would stop with an error of its own.
    list(code_cells(content))
    return content, nbformat.reads(content.decode("utf-8-sig"), as_version=4)


def keep(own, content):
    """Give a file a second name, under which it stays when its own is given to another; return it.

    Args:
        content: of the file, by which to know the second name that an interrupted run gave it.
    """
    for number in count(1):
        again = f", {number}" if number > 1 else ""
        kept = own.with_name(f"{own.stem} (before {date.today()}{again}).ipynb")
        if not kept.exists():
            try:
                os.link(own, kept)
            except OSError:  # a file system without links
                shutil.copy2(own, kept)
            return kept
        if kept.read_bytes() == content:
            return kept


def what_was_carried(fresh):
    """Say in a few lines what became of a learner's answers."""
    lines = []
    if fresh.answers:
        lines.append(f"your answers are in it: {joined(fresh.answers)}")
    if fresh.own:
        cells = "your own cell is" if fresh.own == 1 else f"your {fresh.own} own cells are"
        lines.append(f"{cells} in it, after the same neighbours")
    if fresh.new:
        lines.append(f"an exercise that your copy did not have: {joined(fresh.new)}")
    for name in fresh.gone:
        lines.append(
            f"{name} is no longer an exercise here; your code for it is a cell of your own"
        )
    for name, now, yours in fresh.signatures:
        lines.append(f"{name} takes {now} now; your answer still takes {yours}, as you wrote it")
    return lines


def joined(names):
    """Join names as a sentence does: a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


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
        # It is your own code, on your own machine.
        grade_notebook(notebook, stem, student="you", unsandboxed=True)
        print(f"\n{table(rows_of('you', notebook))}\n")
