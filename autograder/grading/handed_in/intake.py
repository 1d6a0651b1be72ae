"""Find what was handed in: nbgrader's folders, a flat folder of notebooks, or a zip from a learning
platform.

Nothing is unpacked or copied, no link is followed, and a file that cannot be read is still a
submission: it becomes a blank one with the reason.
"""

import stat
import zipfile
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from autograder.course import CourseError, chapters
from autograder.grading.handed_in.candidates import (
    MOODLE,
    Candidate,
    HandedIn,
    by_platform,
    first_of,
    from_candidates,
    named,
)
from autograder.grading.handed_in.submission import (
    LARGEST_NOTEBOOK,
    Submission,
    read_bytes,
    read_submission,
)
from autograder.shared.wire import printable

LONGEST_TEXT = 200  # bytes, of a timestamp or of nbgrader's secret
MOST_MEMBERS = 200_000  # files in a zip
PIECE = 4096  # bytes: of some kinds zipfile unpacks as many packed ones at once, however they grow
LINKED = "the folder that was handed in is a link to another one; hand in a folder of your own"


def find_submissions(place, stem=None, remark=lambda text: None):
    """Find the submissions in a folder or a zip.

    Args:
        place: `<learner>/<chapter>/<chapter>.ipynb` as nbgrader has it, `<learner>.ipynb`, or a zip
            with either, or with the names that Canvas and Moodle give.
        stem: the chapter to grade; None for all. Of which one a file is, its cells tell, or else
            its path; in `<learner>/<chapter>/` the folder does.
        remark: called with a sentence about files that are passed over.

    Returns:
        list[HandedIn], sorted by chapter and learner, one for each pair of them.

    Raises:
        CourseError: if there is nothing there, or a file does not tell its chapter.
    """
    place = Path(place)
    if place.is_dir():
        found = in_nbgrader_folders(place, stem)
        if found:
            remark_on_files_beside(place, remark)
        else:
            found = in_flat_folder(place, stem, remark)
    elif zipfile.is_zipfile(place):
        found = in_zip(place, stem, remark)
    elif place.is_file() and begins_like_a_zip(place):
        raise CourseError(
            f"{place} is a damaged zip (its end is missing); download it again, or unpack it"
            " yourself, and name the folder"
        )
    elif place.exists():
        raise CourseError(f"{place} is neither a folder nor a zip of notebooks")
    else:
        raise CourseError(
            f"there is no {place}; name the folder, or the zip, that holds what was handed in"
        )
    if not found:
        what = f"to {stem} " if stem else ""
        raise CourseError(
            f"no submission {what}is in {place}; it should hold <learner>/<chapter>/<chapter>.ipynb"
            " or <learner>.ipynb"
        )
    return sorted(found, key=lambda each: (each.stem, each.learner))


def in_nbgrader_folders(place, stem):
    """Return what lies in `<learner>/<chapter>/`: every such folder is a submission, whatever is in
    it.
    """
    stems = [stem] if stem else chapters()
    found = []
    for folder in sorted(place.iterdir()):
        if MOODLE.match(folder.name):
            continue  # what lies in it is called as its learner likes
        there = [each for each in stems if is_folder(folder / each, or_closed=stem is not None)]
        found += [from_folder(folder / each, folder.name, each) for each in there]
    return found


def remark_on_files_beside(place, remark):
    """Say which notebooks lie beside the folders `<learner>/<chapter>/`, where nobody looks."""
    beside = [
        str(path.relative_to(place))
        for path in sorted([*place.glob("*.ipynb"), *place.glob("*/*.ipynb")])
        if path.parent == place or MOODLE.match(path.parent.name)
    ]
    if beside:
        remark(
            "not graded, because beside folders <learner>/<chapter>/ nothing else is looked at:"
            f" {first_of(beside)}; grade them from a folder of their own"
        )


def is_folder(path, or_closed=False):
    """Return whether there is a folder, or a link that stands for one.

    Args:
        or_closed: the answer where nobody may look.
    """
    try:
        return path.is_symlink() or path.is_dir()
    except PermissionError:
        return or_closed
    except OSError:
        return False


def from_folder(folder, learner, stem):
    """Return the submission in one of nbgrader's folders."""

    def read():
        if folder.is_symlink() or folder.parent.is_symlink():
            return Submission.unreadable(LINKED)
        return read_submission(folder / f"{stem}.ipynb")

    return HandedIn(named(learner), stem, read, timestamp_in(folder))


def timestamp_in(folder, remark=lambda text: None):
    """Return when a submission was handed in, as its timestamp.txt says, or None where there is
    none that can be read.

    Args:
        remark: called with a sentence where there is one that does not count.
    """
    path = folder / "timestamp.txt"
    try:
        written = short_text(path)
        from nbgrader.utils import parse_utc  # takes a second, and most folders have no timestamp

        return parse_utc(written.strip())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, OverflowError) as error:
        remark(f"the timestamp of {str(folder)!a} does not count: {str(error)[:200]!a}")
        return None


def short_text(path):
    """Return what a small file says that came with a submission.

    Raises:
        FileNotFoundError, OSError: if it cannot be read.
        ValueError: if it is a link, a pipe or a folder, or too long, or no text.
    """
    if not stat.S_ISREG(path.lstat().st_mode) or path.lstat().st_size > LONGEST_TEXT:
        raise ValueError("not a short text")
    return path.read_text(encoding="utf-8")


def in_flat_folder(place, stem, remark):
    """Return the notebooks of a folder, each named by its learner."""
    files = [path for path in sorted(place.rglob("*.ipynb")) if not is_a_programs(path)]
    candidates = []
    for path in files:
        changed = datetime.fromtimestamp(path.lstat().st_mtime, UTC).replace(tzinfo=None)
        candidates.append(
            Candidate(
                PurePosixPath(path.relative_to(place)), lambda path=path: read_bytes(path), changed
            )
        )
    beside = [PurePosixPath(path.relative_to(place)) for path in place.rglob("*.*")]
    remark_on_no_notebooks(beside, remark)
    return from_candidates(candidates, stem, remark)


def is_a_programs(path):
    """Return whether a program has left a file there, of which its learner knows nothing."""
    return path.name.startswith("._") or not {"__MACOSX", ".ipynb_checkpoints"}.isdisjoint(
        path.parts
    )


def begins_like_a_zip(path):
    """Return whether a file begins as a zip does that holds anything."""
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04"


def in_zip(place, stem, remark):
    """Return the notebooks of a zip, in any of the three arrangements."""
    try:
        archive = zipfile.ZipFile(place)
    except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError) as error:
        raise CourseError(
            f"{place} is a damaged zip ({error}); unpack it yourself, and name the folder"
        ) from None
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise CourseError(f"{place} holds {len(members):,} files; no class is that large")
    candidates = []
    for member in members:
        path = PurePosixPath(member.filename)
        if path.suffix != ".ipynb" or is_a_programs(path):
            continue
        candidates.append(
            Candidate(path, lambda member=member: read_member(archive, member), when(member), "zip")
        )
    remark_on_no_notebooks([PurePosixPath(each.filename) for each in members], remark)
    return from_candidates(candidates, stem, remark)


def remark_on_no_notebooks(paths, remark):
    """Say which files came from learners who handed in no notebook, where a learning platform has
    told whose they are.
    """
    others, with_notebook = {}, set()
    for path in paths:
        platform, match = by_platform(path)
        if not platform or is_a_programs(path):
            continue
        if path.suffix == ".ipynb":
            with_notebook.add(match["id"])
        elif path.suffix:
            others.setdefault(match["id"], str(path))
    left = sorted(path for number, path in others.items() if number not in with_notebook)
    if left:
        remark(f"not graded, because they are no notebooks: {first_of(left)}")


def when(member):
    """Return the time that a zip gives to a file, or None where that is no time."""
    try:
        return datetime(*member.date_time)
    except ValueError:
        return None


def read_member(archive, member):
    """Return the bytes of a file in a zip, however large it says that it is.

    Raises:
        ValueError: with a sentence for the learner.
    """
    name = printable(PurePosixPath(member.filename).name)
    too_large = ValueError(f"{name} unpacks to more than {LARGEST_NOTEBOOK // 1_000_000} MB")
    if member.file_size > LARGEST_NOTEBOOK:
        raise too_large
    content = bytearray()
    try:
        with archive.open(member) as file:
            while len(content) <= LARGEST_NOTEBOOK and (piece := file.read(PIECE)):
                content += piece
    except Exception as error:  # each way of compressing has its own
        why = printable(str(error) or type(error).__name__)[:200]
        raise ValueError(f"{name} could not be read from the zip: {why}") from None
    if len(content) > LARGEST_NOTEBOOK:
        raise too_large
    if not content:
        raise ValueError(f"{name} is empty (0 bytes); save the notebook and hand it in again")
    return bytes(content)
