"""Brings a link to a file of the grader for a timestamp, whose content an error message might
quote.
"""

import json


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    (folder / "timestamp.txt").symlink_to("../../../secret.txt")
