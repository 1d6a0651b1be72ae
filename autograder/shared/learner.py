"""`check("softmax")`: the learner's side. Runs the visible cases on the function in the notebook
and says at once what it found.
"""

import ast
import contextlib
import difflib
import html
import importlib
import inspect
import io
import os
import re
import sys
import textwrap
import warnings
from inspect import currentframe
from pathlib import Path

from autograder.shared.judge import judge
from autograder.shared.probes import live, observe
from autograder.shared.probes.calls import defaults_of, exit_raises
from autograder.shared.probes.stand_ins import modules_for, with_stand_ins
from autograder.shared.time_limit import time_limit
from autograder.shared.visible import VisibleExercises, names_by_chapter
from autograder.shared.wire import decode, encode

GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"
HIDDEN_NOTE = "More cases, with fresh numbers, are run when you hand in."
LOADING = "One moment: this check needs a part of PyTorch that is loaded once in a session."
CASE_SECONDS = 3  # an honest answer takes milliseconds
WIDTH = 96
MOST_LINES = 8  # that a function printed
LONGEST_PRINTED = 4_000  # characters


def check(exercise=None, hidden=False):
    """Check your function against the visible cases of an exercise.

    Args:
        exercise: the function's name, as in the notebook.
        hidden: True marks the cases that are run when you hand in; nothing is run now.

    Prints one green line if all is well, otherwise what to look at first, and what your function
    printed in that case. `check("softmax").inputs` then holds the arguments of the case that
    failed, to try in a cell of your own.
    """
    if hidden:
        return None if "NBGRADER_VALIDATING" in os.environ else Outcome(HIDDEN_NOTE)
    namespace = currentframe().f_back.f_globals
    exercises = VisibleExercises()
    if missing := what_is_missing(exercise, exercises, namespace):
        print(f"{RED}✗ {missing}{PLAIN}")
        return Outcome("")
    prepared = exercises[exercise]
    observations, printed = observed(prepared, namespace)
    verdicts = judge(prepared, observations)
    if all(verdict.passed for verdict in verdicts):
        print(f"{GREEN}✓ {exercise}: all {len(verdicts)} cases pass.{PLAIN}")
        show_remarks(remarks_about(prepared, namespace[exercise]))
        show_printed(printed, 0)
        return None
    used = [
        name
        for name in names_used_by(namespace[exercise])
        if name != exercise and name in exercises and is_written_here(name, namespace)
    ]
    suspects = [name for name in used if fails(name, exercises, namespace)]
    if suspects:
        verdicts = judge(prepared, observations, suspects)
    first = next(place for place, verdict in enumerate(verdicts) if not verdict.passed)
    show_failure(verdicts[first])
    show_remarks(
        remark
        for name in (exercise, *used)
        for remark in remarks_about(exercises[name], namespace[name])
    )
    show_printed(printed, first)
    count = sum(verdict.passed for verdict in verdicts)
    remark = (
        f'{count} of {len(verdicts)} cases pass. check("{exercise}").inputs holds the'
        " arguments of the case above."
    )
    return Outcome(remark, with_stand_ins(live(decode(encode(prepared.cases[first].inputs)))))


def what_is_missing(exercise, exercises, namespace):
    """Return why an exercise cannot be checked, as a sentence, or None."""
    if not isinstance(exercise, str) or exercise not in exercises:
        here = names_here(namespace) if exercises else ["none, until `make notebooks` has run"]
        known = f" This notebook's exercises: {', '.join(here)}." if here else ""
        if not isinstance(exercise, str):
            return f'name the exercise in quotes, as in check("softmax").{known}'
        close = [difflib.get_close_matches(exercise, names, n=1) for names in (here, exercises)]
        meant = next((f" Did you mean {name}?" for [name] in filter(None, close)), "")
        return f"there is no exercise {exercise!r}.{meant}{known}"
    if exercise not in namespace:
        return (
            f"{exercise} is not defined yet: run the cell above that defines it, then this one"
            " again."
        )
    return older_than_its_cell(exercise, namespace)


def names_here(namespace):
    """Return the names of the exercises of the notebook that is open; [] where nothing tells which
    one it is: neither its file's name nor what it defines.
    """
    chapters = names_by_chapter()
    opened = Path(os.environ.get("JPY_SESSION_NAME", "")).name
    for stem, names in chapters.items():
        if opened.startswith(stem):
            return names
    defined = [name for name in namespace if is_written_here(name, namespace)]
    most = max(chapters.values(), key=lambda names: len(set(names).intersection(defined)))
    return most if set(most).intersection(defined) else []


def older_than_its_cell(exercise, namespace):
    """Return that what is defined is older than its cell, whose latest run ended with a
    SyntaxError before it defined anything; or None.

    Where a cell ended with another error, nothing tells whether that was before the definition.
    """
    run = namespace.get("In")  # what IPython has run
    cells = [each for each in run if isinstance(each, str)] if isinstance(run, list) else []
    defines = re.compile(rf"^(def|class) {exercise}\b", re.MULTILINE)
    latest = next(filter(defines.search, reversed(cells)), "")
    try:
        with warnings.catch_warnings(action="ignore"):  # IPython has told them already
            compile(latest, exercise, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return (
            f"{exercise}: Python could not read line {error.lineno} of the last cell that you ran"
            f" to define it, so what is defined is an older {exercise}. Mend that cell and run it,"
            " then this one again."
        )
    except ValueError:
        pass
    return None


def observed(prepared, namespace):
    """Run an exercise's cases on the function in a notebook; none after one that did not finish.

    Returns:
        (observations, printed): of each case, what `observe` returns and a `Printed`.
    """
    load_modules(prepared)
    observations, printed, stopped = [], [], False
    for case in prepared.cases:
        printed.append(Printed())
        if stopped:
            seen = {"unfit": "was not tried again, because it did not finish before"}
        else:
            with contextlib.redirect_stdout(printed[-1]), exit_raises(namespace):
                seen = observed_in_time(case, namespace[prepared.name])
            stopped = "did not finish" in seen.get("unfit", "")
        observations.append(seen)
    return observations, printed


def load_modules(prepared):
    """Import what takes seconds before any case's clock starts, and say why that takes long."""
    names = {name: None for case in prepared.cases for name in modules_for(case)}
    if not names.keys() <= sys.modules.keys():
        print(LOADING)
    for name in names:
        importlib.import_module(name)


def observed_in_time(case, implementation):
    """Return what is observed of a function in a case, or that it took too long."""
    reason = f"did not finish within {CASE_SECONDS} s and was stopped; is there a loop that"
    seen = {"unfit": f"{reason} never ends?"}
    with time_limit(CASE_SECONDS):
        seen = observe(case.probe, implementation, decode(encode(case.inputs)))
    return seen


def fails(name, exercises, namespace):
    """Return whether an exercise of this notebook does not pass its own visible cases."""
    prepared = exercises[name]
    observations, _ = observed(prepared, namespace)
    return not all(verdict.passed for verdict in judge(prepared, observations))


def is_written_here(name, namespace):
    """Return whether a name of a notebook is that of a function or class that it defines."""
    return getattr(namespace.get(name), "__module__", None) == namespace.get("__name__")


def names_used_by(implementation):
    """Return the global names that the code of a function, or of a class's methods, mentions."""
    parts = vars(implementation).values() if isinstance(implementation, type) else [implementation]
    names = [
        name for part in parts for name in getattr(getattr(part, "__code__", None), "co_names", ())
    ]
    return list(dict.fromkeys(names))


def remarks_about(prepared, implementation):
    """Return what of a signature is another than in the notebook, as sentences, or as ""."""
    return renamed(prepared, implementation), other_defaults(prepared, implementation)


def other_defaults(prepared, implementation):
    """Say which arguments have other defaults than in the notebook, or return ""."""
    own = defaults_of(implementation)
    others = [
        f"`{name}={own[name]!r}` for `{name}={wanted!r}`"
        for name, wanted in prepared.defaults.items()
        if name in own and own[name] != wanted
    ]
    if not others:
        return ""
    return (
        f"{prepared.name} has other defaults than the notebook: {', '.join(others)}. When you hand"
        " in, some cases leave these arguments out, so change them back."
    )


def renamed(prepared, implementation):
    """Say which arguments have other names than in the notebook, or return "". Cases give them by
    place, so none fails because of that.
    """
    others = {}
    for case in prepared.cases:
        inputs = case.inputs
        calls = [(implementation, inputs.get("constructor", inputs.get("forward", inputs)))]
        if "constructor" in inputs and "forward" in inputs:
            method = getattr(implementation, inputs.get("method", "forward"), None)
            calls.append((method, ["self", *inputs["forward"]]))
        for called, wanted in calls:
            names = names_of_arguments(called)
            pairs = zip(wanted, names, strict=False)
            others |= {name: own for name, own in pairs if name not in ("self", *names)}
    if not others:
        return ""
    pairs = ", ".join(f"`{own}` for `{name}`" for name, own in others.items())
    return (
        f"{prepared.name} has other names for its arguments than the notebook: {pairs}. A cell"
        " that gives one by its name fails, so change them back."
    )


def names_of_arguments(called):
    """Return the names of a callable's arguments; [] where it takes any."""
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return []
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(each.kind in several for each in parameters):
        return []
    return [each.name for each in parameters]


class Printed(io.TextIOBase):
    """Takes what a function prints in a case: keeps the beginning, and counts the lines."""

    def __init__(self):
        self.text, self.count = "", 0

    def write(self, text):
        self.text += text[: LONGEST_PRINTED - len(self.text)]
        self.count += text.count("\n")
        return len(text)


def show_failure(verdict):
    """Print what to look at first."""
    print(f"{RED}✗ {verdict.title}{PLAIN}\n{wrapped(verdict.message)}")


def show_remarks(remarks):
    """Print sentences, each once; none that is empty."""
    for remark in dict.fromkeys(filter(None, remarks)):
        print(wrapped(remark))


def wrapped(text):
    return textwrap.fill(
        text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )


def show_printed(printed, shown):
    """Print the first lines that a function printed in one case, and how many there were besides.

    Args:
        printed: of all cases.
        shown: the place of that one.
    """
    lines = printed[shown].text.splitlines()[:MOST_LINES]
    rest = max(0, printed[shown].count - len(lines))
    others = sum(each.count for each in printed) - printed[shown].count
    if lines or others:
        print("  What it printed in this case:" if lines else "  It printed nothing in this case.")
    for line in lines:
        print(f"    {line[:WIDTH]}")
    counts = [(rest, "more here"), (others, "in the other cases")]
    more = " and ".join(f"{count} {where}" for count, where in counts if count)
    if more:
        print(f"  Lines that are left out: {more}.")


class Outcome:
    """What a check cell leaves behind unless all is well: a remark for people, and a score of 0 for
    an nbgrader without our settings.
    """

    def __init__(self, remark, inputs=None):
        self.remark = remark
        self.inputs = inputs

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": "0.0", "text/html": f"<small>{html.escape(self.remark)}</small>"}

    def __repr__(self):
        return "0.0"
