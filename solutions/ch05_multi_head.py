# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Multi-head attention
#
# One head gives each query one weighted average. Several heads give it several: each looks at the
# sentence through projections of its own, averages what it finds, and a last projection mixes the
# results. In this notebook you build it from three parts, now in PyTorch: **`split_heads`** deals
# the features out, **`merge_heads`** puts them together again, and the module
# **`MultiHeadAttention`** lets every head do what you wrote in chapter 4.
#
# The chapter of the same name in the book has the pictures. Each exercise below is a statement, a
# function or class to complete, and a cell that checks it at once. Replace each `raise
# NotImplementedError` with your code, run the cell, run the check. (In the book you see this
# notebook without being able to run it: `make lab` opens a copy of your own.)

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch04_attention import scaled_dot_product_attention, softmax

# %% [markdown]
# ## 1. Split into heads
#
# Each position has `d_model` features. Deal them out to `num_heads` heads, a block of neighbours to
# each: with `head_dim = d_model / num_heads`, head 0 gets the features from 0 up to `head_dim`,
# head 1 the next `head_dim`, and so on. A head then holds a matrix `(seq_len, head_dim)`, like the
# ones that attention worked on in chapter 4, and the axes of batch and heads come before it.
#
# For `x = torch.tensor([[[1., 2., 3., 4.], [5., 6., 7., 8.]]])`, one sentence of two words with
# four features each, `split_heads(x, 2)` is `[[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]`, of shape (1,
# 2, 2, 2): head 0 holds 1, 2 of the first word and 5, 6 of the second.
#
# Raise a `ValueError` unless `num_heads` divides `d_model`, because no feature may be lost. The
# result keeps dtype and device, and a gradient can flow through it.
#
# *Hint:* it takes two steps. Cutting the last axis in two is one of them. After it, which axes are
# in the wrong order? A single `view` cannot take both steps, because it never changes the order in
# which the numbers lie in memory.


# %% exercise="split_heads" points=2
def split_heads(x, num_heads):
    """Deal the features of every position out to the heads, a block of neighbours to each.

    Args:
        x: (batch, seq_len, d_model) floating.
        num_heads: how many heads; it divides d_model.

    Returns:
        (batch, heads, seq_len, head_dim) like `x`: head h holds the features `h*head_dim :
        (h+1)*head_dim`.

    Raises:
        ValueError: unless `num_heads` divides d_model.
    """
    ### BEGIN SOLUTION
    d_model = x.shape[-1]
    if d_model % num_heads:
        raise ValueError(
            f"{num_heads} heads cannot share {d_model} features evenly: num_heads must divide d_model"
        )
    return x.unflatten(-1, (num_heads, d_model // num_heads)).transpose(
        1, 2
    )  # (batch, heads, seq_len, head_dim)
    ### END SOLUTION


# %% [markdown]
# Put this into a new cell, and choose how many heads share the 12 features of two words. Follow one
# number: in which head does it end up, and in which row?
#
# ```python
# from ipywidgets import interact
#
# @interact(num_heads=[1, 2, 3, 4, 6, 12])
# def dealt_out(num_heads=2):
#     print(split_heads(torch.arange(24.0).reshape(1, 2, 12), num_heads))
# ```

# %% [markdown]
# ## 2. Merge the heads
#
# After each head has done its work, put the features of the heads side by side again, head 0 first,
# so that every position has `d_model = heads * head_dim` features.
#
# For `x = torch.tensor([[[[1., 2.], [5., 6.]], [[3., 4.], [7., 8.]]]])`, the result of the last
# exercise, `merge_heads(x)` is `[[[1, 2, 3, 4], [5, 6, 7, 8]]]`, of shape (1, 2, 4).
#
# *Hint:* undo the two steps of `split_heads`, the last one first. If PyTorch says that a view "is
# not compatible with input tensor's size and stride", the numbers do not lie in memory in the order
# that you want. Which method copies them where it has to?


# %% exercise="merge_heads" points=2
def merge_heads(x):
    """Put the heads' features side by side again: the inverse of `split_heads`.

    Args:
        x: (batch, heads, seq_len, head_dim) floating.

    Returns:
        (batch, seq_len, d_model) like `x`, with d_model = heads * head_dim: head 0's features
        first, then head 1's.
    """
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(2)  # (batch, seq_len, d_model)
    ### END SOLUTION


# %% [markdown]
# ## 3. Multi-head attention
#
# Now the module. It has four layers `nn.Linear(d_model, d_model)`, all with bias, named `w_q`,
# `w_k`, `w_v` and `w_o`. Its `forward` takes `query`, `key` and `value`, projects each with its own
# layer, splits the three into heads, lets every head attend, merges the heads' outputs and projects
# the result with `w_o`. With $X_Q, X_K, X_V$ for the three inputs:
#
# $$Q = X_Q W^Q + b^Q, \quad K = X_K W^K + b^K, \quad V = X_V W^V + b^V$$
#
# $$\text{head}_h = \operatorname{softmax}\!\left(\frac{Q_h K_h^\top}{\sqrt{d_k}}\right) V_h, \qquad
# \text{output} = [\,\text{head}_0\;\;\text{head}_1\;\cdots\,]\;W^O + b^O$$
#
# Here $d_k$ is the width of one head's queries. `mask`, where there is one, is boolean, and True
# means "may attend". It broadcasts to `(batch, heads, query_len, key_len)`, so it may have any
# shape from `(query_len, key_len)` to all four axes. A masked key gets a weight of exactly 0, and
# the weights of the others still sum to 1; every row has at least one True. Return the output and
# the attention weights of all heads. Making a module whose `num_heads` does not divide `d_model`
# raises a `ValueError`. No check sets the parameter `need_weights`, so you may omit it, or accept
# it and ignore it.
#
# For example, take `d_model = 2`, two heads, every matrix the identity and every bias 0. With the
# two words `x = torch.tensor([[[1., 0.], [0., 1.]]])` as query, key and value, head 0 works on the
# numbers 1, 0 and head 1 on 0, 1. The weights of head 0 are `[[0.7311, 0.2689], [0.5, 0.5]]`, those
# of head 1 `[[0.5, 0.5], [0.2689, 0.7311]]`, and the output is `[[0.7311, 0.5], [0.5, 0.7311]]`.
#
# Is this your first module? Its `__init__` begins with `super().__init__()` and makes the layers,
# and its `forward` uses them. The book's page has a very small one, under "From NumPy to PyTorch".
#
# *Hint:* `@` and `torch.softmax` carry the axes of batch and heads along, so no loop is needed. A
# mask acts on the scores: which score has a weight of 0? If in doubt, take a single head without a
# mask and compare: `scaled_dot_product_attention` and `softmax` of chapter 4 are imported above.
# They work on NumPy arrays, such as `tensor.detach().numpy()`, so they cannot be a part of your
# module.


# %% exercise="MultiHeadAttention" points=6
class MultiHeadAttention(nn.Module):
    """Let several heads attend at once, each in a projection of its own, and mix what they found.

    Args:
        d_model: features of a position, in and out.
        num_heads: how many heads; each works on head_dim = d_model / num_heads features.

    The projections `w_q`, `w_k`, `w_v` and `w_o` are `nn.Linear(d_model, d_model)`, with bias.

    Raises:
        ValueError: unless `num_heads` divides `d_model`.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, d_model, num_heads):
        ### BEGIN SOLUTION
        super().__init__()
        if d_model % num_heads:
            raise ValueError(
                f"{num_heads} heads cannot share {d_model} features evenly: num_heads must divide d_model"
            )
        self.num_heads = num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, query, key, value, mask=None, need_weights=True):
        """Attend from every query position to every key position, once per head.

        Args:
            query: (batch, query_len, d_model).
            key, value: (batch, key_len, d_model).
            mask: bool, True means "may attend"; broadcasts to (batch, heads, query_len, key_len).
                Every row has at least one True.
            need_weights: False is faster, and returns None instead of the weights.

        Returns:
            output: (batch, query_len, d_model).
            weights: (batch, heads, query_len, key_len), or None.
        """
        ### BEGIN SOLUTION
        query = split_heads(self.w_q(query), self.num_heads)  # (batch, heads, query_len, head_dim)
        key = split_heads(self.w_k(key), self.num_heads)
        value = split_heads(self.w_v(value), self.num_heads)
        if not need_weights:  # one fused kernel, which never holds the weights
            output = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            return self.w_o(merge_heads(output)), None
        scores = query @ key.mT / math.sqrt(query.shape[-1])  # (batch, heads, query_len, key_len)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return self.w_o(merge_heads(weights @ value)), weights
        ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_heads
# explore_heads(MultiHeadAttention)
# ```
#
# You will see the four heads of the book's page, computed by your module with the parameters of a
# trained model. Training that model takes some seconds.

# %% [markdown]
# ## What you have now
#
# Multi-head attention, the part of the Transformer that lets words exchange what they know. It
# needs no change for self-attention or for cross-attention: only what you pass as query, key and
# value differs. The next chapters make its masks, and stack it.
