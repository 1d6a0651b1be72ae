"""A process of the learner's own, in which their notebook runs and answers questions; nothing in it
decides anything.
"""

import contextlib
import secrets
import time

from autograder.boundary.client import LONGEST_ERROR, Client, Ran, gather
from autograder.shared.wire import WireError, decode

ATTEMPTS = 2  # at starting a process
GRACE_SECONDS = 2  # between asking a cell to stop and making it
POLL_SECONDS = 0.1
PATIENCE = 4  # times as long, by the clock on the wall, as a busy machine is waited for


class LearnerKernel:
    """A process that runs one submission. Use it in a `with` statement; nothing of it is left
    afterwards.

    One that dies is started again, and the cells that ran before are run again, without the
    one that ended it.

    Its seconds go on only while a request is being answered, and the process has a core for it or
    rests: how busy the machine is with others, and how long the grader thinks about an answer, is
    nothing that a learner can help.

    Args:
        boundary: starts the process; see `autograder.boundary.sandbox`.
        seconds: for the whole submission; when they are used up, everything ends at once with
            "timeout".
    """

    def __init__(self, boundary, seconds):
        self.boundary = boundary
        self.deadline = seconds
        self.worked, self.since = 0.0, None  # seconds of all requests, and when this one began
        self.waited = self.waited_before = 0.0  # in all, and of it by processes that are gone
        self.history = []
        self.process = self.client = None

    def __enter__(self):
        for attempt in range(ATTEMPTS):
            try:
                self.start()
                return self
            except BaseException as error:
                self.stop()
                if not isinstance(error, RuntimeError) or attempt == ATTEMPTS - 1:
                    raise  # nothing of the submission has run yet: this is not its fault

    def __exit__(self, *exception):
        self.stop()

    def run(self, source, seconds):
        """Run one cell of the notebook for at most so many seconds."""
        self.revive()
        ran = self.request({"source": source}, seconds)
        if not self.gone:
            self.history.append((source, seconds))
        return ran

    def ask(self, exercise, cases, seconds, shortcuts=()):
        """Observe the learner's function in some cases, with one request.

        Args:
            cases: PreparedCases.
            seconds: for all of them together.
            shortcuts: names of library functions whose use is to be told.

        Returns:
            list of observations as `autograder.shared.probes.observe` makes them, one for each
            case; None where no answer came, and str: why not (None if all came).
        """
        self.revive()
        ids = [secrets.token_hex(8) for _ in cases]
        questions = [
            (each, exercise, case.probe, case.question)
            for each, case in zip(ids, cases, strict=True)
        ]
        request = {"questions": questions, "shortcuts": list(shortcuts)}
        ran = self.request(request, seconds, ids)
        observations = [observation_in(ran.answers.get(each)) for each in ids]
        return observations, None if None not in observations else reason_for(ran, seconds)

    @property
    def gone(self):
        """Whether the process has ended; the next request starts another."""
        return self.process is None

    def elapsed(self):
        """Return the submission's seconds so far: those of its requests, without those in which its
        process waited for a core; but no fewer than `PATIENCE` allows, since who starts many
        threads waits for their own.
        """
        if not self.gone:
            self.waited = max(self.waited, self.waited_before + self.process.waited())
        by_the_wall = self.by_the_wall()
        return max(by_the_wall - self.waited, by_the_wall / PATIENCE)

    def by_the_wall(self):
        """Return the seconds that requests have taken so far, by the clock on the wall."""
        return self.worked + (0.0 if self.since is None else time.monotonic() - self.since)

    @contextlib.contextmanager
    def at_work(self):
        """Let the submission's seconds go on."""
        self.since = time.monotonic()
        try:
            yield
        finally:
            self.worked, self.since = self.by_the_wall(), None

    def remaining(self):
        """Return the seconds that the submission has left."""
        return max(0.0, self.deadline - self.elapsed())

    def start(self):
        """Start the process.

        Raises:
            RuntimeError: if it does not start.
        """
        self.process = self.boundary.fork()
        self.client = Client(self.process.talk, self.process.printed)

    def stop(self):
        """End the process and whatever it started."""
        if self.gone:
            return
        self.elapsed()  # while it can still be asked how long it waited
        self.waited_before = self.waited
        self.process.end()
        self.process = self.client = None

    def revive(self):
        """Start the process again if it is gone, and bring it to where it was."""
        if self.gone and self.remaining():
            try:
                with self.at_work():
                    self.start()
            except RuntimeError:
                # the submission left something behind that ends every process at its start
                self.deadline = 0
                self.stop()
                return
            for source, seconds in self.history:
                if not self.gone:
                    self.request({"source": source}, seconds)

    def request(self, request, seconds, awaited=()):
        """Send one request and follow it to its end; a process that does not stop when asked is
        ended.

        Args:
            request: as `autograder.boundary.inside.shell` takes it, without its id.
            awaited: ids of the answers that are waited for.
        """
        seconds = min(seconds, self.remaining())
        if self.gone or seconds <= 0:
            return Ran("timeout")
        its_id, ran = secrets.token_hex(8), Ran()
        with self.at_work():
            self.client.send({"id": its_id, **request})
            done = self.follow(its_id, ran.answers, self.elapsed() + seconds, awaited)
            if not done and self.process.is_alive() and not self.client.is_closed:
                ran.status = "timeout"
                self.process.interrupt()
                # what is answered now does not count
                done = self.follow(its_id, {}, self.elapsed() + GRACE_SECONDS)
            elif not done:
                ran.status = "died"
        ran.text = self.client.text()
        if not done:
            self.stop()
        if error := error_in(ran.answers.pop(its_id, None)):
            ran.status, ran.error = "error", error
        return ran

    def follow(self, its_id, answers, until, awaited=()):
        """Gather a request's answers until it is done; return False where the time ends first, as
        `elapsed` counts it, or the process is gone.
        """
        awaited = {its_id, *awaited}
        while self.elapsed() < until:
            lines = self.client.lines(POLL_SECONDS)
            gather(lines, answers, awaited)
            if its_id in answers:
                return True
            if not lines and (self.client.is_closed or not self.process.is_alive()):
                return False
        return False


def reason_for(ran, seconds):
    """Say why a request was not answered, as a clause about the function."""
    match ran.status:
        case "timeout":
            return (
                f"did not finish within {seconds:.0f} s and was stopped; is there a loop that"
                " never ends?"
            )
        case "died":
            return "ended the Python process (a crash, an exit, or too much memory)"
        case _:
            return "gave no answer that could be read"


def observation_in(answer):
    """Return the observation that an answer holds, or None where it holds none."""
    with contextlib.suppress(WireError):
        if isinstance(observation := decode(answer or ""), dict):
            return observation
    return None


def error_in(answer):
    """Return the error that the last answer to a request tells of, or None."""
    with contextlib.suppress(WireError):
        if isinstance(error := decode(answer or ""), str):
            return error[:LONGEST_ERROR]
    return None
