"""One chapter's module of an export: the statements of the learner's notebook that its exercises
need, in their order, with the course's part where an exercise is the course's.
"""

import ast
import builtins
import textwrap
from dataclasses import dataclass, field

from autograder.authoring.released import (
    about,
    carries_points,
    is_added,
    is_solution,
    solutions_in,
    title_of,
)
from autograder.export.statements import FUTURE, Statement, statements_of
from autograder.shared.wire import printable

WIDTH = 98
ALWAYS_THERE = {*dir(builtins), "__name__", "__file__", "__doc__", "__builtins__"}
ATTENTION, LUXURY = "MultiHeadAttention", "need_weights"
ADAPTER = f"""\
# Layers may say {LUXURY}=False, and your class does not take it. Here it is taken, and makes no
# difference.
_own_forward = {ATTENTION}.forward


def _forward_with_{LUXURY}(self, query, key, value, mask=None, {LUXURY}=True):
    return _own_forward(self, query, key, value, mask)


{ATTENTION}.forward = _forward_with_{LUXURY}"""


@dataclass
class Needs:
    """What an exercise rests on.

    Args:
        places: of the statements that it needs, in its module.
        names: all that it uses, through its helpers, up to other exercises.
        missing: those that nothing defines.
    """

    places: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)


class Chapter:
    """The module of one chapter.

    Args:
        stem: of the chapter.
        notebook: the learner's, rebuilt, or the course's own.
        standings: exercise -> Standing, of all chapters.
        parts: exercise -> source of the course's part, for each that is the course's.
    """

    def __init__(self, stem, notebook, standings, parts):
        self.stem = stem
        self.standings = standings
        self.parts = parts
        self.statements = []
        self.futures = {}  # imports from __future__, which come first in a module
        self.asked = {}  # exercise -> how many statements come before its check
        for cell in notebook.cells:
            if cell.cell_type == "code":
                self.add_cell(cell)

    def add_cell(self, cell):
        """Take up the statements of a cell, those of a solution that is the course's replaced."""
        name = about(cell).get("grade_id", "")
        if carries_points(cell):
            self.asked[name.split("_", 1)[1]] = len(self.statements)
            return
        found = statements_of(cell.source, yours=is_solution(cell) or is_added(cell))
        course = []
        if is_solution(cell) and not self.standings[name].yours:
            course = self.course_part(name)
        # an exercise stays what it was when it was checked, and what the course gives replaces
        # all that bears its name
        settled = set(self.asked) | self.of_the_course()
        settled |= set().union(*(each.binds for each in course))
        for statement in found:
            if statement.text.startswith(FUTURE):
                self.futures.setdefault(statement.text)
            elif not (statement.binds & settled or statement.changes in settled):
                self.statements += self.from_package(statement)
        self.statements += course
        if name == ATTENTION and self.lacks_luxury():
            self.statements.append(Statement(ADAPTER, set(), {ATTENTION}, changes=ATTENTION))

    def of_the_course(self):
        """Return the exercises of this chapter that are the course's."""
        return {
            each.exercise
            for each in self.standings.values()
            if each.stem == self.stem and not each.yours
        }

    def course_part(self, exercise):
        """Return the statements that bring the course's part, the first with the reason above."""
        statements = statements_of(self.parts[exercise])
        written_out = "" if statements[0].is_import else ", written out to work with parts of yours"
        why = printable(self.standings[exercise].why)
        told = textwrap.wrap(f"The course's {exercise}{written_out}: {why}", WIDTH)
        comment = "".join(f"# {line}\n" for line in told)
        statements[0].text = comment + statements[0].text
        return statements

    def lacks_luxury(self):
        """Return whether attention is the learner's, and takes no `need_weights`."""
        texts = [each.text for each in self.statements if ATTENTION in each.binds]
        return self.standings[ATTENTION].yours and LUXURY not in "".join(texts[-1:])

    def from_package(self, statement):
        """Return a statement, with an exercise that it imports from an earlier chapter of the
        course taken from the package instead.
        """
        match ast.parse(statement.text).body[0]:
            case ast.ImportFrom(module=str(module), names=[alias]):
                package, _, stem = module.partition(".")
            case _:
                return [statement]
        theirs = [each.exercise for each in self.standings.values() if each.stem == stem]
        if package != "solutions" or not stem < self.stem:
            return [statement]
        if alias.name in theirs:
            statement.text = ast.unparse(ast.ImportFrom(stem, [alias], 1))
        brought = f"from .{stem} import {', '.join(theirs)}" if statement.is_star and theirs else ""
        return [statement, *statements_of(brought, statement.yours)]

    def needs(self, exercise):
        """Return the Needs of an exercise: what gave a value to a name that it uses, or changed it,
        before its check.
        """
        needs, waiting = Needs(), {exercise}
        before = self.statements[: self.asked[exercise]]
        imported = set().union(*(each.binds for each in before if each.is_import))
        while waiting:
            name = waiting.pop()
            needs.names.add(name)
            if name in self.asked and name != exercise:
                continue
            provided = False
            for place, each in enumerate(before):
                if name in each.binds or (name == each.changes and name not in imported):
                    needs.places.add(place)
                    waiting |= each.uses - needs.names
                    provided |= name in each.binds
            if not provided and name not in ALWAYS_THERE:
                needs.missing.add(name)
        stars = {place for place, each in enumerate(before) if each.is_star}
        if needs.missing and stars:  # nobody knows what they bring
            needs.places |= stars
            needs.missing = set()
        return needs

    def is_collectable(self, exercise):
        """Return whether what bears an exercise's name is the learner's own code."""
        makers = [
            each for each in self.statements[: self.asked[exercise]] if exercise in each.binds
        ]
        return bool(makers) and makers[-1].yours and "from solutions." not in makers[-1].text

    def bound_again(self, exercise):
        """Return the names that an exercise uses and that the module gives another value after its
        check.
        """
        known = {each.text for each in self.statements[: self.asked[exercise]]}
        later = [self.statements[place] for place in self.kept() if place >= self.asked[exercise]]
        bound = set().union(*(each.binds for each in later if each.text not in known))
        return sorted(self.needs(exercise).names & bound)

    def kept(self):
        """Return the places of the statements of the module, in order."""
        return sorted(set().union(*(self.needs(exercise).places for exercise in self.asked)))

    def text(self):
        """Return the module."""
        return self.written()[0]

    def exercises_at(self, line):
        """Return the exercises that need what is in some line of the module, counted from 1."""
        _, first_lines = self.written()
        reached = [place for place, first in first_lines.items() if first <= line]
        return [name for name in self.asked if set(reached[-1:]) & self.needs(name).places]

    def written(self):
        """Return the text of the module, and the line at which each statement begins."""
        lines = self.heading().split("\n")
        lines += ["", *self.futures] if self.futures else []
        first_lines, previous = {}, None
        for place in self.kept():
            statement = self.statements[place]
            together = previous is not None and previous.is_import and statement.is_import
            lines += [] if together else [""] if previous is None else ["", ""]
            first_lines[place] = len(lines) + 1
            lines += statement.text.strip("\n").split("\n")
            previous = statement
        return "\n".join(lines) + "\n", first_lines

    def heading(self):
        """Return the docstring: which chapter this is, and whose its parts are."""
        lines = [f"{int(self.stem[2:4])}. {title_of(self.stem)}."]
        for whose, yours in (("Yours", True), ("The course's", False)):
            names = ", ".join(name for name in self.asked if self.standings[name].yours == yours)
            lines += [f"{whose}: {names}."] if names else []
        return '"""' + "\n\n".join(textwrap.fill(each, WIDTH) for each in lines) + '\n"""'


def chapters_of(standings, own, references):
    """Return stem -> Chapter.

    Args:
        standings: list of Standing.
        own: stem -> the learner's rebuilt notebook, where there is one.
        references: stem -> the course's own notebook.
    """
    by_name = {standing.exercise: standing for standing in standings}
    parts = course_parts(standings, references)
    stems = dict.fromkeys(standing.stem for standing in standings)
    return {stem: Chapter(stem, own.get(stem, references[stem]), by_name, parts) for stem in stems}


def course_parts(standings, references):
    """Return exercise -> source of the course's part: an import or, where a part of the learner's
    is to work in it, the course's code, which then finds the learner's part under its name.
    """
    parts = {}
    theirs = {standing.exercise for standing in standings if standing.yours}
    for standing in standings:
        if standing.yours:
            continue
        source = solutions_in(references[standing.stem])[standing.exercise]
        uses = set().union(*(each.uses for each in statements_of(source)))
        if uses & theirs:
            theirs.add(standing.exercise)
        else:
            source = f"from solutions.{standing.stem} import {standing.exercise}"
        parts[standing.exercise] = source
    return parts
