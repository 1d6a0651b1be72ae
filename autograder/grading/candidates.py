"""Whose a notebook is, and to which chapter: told by where it lay, by its name, or by its cells."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

from autograder.authoring.released import grade_ids
from autograder.course import CourseError, chapters
from autograder.grading.submission import (
    Submission,
    code_cells,
    submission_of,
)
from autograder.shared.wire import printable

# Begins a folder's name, or a file's.
MOODLE = re.compile(r"(?P<learner>.+?)_(?P<id>\d+)_assignsubmission_file")
# What programs, `make lab` among them, add to the name of a copy.
COPY = re.compile(r"copy of|copy ?\d*|\(\d+\)|\(before [\d, -]+\)|", re.IGNORECASE)
CANVAS = re.compile(r"(?P<learner>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)")
# Bytes: nbgrader's gradebook holds no more characters, and a folder's name 255 bytes.
LONGEST_NAME = 128


@dataclass(frozen=True)
class HandedIn:
    """One learner's submission to one chapter, not read yet.

    Args:
        learner: who handed it in, by the name of the folder or file.
        stem: the chapter.
        read: called, gives the Submission. It never raises for what a learner can do.
        timestamp: when it was handed in, in UTC without a zone, as nbgrader keeps it; None where
            that is not known.
    """

    learner: str
    stem: str
    read: Callable[[], Submission] = field(compare=False)
    timestamp: datetime | None = None


@dataclass(frozen=True)
class Candidate:
    """A notebook that somebody handed in, and where it lay.

    Args:
        path: relative to the folder or the zip.
        read_bytes: called, gives its content, or raises ValueError or OSError with a sentence for
            the learner.
        changed: when it was last written, or None.
    """

    path: PurePosixPath
    read_bytes: Callable[[], bytes] = field(compare=False)
    changed: datetime | None = None


def from_candidates(candidates, stem):
    """Return one submission for each learner and chapter; of several files the newest counts, and
    the others are noted.

    Args:
        stem: the chapter, or None: then a file that does not tell is taken for one to the chapter
            of most others.

    Raises:
        CourseError: if no file tells its chapter, or files of several folders tell the same
            learner.
    """
    arranged = in_folders_of_learners([candidate.path for candidate in candidates], chapters())
    owners = owners_of(candidates, arranged, stem)
    newest, earlier = {}, {}
    for candidate in sorted(owners, key=age):
        learner, its_stem = owners[candidate]
        owner = named(learner), its_stem
        if owner in newest:
            if candidate.path not in arranged:
                require_one_folder(learner, newest[owner].path, candidate.path)
            earlier.setdefault(owner, []).append(newest[owner].path.name)
        newest[owner] = candidate
    return [
        HandedIn(*owner, reader_of(candidate, earlier.get(owner, ())), candidate.changed)
        for owner, candidate in newest.items()
    ]


def owners_of(candidates, arranged, stem):
    """Return (learner, chapter) of each candidate that is somebody's submission to a chapter.

    Args:
        arranged: what `in_folders_of_learners` tells.
        stem: the chapter, or None for any.

    Raises:
        CourseError: if no file tells its chapter.
    """
    stems, owners = chapters(), {}
    for candidate in candidates:
        owner = arranged.get(candidate.path, learner_and_chapter(candidate.path, stems))
        if owner and (stem is None or owner[1] in (None, stem)):
            owners[candidate] = owner
    if stem is None:
        owners = {
            candidate: (learner, its_stem or chapter_by_cells(candidate, stems))
            for candidate, (learner, its_stem) in owners.items()
        }
        stem = usual_chapter([its_stem for _, its_stem in owners.values()])
    return {each: (learner, its_stem or stem) for each, (learner, its_stem) in owners.items()}


def age(candidate):
    """Return what sorts candidates: the oldest first, and by name where they are of one time."""
    return candidate.changed or datetime.min, in_order(candidate.path)


def in_folders_of_learners(paths, stems):
    """Return (learner, chapter) of each path below `<learner>/<chapter>/`, where that is how
    somebody's `<chapter>.ipynb` lies.

    There a folder's name says who it is, and no file's name can say otherwise. What lies beside a
    notebook of the chapter's own name is nobody's: None.
    """
    own = {
        path
        for path in paths
        if len(path.parts) > 2 and path.parent.name in stems and path.stem == path.parent.name
    }
    places = {path.parents[2] for path in own}
    owners = {}
    for path in paths:
        for place in places.intersection(path.parents):
            learner, stem, *rest = path.relative_to(place).parts
            if rest and stem in stems:
                usual = place / learner / stem / f"{stem}.ipynb"
                owners[path] = None if usual in own and path != usual else (learner, stem)
    return owners


def in_order(path):
    """Return a text that sorts paths as people count: file 9 before file 10."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), str(path))


def require_one_folder(learner, path, other):
    """Refuse to guess whether two files of one name, in two folders, are one learner's.

    Raises:
        CourseError: if they lie in different folders, and no learning platform has named these.
    """
    if path.parent != other.parent and not by_platform(other)[0]:
        both = printable(f"{path} and {other} would both be what {learner!r} handed in")
        raise CourseError(f"{both}; keep one, or put them into <learner>/<chapter>/<chapter>.ipynb")


def learner_and_chapter(path, stems):
    """Tell from a path who handed a file in, and to which of the chapters, or None."""
    *folders, name = path.parts
    chapter = next((part for part in reversed(folders) if part in stems), None)
    chapter = chapter or next((stem for stem in stems if stem in name), None)
    folders = [part for part in folders if part not in stems]
    if match := by_platform(path)[1]:
        return f"{match['learner']}_{match['id']}", chapter
    rest = path.stem.replace(chapter, "").strip("_- ") if chapter else path.stem
    if folders and COPY.fullmatch(rest):
        return folders[-1], chapter
    return rest or path.stem, chapter


def by_platform(path):
    """Return the learning platform that has named a path and the match of it, or None twice.

    What the platform wrote stands before what the learner called the file.
    """
    *folders, name = path.parts
    matches = [("moodle", MOODLE.match(part)) for part in folders]
    matches += [("canvas", CANVAS.fullmatch(path.stem)), ("moodle", MOODLE.match(name))]
    return next(((platform, match) for platform, match in matches if match), (None, None))


def chapter_by_cells(candidate, stems):
    """Tell the chapter of a notebook by the exercises in it, or None."""
    try:
        ids = {grade_id for grade_id, _ in code_cells(candidate.read_bytes())}
    except (OSError, ValueError, RecursionError):
        return None
    shared = {stem: len(ids & grade_ids(stem)) for stem in stems}
    best = max(shared, key=shared.get)
    return best if shared[best] else None


def usual_chapter(stems):
    """Return the chapter that most files tell, or None if there are no files.

    Args:
        stems: of each file, the chapter that it tells, or None.

    Raises:
        CourseError: if none does.
    """
    known = Counter(filter(None, stems))
    if stems and not known:
        raise CourseError(
            f"no notebook tells its chapter; say it: --chapter {chapters()[0]}, or another one"
        )
    return known.most_common(1)[0][0] if known else None


def reader_of(candidate, others):
    """Return the function that reads a candidate."""
    notes = tuple(printable(f"an earlier file was handed in, too: {name}") for name in others)
    platform, match = by_platform(candidate.path)
    if platform == "canvas" and match["late"]:
        notes += ("handed in late, says Canvas",)
    known_as = f"{platform} {match['id']}" if platform else ""

    def read():
        try:
            submission = submission_of(candidate.path.name, candidate.read_bytes())
        except (OSError, ValueError) as error:
            submission = Submission.unreadable(str(error))
        return replace(submission, notes=submission.notes + notes, known_as=known_as)

    return read


def named(learner):
    """Return a learner's name as folders and gradebooks can have it; what they cannot have is
    written otherwise.
    """
    name = learner.encode("utf-8", "backslashreplace").decode("utf-8")
    if name in ("", ".", ".."):
        return f"unnamed{name}"
    if len(name.encode()) > LONGEST_NAME:
        beginning = name.encode()[: LONGEST_NAME - 9].decode(errors="ignore")
        return f"{beginning}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name
