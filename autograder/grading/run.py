"""Grade a class, chapter by chapter: each submission once, however often the run is ended.

The submissions are handed out to workers, which run and judge them; this process alone writes: the
graded notebook first, as one file that is there or is not, then the gradebook, then the learner's
page. A graded notebook carries its record, and the record says of which file it is. An earlier page
is taken away first, so that a page means that all is in place. So a run that was ended at any
moment is simply run again: what has its record is not graded a second time, and only entered into
the gradebook where the page is missing, or the score.
"""

import json
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import nbformat

from autograder.authoring.released import graded_cells, released
from autograder.grading.grade import (
    Limits,
    version_of_checks,
)
from autograder.grading.intake import find_submissions
from autograder.grading.places import Places, only_writer
from autograder.grading.workers import Task, graders, results
from autograder.whole_files import write_whole


@dataclass
class Tally:
    """What a run did.

    Args:
        graded: submissions graded now.
        before: submissions that had been graded before.
        failed: (learner, reason) of those that could not be graded, through no fault of their own.
        outdated: learners who were graded with other checks than today's.
        unsandboxed: whether any learner's code ran without a boundary.
        report: path of the instructor's page.
    """

    graded: int = 0
    before: int = 0
    failed: list = field(default_factory=list)
    outdated: list = field(default_factory=list)
    unsandboxed: bool = False
    report: Path | None = None


def grade_class(
    place,
    stem=None,
    places=None,
    workers=None,
    scheduler=None,
    limits=None,
    unsandboxed=False,
    show=None,
    remark=lambda text: None,
):
    """Grade the submissions in a folder or zip; those that have been graded already are left as
    they are.

    Args:
        place: see `autograder.grading.intake.find_submissions`.
        stem: the chapter; None for all that were handed in.
        places: where the results go; the course's own folders unless something else is said.
        workers: processes on this machine; as many as it has cores, unless something else is said.
        scheduler: address of a dask.distributed scheduler, whose workers grade instead.
        show: called as show(stem, done, of, learner) after each submission.
        remark: called with a sentence about files that are passed over.

    Returns:
        dict[str, Tally] by chapter.

    Raises:
        CourseError: if nothing can be graded here; the message says what to do.
    """
    places = places or Places()
    found = find_submissions(place, stem, remark)
    tallies = {}
    with only_writer(places.folder):
        for each, group in groupby(found, key=lambda handed_in: handed_in.stem):
            group = list(group)
            with graders(each, workers, scheduler, unsandboxed, places) as (pool, scores):
                tallies[each] = grade_chapter(
                    each,
                    group,
                    places,
                    pool,
                    scores,
                    limits or Limits(),
                    unsandboxed,
                    show or (lambda *_: None),
                )
    return tallies


def grade_chapter(stem, group, places, pool, scores, limits, unsandboxed, show):
    """Grade the submissions to one chapter.

    Args:
        group: list of HandedIn.
        pool, scores: as `graders` gives them.

    Returns:
        Tally.
    """
    tally = Tally(unsandboxed=unsandboxed)
    checks, seed = version_of_checks(stem), places.seed(stem)

    def done(learner):
        count = tally.graded + tally.before + len(tally.failed)
        show(stem, count, len(group), learner)

    def tasks():
        for handed_in in group:
            learner, submission, when = handed_in.learner, handed_in.read(), handed_in.timestamp
            before = graded_before(places.graded(learner, stem), stem, submission)
            if before is None:
                yield Task(stem, learner, submission, seed, checks, limits, unsandboxed, when)
                continue
            if not is_entered(learner, stem, places, scores()):
                enter(before, learner, stem, places, scores(), when)
            if before.metadata["autograder"]["checks"] != checks:
                tally.outdated.append(learner)
            tally.before += 1
            done(learner)

    for task, outcome in results(pool, tasks()):
        if isinstance(outcome, Exception):
            tally.failed.append((task.learner, f"{type(outcome).__name__}: {outcome}"))
        else:
            keep_graded(outcome, task, places, scores())
            tally.graded += 1
        done(task.learner)
    tally.report, *_ = report(stem, places)
    if tally.graded:
        places.end_sitting(stem)
    return tally


def report(stem, places):
    """Write the instructor's report on all that has been graded."""
    from autograder.reporting.record import read_graded
    from autograder.reporting.results import write_report

    autograded, feedback = places.folder / "autograded", places.folder / "feedback"
    return write_report(
        stem, read_graded(stem, autograded), places.folder / "reports", autograded, feedback
    )


def graded_before(path, stem, submission):
    """Return the graded notebook of just this submission, if there is one that has today's
    cells.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        record = notebook.metadata["autograder"]
        same = (record["notebook"], record["problem"]) == (submission.sha256, submission.problem)
        today = {cell.metadata.nbgrader.grade_id for cell in graded_cells(released(stem))}
        return notebook if same and {cell["cell"] for cell in record["cells"]} == today else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_entered(learner, stem, places, scores):
    """Return whether a graded notebook's score is in the gradebook, and the learner's page
    written.
    """
    page = places.feedback(learner, stem)
    return learner in scores.stored and page.exists() and page.stat().st_size > 0


def keep_graded(outcome, task, places, scores):
    """Put a graded notebook in place, then what is made of it.

    Args:
        outcome: the graded notebook as text.
    """
    notebook = nbformat.from_dict(json.loads(outcome))
    places.feedback(task.learner, task.stem).unlink(missing_ok=True)
    write_whole(places.graded(task.learner, task.stem), outcome)
    enter(notebook, task.learner, task.stem, places, scores, task.timestamp)


def enter(notebook, learner, stem, places, scores, timestamp):
    """Enter a graded notebook into the gradebook, and write the learner's page."""
    from autograder.reporting.learner_page import feedback_page

    scores.store(learner, notebook, timestamp)
    write_whole(places.feedback(learner, stem), feedback_page(learner, stem, notebook))
