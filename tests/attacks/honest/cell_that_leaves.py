"""Ends its kernel with a cell that was only meant to stop the notebook, after all exercises were
solved.
"""


def hand_in(notebook):
    notebook["cells"].append(
        {
            "cell_type": "code",
            "source": "exit()",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
    )
    notebook["cells"].append(
        {
            "cell_type": "code",
            "source": "import sys; sys.exit(0)",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
    )
    return notebook
