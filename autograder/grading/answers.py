"""Answers in words: what the record keeps of them, and how they are shown to whoever marks them."""

import re
import textwrap

import nbformat
from nbformat.v4 import new_markdown_cell

from autograder.authoring.released import MISSING, WRITTEN, about, is_written, released, written_in
from autograder.course import chapters
from autograder.shared.wire import printable
from autograder.term.questions import read_questions

RUBRIC = "rubric-"  # begins the ids of cells that only whoever marks an answer sees
WIDTH = 100  # characters of a line, in which an answer is shown


def write_answers(notebook, stem, record):
    """Put what a learner wrote in words into the record, and show it in its cell as text: whatever
    markup or formula it holds is not carried out in the instructor's browser.
    """
    stubs, told = written_in(released(stem)), {}
    for name, cell in written_in(notebook).items():
        stub = stubs[name]["source"]
        blank = cell.source.strip() in ("", stub.strip(), MISSING)
        told[name] = {
            "points": about(cell)["points"],
            "answer": "" if blank else cell.source,
            "blank": blank,
            "score": 0.0 if blank else None,
            "comment": "",
        }
        cell.source = stub if blank else as_text(cell.source)
    if told:
        record["written"] = told


def as_text(source):
    """Return Markdown that shows a text as it was typed, its long lines broken."""
    shown = printable(source)  # what it drops may have stood between two backticks
    lines = [
        part
        for line in shown.split("\n")
        for part in textwrap.wrap(line, WIDTH, replace_whitespace=False) or [""]
    ]
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def carry_marks(record, earlier):
    """Give a record the marks of an earlier one, where the answer is the same.

    Returns:
        list of the questions to which there is another answer now.
    """
    anew = []
    for name, answer in record.get("written", {}).items():
        before = earlier.get("written", {}).get(name)
        if before and before["answer"] == answer["answer"]:
            answer.update({key: before[key] for key in before if key not in ("points", "blank")})
        elif before:
            anew.append(name)
    return anew


def add_rubrics(notebook, stem):
    """Put below each answer of a graded notebook what it should say, and what was proposed for it,
    in place of what stood there.

    Args:
        notebook: a NotebookNode; it is changed.
    """
    questions = read_questions(chapters())
    told = notebook["metadata"]["autograder"].get("written", {})
    cells = [cell for cell in notebook["cells"] if not cell.get("id", "").startswith(RUBRIC)]
    together = []
    for cell in cells:
        together.append(cell)
        name = about(cell).get("grade_id", "").removeprefix(WRITTEN)
        if is_written(cell) and name in questions and not told[name]["blank"]:
            text = rubric_of(questions[name], told[name].get("proposed"))
            together.append(new_markdown_cell(text, id=f"{RUBRIC}{name}"))
    notebook["cells"] = nbformat.from_dict(together)


def rubric_of(question, proposed):
    """Return what whoever marks an answer reads below it.

    Args:
        proposed: points and why, as the record has them; None where nobody proposed anything.
    """
    lines = ["**What the answer should say** (learners do not see this)", ""]
    lines += [f"- {says}: {points:g}" for says, points in question.rubric]
    if proposed:
        lines += [
            "",
            f"**Proposed by `assist.py`: {proposed['points']:g} of {question.points:g}.** It counts"
            " when you have entered a mark.",
            "",
            as_text(proposed["why"]),
        ]
    return "\n".join(lines)
