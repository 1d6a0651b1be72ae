"""Sends sequences that steer a terminal: clear it, retitle it, hide lines, write its clipboard, and
overwrite by carriage returns.
"""

LEARNER = "clear\x1bc\x1b]0;title\x07"

# %%
print(
    "\x1b[2J\x1b[H\x1b[8mhidden\x1b[0m\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\r10/10"
    " points\b\b\x9b31m\x00\x7f"
)


# %% softmax
def softmax(scores, axis=-1):
    raise ValueError("\x1b[1A\x1b[2K\r✓ softmax 2/2\x1b]8;;http://evil\x07link\x1b]8;;\x07")
