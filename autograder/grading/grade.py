"""Grade one submission: run its cells in a process of its own, ask the questions, judge the answers
here.

What a learner's code prints, changes or breaks has no part in the verdict; only the observations
that come back do, and they are compared with the reference's in this process. The score of a cell
is the part of its cases' weight that passed, times its points.
"""

import ast
import hashlib
import os
import re
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import nbformat

from autograder.authoring.loading import questions_of
from autograder.authoring.released import graded_cells, solutions_in
from autograder.boundary.kernel import LearnerKernel
from autograder.boundary.sandbox import boundary
from autograder.course import PRIVATE, ROOT, chapters, source_of
from autograder.grading.follow_through import better, carried_errors, sources_without
from autograder.grading.places import seed_of
from autograder.shared.judge import judge, share
from autograder.shared.probes.library_code import LONGEST_NAME, MOST_NAMES
from autograder.shared.probes.stand_ins import modules_for
from autograder.shared.wire import printable

# Before PyTorch is imported: sums depend on the number of threads, and the cores are for
# submissions side by side.
os.environ["OMP_NUM_THREADS"] = "1"

IPYTHON_CELL = re.compile(r"\(\d+\.py, line (\d+)\)")  # how IPython names a place in a cell
# What asks and judges, whatever the chapter is.
DECIDING = ("autograder/shared", "autograder/authoring", "autograder/boundary")
DECIDING_HERE = ("follow_through.py", "grade.py", "submission.py")
QUESTIONS = ("autograder.checks", "solutions")  # what asks a question, and what answers it rightly
LIBRARIES = ("numpy", "torch")


@dataclass(frozen=True)
class Limits:
    """How long a learner's code may take, in seconds."""

    cell: float = 20.0  # one cell of the notebook
    case: float = 3.0  # one question to a function; an honest answer takes milliseconds
    exercise: float = 6.0  # all questions of one check or hidden cell
    submission: float = 120.0  # everything together


def grade_notebook(notebook, stem, student, limits=None, unsandboxed=False, seed=None):
    """Run and grade a notebook that `autograder.grading.submission.rebuild` made, in place.

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
    started = time.monotonic()
    record = notebook.metadata["autograder"]
    record["seed"] = (seed or seed_of(stem, f"{student}\n{record['notebook']}")).hex()
    record["checks"] = version_of_checks(stem)
    record["graded"] = datetime.now(UTC).isoformat(timespec="seconds")
    record["cells"] = []
    if record["problem"]:
        for cell in graded_cells(notebook):
            write_outcome(cell, record, refused(cell, record["problem"]))
    else:
        around = boundary(stem, unsandboxed)
        record["sandbox"], record["missing"] = around.name, list(around.missing)
        questions = questions_of(stem, bytes.fromhex(record["seed"]))
        with LearnerKernel(around, limits.submission) as kernel:
            outcomes = run_cells(notebook, questions, kernel, limits)
        left = limits.submission - (time.monotonic() - started)
        outcomes = ask_again(notebook, stem, around, questions, outcomes, limits, left)
        for cell, outcome in zip(graded_cells(notebook), outcomes, strict=True):
            write_outcome(cell, record, outcome)
    record["seconds"] = round(time.monotonic() - started, 2)
    notebook.metadata["autograder"] = nbformat.from_dict(record)


def run_cells(notebook, questions, kernel, limits):
    """Run the notebook from top to bottom, and ask the questions of each graded cell where it is.

    Returns:
        list of the graded cells' outcomes.
    """
    sources = solutions_in(notebook)
    stopped = {}  # exercise -> why the cell that should define it stopped
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
        suspects = suspects_of(name, sources.get(name, ""), outcomes)
        verdicts = judge(prepared, observations, suspects)
        outcome = outcome_of(cell, name, verdicts, prepared.beliefs)
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
        list of the outcomes that count.
    """
    for broken, exercises in carried_errors(stem, solutions_in(notebook), outcomes).items():
        with LearnerKernel(around, seconds) as kernel:
            for name in slow_modules(notebook, questions):
                kernel.run(f"__import__({name!r});", limits.submission)
            for source in sources_without(stem, notebook, broken):
                kernel.run(source, limits.cell)
            for place, cell in enumerate(graded_cells(notebook)):
                kind, name = cell.metadata.nbgrader["grade_id"].split("_", 1)
                if name in exercises:
                    prepared = questions[kind, name]
                    verdicts = judge(prepared, ask_all(kernel, prepared, limits, None))
                    after = outcome_of(cell, name, verdicts, prepared.beliefs)
                    outcomes[place] = better(outcomes[place], after, broken)
            seconds = kernel.remaining()
    return outcomes


def slow_modules(notebook, questions):
    """Return the names of the modules that take longer to import than a question may, and that a
    notebook or its questions import; most chapters' fork servers have them already.
    """
    names = {
        name: None
        for prepared in questions.values()
        for case in prepared.cases
        for name in modules_for(case.inputs)
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
    until = time.monotonic() + limits.exercise
    name, cases = prepared.name, prepared.cases
    observations, why = kernel.ask(name, cases, min(limits.case, limits.exercise))
    missing = [index for index, observation in enumerate(observations) if observation is None]
    for index in missing:
        skipped = reason_to_skip(kernel, limits, until, is_first=index == missing[0])
        if not skipped and len(cases) > 1:
            seconds = min(limits.case, until - time.monotonic())
            [observations[index]], why = kernel.ask(name, [cases[index]], seconds)
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
        until: when the time of the exercise ends.
        is_first: whether it is the first case that got no answer.
    """
    if not kernel.remaining():
        return f"was not tried, because the notebook had used up its {limits.submission:.0f} s"
    if kernel.gone and not is_first:
        return "was not tried again, because it stopped Python in a case before this one"
    if time.monotonic() >= until:
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
    """Return the names of the library functions that do what an exercise asks to write, and that
    its answer has run.
    """
    told = [each.get("used") for each in observations]
    names = {
        printable(name)[:LONGEST_NAME]
        for names in told
        if isinstance(names, list)
        for name in names[:MOST_NAMES]
        if isinstance(name, str) and not set(name.split(".")).isdisjoint(shortcuts)
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


@cache
def version_of_checks(stem):
    """Return a short hash of everything that decides a score of this chapter."""
    parts = [part for path in deciding(stem) for part in (path.name.encode(), path.read_bytes())]
    # without "+cpu": builds for other devices run the same on a processor
    parts += [metadata.version(name).partition("+")[0].encode() for name in LIBRARIES]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def deciding(stem):
    """Return the paths of all of the course's code that decides a score of a chapter: its checks
    and what they import, the references that it may build on, and what asks and judges.
    """
    before = chapters()
    paths = [source_of(each) for each in before[: before.index(stem) + 1]]
    paths += (ROOT / "autograder" / "checks" / stem).glob("*.py")
    paths += [path for folder in DECIDING for path in (ROOT / folder).rglob("*.py")]
    paths += [Path(__file__).with_name(name) for name in DECIDING_HERE]
    found = set(PRIVATE.glob(f"{stem}.py"))
    while paths:
        path = paths.pop()
        if path not in found and path.exists():
            found.add(path)
            paths += imported_for_a_score(path)
    return sorted(found)


def imported_for_a_score(path):
    """Return the paths of the references and checks that a module imports, and of its packages."""
    names = [".".join(each.parts) for each in path.relative_to(ROOT).parents]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            names += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    places = [ROOT.joinpath(*name.split(".")) for name in names if name.startswith(QUESTIONS)]
    return [path for place in places for path in (place.with_suffix(".py"), place / "__init__.py")]
