"""What a learner's code can see: the Python that runs it, read-only; the few modules of this course
that notebooks import; and empty folders of limited size.
"""

import os
import sys
from pathlib import Path

from autograder.course import ROOT, CourseError, chapters

COURSE = "/course"
# Where a virtual environment is seen: it may lie in /tmp, where learners' code has a folder of its
# own.
ENVIRONMENT = "/environment"
HOME = "/home/learner"
# Where nbgrader, if told no other place, keeps what learners hand in.
EXCHANGE = Path("/usr/local/share/nbgrader")
# Mounted whole.
LEARNERS_SIDE = ("autograder/shared", "autograder/boundary/inside", "autograder/visible")
# But seen empty, except in the chapters that ask with what is in it: elsewhere it is an answer.
PARTS, ASKED_WITH_PARTS = "autograder/shared/parts", ("ch12_interpretation",)


def mounts(stem):
    """Return bubblewrap's options for what is there: everything that a learner's code can ever see.

    Args:
        stem: the chapter.

    Raises:
        CourseError: if the Python that runs this lies in a folder that holds the course, too.
    """
    hidden = hidden_below("/usr")
    parts = [] if stem in ASKED_WITH_PARTS else [f"{COURSE}/{PARTS}"]
    return [
        *system_folders(hidden),
        *python_folders(),
        *course_folders(stem),
        *own_folders(),
        *seen_empty(parts),
        *(word for place in (*hidden, *parts) for word in ("--remount-ro", place)),
    ]


def system_folders(hidden):
    """Return the options for the system's programs and libraries, read-only.

    Args:
        hidden: folders below /usr that are seen empty.
    """
    options = ["--ro-bind", "/usr", "/usr", *seen_empty(hidden)]
    for path in ("/bin", "/lib", "/lib64", "/sbin"):
        if os.path.islink(path):
            options += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            options += ["--ro-bind", path, path]
    options += folders_above("/etc/localtime")
    for path in ("/etc/ld.so.cache", "/etc/localtime"):
        options += ["--ro-bind-try", path, path]
    return options


def seen_empty(places):
    """Return the options that put empty folders in the place of others."""
    return [word for place in places for word in ("--perms", "0755", "--tmpfs", place)]


def python_folders():
    """Return the options for the Python that runs this, and its environment.

    Raises:
        CourseError: if it lies in a folder that holds the course, too.
    """
    options = []
    for path, seen_as in pythons().items():
        if hidden_below(path):
            raise CourseError(
                f"learners' code would see {ROOT}, for its Python lies in {path}; make an"
                f" environment in {ROOT}/.venv"
            )
        if not Path(seen_as).is_relative_to("/usr"):
            options += [*folders_above(seen_as), "--ro-bind", path, seen_as]
    return options


def course_folders(stem):
    """Return the options for what a chapter's notebook may import of this course."""
    options = []
    for source in course_files(stem):
        target = f"{COURSE}/{source.relative_to(ROOT)}"
        options += [*folders_above(target), "--ro-bind", str(source), target]
    return options


def own_folders():
    """Return the options for devices, processes and empty folders."""
    return [
        *folders_above(HOME),
        *folders_above("/run/outside-proc"),
        *("--dev", "/dev", "--dir", "/proc", "--tmpfs", "/tmp", "--tmpfs", HOME),
        *("--bind", "/proc", "/run/outside-proc"),
    ]


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
    }
