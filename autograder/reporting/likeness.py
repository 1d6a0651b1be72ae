"""Which notebooks of a class are alike, and which are the published solution: remarks for human
eyes, which change no score.

Two solutions are compared without what a copier changes first: names, comments, docstrings, layout,
and what an error says. Short functions come out the same by chance, so a remark is about whole
notebooks, and about what few others in the class wrote.
"""

import ast
import copy
import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import median

from autograder.authoring.loading import solution_sources
from autograder.authoring.released import MISSING, stubs
from autograder.reporting.code import children_of, facts_of
from autograder.reporting.flags import own_cells
from autograder.reporting.reader import Flag
from autograder.reporting.shared_answers import circles

SLOW_FACTOR, SLOW_SECONDS = 4, 5.0  # slow is: so many times the median, and so much above it
# Sizes count the parts of a syntax tree, the small ones such as operators apart. The four exercises
# of chapter 4 have about 100 together, and two honest people who write them the usual way agree on
# all. On 150 parts that few others wrote, they do not agree by chance.
SAME_SIZE = 150
REFERENCE_SIZE = 80
OUTSIDERS = 0.02  # of the class: what more of the others wrote too is a usual way to write it
SAME_COMMENTS = 60  # characters of comments of one's own: nobody writes the same ones twice

SKIPPED = {"annotation", "returns", "type_comment", "ctx", "kind", "type_params", "decorator_list"}
SKIPPED |= {"lineno", "col_offset", "end_lineno", "end_col_offset"}
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")  # of a statement
SMALL = (
    ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop | ast.arguments | ast.arg
)


@dataclass(frozen=True)
class Print:
    """What of a solution stays when names, comments and layout are taken away.

    Args:
        digest: equal for solutions that differ in nothing else.
        size: parts of the syntax tree.
        letters: hash of the source as it stands.
        comments: characters of the comments.
    """

    digest: str
    size: int
    letters: str
    comments: int


@lru_cache(maxsize=50_000)
def print_of(source):
    """Return what of a solution stays without names, comments, docstrings and layout; None where it
    is no Python.
    """
    try:
        facts = facts_of(source)
        if facts is None:
            return None
        normal = Normal(facts.tree, chosen_in(facts.tree))
    except RecursionError:
        return None
    comments = sum(len(comment.strip()) for comment in re.findall(r"#(?!##)(.*)", source))
    return Print(digest_of(normal.text), normal.size, digest_of(source), comments)


def digest_of(text):
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


class Normal:
    """A syntax tree written down, with numbers in place of the names that its author chose.

    Args:
        tree: what to write.
        chosen: those names.

    Raises:
        RecursionError: where it is nested more deeply than a person writes.
    """

    def __init__(self, tree, chosen):
        self.size, self.words, self.chosen = 0, [], chosen
        self.numbers = {}  # name -> its number
        self.write(tree)
        self.text = " ".join(self.words)

    def write(self, node):
        kind = node.__class__
        if not issubclass(kind, SMALL):
            self.size += 1
        if kind is ast.Name:
            self.words.append(self.name_of(node.id))
        elif kind is ast.Attribute and node.value.__class__ is ast.Name and node.value.id == "self":
            self.words += ("self .", self.name_of("." + node.attr))
        elif kind is ast.Raise:  # what an error says is prose
            self.words.append("raise")
        else:
            self.words += (kind.__name__, "(")
            for field, value in node.__dict__.items():
                if field not in SKIPPED and value is not None:
                    # keywords and aliases name what others chose
                    self.write_part("" if kind in (ast.keyword, ast.alias) else field, value)
            self.words.append(")")

    def write_part(self, field, value):
        if isinstance(value, list):
            self.words.append("[")
            for each in without_prose(value) if field == "body" else value:
                self.write_part("", each)
            self.words.append("]")
        elif isinstance(value, ast.AST):
            self.write(value)
        else:
            named = field in ("name", "arg") and isinstance(value, str)
            self.words.append(self.name_of(value) if named else literal(value))

    def name_of(self, name):
        return (
            f"_{self.numbers.setdefault(name, len(self.numbers))}" if name in self.chosen else name
        )


def literal(value):
    """Write a constant down; Python writes whole numbers of thousands of digits in hexadecimal
    alone.
    """
    return hex(value) if type(value) is int else repr(value)


def chosen_in(tree):
    """Return the names that an author is free to choose; attributes of `self` with a dot in
    front.
    """
    chosen, todo = set(), [tree]
    while todo:
        node = todo.pop()
        match node:
            case (
                ast.Name(ctx=ast.Store(), id=name)
                | ast.arg(arg=name)
                | ast.ExceptHandler(name=str(name))
            ):
                chosen.add(name)
            case ast.Attribute(ctx=ast.Store(), attr=name, value=ast.Name(id="self")):
                chosen.add("." + name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if not name.startswith("__"):
                chosen |= {name, "." + name}
        todo += children_of(node)
    return chosen


def without_prose(body):
    """Return statements without docstrings and other texts that stand alone, and without `pass`."""
    return [
        each
        for each in body
        if not isinstance(each, ast.Pass)
        and not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
    ]


@lru_cache(maxsize=1000)
def statements_of(source):
    """Return what stays of each statement without those within it, in their order."""
    tree = facts_of(source).tree
    chosen, found, todo = chosen_in(tree), [], without_prose(tree.body)[::-1]
    while todo:
        head, inside = copy.copy(todo.pop()), []
        for field in BODIES:
            inside += without_prose(head.__dict__.pop(field, []))
        found.append(digest_of(Normal(head, chosen).text))
        todo += inside[::-1]
    return tuple(found)


@cache
def reference_prints(stem):
    """Return the print of each exercise's published solution."""
    return {exercise: print_of(source) for exercise, source in solution_sources(stem).items()}


def written_in(stem, notebook):
    """Return the source of each exercise that a learner wrote something for and that earned
    something.
    """
    record = notebook["metadata"]["autograder"]
    earned = {cell["exercise"] for cell in record["cells"] if cell["score"] > 0}
    return {
        exercise: source
        for exercise, source in own_cells(notebook)
        if exercise in earned and source not in (stubs(stem).get(exercise), MISSING)
    }


def prints_of(stem, notebook):
    """Return the print of each exercise of `written_in`."""
    written = written_in(stem, notebook).items()
    return {exercise: each for exercise, source in written if (each := print_of(source))}


def flags_of_reference(stem, notebook):
    """Return a remark if much of a notebook is the published solution."""
    published, sources = reference_prints(stem), solution_sources(stem)
    same = [
        name
        for name, source in written_in(stem, notebook).items()
        if name in published and holds(source, sources[name])
    ]
    if sum(published[name].size for name in same) < REFERENCE_SIZE:
        return []
    which = "every exercise" if len(same) == len(published) else ", ".join(same)
    text = f"{which}: the published solution, but for names, layout and what was added"
    return [Flag("reference", text)]


def holds(source, published):
    """Return whether a solution is a published one, or has all of its statements among others."""
    one, other = print_of(source), print_of(published)
    if one is None or one.size <= other.size:
        return one is not None and one.digest == other.digest
    rest = iter(statements_of(source))
    return all(statement in rest for statement in statements_of(published))


def flags_of_class(stem, prints, files, seconds):
    """Return the remarks that need the whole class.

    Args:
        stem: the chapter.
        prints: learner -> exercise -> Print.
        files: learner -> SHA-256 of the file that was handed in.
        seconds: learner -> how long grading took.

    Returns:
        dict: learner -> list[Flag].
    """
    found = defaultdict(list)
    same = [*same_files(prints, files), *same_solutions(stem, prints, files)]
    groups = {flag.group for _, flag in same}
    for learner, flag in [*slow(seconds), *same, *several_answers(stem, prints, files, groups)]:
        found[learner].append(flag)
    return found


def slow(seconds):
    """Yield (learner, flag) for those far above the median."""
    middle = median(seconds.values()) if seconds else 0
    for learner, taken in seconds.items():
        if taken > SLOW_FACTOR * middle and taken > middle + SLOW_SECONDS:
            yield learner, Flag("slow", f"{taken:.0f} s, where the median is {middle:.1f} s")


def same_files(prints, files):
    """Yield (learner, flag) for those who handed in one and the same file, in which something is
    solved.
    """
    groups = defaultdict(list)
    for learner, sha256 in files.items():
        if prints.get(learner):
            groups[sha256].append(learner)
    for group in groups.values():
        if len(group) > 1:
            # one for all of them: a group may be the whole class
            flag = Flag("same", "the same file, byte for byte", group=tuple(sorted(group)))
            yield from ((learner, flag) for learner in group)


def same_solutions(stem, prints, files):
    """Yield (learner, flag) for those whose solved exercises all agree, and are too long to agree
    by chance.

    What is the published solution does not count, since it may have been read by both; nor does
    what several outside of the group wrote too, since it is a usual way to write it. What is left
    must have `SAME_SIZE` parts, or comments of their own that agree to the letter.
    """
    published = digests_of_reference(stem)
    writers = Counter(
        (name, each.digest) for solved in prints.values() for name, each in solved.items()
    )
    # at least one, so that a third friend who changed an exercise hides nothing
    outsiders = max(1, OUTSIDERS * len(prints))
    for group in groups_of_equals(prints):
        if len({files.get(learner) for learner in group}) == 1:
            continue  # `same_files` says so
        solved = [prints[learner] for learner in group]
        rare = [
            name
            for name, each in sorted(solved[0].items())
            if published.get(name) != each.digest
            and writers[name, each.digest] <= len(group) + outsiders
        ]
        if how := how_they_agree(rare, solved):
            flag = Flag("same", f"{', '.join(rare)}: the same, {how}", group=tuple(sorted(group)))
            yield from ((learner, flag) for learner in group)


def several_answers(stem, prints, files, listed):
    """Yield (learner, flag) for those who share several rare answers, though not all of theirs.

    Args:
        listed: groups that are remarked already, tuples of learners.
    """
    for group, names in circles(prints, digests_of_reference(stem)):
        if len({files.get(learner) for learner in group}) > 1 and not any(
            set(group) <= set(each) for each in listed
        ):
            text = f"{', '.join(names)}: the same, but for names, comments and layout"
            flag = Flag("same", text, group=group)
            yield from ((learner, flag) for learner in group)


def digests_of_reference(stem):
    """Return the digest of each exercise's published solution."""
    return {name: each.digest for name, each in reference_prints(stem).items() if each}


def groups_of_equals(prints):
    """Return the groups of two or more learners whose solved exercises all agree."""
    groups = defaultdict(list)
    for learner, solved in prints.items():
        if solved:
            digests = tuple((name, each.digest) for name, each in sorted(solved.items()))
            groups[digests].append(learner)
    return [group for group in groups.values() if len(group) > 1]


def how_they_agree(rare, solved):
    """Say how far solutions are the same; None where they may agree by chance.

    Args:
        rare: the exercises that few others wrote that way.
        solved: exercise -> Print, of each learner in the group.
    """
    to_the_letter = [name for name in rare if len({each[name].letters for each in solved}) == 1]
    size = sum(solved[0][name].size for name in rare)
    comments = sum(solved[0][name].comments for name in to_the_letter)
    if size < SAME_SIZE and comments < SAME_COMMENTS:
        return None
    if rare == to_the_letter:
        return "to the letter, comments included"
    return "but for names, comments and layout"
