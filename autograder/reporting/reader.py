"""Remarks about a learner's code, which is read as syntax trees and never run."""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

from autograder.reporting.code import (
    HARMLESS_MAGICS,
    dotted,
    facts_of,
    hidden_characters,
    is_ours,
    is_text,
    only_called,
)
from autograder.shared.probes.library_code import READY_MADE, does_what
from autograder.shared.wire import unmasked

LONGEST_NAME = 60  # characters of a learner's that a remark repeats
LONGEST_TEXT = 200  # characters of a text that may be a path; a longer one is prose
RUNS_TEXT = {"exec", "eval", "compile", "__import__", "execfile", "breakpoint"}
# The functions of libraries that run code from text; `timeit` takes a function just as well.
RUN_TEXT_TOO = re.compile(
    r"timeit\.(timeit|repeat|Timer)|c?[pP]rofile\.(run|runctx)|torch\.utils\.benchmark\.Timer|"
    r"torch\.jit\.CompilationUnit|torch\.utils\.cpp_extension\.\w+"
)
# Whoever hands these on hides what is fetched.
FETCHES = {"getattr", "setattr", "vars", "delattr", "operator.attrgetter", "operator.methodcaller"}
REACHES = {
    "open": "opens a file",
    "globals": "takes the table of global names",
    "locals": "takes the table of local names",
    "get_ipython": "talks to IPython",
}
MODULES = re.compile(
    "_thread|ast|atexit|bdb|builtins|cffi|code|codeop|concurrent|ctypes|dis|doctest|faulthandler|"
    "imp|importlib|inspect|ipykernel|IPython|marshal|mmap|multiprocessing|pickle|pkgutil|posix|"
    "psutil|pty|pydoc|requests|resource|runpy|shelve|signal|socket|subprocess|threading|trace|"
    "tracemalloc|urllib|zipimport|zmq"
)
SHOWS = re.compile(r"IPython\.display\.(display|Markdown|HTML|Image|SVG|Math|Latex|clear_output)")
# What to ask of sys, os and asyncio an exercise has no reason to, whoever leads there: torch.sys.
SYSTEM = re.compile(
    r"(.+\.)?("
    r"sys\.(_getframe|_current_frames|modules|settrace|setprofile|gettrace|getprofile|monitoring|meta_path|path_hooks|path|exit)|"
    r"os\.(system|popen|fork|kill|killpg|_exit|abort|environ|getenv|listdir|walk|scandir|open|"
    r"remove)|"
    r"gc\.(callbacks|get_\w+|unfreeze)|unittest\.(mock|loader)(\..+)?|unittest\.TestLoader|"
    r"string\.Formatter|logging\.config|asyncio\.to_thread|typing\.(get_type_hints|ForwardRef)|"
    r"torch\.(jit|export)\.load|torch\.jit\.trace\w*|torch\.(hub|overrides|package)\.\w+|"
    r"torch\.\w+\.load_library)"
)
INSIDES = re.compile(
    "__(globals|code|closure|builtins|subclasses|getattribute|loader|spec|defaults|kwdefaults|traceback)__|"
    "f_(back|locals|globals|builtins)|gi_frame|cr_frame|tb_frame|get_(objects|refer(rer|ent)s)"
)
ROOTS = ("_", "f_", "gi_", "cr_", "tb_", "get_")  # of the names above
# What PyTorch keeps to itself: how to look away from what it watches is part of it.
KEPT = re.compile(r"torch\.(?:[a-zA-Z]\w*\.)*_[a-zA-Z]\w*")
PROTOCOLS = re.compile(
    "__(torch_function|torch_dispatch|array_function|array_ufunc|array_wrap|reduce|reduce_ex|"
    "setstate)__"
)
MATCHED_WHOLE = {"bool", "bytes", "dict", "float", "int", "list", "set", "str", "tuple"}
TELLING_TEXT = re.compile(r"/proc/|gradebook|seed\.key|autograder[./]|solutions[./]ch")


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


@lru_cache(maxsize=1024)
def flags_of_code(stem, cells, given, shortcuts):
    """Return the remarks about the cells of one learner.

    Args:
        cells: (exercise or None, source) of each.
        given: (name, what it stands for) of what the released cells import.
        shortcuts: (exercise, names) pairs.
    """
    facts, found = [], []
    for exercise, source in cells:
        try:
            facts.append(facts_of(source))
        except RecursionError as error:
            facts.append(None)
            found.append(Flag("beyond", str(error), exercise))
    read = [(cell[0], each) for cell, each in zip(cells, facts, strict=True) if each]
    reader = Reader(stem, dict(shortcuts), dict(given), read)
    for (exercise, source), each in zip(cells, facts, strict=True):
        if hidden := hidden_characters(source):
            text, line = hidden
            found.append(Flag("characters", text, exercise, line))
        found += reader.read(exercise, each) if each else []
    return tuple(dict.fromkeys(found))


class Reader:
    """Reads the cells of one notebook, knowing what their names stand for."""

    def __init__(self, stem, shortcuts, given, cells):
        self.stem, self.shortcuts = stem, shortcuts
        self.every_shortcut = {name for names in shortcuts.values() for name in names}
        self.meaning, self.own, self.members = dict(given), set(), set()
        facts = [each for _, each in cells]
        for each in facts:
            self.meaning |= each.imports
            self.own |= each.given
            self.members |= each.members
        self.compared, self.made = only_called(cells), set()
        for name, whole in (pair for each in facts for pair in each.aliases.items()):
            root, *rest = whole.split(".")
            if root in self.meaning and name not in self.meaning:
                self.meaning[name] = ".".join([self.meaning[root], *rest])
        self.starred = any(each.starred for each in facts)
        self.defined = set()  # functions that stand in the cells up to here, under no condition

    def read(self, exercise, facts):
        """Return the remarks about one cell, in the order of its lines."""
        self.exercise, self.found, self.harmless = exercise, [], set()
        self.top = {id(node) for node in facts.tree.body}
        for place in facts.places:
            self.visit(*place)
        return sorted(self.found, key=lambda flag: flag.line or 0)

    def visit(self, node, within, called):
        match node:
            case ast.Name():
                self.visit_name(node, within, called)
            case ast.Attribute():
                self.visit_attribute(node, node.attr, within, called)
                if isinstance(node.ctx, ast.Store | ast.Del):
                    self.visit_change(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=maker)):
                if name in self.compared and within is None:
                    self.made.add(maker)
            case ast.Constant(value=str(text)):
                if len(text) < LONGEST_TEXT and (match := TELLING_TEXT.search(text)):
                    self.add("looks", f"a text with {match[0]!r}", node)
            case ast.Call():
                self.visit_call(node, within, called)
            case ast.FunctionDef(name=name):
                if id(node) in self.top:
                    self.defined.add(name)
                if PROTOCOLS.fullmatch(name):
                    self.add("looks", f"answers for a library: {name}", node)
            case ast.Import() | ast.ImportFrom():
                self.visit_import(node, within)
            case ast.MatchClass(kwd_attrs=names, patterns=patterns):
                if patterns and (kind := dotted(node.cls) or "") not in MATCHED_WHOLE:
                    self.add("looks", f"a computed name in a pattern of {shown(kind)}", node)
                for name in names:
                    self.visit_attribute(node, name, within, called)

    def visit_call(self, node, within, called):
        if called:
            self.made.add(node.func)
        for keyword in node.keywords:
            unpickles = {"allow_pickle": False, "weights_only": True}.get(keyword.arg)
            if unpickles is not None and getattr(keyword.value, "value", None) is not unpickles:
                self.add("looks", f"unpickles what it reads: {keyword.arg}", node)
        whole = self.whole(dotted(node.func) or "")
        texts = [*node.args[:2], *(keyword.value for keyword in node.keywords)]
        if RUN_TEXT_TOO.fullmatch(whole) and any(map(is_text, texts)):
            self.add("looks", f"runs code from text: {shown(whole)}", node)
        last = whole.rpartition(".")[2]
        if whole == "getattr" or last in ("attrgetter", "methodcaller"):
            self.visit_getattr(node, last, within, called)
        match node:
            case ast.Call(func=ast.Name(id="vars" | "setattr" as name), args=[of, *_]):
                base = dotted(of)
                if name not in self.defined and base and base.split(".")[0] in self.meaning:
                    what = "the table of names of" if name == "vars" else "a change of"
                    self.add("looks", f"{what} {shown(base)}", node)
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=asked), attr="run_line_magic" | "run_cell_magic"
                ),
                args=[ast.Constant(value=str(magic)), *_],
            ) if HARMLESS_MAGICS.fullmatch(magic):
                self.harmless.add(asked)

    def visit_import(self, node, within):
        base = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            whole = f"{base}.{alias.name}".strip(".")
            root = whole.split(".")[0]
            if SHOWS.fullmatch(whole):
                continue
            if MODULES.fullmatch(root):
                self.add("looks", f"imports {shown(whole)}", node)
            elif root == "autograder" and whole != "autograder.check":
                self.add("looks", f"imports the grader: {shown(whole)}", node)
            elif root == "solutions" and not self.is_earlier(whole):
                self.add("looks", f"imports the solutions: {shown(whole)}", node)
            elif READY_MADE.fullmatch(root):
                self.add("library", f"imports {shown(whole)}", node)
            elif SYSTEM.fullmatch(whole) or (base and is_inside(alias.name)):
                self.add("looks", f"imports {shown(whole)}", node)
            elif base and not is_ours(base) and self.is_shortcut(alias.name, within):
                self.add("library", shown(whole), node)
            elif KEPT.match(whole):
                self.add("looks", f"imports {shown(whole)}", node)

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

    def visit_attribute(self, node, name, within, called):
        of = {ast.Attribute: "value", ast.MatchClass: "cls"}.get(type(node))
        base = dotted(getattr(node, of) if of else node.args[0])
        root = (base or "").split(".")[0]
        known = root in self.meaning
        whole = self.whole(f"{base or ''}.{name}")
        if INSIDES.fullmatch(name) or (name == "__dict__" and known):
            self.add("looks", f"the insides of something: .{name}", node)
        elif SYSTEM.fullmatch(whole):
            self.add("looks", shown(whole), node)
        elif whole in FETCHES and not called:
            self.add("looks", f"hands on {name}", node)
        elif (
            self.is_shortcut(name, within)
            and not (base and is_ours(whole))
            and (known or name not in self.members)
        ):
            # an added cell may call it to compare: no exercise can reach it
            compares = called and self.exercise is None and within in {None, *self.compared}
            if not (compares and (name.islower() or node in self.made)):
                self.add("library", shown(whole if base else f"….{name}"), node)
        elif known and KEPT.fullmatch(whole):
            self.add("looks", shown(whole), node)

    def visit_change(self, node):
        """Something that was imported may be what the grader uses, too. (What `torch.backends` has
        are settings.)
        """
        base = dotted(node) or ""
        if base.split(".")[0] in self.meaning and ".backends." not in base:
            self.add("looks", f"a change of {shown(base)}", node)

    def visit_name(self, node, within, called):
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self.defined -= {name}
            return
        own = name in self.defined
        if name in RUNS_TEXT and not own:
            self.add("looks", f"runs code from text: {name}", node)
        elif name in REACHES and not own and node not in self.harmless:
            self.add("looks", REACHES[name], node)
        elif self.whole(name) in FETCHES and not own and not called:
            self.add("looks", f"hands on {shown(name)}", node)
        elif name == "__builtins__":
            self.add("looks", "the table of built-in names", node)
        elif (
            self.starred
            and self.is_shortcut(name, within)
            and name not in {*self.own, *self.meaning}
        ):
            self.add("library", f"{shown(name)}, from an import of everything", node)

    def visit_getattr(self, call, name, within, called):
        """A name that is written down counts like the name itself; one that is computed is a
        remark, but for the parts of an object of one's own.
        """
        wanted = call.args[-1 if name != "getattr" else 1 : None] if call.args else []
        wanted = wanted[0] if wanted else None
        if isinstance(wanted, ast.Constant) and isinstance(wanted.value, str):
            self.visit_attribute(call, wanted.value.rsplit(".", 1)[-1], within, called)
        elif call.args and name != "getattr":
            self.add("looks", f"a computed name in {name}", call)
        elif call.args:
            base = dotted(call.args[0]) or "getattr"
            of_ones_own = base in ("self", "cls") or begins_as_ones_own(wanted)
            if base.split(".")[0] in self.meaning or not of_ones_own:
                self.add("looks", f"a computed name in {shown(base)}", call)

    def is_shortcut(self, name, within):
        """In an exercise's own function, what it asks to write counts; elsewhere, what any of the
        exercises asks for.
        """
        own = self.exercise and within == self.exercise
        wanted = self.shortcuts.get(self.exercise, ()) if own else self.every_shortcut
        return does_what(name, wanted)

    def whole(self, name):
        """Return a name with dots in full, as it was imported."""
        root = name.split(".")[0]
        return self.meaning.get(root, root) + name[len(root) :]

    def add(self, kind, text, node):
        self.found.append(Flag(kind, text, self.exercise, node.lineno))


def begins_as_ones_own(name):
    """Return whether a computed name begins with text that is written there, and with which none of
    the insides of something begins: `f"w_{number}"`.
    """
    match name:
        case (
            ast.JoinedStr(values=[ast.Constant(value=str(text)), *_])
            | ast.BinOp(left=ast.Constant(value=str(text)))
        ):
            return not any(root.startswith(text) or text.startswith(root) for root in ROOTS)
    return False


def is_inside(name):
    """Return whether a name is that of the insides of something, a module's table among them."""
    return name == "__dict__" or INSIDES.fullmatch(name) is not None


def shown(name):
    """Return a learner's name as it may stand in a remark."""
    name = unmasked(name)
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"
