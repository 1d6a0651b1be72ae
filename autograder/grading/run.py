"""Grade a class: `python -m autograder grade FOLDER`.

The submissions are handed out to workers, which run and judge them; this process alone writes: the
graded notebook first, as one file that is there or is not, then the gradebook, then the learner's
page. A graded notebook carries its record, and the record says of which file it is. An earlier page
is taken away first, so that a page means that all is in place. So a run that was ended at any
moment is simply run again: what has its record is not graded a second time, and only entered into
the gradebook where the page is missing, or the score.
"""

import contextlib
import gc
import json
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from pathlib import Path

import nbformat
import psutil
from tqdm import tqdm

from autograder.authoring.released import graded_cells, released
from autograder.boundary.sandbox import boundary, end_boundary, starting_boundary
from autograder.course import GRADEBOOK, ROOT, SUBMITTED, CourseError, chapters, require_chapter
from autograder.grading import ctrl_c
from autograder.grading.grade import (
    Limits,
    grade_notebook,
    seed_of,
    version_of_checks,
)
from autograder.grading.intake import find_submissions
from autograder.grading.submission import Submission, code_cells, rebuild
from autograder.shared.wire import printable
from autograder.whole_files import write_whole

SAME_COURSE = "let it have this version of the course, private cases included, and start it again"
ATTEMPTS = 3  # at what is not the learner's fault, such as a worker that was killed
AHEAD = 4  # submissions that wait for each worker
UNSANDBOXED = (
    "GRADED WITHOUT A SANDBOX: learners' code ran as you, and could read and change what you can."
    " Each record says so."
)


@dataclass(frozen=True)
class Task:
    """One submission with all that a worker needs to grade it: plain data, which may travel to
    another machine.

    Args:
        seed: of the questions.
        checks: the version of the checks that it is to be graded with.
        timestamp: when it was handed in, for the gradebook.
        attempts: how often it was tried before.
    """

    stem: str
    learner: str
    submission: Submission
    seed: bytes
    checks: str
    limits: Limits = field(default_factory=Limits)
    unsandboxed: bool = False
    timestamp: object = None
    attempts: int = 0


@dataclass(frozen=True)
class Places:
    """Where a class's results lie.

    Args:
        folder: gets `autograded/`, `feedback/`, `reports/`, `sittings/` and `seed.key`, the secret
            from which all seeds come.
        gradebook: SQLAlchemy's URL.
    """

    folder: Path = ROOT / "autograder"
    gradebook: str = f"sqlite:///{GRADEBOOK}"

    def graded(self, learner, stem):
        """Return the path of a graded notebook."""
        return self.folder / "autograded" / learner / stem / f"{stem}.ipynb"

    @property
    def key(self):
        """Return the path of the secret key."""
        return self.folder / "seed.key"

    def sitting(self, stem):
        """Return the number of a chapter's next run, which is the same until one has come to its
        end.
        """
        try:
            return int((self.folder / "sittings" / stem).read_text())
        except (FileNotFoundError, ValueError):
            return 1

    def end_sitting(self, stem):
        """Let the next run ask other questions."""
        write_whole(self.folder / "sittings" / stem, str(self.sitting(stem) + 1))

    def seed(self, stem):
        """Return the secret seed of the questions that a run asks.

        All who are graded in it are asked the same, so that equal code gets equal points. Those who
        are graded later, when some have their results, are asked others.
        """
        return seed_of(stem, f"sitting {self.sitting(stem)}", self.key)

    def feedback(self, learner, stem):
        """Return the path of the page that the learner gets back."""
        return self.folder / "feedback" / learner / stem / f"{stem}.html"


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

    Returns:
        dict[str, Tally] by chapter.

    Raises:
        CourseError: if nothing can be graded here; the message says what to do.
    """
    places = places or Places()
    found = find_submissions(place, stem)
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
    """Grade the submissions to one chapter; return the Tally."""
    tally = Tally(unsandboxed=unsandboxed)
    checks, seed = version_of_checks(stem), places.seed(stem)
    done = 0

    def tasks():
        nonlocal done
        for handed_in in group:
            submission = handed_in.read()
            before = graded_before(places.graded(handed_in.learner, stem), stem, submission)
            if before is None:
                yield Task(
                    stem,
                    handed_in.learner,
                    submission,
                    seed,
                    checks,
                    limits,
                    unsandboxed,
                    handed_in.timestamp,
                )
                continue
            record = before.metadata["autograder"]
            if handed_in.learner not in scores().stored or not is_written(
                places.feedback(handed_in.learner, stem)
            ):
                enter(before, handed_in.learner, stem, places, scores(), handed_in.timestamp)
            if record["checks"] != checks:
                tally.outdated.append(handed_in.learner)
            tally.before += 1
            done += 1
            show(stem, done, len(group), handed_in.learner)

    for task, outcome in results(pool, tasks()):
        if isinstance(outcome, Exception):
            tally.failed.append((task.learner, f"{type(outcome).__name__}: {outcome}"))
        else:
            keep_graded(outcome, task, places, scores())
            tally.graded += 1
        done += 1
        show(stem, done, len(group), task.learner)
    tally.report, *_ = report(stem, places)
    if tally.graded:
        places.end_sitting(stem)
    return tally


def report(stem, places):
    """Write the instructor's report on all that has been graded."""
    from autograder.reporting.results import read_graded, write_report

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


def is_written(path):
    """Return whether there is something in a file."""
    return path.exists() and path.stat().st_size > 0


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


@contextlib.contextmanager
def only_writer(folder):
    """Keep every other run out of a folder for as long as the block lasts.

    Raises:
        CourseError: if another run is at work there, or this system has no locks for files.
    """
    try:
        import fcntl
    except ImportError:
        raise CourseError(
            "classes are graded on Linux; the book's page for instructors shows the container way"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".grading", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CourseError(
                f"another run is grading into {folder}; wait for its end, or end it"
            ) from None
        yield


def results(pool, tasks):
    """Have tasks done, a few at a time; yield each with its outcome, in the order in which they are
    ready.

    What fails through no fault of the learner's is tried again, alone, so that one which takes its
    worker down takes no other with it.

    Yields:
        (Task, graded notebook as text, or the exception that prevented it).

    Raises:
        CourseError: if a worker cannot grade at all, or the cluster is gone; the message says why.
    """
    tasks, again, running = iter(tasks), deque(), {}
    while True:
        ctrl_c.heed()
        while len(running) < (1 if again else pool.width):
            task = again.popleft() if again else next(tasks, None)
            if task is None:
                break
            running[pool.submit(task)] = task
            if task.attempts:
                break
        if not running:
            return
        ready, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in ready:
            if future.cancelled():
                raise CourseError(
                    "the workers have been taken away; what is finished is kept: run this again"
                )
            task, error = running.pop(future), future.exception()
            if isinstance(error, CourseError):
                raise error
            if error is None:
                yield task, future.result()
            elif task.attempts + 1 < ATTEMPTS:
                again.append(replace(task, attempts=task.attempts + 1))
            else:
                yield task, error


class Pool:
    """Workers on this machine. Use it in a `with` statement; where the block fails, what they are
    at is given up.

    Args:
        width: submissions that are with the workers or wait for them.
    """

    def __init__(self, workers):
        self.workers, self.width = workers, AHEAD * workers
        self.executor = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.executor:
            if kind:
                self.line.close()
            self.executor.shutdown(cancel_futures=True)

    def submit(self, task):
        """Hand out a task; where a worker has died, a fresh lot of them takes over."""
        try:
            self.executor = self.executor or self.start()
            return self.executor.submit(grade, task)
        except BrokenProcessPool:
            self.executor = self.start()
            return self.executor.submit(grade, task)

    def start(self):
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        theirs, self.line = context.Pipe(duplex=False)
        return ProcessPoolExecutor(self.workers, context, be_a_worker, (theirs, self.line))


class Cluster:
    """The workers of a dask.distributed cluster. Use it in a `with` statement.

    Args:
        address: of the scheduler.
        stem: the chapter, whose checks must be the same everywhere.

    Raises:
        CourseError: if nobody answers, or the workers cannot grade as this machine would.
    """

    def __init__(self, address, stem):
        try:
            from distributed import Client

            self.client = Client(address, timeout=10)
        except (OSError, ValueError, TimeoutError) as error:
            raise CourseError(f"no scheduler answers at {address}: {error}") from None
        threads = sum(
            worker["nthreads"]
            for worker in self.client.scheduler_info(n_workers=-1)["workers"].values()
        )
        if not threads:
            raise CourseError(
                f"the scheduler at {address} has no workers; start some: dask worker {address}"
                " --nthreads 1"
            )
        versions = self.client.run(version_of_checks, stem, on_error="return")
        for worker, version in versions.items():
            if version != version_of_checks(stem):
                said = f" ({version})" if isinstance(version, Exception) else ""
                raise CourseError(
                    f"the worker {worker} has other checks of {stem}, or none{said}: {SAME_COURSE}"
                )
        self.width = AHEAD * threads
        self.executor = self.client.get_executor(pure=False, retries=ATTEMPTS)

    def submit(self, task):
        """Hand out a task."""
        return self.executor.submit(grade, task)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.client.close()


@contextlib.contextmanager
def graders(stem, workers, scheduler, unsandboxed, places):
    """Give those who will do the work, and a function that opens the Scores which it is for.

    What only this process needs is loaded once the others are at work.
    """
    from autograder.authoring.exercise import paper

    if scheduler:
        pool = Cluster(scheduler, stem)
    else:
        starting_boundary(
            stem, unsandboxed
        )  # for all workers; it takes a second or two, in which the rest is loaded
        paper(
            stem, places.seed(stem)
        )  # what most will be asked: workers are forked later, and share it
        gc.freeze()  # what was loaded stays, and need not be looked through again and again
        boundary(stem, unsandboxed)
        cores = (
            psutil.Process().cpu_affinity() if sys.platform == "linux" else range(os.cpu_count())
        )
        pool = Pool(workers or len(cores))

    @cache
    def scores():
        from autograder.grading.gradebook import Scores

        return opened.enter_context(Scores(stem, places.gradebook))

    try:
        with pool, contextlib.ExitStack() as opened:
            yield pool, scores
    finally:
        if not scheduler:
            end_boundary(stem, unsandboxed)


def be_a_worker(line, parents_end):
    """Be a process that grades, until the parent closes its end of the line, or ends, however it
    ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and closes the line
    parents_end.close()

    def follow_parent():
        line.poll(None)
        os._exit(1)

    threading.Thread(target=follow_parent, daemon=True).start()


def grade(task):
    """Grade one submission; return the graded notebook as text.

    Raises:
        RuntimeError: if its process could not be started.
        CourseError: if nobody's could be graded here.
    """
    if task.checks != version_of_checks(task.stem):
        raise CourseError(
            f"the worker {socket.gethostname()} has other checks of {task.stem}: {SAME_COURSE}"
        )
    notebook = rebuild(task.stem, task.submission)
    grade_notebook(notebook, task.stem, task.learner, task.limits, task.unsandboxed, task.seed)
    return json.dumps(notebook, ensure_ascii=False, separators=(",", ":"))


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
        number of submissions, list[Change], and list of (learner, reason) that could not be graded.

    Raises:
        CourseError: if nothing has been graded yet.
    """
    places, show = places or Places(), show or (lambda *_: None)
    paths = sorted(places.folder.glob(f"autograded/*/{stem}/{stem}.ipynb"))
    if not paths:
        raise CourseError(
            f"no submission to {stem} has been graded in {places.folder}; grade first"
        )
    changes, failed = [], []
    before = {}

    def tasks():
        for path in paths:
            learner = path.parents[1].name
            try:
                before[learner], submission, seed = handed_in_before(path)
            except (OSError, ValueError, KeyError, TypeError):
                failed.append(
                    (
                        learner,
                        f"{path} is no graded notebook, or a damaged one; grade what was handed in",
                    )
                )
                continue
            yield Task(
                stem,
                learner,
                submission,
                seed,
                version_of_checks(stem),
                limits or Limits(),
                unsandboxed,
            )

    with (
        only_writer(places.folder),
        graders(stem, workers, scheduler, unsandboxed, places) as (pool, scores),
    ):
        for done, (task, outcome) in enumerate(results(pool, tasks()), 1):
            show(stem, done, len(paths), task.learner)
            if isinstance(outcome, Exception):
                failed.append((task.learner, str(outcome)))
                continue
            changes += differences(
                task.learner,
                before.pop(task.learner),
                json.loads(outcome)["metadata"]["autograder"],
            )
            if keep:
                keep_graded(outcome, task, places, scores())
        if keep:
            report(stem, places)
    return len(paths), sorted(changes, key=lambda change: (change.learner, change.exercise)), failed


def handed_in_before(path):
    """Return the record in a graded notebook, the Submission that was graded, and its seed.

    Raises:
        OSError, ValueError, KeyError, TypeError: if this grader has not written it, or it is
            damaged.
    """
    content = path.read_bytes()
    record = json.loads(content)["metadata"]["autograder"]
    cells = list(
        code_cells(content, most=None)
    )  # with the release's cells there may be more than were handed in
    notes, known_as = tuple(record["notes"]), record.get("known_as", "")
    submission = Submission(record["notebook"], cells, record["problem"], notes, known_as)
    by_exercise(record)
    return record, submission, bytes.fromhex(record["seed"])


def differences(learner, before, after):
    """Return the Changes from one record to another."""
    old, new = by_exercise(before), by_exercise(after)
    names = dict.fromkeys([*old, *new])
    return [
        Change(learner, name, old.get(name, 0.0), new.get(name, 0.0))
        for name in names
        if old.get(name) != new.get(name)
    ]


def by_exercise(record):
    """Return the score of each exercise in a record."""
    scores = {}
    for cell in record["cells"]:
        scores[cell["exercise"]] = scores.get(cell["exercise"], 0.0) + cell["score"]
    return scores


def grade_or_regrade(options):
    """Run `python -m autograder grade` with its options; return the exit status."""
    stem = require_chapter(options.chapter) if options.chapter else None
    if options.workers is not None and options.workers < 1:
        raise CourseError(f"--workers {options.workers}: at least one is needed")
    if options.keep and not options.regrade:
        raise CourseError("--keep belongs to --regrade")
    if options.regrade and options.folder:
        raise CourseError(
            "--regrade takes what has been graded, from the folder named with --into; leave"
            f" {options.folder} out"
        )
    folder = Path(options.into or Places.folder).resolve()
    url = (
        options.gradebook
        or os.environ.get("GRADEBOOK_URL")
        or f"sqlite:///{folder / 'gradebook.db'}"
    )
    places = Places(folder, url)
    with told_in_a_sentence(), Progress() as show:
        how = {
            "workers": options.workers,
            "scheduler": options.scheduler,
            "unsandboxed": options.unsandboxed,
            "show": show,
        }
        if options.regrade:
            stems = (
                [stem]
                if stem
                else [each for each in chapters() if any(folder.glob(f"autograded/*/{each}"))]
            )
            if not stems:
                raise CourseError(
                    f"nothing has been graded in {folder}; grade first, or say where with --into"
                )
            outcomes = {
                each: regrade_class(each, places, keep=options.keep, **how) for each in stems
            }
        else:
            tallies = grade_class(options.folder or SUBMITTED, stem, places, **how)
    if options.regrade:
        for each, outcome in outcomes.items():
            print(told_of_regrading(each, *outcome, kept=options.keep))
        return 1 if any(failed for _, _, failed in outcomes.values()) else 0
    for each, tally in tallies.items():
        print(told(each, tally))
    return 1 if any(tally.failed for tally in tallies.values()) else 0


@contextlib.contextmanager
def told_in_a_sentence():
    """Say of what the machine refuses, such as room on its disk, what it was.

    Raises:
        CourseError: in place of an OSError, or of what a database says.
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
            tqdm.monitor_interval = (
                0  # no thread of its own: the next chapter's workers are forked from here
            )
            self.bar, self.stem = (
                tqdm(total=of, desc=stem, unit="submission", file=sys.stderr),
                stem,
            )
        self.bar.update(done - self.bar.n)


def told(stem, tally):
    """Say in a few lines what a run did."""
    lines = [f"{stem}: {tally.graded} graded, {tally.before} had been graded before."]
    if tally.outdated:
        count = len(tally.outdated)
        lines.append(
            f"{count} of those were graded with other checks than today's; --regrade says which"
            " scores would change."
        )
    if tally.failed:
        lines.append(
            f"{len(tally.failed)} could not be graded, through no fault of theirs; run this again:"
        )
        lines += [printable(f"  {learner}: {reason}")[:300] for learner, reason in tally.failed]
    if tally.unsandboxed:
        lines.append(UNSANDBOXED)
    lines.append(f"Report: {tally.report}")
    return "\n".join(lines)


def told_of_regrading(stem, count, changes, failed, kept):
    """Say which scores a regrading changes."""
    learners = len({change.learner for change in changes})
    lines = [
        f"{stem}: {count} graded again with their seeds; {count - learners - len(failed)} have the"
        " same scores to the bit."
    ]
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
