# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From words to vectors
#
# A matrix cannot be multiplied by the word "cat". In this notebook you get from a sentence to the
# array of numbers that every later chapter starts from:
#
# words → a **vocabulary** → **token ids** → **one-hot** vectors → **embeddings**, and the gradient
# that lets a table of embeddings learn.
#
# The chapter of the same name in the book has the pictures. Each exercise below is a statement, a
# function to complete, and a cell that checks it at once. Replace `raise NotImplementedError` with
# your code, run the cell, run the check. (In the book you see this notebook without being able to
# run it: `make lab` opens a copy of your own.)

# %%
import math
from collections import Counter

import numpy as np

# %% [markdown]
# The first four entries of every vocabulary are not words. `<pad>` fills short sentences up,
# `<bos>` and `<eos>` mark where a sentence begins and ends, and `<unk>` replaces any word that the
# vocabulary does not have. Their ids are the same in the whole course, so that code can rely on
# them.

# %%
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>")
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)

# %% [markdown]
# ## 1. A vocabulary
#
# Give every word a number. Write `build_vocabulary(sentences, max_size=None)`: a dictionary from
# token to id, which begins with the four special tokens. Then come the words, most frequent first,
# and words that occur equally often in alphabetical order, so that everybody who builds this
# vocabulary gets the same ids.
#
# | call | result |
# | --- | --- |
# | `build_vocabulary(["the cat sat", "the mat"])` | `{"<pad>": 0, "<bos>": 1, "<eos>": 2, "<unk>": 3, "the": 4, "cat": 5, "mat": 6, "sat": 7}` |
# | the same with `max_size=6` | the first six of these: up to `"cat": 5` |
#
# `max_size` counts the special tokens too, so a `max_size` below 4 has no room for them: raise a
# `ValueError` that says so. `sentences` may be any iterable of strings, even a generator, which can
# be read only once.
#
# *Hint:* `sorted` takes a key, and a key may be a pair. Which pair puts large counts first and
# breaks ties alphabetically?


# %% exercise="build_vocabulary" points=2
def build_vocabulary(sentences, max_size=None):
    """Number the words of a corpus, the most frequent first.

    Args:
        sentences: iterable of strings; words are separated by whitespace.
        max_size: largest number of entries, the four special tokens included; None for no limit.

    Returns:
        dict[str, int]: `SPECIAL_TOKENS` as ids 0 to 3, then words from the most to the least
        frequent, ties in alphabetical order.

    Raises:
        ValueError: if `max_size` is below 4.
    """
    ### BEGIN SOLUTION
    if max_size is not None and max_size < len(SPECIAL_TOKENS):
        raise ValueError(
            f"max_size is {max_size}, but the special tokens alone need {len(SPECIAL_TOKENS)}"
        )
    counts = Counter(word for sentence in sentences for word in sentence.split())
    words = sorted(counts.keys() - set(SPECIAL_TOKENS), key=lambda word: (-counts[word], word))
    return {token: index for index, token in enumerate([*SPECIAL_TOKENS, *words][:max_size])}
    ### END SOLUTION


# %% [markdown]
# ## 2. From a sentence to ids
#
# Write `encode(sentence, vocabulary)`: one id for each word of the sentence, in order, as an
# `int64` array. A word that the vocabulary does not have becomes the id of `<unk>`.
#
# With the vocabulary of exercise 1, `encode("the dog sat", vocabulary)` is `array([4, 3, 7])`:
# "dog" is unknown.
#
# *Hint:* an empty sentence has no words, so its result has the shape `(0,)`, but the dtype is still
# `int64`. What dtype does `np.array([])` have?


# %% exercise="encode" points=1
def encode(sentence, vocabulary):
    """Replace each word of a sentence by its id.

    Args:
        sentence: string; words are separated by whitespace.
        vocabulary: dict[str, int], as `build_vocabulary` makes it.

    Returns:
        (seq_len,) int64: the ids; words that are not in `vocabulary` become the id of `<unk>`.
    """
    ### BEGIN SOLUTION
    unknown = vocabulary["<unk>"]
    return np.array([vocabulary.get(word, unknown) for word in sentence.split()], dtype=np.int64)
    ### END SOLUTION


# %% [markdown]
# What does a small vocabulary cost? Put this into a new cell, move the slider, and count the 3s,
# which stand for unknown words. If one of your functions is not there yet, you see its error under
# the slider, and nothing else stops.
#
# ```python
# from ipywidgets import interact
#
# @interact(max_size=(4, 12))
# def small_vocabulary(max_size=8):
#     corpus = ["the cat saw the dog", "the dog saw a cat", "a bird saw the cat"]
#     vocabulary = build_vocabulary(corpus, max_size)
#     for sentence in corpus:
#         print(encode(sentence, vocabulary), sentence)
# ```

# %% [markdown]
# ## 3. One-hot vectors
#
# An id is a name, not a quantity: word 6 is not twice word 3. A one-hot vector says only *which*
# word it is: it has `vocab_size` numbers, a 1 at the index of the id and 0 everywhere else.
#
# `one_hot(np.array([2, 0]), vocab_size=4)` is
#
# ```text
# [[0., 0., 1., 0.],
#  [1., 0., 0., 0.]]
# ```
#
# `token_ids` may have any shape, and the result has one more axis, at the end. An id outside `[0,
# vocab_size)` means that a mistake was made earlier, so raise a `ValueError`. That includes
# negative ids, which NumPy would silently count from the end.
#
# *Hint:* comparing an array of ids with `np.arange(vocab_size)` gives True in the right places, if
# you first make the two shapes broadcast.


# %% exercise="one_hot" points=2
def one_hot(token_ids, vocab_size):
    """Write each id as a vector of zeros with a single one.

    Args:
        token_ids: (...) int, each in `[0, vocab_size)`.
        vocab_size: number of entries in the vocabulary.

    Returns:
        (..., vocab_size) float64: 1 at the position of the id, 0 elsewhere.

    Raises:
        ValueError: if an id is negative or not below `vocab_size`.
    """
    ### BEGIN SOLUTION
    token_ids = np.asarray(token_ids)
    outside = token_ids[(token_ids < 0) | (token_ids >= vocab_size)]
    if outside.size:
        raise ValueError(f"token id {outside[0]} is outside [0, {vocab_size})")
    return (token_ids[..., np.newaxis] == np.arange(vocab_size)).astype(np.float64)
    ### END SOLUTION


# %% [markdown]
# ## 4. Embeddings
#
# An embedding table has one row of `d_model` numbers for each word. The embedding of a word is its
# one-hot vector times the table, but that product only picks a row:
#
# ```text
#                          [ 0.1  0.2 ]
# [0., 0., 1., 0.]    @    [ 0.3  0.4 ]    =    [ 0.5  0.6 ]
#                          [ 0.5  0.6 ]
#                          [ 0.7  0.8 ]
# ```
#
# So write `embed(token_ids, table)`, which gives the same numbers as `one_hot(token_ids,
# vocab_size) @ table` without ever building the one-hot vectors. With 30,000 words that saves
# almost all of the work.
#
# *Hint:* an index in NumPy may itself be an array, of any shape.


# %% exercise="embed" points=1
def embed(token_ids, table):
    """Look up the vector of each token.

    Args:
        token_ids: (...) int, each in `[0, vocab_size)`.
        table: (vocab_size, d_model) floating; row i is the vector of token i.

    Returns:
        (..., d_model), the dtype of `table`: equal to `one_hot(token_ids, vocab_size) @ table`.
    """
    ### BEGIN SOLUTION
    return table[token_ids]
    ### END SOLUTION


# %% [markdown]
# What does your code do? To see it, even while it is not right yet, put these two lines into a new
# cell and run it:
#
# ```python
# from book.explorers import explore_lookup
# explore_lookup(embed, one_hot, encode)
# ```
#
# You will see the table of the book's page, but the ids, the one-hot vectors and the rows beside it
# are what your three functions return.

# %% [markdown]
# ## 5. How a table learns
#
# For each number in the table, training asks: if this number grew a little, how fast would the loss
# change? Suppose that backpropagation has answered this for each embedding that was looked up, and
# call the answers `grad_output`. Write `embedding_gradient`, which turns them into the gradient
# with respect to the table.
#
# Rows that were not looked up have the gradient 0, and the row of a word that occurs twice gets
# both contributions, because both embeddings move with it. For `token_ids = [2, 0, 2]`, `vocab_size
# = 4` and `grad_output = [[1, 1], [2, 2], [5, 5]]`:
#
# ```text
# [[2, 2],     row 0: from position 1
#  [0, 0],
#  [6, 6],     row 2: positions 0 and 2 add up
#  [0, 0]]
# ```
#
# *Hint:* for ids with one axis, the gradient of the table is `one_hot(token_ids, vocab_size).T @
# grad_output`, but the ids may also have more axes. Before you rely on `+=`, try `a[[0, 0]] += 1`
# on an array of zeros, and look closely.


# %% exercise="embedding_gradient" points=2
def embedding_gradient(token_ids, grad_output, vocab_size):
    """Send the gradient of each looked-up embedding back to its row of the table.

    Args:
        token_ids: (...) int: the ids that were looked up.
        grad_output: (..., d_model) floating: gradient with respect to `embed(token_ids, table)`.
        vocab_size: number of rows of the table.

    Returns:
        (vocab_size, d_model), the dtype of `grad_output`: gradient of `sum(embed(token_ids,
        table) * grad_output)` with respect to `table`; contributions of repeated ids are summed.
    """
    ### BEGIN SOLUTION
    gradient = np.zeros((vocab_size, grad_output.shape[-1]), dtype=grad_output.dtype)
    np.add.at(gradient, token_ids, grad_output)  # unlike +=, counts an id again each time it occurs
    return gradient
    ### END SOLUTION


# %% [markdown]
# ## What you have now
#
# `build_vocabulary` and `encode` turn text into ids; `embed` turns ids into vectors;
# `embedding_gradient` lets the vectors learn. What the vectors do not know yet is where in the
# sentence their word was, and that is the subject of the next chapter.
