"""`python -m autograder assist CHAPTER`: let a program of one's own propose marks for answers in
words. What it proposes stands below the answer in formgrader, and counts nothing until a person has
entered a mark.

The program is a function in `autograder/private/assist.py`:

    def propose(asks, rubric, answer):
        '''Return points and a reason.

        Args:
            asks: the question's text.
            rubric: list of (what a right answer says, points).
            answer: what the learner wrote.
        '''
"""

import importlib.util
import json
import math
import sys

import nbformat

from autograder.course import PRIVATE, CourseError, chapters, require_chapter
from autograder.grading.answers import add_rubrics
from autograder.grading.command import places_from
from autograder.grading.places import only_writer
from autograder.reporting.record import group_in, read_graded
from autograder.shared.wire import printable
from autograder.term.questions import read_questions
from autograder.whole_files import write_whole

HOOK = PRIVATE / "assist.py"


def assist(options):
    """Ask the class's own program about each answer that waits for a mark and has no proposal yet.
    Return the exit status: 1 if it failed for any.

    Raises:
        CourseError: if there is no such program, or no question to mark.
    """
    stem, places = require_chapter(options.chapter), places_from(options)
    questions = {
        name: each for name, each in read_questions(chapters()).items() if each.stem == stem
    }
    if not questions:
        raise CourseError(f"autograder/private/written.csv asks nothing in {stem}")
    propose, proposed, failed = hook(), 0, 0
    with only_writer(places.folder):
        for learner, notebook in read_graded(stem, places.folder / "autograded"):
            record = notebook["metadata"]["autograder"]
            group = group_in(record)
            if group and group[1] != learner:
                continue  # it is marked once, for whoever handed it in
            before = proposed
            for name, answer in record.get("written", {}).items():
                if answer["score"] is not None or "proposed" in answer or name not in questions:
                    continue
                try:
                    answer["proposed"] = proposal(propose, questions[name], answer["answer"])
                    proposed += 1
                except Exception as error:  # it is somebody's own code
                    failed += 1
                    print(printable(f"  {learner}  {name}: {type(error).__name__}: {error}"))
            if proposed > before:  # kept at once: a program may be slow, or cost something
                notebook = nbformat.from_dict(notebook)
                add_rubrics(notebook, stem)
                text = json.dumps(notebook, ensure_ascii=False, separators=(",", ":"))
                write_whole(places.graded(learner, stem), text)
    print(
        f"{proposed} proposed; formgrader shows them, and they count when you enter a mark"
        + (f". {failed} failed; run this again to try those anew." if failed else ".")
    )
    return 1 if failed else 0


def proposal(propose, question, answer):
    """Return what a program proposes for an answer, as the record keeps it.

    Raises:
        ValueError: if it is no points of that question, and a reason.
    """
    try:
        points, why = propose(question.asks, list(question.rubric), answer)
        points = float(points)
    except TypeError as error:
        raise ValueError(f"propose should return points and a reason ({error})") from None
    if not math.isfinite(points) or not 0 <= points <= question.points:
        raise ValueError(f"proposed {points:g}; {question.name} has from 0 to {question.points:g}")
    return {"points": round(points, 2), "why": str(why)}


def hook():
    """Return the function `propose` of `autograder/private/assist.py`.

    Raises:
        CourseError: if there is none.
    """
    if not HOOK.exists():
        raise CourseError(
            "there is no autograder/private/assist.py; the page for instructors says what it holds"
        )
    spec = importlib.util.spec_from_file_location("private_assist", HOOK)
    module = sys.modules["private_assist"] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CourseError(
            f"autograder/private/assist.py stops with {type(error).__name__}: {error}"
        ) from None
    if not callable(getattr(module, "propose", None)):
        raise CourseError("autograder/private/assist.py should hold propose(asks, rubric, answer)")
    return module.propose
