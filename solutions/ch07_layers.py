# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The encoder layer
#
# Attention lets positions look at each other, but a deep stack of attention alone makes them all
# alike. In this notebook you build what is missing, in PyTorch: **layer normalisation**, which
# keeps the numbers at one size, the **feed-forward network**, which works on each position by
# itself, and the **layer** that joins them to attention with residual connections.
#
# The chapter of the same name in the book has the pictures. Each exercise below is a statement, a
# class to complete, and a cell that checks it at once. Replace every `raise NotImplementedError` of
# a class with your code, run the cell, run the check. (In the book you see this notebook without
# being able to run it: `make lab` opens a copy of your own.)
#
# The setup cell imports `MultiHeadAttention` and `padding_mask` from the two chapters before, so
# that you can start here even if yours are not finished.

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import padding_mask

# %% [markdown]
# ## 1. Layer normalisation
#
# Take the $d$ features of one position, $x_1, \dots, x_d$. Subtract their mean, divide by their
# spread, and then give each feature a scale and a shift of its own, which are learned:
#
# $$
# \mu = \frac{1}{d} \sum_i x_i, \qquad
# \sigma^2 = \frac{1}{d} \sum_i (x_i - \mu)^2, \qquad
# y_i = \frac{x_i - \mu}{\sqrt{\sigma^2 + \epsilon}} \cdot \text{weight}_i + \text{bias}_i
# $$
#
# For example, `[1, 9, 7, 7]` has the mean 6 and the variance (25 + 9 + 1 + 1) / 4 = 9. A new
# `LayerNorm(4)`, whose `weight` is all ones and whose `bias` is all zeros, turns it into `[-1.6667,
# 1.0000, 0.3333, 0.3333]`.
#
# `x` has any number of axes, and every slice along the last one is normalised by itself. Both
# parameters are `nn.Parameter`s of shape `(d_model,)` with exactly these names. $\epsilon$ is the
# argument `eps`. It prevents a division by 0 where all features of a position are equal, so that
# such a position gets the bias. The result has the dtype of `x`.
#
# *Hint:* a mean along an axis usually drops that axis. Which argument keeps it, so that the
# subtraction lines up? And look up in the documentation of `torch.var` what it divides by unless
# told otherwise.


# %% exercise="LayerNorm" points=4
class LayerNorm(nn.Module):
    """Bring the features of every position to mean 0 and variance 1, then apply a learned gain and
    bias to each.

    Args:
        d_model: features of a position.
        eps: added to the variance, inside the root, so that equal features cause no division by 0.

    Parameters `weight` (d_model,), ones at first, and `bias` (d_model,), zeros at first.

    Source: Ba, Kiros and Hinton 2016.
    """

    def __init__(self, d_model, eps=1e-5):
        ### BEGIN SOLUTION
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        ### END SOLUTION

    def forward(self, x):
        """Normalise over the last axis.

        Args:
            x: (..., d_model) floating.

        Returns:
            like `x`.
        """
        ### BEGIN SOLUTION
        # correction=0 divides by d_model; the default divides by d_model - 1.
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias
        ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_layer_norm
# explore_layer_norm(LayerNorm)
# ```
#
# You will see the four features of the book's page, and on the right, as bars, what your norm
# returns.

# %% [markdown]
# ## 2. The position-wise feed-forward network
#
# Two linear layers with a ReLU between them, applied to every position alike:
#
# $$\operatorname{FFN}(x) = \operatorname{ReLU}(x W_1 + b_1) \, W_2 + b_2$$
#
# `linear_1` widens `d_model` features to `d_ff`, and `linear_2` narrows them again. Both have a
# bias. In between, after the ReLU, comes **dropout**: in train mode it sets each feature to 0 with
# probability `dropout`, and divides those that stay by `1 - dropout`. In eval mode it does nothing.
#
# `nn.Linear` stores the transpose of its matrix: `linear_1.weight` is $W_1^\top$, of shape `(d_ff,
# d_model)`.
#
# For example, let `d_model` be 2 and `d_ff` 3, the rows of `linear_1.weight` be `[1, 0]`, `[0, 1]`
# and `[1, 1]` without a bias, and those of `linear_2.weight` be `[1, 2, 3]` and `[4, 5, 6]` with
# the bias `[0, 1]`. Then `[1, -2]` becomes `[1, -2, -1]`, after the ReLU `[1, 0, 0]`, and at the
# end `[1, 5]`.
#
# You may also make ReLU an optional last parameter, `activation=torch.relu`, which you keep as
# `self.activation` and use between the two layers. Other models have other functions there, and a
# later chapter loads their weights into your network. No check asks for this parameter.
#
# *Hint:* `nn.Linear` works on the last axis and leaves all others as they are. And dropout has to
# know which mode the module is in: use a submodule for it, or look at `self.training`.


# %% exercise="FeedForward" points=3
class FeedForward(nn.Module):
    """Think about each position by itself: widen it, drop what is negative, and narrow it again.

    Args:
        d_model: features of a position, in and out.
        d_ff: features in between.
        dropout: probability with which training sets a feature in between to 0.
        activation: optional; the function between the two layers, kept under this name.

    Submodules `linear_1`, from d_model to d_ff, and `linear_2`, from d_ff to d_model, with ReLU and
    dropout between them.

    Source: Vaswani et al. 2017, section 3.3.
    """

    def __init__(self, d_model, d_ff, dropout=0.0, activation=torch.relu):
        ### BEGIN SOLUTION
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = activation
        ### END SOLUTION

    def forward(self, x):
        """Apply the same two layers at every position.

        Args:
            x: (..., d_model) floating.

        Returns:
            like `x`.
        """
        ### BEGIN SOLUTION
        return self.linear_2(self.dropout(self.activation(self.linear_1(x))))
        ### END SOLUTION


# %% [markdown]
# ## 3. The encoder layer
#
# A layer has two parts, $f_1$ and $f_2$: self-attention, then the feed-forward network. Each gets a
# **residual connection**, which adds the part's input to its output, and a norm. There are two
# orders. **Post-norm**, the default and the order of the 2017 paper, normalises the sum:
#
# $$x \leftarrow \operatorname{norm}_1(x + f_1(x)), \qquad x \leftarrow \operatorname{norm}_2(x +
# f_2(x))$$
#
# **Pre-norm**, with `norm_first=True`, normalises what goes into each part, and leaves the sum
# alone:
#
# $$x \leftarrow x + f_1(\operatorname{norm}_1(x)), \qquad x \leftarrow x +
# f_2(\operatorname{norm}_2(x))$$
#
# **Dropout** with probability `dropout` acts in three places: inside `feed_forward`, on the output
# of the attention before it is added, and on the output of the feed-forward network before it is
# added. `mask` goes to the attention, and True means "may attend". Return only the result, without
# the attention weights.
#
# For example, suppose that all weights and biases of `w_o` and `linear_2` are 0, so that both parts
# return zeros. Then a new layer with `norm_first=True` returns `[1, 9, 7, 7]` as it came. With
# `norm_first=False` it returns `[-1.6667, 1.0000, 0.3333, 0.3333]`.
#
# *Hint:* write the four lines of the formulas above, with the names of the docstring. In
# self-attention the same tensor is query, key and value. Which tensor is that in pre-norm? And
# `MultiHeadAttention` returns two things.


# %% exercise="EncoderLayer" points=6
class EncoderLayer(nn.Module):
    """Look around, then think: self-attention and a feed-forward network, each with a residual
    connection and a norm.

    Args:
        d_model: features of a position.
        num_heads: heads of the self-attention.
        d_ff: inner width of the feed-forward network.
        dropout: for the feed-forward network, and for the output of each of the two parts before it
            is added to the residual.
        norm_first: normalise the input of each part (pre-norm), not the sum after it (post-norm, as
            in 2017).

    Submodules `self_attention`, `feed_forward`, and `norm_1`, `norm_2`, which belong to them in
    this order.

    Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        ### BEGIN SOLUTION
        super().__init__()
        self.norm_first = norm_first
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x, mask=None):
        """Pass a sequence through the layer.

        Args:
            x: (batch, seq_len, d_model).
            mask: bool, True means "may attend"; broadcasts to (batch, heads, seq_len, seq_len).

        Returns:
            like `x`.
        """

        ### BEGIN SOLUTION
        def attend(x):
            return self.dropout(self.self_attention(x, x, x, mask, need_weights=False)[0])

        def think(x):
            return self.dropout(self.feed_forward(x))

        if self.norm_first:
            x = x + attend(self.norm_1(x))
            return x + think(self.norm_2(x))
        x = self.norm_1(x + attend(x))
        return self.norm_2(x + think(x))
        ### END SOLUTION


# %% [markdown]
# How large do the vectors become on their way through a stack? Put this into a new cell, and
# compare the two orders of the norm at the same depth.
#
# ```python
# from ipywidgets import interact
#
# @interact(depth=(1, 24), norm_first=[False, True])
# def through_the_stack(depth=6, norm_first=False):
#     torch.manual_seed(0)
#     x = torch.randn(1, 5, 32)
#     for number in range(1, depth + 1):
#         x = EncoderLayer(32, 4, 64, norm_first=norm_first)(x)
#         print(f"after layer {number}: standard deviation {x.std():.2f}")
# ```

# %% [markdown]
# ## What you have now
#
# You have a complete encoder layer. Six of them, one after the other, are the encoder of the 2017
# paper. In the next chapter you stack them, and give the decoder's layer a third part.
