"""How well each key matches each query."""

import math
from functools import partial

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch04_attention import normal
from autograder.shared.probes import arguments_after
from solutions import ch04_attention as reference


@drawn
def queries_and_keys(rng, *shape, scale=1.0, dtype=np.float64):
    """Draw queries and keys, of a shape like (batch, query_len, key_len, d_k)."""
    *batch, query_len, key_len, d_k = shape
    return {
        "query": normal(rng, *batch, query_len, d_k, scale=scale, dtype=dtype),
        "key": normal(rng, *batch, key_len, d_k, scale=scale, dtype=dtype),
    }


def products(query, key):
    return query @ key.swapaxes(-2, -1)


def scores_with(compared=products, scale=lambda query, key: math.sqrt(query.shape[-1])):
    """Make an `attention_scores` from rules for what compares queries and keys and for the scale
    that divides.
    """

    def attention_scores(query, key):
        return compared(query, key) / scale(query, key)

    return attention_scores


def of_length_one(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


checks = Checks(reference.attention_scores, family=scores_with)
shown, hidden, wrong, right = checks.words

shown("two queries against two keys", queries_and_keys(2, 2, 3), weight=2)
shown("three words against themselves", queries_and_keys(3, 3, 4))
shown("rows are queries, columns are keys", queries_and_keys(2, 5, 3))
shown("a batch is carried along", queries_and_keys(2, 3, 4, 5))
shown("float32 in, float32 out", queries_and_keys(2, 3, 4, dtype=np.float32))
shown(
    "query and key stay as they were",
    queries_and_keys(2, 3, 4),
    probe=arguments_after,
)
hidden("batch and heads", queries_and_keys(2, 3, 4, 5, 6), weight=2)
hidden("as many batches as words", queries_and_keys(3, 3, 3, 3))
hidden("long vectors, a single key", queries_and_keys(3, 1, 64))
hidden("vectors of length 1", queries_and_keys(2, 3, 1))
hidden("three axes in front", queries_and_keys(2, 1, 2, 2, 3, 4))
hidden("large scores stay large", queries_and_keys(2, 3, 4, scale=60))
hidden(
    "a batch stays as it was",
    queries_and_keys(2, 2, 3, 4),
    probe=arguments_after,
)


unscaled = wrong(
    "the dot products are the scores",
    """These are the dot products themselves. What does the formula do with them before the
    softmax?""",
    scale=lambda query, key: 1,
)


over_d_k = wrong(
    "the scale is d_k",
    """Your scores are off by a factor that depends on d_k. With which power of d_k does the spread
    of a dot product grow?""",
    scale=lambda query, key: query.shape[-1],
)


over_key_len = wrong(
    "the scale belongs to the number of keys",
    "Your scale depends on how many keys there are. Over which axis does a dot product sum?",
    scale=lambda query, key: math.sqrt(key.shape[-2]),
)


wrong(
    "d_k is the length of the first axis",
    "Your scale follows the first axis of the query. Over which axis does a dot product sum?",
    scale=lambda query, key: math.sqrt(query.shape[0]),
)


wrong(
    "a matrix product of queries and keys compares them as they are",
    """A matrix product sums over the last axis of its first factor and the last but one of its
    second. Which axes of queries and keys should meet?""",
    compared=np.matmul,
)


wrong(
    "the scale multiplies",
    """The scores grow with d_k faster than the dot products do. Is the scale meant to make them
    larger or smaller?""",
    scale=lambda query, key: 1 / math.sqrt(query.shape[-1]),
)


checks.usual(
    "transposed",
    belief="rows are keys",
    hint="""The numbers are right, but rows and columns have changed places: rows are queries, and
    columns are keys.""",
)


with_all_axes_reversed = wrong(
    ".T swaps the last two axes",
    """Which axes of the keys change places in your function when there are more than two, and which
    should?""",
    compared=lambda query, key: query @ key.T,
)


with_torchs_transpose = wrong(
    "NumPy's transpose swaps the two axes that it is given",
    """In torch, `transpose` is given the two axes that change places. In NumPy it is given the new
    order of all axes. How many axes may the keys have?""",
    compared=lambda query, key: query @ key.transpose(-1, -2),
)


with_torchs_transpose_as_it_is = wrong(
    "NumPy's transpose swaps the two axes that it is given, in any order",
    """NumPy's `transpose` is not given the two axes that change places, as torch's is, but the new
    order of all axes. Which order is (-2, -1), where there are two?""",
    compared=lambda query, key: query @ key.transpose(-2, -1),
)


wrong(
    "there is always one axis for the batch",
    """You write down an order of three axes. How many axes may the keys have: only these three?""",
    compared=lambda query, key: query @ key.transpose(0, 2, 1),
)


wrong(
    "np.dot goes through a batch like @",
    """Your result has an axis too many where there is a batch. What does NumPy's documentation say
    that `dot` does with more than two axes, and what does `matmul` do?""",
    compared=lambda query, key: np.dot(query, key.swapaxes(-2, -1)),
)


wrong(
    "* compares queries and keys",
    """You multiply number by number. A score is one number for each pair of a query and a key: over
    which axis is there a sum?""",
    compared=np.multiply,
)


in_float64 = wrong(
    "np.sqrt keeps float32",
    """Your result became float64 on the way. Look at the dtype of everything that you combine with
    query and key, single numbers included.""",
    scale=lambda query, key: np.sqrt(query.shape[-1]),
)


checks.usual(
    "changes its argument",
    belief="the caller's query is free to be scaled",
    hint="""Compare `query` before and after the call. Which line of yours writes into it instead of
    making a new array?""",
)


wrong(
    "scores are cosines",
    """All your scores lie between -1 and 1, however long the vectors are. Does the formula divide
    by the lengths of the vectors?""",
    query=of_length_one,
    key=of_length_one,
    scale=lambda query, key: 1,
)


with_einsum = right(scores_with(partial(np.einsum, "...qd,...kd->...qk")))


@right
def with_scaled_query(query, key):
    return np.matmul(query * query.shape[-1] ** -0.5, np.moveaxis(key, -1, -2))


@right
def by_broadcasting(query, key):
    products = query[..., :, np.newaxis, :] * key[..., np.newaxis, :, :]
    return products.sum(axis=-1) / np.sqrt(query.shape[-1], dtype=query.dtype)


@right
def by_loops(query, key):
    scores = np.empty((*query.shape[:-1], key.shape[-2]), dtype=query.dtype)
    for *batch, row, column in np.ndindex(*scores.shape):
        scores[(*batch, row, column)] = (
            sum(query[(*batch, row)] * key[(*batch, column)]) / query.shape[-1] ** 0.5
        )
    return scores
