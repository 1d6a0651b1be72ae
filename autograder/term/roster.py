"""Who is in the class, whether they have handed in or not.

`roster.csv` may lie in the class's folder, beside its gradebook:

    learner,name,email
    ada,Ada Rossi,ada@school.example

A learner is called there what their folder or file is called. The other two columns may be left
out; they only come back in the table of scores.
"""

from autograder.term.names import why_no_name
from autograder.term.tables import Table, closest

FILE = "roster.csv"
MORE = ("name", "email")


def read_roster(folder):
    """Return what the class list in a folder says of each learner, dict by learner, in its order;
    there may be none.

    Raises:
        CourseError: if the table is not clear; the message names each line.
    """
    path, found, lines = folder / FILE, {}, {}
    if not path.exists():
        return found
    with Table(path, ("learner",), optional=MORE) as table:
        for line, row in table.rows():
            learner = row.pop("learner")
            if wrong := why_no_name(learner):
                table.fault(line, wrong)
            elif first := lines.get(learner):
                table.fault(line, f"“{learner}” is in line {first} already")
            else:
                lines[learner], found[learner] = line, row
        if not lines and not table.faults:
            table.fault(1, "it names nobody")
    return found


def unknown(learner, known):
    """Return what to say of a learner whom nobody knows, or whose name cannot be one; else "".

    Args:
        known: the names of all who have handed in, or are in the gradebook or on the roster.
    """
    if learner in known or why_no_name(learner):
        return why_no_name(learner)
    return (
        f"nobody called “{learner}” has handed in, or is in the gradebook or {FILE}"
        f"{closest(learner, known)} (add learners who have not handed in yet to {FILE})"
    )
