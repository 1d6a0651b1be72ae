"""An error carried forward is charged once.

Where an exercise calls another one of its notebook, and that one fails, the exercise is asked again
in a fresh process in which the course's own answer takes the broken one's place, and it keeps what
it earns there. The broken exercise's own verdict never comes from such a process. It is offered
only to an exercise that was attempted, and only for exercises that the reference calls itself, so
that nobody earns anything by calling what somebody else has written. The course's answer is run as
a cell of the learner's notebook: there is no module and no namespace of ours beside it.
"""

import ast
import contextlib
import re
from functools import cache

from autograder.authoring.loading import solution_sources
from autograder.authoring.released import stubs

# `%%time`, `!pip install numpy`, `softmax?`
IPYTHONS_LINE = re.compile(r"^[ \t]*[%!].*$|^.*\?[ \t]*$", re.MULTILINE)


def carried_errors(stem, sources, outcomes, added=()):
    """Return which exercises are to be asked again, and without which of the learner's answers.

    Args:
        sources: of the learner's solution cells, by exercise.
        added: sources of the cells that the learner has added; an exercise may call what they
            define.
        outcomes: of all graded cells, as `autograder.grading.outcomes.outcome_of` makes them.

    Returns:
        dict[tuple[str, ...], list[str]]: exercises by the broken ones that they call.
    """
    failing = {each["exercise"] for each in outcomes if each["score"] < each["points"]}
    helpers, again = helpers_in(added), {}
    for exercise in sorted(failing):
        source = sources.get(exercise, "")
        broken = calls_in(stem)[exercise] & failing & reached(names_in(source), helpers)
        if broken and source.strip() != stubs(stem)[exercise].strip():
            again.setdefault(tuple(sorted(closure(stem, broken) & failing)), []).append(exercise)
    return again


def sources_without(stem, notebook, broken):
    """Yield the sources of a notebook's code cells that are not graded, with the course's own for
    the broken exercises.
    """
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and not about.get("grade"):
            exercise = about.get("grade_id")
            yield solution_sources(stem)[exercise] if exercise in broken else cell.source


def better(before, after, broken, hints):
    """Return the outcome of a graded cell that earns more; that of the second asking says why.

    A case that fails both times has the words that it had, since what the second process says may
    come from code that was not the learner's; but they no longer point to what the exercise calls.
    Where the second asking has recognised another misconception, its hint is said instead, which
    is ours.

    Args:
        hints: of the exercise's misconceptions, by belief.
    """
    pairs = zip(before["cases"], before.get("alone", before["cases"]), after["cases"], strict=True)
    cases = [
        (old, new) if new["passed"] or old["passed"] else both_times(alone, new, broken, hints)
        for old, alone, new in pairs
    ]
    if after["score"] <= before["score"]:
        return {**before, "cases": [case for case, _ in cases]}
    used = sorted(
        {*before.get("used", ()), *after.get("used", ())}, key=lambda name: (len(name), name)
    )
    told = {"used": used} if used else {}
    cases = [case for _, case in cases]
    return {**before, **after, **told, "cases": cases, "followed": list(broken)}


def both_times(alone, new, broken, hints):
    """Return a case that fails both times, as it counts without the second asking and with it; they
    say the same.
    """
    belief, message = alone["misconception"], alone["message"]
    if new["misconception"] not in (None, belief):
        belief = new["misconception"]
        message = f"Also with the course's own {' and '.join(broken)}: {hints[belief]}"
    return tuple({**each, "misconception": belief, "message": message} for each in (alone, new))


@cache
def calls_in(stem):
    """Return the exercises of its chapter that each reference calls itself, by exercise."""
    sources = solution_sources(stem)
    return {name: names_in(source) & (sources.keys() - {name}) for name, source in sources.items()}


def closure(stem, names):
    """Return exercises with all those of their chapter that they rest on."""
    return reached(names, calls_in(stem))


def helpers_in(sources):
    """Return the names that each function or class of some cells mentions, by its name."""
    return {
        node.name: mentioned_in(node)
        for source in sources
        for node in getattr(tree_of(source), "body", ())
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def reached(names, helpers):
    """Return names with all that their helpers mention, and the helpers of these."""
    found, names = set(), set(names)
    while names:
        found |= names
        names = set().union(*(helpers.get(name, set()) for name in names)) - found
    return found


def names_in(source):
    """Return the names that a cell's code mentions; none, if it cannot be read."""
    tree = tree_of(source)
    return mentioned_in(tree) if tree else set()


def mentioned_in(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def tree_of(source):
    """Parse a cell; None where it cannot be read. Lines that only IPython understands, such as
    `%%time`, say nothing.
    """
    for text in (source, IPYTHONS_LINE.sub("", source)):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.parse(text)
    return None
