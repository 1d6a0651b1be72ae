"""A control group for each submission, in which the operating system bounds the memory of all its
processes together, the kernel's memory for them and what is swapped out included, and gives them
together as much of a processor as those of any other submission.

Without one, the keeper of a submission looks at what it holds ten times a second, and ends it; see
`autograder.boundary.inside.memory`.

There are two versions. The first was tried on a machine that has it; where memory ends, it ends the
largest process of a submission alone. The second, which ends all of them, was tried only on folders
that look like it, because no machine with its memory controller was at hand.
"""

import contextlib
import os
import re
import secrets
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NO_GROUP = (
    "No control group could be made here, so the operating system does not bound the memory of"
    " learners' code: it is looked at ten times a second instead, and code that takes a lot at once"
    " may have more than its share until then. The book's page on the sandbox says what to do,"
    " under `What your machine has to give`."
)
PREFIX = "autograder-"
ABANDONED_SECONDS = 60  # after which a group without a process is nobody's
ATTEMPTS = 20  # at removing one, whose last process may just be going
MOUNTED = re.compile(r"^\S+ \S+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$", re.MULTILINE)
BOUNDING = ("memory", "pids")
SHARING = "cpu"  # without any limit in it, groups have equal shares
REQUIRED = ("memory.max", "memory.limit_in_bytes")  # the other limits are not everywhere


@dataclass(frozen=True)
class Groups:
    """Where groups can be made: folders, in each of which one is made for every submission.

    Args:
        folders: (folder, names of the controllers that bound what is in it).
        second: whether they are of the second version.
    """

    folders: tuple[tuple[Path, tuple[str, ...]], ...]
    second: bool

    def make(self, bounds):
        """Make the group of a submission.

        Raises:
            OSError: where it cannot be made.
        """
        name, made = f"{PREFIX}{secrets.token_hex(8)}", []
        try:
            for folder, controllers in self.folders:
                (folder / name).mkdir()
                made.append(folder / name)
                for file, most in self.limits(controllers, bounds).items():
                    if (folder / name / file).exists() or file in REQUIRED:
                        (folder / name / file).write_text(f"{most}\n")
        except OSError:
            Group(made).remove()
            raise
        return Group(made)

    def limits(self, controllers, bounds):
        """Return what is written into which files of a group.

        The order matters: where memory and swap are bounded together, that is not below memory.
        """
        memory = bounds.memory_in_all
        if self.second:
            limits = {"memory.max": memory, "memory.swap.max": 0, "memory.oom.group": 1}
        else:
            limits = {
                "memory.limit_in_bytes": memory,
                "memory.memsw.limit_in_bytes": memory,
            }
        limits["pids.max"] = bounds.processes
        return {
            file: most for file, most in limits.items() if file.partition(".")[0] in controllers
        }

    def work(self, bounds):
        """Return whether a group can be made and get a process."""
        with contextlib.suppress(OSError):
            group = self.make(bounds)
            try:
                with subprocess.Popen(["sleep", "60"]) as process:
                    try:
                        group.take(process.pid)
                        return True
                    finally:
                        process.kill()
            finally:
                group.remove()
        return False

    def remove_abandoned(self):
        """Remove the groups of graders that were killed: one that has a process stays in any
        case.
        """
        for folder, _ in self.folders:
            for path in folder.glob(f"{PREFIX}*"):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                        path.rmdir()


class Group:
    """The group of one submission.

    Args:
        folders: that are it, one for each hierarchy.
    """

    def __init__(self, folders):
        self.folders = folders

    def take(self, pid):
        """Take in a process, and so all that it starts from now on.

        Raises:
            OSError: where it may not be moved.
        """
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(f"{pid}\n")

    def remove(self):
        """Remove the group, whose processes have ended."""
        for folder in self.folders:
            for _ in range(ATTEMPTS):
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)


@cache
def groups_here(bounds):
    """Return the Groups of this machine, or None where this process cannot make any."""
    mounted, own = (
        Path(f"/proc/self/{name}").read_text() if os.path.exists(f"/proc/self/{name}") else ""
        for name in ("mountinfo", "cgroup")
    )
    for groups in (second_version(mounted, own), first_version(mounted, own)):
        if groups and groups.work(bounds):
            groups.remove_abandoned()
            return groups
    return None


def second_version(mounted, own):
    """Return Groups beside the one of this process, because there a group that has groups below it
    may have no process of its own, unless it is the whole; None where their controllers are not to
    be had.

    Args:
        mounted, own: /proc/self/mountinfo and /proc/self/cgroup.
    """
    for root, place, kind, _ in MOUNTED.findall(mounted):
        folder = folder_of(own, "", root, place) if kind == "cgroup2" else None
        if folder is None:
            continue
        above = folder if folder == Path(place) else folder.parent
        with contextlib.suppress(OSError):
            enabled = above / "cgroup.subtree_control"
            given = enabled.read_text().split()
            if not set(BOUNDING) <= set(given):
                enabled.write_text("+memory +pids\n")
            return Groups(((above, (*BOUNDING, *shared_out(enabled, given))),), second=True)
    return None


def shared_out(enabled, given):
    """Return the controller of shares as a tuple, enabled where it was not; () where it may not be,
    as memory is bounded all the same.

    Args:
        enabled: the file that names which controllers the groups below have.
        given: those that it named.
    """
    if SHARING not in given:
        try:
            enabled.write_text(f"+{SHARING}\n")
        except OSError:
            return ()
    return (SHARING,)


def first_version(mounted, own):
    """Return Groups below those of this process, one for each controller; None where memory is not
    among them.

    Args:
        mounted, own: /proc/self/mountinfo and /proc/self/cgroup.
    """
    found = {}
    for root, place, kind, options in MOUNTED.findall(mounted):
        for controller in (*BOUNDING, SHARING) if kind == "cgroup" else ():
            folder = folder_of(own, controller, root, place)
            if controller in options.split(",") and folder:
                found.setdefault(folder, []).append(controller)
    if not any("memory" in controllers for controllers in found.values()):
        return None
    return Groups(tuple((folder, tuple(each)) for folder, each in found.items()), second=False)


def folder_of(own, controller, root, place):
    """Return the folder of this process's group in a hierarchy, or None where it is not to be seen.

    Args:
        own: /proc/self/cgroup.
        controller: of the hierarchy; "" for the second version.
        root, place: which part of the hierarchy is mounted, and where.
    """
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and Path(path).is_relative_to(root):
            return Path(place) / Path(path).relative_to(root)
    return None
