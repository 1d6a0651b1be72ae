"""`python -m autograder forget LEARNER`: take away all that a class's folder holds about them."""

import contextlib
import csv
import io
import json
import shutil

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import text

from autograder.course import CourseError
from autograder.desk.overview import write_overview
from autograder.desk.push import Sent
from autograder.grading.command import graded_chapters, places_from
from autograder.grading.gradebook import students_in
from autograder.grading.places import only_writer
from autograder.grading.run import hand_back
from autograder.shared.wire import printable
from autograder.term import deadlines, disputes, groups, roster
from autograder.term.groups import read, read_groups
from autograder.term.names import why_no_name
from autograder.term.tables import SEPARATORS
from autograder.whole_files import write_whole

FOLDERS = ("submitted", "autograded", "feedback", "disputes")
TABLES = (deadlines.FILE, groups.FILE, disputes.FILE, roster.FILE)


def forget(options):
    """Say what there is about a learner; with `--sure`, take it away.

    Raises:
        CourseError: if there is nothing.
    """
    places, learner = places_from(options), options.learner
    own = [] if why_no_name(learner) else FOLDERS
    folders = [path for name in own if (path := places.folder / name / learner).is_dir()]
    rows = {
        name: count
        for name in TABLES
        if (path := places.folder / name).exists() and (count := len(with_learner(path, learner)))
    }
    known = learner in students_in(places.gradebook)
    pushed = [Sent(path) for path in sorted(places.folder.glob("pushed/*.json"))]
    pushed = [sent for sent in pushed if learner in sent.marks]
    if not (folders or rows or known or pushed):
        raise CourseError(printable(f"there is nothing about “{learner}” in {places.folder}"))
    found = [str(each) for each in folders]
    found += [f"{count} rows of {name}" for name, count in rows.items()]
    found += ["their submissions and scores in the gradebook"] * known
    found += [f"the mark that was sent, in {sent.path}" for sent in pushed]
    sheets = sorted(str(each) for each in places.folder.glob("defence/*"))
    found += [
        f"the whole class's sheets and keys in {each}; `defence` makes the others' again, with the"
        " same questions"
        for each in sheets
    ]
    left = left_alone(places.folder / groups.FILE, learner)
    others = [
        f"“{partner}” is a group of one then: works alone from now on, and keeps what there is"
        for partner in left
    ]
    done = "Gone" if options.sure else "There is"
    if options.sure:
        with only_writer(places.folder):
            take_away(places, learner, folders, rows)
            for sent in pushed:
                sent.forget(learner)
    print(*map(printable, [*(f"{done}: {each}" for each in found), *others]), sep="\n")
    if not options.sure:
        print("Nothing was taken away; --sure does it, and nothing brings it back.")
        return
    print(
        "Their zips, and what you sent to a learning platform or copied elsewhere, are not in this"
        " folder: look there, too."
    )


def take_away(places, learner, folders, rows):
    """Take away what was found; then make anew what was made of it.

    Raises:
        CourseError: if a table is not clear, before anything is gone.
    """
    roster.read_roster(places.folder)
    changed = leave_groups(places, learner)
    for folder in folders:
        shutil.rmtree(folder)
    for name in rows:
        path = places.folder / name
        gone = set(with_learner(path, learner))
        if name == groups.FILE:
            gone.update(*left_alone(path, learner).values())
        # as `csv` counts them: what else ends a line for Python may be in a complaint
        lines = list(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
        write_whole(path, "".join(line for at, line in enumerate(lines, 1) if at not in gone))
    with Gradebook(places.gradebook) as gradebook:
        with contextlib.suppress(MissingEntry):
            gradebook.remove_student(learner)
        if gradebook.db.bind.dialect.name == "sqlite":
            gradebook.db.execute(text("VACUUM"))  # or their name stays in pages that nobody uses
    shutil.rmtree(places.folder / "defence", ignore_errors=True)
    try:
        stems = graded_chapters(places.folder)
    except CourseError:
        stems = []
    for path in (places.folder / "reports").glob("*/report.html"):
        if path.parent.name in stems:
            hand_back(path.parent.name, places, changed.get(path.parent.name, []))
        else:
            shutil.rmtree(path.parent)  # nobody else has handed in
    page = places.folder / "reports" / "overview.html"
    if page.exists():
        page.unlink()
        if stems:
            write_overview(places)


def leave_groups(places, learner):
    """Let no record say any more that a learner was in a group, or handed in for one: whoever is
    left of it has handed in instead.

    Returns:
        chapter -> list of the others whose record says something else now.
    """
    table, changed = read_groups(places.folder), {}
    for path in sorted(places.folder.glob("autograded/*/*/*.ipynb")):
        other, stem = path.parts[-3:-1]
        notebook = read(path)
        told = notebook and notebook["metadata"]["autograder"].get("group")
        members = table.of(stem).get(told["name"], []) if told else []
        left = [each for each in members if each != learner]
        if other == learner or learner not in members:
            continue
        if len(left) == 1:
            del notebook["metadata"]["autograder"]["group"]
        elif told["handed_in_by"] == learner:
            told["handed_in_by"] = left[0]
        else:
            continue
        write_whole(path, json.dumps(notebook, ensure_ascii=False, separators=(",", ":")))
        changed.setdefault(stem, []).append(other)
    return changed


def left_alone(path, learner):
    """Return who would be the only member of a group without a learner, and the numbers of the
    table's lines that say so: dict by name.
    """
    groups_of = {}
    for lines, row in rows_of(path) if path.exists() else ():
        group = row.get("chapter", ""), row.get("group")
        groups_of.setdefault(group, {})[row.get("learner")] = lines
    left = {}
    for members in groups_of.values():
        if len(members) == 2 and learner in members:
            (partner, lines), *_ = [each for each in members.items() if each[0] != learner]
            left.setdefault(partner, []).extend(lines)
    return left


def with_learner(path, learner):
    """Return the numbers of a table's lines that are about a learner."""
    return [line for lines, row in rows_of(path) if row.get("learner") == learner for line in lines]


def rows_of(path):
    """Yield the numbers of the lines of each row of a table, and its cells by column."""
    content = path.read_text(encoding="utf-8-sig")
    first = content.lstrip().split("\n")[0]
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator)
    names, before = None, 0
    for cells in reader:
        lines, before = range(before + 1, reader.line_num + 1), reader.line_num
        cells = [cell.strip() for cell in cells]
        if names is None:
            names = [cell.lower() for cell in cells]
        else:
            yield lines, dict(zip(names, cells, strict=False))  # a cell may have several lines
