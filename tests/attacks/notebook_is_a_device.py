"""Hands in a link to a device that never ends, as the notebook and beside it."""


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").symlink_to("/dev/zero")
    (folder / "words.txt").symlink_to("/dev/zero")
