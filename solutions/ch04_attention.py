# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Scaled dot-product attention
#
# Attention is a weighted average that chooses its own weights. In this notebook you build it from
# its four parts, in NumPy: a **softmax** that no finite score can break, the scaled **scores** of
# queries against keys, the **attention** that averages the values, and the **gradient** that goes
# back through the softmax.
#
# The chapter of the same name in the book has the pictures. Each exercise below is a statement, a
# function to complete, and a cell that checks it at once. Replace `raise NotImplementedError` with
# your code, run the cell, run the check. (In the book you see this notebook without being able to
# run it: `make lab` opens a copy of your own.)

# %%
import math

import numpy as np

# %% [markdown]
# ## 1. Softmax
#
# Softmax turns scores into weights, which are numbers from 0 to 1 that sum to 1. The larger a
# score, the larger its weight.
#
# $$\operatorname{softmax}(s)_i = \frac{e^{s_i}}{\sum_j e^{s_j}}$$
#
# For example, `softmax(np.array([3.0, 2.0]))` is `[0.7311, 0.2689]`.
#
# Two demands make it interesting. It must not overflow: `softmax(np.array([1000.0, 999.0]))` is the
# same `[0.7311, 0.2689]`, although $e^{1000}$ is far beyond what a float can hold. And a score of
# `-inf`, which will later mean "may not look here", must get a weight of exactly 0. `axis` says
# along which axis the weights sum to 1, and every slice along it is a softmax of its own. The
# result has the dtype of `scores`, and `scores` itself stays as it was.
#
# *Hint:* what happens to the fraction if you subtract the same number from every score of a slice?
# Which number is safe to subtract?


# %% exercise="softmax" points=2
def softmax(scores, axis=-1):
    """Turn scores into weights that sum to 1 along an axis.

    Args:
        scores: (...) floating; finite, or -inf for entries that get no weight. Each slice has a
            finite entry.
        axis: the axis along which the weights sum to 1.

    Returns:
        like `scores`: `exp(scores)` divided by its sum along `axis`, computed without overflow.
    """
    ### BEGIN SOLUTION
    # exp overflows above 709 in float64, above 88 in float32.
    shifted = scores - scores.max(axis=axis, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
    ### END SOLUTION


# %% [markdown]
# What do larger scores do to the weights? Put this into a new cell and move the slider, from scores
# that hardly differ to scores that leave one word alone. An error in your function is shown under
# the slider.
#
# ```python
# from ipywidgets import interact
#
# @interact(scale=(0.0, 10.0))
# def sharper(scale=1.0):
#     print(softmax(scale * np.array([1.0, 2.0, 3.0])).round(3))
# ```

# %% [markdown]
# ## 2. Attention scores
#
# How well does each key match each query? Take their dot product, and divide it by $\sqrt{d_k}$,
# where $d_k$ is the number of components of a query:
#
# $$\text{scores} = \frac{Q K^\top}{\sqrt{d_k}}$$
#
# With `query = [[6, 0, 0, 0]]` and `key = [[1, 0, 0, 0], [0, 1, 0, 0]]` the dot products are 6 and
# 0, and $d_k$ is 4, so the scores are `[[3, 0]]`, with one row per query and one column per key.
# Any axes in front (a batch, say) are carried along.
#
# *Hint:* `.T` reverses *all* axes. Which two should change places? And NumPy's `np.sqrt` returns a
# float64, which would turn float32 scores into float64 ones, but `math.sqrt` does not.


# %% exercise="attention_scores" points=2
def attention_scores(query, key):
    """Measure how well each key matches each query.

    Args:
        query: (..., query_len, d_k) floating.
        key: (..., key_len, d_k) floating.

    Returns:
        (..., query_len, key_len), the dtype of `query`: dot products divided by sqrt(d_k), so that
        their variance does not grow with d_k (Vaswani et al. 2017, section 3.2.1).
    """
    ### BEGIN SOLUTION
    return query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[-1])  # (..., query_len, key_len)
    ### END SOLUTION


# %% [markdown]
# ## 3. Scaled dot-product attention
#
# Each query gets its own average of the values. The weights are the softmax of its row of scores:
#
# $$\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q
# K^\top}{\sqrt{d_k}}\right) V$$
#
# Suppose the scores of the word "The" against "The", "cat" and "sat" are `[1, 0, 1]`. Its weights
# are `[0.4223, 0.1554, 0.4223]`, and with the values `[1, 0, 1, 0]`, `[0, 1, 0, 1]` and `[0, 1, 1,
# 0]` its output is `[0.4223, 0.5777, 0.8446, 0.1554]`.
#
# Return both the output and the weights that made it.
#
# *Hint:* for one query the weights sum to 1 over the *keys*. Which axis is that? The values may
# have more or fewer components than the keys, because nothing here needs `d_v` to equal `d_k`.


# %% exercise="scaled_dot_product_attention" points=3
def scaled_dot_product_attention(query, key, value):
    """Average the values, weighted by how well each key matches the query.

    Args:
        query: (..., query_len, d_k) floating.
        key: (..., key_len, d_k) floating.
        value: (..., key_len, d_v) floating.

    Returns:
        output: (..., query_len, d_v), the weighted averages of the values, in their dtype.
        weights: (..., query_len, key_len), each row a softmax over the keys.

    Source: Vaswani et al. 2017, equation 1.
    """
    ### BEGIN SOLUTION
    weights = softmax(attention_scores(query, key), axis=-1)
    return weights @ value, weights
    ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_attention
# explore_attention(scaled_dot_product_attention, attention_scores)
# ```
#
# You get the plane of the book's page. When you turn the query, the scores, weights and output that
# you see are those that your two functions return.

# %% [markdown]
# ## 4. Back through the softmax
#
# To train the scores, you need to carry a gradient from the weights back to them. A score pushes
# its own weight up and, since the weights sum to 1, all the others down. So the gradient of every
# score involves every weight of its row:
#
# $$\frac{\partial w_i}{\partial s_j} = w_i\,(\delta_{ij} - w_j)$$
#
# Here $\delta_{ij}$ is 1 where $i = j$ and 0 elsewhere. Write `softmax_backward(weights,
# grad_weights)`. It gets the weights of a softmax over the last axis and the gradient of the loss
# with respect to them, and returns the gradient with respect to the scores.
#
# For `weights = [0.5, 0.5]` and `grad_weights = [1, 0]` the result is `[0.25, -0.25]`, so raising
# the first score raises the loss as fast as raising the second one lowers it.
#
# *Hint:* sum the formula over $i$ with `grad_weights` as coefficients. What is left needs no
# matrix, only a product and a sum along the last axis.


# %% exercise="softmax_backward" points=3
def softmax_backward(weights, grad_weights):
    """Carry a gradient from the weights of a softmax back to its scores.

    Args:
        weights: (..., key_len) floating: a softmax over the last axis.
        grad_weights: (..., key_len) floating: gradient of the loss with respect to `weights`.

    Returns:
        (..., key_len), the dtype of `weights`: gradient of the loss with respect to the scores. It
        sums to 0 along the last axis, because adding the same number to all scores changes nothing.
    """
    ### BEGIN SOLUTION
    inner = (weights * grad_weights).sum(axis=-1, keepdims=True)  # (..., 1)
    return weights * (grad_weights - inner)
    ### END SOLUTION


# %% [markdown]
# ## What you have now
#
# You have a complete attention, forward and backward, in a dozen lines of your own. Later chapters
# run several of them side by side, forbid some of the places to look at, and stack the result, but
# the core stays what you wrote here.
