"""A learner's own Transformer as one module: what they wrote in `work/` where it passes its checks,
the course's solution elsewhere.
"""

import ast
import contextlib
import importlib.machinery
import keyword
import os
import re
import secrets
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.authoring.exercise import load_exercises
from autograder.authoring.release import source_notebook
from autograder.boundary.kernel import LearnerKernel
from autograder.boundary.sandbox import boundary
from autograder.course import ROOT, WORK, CourseError, chapters
from autograder.export.collect import Code, Collection
from autograder.grading.grade import Limits, ask_all, grade_notebook, suspects_of
from autograder.grading.submission import MISSING, is_solution, read_submission, rebuild, released
from autograder.reporting.terminal import WIDTH
from autograder.shared.judge import judge, share

FIRST, LAST = "ch04", "ch09"  # the chapters that make a Transformer, train it and let it write
MODULE_SECONDS = 300  # to try a whole module
ATTENTION = "MultiHeadAttention"
LUXURY = (  # its parameter that learners may leave out, and that the course's layers use
    "need_weights"
)

ADAPTER = f"""
# The course's layers say {LUXURY}=False, and your class does not take it. Here it is taken, and makes no difference.
_own_forward = {ATTENTION}.forward


def _forward_with_{LUXURY}(self, query, key, value, mask=None, {LUXURY}=True):
    return _own_forward(self, query, key, value, mask)


{ATTENTION}.forward = _forward_with_{LUXURY}
"""


@dataclass
class Standing:
    """Whose implementation of an exercise goes into the module.

    Args:
        yours: the learner's, or else the course's.
        why: why not the learner's, or what theirs needs beside it.
        doubt: why the learner's failed in their notebook, where that may be the fault of another
            function that it calls.
    """

    stem: str
    exercise: str
    yours: bool
    why: str = ""
    doubt: str = ""


def export(target, force=False, reference=False):
    """Write the module and say what is in it.

    Args:
        target: "my_transformer", or a path; ".py" is added where it is missing.
        force: write over a file that is there.
        reference: take the course's solutions alone, whatever is in `work/`.

    Raises:
        CourseError: if the name does not do, something is in its place, or there is no work to
            collect.
    """
    path = module_path(target, force)
    stems = [stem for stem in chapters() if FIRST <= stem[: len(FIRST)] <= LAST]
    references = {stem: reference_code(stem) for stem in chapters()}
    if reference:
        own = {}
        standings = [
            Standing(stem, name, False, "as you asked")
            for stem in stems
            for name in load_exercises(stem)
        ]
    else:
        require_work(stems)
        own, standings = graded_work(stems)
    text = settled_module(path, standings, own, references)
    write_whole(path, text)
    print(f"\n{table(standings)}\n\n{closing(path, standings, reference)}")


def module_path(target, force):
    """Return where the module goes.

    Raises:
        CourseError: if that is no name for a module, or no place for a file.
    """
    path = Path(target if target.endswith(".py") else f"{target}.py")
    name = path.stem
    if not name.isidentifier() or keyword.iskeyword(name):
        better = re.sub(r"\W", "_", name).lstrip("0123456789") or "my_transformer"
        raise CourseError(
            f"a module cannot be imported as {name!r}; take letters, digits and _: {better}"
        )
    if name in sys.stdlib_module_names or is_installed(name, path):
        raise CourseError(
            f"there is a package {name} already, which this would hide; take another name:"
            " my_transformer"
        )
    if not path.parent.is_dir():
        raise CourseError(f"there is no folder {path.parent}; make it first")
    if path.is_dir() or (os.path.lexists(path) and not force):
        what = "a folder" if path.is_dir() else "already there"
        raise CourseError(
            f"{path} is {what}; take another name"
            + ("" if path.is_dir() else ", or write over it with --force")
        )
    return path


def is_installed(name, path):
    """Return whether a name is imported from somewhere else than the file that is to be written."""
    here = path.parent.resolve()
    elsewhere = [folder for folder in sys.path if Path(folder or ".").resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    exported = spec is not None and spec.origin == str(
        ROOT / f"{name}.py"
    )  # by this command, before
    return (spec is not None and not exported) or (here == ROOT and (ROOT / name).is_dir())


def require_work(stems):
    """Raise a CourseError unless there is a notebook to collect from."""
    if not any((WORK / f"{stem}.ipynb").exists() for stem in stems):
        raise CourseError(
            f"there is no notebook of chapters {int(FIRST[2:])} to {int(LAST[2:])} in work/; `make"
            " lab` (python -m autograder work) puts them there for you to complete. --reference"
            " exports the course's solutions instead"
        )


def reference_code(stem):
    """Return the Code of a chapter's solutions."""
    return Code.of(stem, f"solutions/{stem}.py", source_notebook(stem), is_yours=lambda cell: False)


def graded_work(stems):
    """Grade what is in `work/`.

    Returns:
        own: stem -> the Code of the learner's notebook.
        standings: list of Standing, one for each exercise.
    """
    own, standings = {}, []
    for stem in stems:
        path = WORK / f"{stem}.ipynb"
        if not path.exists():
            why = f"there is no work/{stem}.ipynb"
            standings += [Standing(stem, exercise, False, why) for exercise in load_exercises(stem)]
            continue
        saved = datetime.fromtimestamp(path.stat().st_mtime)
        print(
            f"{stem}: checking your notebook as you saved it at {saved:%H:%M} on {saved:%d %B} ...",
            flush=True,
        )
        notebook = rebuild(stem, read_submission(path))
        grade_notebook(
            notebook, stem, student="you", unsandboxed=True
        )  # it is your own code, on your own machine
        own[stem] = Code.of(stem, f"work/{stem}.ipynb", notebook, is_yours)
        standings += [
            standing_of(stem, exercise, notebook, own[stem]) for exercise in load_exercises(stem)
        ]
    return own, standings


def is_yours(cell):
    """Return whether the learner wrote a cell of a rebuilt notebook."""
    return is_solution(cell) or cell.id.startswith("extra-")


def standing_of(stem, exercise, notebook, code):
    """Say whether a learner's implementation may go into the module."""
    source = source_in(notebook, exercise)
    if problem := notebook.metadata["autograder"]["problem"]:
        return Standing(stem, exercise, False, problem)
    cells = [
        cell for cell in notebook.metadata["autograder"]["cells"] if cell["exercise"] == exercise
    ]
    failed = [case for cell in cells for case in cell["cases"] if not case["passed"]]
    if failed and source.strip() == source_in(released(stem), exercise).strip():
        return Standing(stem, exercise, False, "yours is not begun")
    if failed and source == MISSING:
        return Standing(stem, exercise, False, "its cell is not in your notebook")
    statements = code.meaning(exercise, code.asked[exercise])
    collectable = any(statement.yours for statement in statements) and not statements[
        0
    ].course_import(exercise)
    if failed:
        message = " ".join(failed[0]["message"].split())
        why = f"yours fails “{failed[0]['title']}”: {message}"
        blamed = suspects_of(exercise, source, notebook.metadata["autograder"])
        if blamed and collectable:
            return Standing(
                stem,
                exercise,
                True,
                f"yours passes beside another {' and '.join(blamed)} than yours",
                why,
            )
        return Standing(stem, exercise, False, why)
    if not collectable:
        return Standing(
            stem, exercise, False, "yours passes, but your notebook takes it from elsewhere"
        )
    return Standing(stem, exercise, True)


def source_in(notebook, grade_id):
    """Return the source of a cell by its id."""
    return next(
        cell.source
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def settled_module(path, standings, own, references):
    """Return the text of a module whose parts work together.

    Each part was checked beside others than those it meets here: a learner's layer beside a
    learner's attention that failed, and that the course's has replaced. So the module as a whole is
    checked again. What does not work in this company gives way, and what failed only because of the
    company it had may stay.

    Raises:
        CourseError: if even the course's own parts fail.
    """
    while True:
        chosen = {
            each.exercise: own[each.stem] if each.yours else references[each.stem]
            for each in standings
        }
        collection = Collection(chosen, references)
        if withdrawn := without_what_they_use(collection, standings):
            continue
        text = module_text(path, standings, collection)
        withdrawn = withdraw(failures_of(text, collection, standings), collection, standings)
        if not withdrawn:
            return text


def without_what_they_use(collection, standings):
    """Let the course's parts replace those of the learner's that use a name which the module cannot
    have; return whether there were any.
    """
    found = False
    for standing in standings:
        missing = set().union(
            *(part.missing for part in collection.exercise(standing.exercise).helpers())
        )
        if standing.yours and missing:
            names = " and ".join(sorted(missing))
            standing.yours, found = False, True
            standing.why = (
                standing.doubt
                or f"yours passes, but uses {names}, which no cell before its check defines"
            )
    return found


def withdraw(failures, collection, standings):
    """Let the course's parts replace those of the learner's that fail in the module, or that make
    the course's fail.

    Returns:
        whether any did.

    Raises:
        CourseError: if parts fail that only the course's are used by.
    """
    by_name = {standing.exercise: standing for standing in standings}
    culprits = {name: message for name, message in failures.items() if by_name[name].yours}
    for name, message in failures.items() if not culprits else ():
        used = [
            part.exercise
            for helper in collection.exercise(name).helpers()
            for part in helper.uses.values()
        ]
        culprits |= {each: f"{name}: {message}" for each in used if each and by_name[each].yours}
    if not culprits and failures and any(standing.yours for standing in standings):
        culprits = {
            standing.exercise: next(iter(failures.values()))
            for standing in standings
            if standing.yours
        }
    if not culprits and failures:
        name, message = next(iter(failures.items()))
        raise CourseError(
            f"the course's own {name} fails in this module: {message}; please report it"
        )
    for name, message in culprits.items():
        company = (
            "yours fails, also beside the parts here"
            if by_name[name].doubt
            else "yours passes, but not beside the parts here"
        )
        by_name[name].yours, by_name[name].why = False, f"{company}: {message}"
    return bool(culprits)


def failures_of(text, collection, standings):
    """Check every part of a module as the grader checks a notebook.

    Returns:
        dict: exercise -> message of the first case that fails, or what stops the import of the
            module there.
    """
    failures = {}
    limits = Limits()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "candidate.py"
        path.write_text(text, encoding="utf-8")
        around = boundary(standings[0].stem, unsandboxed=True)
        with LearnerKernel(around, MODULE_SECONDS) as kernel:
            kernel.run("__import__('torch');", limits.cell)
            ran = kernel.run(IMPORT.format(path=str(path)), limits.cell)
            if ran.status != "ok":
                line = int((re.findall(r"^line (\d+)$", ran.text, re.MULTILINE) or ["0"])[-1])
                why = f"the module stops with {ran.error or ran.status}"
                return dict.fromkeys(
                    exercises_at(line, text, collection) or [each.exercise for each in standings],
                    why,
                )
            for standing in standings:
                exercise = load_exercises(standing.stem)[standing.exercise]
                prepared = exercise.prepare(secrets.token_bytes(16))
                verdicts = judge(prepared, ask_all(kernel, prepared, limits, None))
                if share(verdicts) < 1:
                    failures[standing.exercise] = next(
                        each.message for each in verdicts if not each.passed
                    )
    return failures


def exercises_at(line, text, collection):
    """Return the exercises that need what stands in some line of a module."""
    for part in collection.in_order():
        first = text[: text.index(part.text())].count("\n") + 1
        if first <= line <= first + part.text().count("\n"):
            return [
                name
                for name, each in collection.exercises.items()
                if part is each or part in each.helpers()
            ]
    return []


IMPORT = """
import importlib.util, sys, traceback
spec = importlib.util.spec_from_file_location("candidate", {path!r})
sys.modules["candidate"] = module = importlib.util.module_from_spec(spec)
try:
    spec.loader.exec_module(module)
except BaseException as error:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == {path!r}]
    print("line", frames[0].lineno if frames else getattr(error, "lineno", 0))
    raise
globals().update({{name: getattr(module, name) for name in module.__all__}})
"""


def module_text(path, standings, collection):
    """Write the module down."""
    yours = sum(standing.yours for standing in standings)
    blocks = [docstring(path, standings, yours), collection.imports(), all_of(standings)]
    stem = None
    parts = collection.in_order()
    bodies = [(part, part.text()) for part in parts]
    adapted = needs_adapter(collection, bodies)
    for part, body in bodies:
        if part.code.stem != stem:
            stem = part.code.stem
            blocks.append(f"\n# {'-' * 12} {title_of(stem)} {'-' * 12}")
        blocks.append(f"\n{origin(part, collection)}\n{body}")
        if adapted and part.exercise == ATTENTION:
            blocks.append("\n" + ADAPTER.strip("\n"))
    return "\n\n".join(block for block in blocks if block) + "\n"


def docstring(path, standings, yours):
    """Say on top of the module what it is, and which parts are whose."""
    lists = []
    for heading, mine in (("Yours", True), ("The course's", False)):
        names = ", ".join(standing.exercise for standing in standings if standing.yours == mine)
        if names:
            lists.append(textwrap.fill(f"{heading}: {names}.", 100))
    others = {
        len(standings): "all {count} parts are yours",
        0: "all {count} parts are the course's",
    }
    shares = others.get(yours, "{yours} of {count} parts are yours, the others the course's")
    opening = f"A Transformer in one module: {shares.format(yours=yours, count=len(standings))}."
    made = (
        f"Written by `python -m autograder export {path.stem}`; with --force, that collects it anew"
        " from your notebooks in work/."
    )
    return '"""' + "\n\n".join([opening, made, "\n".join(lists)]) + '\n"""'


def all_of(standings):
    """Return the assignment of `__all__`."""
    names = "".join(f'    "{standing.exercise}",\n' for standing in standings)
    return f"__all__ = [\n{names}]"


def title_of(stem):
    """Return a chapter's title, as its notebook has it."""
    heading = next(cell.source for cell in released(stem).cells if cell.cell_type == "markdown")
    return f"{int(stem[2:4])}. {heading.splitlines()[0].lstrip('# ')}"


def origin(part, collection):
    """Say in a comment whose a part is and where it comes from."""
    whose = "Yours" if part.yours else "The course's"
    if not part.yours and part.code.file.startswith("work/"):
        whose = "Given by the course"
    if part.exercise:
        return f"# {whose}, from {part.code.file}."
    users = [
        exercise
        for exercise, each in collection.exercises.items()
        if any(part is helper for helper in each.helpers())
    ]
    return (
        f"# {whose}, from {part.code.file}: {' and '.join(users[:3])}"
        f" {'uses' if len(users) == 1 else 'use'} it."
    )


def needs_adapter(collection, bodies):
    """Return whether somebody passes attention a parameter that the learner's class does not
    take.
    """
    part = collection.exercises.get(ATTENTION)
    if part is None or not part.yours:
        return False
    classes = [each.node for each in part.statements if isinstance(each.node, ast.ClassDef)]
    forwards = [
        each
        for node in classes
        for each in node.body
        if isinstance(each, ast.FunctionDef) and each.name == "forward"
    ]
    if not forwards or forwards[-1].args.kwarg:
        return False
    arguments = forwards[-1].args
    taken = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    passed = [
        each.arg
        for _, body in bodies
        for each in ast.walk(ast.parse(body))
        if isinstance(each, ast.keyword)
    ]
    return LUXURY not in taken and LUXURY in passed


def write_whole(path, text):
    """Write a file whole or not at all.

    Raises:
        CourseError: if it cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def table(standings):
    """Lay out which part is whose, and why."""
    left, middle = (
        max(len(each.stem) for each in standings),
        max(len(each.exercise) for each in standings),
    )
    indent = left + middle + 18
    lines = [f"{'chapter':<{left}}  {'part':<{middle}}  {'whose':<12}  why", "─" * WIDTH]
    before = None
    for each in standings:
        first, *rest = textwrap.wrap(
            each.why, max(40, WIDTH - indent), max_lines=3, placeholder=" …"
        ) or [""]
        whose = "yours" if each.yours else "the course's"
        stem = each.stem if each.stem != before else ""
        lines.append(f"{stem:<{left}}  {each.exercise:<{middle}}  {whose:<12}  {first}".rstrip())
        lines += [" " * indent + line for line in rest]
        before = each.stem
    return "\n".join(lines)


def closing(path, standings, reference):
    """Say what there is now, and what to do with it."""
    yours = sum(standing.yours for standing in standings)
    if reference:
        first = f"{path}: the course's own {len(standings)} parts."
    elif yours == len(standings):
        first = f"{path}: all {yours} parts are yours."
    else:
        first = (
            f"{path}: {yours} of {len(standings)} parts are yours; export again, with --force, when"
            " there are more."
        )
    return f"{first}\nNext: python -m solutions.translator train --model {path}"
