"""Hands in JSON that is no notebook: a list with a score in it."""


def hand_in(notebook):
    return '[{"score": 1000}, 2, 3]'
