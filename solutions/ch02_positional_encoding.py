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
# "dog bites man" and "man bites dog" consist of the same three embeddings, so a model needs
# something that says where each word is. In this notebook you build the **sinusoidal encoding** of
# the first Transformer, which says it, the **matrix** that moves this encoding from one position to
# another, and a **test** that shows whether a layer notices the order of its words at all.
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
# Every position becomes a row of `d_model` numbers. They come in pairs, and each pair describes
# where the hand of a clock points, by the sine and the cosine of its angle. Pair $i$ is in the
# columns $2i$ and $2i + 1$:
#
# $$PE[pos, 2i] = \sin\!\left(\frac{pos}{10000^{2i/d_{model}}}\right) \qquad PE[pos, 2i+1] =
# \cos\!\left(\frac{pos}{10000^{2i/d_{model}}}\right)$$
#
# Write `sinusoidal_encoding(seq_len, d_model)`, for the positions 0 to `seq_len - 1`. With
# `d_model=4` there are two pairs, $i = 0$ and $i = 1$. From one position to the next, the first
# turns by 1 radian and the second by 1/100, so `sinusoidal_encoding(3, 4)` is, to four decimals,
#
# ```text
# [[0.    , 1.    , 0.    , 1.    ],
#  [0.8415, 0.5403, 0.01  , 1.    ],
#  [0.9093, -0.4161, 0.02 , 0.9998]]
# ```
#
# An odd `d_model` would leave a sine without its cosine, so raise a `ValueError` that says so.
# Compute in float64 throughout, because in float32 an angle of some thousand radians is exact to
# only three decimals.
#
# *Hint:* count pairs, not columns. How many different angles does one position have? An array with
# one row per position and one column per pair is a good intermediate step.


# %% exercise="sinusoidal_encoding" points=3
def sinusoidal_encoding(seq_len, d_model):
    """Write each position as sines and cosines that turn at different rates.

    Args:
        seq_len: number of positions, which are counted from 0.
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
    rates = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (pairs,) radians per position
    angles = np.arange(seq_len)[:, np.newaxis] * rates  # (seq_len, pairs)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(seq_len, d_model)
    ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_positions
# explore_positions(sinusoidal_encoding)
# ```
#
# You get the clocks of the book's page, and your encoding sets their hands.

# %% [markdown]
# ## 2. From one position to another
#
# To move an encoding on by a fixed number of positions, you multiply it by a matrix, which is the
# same wherever you start. Write `offset_matrix(offset, d_model)`, which returns the matrix $M$ with
#
# $$M \cdot PE[pos] = PE[pos + offset] \qquad \text{for every } pos,$$
#
# where $PE[pos]$ is a column vector. $M$ has one 2 × 2 block per pair on its diagonal, and zeros
# everywhere else. For example, `offset_matrix(1, 2)` is, to four decimals,
#
# ```text
# [[ 0.5403, 0.8415],
#  [-0.8415, 0.5403]]
# ```
#
# Multiplied by $PE[0] = (0, 1)$ it gives $(0.8415, 0.5403)$, which is $PE[1]$. `offset` may be
# negative, and then $M$ moves back. With `offset=0` it changes nothing.
#
# *Hint:* $\sin(a + b) = \sin a \cos b + \cos a \sin b$ and $\cos(a + b) = \cos a \cos b - \sin a
# \sin b$. Which of the two angles comes from the position that you start from, and which of these
# numbers belong in the block?


# %% exercise="offset_matrix" points=3
def offset_matrix(offset, d_model):
    """Make the matrix that moves every sinusoidal encoding by the same number of positions.

    Args:
        offset: int, by how many positions to move on; a negative one moves back.
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
# Turn the offset with a slider, in a new cell. Which numbers of the matrix change fast, and which
# hardly at all? The last line says how far the moved encoding of position 10 is from the one it
# should reach.
#
# ```python
# from ipywidgets import interact
#
# @interact(offset=(-10, 10))
# def moved(offset=1):
#     matrix, encoding = offset_matrix(offset, 6), sinusoidal_encoding(21, 6)
#     print(matrix.round(2))
#     print("largest error:", np.abs(matrix @ encoding[10] - encoding[10 + offset]).max())
# ```

# %% [markdown]
# ## 3. Does it know where a word is?
#
# How would you find out whether some layer notices the order of its words, if all you can do is
# call it? Shuffle the rows and then let the layer encode them, or let it encode them and then
# shuffle the result in the same way. A layer that cannot tell where a row is gives the same numbers
# both times. Any other layer gives itself away, and the difference between the two results says how
# much the order matters to it.
#
# Write `order_gap(encode, x, order)`. `encode` is the layer, a function from an array of shape
# `(seq_len, d_model)` to another one of that shape. `order` is a permutation of the row numbers,
# and you use it as an index, so that row 0 of the shuffled array is row `order[0]` of `x`. Return
# the largest absolute difference between `encode(x[order])` and `encode(x)[order]`, as a Python
# float.
#
# Here is an example with three rows of one number each. Its `encode` adds to each row the number of
# its place, 0, 1 or 2:
#
# ```text
# x = [[10], [20], [30]]      order = [2, 0, 1]
#
# shuffle, then encode:  [[30], [10], [20]]  ->  [[30], [11], [22]]
# encode, then shuffle:  [[10], [21], [32]]  ->  [[32], [10], [21]]
# ```
#
# The differences are -2, 1 and 1, so the gap is `2.0`. For an `encode` that doubles every row it is
# `0.0` in any order.
#
# Take care of two things. Layers may be slow, so call `encode` exactly twice. And some layers write
# their result into the array that they are given, so give each call an array of its own, which
# neither the caller nor the other call uses.
#
# *Hint:* which of `x`, `x[order]` and `x[1:]` is a new array, and which is only a view of the
# numbers in `x`? `np.shares_memory` says so.


# %% exercise="order_gap" points=3
def order_gap(encode, x, order):
    """Measure how much the order of its rows matters to a layer, by shuffling them before it
    encodes them and after.

    Args:
        encode: a function from (seq_len, d_model) to (seq_len, d_model), which may work in place;
            it is called twice.
        x: (seq_len, d_model).
        order: (seq_len,) int, a permutation: row i of the shuffled rows is row `order[i]`.

    Returns:
        float: the largest absolute difference between `encode(x[order])` and `encode(x)[order]`;
        0, up to rounding, if `encode` cannot tell where a row is.

    Source: the book's page on positional encoding. A function with gap 0 for every order
        and every `x` is called permutation equivariant.
    """
    ### BEGIN SOLUTION
    shuffled_first = encode(x[order])  # an index array makes a copy
    shuffled_last = encode(x.copy())[order]
    return float(np.abs(shuffled_first - shuffled_last).max())
    ### END SOLUTION


# %% [markdown]
# ## What you have now
#
# You have a vector that says where a word is, the matrix that moves it on, and a test that shows
# whether a layer notices when the words change places. Try the test on the layers that you build in
# the chapters that follow.
