"""Hands in an archive of a few kilobytes that unpacks to gigabytes, under the notebook's name and
beside it.
"""

import gzip


def write(folder, notebook):
    bomb = gzip.compress(b"\0" * 20_000_000)
    for name in ("ch04_attention.ipynb", "ch04_attention.ipynb.gz", "notebook.zip", "more.npz"):
        (folder / name).write_bytes(bomb)
