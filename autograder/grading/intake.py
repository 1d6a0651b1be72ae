"""Find what was handed in: nbgrader's folders, a flat folder of notebooks, or a zip from a learning
platform.

Nothing is unpacked or copied, no link is followed, and a file that cannot be read is still a
submission: it becomes a blank one with the reason.
"""

import hashlib
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from autograder.authoring.released import grade_ids
from autograder.course import CourseError, chapters
from autograder.grading.submission import (
    LARGEST_NOTEBOOK,
    Submission,
    code_cells,
    read_bytes,
    read_submission,
    submission_of,
)
from autograder.shared.wire import printable

MOODLE = re.compile(
    r"(?P<learner>.+?)_(?P<id>\d+)_assignsubmission_file"
)  # begins a folder's name, or a file's
COPY = re.compile(
    r"copy of|copy ?\d*|\(\d+\)|\(before [\d, -]+\)|", re.IGNORECASE
)  # what programs, `make lab` among them, add to the name of a copy
CANVAS = re.compile(r"(?P<learner>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)")
LONGEST_TIMESTAMP = 100  # bytes
LONGEST_NAME = (
    128  # bytes; nbgrader's gradebook holds no more characters, and a folder's name 255 bytes
)
MOST_MEMBERS = 200_000  # files in a zip
LINKED = "the folder that was handed in is a link to another one; hand in a folder of your own"


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


def find_submissions(place, stem=None):
    """Find the submissions in a folder or a zip.

    Args:
        place: `<learner>/<chapter>/<chapter>.ipynb` as nbgrader has it, `<learner>.ipynb`, or a zip
            with either, or with the names that Canvas and Moodle give.
        stem: the chapter; where it is not given, each file's path or cells tell.

    Returns:
        list[HandedIn], sorted by chapter and learner, one for each pair of them.

    Raises:
        CourseError: if there is nothing there, or a file does not tell its chapter.
    """
    place = Path(place)
    if place.is_dir():
        found = in_nbgrader_folders(place, stem) or in_flat_folder(place, stem)
    elif zipfile.is_zipfile(place):
        found = in_zip(place, stem)
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
        there = [each for each in stems if is_folder(folder / each, or_closed=stem is not None)]
        found += [from_folder(folder / each, folder.name, each) for each in there]
    return found


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
        if not stat.S_ISREG(path.lstat().st_mode) or path.lstat().st_size > LONGEST_TIMESTAMP:
            raise ValueError("not a short text")
        from nbgrader.utils import parse_utc  # takes a second, and most folders have no timestamp

        return parse_utc(path.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, OverflowError) as error:
        remark(f"the timestamp of {str(folder)!a} does not count: {str(error)[:200]!a}")
        return None


def in_flat_folder(place, stem):
    """Return the notebooks of a folder, each named by its learner."""
    files = [
        path for path in sorted(place.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts
    ]
    candidates = []
    for path in files:
        changed = datetime.fromtimestamp(path.lstat().st_mtime, UTC).replace(tzinfo=None)
        candidates.append(
            Candidate(
                PurePosixPath(path.relative_to(place)), lambda path=path: read_bytes(path), changed
            )
        )
    return from_candidates(candidates, stem)


def in_zip(place, stem):
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
        if (
            path.suffix != ".ipynb"
            or "__MACOSX" in path.parts
            or ".ipynb_checkpoints" in path.parts
        ):
            continue
        candidates.append(
            Candidate(path, lambda member=member: read_member(archive, member), when(member))
        )
    return from_candidates(candidates, stem)


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
    try:
        with archive.open(member) as file:
            content = file.read(LARGEST_NOTEBOOK + 1)
    except (
        RuntimeError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
    ) as error:
        raise ValueError(
            f"{name} could not be read from the zip: {printable(str(error))[:200]}"
        ) from None
    if len(content) > LARGEST_NOTEBOOK:
        raise ValueError(f"{name} unpacks to more than {LARGEST_NOTEBOOK // 1_000_000} MB")
    if not content:
        raise ValueError(f"{name} is empty (0 bytes); save the notebook and hand it in again")
    return content


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
    stems = chapters()
    arranged = in_folders_of_learners([candidate.path for candidate in candidates], stems)
    told = {
        each: arranged.get(each.path, learner_and_chapter(each.path, stems)) for each in candidates
    }
    told = {candidate: what for candidate, what in told.items() if what}
    told = {
        candidate: (learner, each)
        for candidate, (learner, each) in told.items()
        if stem in (None, each) or not each
    }
    if not stem:
        told = {
            candidate: (learner, each or chapter_by_cells(candidate, stems))
            for candidate, (learner, each) in told.items()
        }
        stem = usual_chapter([each for _, each in told.values()])
    newest, others = {}, {}
    for candidate in sorted(
        told, key=lambda each: (each.changed or datetime.min, in_order(each.path))
    ):
        learner, each = told[candidate]
        key = named(learner), each or stem
        if key in newest:
            if candidate.path not in arranged:
                require_one_folder(learner, newest[key].path, candidate.path)
            others.setdefault(key, []).append(newest[key].path.name)
        newest[key] = candidate
    return [
        HandedIn(
            learner, each, reader_of(candidate, others.get((learner, each), ())), candidate.changed
        )
        for (learner, each), candidate in newest.items()
    ]


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
    told = {}
    for path in paths:
        for place in places.intersection(path.parents):
            learner, stem, *rest = path.relative_to(place).parts
            if rest and stem in stems:
                usual = place / learner / stem / f"{stem}.ipynb"
                told[path] = None if usual in own and path != usual else (learner, stem)
    return told


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
    told = next((part for part in reversed(folders) if part in stems), None)
    told = told or next((stem for stem in stems if stem in name), None)
    folders = [part for part in folders if part not in stems]
    if match := by_platform(path)[1]:
        return f"{match['learner']}_{match['id']}", told
    rest = path.stem.replace(told, "").strip("_- ") if told else path.stem
    if folders and COPY.fullmatch(rest):
        return folders[-1], told
    return rest or path.stem, told


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


def usual_chapter(told):
    """Return the chapter that most files tell.

    Raises:
        CourseError: if none does.
    """
    known = Counter(filter(None, told))
    if told and not known:
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
