"""A process of the learner's own, in which their notebook runs and answers questions; nothing in it
decides anything.
"""

import contextlib
import secrets
import time

import psutil

from autograder.boundary.client import Client, Ran, gather
from autograder.shared.wire import WireError, decode

# For a kernel to answer, on a machine that is busy; after that another is started.
START_SECONDS = 20
NUDGE_SECONDS = 1  # after which a kernel that has said nothing is asked something
ATTEMPTS = 2  # at starting a kernel
GRACE_SECONDS = 2  # between asking a cell to stop and making it
POLL_SECONDS = 0.1
MOST_REPLIES = 100  # that are looked at between two looks at the time
LAG_SECONDS = 2  # by which outputs may come after the reply
# Bytes of this process that messages may take; one may have any number of parts.
MOST_GROWTH = 2**30


class LearnerKernel:
    """A kernel that runs one submission. Use it in a `with` statement; nothing of it is left
    afterwards.

    A kernel that dies is started again, and the cells that ran before are run again, without the
    one that ended it.

    Args:
        boundary: starts the process; see `autograder.boundary.sandbox`.
        seconds: for the whole submission; when they are used up, everything ends at once with
            "timeout".
    """

    def __init__(self, boundary, seconds):
        self.boundary = boundary
        self.deadline = time.monotonic() + seconds
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
        ran = self.request(source, seconds)
        if not self.gone:
            self.history.append((source, seconds))
        return ran

    def ask(self, exercise, cases, seconds):
        """Observe the learner's function in some cases, with one request.

        Args:
            cases: PreparedCases.
            seconds: for all of them together.

        Returns:
            list of observations as `autograder.shared.probes.observe` makes them, one for each
            case; None where no answer came, and str: why not (None if all came).
        """
        self.revive()
        ids = [secrets.token_hex(8) for _ in cases]
        requests = [
            (each, exercise, case.probe, case.question)
            for each, case in zip(ids, cases, strict=True)
        ]
        asking = f"__import__('autograder.shared.probes', fromlist=['answer']).answer({requests!r})"
        ran = self.request("", seconds, asking, awaited=ids)
        observations = [observation_in(ran.answers.get(each), each) for each in ids]
        return observations, None if None not in observations else reason_for(ran, seconds)

    @property
    def gone(self):
        """Whether the process has ended; the next request starts another."""
        return self.process is None

    def remaining(self):
        """Return the seconds that the submission has left."""
        return max(0.0, self.deadline - time.monotonic())

    def start(self):
        """Start the process and connect to it.

        Raises:
            RuntimeError: if it does not answer.
        """
        self.before = own_memory()
        self.process = self.boundary.fork()
        self.client = Client(self.process.connection, self.boundary.largest_message)
        self.wait_until_it_answers()

    def wait_until_it_answers(self):
        """Return when the kernel's messages reach us: what it published before would be lost.

        It greets who listens; where it overlooks us, which happens once in some thousand starts, a
        question makes it speak.
        """
        until = time.monotonic() + START_SECONDS
        ask_at = time.monotonic() + NUDGE_SECONDS
        while time.monotonic() < until and self.process.is_alive():
            if self.client.next_published(POLL_SECONDS):
                return
            if time.monotonic() >= ask_at:
                self.client.ask_who_it_is()
                ask_at += NUDGE_SECONDS
        raise RuntimeError("the kernel does not answer")

    def stop(self):
        """End the process and whatever it started."""
        if self.gone:
            return
        if self.client:
            self.client.close()
        self.process.end()
        self.process = self.client = None

    def revive(self):
        """Start the kernel again if it is gone, and bring it to where it was."""
        if self.gone and self.remaining():
            try:
                self.start()
            except RuntimeError:
                # the submission left something behind that ends every process at its start
                self.deadline = time.monotonic()
                self.stop()
                return
            for source, seconds in self.history:
                if not self.gone:
                    self.request(source, seconds)

    def request(self, source, seconds, expression=None, awaited=()):
        """Send one request and follow it to its end; a kernel that does not stop when asked is
        ended.

        Args:
            source: of a cell.
            expression: what is evaluated after it. A kernel takes a cell apart letter by letter,
                which for long questions takes longer than to answer them; an expression goes
                straight to Python.
            awaited: ids of the answers that are waited for; of each only the first that names it is
                kept.
        """
        seconds = min(seconds, self.remaining())
        if self.gone or seconds <= 0:
            return Ran("timeout")
        ran = Ran()
        request = self.client.execute(source, expression)
        if request is None:
            self.stop()
            return Ran("died")
        if self.follow(request, ran, time.monotonic() + seconds, awaited):
            return ran
        if self.gone or not self.process.is_alive():
            ran.status = "died"
            self.stop()
            return ran
        ran.status = "timeout"
        self.process.interrupt()
        late = ()  # what is answered now does not count
        if not self.follow(request, ran, time.monotonic() + GRACE_SECONDS, late):
            self.stop()
        ran.status = "timeout"
        return ran

    def follow(self, request, ran, until, awaited):
        """Gather a request's messages until it is done; return False where the time ends first or
        the process is gone.
        """
        measure_at, over = 0, None
        while (now := time.monotonic()) < until:
            if now >= measure_at:
                measure_at = now + POLL_SECONDS
                if own_memory() - self.before > MOST_GROWTH:
                    self.stop()
                    return False
            message = self.client.next_published(POLL_SECONDS)
            if message is None:
                if not self.process.is_alive():
                    return False
                if over is None and self.replied(request):
                    over = now + LAG_SECONDS
                # a flood of output may lose the message that says "idle", never the reply
                if over and now >= over:
                    return True
            elif message.parent == request and gather(message, ran, awaited):
                return True
        return over is not None

    def replied(self, request):
        """Return whether the kernel has answered the request itself.

        A few replies are looked at each time: there may be no end of those to other requests.
        """
        replies = (self.client.next_reply() for _ in range(MOST_REPLIES))
        return any(reply and reply.parent == request for reply in replies)


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


def observation_in(answer, request_id):
    """Return the observation that an answer to a request holds, or None where it holds none."""
    with contextlib.suppress(WireError):
        match decode(answer or ""):
            case {"id": its_id, "observation": dict(observation)} if its_id == request_id:
                return observation
    return None


def own_memory():
    """Return the bytes of memory that this process takes."""
    return psutil.Process().memory_info().rss
