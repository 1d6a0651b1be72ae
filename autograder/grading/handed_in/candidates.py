"""Whose a notebook is, and to which chapter: told by where it lay, by its name, or by its cells."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath

from autograder.course import CourseError, chapters
from autograder.grading.handed_in.files import as_utf8
from autograder.grading.handed_in.passed_over import (
    remark_on_guesses,
    remark_on_others,
    remark_on_rest,
    without_doubtful,
    without_nobodys,
    without_those_of_two,
)
from autograder.grading.handed_in.submission import (
    Submission,
    chapter_told_by,
    submission_of,
)
from autograder.grading.handed_in.whose import (
    by_platform,
    in_folders_of_learners,
    in_folders_of_their_own,
    learner_and_chapter,
    named,
)
from autograder.shared.wire import printable

EARLIER = "an earlier file was handed in, too"
GUESSED = "the file does not tell its chapter, so this one is a guess"
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
        CourseError: if no file tells its chapter.
    """
    owners, beside = in_folders_of_learners([each.path for each in candidates], chapters())
    remark_on_rest(*rest_of(candidates, beside, stem), remark)
    candidates = without_doubtful([each for each in candidates if each.path not in beside], remark)
    own = in_folders_of_their_own([each.path for each in candidates], chapters())
    told = told_of(candidates, owners, own, stem)
    told = without_nobodys(told, remark)
    guess = stem or usual_chapter([each.stem for each in told.values()])
    if stem:
        remark_on_others(told, stem, remark)
        told = {key: each for key, each in told.items() if each.stem in (None, stem)}
    told = without_those_of_two(told, guess, {*owners, *own}, remark)
    remark_on_guesses(told, guess, remark)
    newest, notes = {}, {}
    for candidate in sorted(told, key=lambda each: (bool(told[each].stem), *age(each))):
        owner = told[candidate].owner(guess)
        if before := newest.get(owner):
            what = EARLIER if told[before].stem or not told[candidate].stem else TELLS_NOTHING
            notes.setdefault(owner, []).append(printable(f"{what}: {before.path.name}"))
        newest[owner] = candidate
    platforms = platforms_of({each.path for each in told} - owners.keys() - own.keys())
    for owner, candidate in newest.items():
        if not told[candidate].stem:
            notes.setdefault(owner, []).append(GUESSED)
    return [
        HandedIn(
            *owner,
            reader_of(candidate, owner[1], notes.get(owner, ()), platforms.get(candidate.path)),
            candidate.changed,
            candidate.clock,
        )
        for owner, candidate in newest.items()
    ]


def told_of(candidates, owners, own, stem):
    """Return what is Told of each candidate.

    Args:
        owners: what `in_folders_of_learners` tells.
        own: what `in_folders_of_their_own` tells.
        stem: the chapter that was asked for, or None.
    """
    stems, told = chapters(), {}
    for candidate in candidates:
        path, by_cells = candidate.path, None
        learner, by_path = owners.get(path) or learner_and_chapter(path, stems)
        if path not in owners:
            learner = own.get(path, learner)
            by_cells = chapter_by_cells(candidate, by_path or stem)
        told[candidate] = Told(learner, by_cells or by_path, by_path)
    return told


def rest_of(candidates, beside, stem):
    """Return the paths of the notebooks that lie where nobody looks, in an arrangement of folders:
    those that are newer than the one beside them that counts, and those in no chapter's folder.

    Args:
        beside: what `in_folders_of_learners` tells.
        stem: the chapter that was asked for, or None.
    """
    changed = {each.path: each.changed for each in candidates}
    newer = [
        path
        for path, counts in beside.items()
        if counts and counts.stem == (stem or counts.stem) and is_newer(path, counts, changed)
    ]
    return newer, [path for path, counts in beside.items() if counts is None]


def is_newer(path, other, changed):
    """Return whether a file is newer than another one, or may be: they can have been copied.

    Args:
        changed: path -> when it was last changed, or None.
    """
    return None in (changed[path], changed[other]) or changed[path] >= changed[other]


def age(candidate):
    """Return what sorts candidates: the oldest first, and by name where they are of one time."""
    return candidate.changed or datetime.min, in_order(candidate.path)


def in_order(path):
    """Return a text that sorts paths as people count: file 9 before file 10."""
    return re.sub(r"\d+", lambda digits: digits[0].zfill(20), str(path))


def chapter_by_cells(candidate, likely):
    """Tell the chapter of a notebook by the exercises in it, or None."""
    try:
        return chapter_told_by(as_utf8(candidate.read_bytes()), likely)
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


def platforms_of(paths):
    """Return by path the learning platform that has named it, and the match: one that has named at
    least half of them. Where it has not, a learner has chosen a name that looks like it.

    Args:
        paths: of the files that lie in no learner's folder.
    """
    named_by = {path: by_platform(path) for path in paths}
    counts = Counter(platform for platform, _ in named_by.values())
    return {path: by for path, by in named_by.items() if by[0] and 2 * counts[by[0]] >= len(paths)}


def reader_of(candidate, stem, notes, named_by):
    """Return the function that reads a candidate.

    Args:
        notes: remarks for the instructor on the learner's other files.
        named_by: the learning platform that has named the file, and the match, or None.
    """
    platform, match = named_by or (None, None)
    late = ("handed in late, says Canvas",) if platform == "canvas" and match["late"] else ()
    told = {
        "known_as": f"{platform} {match['id']}" if platform else "",
        "file_time": file_time(candidate.clock, candidate.changed),
    }

    def read():
        try:
            submission = submission_of(candidate.path.name, candidate.read_bytes(), stem)
        except (OSError, ValueError) as error:
            submission = Submission.unreadable(str(error))
        return replace(submission, notes=(*submission.notes, *notes, *late), **told)

    return read


def file_time(clock, changed):
    """Write when a file was last changed, and by which clock, as a Submission has it."""
    return f"{clock} {changed.isoformat(' ', 'seconds')}" if changed else ""
