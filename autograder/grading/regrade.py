"""Grade again what has been graded, with the questions of that time; say which scores change."""

import json
import math
from dataclasses import dataclass

from autograder.authoring.released import WRITTEN, exercises_by_name
from autograder.course import CourseError
from autograder.grading.answers import carry_marks
from autograder.grading.grade import Limits
from autograder.grading.handed_in.submission import Submission, code_cells
from autograder.grading.places import Places, only_writer
from autograder.grading.run import Tally, finish, hand_back, keep_graded
from autograder.grading.version import version_of_checks
from autograder.grading.workers import Task, graders, results
from autograder.reporting.record import Outcome, outcomes_of
from autograder.term.groups import read_groups
from autograder.term.points import read_points
from autograder.term.rules import Rules


@dataclass(frozen=True)
class Change:
    """A score that today's checks would change."""

    learner: str
    exercise: str
    before: float
    after: float


def regrade_class(
    stem,
    places=None,
    workers=None,
    scheduler=None,
    limits=None,
    unsandboxed=False,
    keep=False,
    show=None,
):
    """Grade again what has been graded, with the seeds of that time, and say which scores change.

    Args:
        keep: put the new scores in place of the old ones; otherwise nothing is written.

    Returns:
        number of submissions, list[Change], list of (learner, reason) that could not be graded, and
        list of learners whose scores are from another version of what decides.

    Raises:
        CourseError: if nothing has been graded yet.
    """
    places, show = places or Places(), show or (lambda *_: None)
    paths = sorted(places.folder.glob(f"autograded/*/{stem}/{stem}.ipynb"))
    if not paths:
        raise CourseError(
            f"no submission to {stem} has been graded in {places.folder}; grade first"
        )
    points = read_points(places.folder, exercises_by_name)
    changes, before, failed, outdated, kept = [], {}, [], [], []
    with only_writer(places.folder):
        with graders(stem, workers, scheduler, unsandboxed, places) as (pool, scores):
            if keep:
                rules = rules_of(places, points, scores())
            tasks = tasks_of(stem, paths, limits or Limits(), unsandboxed, before, failed)
            for done, (task, outcome) in enumerate(results(pool, tasks), 1):
                show(stem, done, len(paths), task.learner)
                if isinstance(outcome, Exception):
                    failed.append((task.learner, str(outcome)))
                    continue
                earlier = before.pop(task.learner)
                outcome = as_before(outcome, earlier)
                record = json.loads(outcome)["metadata"]["autograder"]
                if earlier.get("checks") != task.checks:
                    outdated.append(task.learner)
                as_they_count = [points.as_they_count(stem, each) for each in (earlier, record)]
                changes += differences(task.learner, *as_they_count)
                if keep:
                    keep_graded(outcome, task, places, scores())
                    kept.append(task.learner)
            if keep:
                rules.settle(stem, places, scores())
        if keep:
            hand_back(stem, places, kept)
    changes.sort(key=lambda change: (change.learner, change.exercise))
    return len(paths), changes, failed, outdated


def settle_class(stems, places, remark=lambda text: None):
    """Bring what has been graded to what the class's tables say today; nothing is graded.

    Args:
        stems: chapters of which something has been graded.

    Returns:
        dict[str, Tally] by chapter.
    """
    from autograder.grading.gradebook import Scores  # it takes a moment, which others need not

    tallies = {}
    with only_writer(places.folder):
        points = read_points(places.folder, exercises_by_name)
        for stem in stems:
            with Scores(stem, places.gradebook) as scores:
                rules = rules_of(places, points, scores)
                settled = rules.settle(stem, places, scores, remark)
                tallies[stem] = Tally(before=len(scores.times()), settled=settled)
            finish(stem, tallies[stem], places)
    return tallies


def rules_of(places, points, scores):
    """Return the Rules of a class that has been graded before."""
    groups = read_groups(places.folder)
    return Rules.of(places.folder, points, groups, lambda: scores.students)


def as_before(outcome, earlier):
    """Return a graded notebook's text that says what its earlier record does and no regrading can
    find out: for which group it was handed in, and how a person marked its words.
    """
    if not earlier.keys() & {"group", "written"}:
        return outcome
    notebook = json.loads(outcome)
    record = notebook["metadata"]["autograder"]
    record.update({key: earlier[key] for key in ("group",) if key in earlier})
    carry_marks(record, earlier)
    return json.dumps(notebook, ensure_ascii=False, separators=(",", ":"))


def tasks_of(stem, paths, limits, unsandboxed, before, failed):
    """Yield the Task that grades each of some graded notebooks again.

    Args:
        before: gets the record of each learner who is graded again.
        failed: gets (learner, reason) of those whose notebook cannot be read.
    """
    for path in paths:
        learner = path.parents[1].name
        try:
            before[learner], submission, seed = handed_in_before(path)
        except (OSError, ValueError, KeyError, TypeError):
            reason = f"{path} is no graded notebook, or a damaged one; grade what was handed in"
            failed.append((learner, reason))
        else:
            checks = version_of_checks(stem)
            yield Task(stem, learner, submission, seed, checks, limits, unsandboxed)


def handed_in_before(path):
    """Return the record in a graded notebook, the Submission that was graded, and its seed.

    Raises:
        OSError, ValueError, KeyError, TypeError: if this grader has not written it, or it is
            damaged.
    """
    content = path.read_bytes()
    record = json.loads(content)["metadata"]["autograder"]
    outcomes_of(record)  # it has the scores that the new ones are compared with
    # all cells: with the release's there may be more of them than were handed in
    cells = list(code_cells(content, most=None, room=math.inf))
    typed = {f"{WRITTEN}{name}": each["answer"] for name, each in record.get("written", {}).items()}
    cells = [(name, typed.get(name, source)) for name, source in cells]
    told = tuple(record["notes"]), record.get("known_as", ""), record.get("file_time", "")
    submission = Submission(record["notebook"], cells, record["problem"], *told)
    return record, submission, bytes.fromhex(record["seed"])


def differences(learner, before, after):
    """Return the Changes from one record to another."""
    old, new = outcomes_of(before), outcomes_of(after)
    changes = [
        Change(learner, name, old.get(name, Outcome()).graded, new.get(name, Outcome()).graded)
        for name in dict.fromkeys([*old, *new])
    ]
    return [change for change in changes if change.before != change.after]
