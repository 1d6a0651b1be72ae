"""A learner's own Transformer as a package with one module per chapter: what they wrote in `work/`
where it passes its checks, the course's solution elsewhere.
"""

import importlib.machinery
import keyword
import os
import re
import sys
import textwrap
from pathlib import Path

from autograder.authoring.loading import load_exercises
from autograder.authoring.release import source_notebook
from autograder.course import ROOT, WORK, CourseError, chapters
from autograder.export.settle import settled_files
from autograder.export.standing import Standing, graded_work
from autograder.reporting.terminal import WIDTH
from autograder.shared.wire import printable
from autograder.whole_files import write_whole

FIRST, LAST = "ch04", "ch09"  # the chapters that make a Transformer, train it and let it write
MADE = "Written by `python -m autograder export"  # what tells an export from other packages


def export(target, force=False, reference=False):
    """Write the package and say what is in it.

    Args:
        target: "my_transformer", or a path.
        force: write over an export that is there.
        reference: take the course's solutions alone, whatever is in `work/`.

    Raises:
        CourseError: if the name does not do, something is in its place, or there is no work to
            collect.
    """
    path = package_path(target, force)
    stems = [stem for stem in chapters() if FIRST <= stem[: len(FIRST)] <= LAST]
    if reference:
        own = {}
        standings = [
            Standing(stem, name, False, "as you asked")
            for stem in stems
            for name in load_exercises(stem)
        ]
    else:
        require_work(stems)
        own, standings = graded_work(stems, WORK)
    references = {stem: source_notebook(stem) for stem in stems}
    files = settled_files(standings, own, references)
    write_package(path, files, docstring(path, standings))
    print(f"\n{table(standings)}\n\n{closing(path, standings, reference)}")


def package_path(target, force):
    """Return where the package goes.

    Raises:
        CourseError: if that is no name for a package, or no place for a folder.
    """
    path = Path(target)
    name = path.name
    if not name.isidentifier() or keyword.iskeyword(name):
        better = re.sub(r"\W", "_", name.removesuffix(".py")).lstrip("0123456789")
        raise CourseError(
            f"a package cannot be imported as {name!r}; take letters, digits and _:"
            f" {better if better.isidentifier() else 'my_transformer'}"
        )
    if name in sys.stdlib_module_names or is_installed(name, path):
        raise CourseError(
            f"there is a package {name} already, which this would hide; take another name:"
            " my_transformer"
        )
    if not path.parent.is_dir():
        raise CourseError(f"there is no folder {path.parent}; make it first")
    if (module := path.with_name(f"{name}.py")).exists():
        raise CourseError(
            f"there is a module {module} already, which the folder {path} would hide; remove or"
            " rename it, or take another name"
        )
    if os.path.lexists(path) and not is_export(path):
        raise CourseError(f"{path} is already there, and no export; take another name")
    if path.exists() and not force:
        raise CourseError(
            f"{path} is already there; take another name, or write over it with --force"
        )
    return path


def is_installed(name, path):
    """Return whether a name is imported from somewhere else than the folder that is to be
    written.
    """
    here = path.parent.resolve()
    elsewhere = [folder for folder in sys.path if Path(folder or ".").resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    return spec is not None and not is_export(ROOT / name)


def is_export(path):
    """Return whether a folder is a package that this command wrote."""
    try:
        return not path.is_symlink() and MADE in (path / "__init__.py").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


def require_work(stems):
    """Raise a CourseError unless there is a notebook to collect from."""
    if not any((WORK / f"{stem}.ipynb").exists() for stem in stems):
        raise CourseError(
            f"there is no notebook of chapters {int(FIRST[2:])} to {int(LAST[2:])} in work/; `make"
            " lab` (python -m autograder work) puts them there for you to complete. --reference"
            " exports the course's solutions instead"
        )


def write_package(path, files, told):
    """Write each file whole or not at all; others that are in the folder stay.

    Args:
        files: name -> text.
        told: docstring of the package.

    Raises:
        CourseError: if one cannot be written.
    """
    try:
        for name, text in files.items():
            write_whole(path / name, f"{told}\n\n{text}" if name == "__init__.py" else text)
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {error.strerror or error}") from None


def docstring(path, standings):
    """Say on top of the package what it is, which parts are whose, and why."""
    count, yours = len(standings), sum(standing.yours for standing in standings)
    shares = {count: f"all {count} parts are yours", 0: f"all {count} parts are the course's"}
    mixed = f"{yours} of {count} parts are yours, the others the course's"
    text = "\n\n".join(
        [
            f"A Transformer, with one module per chapter: {shares.get(yours, mixed)}.",
            f"{MADE} {path.name}`; with --force, that collects it anew from your notebooks in"
            " work/.",
            printable(table(standings)),
        ]
    )
    escaped = text.replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{escaped}\n"""'


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
