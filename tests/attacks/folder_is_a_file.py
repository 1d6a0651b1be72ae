"""Hands in the notebook where its folder should be, under the folder's name."""

import json


def write(folder, notebook):
    folder.rmdir()
    folder.write_text(json.dumps(notebook))
