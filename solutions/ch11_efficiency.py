# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What attention costs
#
# Attention compares every word with every other one, so its cost grows with the square of the
# length. In this notebook you count that cost, and then you write what real systems do about it:
# attention in **tiles**, which never holds the table of scores; a **cache** of keys and values, so
# that a decoder does not compute them again for each new word; **grouped queries**, which make that
# cache smaller; and a **window**, with which the cost need not grow with the square of the length.
#
# The chapter of the same name in the book has the pictures and the measurements. Each exercise
# below is a statement, code to complete, and a cell that checks it at once. Replace each `raise
# NotImplementedError` with your code, run the cell, run the check. (In the book you see this
# notebook without being able to run it: `make lab` opens a copy of your own.)
#
# The setup cell imports what you need from chapter 6, so that you can begin even if your own
# functions are not finished.

# %%
import math

import numpy as np
import torch
from torch import nn

from solutions.ch06_masking import causal_mask, masked_attention

# %% [markdown]
# ## 1. How many operations does attention take?
#
# Attention has two matrix products: queries with keys, which gives the scores, and weights with
# values, which gives the output. Count their floating-point operations, for all heads of all
# sentences of a batch.
#
# - An inner product of $n$ numbers counts $2n$: $n$ multiplications, and about as many additions.
# - Count only the products, not the softmax, and not the projections before and after.
# - Count them in full. A mask hides scores that were computed, so it saves nothing.
#
# For example, one head has 2 queries and 3 keys of 4 features. Each of the 6 scores is an inner
# product of 4 numbers, which makes 6 · 8 = 48 operations. The output has 2 · 4 numbers, and each of
# them is an inner product of 3 numbers: 8 · 6 = 48 again. Together that is 96.
#
# *Hint:* how many numbers does each of the two results have, and how long is the inner product
# that makes each of them?


# %% exercise="attention_flops" points=2
def attention_flops(batch, heads, query_len, key_len, head_dim):
    """Count the floating-point operations of attention's two matrix products.

    Args:
        batch, heads: sentences, and heads in each.
        query_len, key_len: queries and keys in each head.
        head_dim: features of a query, of a key and of a value.

    Returns:
        int: 2 operations for each pair of numbers that is multiplied; no mask makes it less.
    """
    ### BEGIN SOLUTION
    scores = batch * heads * query_len * key_len
    return scores * 2 * head_dim + scores * 2 * head_dim  # queries with keys; weights with values
    ### END SOLUTION


# %% [markdown]
# From which length on does attention cost more than the projections around it? Put this into a new
# cell, and look for the length at which attention is half of the work.
#
# ```python
# from ipywidgets import interact
#
# @interact(length=(256, 16_384, 256))
# def shared_out(length=1024):
#     attention = attention_flops(1, 8, length, length, 64)
#     projections = 4 * 2 * length * 512 * 512
#     print(f"{attention / (attention + projections):.0%} of the work is attention's two products")
# ```

# %% [markdown]
# ## 2. How large is the cache?
#
# A decoder that writes word after word keeps the keys and the values of all words so far, in each
# of its layers. How many bytes is that?
#
# For example, a batch of 1 sentence, 2 heads of 4 features, 3 layers and 5 words make 1 · 2 · 4 · 3
# · 5 = 120 numbers of keys and as many of values. With 2 bytes for each number, the cache has 480
# bytes.
#
# The argument is called `kv_heads` because keys and values may have fewer heads than queries. That
# is exercise 6.
#
# *Hint:* the result of the example is 480 and not 240. Which factor is easily forgotten?


# %% exercise="cache_bytes" points=2
def cache_bytes(batch, kv_heads, head_dim, num_layers, length, bytes_per_number=2):
    """Count the bytes of the keys and values that a decoder keeps.

    Args:
        batch: sentences that are decoded at the same time.
        kv_heads: heads of the keys, and of the values.
        head_dim: features of each head.
        num_layers: each has keys and values of its own.
        length: words so far.
        bytes_per_number: 2 for float16 and bfloat16, 4 for float32.

    Returns:
        int: bytes.
    """
    ### BEGIN SOLUTION
    keys = batch * num_layers * length * kv_heads * head_dim
    return 2 * keys * bytes_per_number  # as many values as keys
    ### END SOLUTION


# %% [markdown]
# ## 3. Two parts of a softmax
#
# Suppose you know what attention gives for the first 100 keys, and what it gives for the next 100.
# Can you tell what it gives for all 200? The two averages alone are not enough, but two more
# numbers for each query are. So describe a set of keys by three things:
#
# - `maximum`: the largest score $m$ of the set;
# - `total`: the sum $t$ of $e^{s - m}$ over the scores $s$ of the set;
# - `average`: the values, weighted by the softmax over the set.
#
# `merge` takes the descriptions of two sets without a common key, and returns the description of
# both together. It is written in NumPy, and each of the three has one row for each query.
#
# For example, a query has the score 0 for the only key of the first set, whose value is 10, and the
# scores 2 and 2 for the keys of the second, whose values are 20 and 40. The first set is
# described by (0, 1, 10), the second by (2, 2, 30). The maximum of both together is 2. Measured
# from there, the first set has the total $1 \cdot e^{0 - 2} = 0.135$, so the total of all three
# keys is 2.135. The average is (0.135 · 10 + 2 · 30) / 2.135 = 28.73.
#
# Scores may be of any size: $e^{1000}$ must not occur. A set without any key has the maximum
# $-\infty$, the total 0 and the average 0. It changes nothing, and two such sets make another one.
# That may happen in some rows and not in others.
#
# *Hint:* what is $-\infty - (-\infty)$? Which number could you subtract instead, in rows that have
# no key at all?


# %% exercise="merge" points=4
def merge(left, right):
    """Describe the attention over two sets of keys together, from a description of each.

    Args:
        left, right: (maximum, total, average) of one set: maximum (query_len,), the largest score;
            total (query_len,), the sum of exp(score - maximum); average (query_len, d_v), the
            values weighted by their softmax. A set without any key is (-inf, 0, 0).

    Returns:
        (maximum, total, average) of both sets together, in their dtype.

    Source: Milakov and Gimelshein 2018, section 3.1, with averages of values.
    """
    ### BEGIN SOLUTION
    maximum = np.maximum(left[0], right[0])
    # without a key on either side, -inf - (-inf) would be nan
    measured_from = np.where(np.isneginf(maximum), 0, maximum)
    totals = [each[1] * np.exp(each[0] - measured_from) for each in (left, right)]
    total = totals[0] + totals[1]
    shares = [each / np.where(total == 0, 1, total) for each in totals]
    average = shares[0][:, None] * left[2] + shares[1][:, None] * right[2]
    return maximum, total, average
    ### END SOLUTION


# %% [markdown]
# ## 4. Attention in tiles
#
# Now use the idea of `merge` in PyTorch. Go through the keys and values in **blocks** of
# `block_size`. For each block compute its scores against all queries, and update the running
# description of all keys so far. That way the whole table of scores is never in memory.
#
# - The result is that of `scaled_dot_product_attention`, scores divided by $\sqrt{d_k}$, and
#   gradients flow. The second result is the logarithm of the sum of the exponentials of each
#   query's scores. Systems keep it because it is all that a backward pass needs to compute each
#   weight again.
# - No floating tensor that you make in the forward pass may hold more numbers than
#   `max(query_len, block_size) * max(block_size, d_k, d_v)`. (Views do not count: a slice or a
#   transpose makes no new numbers.)
# - Compute each score once. A first pass for the maximum and a second one for the sums would
#   compute them twice.
# - Scores may be of any size, and the last block may be smaller than the others.
# - Everything that you make lies on the device of `query`.
# - With `causal=True` the ends are aligned: the last query sees all keys, the one before it all but
#   one, and so on. `query_len` may be smaller than `key_len`.
# - Raise a `ValueError` for a block size below 1.
#
# For example, one query has scores of 0, 2 and 2 and the values are 10, 20 and 40. With a block
# size of 1, the running description is (0, 1, 10), then (2, 1.135, 18.81), then (2, 2.135, 28.73).
# The output is 28.73 and the second result is $2 + \ln 2.135 = 2.759$.
#
# *Hint:* when a larger maximum comes, what has to be done to the sums that were made with the old
# one? And if a query sees no key of a block, which maximum is it left with?


# %% exercise="tiled_attention" points=6
def tiled_attention(query, key, value, block_size, causal=False):
    """Compute attention block by block over the keys, without the table of scores.

    Args:
        query: (query_len, d_k) floating.
        key: (key_len, d_k).
        value: (key_len, d_v).
        block_size: keys in a block, 1 or more; need not divide key_len.
        causal: whether query i sees only the first key_len - query_len + i + 1 keys.

    Returns:
        output: (query_len, d_v) like `query`.
        logsumexp: (query_len,), the natural logarithm of the sum of exp(score), for each query.

    Raises:
        ValueError: if block_size is below 1.

    Source: Rabe and Staats 2021; Dao et al. 2022, section 3.1.
    """
    ### BEGIN SOLUTION
    if block_size < 1:
        raise ValueError(f"a block holds at least 1 key, not {block_size}")
    scaled = query / math.sqrt(query.shape[-1])
    last_seen = torch.arange(len(key) - len(query), len(key), device=query.device)[:, None]
    maximum = query.new_full((len(query), 1), -math.inf)
    total, summed = torch.zeros_like(maximum), query.new_zeros(len(query), value.shape[-1])
    for start in range(0, len(key), block_size):
        block = slice(start, start + block_size)
        scores = scaled @ key[block].mT  # (query_len, block_size)
        if causal:  # key 0 is in the first block, so that each query has a finite maximum there
            places = torch.arange(start, start + scores.shape[1], device=query.device)
            scores = scores.masked_fill(places > last_seen, -math.inf)
        larger = torch.maximum(maximum, scores.detach().amax(dim=-1, keepdim=True))
        exponentials, shrunk = torch.exp(scores - larger), torch.exp(maximum - larger)
        total = shrunk * total + exponentials.sum(dim=-1, keepdim=True)
        summed = shrunk * summed + exponentials @ value[block]
        maximum = larger
    return summed / total, (maximum + total.log()).squeeze(-1)
    ### END SOLUTION


# %% [markdown]
# ## 5. Attention with a cache
#
# A decoder reads its own words. When it has written word 100, the keys and values of the first 99
# have not changed, so it keeps them. Write the attention of a decoder that is given only what is
# **new**: the queries, keys and values of the new words, one or several. It is also given the
# cache, which is `None` at first and then the one that you returned: the pair of all keys and all
# values so far.
#
# - The output has a row for each *new* word, and equals the last rows of causal attention over
#   everything that was seen, the new words included.
# - Return the output and the new cache, a pair (keys, values).
# - Leave the cache that was passed in as it is, because somebody may continue it again in another
#   way, as beam search does.
# - Gradients flow through the cache.
#
# For example, the cache holds 3 words and 2 are new. The first of the new words sees 4 keys, the 3
# of the cache and its own. The second one sees all 5.
#
# *Hint:* the mask has a row for each new word and a column for each word. Which of the rows of the
# full causal mask are these?


# %% exercise="cached_attention" points=4
def cached_attention(query, key, value, cache):
    """Let new words attend to all words so far, and remember their keys and values.

    Args:
        query, key, value: (batch, heads, new, head_dim) of the new words, at least one.
        cache: None, or (keys, values) of the words before, (batch, heads, length, head_dim) each.

    Returns:
        output: (batch, heads, new, head_dim).
        cache: (keys, values), (batch, heads, length + new, head_dim) each.
    """
    ### BEGIN SOLUTION
    if cache is not None:
        key, value = (torch.cat(pair, dim=2) for pair in zip(cache, (key, value), strict=True))
    new, length = query.shape[2], key.shape[2]
    mask = causal_mask(length, device=query.device)[..., length - new :, :]  # (1, 1, new, length)
    output, _ = masked_attention(query, key, value, mask)
    return output, (key, value)
    ### END SOLUTION


# %% [markdown]
# ## 6. Grouped queries
#
# The cache holds keys and values, not queries. So it shrinks if several heads of queries share one
# head of keys and values. With 8 heads of queries and 2 of keys and values, the first 4 heads of
# queries share the first head of keys and values, and the last 4 share the second one: head `h`
# uses head `h // (heads // kv_heads)`.
#
# - `mask` is that of chapter 6: True means "may attend", it broadcasts to (batch, heads, query_len,
#   key_len), and a row without any True gives an output of 0 and finite gradients.
# - Raise a `ValueError` unless `kv_heads` divides `heads`.
#
# For example, 4 heads of queries share 2 heads of keys and values: query heads 0 and 1 use head 0,
# query heads 2 and 3 use head 1. In the order of the query heads these are 0, 0, 1, 1, and not
# 0, 1, 0, 1.
#
# *Hint:* PyTorch can repeat each element of an axis, and it can repeat the axis as a whole. Which
# of the two gives 0, 0, 1, 1?


# %% exercise="grouped_query_attention" points=4
def grouped_query_attention(query, key, value, mask=None):
    """Compute attention in which several heads of queries share a head of keys and values.

    Args:
        query: (batch, heads, query_len, head_dim) floating.
        key, value: (batch, kv_heads, key_len, head_dim).
        mask: bool, True means "may attend"; broadcasts to (batch, heads, query_len, key_len).

    Returns:
        output: (batch, heads, query_len, head_dim) like `query`; 0 for a query that sees nothing.

    Raises:
        ValueError: unless kv_heads divides heads.

    Source: Ainslie et al. 2023, section 2.2.
    """
    ### BEGIN SOLUTION
    heads, kv_heads = query.shape[1], key.shape[1]
    if heads % kv_heads:
        raise ValueError(f"{kv_heads} heads of keys cannot be shared out to {heads} of queries")
    key, value = (each.repeat_interleave(heads // kv_heads, dim=1) for each in (key, value))
    output, _ = masked_attention(query, key, value, mask)
    return output
    ### END SOLUTION


# %% [markdown]
# ## 7. A window
#
# If each position sees only the last `window` words, the cache stops growing. If tiles in which
# nothing is seen are left out as well, the cost grows with the length and no longer with its square.
# Write the mask: causal, and a position sees **itself and the `window - 1` positions before it**.
# Count carefully, because real systems have been one off in both directions.
#
# For example, 4 positions with a window of 2 have the mask
#
# ```
# True  False False False
# True  True  False False
# False True  True  False
# False False True  True
# ```
#
# The mask has the shape (1, 1, seq_len, seq_len), as `causal_mask` of chapter 6. `window` may be
# larger than `seq_len`. Raise a `ValueError` for a window below 1, because a position sees itself
# at least.
#
# *Hint:* what are the smallest and the largest distance that a query and its key may have?


# %% exercise="sliding_window_mask" points=2
def sliding_window_mask(seq_len, window, device=None):
    """Allow each position to see itself and the `window - 1` positions before it.

    Args:
        seq_len: positions.
        window: positions that one may see, 1 or more; may exceed seq_len.
        device: where the mask is made.

    Returns:
        (1, 1, seq_len, seq_len) bool, True means "may attend".

    Raises:
        ValueError: if the window is below 1.

    Source: Beltagy et al. 2020, section 3.1, causal.
    """
    ### BEGIN SOLUTION
    if window < 1:
        raise ValueError(f"a position sees itself at least: the window is {window}")
    position = torch.arange(seq_len, device=device)
    distance = position[:, None] - position  # rows are queries
    return ((distance >= 0) & (distance < window))[None, None]
    ### END SOLUTION


# %% [markdown]
# ## What you have now
#
# You can say what attention costs before you run it, and you have the four ideas that long
# documents rest on. Tiles do without the table, a cache does without the repetition, and both leave
# the result as it is. Grouped queries and windows change the model, so that there is less to keep
# and to compute.
