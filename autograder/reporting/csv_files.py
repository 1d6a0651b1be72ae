"""Scores as files for other programs: a spreadsheet, Canvas, Moodle.

A learner's name comes from whoever handed in, and a spreadsheet runs a cell that begins with `=`.
So a text that could be a formula gets an apostrophe in front (OWASP, "CSV Injection"). So does what
follows a separator within a text, because a spreadsheet separates by what its country does, and
then quotation marks in the middle of its cells protect nothing. Numbers stay numbers.
"""

import csv
import io
import re

from autograder.shared.wire import unmasked

# Where a spreadsheet could see a formula begin: at the beginning of a text, or after a separator in
# it. The last four characters are the wide ones of East Asia.
BEGINS = r"""^(?=[ \xa0]*[\t\r\n])|(?:^|(?<=[%s]))(?=[ \xa0"']*[=+\-@＝＋－＠])"""
FORMULA = re.compile(BEGINS % r",;|\t\r\n")
# In code, where `axis, -1` says nothing bad: who separates by commas knows our quotation marks.
FORMULA_IN_CODE = re.compile(BEGINS % r";|\t\r\n")
CANVAS_COLUMNS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
POINTS_ROW = "Points Possible"


def scores_csv(results, exercises, roster=None):
    """Return everything in one table, for a spreadsheet: it begins with the mark by which Excel
    knows UTF-8.

    Args:
        results: list of `autograder.reporting.results.Result`.
        exercises: exercise -> points, in order.
        roster: learner -> what the class list says of them, by column.
    """
    roster = roster or {}
    more = dict.fromkeys(name for row in roster.values() for name, text in row.items() if text)
    noted = ["note"] if any(result.note for result in results) else []
    dated = any(result.late for result in results)
    times = ["due", "handed in", "late", "penalty"] if dated else []
    grouped = ["group"] if any(result.group for result in results) else []
    ends = ["total", "points", "flags", "sandbox", *noted]
    rows = [["learner", *more, *grouped, *exercises, *times, *ends]]
    for result in results:
        earned = [number(result.scores.get(name, 0)) for name in exercises]
        late = result.late
        told = [late.due, late.handed_in, late.by, number(-late.penalty)] if late else [""] * 4
        rows.append(
            [
                result.learner,
                *(roster.get(result.learner, {}).get(name, "") for name in more),
                *([result.group[0] if result.group else ""] if grouped else []),
                *earned,
                *told[: len(times)],
                number(result.total),
                number(result.points),
                result.remarks,
                result.sandbox,
                *[result.note][: len(noted)],
            ]
        )
    return "\ufeff" + written(rows)


def canvas_csv(results, exercises, assignment):
    """Return the form that Canvas's gradebook imports (Grades, Import): five columns about the
    student, then the assignment's.

    Canvas finds a student by `ID`, by `SIS User ID`, by `SIS Login ID`, or by name, in this order.
    `ID` is its own number, which stands in the names of the files in its zips. Elsewhere a
    submission tells us one name, which stands for login and name, and `ID` stays empty: Canvas
    would read a name such as "12 monkeys" there as the number 12.

    Args:
        assignment: the column's heading. Canvas looks for an assignment of that title, also as
            "title (its number)", and offers to make it.
    """
    rows = [[*CANVAS_COLUMNS, assignment]]
    rows.append([POINTS_ROW, "", "", "", "", number(sum(exercises.values()))])
    for result in results:
        # Canvas takes every row that begins with these words for the assignment's points
        name = result.learner.replace(POINTS_ROW, POINTS_ROW.lower())
        own = result.number_on("canvas")
        rows.append([name, own, "", "" if own else result.learner, "", number(result.total)])
    return written(rows)


def moodle_csv(results, exercises, assignment):
    """Return a table for Moodle's import of grades (Grades, Import, CSV file), which asks what each
    column is.

    The first column identifies the learner, "Map from" in Moodle's form: their e-mail address where
    every name is one, else the username. Feedback is HTML for Moodle, so it says nothing but
    exercises and scores.

    Where the class came in Moodle's own zip, this is the grading worksheet of that assignment
    instead (Upload grading worksheet), which knows learners by the numbers in the zip. Moodle wants
    all four of its columns, in the language in which it is used.
    """
    if results and all(result.number_on("moodle") for result in results):
        rows = [["Identifier", "Full name", "Grade", "Last modified (grade)"]]
        for result in results:
            own = result.number_on("moodle")
            rows.append(
                [
                    f"Participant {own}",
                    result.learner.removesuffix(f"_{own}"),
                    number(result.total),
                    "",
                ]
            )
        return written(rows)
    addresses = bool(results) and all("@" in result.learner.strip("@") for result in results)
    rows = [["Email address" if addresses else "Username", assignment, f"{assignment} (feedback)"]]
    for result in results:
        parts = [
            f"{name}: {result.scores.get(name, 0):g} of {points:g}"
            for name, points in exercises.items()
        ]
        if result.penalty:
            parts.append(f"{result.late.by} late: -{result.penalty:g}")
        rows.append([result.learner, number(result.total), "; ".join(parts)])
    return written(rows)


def number(value):
    """Return a score without the digits that adding up leaves behind: 2.5, 10."""
    value = round(float(value), 2)
    return int(value) if value.is_integer() else value


def written(rows):
    """Return rows as CSV with texts that are only texts."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(
        [harmless(cell) for cell in row] for row in rows
    )
    return file.getvalue()


def harmless(cell, formula=FORMULA):
    """Return a cell that no spreadsheet runs, and that steers nothing."""
    if not isinstance(cell, str):
        return cell
    return unmasked(formula.sub("'", cell.replace("\r\n", "\n")))


def no_formula(text):
    """Return a text that is none where a spreadsheet gets it as a whole cell, as from a page's
    table.
    """
    return f"'{text}" if FORMULA.match(text) else text
