"""The functions and classes that a cell of a notebook defines: their names, docstrings and
signatures.
"""

import ast

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = FUNCTIONS | ast.ClassDef


def defined_in(source):
    """Return the names of the functions and classes that a cell defines, in order; none where it
    does not parse.
    """
    try:
        return [node.name for node in ast.parse(source).body if isinstance(node, DEFINITIONS)]
    except SyntaxError:
        return []


def names_bound(statements):
    """Yield the names that top-level statements give to something."""
    for statement in statements:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name for alias in aliases)
            case ast.Assign() | ast.AnnAssign():
                yield from (node.id for node in ast.walk(statement) if is_stored(node))


def is_stored(node):
    """Return whether a node is a name that is given a value."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def with_docstrings_of(stub, source):
    """Return a learner's source under the docstrings of a release's stub; unchanged where it does
    not parse.
    """
    ours, theirs = docstrings_in(stub), docstrings_in(source)
    text = source.encode()  # columns count bytes
    for name, node in reversed(theirs.items()):
        if name in ours and ours[name].col_offset == node.col_offset:
            begin, end = span(source, node)
            text = text[:begin] + ast.get_source_segment(stub, ours[name]).encode() + text[end:]
    return text.decode()


def docstrings_in(source):
    """Return the docstrings of a source as nodes of its syntax tree, by "function", "Class" and
    "Class.method", in order.
    """
    found = {}
    for name, node in definitions_in(source).items():
        first = node.body[0]
        if ast.get_docstring(node) is not None:
            found[name] = first.value
    return found


def definitions_in(source):
    """Return the functions and classes of a source, and the methods of these, in order; none where
    it does not parse.
    """
    found = {}
    try:
        nodes = [("", node) for node in ast.parse(source).body]
    except SyntaxError:
        return found
    while nodes:
        prefix, node = nodes.pop(0)
        if isinstance(node, DEFINITIONS):
            found[prefix + node.name] = node
        if isinstance(node, ast.ClassDef):
            nodes[:0] = [(f"{prefix}{node.name}.", each) for each in node.body]
    return found


def span(source, node):
    """Return where a node begins and ends in a source, in bytes."""
    lines = source.encode().splitlines(keepends=True)
    before, until = (
        sum(map(len, lines[: node.lineno - 1])),
        sum(map(len, lines[: node.end_lineno - 1])),
    )
    return before + node.col_offset, until + node.end_col_offset


def changed_signatures(stub, source):
    """Return (name, signature in the stub, signature in the source) of each function or method that
    both define and that takes something else.
    """
    ours, theirs = signatures_in(stub), signatures_in(source)
    return [
        (name, ours[name], signature)
        for name, signature in theirs.items()
        if ours.get(name, signature) != signature
    ]


def signatures_in(source):
    """Return the parameters of each function and method of a source, as text and by name; what is
    said of their types is left out.
    """
    found = {}
    for name, node in definitions_in(source).items():
        if isinstance(node, FUNCTIONS):
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            found[name] = f"({ast.unparse(node.args)})"
    return found
