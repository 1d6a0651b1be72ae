# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Masking
#
# A mask is a table of permissions: may this query attend to that key? In this notebook you write
# the two masks that a Transformer needs, in PyTorch: a **padding mask**, because the sentences of a
# batch have different lengths, and a **causal mask**, because a position must not see the words
# that it should predict. You combine the two, and then write the **masked attention** that obeys
# them, even where a query may attend to nothing at all.
#
# One convention holds throughout: a mask is boolean, and `True` means "may attend". Rows are
# queries, columns are keys.
#
# The chapter of the same name in the book has the pictures. Each exercise below is a statement, a
# function to complete, and a cell that checks it at once. Replace `raise NotImplementedError` with
# your code, run the cell, run the check. (In the book you see this notebook without being able to
# run it: `make lab` opens a copy of your own.)

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch05_multi_head import MultiHeadAttention, merge_heads, split_heads

# %% [markdown]
# ## 1. Padding mask
#
# Sentences of different lengths fit into one tensor only if the short ones are filled up with the
# id of `<pad>`. These positions hold no word, so nothing may attend to them. Given the token ids of
# a batch, say which *keys* may be attended to.
#
# For example, `padding_mask(torch.tensor([[5, 7, 0]]))` is `[[[[True, True, False]]]]`, of shape
# `(1, 1, 1, 3)`. The scores that it will meet have the axes batch, heads, queries, keys. The mask
# has length 1 along heads and queries, because it is the same for every head and for every query.
#
# Padding may be anywhere in a sentence, and its id may be a number other than 0:
# `padding_mask(torch.tensor([[3, 0, 7]]), pad_id=3)` is `[[[[False, True, True]]]]`.
#
# *Hint:* comparing a tensor with a number gives a boolean tensor of the same shape. Indexing with
# `None` inserts an axis of length 1.


# %% exercise="padding_mask" points=2
def padding_mask(token_ids, pad_id=0):
    """Say which positions hold a word, so that queries may attend to them.

    Args:
        token_ids: (batch, seq_len) int.
        pad_id: the id of padding.

    Returns:
        (batch, 1, 1, seq_len) bool, on the device of `token_ids`: True where there is a word; the
        same for every head and query.
    """
    ### BEGIN SOLUTION
    return (token_ids != pad_id)[:, None, None, :]
    ### END SOLUTION


# %% [markdown]
# ## 2. Causal mask
#
# Each position may attend to itself and to what came before it. For three positions:
#
# ```text
#            key 0   key 1   key 2
# query 0    True    False   False
# query 1    True    True    False
# query 2    True    True    True
# ```
#
# `causal_mask(3)` holds this table as a boolean tensor of shape `(1, 1, 3, 3)`: the same for every
# sentence, the same for every head.
#
# `device` says where the tensor is made, because a model on a GPU would refuse a mask on the CPU.
# You can try this without a GPU: the device `"meta"`, which every PyTorch has, keeps shapes but no
# numbers, and `causal_mask(3, device="meta").device.type` is `"meta"`.
#
# *Hint:* number the positions, and compare each query's number with each key's. Which of the two
# numberings needs to be a column?


# %% exercise="causal_mask" points=2
def causal_mask(seq_len, device=None):
    """Say that each position may attend to itself and to what came before it.

    Args:
        seq_len: number of positions.
        device: where the mask is made; None is torch's default.

    Returns:
        (1, 1, seq_len, seq_len) bool: True where the key position is at most the query position.
    """
    ### BEGIN SOLUTION
    positions = torch.arange(seq_len, device=device)
    # Rows are queries, columns are keys.
    return (positions[None, :] <= positions[:, None])[None, None]
    ### END SOLUTION


# %% [markdown]
# ## 3. Decoder mask
#
# A decoder reads a batch of padded sentences, and must not look ahead in any of them. So a query
# may attend to a key if the key is a word *and* is not in the query's future.
#
# For `token_ids = torch.tensor([[5, 7, 0]])` the answer has shape `(1, 1, 3, 3)`:
#
# ```text
#            key 0   key 1   key 2
# query 0    True    False   False
# query 1    True    True    False
# query 2    True    True    False
# ```
#
# Query 2 is padding itself. Its row does not matter to training, because no loss is taken there, so
# it simply follows the rule. The result is on the device of `token_ids`.
#
# *Hint:* you have both masks already. What shapes do they have, and what does broadcasting make of
# them?


# %% exercise="decoder_mask" points=2
def decoder_mask(token_ids, pad_id=0):
    """Say what each position of a decoder may see: words, and none later than itself.

    Args:
        token_ids: (batch, seq_len) int.
        pad_id: the id of padding.

    Returns:
        (batch, 1, seq_len, seq_len) bool, on the device of `token_ids`.
    """
    ### BEGIN SOLUTION
    return padding_mask(token_ids, pad_id) & causal_mask(token_ids.shape[1], token_ids.device)
    ### END SOLUTION


# %% [markdown]
# Put this into a new cell, and choose how many of the six places hold a word. What becomes of the
# rows below the last word, and what of the columns to its right?
#
# ```python
# from ipywidgets import interact
#
# @interact(words=(1, 6))
# def allowed(words=4):
#     token_ids = torch.tensor([[5] * words + [0] * (6 - words)])
#     print(decoder_mask(token_ids)[0, 0].int())
# ```

# %% [markdown]
# ## 4. Masked attention
#
# Scaled dot-product attention, as in chapter 4, under a mask:
#
# $$\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + M\right) V, \qquad M = \begin{cases}
# 0 & \text{may attend} \\ -\infty & \text{may not} \end{cases}$$
#
# Suppose that the scores of a query against three keys are `[1, 2, 3]`, and the mask is `[True,
# True, False]`. Then the weights are `[0.2689, 0.7311, 0]`: the softmax of `[1, 2]`, and exactly 0
# for the rest.
#
# If the mask is `[False, False, False]`, the formula has no answer: the softmax of nothing but
# $-\infty$ is `nan`, and a `nan` spreads through a model. Return weights of `[0, 0, 0]` and an
# output of zeros instead, and keep all gradients finite.
#
# `mask` broadcasts to the scores: its shape may be `(query_len, key_len)`, `(batch, 1, 1, key_len)`
# or anything between. With `mask=None` every query sees every key. The result has the dtype of
# `query`, and it must be right in float32, bfloat16 and float16, for all scores that the dtype can
# hold.
#
# *Hint:* in a row without permissions, a *finite* stand-in for $-\infty$ before the softmax keeps
# `nan` away. What is the lowest number that each dtype has? And what is left to do with the weights
# that come out?


# %% exercise="masked_attention" points=5
def masked_attention(query, key, value, mask=None):
    """Average the values under a mask; a query that may attend to nothing gets nothing, not nan.

    Args:
        query: (..., query_len, head_dim) floating.
        key: (..., key_len, head_dim).
        value: (..., key_len, d_v).
        mask: bool, True means "may attend"; broadcasts to (..., query_len, key_len).

    Returns:
        output: (..., query_len, d_v) like `query`.
        weights: (..., query_len, key_len): exactly 0 where the mask is False. A row without any
        True is 0 in both, and its gradients are finite.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    ### BEGIN SOLUTION
    # Scaled before the product, because a float16 ends at 65504.
    scores = (query / math.sqrt(query.shape[-1])) @ key.mT
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        # Not -inf: a row of nothing but -inf has a softmax of nan.
        lowest = torch.finfo(scores.dtype).min
        weights = torch.softmax(scores.masked_fill(~mask, lowest), dim=-1).masked_fill(~mask, 0)
    return weights @ value, weights
    ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_masks
# explore_masks(masked_attention, causal_mask, padding_mask, decoder_mask)
# ```
#
# You will see the table of the book's page in which you can paint a mask. The weights are what your
# function returns, and the last table holds its gradients.

# %% [markdown]
# ## What you have now
#
# You have permissions as data, and an attention that obeys them. The `MultiHeadAttention` of
# chapter 5 takes these masks as they are: give it a `decoder_mask`, and it is the masked multi-head
# attention that every decoder begins with. In the next two chapters you build the encoder and the
# decoder from it.
