"""Hands in a folder that can be seen but not entered, with a notebook and a timestamp in it."""

import json


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    (folder / "timestamp.txt").write_text("2026-01-01 00:00:00 UTC")
    folder.chmod(0o000)
