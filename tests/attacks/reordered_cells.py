"""Hands in the cells in reverse, with the checks before what they check."""


def hand_in(notebook):
    notebook["cells"].reverse()
    return notebook


# %% softmax
def softmax(scores, axis=-1):
    return scores
