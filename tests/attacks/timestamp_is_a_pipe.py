"""Brings a named pipe for a timestamp, at which a reader waits for ever."""

import json
import os


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    os.mkfifo(folder / "timestamp.txt")
