"""Grade a class, chapter by chapter: each submission once, however often the run is ended.

The submissions are handed out to workers, which run and judge them; this process alone writes: the
graded notebook first, as one file that is there or is not, then the gradebook. A graded notebook
carries its record, and the record says of which file it is. When all are graded, each learner gets
a page; an earlier one was taken away first, so that a page means that all is in place. So a run
that was ended at any moment is simply run again: what has its record is not graded a second time,
and only entered into the gradebook where the page is missing, or the score.

A page shows numbers that were asked. As long as nobody has one, a run that is taken up again asks
the others the same; from the first page on, everybody who is graded is asked other numbers.
"""

import json
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby
from pathlib import Path

import nbformat

from autograder.authoring.released import exercises_by_name, released, written_in
from autograder.grading.answers import add_rubrics, carry_marks
from autograder.grading.grade import Limits
from autograder.grading.handed_in.again import graded_before, is_older, record_in, tell_time
from autograder.grading.handed_in.intake import find_submissions
from autograder.grading.places import Places, only_writer
from autograder.grading.version import version_of_checks
from autograder.grading.workers import Task, graders, results
from autograder.term.groups import read_groups
from autograder.term.points import read_points
from autograder.term.roster import read_roster
from autograder.term.rules import Rules, Settled
from autograder.whole_files import write_whole


@dataclass
class Tally:
    """What a run did.

    Args:
        graded: submissions graded now.
        before: submissions that had been graded before.
        failed: (learner, reason) of those that could not be graded, through no fault of their own.
        unread: (learner, why) of submissions in which there is nothing to grade.
        outdated: learners who were graded with another version of what decides than today's.
        new: learners whose names a class that has been graded before did not know.
        strangers: learners who are not on the class's roster, where it has one.
        absent: who is on it, and has handed in nothing.
        older: learners who have been graded with something that they handed in later.
        waiting: answers in words that nobody has marked.
        unsandboxed: whether any learner's code ran without a boundary.
        settled: for whom the class's tables changed something, once that is known.
        missing: what the sandbox could not give, in sentences; each is there once.
        report: path of the instructor's page.
    """

    graded: int = 0
    before: int = 0
    failed: list = field(default_factory=list)
    unread: list = field(default_factory=list)
    outdated: list = field(default_factory=list)
    new: list = field(default_factory=list)
    strangers: list = field(default_factory=list)
    absent: list = field(default_factory=list)
    older: list = field(default_factory=list)
    waiting: int = 0
    unsandboxed: bool = False
    settled: Settled | None = None
    missing: list = field(default_factory=list)
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
        place: see `autograder.grading.handed_in.intake.find_submissions`.
        stem: the chapter; None for all that were handed in.
        places: where the results go; the course's own folders unless something else is said.
        workers: processes on this machine; as many as it has cores, unless something else is said.
        scheduler: `autograder.grading.workers.Scheduler`, whose cluster's workers grade instead.
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
        points = read_points(places.folder, exercises_by_name)
        if stem:
            points.require(stem)
        found = points.chosen(found, remark)
        groups = read_groups(places.folder)
        found = groups.joined(found)
        known = partial(known_learners, found, places)
        rules = Rules.of(places.folder, points, groups, known)
        found = rules.late.timed(found)
        before = {path.name for path in places.folder.glob("autograded/*")}
        for each, group in groupby(found, key=lambda handed_in: handed_in.stem):
            group = list(group)
            with graders(each, workers, scheduler, unsandboxed, places) as (pool, scores):
                tallies[each], learners = grade_chapter(
                    each,
                    group,
                    before,
                    places,
                    pool,
                    scores,
                    limits or Limits(),
                    unsandboxed,
                    show or (lambda *_: None),
                )
                if rules.late.deadlines.first(each) is not None:
                    for handed_in in group:
                        if handed_in.learner not in tallies[each].older:
                            scores().set_time(handed_in.learner, handed_in.timestamp)
                tallies[each].settled = rules.settle(each, places, scores(), remark)
            finish(each, tallies[each], places, learners)
    return tallies


def finish(stem, tally, places, learners=()):
    """Write the pages and the report of a chapter once its tables are settled.

    Args:
        learners: who have no page yet; those for whom a table has changed something get another.
    """
    changed = dict.fromkeys([*learners, *tally.settled.learners])
    tally.report = hand_back(stem, places, [*changed])
    roster = read_roster(places.folder)
    tally.absent = [each for each in roster if not places.graded(each, stem).exists()]
    if written_in(released(stem)):
        from autograder.reporting.record import answers_that_wait

        tally.waiting = answers_that_wait(stem, places.folder / "autograded")


def known_learners(found, places):
    """Return the names of all who hand in now, or are in the gradebook."""
    from autograder.grading.gradebook import Scores

    with Scores(found[0].stem, places.gradebook) as scores:
        return {each.learner for each in found} | scores.students


def grade_chapter(stem, group, known, places, pool, scores, limits, unsandboxed, show):
    """Grade the submissions to one chapter.

    Args:
        group: list of HandedIn.
        known: the names that the class had before this run.
        pool, scores: as `graders` gives them.

    Returns:
        Tally, and the learners who have no page yet.
    """
    tally, learners = Tally(unsandboxed=unsandboxed), []
    roster, names = read_roster(places.folder), [each.learner for each in group]
    tally.strangers = [each for each in names if roster and each not in roster]
    tally.new = [each for each in names if known and each not in known and not roster]
    checks, seed = version_of_checks(stem), places.seed(stem)
    times = cache(lambda: scores().times())  # each learner comes once

    def done(learner):
        count = tally.graded + tally.before + len(tally.failed)
        show(stem, count, len(group), learner)

    def tasks():
        for handed_in in group:
            learner, when = handed_in.learner, handed_in.timestamp
            try:
                submission = handed_in.read()
            except Exception as error:  # reading expects none: it is ours to put right
                tally.failed.append((learner, f"{type(error).__name__}: {error}"))
                done(learner)
                continue
            path = places.graded(learner, stem)
            before = graded_before(path, stem, submission)
            if before is None and is_older(handed_in, submission, path, times):
                tally.older.append(learner)
                tally.before += 1
                done(learner)
                continue
            if submission.problem:
                tally.unread.append((learner, submission.problem))
            if before is None:
                yield Task(stem, learner, submission, seed, checks, limits, unsandboxed, when)
                continue
            tell_time(path, before, submission)
            if not is_entered(learner, stem, places, scores()):
                scores().store(learner, before, when)
                learners.append(learner)
            if before.metadata["autograder"].get("checks") != checks:
                tally.outdated.append(learner)
            tally.before += 1
            done(learner)

    for task, outcome in results(pool, tasks()):
        if isinstance(outcome, Exception):
            tally.failed.append((task.learner, f"{type(outcome).__name__}: {outcome}"))
        else:
            record = keep_graded(outcome, task, places, scores())
            tally.missing += [
                each for each in record.get("missing", ()) if each not in tally.missing
            ]
            learners.append(task.learner)
            tally.graded += 1
        done(task.learner)
    return tally, learners


def hand_back(stem, places, learners):
    """Write the pages of some learners, then the instructor's report on all that has been graded;
    return its path.
    """
    from autograder.reporting.apart import Apart
    from autograder.reporting.learner_page import feedback_page

    remarks = {}
    with Apart(feedback_page) as page_apart:
        for learner in learners:
            if why_not := write_page(learner, stem, places, page_apart):
                remarks[learner] = why_not
    return report(stem, places, remarks)


def write_page(learner, stem, places, page_apart):
    """Write a learner's page, and end the sitting that it shows before it is there.

    Args:
        page_apart: `feedback_page`, called within limits.

    Returns:
        None, or why the page shows nothing that the learner wrote.
    """
    from autograder.reporting.apart import NotRead
    from autograder.reporting.learner_page import feedback_page, without_code
    from autograder.reporting.record import joined

    why_not = None
    content = places.graded(learner, stem).read_text(encoding="utf-8")
    notebook = joined(json.loads(content))
    try:
        page = page_apart(learner, stem, notebook)
    except NotRead as error:
        why_not = str(error)
        page = feedback_page(learner, stem, without_code(notebook, why_not))
    if notebook["metadata"]["autograder"]["seed"] == places.seed(stem).hex():
        places.end_sitting(stem)
    write_whole(places.feedback(learner, stem), page)
    return why_not


def report(stem, places, remarks):
    """Write the instructor's report on all that has been graded; return its path.

    Args:
        remarks: learner -> why their page shows nothing that they wrote.
    """
    from autograder.reporting.record import read_graded
    from autograder.reporting.results import write_report

    autograded, feedback = places.folder / "autograded", places.folder / "feedback"
    graded = read_graded(stem, autograded)
    reports, roster = places.folder / "reports", read_roster(places.folder)
    page, *_ = write_report(stem, graded, reports, autograded, feedback, remarks, roster)
    return page


def is_entered(learner, stem, places, scores):
    """Return whether a notebook's score is in the gradebook, and its learner's page written."""
    page = places.feedback(learner, stem)
    return learner in scores.stored and page.exists() and page.stat().st_size > 0


def keep_graded(outcome, task, places, scores):
    """Put a graded notebook in place, then its scores; an earlier page goes. Return its record.

    Args:
        outcome: the graded notebook as text.
    """
    notebook = nbformat.from_dict(json.loads(outcome))
    path, record = places.graded(task.learner, task.stem), notebook.metadata["autograder"]
    places.feedback(task.learner, task.stem).unlink(missing_ok=True)
    if "written" in record:
        scores.unmark(task.learner, carry_marks(record, record_in(path)))
        add_rubrics(notebook, task.stem)
        outcome = json.dumps(notebook, ensure_ascii=False, separators=(",", ":"))
    write_whole(path, outcome)
    scores.store(task.learner, notebook, task.timestamp)
    return record
