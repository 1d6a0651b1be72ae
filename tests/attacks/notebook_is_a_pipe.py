"""Hands in a named pipe, at which a reader waits for ever."""

import os


def write(folder, notebook):
    os.mkfifo(folder / "ch04_attention.ipynb")
