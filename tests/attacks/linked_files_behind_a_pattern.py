"""Brings links to the grader's files in a folder whose name is a pattern, so that what passes files
over may pass over the wrong ones.
"""

import json

LEARNER = "*[a-z]?{x,y}"


def write(folder, notebook):
    (folder / "ch04_attention.ipynb").write_text(json.dumps(notebook))
    (folder / "data.csv").symlink_to("../../secret.txt")
    (folder / ".hidden").symlink_to("../../../secret.txt")
