"""Grade one submission: run its cells in a process of its own, ask the questions, judge the answers here.

What a learner's code prints, changes or breaks has no part in the verdict; only the observations that come back do, and they are
compared with the reference's in this process. The score of a cell is the part of its cases' weight that passed, times its points.
"""

import hashlib
import hmac
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass
from functools import cache

import nbformat
from nbformat.v4 import new_output

from autograder.course import ROOT, SEED_KEY
from autograder.exercise import load_exercises
from autograder.judge import judge, share
from autograder.kernel import LearnerKernel
from autograder.submission import is_solution
from autograder.wire import printable

IPYTHON_CELL = re.compile(r"\(\d+\.py, line (\d+)\)")  # how IPython names a place in a cell
DECIDING_FILES = ("draw", "exercise", "judge", "laws", "probes", "tolerances", "wire")


@dataclass(frozen=True)
class Limits:
    """How long a learner's code may take, in seconds."""

    cell: float = 20.0  # one cell of the notebook
    case: float = 3.0  # one question to a function; an honest answer takes milliseconds
    exercise: float = 6.0  # all questions of one check or hidden cell
    submission: float = 120.0  # everything together


def grade_notebook(notebook, stem, student, limits=None):
    """Run and grade a notebook that `autograder.submission.rebuild` made, in place.

    Each graded cell gets its verdicts as printed text and its score as its result, which is how nbgrader reads it. The record (seed,
    hash, version of the checks, each verdict) is kept in the notebook's metadata.
    """
    limits = limits or Limits()
    started = time.monotonic()
    record = notebook.metadata["autograder"]
    record["seed"] = seed_of(stem, student, record["notebook"]).hex()
    record["checks"] = version_of_checks(stem)
    record["cells"] = []
    if record["problem"]:
        for cell in graded_cells(notebook):
            write_outcome(cell, record, refused(cell, record["problem"]))
    else:
        with LearnerKernel(limits.submission) as kernel:
            run_cells(notebook, stem, kernel, limits, record)
    record["seconds"] = round(time.monotonic() - started, 2)
    notebook.metadata["autograder"] = nbformat.from_dict(record)


def run_cells(notebook, stem, kernel, limits, record):
    """Run the notebook from top to bottom, grading each check where it stands."""
    exercises = load_exercises(stem)
    sources = {cell.metadata.nbgrader.grade_id: cell.source for cell in notebook.cells if is_solution(cell)}
    stopped = {}  # exercise -> why the cell that should define it stopped
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
        prepared = exercises[name].prepare(bytes.fromhex(record["seed"]), visible=kind == "check")
        observations = ask_all(kernel, prepared, limits, stopped.get(name))
        verdicts = judge(prepared, observations, suspects_of(name, sources.get(name, ""), record))
        write_outcome(cell, record, outcome_of(cell, name, verdicts, exercises[name].misconceptions))


def suspects_of(exercise, source, record):
    """Return the other exercises that lost points further up in the notebook and that an exercise's source calls."""
    failed = {cell["exercise"] for cell in record["cells"] if cell["score"] < cell["points"]} - {exercise}
    return sorted(name for name in failed if re.search(rf"\b{name}\(", source))


def ask_all(kernel, prepared, limits, stopped):
    """Observe the learner's function in each case; when it has ended the process or used up its time, the rest is not tried."""
    observations = []
    until = time.monotonic() + limits.exercise
    for case in prepared.cases:
        if not kernel.remaining():
            observation = {"unfit": f"was not tried, because the notebook had used up its {limits.submission:.0f} s"}
        elif observations and kernel.gone:
            observation = {"unfit": "was not tried again, because it stopped Python in a case before this one"}
        elif time.monotonic() >= until:
            observation = {
                "unfit": f"was not tried again, because the cases before this one took {limits.exercise:.0f} s"
            }
        else:
            observation = kernel.ask(prepared.name, case, min(limits.case, until - time.monotonic()))
        if stopped and observation.get("unfit") == "is not defined":
            observation = {"unfit": f"is not defined, because its cell {stopped}"}
        observations.append(observation)
    return observations


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
    """Return a cell's outputs as plain text, whatever the learner's code sent; nothing of it can be markup."""
    text = ran.text + (f"\n{reason_for_stopping(ran, limits)}" if ran.status != "ok" else "")
    return [new_output("stream", name="stdout", text=printable(text))] if text else []


def outcome_of(cell, exercise, verdicts, misconceptions):
    """Return what a graded cell earned and why."""
    points = cell.metadata.nbgrader["points"]
    return {
        "cell": cell.metadata.nbgrader["grade_id"],
        "exercise": exercise,
        "points": points,
        "score": round(points * share(verdicts), 2),
        "cases": [{**asdict(verdict), "misconception": belief_of(verdict, misconceptions)} for verdict in verdicts],
    }


def belief_of(verdict, misconceptions):
    """Name the misconception that a verdict recognised, or None."""
    return None if verdict.misconception is None else misconceptions[verdict.misconception].belief


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
    lines = []
    for case in outcome["cases"]:
        lines.append(f"{'✓' if case['passed'] else '✗'} {case['title']}")
        if not case["passed"]:
            lines.append(f"    {case['message']}")
    cell.outputs = [
        new_output("stream", name="stdout", text=printable("\n".join(lines) + "\n")),
        new_output("execute_result", data={"text/plain": f"{outcome['score']:g}"}, execution_count=None),
    ]
    record["cells"].append(outcome)


def graded_cells(notebook):
    """Return the cells that carry points."""
    return [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]


def seed_of(stem, student, notebook):
    """Return the secret seed of a submission: the same for the same notebook of the same learner, and not to be guessed.

    Args:
        notebook: SHA-256 of the file that was handed in, hexadecimal.
    """
    return hmac.digest(seed_key(), f"{stem}\n{student}\n{notebook}".encode(), hashlib.sha256)


def seed_key():
    """Return the course's secret key, made on first use and kept beside the gradebook, readable by its owner alone."""
    try:
        descriptor = os.open(SEED_KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return bytes.fromhex(SEED_KEY.read_text())
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
    return bytes.fromhex(SEED_KEY.read_text())


@cache
def version_of_checks(stem):
    """Return a short hash of everything that decides a score of this chapter."""
    paths = [ROOT / "solutions" / f"{stem}.py", ROOT / "autograder" / "checks" / f"{stem}.py"]
    paths += [ROOT / "autograder" / f"{name}.py" for name in DECIDING_FILES]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]
