"""Ends a cell in a typing error that IPython's own reading of commands stumbles over."""


def hand_in(notebook):
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].insert(3, {**cell, "source": 'seq_len = 5\nx = %"""'})
    return notebook
