"""Prints, writes to stderr, displays and clears without end, from the cell and from a question."""

# %%
import sys

from IPython.display import clear_output, display

while True:
    print("flood " * 10_000)
    print("flood " * 10_000, file=sys.stderr)
    display({"text/plain": "flood " * 10_000, "text/html": "<b>" * 10_000}, raw=True)
    clear_output()


# %% softmax
def softmax(scores, axis=-1):
    while True:
        print("flood " * 1_000)
