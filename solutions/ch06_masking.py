# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Masking

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch05_multi_head import MultiHeadAttention, merge_heads, split_heads

# %% [markdown]
# ## 1. Padding mask


# %% exercise="padding_mask" points=1
def padding_mask(token_ids, pad_id=0):
    """Say which positions hold a word, and may be attended to.

    Args:
        token_ids: (batch, seq_len) int.
        pad_id: the id that only fills up.

    Returns:
        (batch, 1, 1, seq_len) bool: True where there is a word; the same for every head and every query.
    """
    ### BEGIN SOLUTION
    return (token_ids != pad_id)[:, None, None, :]
    ### END SOLUTION


# %% [markdown]
# ## 2. Causal mask


# %% exercise="causal_mask" points=1
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
    return (positions[None, :] <= positions[:, None])[None, None]  # rows are queries, columns are keys
    ### END SOLUTION


# %% [markdown]
# ## 3. Decoder mask


# %% exercise="decoder_mask" points=2
def decoder_mask(token_ids, pad_id=0):
    """Say what a decoder may see: words, and none of them later than itself.

    Args:
        token_ids: (batch, seq_len) int.
        pad_id: the id that only fills up.

    Returns:
        (batch, 1, seq_len, seq_len) bool, on the device of `token_ids`.
    """
    ### BEGIN SOLUTION
    return padding_mask(token_ids, pad_id) & causal_mask(token_ids.shape[1], token_ids.device)
    ### END SOLUTION


# %% [markdown]
# ## 4. Masked attention


# %% exercise="masked_attention" points=4
def masked_attention(query, key, value, mask=None):
    """Average the values under a mask; a query that may attend to nothing gets nothing, not nan.

    Args:
        query: (..., query_len, head_dim) floating.
        key: (..., key_len, head_dim).
        value: (..., key_len, d_v).
        mask: bool, True means "may attend"; broadcasts to (..., query_len, key_len).

    Returns:
        output: (..., query_len, d_v) like `query`.
        weights: (..., query_len, key_len): exactly 0 where the mask is False. A row without any True is 0 in both, and its
        gradients are finite.
    """
    ### BEGIN SOLUTION
    scores = (query / math.sqrt(query.shape[-1])) @ key.mT  # scaled first: a float16 ends at 65504
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
    else:
        lowest = torch.finfo(
            scores.dtype
        ).min  # not -inf: a row of nothing but -inf has a softmax and a gradient of nan
        weights = torch.softmax(scores.masked_fill(~mask, lowest), dim=-1).masked_fill(~mask, 0)
    return weights @ value, weights
    ### END SOLUTION


# %% [markdown]
# ## What you have now
