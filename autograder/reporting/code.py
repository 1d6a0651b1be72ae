"""A cell's code as a syntax tree, and the facts that one walk through it finds; nothing is run."""

import ast
import contextlib
import re
from dataclasses import dataclass
from functools import lru_cache

# IPython commands that only measure or show, and are no way to anything.
HARMLESS_MAGICS = re.compile(
    "time|timeit|matplotlib|capture|prun|pdb|precision|who|whos|config|xmode"
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


def tree_of(source):
    """Parse a cell, IPython's own commands translated; None where it is no Python, and so was never
    run.
    """
    for text in (lambda: source, lambda: translated(source)):
        with contextlib.suppress(
            Exception
        ):  # where its own translation fails, IPython runs nothing
            return ast.parse(text())
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


def is_ours(name):
    """Return whether a module belongs to the course: what learners built in earlier chapters has
    the library's names.
    """
    return name.split(".")[0] in ("solutions", "autograder", "")
