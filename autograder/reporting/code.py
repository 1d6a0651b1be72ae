"""A cell's code as a syntax tree, and the facts that one walk through it finds; nothing is run."""

import ast
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

# IPython commands that only show or set, and are no way to anything.
HARMLESS_MAGICS = re.compile(
    "debug|matplotlib|pdb|pdoc|pinfo2?|pip|precision|psource|who|whos|xmode"
)
# Those that run the text behind them or, with two signs, below them.
RUNNING_MAGICS = re.compile("time|timeit|capture|prun|config")
# What IPython takes for a command without a sign, where it is all of a cell.
WITHOUT_SIGN = re.compile(
    r"\s*(alias|alias_magic|autocall|automagic|bookmark|cat|cd|code_wrap|conda|config|cp|debug|ed|"
    r"edit|env|gui|ldir|lf|lk|ll|load|load_ext|loadpy|logstart|ls|lx|macro|magic|mamba|micromamba|"
    r"mkdir|mv|page|pastebin|pip|pprint|prun|psource|pushd|pycat|pylab|recall|reload_ext|rep|rerun|"
    r"rm|rmdir|run|save|sc|set_env|sx|system|time|timeit|unload_ext|uv)\s[^\n]*\s*"
)
DEEPEST = 150  # nodes within each other; what people write has forty
# `%config` puts the values of names in braces into its text before it runs it, but words are words.
FILLED_IN = re.compile(r"[^{}$]*\{\s*(['\"]\w+['\"][\s,]*)*\}\s*")
# A mark at the start of a file, joiners in scripts and emoji: they hide nothing.
PASTED = "\ufeff\u200c\u200d"
FLAG_OF_A_REGION = re.compile("\U0001f3f4[\U000e0061-\U000e007a]+\U000e007f")  # England's, say
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MOST_TEXTS = 200  # that the commands of one cell give to be run, options tried in each way
MOST_DEPTH = 10  # of such texts within each other
MOST_WORDS = 40  # of a command that begins with options
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
MAY_TELL = (
    ast.Import,
    ast.ImportFrom,
    ast.Attribute,
    ast.Name,
    ast.Assign,
    ast.Call,
    ast.FunctionDef,
    ast.Constant,
    ast.MatchClass,
)
# What a function has none of that only calls something and gives back what comes out.
KEEPS = (ast.Global, ast.Nonlocal, ast.Await, ast.Yield, ast.YieldFrom, *DEFINITIONS)
NEVER_TELLING = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop)


def tree_of(source, left=None):
    """Parse a cell as IPython compiles it, its own commands translated, and the code that they are
    given as text in the place of the call; None where it is no Python, and so was never run.

    A cell that is Python as it stands is translated, too: to IPython a line ends where
    `str.splitlines` says, so that a command may stand in what Python takes for a comment.

    Args:
        left: [how many texts may still be read, and how many within each other].

    Raises:
        RecursionError: where Python would read it only with a higher limit, which a notebook sets.
    """
    for text in (translated, with_sign):
        try:
            code = text(source)
        except Exception:  # where its own translation fails, IPython runs nothing
            continue
        try:
            tree = ast.parse(code)
            break
        except (RecursionError, MemoryError):
            raise RecursionError("a cell is nested too deeply to be read") from None
        except (SyntaxError, ValueError):
            continue
    else:
        return None
    if "get_ipython" in code:
        unwrap(tree, [MOST_TEXTS, MOST_DEPTH] if left is None else left)
    return tree


def translated(source):
    """Translate IPython's commands (`%timeit`, `!ls`) into calls, as IPython does before it runs a
    cell; nothing is run. A line keeps its number, though IPython drops empty ones at the start.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    empty = next((n for n, line in enumerate(source.splitlines()) if line.strip()), 0)
    return "\n" * empty + TransformerManager().transform_cell(source)


def with_sign(source):
    """Translate a cell that is nothing but a command whose sign IPython does without."""
    return translated(f"%{source.lstrip()}") if WITHOUT_SIGN.fullmatch(source) else source


def unwrap(tree, left):
    """Put the code that IPython's commands are given as text in the place of the calls. Where it
    cannot be read, the call stays.
    """
    todo = [tree]
    while todo:  # not recursive, like all that reads a tree
        node = todo.pop()
        for field, value in node.__dict__.items():
            old = value if isinstance(value, list) else [value]
            parts = [in_place_of(each, left) for each in old]
            new = [each for part in parts for each in part]
            setattr(node, field, new if isinstance(value, list) else new[0])
            stayed = (each for each, part in zip(old, parts, strict=True) if part == [each])
            todo += [each for each in stayed if isinstance(each, ast.AST)]


def in_place_of(node, left):
    """Return the statements that a statement stands for, or the one expression."""
    command = node.value if isinstance(node, ast.Expr) else node
    body = code_run_by(command, left) if isinstance(command, ast.Call) else None
    if body is None:
        return [node]
    if node is not command:
        return body
    is_expression = len(body) == 1 and isinstance(body[0], ast.Expr)
    return [body[0].value if is_expression else ast.Module(body, [])]


def code_run_by(call, left):
    """Return the statements that a command of IPython's is given as text and runs; None for another
    call, or where they cannot be told. What is no Python is never run.
    """
    match call:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Name(id="get_ipython")),
                attr="run_line_magic" | "run_cell_magic",
            ),
            args=[ast.Constant(value=str(magic)), ast.Constant(value=str(line)), *rest],
            keywords=[],
        ) if RUNNING_MAGICS.fullmatch(magic):
            behind, below = statements_in(magic, line), [getattr(each, "value", 0) for each in rest]
            if behind is None or not all(isinstance(each, str) for each in below):
                return None
            try:
                trees = [read_within(each, call.lineno - 1, left) for each in behind]
                under = [read_within(each, call.lineno, left) for each in below]
            except RecursionError:
                return None
            if behind and under and (None in under or not any(trees)):
                return None  # two halves of one statement
            return [each for tree in [*trees, *under] if tree for each in tree.body]
    return None


def statements_in(magic, line):
    """Return what may be the statement behind a command; None where nobody can tell. Where options
    come first, whatever begins with a later word may be it: an option's value looks like anything.
    """
    if magic == "capture" or not line.strip() or (magic == "config" and "=" not in line):
        return []
    if magic == "config":
        is_as_written = not re.search(r"[{$]", line) or FILLED_IN.fullmatch(line)
        return [f"cfg.{line}"] if is_as_written else None
    if line.lstrip()[0] != "-":
        return [line]
    words = list(re.finditer(r"\S+", line))
    return [line[word.start() :] for word in words] if len(words) <= MOST_WORDS else None


def read_within(text, before, left):
    """Parse code that is given as text; None where it is no Python.

    Args:
        before: lines of the cell that come before it.

    Raises:
        RecursionError: if it is one too many.
    """
    if 0 in left:
        raise RecursionError
    texts, depth = left
    left[:] = texts - 1, depth - 1
    tree = tree_of(text, left)
    left[1] = depth
    return tree and ast.increment_lineno(tree, before)


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
        aliases: names with dots that stand for what a name is given: {"f": "torch.nn.functional"}.
    """

    imports: dict
    given: set
    members: set
    starred: bool
    places: list
    tree: ast.Module
    aliases: dict


@lru_cache(maxsize=128)  # one learner's and the stubs; trees are large
def facts_of(source):
    """Read a cell; None where it is no Python.

    Raises:
        RecursionError: where it is nested more deeply than a person writes.
    """
    tree = tree_of(source)
    if tree is None:
        return None
    facts = Facts({}, set(), set(), False, [], tree, {})
    todo = [(node, None, False, 0) for node in reversed(tree.body)]
    while todo:  # not recursive: code may be nested as deeply as the parser allows
        node, within, called, depth = todo.pop()
        if depth > DEEPEST:
            raise RecursionError(f"more than {DEEPEST} parts of a cell are within each other")
        note(facts, node, within, called)
        if within is None and isinstance(node, DEFINITIONS):
            within = getattr(node, "name", "lambda")
        function = node.func if isinstance(node, ast.Call) else None
        for child in children_of(node):
            todo.append((child, within, child is function, depth + 1))
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
    if isinstance(node, ast.Assign | ast.NamedExpr) and (whole := dotted(node.value)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        facts.aliases |= {each.id: whole for each in targets if isinstance(each, ast.Name)}
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


def only_called(cells):
    """Return the names of functions and of other things of added cells that are nowhere but called,
    at the top of added cells: to compare, since no exercise can reach them.

    Args:
        cells: (exercise or None, Facts) of each.
    """
    names, others = set(), set()
    for exercise, facts in cells:
        for node in facts.tree.body if exercise is None else ():
            match node:
                case ast.FunctionDef(name=name):
                    inside = [each for part in node.body for each in ast.walk(part)]
                    keeps = node.decorator_list or any(isinstance(each, KEEPS) for each in inside)
                    (others if keeps else names).add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                    names.add(name)
        if exercise is not None:
            others |= {exercise, *facts.given, *facts.imports}
    names -= others
    for exercise, facts in cells:
        for node, within, called in facts.places:
            compares = exercise is None and within is None and called
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not compares:
                names.discard(node.id)
    return names


def is_ours(name):
    """Return whether a module belongs to the course: what learners built in earlier chapters has
    the library's names.
    """
    return name.split(".")[0] in ("solutions", "autograder", "")


def dotted(node):
    """Return `torch.nn.functional` for the tree of it, or None for anything but names with dots."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def is_text(node):
    """Return whether an argument is text that is written there, in one piece or several."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str)


def hidden_characters(source):
    """Return which characters of a source nobody sees, or turn the text, in a few words, and in
    which line the first is; or None.
    """
    if source.isascii() and source.isprintable():
        return None
    found = Counter()
    first = None
    for number, line in enumerate(source.split("\n"), 1):
        line = FLAG_OF_A_REGION.sub("", line.lstrip("\f"))  # a new page
        if line.isprintable():
            continue
        for character in line:
            hides = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cs")
            if hides and character not in "\t\r" + PASTED:
                found[character] += 1
                first = first or number
    if not found:
        return None
    turns = TURNING & {unicodedata.bidirectional(c) for c in found}
    kind = "turns the direction of the text" if turns else "invisible"
    names = ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, '')}".strip() for c in list(found)[:3])
    return f"{kind}: {names}", first
