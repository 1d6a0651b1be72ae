"""Submissions that try to cheat, to break out, or to break the grader, and honest ones that stock
nbgrader wrongs.

Each is one file, whose docstring says in a sentence what it tries. Its cells are in the percent
format: `# %% softmax` is what the learner wrote into that exercise, a plain `# %%` a cell that they
added after the setup cell. What is not mentioned stays the stub in an attack, and is the
reference's solution in an honest submission. Before the first cell a file may define

    STEM      the chapter, where that is another than attention
    EARNS     points by exercise, where an attack earns any; an honest submission earns all, unless
              it says otherwise; None: no score
    FLAGGED   kinds of remarks about its code that the instructor must see, and no others: "library",
              "looks", "reference"
    LEARNER   the name of the learner's folder
    hand_in   hand_in(notebook) -> dict, str or bytes: what is handed in instead, made of the
              notebook as a dictionary
    write     write(folder, notebook): puts into the learner's folder what is handed in

In a cell, `asked("talk")` is what the grader's asking calls so, in the frames around the cell: the
channel to it, the `request`, the `questions`. How it is found is put before such a cell here.

`seldom.txt` names the files that only `make test-long-attacks` grades, because one of each kind is enough
for `make test`. A new file is not in it, so `make test` grades it, too.
"""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat

from autograder.course import notebook_of
from tests.conftest import solved_notebook

STEM = "ch04_attention"
FOLDER = Path(__file__).parent
MARK = re.compile(r"^# %%(.*)\n", re.MULTILINE)
ASKED = """
def asked(name):
    import sys

    frame = sys._getframe()
    while name not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals[name]


"""
MAGIC = re.compile(r"^# (?=!|%\w)", re.MULTILINE)  # `# !ls` in a file is `!ls` in the notebook


@dataclass(frozen=True)
class Submitted:
    """What one of the files hands in.

    Args:
        name: of the file.
        sentence: what it tries.
        honest: whether it keeps its points.
        cells: (exercise or "", source) of each cell.
        defined: what the file defines before its first cell.
    """

    name: str
    sentence: str
    honest: bool
    cells: tuple[tuple[str, str], ...]
    defined: dict = field(repr=False)

    @property
    def stem(self):
        return self.defined.get("STEM", STEM)

    @property
    def learner(self):
        return self.defined.get("LEARNER", self.name)

    def earns(self):
        """Return the points it should get, or None if it should not be graded."""
        earns = self.defined.get("EARNS", points_of(self.stem) if self.honest else {})
        return None if earns is None else sum(earns.values())

    def notebook(self):
        """Return the notebook with the file's cells in it."""
        solutions = {exercise: source for exercise, source in self.cells if exercise}
        extras = [source for exercise, source in self.cells if not exercise]
        stubs = (
            {}
            if self.honest
            else {cell.metadata.nbgrader.grade_id: None for cell in solution_cells(self.stem)}
        )
        return solved_notebook(self.stem, {**stubs, **solutions}, extras)

    def write(self, folder):
        """Put into a learner's folder what the file hands in."""
        folder.mkdir(parents=True)
        notebook = json.loads(nbformat.writes(self.notebook()))
        if "write" in self.defined:
            self.defined["write"](folder, notebook)
            return
        content = self.defined["hand_in"](notebook) if "hand_in" in self.defined else notebook
        content = json.dumps(content) if isinstance(content, dict) else content
        content = content.encode() if isinstance(content, str) else content
        (folder / f"{self.stem}.ipynb").write_bytes(content)


def solution_cells(stem):
    """Return the cells of a released notebook that a learner completes."""
    cells = nbformat.read(notebook_of(stem), as_version=4).cells
    return [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]


@cache
def points_of(stem):
    """Return the points of each exercise of a chapter."""
    points = {}
    for cell in nbformat.read(notebook_of(stem), as_version=4).cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade"):
            name = about.grade_id.partition("_")[2]
            points[name] = points.get(name, 0) + about.points
    return points


def read(path):
    """Read one of the files."""
    head, *parts = MARK.split(path.read_text(encoding="utf-8"))
    defined = {"__name__": path.stem}
    exec(compile(head, path, "exec"), defined)
    sources = [MAGIC.sub("", source).strip() for source in parts[1::2]]
    sources = [(ASKED if 'asked("' in source else "") + source for source in sources]
    cells = tuple(zip(map(str.strip, parts[0::2]), sources, strict=True))
    return Submitted(path.stem, defined["__doc__"], path.parent != FOLDER, cells, defined)


def attacks():
    """Return the dishonest submissions by name."""
    return {path.stem: read(path) for path in sorted(FOLDER.glob("[a-z]*.py"))}


def honest():
    """Return the honest submissions by name."""
    return {path.stem: read(path) for path in sorted((FOLDER / "honest").glob("[a-z]*.py"))}
