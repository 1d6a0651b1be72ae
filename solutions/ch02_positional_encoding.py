# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Where a word stands
#
# "dog bites man" and "man bites dog" are the same three embeddings. In this notebook you build the
# numbers that tell a model where each word stands: the **sinusoidal encoding** of the first
# Transformer, the **matrix** that moves it from one position to another, and the **rotary**
# encoding, which turns queries and keys instead of adding to them.
#
# The chapter of the same name in the book has the pictures. Each exercise below is a statement, a
# function to complete, and a cell that checks it at once. Replace `raise NotImplementedError` with
# your code, run the cell, run the check. (In the book you see this notebook without being able to
# run it: `make lab` opens a copy of your own.)

# %%
import math

import numpy as np

from solutions.ch01_embeddings import build_vocabulary, embed, encode

# %% [markdown]
# ## 1. Sinusoidal encoding
#
# Every position becomes a row of `d_model` numbers. They come in pairs, like the hands of `d_model
# / 2` clocks: the sine and the cosine of one angle. Pair $i$ stands in the columns $2i$ and $2i +
# 1$:
#
# $$PE[pos, 2i] = \sin\!\left(\frac{pos}{10000^{2i/d_{model}}}\right) \qquad PE[pos, 2i+1] =
# \cos\!\left(\frac{pos}{10000^{2i/d_{model}}}\right)$$
#
# Write `sinusoidal_encoding(seq_len, d_model)`, for the positions 0 to `seq_len - 1`. With
# `d_model=4` there are two pairs, $i = 0$ and $i = 1$. They turn by 1 and by 1/100 radian a
# position, so `sinusoidal_encoding(3, 4)` is, to four decimals,
#
# ```text
# [[0.    , 1.    , 0.    , 1.    ],
#  [0.8415, 0.5403, 0.01  , 1.    ],
#  [0.9093, -0.4161, 0.02 , 0.9998]]
# ```
#
# An odd `d_model` would leave a sine without its cosine: raise a `ValueError` that says so. Compute
# in float64 throughout, because in float32 an angle of some thousand radians is exact to only three
# decimals.
#
# *Hint:* count pairs, not columns: how many different angles does one position have? An array with
# one row a position and one column a pair is a good half-way house.


# %% exercise="sinusoidal_encoding" points=3
def sinusoidal_encoding(seq_len, d_model):
    """Write each position as sines and cosines that turn at different rates.

    Args:
        seq_len: number of positions; they count from 0.
        d_model: number of columns, even.

    Returns:
        (seq_len, d_model) float64: sines in the even columns, cosines in the odd ones; column 2i
        and column 2i + 1 hold the same angle, `pos / 10000^(2i / d_model)`.

    Raises:
        ValueError: if `d_model` is odd.

    Source: Vaswani et al. 2017, section 3.5.
    """
    ### BEGIN SOLUTION
    if d_model % 2:
        raise ValueError(f"d_model is {d_model}, but every sine needs its cosine: it must be even")
    rates = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (pairs,) radians a position
    angles = np.arange(seq_len)[:, np.newaxis] * rates  # (seq_len, pairs)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(seq_len, d_model)
    ### END SOLUTION


# %% [markdown]
# What does your code do, right or not right yet? To see it, put these two lines into a new cell and
# run it:
#
# ```python
# from book.explorers import explore_positions
# explore_positions(sinusoidal_encoding)
# ```
#
# Those are the clocks of the book's page, and your encoding sets their hands.

# %% [markdown]
# ## 2. From one position to another
#
# Moving by a fixed number of positions is a matrix, the same one wherever you start. Write
# `offset_matrix(offset, d_model)`, which returns the matrix $M$ with
#
# $$M \cdot PE[pos] = PE[pos + offset] \qquad \text{for every } pos,$$
#
# where $PE[pos]$ is taken as a column. It is 0 but for a 2 × 2 block on the diagonal for each pair.
# `offset_matrix(1, 2)` is, to four decimals,
#
# ```text
# [[ 0.5403, 0.8415],
#  [-0.8415, 0.5403]]
# ```
#
# Times $PE[0] = (0, 1)$ that is $(0.8415, 0.5403)$, which is $PE[1]$. `offset` may be negative, and
# then $M$ leads back; with `offset=0` it changes nothing.
#
# *Hint:* $\sin(a + b) = \sin a \cos b + \cos a \sin b$ and $\cos(a + b) = \cos a \cos b - \sin a
# \sin b$. Which of these letters is the position that you start from, and which numbers stand in
# the block?


# %% exercise="offset_matrix" points=3
def offset_matrix(offset, d_model):
    """Make the matrix that moves every sinusoidal encoding by the same number of positions.

    Args:
        offset: int, how many positions further on; it may be negative.
        d_model: number of columns of the encoding, even.

    Returns:
        (d_model, d_model) float64: M with `M @ PE[pos] == PE[pos + offset]` for every pos.

    Source: Vaswani et al. 2017, section 3.5, which says that such a linear map exists.
    """
    ### BEGIN SOLUTION
    angles = offset * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (pairs,)
    even, odd = np.arange(0, d_model, 2), np.arange(1, d_model, 2)
    matrix = np.diag(np.repeat(np.cos(angles), 2))
    matrix[even, odd] = np.sin(angles)
    matrix[odd, even] = -np.sin(angles)
    return matrix
    ### END SOLUTION


# %% [markdown]
# ## 3. Rotary encoding
#
# Why add the position to a word, if one can turn the word by it? `apply_rotary(x, positions)` takes
# queries or keys, one row a word, and turns each pair $(x_{2i}, x_{2i+1})$ of the row at position
# $pos$ by the angle $\theta = pos / 10000^{2i/head\_dim}$:
#
# $$(x_{2i},\; x_{2i+1}) \;\to\; (x_{2i} \cos\theta - x_{2i+1} \sin\theta,\;\; x_{2i} \sin\theta +
# x_{2i+1} \cos\theta)$$
#
# `apply_rotary(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 2]))` is, to four decimals,
#
# ```text
# [[ 1.    , 0.    ],
#  [-0.4161, 0.9093]]
# ```
#
# The row at position 0 stays, the one at position 2 has turned by two radians. `positions` says
# where each row stands: not necessarily 0, 1, 2, and not necessarily in order. Axes in front of the
# last two (a batch, heads) are carried along. The angles are float64, because positions may be in
# the thousands; the result has the dtype of `x`, and `x` itself stays as it was. An odd `head_dim`
# raises a `ValueError`.
#
# *Hint:* both new numbers of a pair need both old ones. And what is the dtype of a float32 array
# times the cosine of an array of integers?


# %% exercise="apply_rotary" points=3
def apply_rotary(x, positions):
    """Turn each pair of features by an angle that grows with the position of its row.

    Args:
        x: (..., seq_len, head_dim) floating: queries or keys; head_dim even.
        positions: (seq_len,) int: where each row stands.

    Returns:
        like `x`: the pair in columns 2i and 2i + 1 is rotated by `positions / 10000^(2i /
        head_dim)` radians, from the first axis of the pair towards the second.

    Raises:
        ValueError: if `head_dim` is odd.

    Source: Su et al. 2024 (RoFormer), section 3.2.2.
    """
    ### BEGIN SOLUTION
    head_dim = x.shape[-1]
    if head_dim % 2:
        raise ValueError(f"head_dim is {head_dim}, but features turn in pairs: it must be even")
    angles = positions[:, np.newaxis] * 10000.0 ** (
        -np.arange(0, head_dim, 2) / head_dim
    )  # (seq_len, pairs)
    first, second = x[..., 0::2], x[..., 1::2]  # each (..., seq_len, pairs)
    cosines, sines = np.cos(angles), np.sin(angles)
    turned = np.stack([first * cosines - second * sines, first * sines + second * cosines], axis=-1)
    return turned.reshape(x.shape).astype(x.dtype)  # angles stay in float64 until here
    ### END SOLUTION


# %% [markdown]
# ## What you have now
#
# Two ways to say where a word stands: a vector to add to its embedding, and a rotation of its
# queries and keys. Both rest on the same pairs and rates, and in both a step of three positions is
# the same turn everywhere in the sentence.
