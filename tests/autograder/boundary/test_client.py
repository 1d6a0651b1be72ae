"""Whatever a learner's process sends: what counts of it is read, and the rest takes no memory."""

import contextlib
import json
import re
import tempfile
from pathlib import Path

import pytest
import zmq
from jupyter_client.session import DELIM

from autograder.boundary.client import MOST_OUTPUT, Client, Ran, gather
from autograder.shared.probes import ANSWER_MIME

LARGE = 2**26  # bytes, the largest message of a sandbox


@pytest.fixture
def kernel():
    """The sockets of a kernel, and a client that is connected to them."""
    with tempfile.TemporaryDirectory() as folder:
        context, at = zmq.Context(), f"{folder}/kernel"
        shell, published = context.socket(zmq.ROUTER), context.socket(zmq.XPUB)
        shell.bind(f"ipc://{at}-1")
        published.bind(f"ipc://{at}-2")
        connection = {
            "key": "",
            "signature_scheme": "hmac-sha256",
            "ip": at,
            "shell_port": 1,
            "iopub_port": 2,
        }
        client = Client(connection, -1)
        published.recv()  # it listens
        yield published, client
        client.close()
        context.destroy(linger=0)


def send(kernel, kind, content):
    """Publish a message; content is data, or bytes as they are."""
    header = json.dumps({"msg_id": "it", "msg_type": kind, "date": "now", "version": "5.3"})
    parent = json.dumps({"msg_id": "the request", "username": "us"})
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    kernel[0].send_multipart(
        [b"topic", DELIM, b"", header.encode(), parent.encode(), b"{}", content]
    )


def received(kernel):
    return kernel[1].next_published(10)


def ran(kernel, kind, content, awaited=()):
    """Return what a message with some content leaves, and whether it is the last."""
    send(kernel, kind, content)
    message, result = received(kernel), Ran()
    assert message.parent == "the request"
    return result, gather(message, result, awaited)


def test_what_counts_of_each_kind_of_message_is_read(kernel):
    assert (
        ran(kernel, "stream", {"name": "stdout", "text": "x" * 90_000})[0].text == "x" * MOST_OUTPUT
    )
    failed = {"ename": "KeyError", "evalue": "'x'", "traceback": ["...", "..."]}
    assert ran(kernel, "error", failed)[0] == Ran(status="error", error="KeyError: 'x'")
    shown = {"data": {"text/plain": "4", "image/png": "iVBO"}, "metadata": {}, "transient": {}}
    assert ran(kernel, "execute_result", {**shown, "execution_count": 3})[0].text == "4\n"
    assert ran(kernel, "display_data", {"data": {"image/png": "iVBO"}})[0].text == "\n"
    told = {"data": {ANSWER_MIME: "id1 first\nid2 second\nid1 third"}}
    answers = ran(kernel, "display_data", told, ["id1", "id2"])[0].answers
    assert answers["id1"] == "id1 first"
    assert [ran(kernel, "status", {"execution_state": each})[1] for each in ("busy", "idle")] == [
        False,
        True,
    ]
    assert ran(kernel, "stream", b'{"text": "a\x80b"}')[0].text == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"null", b"{", b'{"data": [2]}', b'{"text": {}}', b"[" * 100_000, b"\xff"],
    ids=range(8),
)
def test_what_is_no_message_is_none(kernel, content):
    send(kernel, "stream", content)
    assert received(kernel) is None
    kernel[0].send_multipart([b"topic", DELIM, b""])
    assert received(kernel) is None
    kernel[0].send_multipart([b"topic"] * 1000 + [DELIM, b"", b"{}", b"{}", b"{}", b"{}"])
    assert received(kernel) is None
    assert ran(kernel, "stream", {"text": "after"})[0].text == "after"


@pytest.mark.parametrize(
    ("beginning", "repeated", "end"),
    [
        (b'{"x":[', b"1.5,", b"1]}"),
        (b'{"data":{"x":[', b"[],", b"[]]}}"),
        (b'{"data":{"x":[', b'{"a":1},', b"1]}}"),
        (b'{"text":"\xf0\x9f\x98\x80', b"a", b'"}'),
    ],
    ids=["numbers", "lists", "dictionaries", "letters"],
)
def test_the_largest_message_takes_little_more_memory_than_its_bytes(
    kernel, beginning, repeated, end
):
    content = beginning + repeated * ((LARGE - 100) // len(repeated)) + end
    send(kernel, "stream", content)
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far is what there is now
    before = highest()
    with contextlib.suppress(Exception):
        gather(received(kernel), Ran(), ())
    assert highest() - before < 6 * LARGE / 2**20


def highest():
    """Return the mebibytes that this process has taken at most."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024
