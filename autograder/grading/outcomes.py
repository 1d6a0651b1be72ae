"""What a graded cell earned and why, as the record keeps it and as the learner reads it."""

from dataclasses import asdict

import nbformat

from autograder.shared.judge import share
from autograder.shared.probes.library_code import LONGEST_NAME, MOST_NAMES, UNSEEN, is_ready_made
from autograder.shared.wire import printable


def outcome_of(cell, exercise, verdicts, beliefs):
    """Return what a graded cell earned and why."""
    points = cell.metadata.nbgrader["points"]
    return {
        "cell": cell.metadata.nbgrader["grade_id"],
        "exercise": exercise,
        "points": points,
        "score": round(points * share(verdicts), 2),
        "cases": [
            {**asdict(verdict), "misconception": belief_of(verdict, beliefs)}
            for verdict in verdicts
        ],
    }


def library_code(observations, shortcuts):
    """Return the names of the library functions that do what an exercise asks to write, or belong
    to a library of finished models, and that its answer has run; or that it could not be seen.
    """
    told = [each.get("used") for each in observations]
    names = {
        printable(name)[:LONGEST_NAME]
        for names in told
        if isinstance(names, list)
        for name in names[:MOST_NAMES]
        if isinstance(name, str) and (name in UNSEEN or is_ready_made(name.split("."), shortcuts))
    }
    return sorted(names, key=lambda name: (len(name), name))


def belief_of(verdict, beliefs):
    """Name the misconception that a verdict recognised, or None."""
    return None if verdict.misconception is None else beliefs[verdict.misconception]


def refused(cell, problem):
    """Return the outcome of a graded cell of a notebook that could not be read."""
    kind, name = cell.metadata.nbgrader["grade_id"].split("_", 1)
    case = {
        "title": "the notebook can be read",
        "passed": False,
        "weight": 1,
        "message": problem,
        "misconception": None,
    }
    return {
        "cell": f"{kind}_{name}",
        "exercise": name,
        "points": cell.metadata.nbgrader["points"],
        "score": 0.0,
        "cases": [case],
    }


def write_outcome(cell, record, outcome):
    """Put verdicts and score into a graded cell as nbgrader reads them, and into the record."""
    lines, told = [], {}
    for case in outcome["cases"]:
        lines.append(f"{'✓' if case['passed'] else '✗'} {case['title']}")
        if not case["passed"]:  # what several cases have in common is said with the first
            first = told.setdefault(case["misconception"] or case["message"], case["title"])
            said = case["message"] if first == case["title"] else f"the same as in “{first}”"
            lines.append(f"    {said}")
    if outcome.get("followed"):
        lines.append(followed(outcome["followed"]))
    score = {
        "data": {"text/plain": f"{outcome['score']:g}"},
        "execution_count": None,
        "metadata": {},
    }
    cell.outputs = [
        stream(printable("\n".join(lines) + "\n")),
        nbformat.from_dict({"output_type": "execute_result", **score}),
    ]
    record["cells"].append(outcome)


def followed(broken):
    """Say why an exercise earned more than its answer did on its own."""
    one = len(broken) == 1
    return (
        f"This was asked again with the course's own {' and '.join(broken)}, because yours"
        f" {'fails checks of its own' if one else 'fail checks of their own'}: a mistake there is"
        " charged once, and not a second time here."
    )


def stream(text):
    """Return printed text as a cell's output."""
    return nbformat.from_dict({"output_type": "stream", "name": "stdout", "text": text})
