"""Hands in a program of the machine under the notebook's name, executable."""


def write(folder, notebook):
    path = folder / "ch04_attention.ipynb"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + b"\xff" * 1_000)
    path.chmod(0o4777)
