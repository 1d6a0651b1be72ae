# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Why attention
#
# Can one vector hold a whole sentence? In this notebook you build what it takes to find out: a
# **recurrent network**, which reads a sentence word by word into one vector, and **additive
# attention**, which looks back at every state that the reader went through.
#
# The chapter of the same name in the book has the pictures. Each exercise below is a statement, a
# function to complete, and a cell that checks it at once. Replace `raise NotImplementedError` with
# your code, run the cell, run the check. (In the book you see this notebook without being able to
# run it: `make lab` opens a copy of your own.)

# %%
import math

import numpy as np

from solutions.ch01_embeddings import build_vocabulary, embed, encode
from solutions.ch02_positional_encoding import sinusoidal_encoding

# %% [markdown]
# ## 1. A reader with one state
#
# A recurrent network keeps a **state**, a vector of `d_hidden` numbers. For each word it makes a
# new state from the word's vector $x_t$ and the state before, and it uses the same three arrays
# every time:
#
# $$h_t = \tanh(x_t W_{input} + h_{t-1} W_{hidden} + b), \qquad h_0 = 0$$
#
# Write `rnn_encode(inputs, w_input, w_hidden, bias)`. `inputs` has one row per word, and so has the
# result, which holds the states $h_1, h_2, \dots$ ($h_0$ is not among them). With
#
# ```text
# inputs = [[1, 0], [0, 1]]     w_input = [[1, 0], [0, 1]]     w_hidden = [[0.5, 1], [0, 0.5]]     bias = [0, 0.5]
# ```
#
# the first state is $\tanh(1, 0.5)$, which is `[0.7616, 0.4621]` to four decimals. The second is
# the $\tanh$ of $(0, 1) + (0.3808, 0.9927) + (0, 0.5)$, which is `[0.3634, 0.9864]`. The middle
# term is the first state times `w_hidden`.
#
# The sums inside the $\tanh$ may be of any size. The result has the dtype of `inputs`, and none of
# the four arguments is changed.
#
# *Hint:* each state needs the one before it, so a loop is right. What dtype does the state have
# that you start from? And if you write each new state into the same array, what does a list of them
# hold at the end?


# %% exercise="rnn_encode" points=3
def rnn_encode(inputs, w_input, w_hidden, bias):
    """Read a sequence step by step, and keep every state on the way.

    Args:
        inputs: (seq_len, d_input) floating: one row per word, at least one.
        w_input: (d_input, d_hidden): from a word to the state.
        w_hidden: (d_hidden, d_hidden): from the state before to the state.
        bias: (d_hidden,).

    Returns:
        (seq_len, d_hidden), the dtype of `inputs`: row t is `tanh(inputs[t] @ w_input + (row t - 1)
        @ w_hidden + bias)`; before the first row, the state is zero.

    Source: Pascanu et al. 2013, section 1.1, for the network; the book's page for this form of it.
    """
    ### BEGIN SOLUTION
    from_words = inputs @ w_input + bias  # (seq_len, d_hidden): needs no state, so one product does
    states = np.empty_like(from_words)
    state = np.zeros_like(bias)
    for step, from_word in enumerate(from_words):
        state = np.tanh(from_word + state @ w_hidden)
        states[step] = state
    return states
    ### END SOLUTION


# %% [markdown]
# How long does a state remember the first word? In a new cell, read one sentence twice, with
# another first word the second time, and print by how much the two states differ after each word.
# The slider sets the strength of `w_hidden`.
#
# ```python
# from ipywidgets import interact
#
# @interact(strength=(0.2, 2.0))
# def remembered(strength=0.8):
#     rng = np.random.default_rng(0)
#     words, w_input = rng.normal(size=(10, 4)), rng.normal(size=(4, 4))
#     w_hidden = strength * np.linalg.qr(rng.normal(size=(4, 4)))[0]
#     others = words.copy()
#     others[0] += 1
#     one, other = (rnn_encode(each, w_input, w_hidden, np.zeros(4)) for each in (words, others))
#     print(np.abs(one - other).max(axis=1).round(4))
# ```

# %% [markdown]
# ## 2. Additive attention
#
# Now the decoder, which writes the translation, has to find out which of the reader's states to
# look at. The decoder's own state is the **query** $q$, and the reader's states are the **keys**
# $k_t$. A small network compares the query with each key, a softmax turns the scores into weights,
# and the **context** $c$ is the weighted sum of the keys:
#
# $$s_t = v \cdot \tanh(q\,W_{query} + k_t\,W_{key}), \qquad w = \operatorname{softmax}(s), \qquad c
# = \sum_t w_t\,k_t$$
#
# The softmax divides each $e^{s_t}$ by the sum of all of them: $w_t = e^{s_t} / \sum_j e^{s_j}$.
# With
#
# ```text
# query = [1, 0]     keys = [[1, 0], [0, 2]]     w_query = w_key = [[1, 0], [0, 1]]     v = [2, 4]
# ```
#
# the two vectors inside the $\tanh$ are `[2, 0]` and `[1, 2]`, the scores are `1.9281` and
# `5.3793`, the weights `[0.0307, 0.9693]`, and the context is `[0.0307, 1.9385]`. Write
# `additive_attention(query, keys, w_query, w_key, v)`, which returns the context and the weights,
# in this order, both in the dtype of `keys`.
#
# Nothing limits how large `v` gets in training, so the answer must stay finite for scores of any
# size: with `v = [2000, 4000]` the weights are `[0, 1]`, not `nan`.
#
# *Hint:* what shape does `keys @ w_key` have, and what shape does `query @ w_query` have? As for
# the softmax, $e^{1000}$ is too large for any float: what happens to the fraction if you subtract
# the same number from every score, and which number is safe?


# %% exercise="additive_attention" points=4
def additive_attention(query, keys, w_query, w_key, v):
    """Average the keys, weighted by how well each matches the query in a small network.

    Args:
        query: (d_hidden,) floating: the decoder's state, which asks.
        keys: (seq_len, d_hidden): the states to look at, at least one.
        w_query, w_key: (d_hidden, d_attention): projections of query and keys.
        v: (d_attention,): turns the tanh of the summed projections into a score.

    Returns:
        context: (d_hidden,), the weighted sum of the keys.
        weights: (seq_len,), the softmax of the scores `v · tanh(query @ w_query + keys[t] @
            w_key)`; finite for scores of any size.

    Source: Bahdanau et al. 2015, who call it an alignment model.
    """
    ### BEGIN SOLUTION
    scores = np.tanh(query @ w_query + keys @ w_key) @ v  # (seq_len,)
    exponentials = np.exp(scores - scores.max())  # no exponent above 0, so none overflows
    weights = exponentials / exponentials.sum()
    return weights @ keys, weights
    ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_copying
# explore_copying(additive_attention)
# ```
#
# You will see the copying machine of the book's page. It trains for some seconds, and then it looks
# back through *your* attention.

# %% [markdown]
# ## What you have now
#
# You have a reader that can pass on only its last state, and a way to look back at every state
# instead. The first is why long sentences were hard for some early translators, and the second is
# where attention begins. The next step is to drop the reader, and let the words look at each other.
