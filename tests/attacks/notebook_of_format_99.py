"""Hands in a notebook of a format that does not exist yet, and cells in worksheets as the third had
them.
"""


def hand_in(notebook):
    return {
        "nbformat": 99,
        "nbformat_minor": -1,
        "worksheets": [{"cells": notebook["cells"]}],
        "metadata": {},
    }
