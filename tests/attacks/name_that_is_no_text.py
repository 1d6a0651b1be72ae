"""Has bytes in the name of the learner's folder that are no text in UTF-8, as old archives unpack,
which no database takes.
"""

EARNS = None  # not graded, as the log says, and nobody else is the worse for it
LEARNER = "ad\udce8le"


# %% softmax
def softmax(scores, axis=-1):
    return scores
