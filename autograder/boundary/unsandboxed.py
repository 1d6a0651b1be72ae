"""No boundary: for notebooks that somebody trusts, and says so."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile

from autograder.boundary.mounts import environment
from autograder.boundary.process import seconds_waited
from autograder.course import ROOT


class Unsandboxed:
    """No boundary: processes run as the grader's own user, and can read and do what that user
    can.
    """

    name = "none"
    missing = ()  # nothing beyond what its name says

    def __init__(self, stem):
        self.stem = stem

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def wait_until_ready(self):
        """There is nothing to wait for."""

    def fork(self, bounds=None):
        """Start the process of one submission, with a home and an environment of its own.

        Returns:
            PlainProcess.
        """
        home = tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True)
        kept = {
            name: os.environ[name]
            for name in ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
            if name in os.environ
        }
        own = {"HOME": home.name, "IPYTHONDIR": f"{home.name}/.ipython", "PYTHONPATH": str(ROOT)}
        talk, its_talk = socket.socketpair()
        printed, its_printed = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "autograder.boundary.inside.shell"],
            cwd=home.name,
            env={**environment(), "MPLCONFIGDIR": home.name, **kept, **own},
            stdin=its_talk,
            stdout=its_printed,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        its_talk.close()
        os.close(its_printed)
        return PlainProcess(process, talk, printed, home)


class PlainProcess:
    """One submission's process without a boundary.

    Args:
        talk, printed: its channels; see `autograder.boundary.client`.
        home: the temporary folder that is its home.
    """

    def __init__(self, process, talk, printed, home):
        self.process, self.talk, self.printed, self.home = process, talk, printed, home

    def is_alive(self):
        """Return whether the process runs."""
        return self.process.poll() is None

    def waited(self):
        """Return the seconds in which it waited for a core; 0 where it is gone."""
        return seconds_waited(self.process.pid)

    def interrupt(self):
        """Ask whatever runs to stop, as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """End the process and whatever it started in its group; what left the group goes on."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.talk.close()
        os.close(self.printed)
        self.home.cleanup()
