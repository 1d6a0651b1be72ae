"""Loops without end inside compiled code, where no interrupt of Python's is looked at."""


# %% softmax
def softmax(scores, axis=-1):
    import re

    return re.match(r"(a+)+$", "a" * 60 + "b")


# %% attention_scores
def attention_scores(query, key):
    return 9 ** (9**9)


# %% softmax_backward
def softmax_backward(weights, grad_weights):
    return sum(range(10**18))
