"""Writes hundreds of commands into a long cell, which IPython reads from its top for each."""

COMMANDS = "a = [0]\n" * 20_000 + "!y\n" * 450


def hand_in(notebook):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].insert(3, {**cell, "source": COMMANDS})
    return notebook
