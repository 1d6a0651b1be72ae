# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Multi-head attention

# %%
import math

import numpy as np
import torch
from torch import nn

# %% [markdown]
# ## 1. Split into heads


# %% exercise="split_heads" points=2
def split_heads(x, num_heads):
    """Deal the features of every position out to the heads, a block of neighbours to each.

    Args:
        x: (batch, seq_len, d_model) floating.
        num_heads: how many heads; it divides d_model.

    Returns:
        (batch, heads, seq_len, head_dim) like `x`: head h holds the features `h*head_dim : (h+1)*head_dim`.

    Raises:
        ValueError: unless `num_heads` divides d_model.
    """
    ### BEGIN SOLUTION
    d_model = x.shape[-1]
    if d_model % num_heads:
        raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly: num_heads must divide d_model")
    return x.unflatten(-1, (num_heads, d_model // num_heads)).transpose(1, 2)  # (batch, heads, seq_len, head_dim)
    ### END SOLUTION


# %% [markdown]
# ## 2. Merge the heads


# %% exercise="merge_heads" points=2
def merge_heads(x):
    """Put the heads' features side by side again: the inverse of `split_heads`.

    Args:
        x: (batch, heads, seq_len, head_dim) floating.

    Returns:
        (batch, seq_len, d_model) like `x`, with d_model = heads * head_dim: head 0's features first, then head 1's.
    """
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(2)  # (batch, seq_len, d_model)
    ### END SOLUTION


# %% [markdown]
# ## 3. Multi-head attention


# %% exercise="MultiHeadAttention" points=5
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
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly: num_heads must divide d_model")
        self.num_heads = num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, query, key, value, mask=None, need_weights=True):
        """Attend from every query position to every key position, once a head.

        Args:
            query: (batch, query_len, d_model).
            key, value: (batch, key_len, d_model).
            mask: bool, True means "may attend"; broadcasts to (batch, heads, query_len, key_len). Every row has at least one True.
            need_weights: False is faster, and gives None in place of the weights.

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
# ## What you have now
