"""The boundary around learners' code: bubblewrap around a fork server, and a world of its own for
each submission.

`boundary(stem)` gives the one that this machine offers. There is no fall-back that is silently
weaker: without bubblewrap it raises, unless it is told in so many words to go on without.

What a submission can reach is listed in `autograder.boundary.mounts`. No network, no other process,
no gradebook, no reference of this chapter or a later one.
"""

import atexit
import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cache

from autograder.authoring.released import modules_of_notebook
from autograder.boundary.groups import NO_GROUP, groups_here
from autograder.boundary.mounts import environment, inside, mounts
from autograder.boundary.process import Process, answer_on
from autograder.boundary.unsandboxed import Unsandboxed
from autograder.boundary.users import user_of_submissions
from autograder.course import CourseError
from autograder.shared.probes.stand_ins import modules_for
from autograder.shared.visible import read_visible_cases

HELP = (
    "install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap), grade"
    " in a container, or, for notebooks that you trust, say --unsandboxed"
)
NO_USER_NAMESPACES = (
    "this machine or container does not let a process make a namespace of users; allow it (sysctl"
    " user.max_user_namespaces, and where they exist kernel.unprivileged_userns_clone and"
    " kernel.apparmor_restrict_unprivileged_userns; in a container, --security-opt"
    " seccomp=unconfined), or, for notebooks that you trust, say --unsandboxed"
)
ADVICE = {  # by the step that failed
    "unshare": NO_USER_NAMESPACES,
    "namespace": NO_USER_NAMESPACES,
    "mount proc": (
        "this container hides a part of /proc, so nobody in it may mount another; start it with"
        " --security-opt systempaths=unconfined (Docker) or --security-opt unmask=ALL (Podman)"
    ),
    "loopback": (
        "this container's root may not set a network up, not even an empty one; start it with"
        " --cap-add NET_ADMIN"
    ),
}
START_SECONDS = 60  # for the server, which imports PyTorch
FORK_SECONDS = 20  # on a machine that is busy; after that another is started


@dataclass(frozen=True)
class Bounds:
    """What all processes of a submission may use.

    Args:
        memory: bytes of address space, for one process, beyond what its libraries take.
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

    def __init__(self, stem):
        self.stem = stem

    def __enter__(self):
        if not shutil.which("bwrap"):
            raise CourseError(
                f"learners' code is run inside bubblewrap, and there is none here: {HELP}"
            )
        self.owner = os.getpid()  # processes that this one forks share the server, until it is gone
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.errors = tempfile.TemporaryFile("w+")
        self.user, self.groups = user_of_submissions(), groups_here(Bounds())
        self.process = subprocess.Popen(
            command(self.stem, self.user),
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
            env={},
        )
        theirs.close()
        self.is_ready = False
        # what a submission's process needs is tried before the server takes seconds to import
        self.trial = self.ask_for_process(Bounds())
        return self

    def wait_until_ready(self):
        """Return when the server can fork; it takes seconds to start, in which others can be
        useful.

        Raises:
            CourseError: where it does not start, or could not start the process of a submission;
                the message says what to do.
        """
        if self.is_ready:
            return
        problem, _ = answer_on(self.trial, START_SECONDS)
        self.socket.settimeout(START_SECONDS)
        if not problem:
            with contextlib.suppress(OSError):
                self.is_ready = self.socket.recv(16) == b"ready"
        if self.is_ready:
            return
        self.errors.seek(0)
        reason = self.errors.read().strip() or problem or "no reason was given"
        self.__exit__()
        raise CourseError(why_not_here(reason))

    def __exit__(self, *exception):
        self.socket.close()
        self.trial.close()
        self.process.terminate()
        self.process.wait()
        self.errors.close()

    def fork(self, bounds=None):
        """Start the process of one submission.

        Returns:
            Process, which can be asked.

        Raises:
            RuntimeError: if none could be started.
        """
        self.restart_if_gone()
        self.wait_until_ready()
        bounds = bounds or Bounds()
        talk, its_talk = socket.socketpair()
        printed, its_printed = os.pipe()
        control = self.ask_for_process(bounds, its_talk.fileno(), its_printed)
        its_talk.close()
        os.close(its_printed)
        problem, keeper = answer_on(control, FORK_SECONDS)
        if problem:
            for channel in (control, talk):
                channel.close()
            os.close(printed)
            raise RuntimeError(f"no process could be started: {problem}")
        process = Process(control, talk, printed, keeper)
        if self.groups:
            try:
                process.enter(self.groups.make(bounds))
            except OSError as error:
                process.end()
                raise RuntimeError(f"no control group could be made: {error}") from error
        return process

    @property
    def missing(self):
        """What this machine or container cannot give: sentences for an instructor."""
        return [] if self.groups else [NO_GROUP]

    def ask_for_process(self, bounds, *channels):
        """Ask the server for the process of a submission; return the socket on which its keeper
        answers.

        Args:
            channels: descriptors for requests and for what is printed; without any, the process
                ends as soon as it could run a submission.
        """
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        request = json.dumps({"limits": asdict(bounds), "user": self.user}).encode()
        with contextlib.suppress(OSError):  # a server that is gone has closed the other end
            socket.send_fds(self.socket, [request], [theirs.fileno(), *channels])
        theirs.close()
        return control

    def restart_if_gone(self):
        """Start another server where this one was killed from outside, or ran out of memory."""
        if self.is_ready and select.select([self.socket], [], [], 0)[0]:
            if self.owner == os.getpid():
                self.__exit__()
            self.__enter__()


def why_not_here(reason):
    """Return the sentence that says why submissions cannot be run inside bubblewrap here, and what
    to do.

    Args:
        reason: what was said by bubblewrap, the fork server or a submission's first process.
    """
    said = reason.splitlines()[-1][-300:]
    advice = [words for step, words in ADVICE.items() if step in said]
    return (
        f"learners' code is run inside bubblewrap, which does not work here ({said}):"
        f" {''.join(advice) or HELP}"
    )


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


def command(stem, user):
    """Return the command line that starts the fork server.

    Args:
        user: who submissions run as; see `autograder.boundary.users`.
    """
    root = user is not None
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
        *mounts(stem),
        *(word for name, value in environment().items() for word in ("--setenv", name, value)),
        *("--chdir", "/", "--remount-ro", "/"),
        *(
            inside(sys.executable),
            "-m",
            "autograder.boundary.inside.forkserver",
            *modules_of_notebook(stem),
            *modules_of_questions(stem),
        ),
    ]


def modules_of_questions(stem):
    """Return the names of what a chapter's questions import, as its visible cases show."""
    cases = [case for each in read_visible_cases(stem).values() for case in each.cases]
    return list(dict.fromkeys(name for case in cases for name in modules_for(case)))
