"""Hands the notebook in under a name that holds markup, escapes and a direction mark."""

import json


def write(folder, notebook):
    (folder / "<script>alert(1)<\u2215script>\x1b[31m\u202e\n.ipynb").write_text(
        json.dumps({**notebook, "cells": 7})
    )
