"""`python -m autograder grade FOLDER`: grade a class, or grade it again, and say in a few lines
what came of it.
"""

import contextlib
import os
import sys
from pathlib import Path

from tqdm import tqdm

from autograder.course import CourseError, chapters, require_chapter
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class, settle_class
from autograder.grading.run import grade_class
from autograder.grading.workers import CERTIFICATES, Scheduler
from autograder.shared.wire import printable

UNSANDBOXED = (
    "GRADED WITHOUT A SANDBOX: learners' code ran as you, and could read and change what you can."
    " Each record says so."
)

MOST_TOLD = 20  # submissions with nothing to grade
OTHER_CHECKS = "other checks, or another numpy or torch, than today's"


def grade_or_regrade(options):
    """Run `python -m autograder grade` with its options; return the exit status."""
    require_sensible(options)
    stem = require_chapter(options.chapter) if options.chapter else None
    places = places_from(options)
    work = regrade if options.regrade else grade
    with as_course_errors(), Progress() as show:
        how = {
            "workers": options.workers,
            "scheduler": scheduler_from(options),
            "unsandboxed": options.unsandboxed,
            "show": show,
        }
        summaries, all_graded = work(options, stem, places, how)
    for summary in summaries:
        print(summary)
    return 0 if all_graded else 1


def require_sensible(options):
    """Raise a CourseError where options contradict each other."""
    if options.workers is not None and options.workers < 1:
        raise CourseError(f"--workers {options.workers}: at least one is needed")
    if options.keep and not options.regrade:
        raise CourseError("--keep belongs to --regrade")
    if options.regrade and options.folder:
        raise CourseError(
            "--regrade takes what has been graded, from the folder named with --into; leave"
            f" {options.folder} out"
        )


def places_from(options):
    """Return the Places that options name: the course's own folder and its gradebook, or others."""
    folder = Path(options.into or Places.folder).resolve()
    own = f"sqlite:///{folder / 'gradebook.db'}"
    return Places(folder, options.gradebook or os.environ.get("GRADEBOOK_URL") or own)


def scheduler_from(options):
    """Return the Scheduler that options name, or None."""
    about = (options.tls_ca_file, options.tls_cert, options.tls_key, options.unencrypted)
    if not options.scheduler and any(about):
        raise CourseError(f"{CERTIFICATES} and --unencrypted belong to --scheduler")
    return Scheduler(options.scheduler, *about) if options.scheduler else None


def grade(options, stem, places, how):
    """Grade what was handed in; return a summary of each chapter, and whether all were graded."""
    submitted = places.folder / "submitted"
    if options.folder or any(submitted.glob("*")) or not any(places.folder.glob("autograded/*")):
        tallies = grade_class(options.folder or submitted, stem, places, remark=remark, **how)
    else:
        tallies = settle_class([stem] if stem else graded_chapters(places.folder), places, remark)
    summaries = [summary_of(each, tally) for each, tally in tallies.items()]
    return summaries, not any(tally.failed for tally in tallies.values())


def remark(text):
    """Say what an instructor should know and nothing stops for."""
    print(f"autograder: {text}", file=sys.stderr)


def regrade(options, stem, places, how):
    """Grade again what has been graded; return what `grade` does."""
    stems = [stem] if stem else graded_chapters(places.folder)
    outcomes = {each: regrade_class(each, places, keep=options.keep, **how) for each in stems}
    summaries = [
        summary_of_regrading(each, *outcome, kept=options.keep)
        for each, outcome in outcomes.items()
    ]
    return summaries, not any(failed for _, _, failed, _ in outcomes.values())


def graded_chapters(folder):
    """Return the chapters of which there are graded notebooks in a folder.

    Raises:
        CourseError: if there are none.
    """
    stems = [stem for stem in chapters() if any(folder.glob(f"autograded/*/{stem}"))]
    if not stems:
        raise CourseError(
            f"nothing has been graded in {folder}; grade first, or say where with --into"
        )
    return stems


@contextlib.contextmanager
def as_course_errors():
    """Say of what the machine refuses, such as room on its disk, what it was.

    Raises:
        CourseError: instead of an OSError, or of what a database raises.
    """
    again = "what is finished is kept; put that right and run this again"
    try:
        yield
    except OSError as error:
        where = f": {error.filename!a}" if error.filename else ""
        raise CourseError(f"{error.strerror or error}{where}; {again}") from error
    except Exception as error:
        from sqlalchemy.exc import DBAPIError  # it takes a moment, in which the sandbox starts

        if not isinstance(error, DBAPIError):
            raise
        raise CourseError(f"the gradebook says: {str(error.orig).strip()}; {again}") from error


class Progress:
    """A bar for each chapter on stderr. Use it in a `with` statement; the block gets the function
    that moves it.
    """

    def __enter__(self):
        self.bar, self.stem = None, None
        return self.move

    def __exit__(self, *exception):
        if self.bar is not None:
            self.bar.close()

    def move(self, stem, done, of, learner):
        """Show that so many of a chapter's submissions are done."""
        if stem != self.stem:
            self.__exit__()
            # no thread of its own: the next chapter's workers are forked from here
            tqdm.monitor_interval = 0
            self.bar = tqdm(total=of, desc=stem, unit="submission", file=sys.stderr)
            self.stem = stem
        self.bar.update(done - self.bar.n)


def summary_of(stem, tally):
    """Say in a few lines what a run did."""
    lines = [f"{stem}: {tally.graded} graded, {tally.before} had been graded before."]
    if tally.outdated:
        count = len(tally.outdated)
        lines.append(
            f"{count} of those were graded with {OTHER_CHECKS}; --regrade says which scores would"
            " change."
        )
    if tally.failed:
        lines.append(
            f"{len(tally.failed)} could not be graded, through no fault of theirs; run this again:"
        )
        lines += [printable(f"  {learner}: {reason}")[:300] for learner, reason in tally.failed]
    if tally.unread:
        lines.append(f"Nothing to grade, so 0 points ({len(tally.unread)}):")
        lines += [printable(f"  {who}: {why}")[:300] for who, why in tally.unread[:MOST_TOLD]]
        if len(tally.unread) > MOST_TOLD:
            lines.append(f"  and {len(tally.unread) - MOST_TOLD} more, in the report")
    if tally.new:
        names = printable(", ".join(tally.new))[:300]
        lines.append(f"Names that this class did not have before: {names}.")
    for told, learners in {
        "On roster.csv, and nothing handed in": tally.absent,
        "Graded, but not on roster.csv": tally.strangers,
    }.items():
        if learners:
            lines.append(printable(f"{told}: {', '.join(learners)}")[:300] + ".")
    if tally.older:
        names = printable(", ".join(tally.older))[:300]
        lines.append(
            f"Not graded, because what was handed in later has been: {names}. To grade the earlier"
            " file all the same, take their folder out of autograded/ first."
        )
    if tally.settled.weighed:
        count = len(tally.settled.weighed)
        lines.append(f"Points: {count} now count as course.csv says.")
    if tally.settled.charged:
        count = len(tally.settled.charged)
        lines.append(f"Deadlines: what is said about the time of {count} has changed.")
    if tally.settled.decided:
        names = printable(", ".join(tally.settled.decided))[:300]
        lines.append(f"Disputes: what the table says is now in the records of {names}.")
    if tally.waiting:
        lines.append(f"Answers in words that wait for a mark: {tally.waiting}.")
    if tally.unsandboxed:
        lines.append(UNSANDBOXED)
    lines += tally.missing
    lines.append(f"Report: {tally.report}")
    return "\n".join(lines)


def summary_of_regrading(stem, count, changes, failed, outdated, kept):
    """Say which scores a regrading changes."""
    learners = len({change.learner for change in changes})
    lines = [
        f"{stem}: {count} graded again with their seeds; {count - learners - len(failed)} have the"
        " same scores to the bit."
    ]
    if outdated:
        lines.append(f"{len(outdated)} had been graded with {OTHER_CHECKS}.")
    if changes:
        lines.append(
            f"{learners}"
            f" {'changed' if kept else 'would change; --keep puts the new scores in place'}:"
        )
        lines += [
            printable(
                f"  {change.learner}  {change.exercise}: {change.before:g} -> {change.after:g}"
            )
            for change in changes
        ]
    lines += [
        printable(f"  {learner} could not be graded: {reason}")[:300] for learner, reason in failed
    ]
    return "\n".join(lines)
