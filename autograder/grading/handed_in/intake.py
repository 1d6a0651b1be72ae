"""Find what was handed in: nbgrader's folders, a flat folder of notebooks, or a zip from a learning
platform.

Nothing is unpacked or copied, no link is followed, and a file that cannot be read is still a
submission: it becomes a blank one with the reason.
"""

import zipfile
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath

from autograder.course import CourseError, chapters
from autograder.grading.handed_in.candidates import Candidate, from_candidates
from autograder.grading.handed_in.files import (
    LARGEST_NOTEBOOK,
    files_in,
    instead,
    is_a_programs,
    is_notebook,
    read_bytes,
)
from autograder.grading.handed_in.folders import in_nbgrader_folders, when_changed
from autograder.grading.handed_in.passed_over import remark_on_no_notebooks
from autograder.grading.handed_in.whose import in_folders_of_learners
from autograder.shared.wire import printable

MOST_MEMBERS = 200_000  # files in a zip
PIECE = 4096  # bytes: of some kinds zipfile unpacks as many packed ones at once, however they grow


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
        found = in_nbgrader_folders(place, stem, remark) or in_flat_folder(place, stem, remark)
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


def in_flat_folder(place, stem, remark):
    """Return the notebooks of a folder, each named by its learner."""
    candidates = [
        Candidate(
            PurePosixPath(path.relative_to(place)),
            lambda path=path: read_bytes(path),
            when_changed(path),
        )
        for path in sorted(place.rglob("*"))
        if is_notebook(path) and not is_a_programs(path)
    ]
    return from_files(candidates, list(files_in(place)), stem, remark)


def from_files(candidates, paths, stem, remark):
    """Return what `from_candidates` does, and what was handed in to a chapter in a folder
    `<learner>/<chapter>/` without a notebook.

    Args:
        paths: of all files.
    """
    paths = [path for path in paths if not is_a_programs(path)]
    owners, _ = in_folders_of_learners(paths, chapters())
    remark_on_no_notebooks(paths, {learner for learner, _ in owners.values()}, remark)
    with_notebook = {owner for path, owner in owners.items() if is_notebook(path)}
    without = {}
    for path, owner in owners.items():
        if owner not in with_notebook:
            within = path.parts[: path.parts.index(owner[1]) + 1]
            without.setdefault(PurePosixPath(*within, f"{owner[1]}.ipynb"), []).append(path.name)
    nothing = [Candidate(path, partial(refuse, path.name, without[path])) for path in without]
    return from_candidates([*candidates, *nothing], stem, remark)


def refuse(name, others):
    """Raise the ValueError of a folder in which there is no notebook.

    Args:
        others: the names of the files that are in it.
    """
    raise ValueError(f"there was no {name} in what was handed in{instead(name, others)}")


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
        if not is_notebook(path) or is_a_programs(path):
            continue
        candidates.append(
            Candidate(path, lambda member=member: read_member(archive, member), when(member), "zip")
        )
    paths = [PurePosixPath(each.filename) for each in members if not each.is_dir()]
    return from_files(candidates, paths, stem, remark)


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
