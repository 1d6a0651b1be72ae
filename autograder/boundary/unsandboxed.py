"""No boundary: for notebooks that somebody trusts, and says so."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.boundary.mounts import environment
from autograder.boundary.places import new_connection, new_folder
from autograder.course import ROOT


class Unsandboxed:
    """No boundary: kernels run as the grader's own user, and can read and do what that user can."""

    name = "none"
    largest_message = -1  # without a limit
    missing = ()  # nothing beyond what its name says

    def __init__(self, stem):
        self.stem = stem

    def __enter__(self):
        self.folder = new_folder()
        return self

    def __exit__(self, *exception):
        self.folder.cleanup()

    def wait_until_ready(self):
        """There is nothing to wait for."""

    def fork(self, bounds=None):
        """Start the process of one submission, with a folder and an environment of its own.

        Returns:
            PlainProcess.
        """
        folder = Path(tempfile.mkdtemp(prefix="kernel-", dir=self.folder.name))
        connection = {**new_connection(), "ip": str(folder / "kernel")}
        (folder / "kernel.json").write_text(json.dumps(connection))
        home = folder / "home"
        home.mkdir()
        kept = {
            name: os.environ[name]
            for name in ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
            if name in os.environ
        }
        own = {"HOME": str(home), "IPYTHONDIR": str(home / ".ipython"), "PYTHONPATH": str(ROOT)}
        own["JPY_PARENT_PID"] = str(os.getpid())  # it ends with this process, however this one ends
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "ipykernel_launcher",
                "--HistoryManager.enabled=False",
                "-f",
                folder / "kernel.json",
            ],
            cwd=home,
            env={**environment(), "MPLCONFIGDIR": str(home), **kept, **own},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return PlainProcess(process, folder, connection)


class PlainProcess:
    """One submission's process without a boundary."""

    def __init__(self, process, folder, connection):
        self.process, self.folder, self.connection = process, folder, connection

    def is_alive(self):
        """Return whether the process runs."""
        return self.process.poll() is None

    def interrupt(self):
        """Ask whatever runs to stop, as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """End the process and whatever it started in its group; what left the group goes on."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
