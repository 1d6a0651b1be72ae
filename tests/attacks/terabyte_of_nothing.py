"""Hands in files of a terabyte that are one hole, as the notebook and beside it."""


def write(folder, notebook):
    for name in ("ch04_attention.ipynb", "data.bin"):
        with open(folder / name, "wb") as file:
            file.truncate(2**40)
