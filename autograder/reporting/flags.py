"""Remarks about a graded notebook for human eyes: what a teacher would want to look at. None of
them changes a score.

A notebook's code is read as syntax trees and never run. What needs the whole class, because it
compares, stands in `autograder.reporting.likeness`.
"""

import ast
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from autograder.authoring.released import is_added, is_solution
from autograder.shared.wire import unmasked

# kind -> (its heading, what it means and what it does not)
KINDS = {
    "unreadable": (
        "Could not be read",
        "Nothing in these was graded. The learner's page says why, and what to do.",
    ),
    "library": (
        "Uses a library function that the exercise asks to write",
        (
            "The numbers are right and keep their points. Whether the call is what you wanted to"
            " see is yours to say."
        ),
    ),
    "looks": (
        "Looks at what it should not need",
        (
            "Code made from text, frames, files, the interpreter, the grader: no exercise needs"
            " them. Most who use them are curious."
        ),
    ),
    "same": (
        "The same as another learner's",
        (
            "Compared without names, comments and layout. Only what few outside of the group wrote"
            " is counted, and only where it is long."
        ),
    ),
    "reference": (
        "The same as the published solution",
        (
            "The course's solutions are public. Short functions come out the same by chance; only"
            " notebooks with much of it are listed."
        ),
    ),
    "characters": (
        "Hidden characters in the source",
        (
            "They turn the direction of the text or have no width, so that code may read as what it"
            " is not. Pasted text has some too."
        ),
    ),
    "stopped": (
        "Ended Python or ran out of time",
        "The message on the learner's page says in which case.",
    ),
    "slow": ("Slow", "Far above the median of the class."),
    "handed in": (
        "Handed in oddly",
        "Another file name, or whatever else was noted when the notebook was read.",
    ),
    "unsandboxed": (
        "Graded without a sandbox",
        (
            "The learner's code ran as the user who graded, with that user's files in reach. Grade"
            " again with the sandbox before it counts."
        ),
    ),
}
MOST_REMARKS = 12  # a notebook; the first ones tell enough
LONGEST_NAME = 60  # characters of a learner's that a remark repeats
LONGEST_TEXT = 200  # characters of a text that may be a path; a longer one is prose

RUNS_TEXT = {"exec", "eval", "compile", "__import__", "execfile", "breakpoint"}
REACHES = {
    "open": "opens a file",
    "globals": "takes the table of global names",
    "get_ipython": "talks to IPython",
}
# IPython commands that only measure or show, and are no way to anything.
HARMLESS_MAGICS = re.compile(
    "time|timeit|matplotlib|capture|prun|pdb|precision|who|whos|config|xmode"
)
MODULES = re.compile(
    "_thread|ast|atexit|bdb|builtins|cffi|code|codeop|ctypes|dis|faulthandler|gc|imp|importlib|inspect|ipykernel|IPython|"
    "marshal|mmap|multiprocessing|pickle|pkgutil|posix|psutil|pty|requests|resource|runpy|shelve|signal|socket|"
    "subprocess|threading|trace|tracemalloc|urllib|zipimport|zmq"
)
SYSTEM = re.compile(  # what to ask of sys and os an exercise has no reason to
    r"sys\.(_getframe|_current_frames|modules|settrace|setprofile|meta_path|path_hooks|path|exit)|"
    r"os\.(system|popen|fork|kill|killpg|_exit|abort|environ|getenv|listdir|walk|scandir|open|remove)"
)
INSIDES = re.compile(
    "__(globals|code|closure|builtins|subclasses|getattribute|loader|spec|defaults|kwdefaults)__|"
    "f_(back|locals|globals|builtins)|gi_frame|cr_frame|tb_frame"
)
PROTOCOLS = re.compile("__(torch_function|torch_dispatch|array_function|array_ufunc|array_wrap)__")
TELLING_TEXT = re.compile(r"/proc/|gradebook|seed\.key|autograder[./]|solutions[./]ch")
STOPPED = re.compile(r"ended the Python process|did not finish within \d+ s|had used up its \d+ s")
PASTED = (  # a mark at the start of a file, joiners in scripts and emoji, a form feed: they hide nothing
    "\ufeff\u200c\u200d\x0c"
)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
MAY_TELL = (
    ast.Import,
    ast.ImportFrom,
    ast.Attribute,
    ast.Name,
    ast.Call,
    ast.FunctionDef,
    ast.Constant,
)
NEVER_TELLING = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop)
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@dataclass(frozen=True)
class Flag:
    """One remark.

    Args:
        kind: one of `KINDS`.
        text: what was seen, with nothing in it that could steer a terminal or turn the text.
        exercise: where, or None for an added cell or the whole notebook.
        line: line in its cell, counted from 1, or None.
        group: the learners of whom a remark speaks, or ().
    """

    kind: str
    text: str
    exercise: str | None = None
    line: int | None = None
    group: tuple = ()


def flags_of(stem, notebook, shortcuts):
    """Return what there is to remark about one graded notebook by itself.

    Args:
        stem: the chapter.
        notebook: a graded notebook, as a dictionary or NotebookNode.
        shortcuts: exercise -> names of library functions that do what it asks to write.

    Returns:
        list[Flag]: in the order of the notebook, at most `MOST_REMARKS` about its code.
    """
    record = notebook["metadata"]["autograder"]
    found = flags_of_record(record)
    if record.get("problem"):
        return found
    found += flags_of_stopped_cells(notebook)
    cells = own_cells(notebook)
    given = {}
    for source in given_cells(notebook):
        if facts := facts_of(source):
            given |= facts.imports
    key = (stem, tuple(cells), tuple(sorted(given.items())), tuple(sorted(shortcuts.items())))
    return list(dict.fromkeys([*found, *flags_of_code(*key)[:MOST_REMARKS]]))


def flags_of_record(record):
    """Return what the grader's own record tells."""
    found = [Flag("handed in", unmasked(str(note))[:300]) for note in record.get("notes", ())]
    if record.get("problem"):
        found.append(Flag("unreadable", unmasked(str(record["problem"]))[:300]))
    if record.get("sandbox") == "none":
        found.append(Flag("unsandboxed", "ran without a sandbox"))
    stopped = {}
    for cell in record["cells"]:
        for case in cell["cases"]:
            if not case["passed"] and (match := STOPPED.search(case["message"])):
                stopped.setdefault(cell["exercise"], match[0])
    return found + [Flag("stopped", what, exercise) for exercise, what in stopped.items()]


def flags_of_stopped_cells(notebook):
    """Return a remark for each added cell that ended the process or took the time limit."""
    found = []
    for cell in notebook["cells"]:
        if is_added(cell):
            text = "".join(str(output.get("text", "")) for output in cell.get("outputs", ()))
            if match := STOPPED.match(text.rstrip().rsplit("\n", 1)[-1]):
                found.append(Flag("stopped", f"an added cell {match[0]}"))
    return found


def own_cells(notebook):
    """Return (exercise or None, source) of the cells that the learner wrote."""
    cells = []
    for cell in notebook["cells"]:
        if is_solution(cell):
            cells.append((cell["metadata"]["nbgrader"]["grade_id"], cell["source"]))
        elif is_added(cell):
            cells.append((None, cell["source"]))
    return cells


def given_cells(notebook):
    """Return the sources of the released code cells, such as the one with the imports."""
    return [
        cell["source"]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and "nbgrader" not in cell["metadata"] and not is_added(cell)
    ]


@lru_cache(maxsize=1024)
def flags_of_code(stem, cells, given, shortcuts):
    """Return the remarks about the cells of one learner.

    Args:
        cells: (exercise or None, source) of each.
        given: (name, what it stands for) of what the released cells import.
        shortcuts: (exercise, names) pairs.
    """
    facts = [(exercise, facts_of(source)) for exercise, source in cells]
    reader = Reader(stem, dict(shortcuts), dict(given), [each for _, each in facts if each])
    found = []
    for (exercise, source), (_, each) in zip(cells, facts, strict=True):
        found += hidden_characters(exercise, source)
        found += reader.read(exercise, each) if each else []
    return tuple(dict.fromkeys(found))


# --- reading the code
# -------------------------------------------------------------------------------------------------


def tree_of(source):
    """Parse a cell, IPython's own commands translated; None where it is no Python, and so was never
    run.
    """
    for text in (lambda: source, lambda: translated(source)):
        try:
            return ast.parse(text())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def translated(source):
    """Translate IPython's commands (`%timeit`, `!ls`) into calls, as IPython does before it runs a
    cell; nothing is run.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    match = re.match(r"%%(\w+)[^\n]*\n", source)
    if match and HARMLESS_MAGICS.fullmatch(match[1]):  # the rest of the cell is code
        source = "\n" + source[match.end() :]
    return TransformerManager().transform_cell(source)


@dataclass
class Facts:
    """What one walk through a cell's tree finds.

    Args:
        imports: what each imported name stands for: {"F": "torch.nn.functional"}.
        given: names that the cell gives to functions, classes, arguments and variables.
        members: names that it gives to attributes, and to functions inside of others or of classes.
        starred: whether it imports everything from a library.
        places: (node, outermost function or class around it or None, whether it is what a call
            calls) of all that may be worth a remark.
        tree: the cell's tree.
    """

    imports: dict
    given: set
    members: set
    starred: bool
    places: list
    tree: ast.Module


@lru_cache(maxsize=128)  # one learner's and the stubs; trees are large
def facts_of(source):
    """Read a cell; None where it is no Python."""
    tree = tree_of(source)
    if tree is None:
        return None
    facts = Facts({}, set(), set(), False, [], tree)
    todo = [(node, None, False) for node in reversed(tree.body)]
    while todo:  # not recursive: code may be nested as deeply as the parser allows
        node, within, called = todo.pop()
        note(facts, node, within, called)
        if within is None and isinstance(node, DEFINITIONS):
            within = getattr(node, "name", "lambda")
        function = node.func if isinstance(node, ast.Call) else None
        for child in children_of(node):
            todo.append((child, within, child is function))
    return facts


def children_of(node):
    """Yield the parts of a node; three times as fast as `ast.iter_child_nodes`, and a class has
    tens of thousands of cells.
    """
    for value in node.__dict__.values():
        if isinstance(value, list):
            for each in value:
                if isinstance(each, ast.AST):
                    yield each
        elif isinstance(value, ast.AST) and not isinstance(value, NEVER_TELLING):
            yield value


def note(facts, node, within, called):
    """Add what one node tells to the facts."""
    match node:
        case ast.Name(ctx=ast.Store(), id=name) | ast.arg(arg=name):
            facts.given.add(name)
        case ast.Attribute(ctx=ast.Store(), attr=name):
            facts.members.add(name)
        case ast.Import(names=names):
            for alias in names:
                root = alias.name.split(".")[0]
                facts.imports[alias.asname or root] = alias.name if alias.asname else root
        case ast.ImportFrom(names=names):
            for alias in names:
                facts.imports[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
            facts.starred = facts.starred or (
                names[0].name == "*" and not is_ours(node.module or "")
            )
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            (facts.given if within is None else facts.members).add(name)
    if isinstance(node, MAY_TELL):
        facts.places.append((node, within, called))


class Reader:
    """Reads the cells of one notebook, knowing what their names stand for."""

    def __init__(self, stem, shortcuts, given, facts):
        self.stem = stem
        self.shortcuts = shortcuts
        self.every_shortcut = {name for names in shortcuts.values() for name in names}
        self.meaning, self.own, self.members = dict(given), set(), set()
        for each in facts:
            self.meaning |= each.imports
            self.own |= each.given
            self.members |= each.members
        self.starred = any(each.starred for each in facts)

    def read(self, exercise, facts):
        """Return the remarks about one cell, in the order of its lines."""
        self.exercise, self.found, self.harmless = exercise, [], set()
        for place in facts.places:
            self.look(*place)
        return sorted(self.found, key=lambda flag: flag.line or 0)

    def look(self, node, within, called):
        match node:
            case ast.Name():
                self.look_at_name(node, within)
            case ast.Attribute():
                self.look_at_attribute(node, node.attr, within, called)
            case ast.Constant(value=str(text)):
                if len(text) < LONGEST_TEXT and (match := TELLING_TEXT.search(text)):
                    self.add("looks", f"a text with {match[0]!r}", node)
            case ast.Call():
                self.look_at_call(node, within, called)
            case ast.FunctionDef(name=name):
                if PROTOCOLS.fullmatch(name):
                    self.add("looks", f"answers for NumPy or torch: {name}", node)
            case ast.Import() | ast.ImportFrom():
                self.look_at_import(node, within)

    def look_at_call(self, node, within, called):
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "attrgetter" | "methodcaller")):
                self.look_at_getattr(node, within, called)
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=asked), attr="run_line_magic" | "run_cell_magic"
                ),
                args=[ast.Constant(value=str(magic)), *_],
            ) if HARMLESS_MAGICS.fullmatch(magic):
                self.harmless.add(asked)

    def look_at_import(self, node, within):
        base = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            whole = f"{base}.{alias.name}".strip(".")
            root = whole.split(".")[0]
            if MODULES.fullmatch(root):
                self.add("looks", f"imports {shown(whole)}", node)
            elif root == "autograder" and whole != "autograder.check":
                self.add("looks", f"imports the grader: {shown(whole)}", node)
            elif root == "solutions" and not self.is_earlier(whole):
                self.add("looks", f"imports the solutions: {shown(whole)}", node)
            elif base and not is_ours(base) and self.is_shortcut(alias.name, within):
                self.add("library", shown(whole), node)

    def is_earlier(self, name):
        """Return whether a module of `solutions` belongs to an earlier chapter, which a notebook
        may import.
        """
        parts = name.split(".")
        return (
            len(parts) > 1
            and re.match(r"ch\d\d", parts[1]) is not None
            and parts[1][:4] < self.stem[:4]
        )

    def look_at_attribute(self, node, name, within, called):
        base = dotted(node.value if isinstance(node, ast.Attribute) else node.args[0])
        root = (base or "").split(".")[0]
        known = root in self.meaning
        whole = self.meaning.get(root, root) + (base or "")[len(root) :] + f".{name}"
        if INSIDES.fullmatch(name) or (name == "__dict__" and known):
            self.add("looks", f"the insides of something: .{name}", node)
        elif SYSTEM.fullmatch(whole):
            self.add("looks", shown(whole), node)
        elif (
            self.is_shortcut(name, within)
            and not (base and is_ours(whole))
            and (known or name not in self.members)
        ):
            # an added cell may call it to compare: nobody keeps the result
            compared = called and within is None and self.exercise is None and name.islower()
            if not compared:
                self.add("library", shown(whole if base else f"….{name}"), node)

    def look_at_name(self, node, within):
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            return
        if name in RUNS_TEXT and name not in self.own:
            self.add("looks", f"runs code from text: {name}", node)
        elif name in REACHES and name not in self.own and node not in self.harmless:
            self.add("looks", REACHES[name], node)
        elif name == "__builtins__":
            self.add("looks", "the table of built-in names", node)
        elif (
            self.starred
            and self.is_shortcut(name, within)
            and name not in {*self.own, *self.meaning}
        ):
            self.add("library", f"{shown(name)}, from an import of everything", node)

    def look_at_getattr(self, call, within, called):
        """A name that is written down counts like the name itself; one that is computed is a
        remark.
        """
        wanted = call.args[-1 if call.func.id != "getattr" else 1 : None] if call.args else []
        wanted = wanted[0] if wanted else None
        if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str):
            self.look_at_attribute(call, wanted.value.rsplit(".", 1)[-1], within, called)
        elif call.args and (dotted(call.args[0]) or "").split(".")[0] in self.meaning:
            self.add("looks", f"a computed name in {shown(dotted(call.args[0]))}", call)

    def is_shortcut(self, name, within):
        """In an exercise's own function, what it asks to write counts; elsewhere, what any of the
        exercises asks for.
        """
        return name in (
            self.shortcuts.get(self.exercise, ())
            if self.exercise and within == self.exercise
            else self.every_shortcut
        )

    def add(self, kind, text, node):
        self.found.append(Flag(kind, text, self.exercise, node.lineno))


def dotted(node):
    """Return `torch.nn.functional` for the tree of it, or None for anything but names with dots."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def is_ours(name):
    """Return whether a module belongs to the course: what learners built in earlier chapters has
    the library's names.
    """
    return name.split(".")[0] in ("solutions", "autograder", "")


def shown(name):
    """Return a learner's name as it may stand in a remark."""
    name = unmasked(name)
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"


def hidden_characters(exercise, source):
    """Return a remark if a source has characters that nobody sees, or that turn the text."""
    if source.isascii() and source.isprintable():
        return []
    found = Counter()
    first = None
    for number, line in enumerate(source.split("\n"), 1):
        if line.isprintable():
            continue
        for character in line:
            category = unicodedata.category(character)
            if (
                category in ("Cc", "Cf", "Zl", "Zp", "Co", "Cs")
                and character not in "\t\r" + PASTED
            ):
                found[character] += 1
                first = first or number
    if not found:
        return []
    kind = (
        "turns the direction of the text"
        if TURNING & {unicodedata.bidirectional(c) for c in found}
        else "invisible"
    )
    names = ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, '')}".strip() for c in list(found)[:3])
    return [Flag("characters", f"{kind}: {names}", exercise, first)]
