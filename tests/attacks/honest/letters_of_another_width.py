"""Writes names in full-width letters, as a keyboard for Japanese gives them; Python takes both for
the same name.
"""


# %% softmax
def ｓｏｆｔｍａｘ(ｓｃｏｒｅｓ, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
