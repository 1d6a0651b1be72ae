"""Leaves numbers as the results of its cells, the first of which stock nbgrader takes for the
score.
"""

# %%
0.0


# %% softmax
def softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


0.0
