"""Hands in a link to a classmate's folder instead of one of its own."""


def write(folder, notebook):
    folder.rmdir()
    folder.symlink_to("../!first/ch04_attention")
