"""Puts a class, a number, a module, a partial with no signature and a metaclass where functions
should be.
"""

# %%
import functools


class Meta(type):
    def __call__(cls, *arguments, **named):
        return True

    def __instancecheck__(cls, other):
        return True


class Anything(metaclass=Meta):
    __signature__ = "none"
    __name__ = __qualname__ = "softmax"


# %% softmax
softmax = Anything

# %% attention_scores
attention_scores = functools.partial(max)

# %% scaled_dot_product_attention
scaled_dot_product_attention = np

# %% softmax_backward
softmax_backward = 1.5
