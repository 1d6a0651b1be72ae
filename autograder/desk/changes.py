"""Small changes of a learner's code, of which one can ask what comes of them; nothing is run."""

import ast
from dataclasses import dataclass
from itertools import islice

LONGEST = 20_000  # characters of a cell
MOST = 200  # changes of one cell, each of which is a whole cell, and is parsed
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise)
SWAPPED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
RENAMED = {"max": "min", "min": "max", "sum": "mean", "mean": "sum", "sin": "cos", "cos": "sin"}
TRUTH = {True: "False", False: "True"}
AXES = {0: "1", 1: "0", 2: "1"}


@dataclass(frozen=True)
class Change:
    """One change of a cell.

    Args:
        line: where, counted from 1.
        source: the whole cell after it.
        new: what the line has become; "" where it was deleted.
        returns: whether it was a `return`, of which it is too plain what comes of its end.
    """

    line: int
    source: str
    new: str = ""
    returns: bool = False


@dataclass(frozen=True)
class Stop:
    """A cell whose function returns one of its variables as soon as it has its value.

    Args:
        line: after which.
        name: of the variable.
    """

    line: int
    name: str
    source: str


def functions_in(source, exercise):
    """Return the functions of a cell that make an exercise up: of that name, or the methods of the
    class of that name; none where the cell is no plain Python, or longer than anybody asks about.
    """
    if len(source) > LONGEST or "\r" in source:  # which ends a line, too
        return []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    for node in tree.body:
        if getattr(node, "name", None) != exercise:
            continue
        if isinstance(node, ast.FunctionDef):
            return [node]
        if isinstance(node, ast.ClassDef):
            return [each for each in node.body if isinstance(each, ast.FunctionDef)]
    return []


def statements_of(function):
    """Yield (statement, its block) of all simple statements that have lines of their own."""
    todo = [function.body]
    while todo:
        block = todo.pop()
        for node in block:
            for name in ("body", "orelse", "finalbody"):
                if isinstance(inner := getattr(node, name, None), list):
                    todo.append(inner)
            if isinstance(node, SIMPLE) and not is_text(node):
                yield node, block


def is_text(node):
    """Return whether a statement is a text alone, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def deletions(source, exercise):
    """Return the Changes that each delete one line, a whole statement, from top to bottom."""
    return in_order(each_deletion(source, exercise), exercise)


def each_deletion(source, exercise):
    lines = source.split("\n")
    for function in functions_in(source, exercise):
        for node, block in statements_of(function):
            alone = has_a_line_of_its_own(node, lines)
            if alone and any(not is_text(each) for each in block if each is not node):
                rest = lines[: node.lineno - 1] + lines[node.lineno :]
                returns = isinstance(node, ast.Return)
                yield Change(node.lineno, "\n".join(rest), returns=returns)


def in_order(found, exercise):
    """Return those of the first Changes or Stops that still are Python, from top to bottom."""
    few = islice(found, MOST)
    return sorted(
        (each for each in few if functions_in(each.source, exercise)), key=lambda each: each.line
    )


def has_a_line_of_its_own(node, lines):
    """Return whether a statement is one line, and nothing else is on it but a comment."""
    if node.lineno != node.end_lineno:
        return False
    line = lines[node.lineno - 1].encode()
    before, after = line[: node.col_offset], line[node.end_col_offset :].strip()
    return not before.strip() and (not after or after.startswith(b"#"))


def replacements(source, exercise):
    """Return the Changes that each replace one operator, value or name, from top to bottom."""
    found = (
        replaced(node, source)
        for function in functions_in(source, exercise)
        for statement, _ in statements_of(function)
        for node in ast.walk(statement)
    )
    return in_order(filter(None, found), exercise)


def replaced(node, source):
    """Return the Change that a node of the tree allows, or None."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED:
            return between(left, right, *SWAPPED[type(op)], source)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SWAPPED:
            return between(left, right, *SWAPPED[type(op)], source)
        case ast.Attribute(attr=name) if name in RENAMED:
            end = node.end_col_offset
            return with_text(node.end_lineno, end - len(name.encode()), end, RENAMED[name], source)
        case ast.keyword(value=ast.Constant(value=bool(value)) as where):
            return in_place(where, TRUTH[value], source)
        case ast.keyword(value=ast.Constant(value=int(value)) as where) if value in AXES:
            return in_place(where, AXES[value], source)
        case ast.keyword(value=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)) as where):
            return in_place(where, "0", source)
    return None


def in_place(node, text, source):
    """Return the Change that writes something else in a node's place."""
    if node.lineno != node.end_lineno:
        return None
    return with_text(node.lineno, node.col_offset, node.end_col_offset, text, source)


def between(left, right, old, new, source):
    """Return the Change of an operator between two operands on one line, or None."""
    if left.end_lineno != right.lineno:
        return None
    line = source.split("\n")[right.lineno - 1].encode()
    start, end = left.end_col_offset, right.col_offset
    if line[start:end].strip() != old.encode():
        return None  # parentheses
    start += line[start:end].index(old.encode())
    return with_text(right.lineno, start, start + len(old), new, source)


def with_text(number, start, end, text, source):
    """Return the Change of some bytes of a line."""
    lines = source.split("\n")
    line = lines[number - 1].encode()
    lines[number - 1] = (line[:start] + text.encode() + line[end:]).decode()
    return Change(number, "\n".join(lines), lines[number - 1].strip())


def stops(source, exercise):
    """Return the Stops of a function's, or a forward pass's, own variables, from top to bottom."""
    return in_order(each_stop(source, exercise), exercise)


def each_stop(source, exercise):
    functions = functions_in(source, exercise)
    lines = source.split("\n")
    for function in functions:
        if len(functions) > 1 and function.name != "forward":
            continue
        for node in function.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    indent = " " * node.col_offset
                    end = node.end_lineno
                    changed = [*lines[:end], f"{indent}return {name}", *lines[end:]]
                    if has_a_line_of_its_own(node, lines):
                        yield Stop(node.lineno, name, "\n".join(changed))
