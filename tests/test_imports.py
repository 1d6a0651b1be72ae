"""Who may import whom, and how much one folder and one module hold.

The security boundary is a place, not a list: a sandbox sees `autograder/shared` and
`autograder/boundary/inside` whole, so that nothing in them may need, or bring along, anything else
of the course. Elsewhere the arrows keep a change in one room from being felt in all others.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("autograder", "book", "solutions")

# room -> the rooms from which it may import, besides itself. A module belongs to the room with the
# longest name that its own begins with, and what is allowed includes all rooms within.
ROOMS = {
    "solutions": (),
    "autograder.shared": (),
    "autograder.boundary.inside": ("autograder.shared",),
    "autograder.boundary": (
        "autograder.authoring.released",  # what a notebook imports is loaded in advance
        "autograder.course",
        "autograder.shared",
    ),
    "autograder.authoring": (
        "autograder.course",
        "autograder.shared",
        "autograder.term.questions",  # a class's own questions stand in its notebooks
        "autograder.whole_files",
    ),
    "autograder.checks": ("autograder.authoring", "autograder.shared", "solutions"),
    "autograder.reporting": (
        "autograder.authoring",
        "autograder.course",
        "autograder.shared",
        "autograder.whole_files",
    ),
    "autograder.term": ("autograder.course", "autograder.shared", "autograder.whole_files"),
    "autograder.grading": (
        "autograder.authoring",
        "autograder.boundary",
        "autograder.course",
        "autograder.reporting",
        "autograder.shared",
        "autograder.term",
        "autograder.whole_files",
    ),
    "autograder.export": ("autograder",),
    "autograder.desk": ("autograder",),
    "autograder.tools": ("autograder",),
    "autograder.moved": ("autograder",),
    "autograder.course": (),
    "autograder.whole_files": (),
    "autograder.__main__": ("autograder",),
    "autograder": ("autograder.shared",),  # what a notebook gets by `from autograder import check`
    "book": (
        "autograder.authoring",
        "autograder.checks",
        "autograder.course",
        "autograder.shared",
        "solutions",
    ),
}

MOST_LINES, MOST_MODULES, MOST_BESIDE = 350, 12, 4
# Longer, and better so: data, or the source of a notebook.
LONG = {
    "solutions/translator/corpus/lexicon.py": "the words of two languages",
    "solutions/translator/corpus/grammar.py": "the tables of two languages' grammar",
}


@cache
def modules():
    """Return the path of each module of the course, by its name."""
    return {
        name_of(path): path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if "private" not in path.parts  # a class's own cases are no part of the course
    }


def name_of(path):
    """Return a module's name, with dots."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_in(name, source):
    """Yield what a module imports of the course, at its top or within a function.

    Yields:
        names of modules, and of packages' members: `autograder.shared.wire`,
            `autograder.shared.wire.encode`.
    """
    package = name if modules().get(name, Path()).name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).strip(".")
            found = [f"{base}.{alias.name}" for alias in node.names]
        elif is_dynamic(node):
            found = [node.args[0].value]
        yield from (each for each in found if each.split(".")[0] in PACKAGES)


def is_dynamic(node):
    """Return whether a node is a call of `import_module` or `__import__` with a name in it."""
    match node:
        case ast.Call(
            func=ast.Name(id="__import__" | "import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str()), *_],
        ):
            return True
    return False


def within(name, room):
    """Return whether a name is a room's, or lies in it."""
    return name == room or name.startswith(f"{room}.")


def room_of(name):
    """Return the room in which a module is."""
    return max((room for room in ROOMS if within(name, room)), key=len)


def may_import(name, imported):
    """Return whether a module may import something of the course.

    Whoever imports `autograder` alone imports what everybody gets.
    """
    room = room_of(name)
    return room_of(imported) == room or any(within(imported, each) for each in ROOMS[room])


def wrong_arrows(name, source):
    """Return a sentence for each import that a module must not make."""
    return [
        f"{name} imports {imported}; {room_of(name)} may import"
        f" {', '.join(ROOMS[room_of(name)]) or 'nothing of the course'} besides itself"
        for imported in imports_in(name, source)
        if not may_import(name, imported)
    ]


def test_the_arrows_between_the_rooms_point_one_way():
    wrong = [
        sentence
        for name, path in modules().items()
        for sentence in wrong_arrows(name, path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("autograder.shared.judge", "import autograder.grading"),
        ("autograder.shared.judge", "def judge():\n    from autograder import grading"),
        ("autograder.shared.judge", "from ..grading.grade import Limits"),
        ("autograder.shared.probes", "from ...authoring import exercise"),
        ("autograder.shared.learner", "from autograder.course import ROOT"),
        ("autograder.boundary.inside.world", "from autograder.boundary import sandbox"),
        ("autograder.boundary.sandbox", "from autograder.grading.grade import Limits"),
        ("autograder.boundary.sandbox", "from autograder.authoring.loading import questions_of"),
        ("autograder.authoring.exercise", "import autograder.grading.grade as grade"),
        ("autograder.reporting.flags", "from autograder.grading import submission"),
        ("autograder.checks.ch04_attention", "from autograder.boundary import sandbox"),
        ("solutions.ch04_attention", "from autograder import check"),
        ("solutions.translator.model", "import importlib; importlib.import_module('book.palette')"),
        ("book.figures.style", "from autograder.grading.grade import Limits"),
    ],
)
def test_a_wrong_arrow_is_noticed(name, source):
    assert wrong_arrows(name, source)


def test_what_is_imported_is_there():
    """An import within a function fails only when that function runs."""
    missing = []
    for name, path in modules().items():
        for imported in imports_in(name, path.read_text(encoding="utf-8")):
            base = imported if imported in modules() else imported.rpartition(".")[0]
            if base not in modules() and not is_folder(imported) and not is_folder(base):
                missing.append(f"{name} imports {imported}")
    assert not missing, "\n".join(missing)


def is_folder(name):
    """Return whether a name is that of a package without a module of its own."""
    return (ROOT / name.replace(".", "/")).is_dir()


def test_few_modules_lie_beside_the_rooms():
    assert len(list((ROOT / "autograder").glob("*.py"))) <= MOST_BESIDE


def test_no_folder_holds_more_modules_than_one_sees_at_a_glance():
    counts = {}
    for name, path in modules().items():
        one_a_chapter = within(name, "solutions") or re.match(r"ch\d\d_", path.name)
        if path.name != "__init__.py" and not one_a_chapter:
            counts[path.parent] = counts.get(path.parent, 0) + 1
    full = {str(each.relative_to(ROOT)): n for each, n in counts.items() if n > MOST_MODULES}
    assert not full, full


def test_no_module_is_longer_than_one_reads_in_one_go():
    long = {}
    for name, path in modules().items():
        place = path.relative_to(ROOT).as_posix()
        if within(name, "autograder.checks") or is_notebook_source(path):
            continue  # checks are data, and a notebook's source is a chapter
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MOST_LINES and place not in LONG:
            long[place] = lines
    assert not long


def is_notebook_source(path):
    """Return whether a file is one from which a chapter's notebook is made."""
    return path.parent == ROOT / "solutions" and path.name.startswith("ch")
