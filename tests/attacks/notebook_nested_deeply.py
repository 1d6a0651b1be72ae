"""Hands in a million lists, one inside the other."""


def hand_in(notebook):
    return '{"cells":' + "[" * 1_000_000
