"""Writes six hundred of IPython's commands where none is ever run; IPython gives up on them."""

COMMANDS = "if 0:\n" + "    %x\n" * 600


def hand_in(notebook):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].insert(3, {**cell, "source": COMMANDS})
    return notebook
