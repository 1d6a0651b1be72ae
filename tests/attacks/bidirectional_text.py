"""Turns the direction of writing in what it prints, raises, names and writes as source, so that
wrong code reads as right.
"""

LEARNER = "right\u202etfel\u2066"

# %%
print("\u202edessap sesac lla\u202c \u2066 \u2067 \u2068 \u200b \u200f")


# %% softmax
def softmax(scores, axis=-1):
    # \u202e } ⁦ the line below is a comment ⁩ ⁦
    raise ValueError("\u202ethgir si siht\u2069\u202c")  # ‮ thgir ‬


# %% attention_scores
def attention_scores(query, key):
    return "\u202ethgir"
