"""Hands in twenty thousand cells, each of which ends the process, so that it is started twenty
thousand times.
"""


def hand_in(notebook):
    cell = {
        "cell_type": "code",
        "source": "import os; os._exit(0)",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    notebook["cells"][2:2] = [cell] * 20_000
    return notebook
