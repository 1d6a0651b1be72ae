"""Returns longdouble, complex, object, string and structured arrays, and arrays that lie outside of
their memory.
"""


# %% softmax
def softmax(scores, axis=-1):
    kinds = [np.longdouble, complex, object, "U8", [("a", "f8")], "M8[s]"]
    return np.zeros(scores.shape, dtype=kinds[np.random.randint(len(kinds))])


# %% attention_scores
def attention_scores(query, key):
    return np.lib.stride_tricks.as_strided(np.zeros(1), shape=(2, 2), strides=(2**30, 2**30))
