"""The files that learners handed in: which there are, and their bytes, read without trust."""

import contextlib
import errno
import json
import os
import stat
from pathlib import PurePosixPath

from autograder.shared.wire import printable

LARGEST_NOTEBOOK = 200_000_000  # bytes; a notebook with forgotten outputs may be large and honest
LARGEST_TO_CONVERT = 20_000_000  # bytes in another encoding, because converting copies them twice
OF_NBGRADER = ("timestamp.txt", "submission_secret.txt")
MOST_NAMED = 3  # files that lie where a notebook should


def files_in(place):
    """Yield the paths of the files in a folder, relative to it, but for those that programs have
    left; no link is followed.
    """
    for folder, _, names in os.walk(place):
        for name in sorted(names):
            path = PurePosixPath(folder, name).relative_to(place)
            if not is_a_programs(path):
                yield path


def is_notebook(path):
    """Return whether a file's name is that of a notebook, in whichever case it ends."""
    return path.suffix.lower() == ".ipynb"


def is_a_programs(path):
    """Return whether a program has left a file there, of which its learner knows nothing."""
    return path.name.startswith("._") or not {"__MACOSX", ".ipynb_checkpoints"}.isdisjoint(
        path.parts
    )


def find_notebook(path):
    """Return the notebook to read and remarks: where it has another name and is the only one, that
    one is meant.
    """
    try:
        there = [] if path.exists() or path.is_symlink() else sorted(path.parent.iterdir())
        others = [each for each in there if is_notebook(each)]
    except OSError:  # a folder that may not be entered; why, `read_bytes` says
        others = []
    if len(others) == 1:
        return others[0], (printable(f"handed in as {others[0].name}"),)
    return path, ()


def read_bytes(path):
    """Return the bytes of a regular file of acceptable size.

    Raises:
        ValueError, OSError: with a sentence for the learner.
    """
    name = printable(path.name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise ValueError(f"there was no {name} in what was handed in{only_others(path)}") from None
    except OSError as error:
        what = "is a link" if error.errno == errno.ELOOP else "could not be opened"
        raise ValueError(f"{name} {what}; hand in the notebook itself") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(
                f"{name} is not a file (a folder, a pipe or a device); hand in the notebook itself"
            )
        if status.st_size > LARGEST_NOTEBOOK:
            limit = LARGEST_NOTEBOOK // 1_000_000
            raise ValueError(
                f"{name} is larger than {limit} MB; clear its outputs (Edit, Clear Outputs) and"
                " hand it in again"
            )
        if status.st_size == 0:
            raise ValueError(f"{name} is empty (0 bytes); save the notebook and hand it in again")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST_NOTEBOOK)
    finally:
        os.close(descriptor)


def only_others(path):
    """Return what `instead` says of the files that lie where one is not."""
    names = []
    with contextlib.suppress(OSError):
        names = [each.name for each in path.parent.iterdir()]
    return instead(path.name, names)


def instead(name, names):
    """Say of a file that is not there what is there instead, and what to do, as the end of a
    sentence; or "".
    """
    names = sorted(each for each in names if each[0] != "." and each not in OF_NBGRADER)
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    notebooks = any(is_notebook(PurePosixPath(each)) for each in names)
    advice = f"call the one that counts {name}" if notebooks else "hand in the notebook itself"
    return printable(f", only {', '.join(names[:MOST_NAMED])}{more}; {advice}")


def as_utf8(content):
    """Return the JSON of a notebook in UTF-8, whichever of JSON's encodings it is in: what Windows
    calls “Unicode” is UTF-16. What does not begin as a notebook is returned as it is.

    Raises:
        ValueError: with a clause about it, if it is damaged or too large to convert.
    """
    encoding = json.detect_encoding(content[:4])
    begins = content[:80].decode(encoding, "ignore").lstrip("\ufeff \t\r\n")
    if encoding.startswith("utf-8") or not begins.startswith("{"):
        return content
    if len(content) > LARGEST_TO_CONVERT:
        raise ValueError(
            f"it is in {encoding.upper()} and not in UTF-8, as which an editor saves it"
        )
    try:
        return content.decode(encoding).encode()
    except UnicodeError:
        raise ValueError(f"it is in {encoding.upper()} and not in UTF-8, and damaged") from None
