"""nbgrader's arrangement: `<learner>/<chapter>/<chapter>.ipynb`, with a timestamp.txt beside it."""

import os
import stat
from dataclasses import replace
from datetime import UTC, datetime

from autograder.course import chapters
from autograder.grading.handed_in.candidates import HandedIn, file_time
from autograder.grading.handed_in.files import files_in, find_notebook, is_notebook
from autograder.grading.handed_in.passed_over import remark_on_no_notebooks, remark_on_rest
from autograder.grading.handed_in.submission import Submission, read_submission
from autograder.grading.handed_in.whose import MOODLE, named
from autograder.term.deadlines import is_sensible

LONGEST_TEXT = 200  # bytes, of a timestamp or of nbgrader's secret
LINKED = "the folder that was handed in is a link to another one; hand in a folder of your own"


def in_nbgrader_folders(place, stem, remark):
    """Return what lies in `<learner>/<chapter>/`: every such folder is a submission, whatever is in
    it. It is nothing where more learners have their notebook alone, or in a folder `<learner>/`.
    """
    files = list(files_in(place))
    if not is_arranged(files):
        return []
    stems = [stem] if stem else chapters()
    found, taken = [], set()
    for folder in sorted(place.iterdir()):
        if MOODLE.match(folder.name):
            continue  # what lies in it is called as its learner likes
        for each in stems:
            if is_folder(folder / each, or_closed=stem is not None):
                found.append(from_folder(folder / each, folder.name, each, remark))
                taken.add(folder / each)
    if found:
        remark_on_rest(*rest_of_folders(place, files, taken, stems), remark)
        have = {path.parts[0] for path in files if in_chapters_folder(path)}
        remark_on_no_notebooks(files, have, remark)
    return found


def is_arranged(files):
    """Return whether no more learners have a notebook alone, or in a folder without one for a
    chapter in it, than have their folder for a chapter.

    Args:
        files: the paths of all files.
    """
    have = {path.parts[0] for path in files if in_chapters_folder(path)}
    alone = {
        path.stem if len(path.parts) == 1 else path.parts[0]
        for path in files
        if len(path.parts) <= 2 and is_notebook(path) and not MOODLE.match(path.parts[0])
    }
    return len(alone - have) <= len(have)


def rest_of_folders(place, files, taken, stems):
    """Return the paths of the notebooks that are no submissions: those that may be newer than the
    one in their chapter's folder, and those in no chapter's folder.

    Args:
        files: the paths of all files, relative to the place.
        taken: the folders that are submissions.
        stems: the chapters that are graded.
    """
    newer, elsewhere = [], []
    for path in files:
        if not is_notebook(path):
            continue
        folder = next((each for each in (place / path).parents if each in taken), None)
        if folder is None:
            if not in_chapters_folder(path) or path.parts[1] in stems:
                elsewhere.append(path)
            continue
        own = find_notebook(folder / f"{folder.name}.ipynb")[0]
        if not os.path.lexists(own):  # what lies there, its learner is told
            elsewhere += [path] if (place / path).parent != folder else []
        elif place / path != own:
            times = [when_changed(each) for each in (place / path, own)]
            newer += [path] if None in times or times[0] >= times[1] else []
    return newer, elsewhere


def in_chapters_folder(path):
    """Return whether a file lies in a folder `<learner>/<chapter>/`."""
    return len(path.parts) > 2 and path.parts[1] in chapters() and not MOODLE.match(path.parts[0])


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


def from_folder(folder, learner, stem, remark=lambda text: None):
    """Return the submission in one of nbgrader's folders. Where no timestamp.txt says when it was
    handed in, there is the time of its file.

    Args:
        remark: called with a sentence where there is a timestamp that does not count.
    """
    usual, when, clock, of_file = folder / f"{stem}.ipynb", timestamp_in(folder, remark), "", ""
    if when is None:
        clock = "file"
        when = when_changed(find_notebook(usual)[0])
        of_file = file_time(clock, when)

    def read():
        if folder.is_symlink() or folder.parent.is_symlink():
            return Submission.unreadable(LINKED)
        return replace(read_submission(usual), file_time=of_file)

    return HandedIn(named(learner), stem, read, when, clock or "timestamp.txt")


def when_changed(path):
    """Return when a file was last changed, in UTC without a zone, or None where that is not
    known.
    """
    try:
        when = datetime.fromtimestamp(path.lstat().st_mtime, UTC).replace(tzinfo=None)
    except (OSError, ValueError, OverflowError):
        return None
    return when if is_sensible(when) else None


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

        when = parse_utc(written.strip())
        if not is_sensible(when):
            raise ValueError(f"nobody handed in anything in the year {when.year}")
        return when
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
