"""Several notebooks' functions in one module: each with what it uses, as it was when it was
checked, and no name for two things.

In a notebook a name may mean one thing now and another one later, and two notebooks may call
different helpers alike. A `Part` is what one name meant at one moment; a `Collection` finds the
parts that some exercises need, gives those that would collide other names, and writes them down in
an order in which Python can read them.
"""

import ast
import builtins
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property

from autograder.export.names import GlobalNames, global_names, renamed

MARKERS = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)
CELL_MAGIC = re.compile(
    r"\A\s*%%(?:time|capture|prun)\b.*\n"
)  # what follows runs in the notebook as any cell does
ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__"}


@dataclass(eq=False)
class Statement:
    """One statement at the top of a notebook's cell.

    Args:
        text: as it was written, with the comment above it.
        yours: whether the learner wrote it.
    """

    text: str
    node: ast.stmt
    names: GlobalNames
    yours: bool

    @cached_property
    def dump(self):
        return ast.dump(self.node)

    @property
    def is_import(self):
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def is_star(self):
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"

    @property
    def root(self):
        """The package that `import package.part` binds by its own name, or None for anything
        else.
        """
        plain = isinstance(self.node, ast.Import) and not self.node.names[0].asname
        return self.node.names[0].name.partition(".")[0] if plain else None

    def course_import(self, name):
        """Return (chapter, name there) where this imports a name from the course's solutions, or
        None.
        """
        if isinstance(self.node, ast.ImportFrom) and (self.node.module or "").startswith(
            "solutions."
        ):
            there = name if self.is_star else self.node.names[0].name
            return self.node.module.removeprefix("solutions."), there
        return None

    def changes(self, name):
        """Return whether this changes what a name already means, or gives it a value made of its
        old one.
        """
        if name in self.names.binds:
            return name in self.names.now
        match self.node:
            case ast.Assign(targets=targets):
                return any(name == owner_of(target) for target in targets)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                return name == owner_of(target)
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=owner), *_])
            ):
                return name == owner
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                return name == owner_of(method)
        return False


def owner_of(target):
    """Return the name whose attribute or item is assigned, or None."""
    if not isinstance(target, ast.Attribute | ast.Subscript):
        return None
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


@dataclass(eq=False)
class Code:
    """The statements of one chapter's notebook.

    Args:
        stem: of the chapter.
        file: where a reader finds them.
        asked: how many statements stood before the last question about each exercise.
    """

    stem: str
    file: str
    statements: list[Statement] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, stem, file, notebook, is_yours):
        """Take a notebook apart.

        Args:
            is_yours: `is_yours(cell)` says whether the learner wrote a cell.
        """
        code = cls(stem, file)
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            if cell.metadata.get("nbgrader", {}).get("grade"):
                code.asked[cell.metadata.nbgrader.grade_id.split("_", 1)[1]] = len(code.statements)
            else:
                code.statements += statements_of(cell.source, is_yours(cell))
        return code

    def meaning(self, name, before):
        """Return the statements that make a name what it is before a place: the one that binds it,
        and those that change it.
        """
        found = [index for index in range(before) if self.binds_afresh(index, name)]
        if not found:
            return []
        first = self.statements[found[-1]]
        if first.root:  # `import torch` and `import torch.nn.functional` add up
            return [
                self.statements[index]
                for index in found
                if self.statements[index].root == first.root
            ]
        if first.is_import:  # what a notebook does to a package concerns others, too
            return [first]
        return [
            first,
            *(each for each in self.statements[found[-1] + 1 : before] if each.changes(name)),
        ]

    def binds_afresh(self, index, name):
        """Return whether a statement gives a name a value that does not come from its old one."""
        names = self.statements[index].names
        return name in names.binds and name not in names.now

    def stars(self, before):
        """Return the imports of everything before a place, the last first."""
        return [each for each in reversed(self.statements[:before]) if each.is_star]


def statements_of(source, yours):
    """Return the Statements of a cell; none, if it is no Python."""
    source = MARKERS.sub("", CELL_MAGIC.sub("", source)) + "\n"
    tree = parsed(source)
    if tree is None:
        source = without_magics(source)
        tree = parsed(source)
    statements, previous = [], None
    for node in tree.body if tree else ():
        for part, text in split_import(node) or [(node, text_of(node, previous, source))]:
            statements.append(Statement(text, part, global_names(part), yours))
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


def split_import(node):
    """Return (statement, text) for each name that an import brings; nothing for another
    statement.
    """
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    single = [
        ast.Import([alias])
        if isinstance(node, ast.Import)
        else ast.ImportFrom(node.module, [alias], node.level)
        for alias in node.names
    ]
    return [(ast.parse(text).body[0], text) for text in map(ast.unparse, single)]


def text_of(node, previous, source):
    """Return the lines of a statement, with the comment right above it."""
    lines = source.split("\n")
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]) - 1
    lowest = previous.end_lineno if previous else 0
    text = "\n".join(lines[first : node.end_lineno])
    tree = parsed(text)
    if tree is None or len(tree.body) != 1 or ast.dump(tree.body[0]) != ast.dump(node):
        return ast.unparse(node)  # it shares its lines with others
    while first > lowest and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join(lines[first : node.end_lineno])


@dataclass(eq=False)
class Part:
    """What one name meant at one moment, with links to what it uses.

    Args:
        code: the notebook that it comes from.
        statements: which make it.
        before: place in that notebook; functions inside see names as they were there.
        exercise: the one that it answers, or None for a helper.
        uses: the Part of each name that it uses.
        now: the names among those that must be there when its statements run.
        missing: names that nothing defines.
        names: new name of each name that it binds.
    """

    code: Code
    statements: list[Statement]
    before: int
    exercise: str | None = None
    uses: dict[str, "Part"] = field(default_factory=dict)
    now: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def yours(self):
        return any(statement.yours for statement in self.statements)

    @property
    def is_import(self):
        """Whether it can stand among the imports at the top."""
        return self.exercise is None and all(statement.is_import for statement in self.statements)

    @property
    def binds(self):
        return set().union(*(statement.names.binds for statement in self.statements))

    @cached_property
    def dump(self):
        return tuple(statement.dump for statement in self.statements)

    def helpers(self):
        """Return the part and the helpers that it needs, through each other, without other
        exercises and theirs.
        """
        found, waiting = {id(self): self}, [self]
        while waiting:
            for part in waiting.pop().uses.values():
                if part.exercise is None and id(part) not in found:
                    found[id(part)] = part
                    waiting.append(part)
        return list(found.values())

    def signature(self):
        """Return what two parts share only if they are the same in all that matters: their code,
        and that of their helpers.
        """
        edges = {
            (part.dump, name, used.exercise or used.dump)
            for part in self.helpers()
            for name, used in part.uses.items()
        }
        return self.dump, frozenset(edges)

    def text(self):
        """Return its code, with the names that it and what it uses have been given."""
        source = "\n".join(statement.text for statement in self.statements)
        new = {name: used.name_for(name) for name, used in self.uses.items()} | self.names
        new = {old: name for old, name in new.items() if old != name}
        return renamed(source, new).strip("\n") if new else source

    def name_for(self, name):
        """Return what is to stand where a user of this part wrote some name."""
        if name in self.names:
            return self.names[name]
        return self.exercise or next(iter(self.names.values()), name)  # imported under another name


class Collection:
    """The parts of a module.

    Args:
        chosen: exercise -> the Code that it is taken from, in the order of the course.
        references: stem -> the course's own Code.
    """

    def __init__(self, chosen, references):
        self.chosen = chosen
        self.references = references
        self.found = {}
        self.exercises = {}
        for exercise in chosen:
            self.exercise(exercise)
        self.merge()
        self.give_names()

    def exercise(self, name):
        """Return the Part that answers an exercise."""
        if name not in self.exercises:
            code = self.chosen[name]
            part = Part(code, code.meaning(name, code.asked[name]), code.asked[name], exercise=name)
            self.exercises[name] = part
            self.link(part)
        return self.exercises[name]

    def part(self, code, name, before):
        """Return the Part that a name means before a place in a notebook, or None where nothing
        defines it.
        """
        statements = code.meaning(name, before)
        if not statements:
            statements = [star for star in code.stars(before) if self.star_has(star, name)][:1]
        if not statements:
            return None
        if (there := statements[0].course_import(name)) and there[0] in self.references:
            stem, original = there
            if self.chosen.get(original, code).stem == stem and original in self.chosen:
                return self.exercise(original)
            reference = self.references[stem]
            return self.part(reference, original, len(reference.statements))
        if name in self.chosen and self.chosen[name].stem == code.stem:
            return self.exercise(name)
        key = (*map(id, statements), before)
        if key not in self.found:
            self.found[key] = Part(code, statements, before)
            self.link(self.found[key])
        return self.found[key]

    def star_has(self, star, name):
        """Return whether an import of everything may bring a name; of other packages nobody
        knows.
        """
        there = star.course_import(name)
        if there is None or there[0] not in self.references:
            return name not in ALWAYS_THERE
        reference = self.references[there[0]]
        return bool(reference.meaning(name, len(reference.statements)))

    def link(self, part):
        """Find what a part uses."""
        places = {id(statement): index for index, statement in enumerate(part.code.statements)}
        for statement in part.statements:
            for name in sorted(statement.names.uses - part.binds):
                at_once = name in statement.names.now
                used = self.part(part.code, name, places[id(statement)] if at_once else part.before)
                if used is not None:
                    part.uses[name] = used
                    part.now |= {name} if at_once else set()
                elif name not in ALWAYS_THERE:
                    part.missing.add(name)

    def merge(self):
        """Make one of parts that are the same: imports, and helpers that stand in several
        notebooks.
        """
        first, same = {}, {}
        for part in self.found.values():
            same[id(part)] = first.setdefault(part.signature(), part)
        for part in [*self.exercises.values(), *self.found.values()]:
            part.uses = {name: same.get(id(used), used) for name, used in part.uses.items()}
        self.helpers = list(first.values())

    def give_names(self):
        """Let each name of the module mean one thing: exercises keep theirs, imports come before
        helpers, then who comes first.
        """
        taken = {name: "built in" for name in ALWAYS_THERE} | {
            name: part for name, part in self.exercises.items()
        }
        ordered = [
            *self.exercises.values(),
            *sorted(self.helpers, key=lambda part: not part.is_import),
        ]
        for part in ordered:
            for name in sorted(part.binds):
                package = None if part.exercise else part.statements[0].root
                claim = ("package", package) if package else part
                part.names[name] = free_name(name, part.code.stem, taken, claim)
                taken[part.names[name]] = claim

    def in_order(self):
        """Return the parts that are no imports, each after what it needs to run, and helpers before
        who uses them.
        """
        visited, ordered = set(), []

        def visit(part):
            if id(part) not in visited and not part.is_import:
                visited.add(id(part))
                for used in part.uses.values():
                    if used.exercise is None:
                        visit(used)
                ordered.append(part)

        for part in self.exercises.values():
            visit(part)
        placed, result = set(), []
        while ordered:
            ready = next(
                (part for part in ordered if not (needed_by(part) & set(map(id, ordered)))),
                ordered[0],
            )
            ordered.remove(ready)
            placed.add(id(ready))
            result.append(ready)
        return result

    def imports(self):
        """Return the lines to import with, sorted; parts of the language first."""
        needed = [part for part in self.helpers if part.is_import and part.names]
        lines = {import_line(statement, part) for part in needed for statement in part.statements}
        codes = {
            id(part.code): part.code
            for part in [*self.exercises.values(), *self.helpers]
            if part.yours
        }
        for code in codes.values():
            lines |= {
                each.text
                for each in code.statements
                if each.is_import and each.text.startswith("from __future__")
            }
        stars = {
            statement.text
            for part in self.helpers
            for statement in part.statements
            if statement.is_star
        }
        return lines_in_groups(lines | stars)


def needed_by(part):
    """Return the ids of the parts that must stand before one: what it uses at once, and all that
    those use.
    """
    found, waiting = {}, [part.uses[name] for name in part.now]
    while waiting:
        each = waiting.pop()
        if id(each) not in found and each is not part:
            found[id(each)] = each
            waiting += each.uses.values()
    return set(found)


def free_name(name, stem, taken, claim):
    """Return a name that nothing else has: the same, or one with the chapter's number behind it."""
    chapter, number = stem.partition("_")[0], 1
    candidate = name
    while taken.get(candidate, claim) != claim:
        candidate = f"{name}_{chapter}" if number == 1 else f"{name}_{chapter}_{number}"
        number += 1
    return candidate


def import_line(statement, part):
    """Return an import under the name that its part was given."""
    if statement.root or statement.is_star:
        return statement.text
    (alias,) = statement.node.names
    new = part.names[alias.asname or alias.name]
    again = ast.alias(alias.name, None if new == alias.name else new)
    if isinstance(statement.node, ast.Import):
        return ast.unparse(ast.Import([again]))
    return ast.unparse(ast.ImportFrom(statement.node.module, [again], statement.node.level))


def lines_in_groups(lines):
    """Sort imports: `__future__`, imports of everything, the standard library, the others, with a
    line between the groups.
    """
    groups = {}
    for line in sorted(lines, key=lambda line: (line.startswith("from "), line)):
        package = re.split(r"[ .]", line)[1]
        if package == "__future__":
            rank = 0
        elif line.endswith("*"):
            rank = 1
        else:
            rank = 2 if package in sys.stdlib_module_names else 3
        groups.setdefault(rank, []).append(line)
    return "\n\n".join("\n".join(groups[rank]) for rank in sorted(groups))
