"""A process of the learner's own, in which their notebook runs and answers questions; nothing in it
decides anything.
"""

import contextlib
import secrets
import time
from dataclasses import dataclass, field

import psutil
import zmq
from jupyter_client.session import Session

from autograder.shared.probes import ANSWER_MIME
from autograder.shared.wire import WireError, decode

MOST_OUTPUT = 20_000  # characters of a cell's output that are kept
START_SECONDS = (
    20  # for a kernel to answer, on a machine that is busy; after that another is started
)
NUDGE_SECONDS = 1  # after which a kernel that has said nothing is asked something
ATTEMPTS = 2  # at starting a kernel
GRACE_SECONDS = 2  # between asking a cell to stop and making it
POLL_SECONDS = 0.1
LAG_SECONDS = 2  # by which outputs may come after the reply
MOST_WAITING = 8  # messages that wait to be read
MOST_GROWTH = (
    2**30
)  # bytes of this process that messages may take; one may have any number of parts


@dataclass
class Ran:
    """How one request to the kernel ended.

    Args:
        status: "ok", "error" (an exception), "timeout" (stopped after its time) or "died" (the
            process is gone).
        text: what was printed, at most `MOST_OUTPUT` characters.
        error: "NameError: name 'x' is not defined", where there was an exception.
        answers: texts sent back by `autograder.shared.probes.answer`, by the id that was waited
            for.
    """

    status: str = "ok"
    text: str = ""
    error: str = ""
    answers: dict[str, str] = field(default_factory=dict)


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
        if None not in observations:
            return observations, None
        match ran.status:
            case "timeout":
                why = (
                    f"did not finish within {seconds:.0f} s and was stopped; is there a loop that"
                    " never ends?"
                )
            case "died":
                why = "ended the Python process (a crash, an exit, or too much memory)"
            case _:
                why = "gave no answer that could be read"
        return observations, why

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
            except (
                RuntimeError
            ):  # the submission left something behind that ends every process at its start
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
        if self.follow(request, ran, time.monotonic() + seconds, awaited):
            return ran
        if self.gone or not self.process.is_alive():
            ran.status = "died"
            self.stop()
            return ran
        ran.status = "timeout"
        self.process.interrupt()
        if not self.follow(
            request, ran, time.monotonic() + GRACE_SECONDS, ()
        ):  # what comes now is late
            self.stop()
        ran.status = "timeout"
        return ran

    def follow(self, request, ran, until, awaited):
        """Gather a request's messages until it is done; return False where the time ends first or
        the process is gone.
        """
        look, over = 0, None
        while (now := time.monotonic()) < until:
            if now >= look:
                look = now + POLL_SECONDS
                if own_memory() - self.before > MOST_GROWTH:
                    self.stop()
                    return False
            message = self.client.next_published(POLL_SECONDS)
            if message is None:
                if not self.process.is_alive():
                    return False
                if over is None and self.replied(request):
                    over = now + LAG_SECONDS
                if (
                    over and now >= over
                ):  # a flood of output may lose the message that says "idle", never the reply
                    return True
            elif parent_of(message) == request and gather(message, ran, awaited):
                return True
        return over is not None

    def replied(self, request):
        """Return whether the kernel has answered the request itself."""
        while message := self.client.next_reply():
            if parent_of(message) == request:
                return True
        return False


def observation_in(answer, request_id):
    """Return the observation that an answer to a request holds, or None where it holds none."""
    with contextlib.suppress(WireError):
        match decode(answer or ""):
            case {"id": told_id, "observation": dict(observation)} if told_id == request_id:
                return observation
    return None


def own_memory():
    """Return the bytes of memory that this process takes."""
    return psutil.Process().memory_info().rss


class Client:
    """The grader's end of a kernel's sockets, by Jupyter's protocol: requests and replies on one,
    what it publishes on the other.

    Args:
        connection: of the kernel, as its connection file holds it.
        largest_message: bytes; a larger one is lost. -1 for any.
    """

    def __init__(self, connection, largest_message):
        self.session = Session(
            key=connection["key"].encode(), signature_scheme=connection["signature_scheme"]
        )
        self.context = zmq.Context()
        self.context.setsockopt(zmq.MAXMSGSIZE, largest_message)
        self.context.setsockopt(zmq.RCVHWM, MOST_WAITING)
        self.context.setsockopt(zmq.LINGER, 0)
        self.shell, self.published = self.context.socket(zmq.DEALER), self.context.socket(zmq.SUB)
        self.published.subscribe(b"")
        self.shell.connect(f"ipc://{connection['ip']}-{connection['shell_port']}")
        self.published.connect(f"ipc://{connection['ip']}-{connection['iopub_port']}")

    def close(self):
        """Close both; nothing is waited for."""
        self.context.destroy()

    def execute(self, source, expression=None):
        """Ask for code to be run and for an expression to be evaluated; return the id of the
        request.
        """
        content = {
            "code": source,
            "silent": expression is not None,
            "store_history": False,
            "user_expressions": {} if expression is None else {"answered": expression},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        return self.session.send(self.shell, "execute_request", content)["header"]["msg_id"]

    def ask_who_it_is(self):
        """Ask what every kernel answers; that it is at work on it, and done, is published."""
        self.session.send(self.shell, "kernel_info_request", {})

    def next_published(self, seconds):
        """Return the next message that the kernel publishes, or None where there is none in that
        time.
        """
        return self.receive(self.published) if self.published.poll(1000 * seconds) else None

    def next_reply(self):
        """Return a reply that is there, or None."""
        return self.receive(self.shell) if self.shell.poll(0) else None

    def receive(self, channel):
        """Return a message. A learner's process can send anything; what is no message is an empty
        one.
        """
        try:
            _, message = self.session.recv(channel)
        except Exception:
            return {}
        return (
            message
            if isinstance(message, dict) and isinstance(message.get("content"), dict)
            else {}
        )


def parent_of(message):
    """Return the id of the request that a message belongs to, or None."""
    parent = message.get("parent_header")
    return parent.get("msg_id") if isinstance(parent, dict) else None


def gather(message, ran, awaited):
    """Note what one message says; return whether it is the last of its request."""
    content = message["content"]
    match message.get("msg_type"):
        case "status":
            return content.get("execution_state") == "idle"
        case "stream":
            ran.text += str(content.get("text", ""))[: MOST_OUTPUT - len(ran.text)]
        case "error":
            ran.status, ran.error = (
                "error",
                f"{content.get('ename')}: {content.get('evalue')}"[:2_000],
            )
        case "display_data" | "execute_result":
            data = content.get("data")
            data = data if isinstance(data, dict) else {}
            if isinstance(answer := data.get(ANSWER_MIME), str):
                for line in answer.split("\n", len(awaited))[: len(awaited)]:
                    for each in awaited:
                        if each in line[:100]:
                            ran.answers.setdefault(each, line)
            else:
                ran.text += f"{data.get('text/plain', '')}\n"[: MOST_OUTPUT - len(ran.text)]
    return False
