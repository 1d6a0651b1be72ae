"""Hands in a folder under the notebook's name, with a notebook in it."""

import json


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").mkdir()
    (folder / "ch04_attention.ipynb" / "ch04_attention.ipynb").write_text(json.dumps(notebook))
