"""`python -m autograder forget LEARNER`: take away all that a class's folder holds about them."""

import contextlib
import csv
import io
import shutil

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import text

from autograder.course import CourseError
from autograder.grading.command import graded_chapters, places_from
from autograder.grading.gradebook import open_quietly
from autograder.grading.places import only_writer
from autograder.grading.run import report
from autograder.shared.wire import printable
from autograder.term import deadlines, disputes, groups
from autograder.term.tables import SEPARATORS
from autograder.whole_files import write_whole

FOLDERS = ("submitted", "autograded", "feedback", "disputes")
TABLES = (deadlines.FILE, groups.FILE, disputes.FILE)
MADE_OF_ALL = ("defence", "reports/overview.html")  # which any run of their commands makes anew


def forget(options):
    """Say what there is about a learner; with `--sure`, take it away.

    Raises:
        CourseError: if there is nothing.
    """
    places, learner = places_from(options), options.learner
    folders = [
        path for name in FOLDERS if learner and (path := places.folder / name / learner).is_dir()
    ]
    rows = {
        name: count
        for name in TABLES
        if (path := places.folder / name).exists() and (count := len(with_learner(path, learner)))
    }
    known = is_student(places.gradebook, learner)
    if not (folders or rows or known):
        raise CourseError(printable(f"there is nothing about “{learner}” in {places.folder}"))
    found = [str(each) for each in folders]
    found += [f"{count} rows of {name}" for name, count in rows.items()]
    found += ["their submissions and scores in the gradebook"] * known
    done = "Gone" if options.sure else "There is"
    if options.sure:
        with only_writer(places.folder):
            take_away(places, learner, folders, rows)
    print(*map(printable, [f"{done}: {each}" for each in found]), sep="\n")
    if not options.sure:
        print("Nothing was taken away; --sure does it, and nothing brings it back.")
        return
    print(
        "Their zips, and what you sent to a learning platform or copied elsewhere, are not in this"
        " folder: look there, too."
    )


def take_away(places, learner, folders, rows):
    """Take away what was found; then make the reports anew."""
    for folder in folders:
        shutil.rmtree(folder)
    for name in rows:
        path = places.folder / name
        gone = set(with_learner(path, learner))
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
        write_whole(path, "".join(line for at, line in enumerate(lines, 1) if at not in gone))
    with Gradebook(places.gradebook) as gradebook:
        with contextlib.suppress(MissingEntry):
            gradebook.remove_student(learner)
        if gradebook.db.bind.dialect.name == "sqlite":
            gradebook.db.execute(text("VACUUM"))  # or their name stays in pages that nobody uses
    for name in MADE_OF_ALL:
        path = places.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    try:
        stems = graded_chapters(places.folder)
    except CourseError:
        stems = []
    for path in (places.folder / "reports").glob("*/report.html"):
        if path.parent.name in stems:
            report(path.parent.name, places, {})
        else:
            shutil.rmtree(path.parent)  # nobody else has handed in


def with_learner(path, learner):
    """Return the numbers of a table's lines that are about a learner."""
    content = path.read_text(encoding="utf-8-sig")
    first = content.lstrip().split("\n")[0]
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator)
    names, before, found = None, 0, []
    for cells in reader:
        lines, before = range(before + 1, reader.line_num + 1), reader.line_num
        cells = [cell.strip() for cell in cells]
        if names is None:
            names = [cell.lower() for cell in cells]
        elif dict(zip(names, cells, strict=False)).get("learner") == learner:
            found += lines  # a cell may have several lines
    return found


def is_student(db_url, learner):
    """Return whether a gradebook knows a learner."""
    open_quietly()
    with Gradebook(db_url) as gradebook:
        try:
            gradebook.find_student(learner)
        except MissingEntry:
            return False
    return True
