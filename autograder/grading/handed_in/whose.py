"""Whose a file is, and of which chapter, as far as its path tells."""

import hashlib
import re
from collections import defaultdict

from autograder.grading.handed_in.files import is_notebook

# Begins a file's name; what the learner called it comes after.
MOODLE = re.compile(r"(?P<learner>.+?)_(?P<id>\d+)_assignsubmission_file")
# A folder's: Moodle's own part is its last, whatever somebody has called themselves before it.
MOODLE_FOLDER = re.compile(r"(?P<learner>.+)_(?P<id>\d+)_assignsubmission_file")
MOODLES_PART = re.compile(r"_(\d+)_assignsubmission_file")
# What programs, `make lab` among them, add to the name of a copy.
COPY = re.compile(r"copy of|copy ?\d*|\(\d+\)|\(before [\d, -]+\)|", re.IGNORECASE)
# What a browser adds to the name of a file of which it has one already.
SAVED_AGAIN = re.compile(r"[_\- ]*\(\d+\)$")
CANVAS = re.compile(r"(?P<learner>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)")
# Bytes: nbgrader's gradebook holds no more characters, and a folder's name 255 bytes.
LONGEST_NAME = 128


def in_folders_of_learners(paths, stems):
    """Tell what lies in folders `<learner>/<chapter>/`, where that is how somebody's
    `<chapter>.ipynb` lies.

    There a folder's name says who it is, and no file's name can say otherwise. A place that lies in
    the folder of a learner, as `in_folders_of_their_own` knows it, is none: what one of them hands
    in says nothing about others.

    Returns:
        (learner, chapter) by path, and what is nobody's: by the path of a file that lies beside a
            notebook of the chapter's own name, this notebook's; by that of one in another folder of
            a learner's, None.
    """
    own = {
        path
        for path in paths
        if len(path.parts) > 2
        and path.parent.name in stems
        and path.name == f"{path.parent.name}.ipynb"
        and not by_platform(path)[0]
    }
    # the outermost first: below a learner's own folder, they name folders as they like
    of_others = places_of_folders(paths, stems)
    places = {path.parents[2] for path in own if of_others.isdisjoint(path.parents[3:])}
    places = sorted(places, key=lambda place: len(place.parts))
    owners, beside = {}, {}
    for path in paths:
        around = [place for place in places if place in path.parents]
        for place in around:
            learner, *below = path.relative_to(place).parts
            if len(below) > 1 and below[0] in stems:
                usual = place / learner / below[0] / f"{below[0]}.ipynb"
                if usual in own and path != usual:
                    beside[path] = usual
                else:
                    owners[path] = learner, below[0]
                break
        else:
            if any(len(path.relative_to(place).parts) > 2 for place in around):
                beside |= {} if by_platform(path)[0] else {path: None}
    return owners, beside


def in_folders_of_their_own(paths, stems):
    """Tell whose the files are where each learner has a folder and none for a chapter in it: where
    most of the folders in one place, and two at least, hold only what is their learner's by its
    name, too.

    There a folder's name says who it is, and no file's name can say otherwise.

    Returns:
        learner by path, of the files in such folders.
    """
    places = places_of_folders(paths, stems)
    learners = {}
    for path in paths:
        # the outermost: below a learner's own folder, they name folders as they like
        place = next((each for each in reversed(path.parents) if each in places), path.parent)
        folder, *below = path.relative_to(place).parts
        if below and folder not in stems and not MOODLE_FOLDER.match(folder):
            learners[path] = folder
    return learners


def places_of_folders(paths, stems):
    """Return the places in which most folders, and two at least, hold only notebooks that are by
    their names those of the learner whom the folder is called after.
    """
    by_names = defaultdict(lambda: defaultdict(set))
    for path in paths:
        folder = path.parent.name
        if is_notebook(path) and folder and folder not in stems and not by_platform(path)[0]:
            by_names[path.parents[1]][folder].add(learner_and_chapter(path, stems)[0])
    return {
        place for place, folders in by_names.items() if agreeing(folders) > max(1, len(folders) / 2)
    }


def agreeing(folders):
    """Return how many folders hold only what is their learner's by its name, too."""
    return sum(names == {folder} for folder, names in folders.items())


def is_doubtful(path):
    """Return whether a file's name may be one that Moodle has made for either of two learners:
    somebody has called themselves, or a file, as Moodle calls one.
    """
    match = by_platform(path)[1]
    by_its_name = match is not None and match.re is MOODLE
    return by_its_name and len(set(MOODLES_PART.findall(path.name))) > 1


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
