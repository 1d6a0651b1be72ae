"""Questions that a class answers in words, and what a right answer has to say.

`written.csv` lies in `autograder/private/`, because learners must not read its rubric:

    chapter,question,asks,criterion,points
    ch04_attention,why_scale,"Why are scores divided by √d_k, and not by d_k?",names the variance,1
    ch04_attention,why_scale,,says what a saturated softmax passes back,2

A question has a row for each thing that its answer should say, with the points that this is worth;
`asks` stands in the first of them. `python -m autograder release` puts the questions at the end of
their chapter's notebook, and a person marks the answers in nbgrader's formgrader.
"""

import re
from dataclasses import dataclass
from functools import cache

from autograder.course import PRIVATE
from autograder.term.points import points_in
from autograder.term.tables import Table, closest

FILE = PRIVATE / "written.csv"
NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Question:
    """A question that is answered in words.

    Args:
        stem: the chapter in whose notebook it stands.
        asks: its text, as Markdown.
        rubric: tuple of (what a right answer says, points).
    """

    stem: str
    name: str
    asks: str
    rubric: tuple

    @property
    def points(self):
        """What a right answer is worth."""
        return sum(points for _, points in self.rubric)


def read_questions(stems, exercises=()):
    """Return the class's Questions, by name and in the order of their table; there may be none.

    Args:
        stems: the chapters that there are.
        exercises: the names of the course's exercises, which no question may have.

    Raises:
        CourseError: if the table is not clear; the message names each line.
    """
    return _read(FILE, FILE.stat().st_mtime_ns, (*stems,), (*exercises,)) if FILE.exists() else {}


@cache
def _read(path, changed, stems, exercises):
    """Read a table; anew only after it has changed, or for other chapters and exercises."""
    found, first = {}, {}
    columns = ("chapter", "question", "asks", "criterion", "points")
    with Table(path, columns) as table:
        for line, row in table.rows():
            stem, name = row["chapter"], row["question"]
            question = found.get(name, Question(stem, name, row["asks"], ()))
            try:
                points = points_in(row["points"])
            except ValueError as error:
                table.fault(line, str(error))
                continue
            if stem not in stems:
                table.fault(line, f"there is no chapter “{stem}”{closest(stem, stems)}")
            elif not NAME.fullmatch(name):
                table.fault(line, f"“{name}” is no name: small letters, digits and _ make one")
            elif name in exercises:
                table.fault(line, f"{name} is an exercise; call the question something else")
            elif not question.asks:
                table.fault(line, f"“asks” is empty: what does {name} ask?")
            elif stem != question.stem:
                table.fault(line, f"line {first[name]} asks {name} in {question.stem}")
            elif row["asks"] not in ("", question.asks):
                table.fault(line, f"line {first[name]} asks something else under {name}")
            elif not row["criterion"]:
                table.fault(line, f"“criterion” is empty: what should an answer to {name} say?")
            elif row["criterion"] in dict(question.rubric):
                table.fault(line, f"an answer to {name} should say that already, above")
            elif not points:
                table.fault(line, "0 points: a criterion that counts nothing is none")
            else:
                first.setdefault(name, line)
                rubric = (*question.rubric, (row["criterion"], points))
                found[name] = Question(stem, name, question.asks, rubric)
    return found
