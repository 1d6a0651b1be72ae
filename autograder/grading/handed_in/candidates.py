"""Whose a notebook is, and to which chapter: told by where it lay, by its name, or by its cells."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

from autograder.course import CourseError, chapters
from autograder.grading.handed_in.submission import (
    Submission,
    chapter_told_by,
    submission_of,
)
from autograder.shared.wire import printable

# Begins a file's name; what the learner called it comes after.
MOODLE = re.compile(r"(?P<learner>.+?)_(?P<id>\d+)_assignsubmission_file")
# A folder's: Moodle's own part is its last, whatever somebody has called themselves before it.
MOODLE_FOLDER = re.compile(r"(?P<learner>.+)_(?P<id>\d+)_assignsubmission_file")
# What programs, `make lab` among them, add to the name of a copy.
COPY = re.compile(r"copy of|copy ?\d*|\(\d+\)|\(before [\d, -]+\)|", re.IGNORECASE)
# What a browser adds to the name of a file of which it has one already.
SAVED_AGAIN = re.compile(r"[_\- ]*\(\d+\)$")
CANVAS = re.compile(r"(?P<learner>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)")
# Bytes: nbgrader's gradebook holds no more characters, and a folder's name 255 bytes.
LONGEST_NAME = 128
MOST_NAMED = 10  # files in one remark
EARLIER = "an earlier file was handed in, too"
TELLS_NOTHING = "another file was handed in, too, and does not tell its chapter"


@dataclass(frozen=True)
class HandedIn:
    """One learner's submission to one chapter, not read yet.

    Args:
        learner: who handed it in, by the name of the folder or file.
        stem: the chapter.
        read: called, gives the Submission. It never raises for what a learner can do.
        timestamp: when it was handed in, in UTC without a zone, as nbgrader keeps it; None where
            that is not known.
        clock: what says so: "timestamp.txt", "file" (when it was last changed), or "zip", which
            does not say in which zone.
    """

    learner: str
    stem: str
    read: Callable[[], Submission] = field(compare=False)
    timestamp: datetime | None = None
    clock: str = "timestamp.txt"


@dataclass(frozen=True)
class Candidate:
    """A notebook that somebody handed in, and where it lay.

    Args:
        path: relative to the folder or the zip.
        read_bytes: called, gives its content, or raises ValueError or OSError with a sentence for
            the learner.
        changed: when it was last written, or None.
        clock: see HandedIn.
    """

    path: PurePosixPath
    read_bytes: Callable[[], bytes] = field(compare=False)
    changed: datetime | None = None
    clock: str = "file"


@dataclass(frozen=True)
class Told:
    """What a candidate's place, name and cells tell.

    Args:
        learner: who handed it in.
        stem: the chapter, or None. The cells decide where they tell one; in `<learner>/<chapter>/`
            the folder does, which is where somebody chose to hand it in.
        by_path: the chapter that place or name tells, or None.
    """

    learner: str
    stem: str | None
    by_path: str | None

    def owner(self, guess):
        """Return whose submission it is and to which chapter, if it is `guess` where nothing
        tells.
        """
        return named(self.learner), self.stem or guess


def from_candidates(candidates, stem, remark):
    """Return one submission for each learner and chapter. Of several files the newest counts, if
    there is one, of those that tell their chapter; the others are noted.

    Args:
        stem: the chapter, or None for all: then a file that does not tell is taken for one to the
            chapter of most others.
        remark: called with a sentence about files that are of another chapter than they seemed.

    Raises:
        CourseError: if no file tells its chapter, or files of several folders tell the same
            learner.
    """
    arranged = in_folders_of_learners([candidate.path for candidate in candidates], chapters())
    told = told_of(candidates, arranged, stem)
    told = without_nobodys(told, remark)
    guess = stem or usual_chapter([each.stem for each in told.values()])
    if stem:
        remark_on_others(told, stem, remark)
        told = {key: each for key, each in told.items() if each.stem in (None, stem)}
    newest, notes = {}, {}
    for candidate in sorted(told, key=lambda each: (bool(told[each].stem), *age(each))):
        learner, owner = told[candidate].learner, told[candidate].owner(guess)
        if before := newest.get(owner):
            if candidate.path not in arranged:
                require_one_folder(learner, before.path, candidate.path)
            what = EARLIER if told[before].stem or not told[candidate].stem else TELLS_NOTHING
            notes.setdefault(owner, []).append(printable(f"{what}: {before.path.name}"))
        newest[owner] = candidate
    return [
        HandedIn(
            *owner,
            reader_of(candidate, owner[1], notes.get(owner, ())),
            candidate.changed,
            candidate.clock,
        )
        for owner, candidate in newest.items()
    ]


def told_of(candidates, arranged, stem):
    """Return what is Told of each candidate that is somebody's.

    Args:
        arranged: what `in_folders_of_learners` tells.
        stem: the chapter that was asked for, or None.
    """
    stems, told = chapters(), {}
    for candidate in candidates:
        owner = arranged.get(candidate.path, learner_and_chapter(candidate.path, stems))
        if not owner:
            continue
        learner, by_path = owner
        by_cells = (
            None if candidate.path in arranged else chapter_by_cells(candidate, by_path or stem)
        )
        told[candidate] = Told(learner, by_cells or by_path, by_path)
    return told


def without_nobodys(told, remark):
    """Leave out the files that are called after a chapter and nobody, and say which they are."""
    nobodys = [each for each in told if told[each].learner in chapters()]
    if nobodys:
        remark(
            "not graded, because their names do not say whose they are:"
            f" {first_of([str(each.path) for each in nobodys])}; call them <learner>.ipynb"
        )
    return {each: what for each, what in told.items() if each not in nobodys}


def remark_on_others(told, stem, remark):
    """Say which files are passed over although their paths do not say why."""
    others = [
        f"{candidate.path} ({each.stem})"
        for candidate, each in told.items()
        if each.stem not in (None, stem) and each.by_path in (None, stem)
    ]
    if others:
        remark(
            f"not graded, because they hold the exercises of other chapters than {stem}:"
            f" {first_of(others)}"
        )


def first_of(names):
    """Write the first of some names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{printable(', '.join(names[:MOST_NAMED]))}{more}"


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
        if len(path.parts) > 2
        and path.parent.name in stems
        and path.stem == path.parent.name
        and not by_platform(path)[0]
    }
    # the outermost first: below a learner's own folder, they name folders as they like
    places = sorted({path.parents[2] for path in own}, key=lambda place: len(place.parts))
    owners = {}
    for path in paths:
        for place in (each for each in places if each in path.parents):
            learner, *below = path.relative_to(place).parts
            if len(below) > 1 and below[0] in stems:
                usual = place / learner / below[0] / f"{below[0]}.ipynb"
                owners[path] = None if usual in own and path != usual else (learner, below[0])
                break
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
    return SAVED_AGAIN.sub("", rest) or path.stem, chapter


def by_platform(path):
    """Return the learning platform that has named a path and the match of it, or None twice.

    What the platform wrote stands before what the learner called the file.
    """
    *folders, name = path.parts
    matches = [("moodle", MOODLE_FOLDER.match(part)) for part in folders]
    matches += [("canvas", CANVAS.fullmatch(path.stem)), ("moodle", MOODLE.match(name))]
    return next(((platform, match) for platform, match in matches if match), (None, None))


def chapter_by_cells(candidate, likely):
    """Tell the chapter of a notebook by the exercises in it, or None."""
    try:
        return chapter_told_by(candidate.read_bytes(), likely)
    except (OSError, ValueError):
        return None


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


def reader_of(candidate, stem, notes):
    """Return the function that reads a candidate.

    Args:
        notes: remarks for the instructor on the learner's other files.
    """
    platform, match = by_platform(candidate.path)
    late = ("handed in late, says Canvas",) if platform == "canvas" and match["late"] else ()
    changed = candidate.changed
    told = {
        "known_as": f"{platform} {match['id']}" if platform else "",
        "file_time": f"{candidate.clock} {changed.isoformat(' ', 'seconds')}" if changed else "",
    }

    def read():
        try:
            submission = submission_of(candidate.path.name, candidate.read_bytes(), stem)
        except (OSError, ValueError) as error:
            submission = Submission.unreadable(str(error))
        return replace(submission, notes=(*submission.notes, *notes, *late), **told)

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
