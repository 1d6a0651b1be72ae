"""`python -m autograder update`: what a new release of the course, or another `course.csv`, changes
for whom, and with `--keep` the change itself. What was written into the gradebook by hand stays.
"""

import contextlib
import copy
from functools import partial

from nbgrader.api import Gradebook

from autograder.authoring.released import about, exercises_by_name, released, written_in
from autograder.course import CourseError, require_chapter
from autograder.grading.command import graded_chapters, places_from, summary_of_regrading
from autograder.grading.gradebook import (
    Scores,
    open_quietly,
    register_release,
    students_in,
)
from autograder.grading.places import only_writer
from autograder.grading.regrade import regrade_class
from autograder.reporting.record import outcomes_of, read_graded
from autograder.shared.wire import printable
from autograder.term.groups import read_groups
from autograder.term.points import read_points, weighed_anew
from autograder.term.rules import Rules


def update(options):
    """Say of each graded chapter what would change; with `--keep`, change it. Return the exit
    status.

    Raises:
        CourseError: if nothing has been graded, or a table is not clear.
    """
    places = places_from(options)
    stems = (
        [require_chapter(options.chapter)] if options.chapter else graded_chapters(places.folder)
    )
    points = read_points(places.folder, exercises_by_name)
    groups, learners = read_groups(places.folder), partial(students_in, places.gradebook)
    Rules.of(places.folder, points, groups, learners)  # before anything changes
    all_graded = True
    for stem in stems:
        lines = [*other_exercises(stem, places), *other_points(stem, places, points)]
        if options.keep:
            with only_writer(places.folder):
                renew(stem, places.gradebook)
        outcome = regrade_class(
            stem, places, options.workers, unsandboxed=options.unsandboxed, keep=options.keep
        )
        all_graded = all_graded and not outcome[2]
        lines.append(summary_of_regrading(stem, *outcome, kept=options.keep))
        print(*lines, sep="\n")
    if not options.keep:
        print("Nothing was changed; --keep does it.")
    return 0 if all_graded else 1


def other_exercises(stem, places):
    """Return sentences about the exercises and questions in words that this release has and the
    records have not, and the other way round.
    """
    records = [
        notebook["metadata"]["autograder"]
        for _, notebook in read_graded(stem, places.folder / "autograded")
    ]
    new, gone = new_and_gone(stem, records)
    lines = [f"{stem}: new in this release, and answered by nobody yet: {', '.join(new)}."] * bool(
        new
    )
    if gone:
        lines.append(f"{stem}: no longer in this release: {', '.join(gone)}. Their points go.")
    return [printable(line) for line in lines]


def new_and_gone(stem, records):
    """Return what this release asks that some records do not know, with its points, and the names
    of what they know and it does not ask.
    """
    now = {
        name: points for name, (chapter, points) in exercises_by_name().items() if chapter == stem
    }
    now |= {name: about(cell)["points"] for name, cell in written_in(released(stem)).items()}
    seen = {}
    for record in records:
        seen |= dict.fromkeys(cell["exercise"] for cell in record["cells"])
        seen |= dict.fromkeys(record.get("written", {}))
    new = [f"{name} ({points:g} points)" for name, points in now.items() if name not in seen]
    return new, [name for name in seen if name not in now]


def other_points(stem, places, points):
    """Return a line for each learner whose mark changes because exercises count otherwise."""
    cells, lines = points.cells(stem), []
    for learner, notebook in read_graded(stem, places.folder / "autograded"):
        record = notebook["metadata"]["autograder"]
        after = copy.deepcopy(record)
        if weighed_anew(after["cells"], cells):
            old, new = total_of(record), total_of(after)
            lines.append(printable(f"  {learner}  {old} -> {new}, by the points of course.csv"))
    return lines


def total_of(record):
    """Return what a record's exercises earn in all, as text."""
    outcomes = outcomes_of(record).values()
    earned, most = sum(each.score for each in outcomes), sum(each.points for each in outcomes)
    return f"{round(earned, 2):g} of {most:g}"


def renew(stem, db_url):
    """Bring a chapter's part of a gradebook to this release, if it holds submissions to one with
    other cells: times stay, and so does what was written by hand about cells that are still there.
    Scores come with the next regrade.
    """
    open_quietly()
    with contextlib.suppress(CourseError):  # other cells
        register_release(stem, db_url)
        return
    times, by_hand, remarks = {}, {}, {}
    with Gradebook(db_url) as gradebook:
        for submission in gradebook.assignment_submissions(stem):
            learner = submission.student.id
            times[learner] = submission.timestamp
            for sheet in submission.notebooks:
                for grade in sheet.grades:
                    by_hand[learner, grade.name] = grade.manual_score, grade.extra_credit
                for comment in sheet.comments:
                    remarks[learner, comment.name] = comment.manual_comment
        gradebook.remove_assignment(stem)
    register_release(stem, db_url)
    with Scores(stem, db_url) as scores:
        for learner, when in times.items():
            scores.sheet_of(learner, when)
        scores.session.commit()
        for learner in times:
            sheet = scores.gradebook.find_submission_notebook(stem, stem, learner)
            for grade in sheet.grades:
                written = by_hand.get((learner, grade.name), (None, None))
                grade.manual_score, grade.extra_credit = written
                grade.needs_manual_grade = False
            for comment in sheet.comments:
                comment.manual_comment = remarks.get((learner, comment.name))
        scores.session.commit()
