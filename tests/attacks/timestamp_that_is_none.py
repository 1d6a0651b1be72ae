"""Brings a timestamp that is no time, at which stock nbgrader ends the run for everybody behind."""

import json


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    (folder / "timestamp.txt").write_text("in a while, \x1b[31mcrocodile\n" * 1_000)
