"""Averages of the values, weighted by how well their keys match."""

import math
from functools import partial

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch04_attention import halves, normal
from autograder.checks.ch04_attention.attention_scores import (
    in_float64,
    over_d_k,
    over_key_len,
    queries_and_keys,
    unscaled,
    with_all_axes_reversed,
    with_einsum,
    with_torchs_transpose,
    with_torchs_transpose_as_it_is,
)
from autograder.checks.ch04_attention.softmax import (
    by_logarithm,
    naive,
    over_everything,
)
from autograder.shared.laws import between_the_values, sums_to_one
from autograder.shared.probes import arguments_after
from solutions.ch04_attention import attention_scores, scaled_dot_product_attention, softmax


@drawn
def queries_keys_values(rng, *shape, dtype=np.float64):
    """Draw arguments, of a shape like (batch, query_len, key_len, d_k, d_v)."""
    *batch, _, key_len, _, d_v = shape
    drawn_first = queries_and_keys(rng, *shape[:-1], dtype=dtype)
    return {**drawn_first, "value": normal(rng, *batch, key_len, d_v, dtype=dtype)}


@drawn
def one_query_that_prefers(rng, preferred):
    """Draw one query and two keys of which it prefers one: where both have the same score, equal
    weights for everybody are right.
    """
    while True:
        drawn = queries_keys_values(rng, 1, 2, 3, 2)
        scores = drawn["query"] @ drawn["key"].T
        if scores[0, preferred] - scores[0, 1 - preferred] > 0.2:
            return drawn


def rows_around_1000(rng):
    """Queries and keys with scores around 1000 in some rows and around -1000 in others, close
    together in each.
    """
    query, key = normal(rng, 3, 4), normal(rng, 5, 4)
    query[:, 0] = rng.permutation([40, -40, 40])
    key[:, 0] = 50
    return {"query": query, "key": key, "value": normal(rng, 5, 3)}


def scores_in_steps(rng):
    """A query whose weights range from almost 1 down to almost 0, in steps: its scores are 0, -5,
    -10, -15 and -20.
    """
    query, key = normal(rng, 1, 4), np.zeros((5, 4))
    query[:, 0] = 2
    key[:, 0] = rng.permutation([0, -5, -10, -15, -20])
    return {"query": query, "key": key, "value": 1 + normal(rng, 5, 3, scale=0.2)}


def attention_with(
    scores_of=attention_scores,
    weights_of=softmax,
    averaged=lambda weights, key, value: weights @ value,
):
    """Make an attention from its rules."""

    def attention(query, key, value):
        weights = weights_of(scores_of(query, key))
        return averaged(weights, key, value), weights

    return attention


checks = Checks(
    scaled_dot_product_attention,
    laws=(partial(sums_to_one, of="weights"), between_the_values),
    family=attention_with,
    returns=("output", "weights"),
    shortcuts="""scaled_dot_product_attention _scaled_dot_product_attention_math
    multi_head_attention_forward MultiheadAttention""",
)
shown, hidden, wrong, right = checks.words

# Two weights are one number: of the same key, it might come up again.
shown("one query, two keys", one_query_that_prefers(0), graded=one_query_that_prefers(1))
shown("a sentence that attends to itself", queries_keys_values(4, 4, 3, 5), weight=3)
shown("more keys than queries", queries_keys_values(2, 5, 3, 4))
shown("values longer than keys", queries_keys_values(3, 3, 2, 6))
shown("a batch is carried along", queries_keys_values(2, 3, 4, 5, 6))
shown(
    "float32 in, float32 out",
    queries_keys_values(2, 3, 4, 2, dtype=np.float32),
)
shown(
    "the arguments stay as they were",
    queries_keys_values(2, 3, 4, 2),
    probe=arguments_after,
)
hidden("batch and heads", queries_keys_values(2, 3, 4, 5, 6, 7), weight=3)
hidden("all sizes equal", queries_keys_values(3, 3, 3, 3, 3))
hidden("rows with scores around 1000 and -1000", rows_around_1000)
hidden("a single key gets all the weight", queries_keys_values(3, 1, 4, 2))
hidden("long vectors", queries_keys_values(3, 4, 64, 5))
hidden("small weights are not cut off", scores_in_steps)
hidden(
    "queries of zeros look at all keys alike",
    query=np.zeros((2, 3)),
    key=normal(4, 3),
    value=normal(4, 2),
)
hidden(
    "float16 in, float16 out",
    query=halves(2, 4, low=-1, high=1),
    key=halves(3, 4, low=-1, high=1),
    value=halves(3, 2, low=1, high=4),
)
hidden(
    "a batch stays as it was",
    queries_keys_values(2, 2, 3, 4, 2),
    probe=arguments_after,
)


wrong(
    "the softmax runs over the queries",
    "Take one query: over which axis do its weights have to sum to 1?",
    weights_of=partial(softmax, axis=-2),
)


wrong(
    "the dot products are the scores",
    """The weights are sharper than they should be. What happens to the dot products before the
    softmax?""",
    scores_of=unscaled,
)


wrong(
    "the scale is d_k",
    "The weights are too even. Which power of d_k does the scale take?",
    scores_of=over_d_k,
)


@wrong(
    "the scale is sqrt(d_v)",
    "Your scale follows the length of the values. Which vectors enter the dot product?",
)
def scaled_by_the_values(query, key, value):
    weights = softmax(unscaled(query, key) / math.sqrt(value.shape[-1]))
    return weights @ value, weights


wrong(
    "the scale is sqrt(key_len)",
    "Your scale follows the number of keys. Over which axis does a dot product sum?",
    scores_of=over_key_len,
)


wrong(
    "np.sqrt keeps float32",
    """Your result became float64 on the way. Look at the dtype of everything that you combine with
    the arguments, single numbers included.""",
    scores_of=in_float64,
)


wrong(
    ".T swaps the last two axes",
    """Which axes of the keys change places in your function when there are more than two, and which
    should?""",
    scores_of=with_all_axes_reversed,
)


wrong(
    "NumPy's transpose swaps the two axes that it is given",
    """In torch, `transpose` is given the two axes that change places. In NumPy it is given the new
    order of all axes. How many axes may the keys have?""",
    scores_of=with_torchs_transpose,
)


wrong(
    "NumPy's transpose swaps the two axes that it is given, in any order",
    """NumPy's `transpose` is not given the two axes that change places, as torch's is, but the new
    order of all axes. Which order is (-2, -1), where there are two?""",
    scores_of=with_torchs_transpose_as_it_is,
)


wrong(
    "all weights together sum to 1",
    "Each query has an average of its own. Over which numbers do your weights sum to 1?",
    weights_of=over_everything,
)


wrong(
    "exp of the raw scores is good enough",
    "Does your softmax work for scores around 1000, and for scores around -1000?",
    weights_of=naive,
)


checks.usual(
    "in another order",
    belief="weights come first",
    hint="Both arrays are there. In which order should they be returned?",
)


checks.exchanged("query", "key")
checks.exchanged("key", "value")


@wrong(
    "scores are weights",
    "The output is right, but the second array is still what went into the softmax.",
    around=True,
)
def returning_scores(right, query, key, value):
    output, _ = right(query, key, value)
    return output, attention_scores(query, key)


wrong(
    "weights are transposed before they meet the values",
    """The weights are right. Which of their axes belongs to the values: that of the queries or that
    of the keys?""",
    averaged=lambda weights, key, value: weights.swapaxes(-2, -1) @ value,
)


@wrong(
    "the scale comes after the softmax",
    "The weights no longer sum to 1. In which order do scale and softmax come?",
)
def scaled_after_softmax(query, key, value):
    weights = softmax(unscaled(query, key)) / math.sqrt(query.shape[-1])
    return weights @ value, weights


wrong(
    "no softmax is needed",
    "These weights can be negative. Which step turns scores into weights?",
    weights_of=lambda scores: scores,
)


wrong(
    "the keys are averaged",
    "The weights are right, but the output averages the wrong vectors.",
    averaged=lambda weights, key, value: weights @ key,
)


right(
    attention_with(
        with_einsum,
        by_logarithm,
        lambda weights, key, value: np.einsum("...qk,...kv->...qv", weights, value),
    )
)


@right
def by_loops(query, key, value):
    output = np.empty((*query.shape[:-1], value.shape[-1]), dtype=value.dtype)
    weights = np.empty((*query.shape[:-1], key.shape[-2]), dtype=query.dtype)
    for index in np.ndindex(*query.shape[:-1]):
        scores = key[index[:-1]] @ query[index] / math.sqrt(query.shape[-1])
        weights[index] = softmax(scores)
        output[index] = sum(weights[index][:, np.newaxis] * value[index[:-1]])
    return output, weights


@right
@with_tensors
def by_torch(query, key, value):
    import torch

    attend = torch.nn.functional.scaled_dot_product_attention
    identity = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], key.shape[-2])
    return attend(query, key, value), attend(query, key, identity)


@right
def as_a_list(query, key, value):
    return list(scaled_dot_product_attention(query, key, value))
