"""Brings a timestamp of the first day there is, which is no day west of Greenwich."""

import json


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    (folder / "timestamp.txt").write_text("0001-01-01 00:00:00 UTC")
