"""Hands in a file that nobody has the right to read."""

import json


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    (folder / "ch04_attention.ipynb").chmod(0)
    (folder / "more.txt").write_text("more")
    (folder / "more.txt").chmod(0)
