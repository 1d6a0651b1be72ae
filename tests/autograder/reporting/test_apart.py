"""What is called apart goes beyond no limit, and whatever becomes of it, the next call is answered."""

import os
import signal
import time

import pytest

from autograder.reporting.apart import LARGEST_RESULT, Apart, NotRead


def answer(question):
    match question:
        case "raise":
            raise KeyError("no such thing")
        case "leave":
            os._exit(0)
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)  # as the system does where memory runs out
        case "loop":
            while True:
                pass
        case "memory":
            return len(bytearray(2**29))
        case "large":
            return "x" * (LARGEST_RESULT + 1)
        case "no pickle":
            return lambda: None
    return f"{question}, said {os.getpid()}"


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("raise", "KeyError: 'no such thing'"),
        ("leave", "it ended the process that read it"),
        ("crash", "it ended the process that read it"),
        ("loop", "it takes more than 1 s"),
        ("memory", "it takes more than 256 MiB of memory"),
        ("large", "what comes of it is larger than 64 MiB"),
        ("no pickle", "pickle|local object"),  # as each version of Python says it
    ],
)
def test_whatever_becomes_of_a_call_the_next_one_is_answered(question, reason):
    with Apart(answer, seconds=1, memory=2**28) as ask:
        first, again = ask("one"), ask("one")
        assert first == again
        assert first != answer("one")
        with pytest.raises(NotRead, match=reason):
            ask(question)
        assert ask("two").startswith("two, said")


def test_time_is_that_of_one_call_not_of_all():
    def work(seconds):
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass
        return True

    with Apart(work, seconds=1) as ask:
        assert all(ask(0.5) for _ in range(6))
