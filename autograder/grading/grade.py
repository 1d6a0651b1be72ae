"""Grade one submission: run its cells in a process of its own, ask the questions, judge the answers
here.

What a learner's code prints, changes or breaks has no part in the verdict; only the observations
that come back do, and they are compared with the reference's in this process. The score of a cell
is the part of its cases' weight that passed, times its points.
"""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime

import nbformat

from autograder.authoring.loading import questions_of
from autograder.authoring.released import MISSING, graded_cells, is_added, solutions_in
from autograder.boundary.kernel import LearnerKernel
from autograder.boundary.sandbox import boundary
from autograder.grading.answers import write_answers
from autograder.grading.follow_through import better, carried_errors, sources_without
from autograder.grading.outcomes import library_code, outcome_of, refused, stream, write_outcome
from autograder.grading.places import seed_of
from autograder.grading.version import version_of_checks
from autograder.shared.judge import judge
from autograder.shared.probes.stand_ins import modules_for
from autograder.shared.wire import printable

# Before PyTorch is imported: sums depend on the number of threads, and the cores are for
# submissions side by side.
os.environ["OMP_NUM_THREADS"] = "1"

# how IPython names a place in a cell
IPYTHON_CELL = re.compile(r"\(<ipython-input-[^>]*>, line (\d+)\)")
GONE = (
    "is missing from the notebook that was handed in; take a fresh copy, move your functions into"
    " it, and hand that in"
)


@dataclass(frozen=True)
class Limits:
    """How long a learner's code may take, in seconds; see `LearnerKernel.elapsed`."""

    cell: float = 20.0  # one cell of the notebook
    case: float = 3.0  # one question to a function; an honest answer takes milliseconds
    exercise: float = 6.0  # all questions of one check or hidden cell
    submission: float = 120.0  # everything together


def grade_notebook(notebook, stem, student, limits=None, unsandboxed=False, seed=None):
    """Run and grade a notebook, as `autograder.grading.handed_in.submission` rebuilds it, in place.

    Each graded cell gets its verdicts as printed text and its score as its result, which is how
    nbgrader reads it. The record (seed, hash, version of the checks, each verdict) is kept in the
    notebook's metadata.

    Args:
        student: whose it is; with the notebook's hash this decides the seed, unless there is one.
        unsandboxed: run the learner's code without a boundary, and say so in the record.
        seed: bytes, of a grading that is to be repeated, or of the questions that a whole class is
            asked.
    """
    limits = limits or Limits()
    record = notebook.metadata["autograder"]
    record["seed"] = (seed or seed_of(stem, f"{student}\n{record['notebook']}")).hex()
    record["checks"] = version_of_checks(stem)
    record["graded"] = datetime.now(UTC).isoformat(timespec="seconds")
    record["cells"] = []
    if record["problem"]:
        for cell in graded_cells(notebook):
            write_outcome(cell, record, refused(cell, record["problem"]))
        left = limits.submission
    else:
        around = boundary(stem, unsandboxed)
        record["sandbox"], record["missing"] = around.name, list(around.missing)
        questions = questions_of(stem, bytes.fromhex(record["seed"]))
        with LearnerKernel(around, limits.submission) as kernel:
            outcomes = run_cells(notebook, questions, kernel, limits)
        left = kernel.remaining()
        outcomes, left = ask_again(notebook, stem, around, questions, outcomes, limits, left)
        for cell, outcome in zip(graded_cells(notebook), outcomes, strict=True):
            outcome.pop("alone", None)
            write_outcome(cell, record, outcome)
    write_answers(notebook, stem, record)
    record["seconds"] = round(limits.submission - left, 2)
    notebook.metadata["autograder"] = nbformat.from_dict(record)


def observations_of(notebook, stem, questions, limits, unsandboxed=False):
    """Run a notebook, and return what was observed of its functions, dict by kind and name of a
    graded cell; see `autograder.shared.probes.observe`.
    """
    seen = {}
    with LearnerKernel(boundary(stem, unsandboxed), limits.submission) as kernel:
        run_cells(notebook, questions, kernel, limits, seen)
    return seen


def run_cells(notebook, questions, kernel, limits, seen=None):
    """Run the notebook from top to bottom, and ask the questions of each graded cell where it is.

    Args:
        seen: gets what was observed, by kind and name of a graded cell.

    Returns:
        list of the graded cells' outcomes.
    """
    sources = solutions_in(notebook)
    # exercise -> what became of the cell that should define it
    stopped = {name: GONE for name, source in sources.items() if source == MISSING}
    outcomes = []
    for name in slow_modules(notebook, questions):
        kernel.run(f"__import__({name!r});", limits.submission)  # no cell of the learner's
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        nbgrader = cell.metadata.get("nbgrader", {})
        if not nbgrader.get("grade"):
            ran = kernel.run(cell.source, limits.cell)
            cell.outputs = outputs_of(ran, limits)
            if ran.status != "ok" and nbgrader.get("solution"):
                stopped[nbgrader["grade_id"]] = reason_for_stopping(ran, limits)
            continue
        kind, name = nbgrader["grade_id"].split("_", 1)
        prepared = questions[kind, name]
        observations = ask_all(kernel, prepared, limits, stopped.get(name))
        if seen is not None:
            seen[kind, name] = observations
        suspects = suspects_of(name, sources.get(name, ""), outcomes)
        verdicts = judge(prepared, observations, suspects)
        outcome = outcome_of(cell, name, verdicts, prepared.beliefs)
        if suspects:  # what is said where they turn out to be innocent
            verdicts = judge(prepared, observations)
            outcome["alone"] = outcome_of(cell, name, verdicts, prepared.beliefs)["cases"]
        if used := library_code(observations, prepared.shortcuts):
            outcome["used"] = used
        outcomes.append(outcome)
    return outcomes


def ask_again(notebook, stem, around, questions, outcomes, limits, seconds):
    """Ask again what may fail only because it calls an exercise that fails; see
    `autograder.grading.follow_through`.

    Args:
        outcomes: of the notebook's graded cells.
        seconds: that the submission has left.

    Returns:
        list of the outcomes that count, and the seconds that are left now.
    """
    added = [cell.source for cell in notebook.cells if is_added(cell)]
    again = carried_errors(stem, solutions_in(notebook), outcomes, added)
    for broken, exercises in again.items():
        with LearnerKernel(around, seconds) as kernel:
            for name in slow_modules(notebook, questions):
                kernel.run(f"__import__({name!r});", limits.submission)
            for source in sources_without(stem, notebook, broken):
                kernel.run(source, limits.cell)
            for place, cell in enumerate(graded_cells(notebook)):
                kind, name = cell.metadata.nbgrader["grade_id"].split("_", 1)
                if name in exercises:
                    prepared = questions[kind, name]
                    observations = ask_all(kernel, prepared, limits, None)
                    verdicts = judge(prepared, observations)
                    after = outcome_of(cell, name, verdicts, prepared.beliefs)
                    if used := library_code(observations, prepared.shortcuts):
                        after["used"] = used
                    hints = dict(zip(prepared.beliefs, prepared.hints, strict=True))
                    outcomes[place] = better(outcomes[place], after, broken, hints)
            seconds = kernel.remaining()
    return outcomes, seconds


def slow_modules(notebook, questions):
    """Return the names of the modules that take longer to import than a question may, and that a
    notebook or its questions import; most chapters' fork servers have them already.
    """
    names = {
        name: None
        for prepared in questions.values()
        for case in prepared.cases
        for name in modules_for(case)
    }
    mentioned = any("torch" in cell.source for cell in notebook.cells if cell.cell_type == "code")
    return ["torch", *names] if mentioned or names else []


def suspects_of(exercise, source, outcomes):
    """Return the other exercises that lost points further up in the notebook and that an exercise's
    source calls.
    """
    failed = {each["exercise"] for each in outcomes if each["score"] < each["points"]} - {exercise}
    return sorted(name for name in failed if re.search(rf"\b{name}\(", source))


def ask_all(kernel, prepared, limits, stopped):
    """Observe the learner's function in each case.

    All cases are asked at once, which is quick. Those that get no answer are asked again, one by
    one, so that each is told what became of it; when one has ended the process, or the time is used
    up, the rest is not tried.
    """
    until = kernel.elapsed() + limits.exercise
    name, cases = prepared.name, prepared.cases
    seconds, shortcuts = min(limits.case, limits.exercise), prepared.shortcuts
    observations, why = kernel.ask(name, cases, seconds, shortcuts)
    missing = [index for index, observation in enumerate(observations) if observation is None]
    for index in missing:
        skipped = reason_to_skip(kernel, limits, until, is_first=index == missing[0])
        if not skipped and len(cases) > 1:
            seconds = min(limits.case, until - kernel.elapsed())
            [observations[index]], why = kernel.ask(name, [cases[index]], seconds, shortcuts)
        observations[index] = observations[index] or {"unfit": skipped or why}
    undefined = {"unfit": "is not defined"}
    if stopped:
        reason = {"unfit": f"is not defined, because its cell {stopped}"}
        observations = [reason if each == undefined else each for each in observations]
    return observations


def reason_to_skip(kernel, limits, until, is_first):
    """Return why a case without an answer is not asked again, as a clause about the function, or
    None.

    Args:
        until: when the time of the exercise ends, as the kernel counts it.
        is_first: whether it is the first case that got no answer.
    """
    if not kernel.remaining():
        return f"was not tried, because the notebook had used up its {limits.submission:.0f} s"
    if kernel.gone and not is_first:
        return "was not tried again, because it stopped Python in a case before this one"
    if kernel.elapsed() >= until:
        return (
            f"was not tried again, because the cases before this one took {limits.exercise:.0f} s"
        )
    return None


def reason_for_stopping(ran, limits):
    """Say why a cell did not run to its end, as a clause about the cell."""
    match ran.status:
        case "timeout":
            return f"did not finish within {limits.cell:.0f} s and was stopped"
        case "died":
            return "ended the Python process"
        case _:
            return "stopped with " + IPYTHON_CELL.sub(r"(line \1)", ran.error)


def outputs_of(ran, limits):
    """Return a cell's outputs as plain text, whatever the learner's code sent; nothing of it can be
    markup.
    """
    text = ran.text + (f"\n{reason_for_stopping(ran, limits)}" if ran.status != "ok" else "")
    return [stream(printable(text))] if text else []
