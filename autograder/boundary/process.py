"""The grader's end of one submission's process."""

import contextlib
import select
import shutil
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
        folder: holds the sockets of its kernel.
        connection: what a client needs to know.
        keeper: process id of the keeper, whose descendants are the submission.
    """

    def __init__(self, control, folder, connection, keeper):
        self.control, self.folder, self.connection = control, folder, connection
        self.keeper, self.group = psutil.Process(keeper), None

    def enter(self, group):
        """Let the process, which has run none of the submission yet, enter a control group that is
        its own.
        """
        self.group = group
        with contextlib.suppress(psutil.Error):  # it has ended, which is noticed elsewhere
            for process in self.keeper.children():
                group.take(process.pid)

    def is_alive(self):
        """Return whether the process runs."""
        return not select.select([self.control], [], [], 0)[0]

    def interrupt(self):
        """Ask whatever runs to stop, as Ctrl-C does."""
        with contextlib.suppress(OSError):
            self.control.sendall(b"interrupt")

    def end(self):
        """End the process and all that it started; return when nothing of it is left."""
        self.control.settimeout(END_SECONDS)
        try:
            self.control.sendall(b"kill")
            self.control.recv(4096)
        except TimeoutError:  # its keeper hangs
            self.end_without_keeper()
        except OSError:  # both are gone already
            pass
        self.control.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.group:
            self.group.remove()

    def end_without_keeper(self):
        """End the submission's first process, and so all of them, and its keeper from here."""
        with contextlib.suppress(psutil.Error):
            for process in [*self.keeper.children(), self.keeper]:
                process.kill()
