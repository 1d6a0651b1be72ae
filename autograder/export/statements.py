"""A notebook's cells, statement by statement: what each binds, uses and changes, so that an export
takes what a solution needs and leaves out what printed, plotted and trained on the way.
"""

import ast
import re
import symtable
from dataclasses import dataclass

MARKERS = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)
# What follows runs in the notebook as any cell does.
CELL_MAGIC = re.compile(r"\A\s*%%(?:time|capture|prun)\b.*\n")
FUTURE = "from __future__ "


@dataclass(eq=False)
class Statement:
    """One statement at the top of a notebook's cell.

    Args:
        text: as it was written, with the comment above it.
        binds: names that it gives a value at the top of the module.
        uses: names of the module that it reads, at once or when its functions are called.
        changes: the name whose attribute or item it sets, or whose method it calls, or None.
        yours: whether the learner wrote it.
    """

    text: str
    binds: set[str]
    uses: set[str]
    changes: str | None = None
    yours: bool = False

    @property
    def is_import(self):
        return self.text.startswith(("import ", "from "))

    @property
    def is_star(self):
        return self.is_import and self.text.endswith(" import *")


def statements_of(source, yours=False):
    """Return the Statements of a cell; none, if it is no Python. An import of several names becomes
    several statements.
    """
    source = MARKERS.sub("", CELL_MAGIC.sub("", source)) + "\n"
    tree = parsed(source)
    if tree is None:
        source = without_magics(source)
        tree = parsed(source)
    statements, previous = [], None
    for node in tree.body if tree else ():
        for text in single_imports(node) or [text_of(node, previous, source)]:
            try:
                statements.append(Statement(text, *global_names(text), changed_by(node), yours))
            except SyntaxError:  # what parses and still is no Python: `nonlocal x` at the top
                continue
        previous = node
    return statements


def parsed(source):
    """Return the tree of a piece of Python, or None."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def without_magics(source):
    """Return a cell's source with `%magics` and `!commands` as calls."""
    from IPython.core.inputtransformer2 import TransformerManager  # here, because few need it

    try:
        return TransformerManager().transform_cell(source)
    except SyntaxError:
        return source


def single_imports(node):
    """Return the text of an import of each name that an import brings; nothing for another
    statement.
    """
    if isinstance(node, ast.Import):
        return [ast.unparse(ast.Import([alias])) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        single = [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
        return [ast.unparse(each) for each in single]
    return []


def text_of(node, previous, source):
    """Return the lines of a statement, with the comment right above it."""
    lines = source.split("\n")
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]) - 1
    lowest = previous.end_lineno if previous else 0
    tree = parsed("\n".join(lines[first : node.end_lineno]))
    if tree is None or len(tree.body) != 1 or ast.dump(tree.body[0]) != ast.dump(node):
        return ast.unparse(node)  # it shares its lines with others
    while first > lowest and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join(lines[first : node.end_lineno])


def global_names(text):
    """Return the names that a statement binds at the top of its module, and those of the module
    that it uses.
    """
    top = symtable.symtable(text, "cell", "exec")
    binds = {each.get_name() for each in top.get_symbols() if each.is_assigned()}
    binds |= {each.get_name() for each in top.get_symbols() if each.is_imported()}
    uses = {each.get_name() for each in top.get_symbols() if each.is_referenced()}
    inner = list(top.get_children())
    while inner:
        table = inner.pop()
        inner += table.get_children()
        uses |= {each.get_name() for each in table.get_symbols() if each.is_global()}
    return binds, uses


def changed_by(node):
    """Return the name to which a statement does something without giving it a new value, or
    None.
    """
    match node:
        case ast.Assign(targets=[target, *_]) | ast.AugAssign(target=target):
            changed = target
        case ast.AnnAssign(target=target):
            changed = target
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[changed, *_])):
            return changed.id if isinstance(changed, ast.Name) else None
        case ast.Expr(value=ast.Call(func=ast.Attribute() as changed)):
            pass
        case _:
            return None
    if not isinstance(changed, ast.Attribute | ast.Subscript):
        return None
    while isinstance(changed, ast.Attribute | ast.Subscript):
        changed = changed.value
    return changed.id if isinstance(changed, ast.Name) else None
