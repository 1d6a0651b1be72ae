"""Hands in a link to a classmate's solution under another name, as the only notebook."""


def write(folder, notebook):
    (folder / "mine.ipynb").symlink_to("../../!first/ch04_attention/ch04_attention.ipynb")
