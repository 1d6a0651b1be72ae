"""What grading found, as a table for the terminal."""

import textwrap

from autograder.reporting.record import outcomes_of

WIDTH = 118


def rows_of(learner, notebook):
    """Return (learner, exercise, score, points, first hint) for each exercise of a graded
    notebook.
    """
    rows = []
    for exercise, outcome in outcomes_of(notebook["metadata"]["autograder"]).items():
        hint = next((case["message"] for case in outcome.cases if not case["passed"]), "")
        rows.append((learner, exercise, outcome.score, outcome.points, hint))
    return rows


def table(rows):
    """Lay rows out under a heading, hints wrapped in the last column."""
    shown = [
        (learner, exercise, f"{score:g}/{points:g}", hint)
        for learner, exercise, score, points, hint in rows
    ]
    widths = [
        max(len(row[column]) for row in [("learner", "exercise", "score"), *shown])
        for column in range(3)
    ]
    left = sum(widths) + 6
    lines = [line_of(("learner", "exercise", "score", "first hint"), widths), "─" * WIDTH]
    before = None
    for row in shown:
        first, *rest = textwrap.wrap(
            row[3], max(40, WIDTH - left), max_lines=5, placeholder=" …"
        ) or [""]
        lines.append(line_of((row[0] if row[0] != before else "", row[1], row[2], first), widths))
        lines += [" " * left + more for more in rest]
        before = row[0]
    for learner in dict.fromkeys(row[0] for row in rows):
        scores, points = (
            sum(row[column] for row in rows if row[0] == learner) for column in (2, 3)
        )
        lines.append(
            line_of((learner, "in all", f"{scores:g}/{points:g}", ""), widths) if points else ""
        )
    return "\n".join(lines)


def line_of(texts, widths):
    """Set three texts in columns of the given widths, the third to the right, and a fourth after
    them.
    """
    learner, exercise, score, hint = texts
    return f"{learner:<{widths[0]}}  {exercise:<{widths[1]}}  {score:>{widths[2]}}  {hint}".rstrip()
