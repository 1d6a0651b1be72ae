"""Handed in a folder without the notebook in it, and is told so, where stock nbgrader says
nothing.
"""

EARNS = {}


def write(folder, notebook):
    (folder / "notes.txt").write_text("the notebook is still on my other machine")
