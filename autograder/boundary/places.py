"""Where the sockets of kernels lie: in temporary folders, each of which is locked while it is used.

A lock ends with who holds it, however they end, and is seen from other containers and hosts that
share the folder for temporary files; a process's number means nothing there.
"""

import contextlib
import os
import secrets
import shutil
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing is removed that another process has left
    fcntl = None

# Characters of a path below which sockets can lie: a socket's whole path may have 107.
LONGEST_PLACE = 50
PREFIX, LOCK = "autograder-kernels-", "in-use"
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


def new_folder():
    """Return a temporary folder that is held by this process, and by those that it forks."""
    remove_abandoned()
    while True:
        folder = tempfile.TemporaryDirectory(
            prefix=PREFIX, dir=place_for_sockets(), ignore_cleanup_errors=True
        )
        # Between these two lines somebody may take it for abandoned, because nobody holds it yet.
        with contextlib.suppress(FileNotFoundError):
            folder.lock = hold(Path(folder.name), os.O_CREAT)
            if folder.lock:
                return folder


def place_for_sockets():
    """Return the folder for temporary files, or /tmp where that one's path is too long."""
    return tempfile.gettempdir() if len(tempfile.gettempdir()) <= LONGEST_PLACE else "/tmp"


def remove_abandoned():
    """Remove the temporary folders of this user that nobody holds: their processes were killed."""
    for path in Path(place_for_sockets()).glob(f"{PREFIX}*") if fcntl else ():
        with contextlib.suppress(OSError):  # not ours, or gone already
            mine = not path.is_symlink() and path.stat().st_uid == os.getuid()
            if mine and (lock := hold(path)):
                with lock:
                    shutil.rmtree(path, ignore_errors=True)


def hold(folder, make=0):
    """Return the open file whose lock says that a folder is in use, or None if somebody else holds
    it.

    Args:
        make: os.O_CREAT where this is to be the first who holds it.

    Raises:
        FileNotFoundError: if the folder, or its file, has been removed.
        OSError: if the file cannot be opened, or has been left and cannot be locked here.
    """
    path = folder / LOCK
    lock = os.fdopen(os.open(path, os.O_RDWR | NO_LINK | make, 0o600), "r+")
    try:
        if fcntl:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    except OSError:  # a file system without locks: nobody removes anything there
        if not make:
            raise
    if not os.path.samestat(path.stat(), os.fstat(lock.fileno())):
        raise FileNotFoundError(path)
    return lock


def new_connection():
    """Return the part of a kernel's connection that does not depend on where it lies."""
    names = ("shell", "iopub", "stdin", "control", "hb")
    return {
        **{f"{name}_port": number for number, name in enumerate(names, 1)},
        "transport": "ipc",
        "signature_scheme": "hmac-sha256",
        "key": secrets.token_hex(16),
    }
