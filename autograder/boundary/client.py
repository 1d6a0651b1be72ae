"""The grader's end of a kernel's sockets, and what its messages say.

A learner's process can send anything, and knows the key that signs it. So nothing is believed for
its signature: of a message, what counts is read, as text, and the rest is skipped without making
anything of it.
"""

from dataclasses import dataclass, field

import msgspec
import zmq
from jupyter_client.session import DELIM, Session

from autograder.shared.probes import ANSWER_MIME
from autograder.shared.wire import LARGEST_TEXT

MOST_OUTPUT = 20_000  # characters of a cell's output that are kept
LONGEST_ERROR = 2_000  # characters
MOST_WAITING = 8  # messages that wait to be read
MOST_FRAMES = 16  # of a message that are looked at; an honest one has seven


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


class Header(msgspec.Struct):
    """What counts of a message's header, or of its parent's."""

    msg_id: str = ""
    msg_type: str = ""


class Data(msgspec.Struct):
    """What is displayed."""

    plain: str = msgspec.field(default="", name="text/plain")
    answer: str | None = msgspec.field(default=None, name=ANSWER_MIME)


class Content(msgspec.Struct):
    """What counts of the content of whatever a kernel publishes."""

    execution_state: str = ""
    text: str = ""
    ename: str = ""
    evalue: str = ""
    data: Data = msgspec.field(default_factory=Data)


@dataclass(frozen=True)
class Message:
    """A message of a kernel.

    Args:
        kind: "stream", "error", ...
        parent: the id of the request that it belongs to, or "".
    """

    kind: str
    parent: str
    content: Content


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
        # who sent what is no message has lost the connection, and nobody takes requests any more
        self.context.setsockopt(zmq.SNDTIMEO, 0)
        self.shell, self.published = self.context.socket(zmq.DEALER), self.context.socket(zmq.SUB)
        self.published.subscribe(b"")
        self.shell.connect(f"ipc://{connection['ip']}-{connection['shell_port']}")
        self.published.connect(f"ipc://{connection['ip']}-{connection['iopub_port']}")

    def close(self):
        """Close both; nothing is waited for."""
        self.context.destroy()

    def execute(self, source, expression=None):
        """Ask for code to be run and for an expression to be evaluated; return the id of the
        request, or None where nobody takes it.
        """
        content = {
            "code": source,
            "silent": expression is not None,
            "store_history": False,
            "user_expressions": {} if expression is None else {"answered": expression},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        try:
            return self.session.send(self.shell, "execute_request", content)["header"]["msg_id"]
        except zmq.Again:
            return None

    def ask_who_it_is(self):
        """Ask what every kernel answers; that it is at work on it, and done, is published."""
        self.session.send(self.shell, "kernel_info_request", {})

    def next_published(self, seconds):
        """Return the next Message that the kernel publishes, or None where there is none in that
        time, or none that can be read.
        """
        return receive(self.published) if self.published.poll(1000 * seconds) else None

    def next_reply(self):
        """Return a reply that is there, or None."""
        return receive(self.shell) if self.shell.poll(0) else None


def receive(channel):
    """Return the Message that a channel has, or None if it is no message."""
    frames, more = [], True
    while more:
        frame, more = channel.recv(), channel.getsockopt(zmq.RCVMORE)
        if len(frames) < MOST_FRAMES:
            frames.append(frame)
    try:
        _, header, parent, _, content = frames[frames.index(DELIM) + 1 :][:5]
        header, parent = (msgspec.json.decode(each, type=Header) for each in (header, parent))
        try:
            content = msgspec.json.decode(content, type=Content)
        except UnicodeDecodeError:  # of what was printed, such as the name of a file
            content = content.decode("utf-8", "replace")
            content = msgspec.json.decode(content, type=Content)
    except (ValueError, RecursionError):
        return None
    return Message(header.msg_type, parent.msg_id, content)


def gather(message, ran, awaited):
    """Note what one message says; return whether it is the last of its request."""
    content = message.content
    match message.kind:
        case "status":
            return content.execution_state == "idle"
        case "stream":
            ran.text += content.text[: MOST_OUTPUT - len(ran.text)]
        case "error":
            ran.status, ran.error = "error", f"{content.ename}: {content.evalue}"[:LONGEST_ERROR]
        case "display_data" | "execute_result":
            if content.data.answer is not None:
                for line in content.data.answer.split("\n", len(awaited))[: len(awaited)]:
                    for each in awaited:
                        if each in line[:100]:
                            # one character more than is read, so that it is refused
                            ran.answers.setdefault(each, line[: LARGEST_TEXT + 1])
            else:
                ran.text += f"{content.data.plain}\n"[: MOST_OUTPUT - len(ran.text)]
    return False
