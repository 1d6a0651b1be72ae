"""A process of the learner's own, in which their notebook runs and answers questions; nothing in it decides anything."""

import contextlib
import os
import secrets
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from autograder.course import ROOT
from autograder.probes import ANSWER_MIME
from autograder.wire import WireError, decode, encode

MOST_OUTPUT = 20_000  # characters of a cell's output that are kept
START_SECONDS = 60  # for a kernel to be ready, on a machine that is busy
GRACE_SECONDS = 2  # between asking a cell to stop and making it
POLL_SECONDS = 0.1


@dataclass
class Ran:
    """How one request to the kernel ended.

    Args:
        status: "ok", "error" (an exception), "timeout" (stopped after its time) or "died" (the process is gone).
        text: what was printed, at most `MOST_OUTPUT` characters.
        error: "NameError: name 'x' is not defined", where there was an exception.
        answers: texts sent back by `autograder.probes.answer`.
    """

    status: str = "ok"
    text: str = ""
    error: str = ""
    answers: list[str] = field(default_factory=list)


class LearnerKernel:
    """A kernel that runs one submission. Use it in a `with` statement; nothing of it is left afterwards.

    A kernel that dies is started again, and the cells that ran before are run again, without the one that ended it.

    Args:
        seconds: for the whole submission; when they are used up, everything ends at once with "timeout".
    """

    def __init__(self, seconds):
        self.deadline = time.monotonic() + seconds
        self.history = []
        self.manager = None

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True)
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()
        self.folder.cleanup()

    def run(self, source, seconds):
        """Run one cell of the notebook for at most so many seconds."""
        self.revive()
        ran = self.request(source, seconds)
        if not self.gone:
            self.history.append((source, seconds))
        return ran

    def ask(self, exercise, case, seconds):
        """Observe the learner's function in one case.

        Returns:
            an observation as `autograder.probes.observe` makes it; `{"unfit": ...}` where no answer came.
        """
        self.revive()
        request_id = secrets.token_hex(8)
        request = encode({"id": request_id, "exercise": exercise, "probe": case.probe, "inputs": case.inputs})
        code = f"__import__('autograder.probes', fromlist=['answer']).answer({request!r})"
        ran = self.request(code, seconds, silent=True)
        if ran.status == "timeout":
            return {"unfit": f"did not finish within {seconds:.0f} s and was stopped; is there a loop that never ends?"}
        if ran.status == "died":
            return {"unfit": "ended the Python process (a crash, an exit, or too much memory)"}
        for answer in ran.answers:
            with contextlib.suppress(WireError):
                match decode(answer):
                    case {"id": told_id, "observation": dict(observation)} if told_id == request_id:
                        return observation
        return {"unfit": "gave no answer that could be read"}

    @property
    def gone(self):
        """Whether the process has ended; the next request starts another."""
        return self.manager is None

    def remaining(self):
        """Return the seconds that the submission has left."""
        return max(0.0, self.deadline - time.monotonic())

    def start(self):
        """Start the process, with a folder of its own, an environment without anything of ours, and one thread."""
        folder = Path(self.folder.name)
        # this interpreter's own kernel, whatever kernels are installed
        specs = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
        self.manager = KernelManager(
            kernel_spec_manager=specs,
            transport="ipc",
            ip=str(folder / "kernel"),
            connection_file=str(folder / "kernel.json"),
        )
        home = Path(
            tempfile.mkdtemp(prefix="home-", dir=folder)
        )  # a fresh one each time, whatever the last process wrote
        self.manager.start_kernel(
            extra_arguments=["--HistoryManager.enabled=False"],
            cwd=str(home),
            env=learner_environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.group = os.getpgid(self.manager.provisioner.pid)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=START_SECONDS)

    def stop(self):
        """End the process and whatever it started in its group."""
        if self.gone:
            return
        self.client.stop_channels()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.manager = None

    def revive(self):
        """Start the kernel again if it is gone, and bring it to where it was."""
        if self.gone and self.remaining():
            try:
                self.start()
            except RuntimeError:  # the submission left something behind that ends every process at its start
                self.deadline = time.monotonic()
                self.stop()
                return
            for source, seconds in self.history:
                if not self.gone:
                    self.request(source, seconds)

    def request(self, source, seconds, silent=False):
        """Send one request and follow it to its end; a kernel that does not stop when asked is ended."""
        seconds = min(seconds, self.remaining())
        if self.gone or seconds <= 0:
            return Ran("timeout")
        ran = Ran()
        request = self.client.execute(source, silent=silent, store_history=False, allow_stdin=False)
        if self.follow(request, ran, time.monotonic() + seconds):
            return ran
        if not self.manager.is_alive():
            ran.status = "died"
            self.stop()
            return ran
        ran.status = "timeout"
        self.manager.interrupt_kernel()
        if not self.follow(request, ran, time.monotonic() + GRACE_SECONDS):
            self.stop()
        ran.status = "timeout"
        return ran

    def follow(self, request, ran, until):
        """Gather a request's messages until it is done; return False where the time ends first or the process is gone."""
        while time.monotonic() < until:
            message = next_message(self.client.get_iopub_msg, POLL_SECONDS)
            if message is None:
                if not self.manager.is_alive():
                    return False
                if self.replied(request):  # a flood of output may lose the message that says "idle", never the reply
                    return True
            elif parent_of(message) == request and gather(message, ran):
                return True
        return False

    def replied(self, request):
        """Return whether the kernel has answered the request itself."""
        while message := next_message(self.client.get_shell_msg, 0):
            if parent_of(message) == request:
                return True
        return False


def next_message(receive, seconds):
    """Return the next message of a channel, or None. A learner's process can send anything; what is no message is passed over."""
    try:
        message = receive(timeout=seconds)
    except Empty:
        return None
    except Exception:
        return {}
    return message if isinstance(message, dict) and isinstance(message.get("content"), dict) else {}


def parent_of(message):
    """Return the id of the request that a message belongs to, or None."""
    parent = message.get("parent_header")
    return parent.get("msg_id") if isinstance(parent, dict) else None


def gather(message, ran):
    """Note what one message says; return whether it is the last of its request."""
    content = message["content"]
    match message.get("msg_type"):
        case "status":
            return content.get("execution_state") == "idle"
        case "stream":
            ran.text += str(content.get("text", ""))[: MOST_OUTPUT - len(ran.text)]
        case "error":
            ran.status, ran.error = "error", f"{content.get('ename')}: {content.get('evalue')}"[:2_000]
        case "display_data" | "execute_result":
            data = content.get("data")
            data = data if isinstance(data, dict) else {}
            if isinstance(data.get(ANSWER_MIME), str):
                ran.answers.append(data[ANSWER_MIME])
            else:
                ran.text += f"{data.get('text/plain', '')}\n"[: MOST_OUTPUT - len(ran.text)]
    return False


def learner_environment(home):
    """Return the environment variables of a learner's process: what Python needs, and nothing of ours."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT") if name in os.environ}
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
    own = {
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        "MPLBACKEND": "agg",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    return {
        **kept,
        **one_thread,
        **own,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
