# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The encoder layer

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import padding_mask

# %% [markdown]
# ## 1. Layer normalisation


# %% exercise="LayerNorm" points=3
class LayerNorm(nn.Module):
    """Bring the features of every position to mean 0 and variance 1, then scale and shift each by what was learned.

    Args:
        d_model: features of a position.
        eps: added to the variance, inside the root, so that equal features do not divide by 0.

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
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)  # correction=0: divided by d_model
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias
        ### END SOLUTION


# %% [markdown]
# ## 2. The position-wise feed-forward network


# %% exercise="FeedForward" points=2
class FeedForward(nn.Module):
    """Think about each position by itself: widen it, drop what is negative, and narrow it again.

    Args:
        d_model: features of a position, in and out.
        d_ff: features in between.
        dropout: the part of the features in between that training sets to 0.

    Submodules `linear_1`, from d_model to d_ff, and `linear_2`, back; ReLU and dropout between them.

    Source: Vaswani et al. 2017, section 3.3.
    """

    def __init__(self, d_model, d_ff, dropout=0.0):
        ### BEGIN SOLUTION
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x):
        """Apply the same two layers at every position.

        Args:
            x: (..., d_model) floating.

        Returns:
            like `x`.
        """
        ### BEGIN SOLUTION
        return self.linear_2(self.dropout(torch.relu(self.linear_1(x))))
        ### END SOLUTION


# %% [markdown]
# ## 3. The encoder layer


# %% exercise="EncoderLayer" points=5
class EncoderLayer(nn.Module):
    """Look around, then think: self-attention and a feed-forward network, each with a residual connection and a norm.

    Args:
        d_model: features of a position.
        num_heads: heads of the self-attention.
        d_ff: inner width of the feed-forward network.
        dropout: for the feed-forward network, and for the output of each of the two parts before it is added to the residual.
        norm_first: normalise the input of each part (pre-norm), not the sum after it (post-norm, as in 2017).

    Submodules `self_attention`, `feed_forward`, and `norm_1`, `norm_2`, which belong to them in this order.

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
# ## What you have now
