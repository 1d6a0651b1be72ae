"""Raises exceptions, returns strings, names types and writes lines that are megabytes long, where
messages quote them.
"""

# %%
Long = type("L" * 1_000_000, (Exception,), {})
print("x" * 30_000_000)


# %% softmax
def softmax(scores, axis=-1):
    raise Long("m" * 10_000_000 + "\n" * 1_000_000)


# %% attention_scores
def attention_scores(query, key):
    return "r" * 10_000_000


# %% softmax_backward
def softmax_backward(weights, grad_weights):
    return Long()
