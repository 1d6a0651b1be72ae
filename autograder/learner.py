"""`check("softmax")`: the learner's side. Runs the visible cases on the function in the notebook and says at once what it found."""

import html
import sys

from autograder.course import VISIBLE, CourseError
from autograder.judge import judge
from autograder.probes import observe
from autograder.visible import read_visible_cases
from autograder.wire import decode, encode

GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"
HIDDEN_NOTE = "More cases, with fresh numbers, are run when you hand in."


def check(exercise, hidden=False):
    """Check your function against the visible cases of an exercise.

    Args:
        exercise: the function's name, as in the notebook.
        hidden: True only stands for the cases that are run when you hand in; nothing is run now.

    Prints one green line if all is well, otherwise what to look at first.
    """
    if hidden:
        return Outcome(HIDDEN_NOTE)
    try:
        prepared = find_exercise(exercise)
    except CourseError as error:
        print(f"{RED}✗ {error}.{PLAIN}")
        return Outcome("")
    namespace = sys._getframe(1).f_globals
    if exercise not in namespace:
        print(f"{RED}✗ {exercise} is not defined yet: run the cell above that defines it, then this one again.{PLAIN}")
        return Outcome("")
    observations = [observe(case.probe, namespace[exercise], decode(encode(case.inputs))) for case in prepared.cases]
    verdicts = judge(prepared, observations)
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        print(f"{GREEN}✓ {exercise}: all {len(verdicts)} cases pass.{PLAIN}")
        return None
    print(f"{RED}✗ {failed[0].title}{PLAIN}\n  {failed[0].message}")
    return Outcome(f"{len(verdicts) - len(failed)} of {len(verdicts)} cases pass.")


class Outcome:
    """What a check cell leaves behind unless all is well: a remark for people, and a score of 0 for an nbgrader without our settings."""

    def __init__(self, remark):
        self.remark = remark

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "0.0", "text/html": f"<small>{html.escape(self.remark)}</small>"}

    def __repr__(self):
        return "0.0"


def find_exercise(name):
    """Return an exercise with its visible cases.

    Raises:
        CourseError: if no chapter has it; the message lists those that exist.
    """
    known = {}
    for path in sorted(VISIBLE.glob("*.json")):
        known.update(read_visible_cases(path.stem))
    if name not in known:
        raise CourseError(
            f"there is no exercise {name!r}; there are: {', '.join(known) or 'none, until `make notebooks` has run'}"
        )
    return known[name]
