"""Where a class's results lie, who may write there, and the key from which its questions come."""

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from autograder.course import (
    GRADEBOOK,
    ROOT,
    SEED_KEY,
    CourseError,
)
from autograder.shared.wire import printable
from autograder.term.names import why_no_name
from autograder.whole_files import write_whole


@dataclass(frozen=True)
class Places:
    """Where a class's results lie.

    Args:
        folder: gets `autograded/`, `feedback/`, `reports/`, `sittings/` and `seed.key`, the secret
            from which all seeds come.
        gradebook: SQLAlchemy's URL.
    """

    folder: Path = ROOT / "autograder"
    gradebook: str = f"sqlite:///{GRADEBOOK}"

    def graded(self, learner, stem):
        """Return the path of a graded notebook.

        Raises:
            CourseError: if no learner can be called so, because the path would lead elsewhere.
        """
        return self.of_learner("autograded", learner) / stem / f"{stem}.ipynb"

    @property
    def key(self):
        """Return the path of the secret key."""
        return self.folder / "seed.key"

    def sitting(self, stem):
        """Return the number of a chapter's next run, which is the same until one has come to its
        end.
        """
        try:
            return int((self.folder / "sittings" / stem).read_text())
        except (FileNotFoundError, ValueError):
            return 1

    def end_sitting(self, stem):
        """Let the next run ask other questions."""
        write_whole(self.folder / "sittings" / stem, str(self.sitting(stem) + 1))

    def seed(self, stem):
        """Return the secret seed of the questions that a run asks.

        All who are graded in it are asked the same, so that equal code gets equal points. Those who
        are graded later, when some have their results, are asked others.
        """
        return seed_of(stem, f"sitting {self.sitting(stem)}", self.key)

    def feedback(self, learner, stem):
        """Return the path of the page that the learner gets back.

        Raises:
            CourseError: as `graded` does.
        """
        return self.of_learner("feedback", learner) / stem / f"{stem}.html"

    def of_learner(self, kind, learner):
        """Return a learner's own folder for one kind of results.

        Raises:
            CourseError: if no learner can be called so.
        """
        if wrong := why_no_name(learner):
            raise CourseError(printable(f"there is no such learner in {self.folder}: {wrong}"))
        return self.folder / kind / learner


@contextlib.contextmanager
def only_writer(folder):
    """Keep every other run out of a folder for as long as the block lasts.

    Raises:
        CourseError: if another run is at work there, or this system has no locks for files.
    """
    try:
        import fcntl
    except ImportError:
        raise CourseError(
            "classes are graded on Linux; the book's page on the sandbox shows the container way"
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".grading", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CourseError(
                f"another run is grading into {folder}; wait for its end, or end it"
            ) from None
        yield


def seed_of(stem, occasion, key=SEED_KEY):
    """Return the secret seed of a chapter's questions on one occasion: the same for the same one,
    and not to be guessed.

    Args:
        occasion: text that tells it from others, such as a learner's name with the hash of their
            notebook.
        key: path of the course's secret key.
    """
    return hmac.digest(seed_key(key), f"{stem}\n{occasion}".encode(), hashlib.sha256)


def seed_key(path=SEED_KEY):
    """Return the course's secret key, made on first use and kept beside the gradebook, readable by
    its owner alone.

    Raises:
        CourseError: if there is something else in its place, such as what a loss of power leaves.
    """
    if not path.exists():
        with contextlib.suppress(FileExistsError):  # somebody else was quicker
            make_key(path)
    text = path.read_text().strip()
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise CourseError(
            f"{path} holds no key; put your copy of it there or, if you have none, remove it: a new"
            " one is made"
        )
    return bytes.fromhex(text)


def make_key(path):
    """Make a secret key: the whole of it is there, or none.

    Raises:
        FileExistsError: if there is one, or something else in its place.
    """
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(unfinished, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links, such as exFAT
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))  # ours, from here on
            os.replace(unfinished, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
