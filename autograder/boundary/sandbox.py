"""The boundary around learners' code: bubblewrap around a fork server, and a world of its own for
each submission.

`boundary(stem)` gives the one that this machine offers. There is no fall-back that is silently
weaker: without bubblewrap it raises, unless it is told in so many words to go on without.

What a submission can reach is listed in `mounts`: the Python that runs it, read-only; the few
modules of this course that notebooks import; and empty folders of limited size. No network, no
other process, no gradebook, no reference of this chapter or a later one.
"""

import ast
import atexit
import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import psutil

from autograder.course import ROOT, CourseError, chapters, notebook_of

HELP = (
    "install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap), grade"
    " in a container, or, for notebooks that you trust, say --unsandboxed"
)
COURSE = "/course"
ENVIRONMENT = (  # where a virtual environment is seen; it may lie in /tmp, where learners' code has a folder of its own
    "/environment"
)
HOME = "/home/learner"
EXCHANGE = Path(
    "/usr/local/share/nbgrader"
)  # where nbgrader, if told no other place, keeps what learners hand in
CREDENTIALS = struct.Struct("iii")  # process, user and group of who sent a message
LEARNERS_SIDE = (
    "autograder/shared",
    "autograder/boundary/inside",
    "autograder/visible",
)  # mounted whole
START_SECONDS = 60  # for the server, which imports PyTorch
FORK_SECONDS = 20  # for a kernel, on a machine that is busy; after that another is started
END_SECONDS = 10
LONGEST_PLACE = (
    50  # characters of a path below which sockets can lie: a socket's whole path may have 107
)
NOBODY = 65534  # who submissions run as, where the grader is root


@dataclass(frozen=True)
class Bounds:
    """What all processes of a submission may use.

    Args:
        memory: bytes of address space, for one process.
        memory_in_all: bytes that all processes hold together.
        processes: at the same time, threads included.
        file: bytes in one file.
        cpu: seconds, for one process.
    """

    memory: int = 4 * 2**30
    memory_in_all: int = 4 * 2**30
    processes: int = 64
    file: int = 64 * 2**20
    cpu: int = 180


class Sandbox:
    """A fork server inside bubblewrap, for the submissions to one chapter. Use it in a `with`
    statement.

    Args:
        stem: the chapter; its notebook may import what earlier chapters built.

    Raises:
        CourseError: where there is no bubblewrap; the message says what to do.
    """

    name = "bubblewrap"
    largest_message = 2**26  # bytes of a kernel's message; a larger one is lost

    def __init__(self, stem):
        self.stem = stem

    def __enter__(self):
        if not shutil.which("bwrap"):
            raise CourseError(
                f"learners' code is run inside bubblewrap, and there is none here: {HELP}"
            )
        self.owner = os.getpid()  # processes that this one forks share the server, until it is gone
        self.folder = new_folder()
        os.chmod(self.folder.name, 0o711)
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.errors = open(Path(self.folder.name) / "errors.txt", "w+")
        self.process = subprocess.Popen(
            command(self.stem, self.folder.name),
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
            env={},
        )
        theirs.close()
        self.is_ready = False
        return self

    def wait_until_ready(self):
        """Return when the server can fork; it takes seconds to start, in which others can be
        useful.

        Raises:
            CourseError: where it does not start; the message says what to do.
        """
        if self.is_ready:
            return
        self.socket.settimeout(START_SECONDS)
        with contextlib.suppress(OSError):
            self.is_ready = self.socket.recv(16) == b"ready"
        if self.is_ready:
            return
        self.errors.seek(0)
        reason = self.errors.read()[-400:].strip() or "no reason was given"
        self.__exit__()
        raise CourseError(
            f"learners' code is run inside bubblewrap, which does not work here ({reason}); {HELP}"
        )

    def __exit__(self, *exception):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.errors.close()
        self.folder.cleanup()

    def fork(self, bounds=None):
        """Start the process of one submission.

        Returns:
            Process, whose kernel can be connected to.

        Raises:
            RuntimeError: if none could be started.
        """
        gone = (
            self.is_ready and select.select([self.socket], [], [], 0)[0]
        )  # killed from outside, or out of memory
        if gone:
            if self.owner == os.getpid():
                self.__exit__()
            self.__enter__()
        self.wait_until_ready()
        folder = Path(tempfile.mkdtemp(prefix="kernel-", dir=self.folder.name))
        connection = new_connection()
        (folder / "kernel.json").write_text(json.dumps({**connection, "ip": "/run/kernel/kernel"}))
        hand_over(folder)
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        request = {"kernel": folder.name, "limits": asdict(bounds or Bounds())}
        socket.send_fds(self.socket, [json.dumps(request).encode()], [theirs.fileno()])
        theirs.close()
        control.settimeout(FORK_SECONDS)
        try:
            told, ancillary, *_ = control.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
        except TimeoutError:
            told = b"nothing was heard of it"
        if told != b"ready":
            control.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise RuntimeError(f"no kernel could be started: {told.decode(errors='replace')}")
        keeper, _, _ = CREDENTIALS.unpack(ancillary[0][2])
        return Process(control, folder, {**connection, "ip": str(folder / "kernel")}, keeper)


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
        self.keeper = psutil.Process(keeper)

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

    def end_without_keeper(self):
        """End the submission's first process, and so all of them, and its keeper from here."""
        with contextlib.suppress(psutil.Error):
            for process in [*self.keeper.children(), self.keeper]:
                process.kill()


class Unsandboxed:
    """No boundary: kernels run as the grader's own user, and can read and do what that user can."""

    name = "none"
    largest_message = -1  # without a limit

    def __init__(self, stem):
        self.stem = stem

    def __enter__(self):
        remove_abandoned()
        return self

    def __exit__(self, *exception):
        pass

    def wait_until_ready(self):
        """There is nothing to wait for."""

    def fork(self, bounds=None):
        """Start the process of one submission, with a folder and an environment of its own.

        Returns:
            PlainProcess.
        """
        folder = Path(
            tempfile.mkdtemp(prefix=f"autograder-{os.getpid()}-", dir=place_for_sockets())
        )
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


def new_folder():
    """Return a temporary folder, named after this process."""
    remove_abandoned()
    return tempfile.TemporaryDirectory(
        prefix=f"autograder-{os.getpid()}-", dir=place_for_sockets(), ignore_cleanup_errors=True
    )


def place_for_sockets():
    """Return the folder for temporary files, or /tmp where that one's path is too long."""
    return tempfile.gettempdir() if len(tempfile.gettempdir()) <= LONGEST_PLACE else "/tmp"


def remove_abandoned():
    """Remove the temporary folders of processes that were killed."""
    for path in Path(place_for_sockets()).glob("autograder-*-*"):
        owner = path.name.split("-")[1]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(path, ignore_errors=True)


@cache
def boundary(stem, unsandboxed=False):
    """Return this process's boundary for submissions to a chapter; it ends with the process.

    Raises:
        CourseError: where there is no bubblewrap that works, unless `unsandboxed`.
    """
    chosen = starting_boundary(stem, unsandboxed)
    chosen.wait_until_ready()
    return chosen


@cache
def starting_boundary(stem, unsandboxed=False):
    """Return the same boundary as soon as it starts, without waiting until it is ready."""
    chosen = Unsandboxed(stem) if unsandboxed else Sandbox(stem)
    chosen.__enter__()
    atexit.register(chosen.__exit__)
    return chosen


def end_boundary(stem, unsandboxed=False):
    """End this process's boundary for a chapter: a fork server takes memory, and the next chapter
    has its own.
    """
    chosen = starting_boundary(stem, unsandboxed)
    boundary.cache_clear(), starting_boundary.cache_clear()
    atexit.unregister(chosen.__exit__)
    chosen.__exit__()


def hand_over(folder):
    """Give a kernel's folder, with the key to its messages, to the user that its submission runs
    as, and to nobody else.
    """
    for path in (*folder.iterdir(), folder):
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        path.chmod(0o700)


def new_connection():
    """Return the part of a kernel's connection that does not depend on where it lies."""
    names = ("shell", "iopub", "stdin", "control", "hb")
    return {
        **{f"{name}_port": number for number, name in enumerate(names, 1)},
        "transport": "ipc",
        "signature_scheme": "hmac-sha256",
        "key": secrets.token_hex(16),
    }


def command(stem, folder):
    """Return the command line that starts the fork server."""
    root = os.getuid() == 0
    # limits on processes do not bind a real root, who becomes nobody in each child; an ordinary
    # user is root of a world of its own, and needs CAP_SETFCAP to map that root to nobody
    user = [] if root else ["--unshare-user", "--uid", "0", "--gid", "0"]
    kept = ["CAP_SYS_ADMIN", *(["CAP_SETUID", "CAP_SETGID"] if root else ["CAP_SETFCAP"])]
    return [
        "bwrap",
        *(
            "--unshare-pid",
            "--unshare-net",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            *user,
        ),
        *(
            "--cap-drop",
            "ALL",
            *(word for capability in kept for word in ("--cap-add", capability)),
        ),
        *("--clearenv", "--die-with-parent", "--new-session"),
        *mounts(stem, folder),
        *(word for name, value in environment().items() for word in ("--setenv", name, value)),
        *("--chdir", "/", "--remount-ro", "/"),
        *(inside(sys.executable), "-m", "autograder.boundary.inside.forkserver", *imports_of(stem)),
    ]


def mounts(stem, folder):
    """Return bubblewrap's options for what is there: everything that a learner's code can ever see.

    Raises:
        CourseError: if the Python that runs this lies in a folder that holds the course, too.
    """
    options, hidden = ["--ro-bind", "/usr", "/usr"], hidden_below("/usr")
    options += [word for place in hidden for word in ("--perms", "0755", "--tmpfs", place)]
    for path in ("/bin", "/lib", "/lib64", "/sbin"):
        if os.path.islink(path):
            options += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            options += ["--ro-bind", path, path]
    options += folders_above("/etc/localtime")
    for path in ("/etc/ld.so.cache", "/etc/localtime"):
        options += ["--ro-bind-try", path, path]
    for path, seen_as in pythons().items():
        if hidden_below(path):
            raise CourseError(
                f"learners' code would see {ROOT}, for its Python lies in {path}; make an"
                f" environment in {ROOT}/.venv"
            )
        if not Path(seen_as).is_relative_to("/usr"):
            options += [*folders_above(seen_as), "--ro-bind", path, seen_as]
    for source in course_files(stem):
        target = f"{COURSE}/{source.relative_to(ROOT)}"
        options += [*folders_above(target), "--ro-bind", str(source), target]
    options += [*folders_above(HOME), *folders_above("/run/kernel")]
    options += [
        "--dev",
        "/dev",
        "--dir",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        HOME,
        "--dir",
        "/run/kernel",
    ]
    options += ["--bind", "/proc", "/run/outside-proc", "--bind", folder, "/run/kernels"]
    return options + [word for place in hidden for word in ("--remount-ro", place)]


def pythons():
    """Return the folders of the Python that runs this, and where they are seen from inside.

    Raises:
        CourseError: if it lies in a folder that learners' code gets for its own.
    """
    base = sys.base_prefix
    if any(Path(base).is_relative_to(place) for place in ("/tmp", HOME)):
        raise CourseError(
            f"learners' code cannot be run by the Python in {base}; use one that lies elsewhere"
        )
    return {base: base, **({sys.prefix: ENVIRONMENT} if sys.prefix != base else {})}


def inside(path):
    """Return where a file of the Python that runs this is seen from inside."""
    return (
        str(Path(ENVIRONMENT) / Path(path).relative_to(sys.prefix))
        if sys.prefix != sys.base_prefix
        else path
    )


def hidden_below(path):
    """Return which of the course and the exchange folder lie below a folder that learners' code may
    see.
    """
    return [
        str(place) for place in (ROOT, EXCHANGE) if place.is_dir() and place.is_relative_to(path)
    ]


def folders_above(path):
    """Return bubblewrap's options for the folders on the way to a path, which everybody may
    enter.
    """
    return [
        word
        for parent in reversed(Path(path).parents[:-1])
        for word in ("--perms", "0755", "--dir", str(parent))
    ]


def course_files(stem):
    """Return the files of this course that a chapter's notebook may import."""
    earlier = [ROOT / "solutions" / f"{each}.py" for each in chapters() if each < stem]
    packages = [
        ROOT / folder / "__init__.py"
        for folder in ("autograder", "autograder/boundary", "solutions")
    ]
    return [*(ROOT / folder for folder in LEARNERS_SIDE), *packages, *earlier]


def imports_of(stem):
    """Return the names of the modules that a chapter's released notebook imports."""
    cells = json.loads(notebook_of(stem).read_text(encoding="utf-8"))["cells"]
    names = {}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.Import):
                names.update(dict.fromkeys(alias.name for alias in node.names))
            elif isinstance(node, ast.ImportFrom):
                names[node.module] = None
    return list(names)


def environment():
    """Return the environment variables of the fork server and of learners' processes."""
    one_thread = {
        f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
    }
    return {
        **one_thread,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": HOME,
        "USER": "learner",
        "IPYTHONDIR": f"{HOME}/.ipython",
        "MPLCONFIGDIR": f"{HOME}/.matplotlib",
        "MPLBACKEND": "agg",
        "PYTHONPATH": COURSE,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
