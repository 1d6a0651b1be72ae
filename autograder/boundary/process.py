"""The grader's end of one submission's process."""

import contextlib
import os
import select
import socket
import struct

import psutil

CREDENTIALS = struct.Struct("iii")  # process, user and group of who sent a message
END_SECONDS = 10


def answer_on(control, seconds):
    """Wait for a keeper's answer; return why there is no process (None where there is one), and the
    keeper's process id.
    """
    control.settimeout(seconds)
    try:
        answer, ancillary, *_ = control.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
    except TimeoutError:
        return "nothing was heard of it", None
    if answer != b"ready":
        return answer.decode(errors="replace").strip() or "its keeper is gone", None
    return None, CREDENTIALS.unpack(ancillary[0][2])[0]


class Process:
    """One submission's process, and everything that it starts.

    Args:
        control: the socket on which its keeper listens.
        talk, printed: its channels; see `autograder.boundary.client`.
        keeper: process id of the keeper, whose only child is the submission's first process.
    """

    def __init__(self, control, talk, printed, keeper):
        self.control, self.talk, self.printed = control, talk, printed
        self.keeper, self.first, self.group = psutil.Process(keeper), [], None
        with contextlib.suppress(psutil.Error):  # it has ended, which is noticed elsewhere
            self.first = children_of(self.keeper)

    def enter(self, group):
        """Let the process, which has run none of the submission yet, enter a control group that is
        its own.
        """
        self.group = group
        for process in self.first:
            group.take(process.pid)

    def is_alive(self):
        """Return whether the process runs."""
        return not select.select([self.control], [], [], 0)[0]

    def waited(self):
        """Return the seconds in which its first process waited for a core; 0 where it is gone."""
        return sum(seconds_waited(process.pid) for process in self.first)

    def interrupt(self):
        """Ask whatever runs to stop, as Ctrl-C does."""
        with contextlib.suppress(OSError):
            self.control.sendall(b"interrupt")

    def end(self):
        """End the process and all that it started; return when nothing of it is left."""
        self.control.settimeout(END_SECONDS)
        has_ended = b""
        with contextlib.suppress(OSError):  # its keeper hangs, or is gone
            self.control.sendall(b"kill")
            has_ended = self.control.recv(4096)
        if not has_ended:
            self.end_without_keeper()
        for channel in (self.control, self.talk):
            channel.close()
        os.close(self.printed)
        if self.group:
            self.group.remove()

    def end_without_keeper(self):
        """End the submission's first process, and so all of them, and its keeper from here. Where
        the keeper was killed, it did not: a process may ask not to end with its parent.
        """
        for process in [*self.first, self.keeper]:
            with contextlib.suppress(psutil.Error):
                process.kill()


def seconds_waited(pid):
    """Return how long the main thread of a process waited for a core in all, as Linux counts it; 0
    where it is gone, or where nobody counts.
    """
    try:
        with open(f"/proc/{pid}/schedstat") as file:
            _, waited, _ = file.read().split()  # nanoseconds
        return int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0


def children_of(process):
    """Return a process's children, as Linux lists them where it was built to: psutil looks through
    all that run on the machine, which takes half as long as to start one.
    """
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return [psutil.Process(int(pid)) for pid in file.read().split()]
    except OSError:
        return process.children()
