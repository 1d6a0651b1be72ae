"""The grader's end of a kernel's sockets, and what its messages say."""

from dataclasses import dataclass, field

import zmq
from jupyter_client.session import Session

from autograder.shared.probes import ANSWER_MIME

MOST_OUTPUT = 20_000  # characters of a cell's output that are kept
MOST_WAITING = 8  # messages that wait to be read


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
