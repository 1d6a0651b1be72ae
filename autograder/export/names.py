"""Which names of its module a piece of Python binds and uses, and how to give it others: what it
takes to move code from a notebook.
"""

import ast
import re
from dataclasses import dataclass, field

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Scope:
    """What belongs to a function, a class body or a comprehension itself.

    Args:
        is_class: a class body, whose names functions inside do not see.
        own: names that it binds.
        shared: names that it says are the module's (`global`).
    """

    is_class: bool
    own: set
    shared: set


@dataclass
class GlobalNames(ast.NodeVisitor):
    """The names of the module that a statement binds and uses.

    Args:
        binds: what the statement gives a value at the top of the module.
        now: what must be there when it runs: base classes, decorators, defaults.
        later: what must be there when its functions are called.
        places: the nodes, and the field of each, where such a name is written.
    """

    binds: set = field(default_factory=set)
    now: set = field(default_factory=set)
    later: set = field(default_factory=set)
    places: list = field(default_factory=list)
    scopes: list = field(default_factory=list)
    depth: int = 0  # functions around

    @property
    def uses(self):
        return self.now | self.later

    def use(self, name):
        (self.later if self.depth else self.now).add(name)

    def is_global(self, name):
        """Return whether a name that stands here is the module's."""
        for steps, scope in enumerate(reversed(self.scopes)):
            if scope.is_class and steps:
                continue
            if name in scope.shared:
                return True
            if name in scope.own:
                return False
        return True

    def bind(self, node, attribute, name):
        """Note a name that a definition, an import or the like gives a value."""
        if self.is_global(name):
            self.places.append((node, attribute))
            if self.depth:
                self.use(name)  # a function that sets what the module has
            else:
                self.binds.add(name)

    def visit_Name(self, node):
        if self.is_global(node.id):
            self.places.append((node, "id"))
            if isinstance(node.ctx, ast.Load) or self.depth:
                self.use(node.id)
            else:
                self.binds.add(node.id)

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name) and self.is_global(node.target.id):
            self.use(node.target.id)
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        self.bind(node, "name", node.name)
        around = [*node.decorator_list, *defaults_of(node.args), *annotations_of(node)]
        self.visit_all(around)
        self.visit_inside(node.body, scope_of(node), later=True)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self.visit_all(defaults_of(node.args))
        self.visit_inside([node.body], scope_of(node), later=True)

    def visit_ClassDef(self, node):
        self.bind(node, "name", node.name)
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self.visit_inside(node.body, scope_of(node))

    def visit_comprehension_like(self, node):
        first = node.generators[0]
        self.visit(first.iter)  # it is computed outside
        own = {
            name.id
            for each in node.generators
            for name in ast.walk(each.target)
            if isinstance(name, ast.Name)
        }
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        rest = [first.target, *first.ifs, *node.generators[1:], *elements]
        self.visit_inside(rest, Scope(False, own, set()))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_like

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias, "asname", alias.asname or alias.name.partition(".")[0])

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node):
        if node.name:
            self.bind(node, "name", node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node):
        if node.name:
            self.bind(node, "name", node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node):
        if node.rest:
            self.bind(node, "rest", node.rest)
        self.generic_visit(node)

    def visit_Global(self, node):
        self.places.append((node, "names"))

    def visit_all(self, nodes):
        for node in nodes:
            self.visit(node)

    def visit_inside(self, nodes, scope, later=False):
        """Visit what stands in a scope of its own; the body of a function runs later."""
        self.scopes.append(scope)
        self.depth += later
        self.visit_all(nodes)
        self.depth -= later
        self.scopes.pop()


def global_names(node):
    """Return the GlobalNames of a statement, or of a whole module."""
    names = GlobalNames()
    names.visit(node)
    return names


def scope_of(node):
    """Return the Scope that a function, a lambda or a class opens."""
    own, shared, elsewhere = set(), set(), set()
    if not isinstance(node, ast.ClassDef):
        arguments = node.args
        every = [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]
        own |= {each.arg for each in every if each}
    waiting = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    while waiting:
        each = waiting.pop()
        match each:
            case ast.Global():
                shared |= set(each.names)
            case ast.Nonlocal():
                elsewhere |= set(each.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                own.add(each.name)
                continue
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                own |= {
                    found.target.id for found in ast.walk(each) if isinstance(found, ast.NamedExpr)
                }
                continue
            case ast.Name(ctx=ast.Store() | ast.Del()):
                own.add(each.id)
            case ast.alias():
                own.add(each.asname or each.name.partition(".")[0])
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                own.add(each.name)
            case ast.MatchMapping():
                own.add(each.rest)
        waiting += ast.iter_child_nodes(each)
    return Scope(isinstance(node, ast.ClassDef), own - shared - elsewhere, shared)


def defaults_of(arguments):
    """Return the default values in a function's signature."""
    return [each for each in (*arguments.defaults, *arguments.kw_defaults) if each]


def annotations_of(function):
    """Return the annotations of a function's signature."""
    arguments = function.args
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    found = [each.annotation for each in every if each and each.annotation]
    return [*found, function.returns] if function.returns else found


def renamed(source, new_names):
    """Give names of the module others, in a piece of source, and leave equal names of functions,
    attributes and arguments alone.

    Args:
        source: one or more statements.
        new_names: dict, old name -> new name.

    Returns:
        the source with its comments; without them in the rare case that only a rewritten one is
        sure to be right.
    """
    tree = ast.parse(source)
    lines = source.encode().splitlines(keepends=True)
    edits = []
    for node, attribute in global_names(tree).places:
        edits += edits_for(node, attribute, new_names, lines)
    for line, column, old, new in sorted(edits, reverse=True):
        if line >= len(lines):  # Python 3.11 does not know where in an f-string a name stands
            continue
        text = lines[line]
        lines[line] = text[:column] + new.encode() + text[column + len(old.encode()) :]
    edited = b"".join(lines).decode("utf-8", "replace")
    try:
        right = ast.dump(ast.parse(edited)) == ast.dump(tree)
    except SyntaxError:
        right = False
    return edited if right else ast.unparse(tree)


def edits_for(node, attribute, new_names, lines):
    """Rename in one node; return (line, column, old, new) where the text must change so."""
    value = getattr(node, attribute)
    if attribute == "names":
        node.names = [new_names.get(name, name) for name in value]
        return []
    if isinstance(node, ast.alias):
        value = value or node.name
    if value not in new_names:
        return []
    setattr(node, attribute, new_names[value])
    line, column = node.lineno - 1, getattr(node, "col_offset", 0)
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        opening = re.match(rb"(?:async\s+)?(?:def|class)\s+", lines[line][column:])
        column += opening.end() if opening else 0
    return (
        [(line, column, value, new_names[value])]
        if isinstance(node, (ast.Name, *FUNCTIONS, ast.ClassDef))
        else []
    )
