"""Hands in a second notebook of another chapter and one without a name beside the blank one, to be
graded in its place.
"""

import json

from tests.conftest import solved_notebook


def write(folder, notebook):
    right = json.dumps(solved_notebook("ch04_attention"))
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    for name in (
        "ch01_embeddings.ipynb",
        "ch04_attention(1).ipynb",
        ".ipynb",
        "CH04_ATTENTION.IPYNB",
    ):
        (folder / name).write_text(right)
