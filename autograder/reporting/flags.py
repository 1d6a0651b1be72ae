"""Remarks about a graded notebook for human eyes: what a teacher would want to look at. None of
them changes a score.

What needs the whole class, because it compares, is in `autograder.reporting.likeness`.
"""

import re
from collections import Counter

from autograder.authoring.released import is_added, is_solution, is_written
from autograder.reporting.code import facts_of
from autograder.reporting.reader import Flag, flags_of_code, shown
from autograder.shared.wire import unmasked

# kind -> (its heading, what it means and what it does not)
KINDS = {
    "unreadable": (
        "Could not be read",
        "Nothing in these was graded. The learner's page says why, and what to do.",
    ),
    "beyond": (
        "Could not be looked at",
        (
            "Graded like all others. But to look for remarks in their code takes more than it may,"
            " or fails, so there are none: look yourself."
        ),
    ),
    "library": (
        "Uses a library function that the exercise asks to write",
        (
            "The numbers are right and keep their points. Whether the call is what you wanted to"
            " see is yours to say."
        ),
    ),
    "looks": (
        "Looks at what it should not need",
        (
            "Code made from text, frames, files, the interpreter, the grader: no exercise needs"
            " them. Most who use them are curious."
        ),
    ),
    "same": (
        "The same as another learner's",
        (
            "Compared without names, comments and layout. Only what few others wrote is counted,"
            " and only where it is more than chance explains: a reason to ask, and no proof."
        ),
    ),
    "reference": (
        "The same as the published solution",
        (
            "The course's solutions are public. Short functions come out the same by chance; only"
            " notebooks with much of it are listed."
        ),
    ),
    "characters": (
        "Hidden characters in the source",
        (
            "They turn the direction of the text or have no width, so that code may read as what it"
            " is not. Pasted text has some too."
        ),
    ),
    "stopped": (
        "Ended Python or ran out of time",
        "The message on the learner's page says in which case.",
    ),
    "slow": ("Slow", "Far above the median of the class."),
    "handed in": (
        "Handed in oddly",
        "Another file name, or whatever else was noted when the notebook was read.",
    ),
    "waits": (
        "Answers in words that wait for a mark",
        "Formgrader lists them; the marks count from the next `grade` on.",
    ),
    "disputed": (
        "Disputed, and nobody has decided",
        "`python -m autograder disputes` writes a page that helps to.",
    ),
    "unsandboxed": (
        "Graded without a sandbox",
        (
            "The learner's code ran as the user who graded, with that user's files in reach. Grade"
            " again with the sandbox before it counts."
        ),
    ),
}
MOST_REMARKS = 12  # of a kind, about a notebook; the first ones tell enough
STOPPED = re.compile(r"ended the Python process|did not finish within \d+ s|had used up its \d+ s")


def flags_of_notebook(stem, notebook, shortcuts):
    """Return what there is to remark about the cells of one graded notebook by itself.

    Args:
        stem: the chapter.
        notebook: a graded notebook, as a dictionary or NotebookNode.
        shortcuts: exercise -> names of library functions that do what it asks to write.

    Returns:
        list[Flag]: in the order of the notebook, at most `MOST_REMARKS` of a kind about its code.
    """
    found = flags_of_stopped_cells(notebook)
    cells = own_cells(notebook)
    given = {}
    for source in given_cells(notebook):
        if facts := facts_of(source):
            given |= facts.imports
    key = (stem, tuple(cells), tuple(sorted(given.items())), tuple(sorted(shortcuts.items())))
    return list(dict.fromkeys([*found, *first_of_each_kind(flags_of_code(*key))]))


def first_of_each_kind(flags):
    """Yield the first remarks of each kind, and for the rest how many more there are."""
    seen = Counter()
    for flag in flags:
        seen[flag.kind] += 1
        if seen[flag.kind] <= MOST_REMARKS:
            yield flag
    for kind, count in seen.items():
        if count > MOST_REMARKS:
            yield Flag(kind, f"and {count - MOST_REMARKS} more")


def flags_of_record(record):
    """Return what the grader's own record tells."""
    notes = record.get("notes", ())[:MOST_REMARKS]
    found = [Flag("handed in", unmasked(str(note))[:300]) for note in notes]
    found += [
        Flag("disputed", unmasked(str(each["why"]))[:300], exercise)
        for exercise, each in record.get("disputes", {}).items()
        if not each["reason"]
    ]
    found += [
        Flag("waits", "nobody has marked it yet", name)
        for name, answer in record.get("written", {}).items()
        if answer["score"] is None
    ]
    if record.get("problem"):
        found.append(Flag("unreadable", unmasked(str(record["problem"]))[:300]))
    if record.get("sandbox") == "none":
        found.append(Flag("unsandboxed", "ran without a sandbox"))
    stopped = {}
    for cell in record["cells"]:
        if used := cell.get("used"):
            found.append(Flag("library", shown(f"runs {used[0]}"), cell["exercise"]))
        for case in cell["cases"]:
            if not case["passed"] and (match := STOPPED.search(case["message"])):
                stopped.setdefault(cell["exercise"], match[0])
    found += [Flag("stopped", what, exercise) for exercise, what in stopped.items()]
    return list(dict.fromkeys(found))


def flags_of_stopped_cells(notebook):
    """Return a remark for each added cell that ended the process or took the time limit."""
    found = []
    for cell in notebook["cells"]:
        if is_added(cell):
            text = "".join(str(output.get("text", "")) for output in cell.get("outputs", ()))
            if match := STOPPED.match(text.rstrip().rsplit("\n", 1)[-1]):
                found.append(Flag("stopped", f"an added cell {match[0]}"))
    return found


def own_cells(notebook):
    """Return (exercise or None, source) of the cells that the learner wrote."""
    cells = []
    for cell in notebook["cells"]:
        if is_solution(cell) and not is_written(cell):
            cells.append((cell["metadata"]["nbgrader"]["grade_id"], cell["source"]))
        elif is_added(cell):
            cells.append((None, cell["source"]))
    return cells


def given_cells(notebook):
    """Return the sources of the released code cells, such as the one with the imports."""
    return [
        cell["source"]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and "nbgrader" not in cell["metadata"] and not is_added(cell)
    ]
