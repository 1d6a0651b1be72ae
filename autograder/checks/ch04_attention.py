"""Checks of `ch04_attention`."""

import math

import numpy as np

from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import arguments_after
from solutions import ch04_attention as reference

ROWS_SUM_TO_ONE = ("sums_to_one", {})
EXACTLY_ONE = ("exactly_one", {})
EXACT_ZEROS = ("zero_where_minus_infinity", {})
WEIGHTS_SUM_TO_ONE = ("sums_to_one", {"of": "weights"})
WEIGHTS_EXACTLY_ONE = ("exactly_one", {"of": "weights"})
INSIDE_THE_VALUES = ("between_the_values", {})
CANCELS = ("sums_to_zero", {})


def normal(rng, *shape, scale=1.0, dtype=np.float64):
    """Draw numbers with one decimal, which read well in a message."""
    return ((scale * rng.normal(size=shape)).round(1) + 0.0).astype(
        dtype
    )  # + 0.0 makes -0.0 a plain 0


def halves(rng, *shape, low, high):
    """Draw float16 numbers whose products and sums are exact, so that every right order of
    operations gives the same.
    """
    return (rng.integers(2 * low, 2 * high + 1, size=shape) / 2).astype(np.float16)


# --- softmax
# ---------------------------------------------------------------------------------------------------------


def rows_far_apart(rng):
    scores = normal(rng, 3, 4)
    scores[0] -= 900
    scores[2] += 900
    return {"scores": scores}


def with_minus_infinity(rng):
    scores = normal(rng, 3, 4)
    scores[[0, 1, 1], [rng.integers(4), 0, 3]] = -np.inf
    return {"scores": scores}


def one_finite_score(rng):
    scores = np.full((3, 4), -np.inf)
    scores[np.arange(3), rng.integers(4, size=3)] = -1e12
    return {"scores": scores}


def small_weights(rng):
    """Rows whose weights range from almost 1 down to almost 0, in steps."""
    below = [rng.permutation([0, 4, 9, 14, 19, 30, 45]) for _ in range(2)]
    return {"scores": normal(rng, 2, 1) - np.array(below, dtype=np.float64)}


def one_score_far_above(rng):
    scores = normal(rng, 2, 4)
    scores[[0, 1], rng.permutation([1, 2])] += 2000
    return {"scores": scores}


def batch_with_minus_infinity(rng):
    scores = normal(rng, 2, 3, 4)
    scores[[0, 1], rng.integers(3, size=2), rng.integers(4, size=2)] = -np.inf
    return {"scores": scores}


def softmax_naive(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def softmax_ignoring_axis(scores, axis=-1):
    return reference.softmax(scores, axis=-1)


def softmax_global_maximum(scores, axis=-1):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def softmax_with_epsilon(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + 1e-9)


def softmax_shifted_by_the_mean(scores, axis=-1):
    exponentials = np.exp(scores - scores.mean(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def softmax_with_a_stand_in(scores, axis=-1):
    return reference.softmax(np.where(np.isneginf(scores), scores.dtype.type(-1e9), scores), axis)


def softmax_over_everything(scores, axis=-1):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def softmax_without_keepdims(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis)


def softmax_in_place(scores, axis=-1):
    scores -= scores.max(axis=axis, keepdims=True)
    return reference.softmax(scores, axis)


def softmax_in_float64(scores, axis=-1):
    return reference.softmax(scores.astype(np.float64), axis)


def softmax_without_exponential(scores, axis=-1):
    return scores / scores.sum(axis=axis, keepdims=True)


def softmax_by_logarithm(scores, axis=-1):
    largest = scores.max(axis=axis, keepdims=True)
    return np.exp(scores - largest - np.log(np.exp(scores - largest).sum(axis=axis, keepdims=True)))


def softmax_by_loops(scores, axis=-1):
    def of_slice(one):
        exponentials = [math.exp(number - max(one)) for number in one.tolist()]
        return [number / sum(exponentials) for number in exponentials]

    return np.apply_along_axis(of_slice, axis, scores).astype(scores.dtype)


def softmax_by_torch(scores, axis=-1):
    import torch

    return torch.softmax(torch.from_numpy(scores.copy()), dim=axis).numpy()


def softmax_in_longdouble(scores, axis=-1):
    wide = scores.astype(np.longdouble)
    exponentials = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return (exponentials / exponentials.sum(axis=axis, keepdims=True)).astype(scores.dtype)


SOFTMAX = Exercise(
    reference=reference.softmax,
    cases=(
        Case(
            "three scores become three weights",
            lambda rng: {"scores": normal(rng, 3)},
            properties=(ROWS_SUM_TO_ONE,),
            weight=2,
        ),
        Case(
            "each row of a matrix is a softmax of its own",
            lambda rng: {"scores": normal(rng, 3, 4)},
            properties=(ROWS_SUM_TO_ONE,),
        ),
        Case(
            "axis=0 makes the columns sum to 1",
            lambda rng: {"scores": normal(rng, 3, 3), "axis": 0},
            properties=(ROWS_SUM_TO_ONE,),
        ),
        Case(
            "scores around 1000 do not overflow",
            lambda rng: {"scores": 1000 + normal(rng, 3)},
            properties=(ROWS_SUM_TO_ONE,),
        ),
        Case(
            "rows whose scores are far apart do not disturb each other",
            rows_far_apart,
            properties=(ROWS_SUM_TO_ONE,),
        ),
        Case(
            "a score of -inf gets a weight of exactly 0",
            with_minus_infinity,
            properties=(ROWS_SUM_TO_ONE, EXACT_ZEROS),
        ),
        Case(
            "a score on its own has a weight of exactly 1",
            lambda rng: {"scores": normal(rng, 3, 1)},
            properties=(EXACTLY_ONE,),
        ),
        Case(
            "float32 scores give float32 weights",
            lambda rng: {"scores": normal(rng, 2, 3, dtype=np.float32)},
        ),
        Case(
            "the scores stay as they were",
            lambda rng: {"scores": normal(rng, 2, 3)},
            probe=arguments_after,
        ),
        Case(
            "a batch of heads",
            lambda rng: {"scores": normal(rng, 2, 3, 4, 5)},
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
            weight=2,
        ),
        Case(
            "an axis in the middle",
            lambda rng: {"scores": normal(rng, 3, 3, 3), "axis": 1},
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "an axis counted from the end",
            lambda rng: {"scores": normal(rng, 2, 4, 4), "axis": -2},
            visible=False,
        ),
        Case(
            "scores far below zero",
            lambda rng: {"scores": normal(rng, 2, 4) - 2000},
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "float32 scores of a few hundred",
            lambda rng: {"scores": 200 + normal(rng, 2, 5, scale=10, dtype=np.float32)},
            visible=False,
        ),
        Case(
            "two equal scores share the weight",
            lambda rng: {
                "scores": np.full((3, 2), 5 + normal(rng, 1)[0])
            },  # not 0.5, or the scores were their own weights
            visible=False,
        ),
        Case(
            "a single finite score gets all the weight of its row",
            one_finite_score,
            properties=(ROWS_SUM_TO_ONE, EXACT_ZEROS),
            visible=False,
        ),
        Case(
            "small weights are neither cut off nor raised",
            small_weights,
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "a score far above all others of its row",
            one_score_far_above,
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "the last of three axes, by its number",
            lambda rng: {"scores": normal(rng, 3, 4, 5), "axis": 2},
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "five axes, some of them of length 1",
            lambda rng: {"scores": normal(rng, 1, 2, 1, 2, 3)},
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "float16 scores give float16 weights",
            lambda rng: {"scores": normal(rng, 2, 3, dtype=np.float16)},
            visible=False,
        ),
        Case(
            "a batch with scores of -inf stays as it was",
            batch_with_minus_infinity,
            arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "exp of the raw scores is good enough",
            softmax_naive,
            "How large may a number be before its exponential no longer fits a float? What could"
            " you take away from every score of a slice without changing the fraction?",
        ),
        Misconception(
            "taking off the mean makes exp safe",
            softmax_shifted_by_the_mean,
            "What is the largest number that your exp can meet? Think of a score far above all"
            " others of its row, and of one that is -inf.",
        ),
        Misconception(
            "a very negative number is as good as -inf",
            softmax_with_a_stand_in,
            "Scores may be of any size. What if those beside a score of -inf lie further below zero"
            " than the number that stands for it?",
        ),
        Misconception(
            "the axis is always the last one",
            softmax_ignoring_axis,
            "Along which axis do your weights sum to 1, and which one was asked for?",
        ),
        Misconception(
            "one maximum serves the whole array",
            softmax_global_maximum,
            "Look at a row whose scores are far below the largest of the whole array: what does exp"
            " make of it, and what is left to divide by?",
        ),
        Misconception(
            "a small epsilon in the denominator does no harm",
            softmax_with_epsilon,
            "Is there something in the denominator that the formula does not have? Can that sum be"
            " 0 at all?",
        ),
        Misconception(
            "all numbers of the array share one sum",
            softmax_over_everything,
            "Each slice along the axis is a softmax of its own: over how much do your weights sum"
            " to 1?",
        ),
        Misconception(
            "a sum over an axis still lines up with the array",
            softmax_without_keepdims,
            "What shape does the sum have, and along which axis is it stretched when you divide"
            " by it?",
        ),
        Misconception(
            "the caller's array is free to be worked in",
            softmax_in_place,
            "Compare `scores` before and after the call. Which line of yours writes into it instead"
            " of making an array of its own?",
        ),
        Misconception(
            "the result is float64 whatever comes in",
            softmax_in_float64,
            "Somewhere a float64 enters. Which of your operations brings it in?",
        ),
        Misconception(
            "dividing by the sum is enough",
            softmax_without_exponential,
            "Dividing by the sum alone makes numbers sum to 1, but it keeps negative ones negative."
            " What does the formula apply to each score first?",
        ),
    ),
    alternatives=(softmax_by_logarithm, softmax_by_loops, softmax_by_torch, softmax_in_longdouble),
    shortcuts=(
        "softmax",
        "Softmax",
        "log_softmax",
        "LogSoftmax",
        "softmin",
        "Softmin",
        "gumbel_softmax",
        "_softmax",
    ),
)

# --- attention_scores
# ------------------------------------------------------------------------------------------------


def queries_and_keys(*batch, query_len, key_len, d_k, scale=1.0, dtype=np.float64):
    def inputs(rng):
        return {
            "query": normal(rng, *batch, query_len, d_k, scale=scale, dtype=dtype),
            "key": normal(rng, *batch, key_len, d_k, scale=scale, dtype=dtype),
        }

    return inputs


def scores_unscaled(query, key):
    return query @ key.swapaxes(-2, -1)


def scores_over_d_k(query, key):
    return query @ key.swapaxes(-2, -1) / query.shape[-1]


def scores_over_key_len(query, key):
    return query @ key.swapaxes(-2, -1) / math.sqrt(key.shape[-2])


def scores_over_first_axis(query, key):
    return query @ key.swapaxes(-2, -1) / math.sqrt(query.shape[0])


def scores_without_transpose(query, key):
    return query @ key / math.sqrt(query.shape[-1])


def scores_multiplied(query, key):
    return query @ key.swapaxes(-2, -1) * math.sqrt(query.shape[-1])


def scores_keys_by_queries(query, key):
    return key @ query.swapaxes(-2, -1) / math.sqrt(query.shape[-1])


def scores_with_all_axes_reversed(query, key):
    return query @ key.T / math.sqrt(query.shape[-1])


def scores_in_float64(query, key):
    return query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])


def scores_scaled_in_place(query, key):
    query /= math.sqrt(query.shape[-1])
    return query @ key.swapaxes(-2, -1)


def scores_of_unit_vectors(query, key):
    query = query / np.linalg.norm(query, axis=-1, keepdims=True)
    key = key / np.linalg.norm(key, axis=-1, keepdims=True)
    return query @ key.swapaxes(-2, -1)


def scores_by_einsum(query, key):
    return np.einsum("...qd,...kd->...qk", query, key) / math.sqrt(key.shape[-1])


def scores_with_scaled_query(query, key):
    return np.matmul(query * query.shape[-1] ** -0.5, np.moveaxis(key, -1, -2))


def scores_by_broadcasting(query, key):
    products = query[..., :, np.newaxis, :] * key[..., np.newaxis, :, :]
    return products.sum(axis=-1) / query.dtype.type(query.shape[-1]) ** query.dtype.type(0.5)


def scores_by_loops(query, key):
    scores = np.empty((*query.shape[:-1], key.shape[-2]), dtype=query.dtype)
    for *batch, row, column in np.ndindex(*scores.shape):
        scores[(*batch, row, column)] = (
            sum(query[(*batch, row)] * key[(*batch, column)]) / query.shape[-1] ** 0.5
        )
    return scores


SCORES = Exercise(
    reference=reference.attention_scores,
    cases=(
        Case(
            "two queries against two keys",
            queries_and_keys(query_len=2, key_len=2, d_k=3),
            weight=2,
        ),
        Case("three words against themselves", queries_and_keys(query_len=3, key_len=3, d_k=4)),
        Case("rows are queries, columns are keys", queries_and_keys(query_len=2, key_len=5, d_k=3)),
        Case("a batch is carried along", queries_and_keys(2, query_len=3, key_len=4, d_k=5)),
        Case(
            "float32 in, float32 out",
            queries_and_keys(query_len=2, key_len=3, d_k=3, dtype=np.float32),
        ),
        Case(
            "query and key stay as they were",
            queries_and_keys(query_len=2, key_len=3, d_k=4),
            probe=arguments_after,
        ),
        Case(
            "batch and heads",
            queries_and_keys(2, 3, query_len=4, key_len=5, d_k=6),
            visible=False,
            weight=2,
        ),
        Case(
            "as many batches as words",
            queries_and_keys(3, query_len=3, key_len=3, d_k=3),
            visible=False,
        ),
        Case("long vectors", queries_and_keys(query_len=3, key_len=4, d_k=64), visible=False),
        Case(
            "vectors of length 1, a single key",
            queries_and_keys(query_len=2, key_len=1, d_k=1),
            visible=False,
        ),
        Case(
            "three axes in front",
            queries_and_keys(2, 1, 2, query_len=2, key_len=3, d_k=4),
            visible=False,
        ),
        Case(
            "large scores stay large",
            queries_and_keys(query_len=2, key_len=3, d_k=4, scale=60),
            visible=False,
        ),
        Case(
            "a batch stays as it was",
            queries_and_keys(2, query_len=2, key_len=3, d_k=4),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the dot products are the scores",
            scores_unscaled,
            "These are the dot products themselves. What does the formula do with them before the"
            " softmax?",
        ),
        Misconception(
            "the scale is d_k",
            scores_over_d_k,
            "The size is off by a factor that depends on d_k. By which power of d_k does the spread"
            " of a dot product grow?",
        ),
        Misconception(
            "the scale belongs to the number of keys",
            scores_over_key_len,
            "Your scale depends on how many keys there are. Over which axis does a dot product"
            " sum?",
        ),
        Misconception(
            "d_k is the length of the first axis",
            scores_over_first_axis,
            "Your scale follows the first axis of the query. Over which axis does a dot product"
            " sum?",
        ),
        Misconception(
            "a matrix product of queries and keys compares them as they are",
            scores_without_transpose,
            "A matrix product sums over the last axis of its first factor and the last but one of"
            " its second. Which axes of queries and keys should meet?",
        ),
        Misconception(
            "the scale multiplies",
            scores_multiplied,
            "The scores grow with d_k faster than the dot products do. Is the scale meant to make"
            " them larger or smaller?",
        ),
        Misconception(
            "rows are keys",
            scores_keys_by_queries,
            "The numbers are right but lie on their side: rows are queries, columns are keys.",
        ),
        Misconception(
            ".T swaps the last two axes",
            scores_with_all_axes_reversed,
            "Which axes of the keys change places in your function when there are more than two,"
            " and which should?",
        ),
        Misconception(
            "np.sqrt keeps float32",
            scores_in_float64,
            "Somewhere a float64 enters. Look at the dtype of all that meets query and key on the"
            " way, single numbers included.",
        ),
        Misconception(
            "the caller's query is free to be scaled",
            scores_scaled_in_place,
            "Compare `query` before and after the call. Which line of yours writes into it instead"
            " of making an array of its own?",
        ),
        Misconception(
            "scores are cosines",
            scores_of_unit_vectors,
            "All your scores lie between -1 and 1, however long the vectors are. Does the formula"
            " divide by the lengths of the vectors?",
        ),
    ),
    alternatives=(
        scores_by_einsum,
        scores_with_scaled_query,
        scores_by_broadcasting,
        scores_by_loops,
    ),
)

# --- scaled_dot_product_attention
# ------------------------------------------------------------------------------------


def queries_keys_values(*batch, query_len, key_len, d_k, d_v, scale=1.0, dtype=np.float64):
    def inputs(rng):
        return {
            "query": normal(rng, *batch, query_len, d_k, scale=scale, dtype=dtype),
            "key": normal(rng, *batch, key_len, d_k, scale=scale, dtype=dtype),
            "value": normal(rng, *batch, key_len, d_v, dtype=dtype),
        }

    return inputs


def one_query_that_prefers_a_key(rng):
    """One query and two keys of which it prefers one: where both have the same score, equal weights
    for everybody are right.
    """
    while True:
        drawn = queries_keys_values(query_len=1, key_len=2, d_k=2, d_v=2)(rng)
        if abs(drawn["query"] @ (drawn["key"][0] - drawn["key"][1])).item() > 0.2:
            return drawn


def rows_around_1000(rng):
    """Queries and keys with scores around 1000 in some rows and around -1000 in others, close
    together in each.
    """
    query, key = normal(rng, 3, 4), normal(rng, 4, 4)
    query[:, 0] = rng.permutation([40, -40, 40])
    key[:, 0] = 50
    return {"query": query, "key": key, "value": normal(rng, 4, 3)}


def scores_in_steps(rng):
    """A query whose weights range from almost 1 down to almost 0, in steps: its scores are 0, -5,
    -10, -15 and -20.
    """
    query, key = normal(rng, 1, 4), np.zeros((5, 4))
    query[:, 0] = 2
    key[:, 0] = rng.permutation([0, -5, -10, -15, -20])
    return {"query": query, "key": key, "value": 1 + normal(rng, 5, 3, scale=0.2)}


def queries_of_zeros(rng):
    return {"query": np.zeros((2, 3)), "key": normal(rng, 4, 3), "value": normal(rng, 4, 2)}


def attention_in_float16(rng):
    return {
        "query": halves(rng, 2, 4, low=-1, high=1),
        "key": halves(rng, 3, 4, low=-1, high=1),
        "value": halves(rng, 3, 2, low=1, high=4),
    }


def attention_with(scores_of, weights_of=reference.softmax):
    """Make an attention from a rule for the scores and one for the weights."""

    def attention(query, key, value):
        weights = weights_of(scores_of(query, key, value))
        return weights @ value, weights

    return attention


def right_scores(query, key, value):
    return reference.attention_scores(query, key)


def scaled_by(number):
    return lambda query, key, value: (
        scores_unscaled(query, key) / math.sqrt(number(query, key, value))
    )


def attention_swapped(query, key, value):
    return reference.scaled_dot_product_attention(query, key, value)[::-1]


def attention_returning_scores(query, key, value):
    output, _ = reference.scaled_dot_product_attention(query, key, value)
    return output, reference.attention_scores(query, key)


def attention_with_transposed_weights(query, key, value):
    _, weights = reference.scaled_dot_product_attention(query, key, value)
    return weights.swapaxes(-2, -1) @ value, weights


def attention_scaled_after_softmax(query, key, value):
    weights = reference.softmax(scores_unscaled(query, key)) / math.sqrt(query.shape[-1])
    return weights @ value, weights


def attention_without_softmax(query, key, value):
    scores = reference.attention_scores(query, key)
    return scores @ value, scores


def attention_averaging_keys(query, key, value):
    _, weights = reference.scaled_dot_product_attention(query, key, value)
    return weights @ key, weights


def attention_by_einsum(query, key, value):
    scores = np.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    weights = softmax_by_logarithm(scores)
    return np.einsum("...qk,...kv->...qv", weights, value), weights


def attention_by_loops(query, key, value):
    output = np.empty((*query.shape[:-1], value.shape[-1]), dtype=value.dtype)
    weights = np.empty((*query.shape[:-1], key.shape[-2]), dtype=query.dtype)
    for index in np.ndindex(*query.shape[:-1]):
        scores = key[index[:-1]] @ query[index] / math.sqrt(query.shape[-1])
        weights[index] = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        output[index] = sum(
            weight * one for weight, one in zip(weights[index], value[index[:-1]], strict=True)
        )
    return output, weights


def attention_by_torch(query, key, value):
    import torch

    query, key, value = (torch.from_numpy(array.copy()) for array in (query, key, value))
    identity = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], key.shape[-2])
    weights = torch.nn.functional.scaled_dot_product_attention(query, key, identity)
    return (
        torch.nn.functional.scaled_dot_product_attention(query, key, value).numpy(),
        weights.numpy(),
    )


def attention_as_a_list(query, key, value):
    return list(reference.scaled_dot_product_attention(query, key, value))


ATTENTION_LAWS = (WEIGHTS_SUM_TO_ONE, INSIDE_THE_VALUES)
ATTENTION = Exercise(
    reference=reference.scaled_dot_product_attention,
    returns=("output", "weights"),
    cases=(
        Case(
            "one query, two keys",
            one_query_that_prefers_a_key,
            properties=ATTENTION_LAWS,
            weight=2,
        ),
        Case(
            "a sentence that attends to itself",
            queries_keys_values(query_len=4, key_len=4, d_k=4, d_v=4),
            properties=ATTENTION_LAWS,
        ),
        Case(
            "more keys than queries",
            queries_keys_values(query_len=2, key_len=5, d_k=3, d_v=3),
            properties=ATTENTION_LAWS,
        ),
        Case(
            "values longer than keys",
            queries_keys_values(query_len=3, key_len=3, d_k=2, d_v=6),
            properties=ATTENTION_LAWS,
        ),
        Case(
            "a batch is carried along",
            queries_keys_values(2, query_len=3, key_len=4, d_k=5, d_v=6),
            properties=ATTENTION_LAWS,
        ),
        Case(
            "float32 in, float32 out",
            queries_keys_values(query_len=2, key_len=3, d_k=4, d_v=2, dtype=np.float32),
        ),
        Case(
            "the arguments stay as they were",
            queries_keys_values(query_len=2, key_len=3, d_k=4, d_v=2),
            probe=arguments_after,
        ),
        Case(
            "batch and heads",
            queries_keys_values(2, 3, query_len=4, key_len=5, d_k=6, d_v=7),
            properties=ATTENTION_LAWS,
            visible=False,
            weight=2,
        ),
        Case(
            "all sizes equal",
            queries_keys_values(3, query_len=3, key_len=3, d_k=3, d_v=3),
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case(
            "rows with scores around 1000 and -1000",
            rows_around_1000,
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case(
            "a single key gets a weight of exactly 1",
            queries_keys_values(query_len=3, key_len=1, d_k=4, d_v=2),
            properties=(WEIGHTS_EXACTLY_ONE, INSIDE_THE_VALUES),
            visible=False,
        ),
        Case(
            "long vectors",
            queries_keys_values(query_len=3, key_len=4, d_k=64, d_v=5),
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case(
            "small weights are not cut off",
            scores_in_steps,
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case(
            "queries of zeros look at all keys alike",
            queries_of_zeros,
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case("float16 in, float16 out", attention_in_float16, visible=False),
        Case(
            "a batch stays as it was",
            queries_keys_values(2, query_len=2, key_len=3, d_k=4, d_v=2),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the softmax runs over the queries",
            attention_with(right_scores, lambda scores: reference.softmax(scores, axis=-2)),
            "Take one query: over which axis do its weights have to sum to 1?",
        ),
        Misconception(
            "the dot products are the scores",
            attention_with(lambda query, key, value: scores_unscaled(query, key)),
            "The weights are sharper than they should be. What happens to the dot products before"
            " the softmax?",
        ),
        Misconception(
            "the scale is d_k",
            attention_with(lambda query, key, value: scores_over_d_k(query, key)),
            "The weights are too even. Which power of d_k does the scale take?",
        ),
        Misconception(
            "the scale is sqrt(d_v)",
            attention_with(scaled_by(lambda query, key, value: value.shape[-1])),
            "Your scale follows the length of the values. Which vectors enter the dot product?",
        ),
        Misconception(
            "the scale is sqrt(key_len)",
            attention_with(scaled_by(lambda query, key, value: key.shape[-2])),
            "Your scale follows the number of keys. Over which axis does a dot product sum?",
        ),
        Misconception(
            "np.sqrt keeps float32",
            attention_with(lambda query, key, value: scores_in_float64(query, key)),
            "Somewhere a float64 enters. Look at the dtype of all that meets the arguments on the"
            " way, single numbers included.",
        ),
        Misconception(
            ".T swaps the last two axes",
            attention_with(lambda query, key, value: scores_with_all_axes_reversed(query, key)),
            "Which axes of the keys change places in your function when there are more than two,"
            " and which should?",
        ),
        Misconception(
            "all weights together sum to 1",
            attention_with(right_scores, softmax_over_everything),
            "Each query has an average of its own: over how much do your weights sum to 1?",
        ),
        Misconception(
            "exp of the raw scores is good enough",
            attention_with(right_scores, softmax_naive),
            "Does your softmax hold for scores around 1000, and for scores around -1000?",
        ),
        Misconception(
            "weights come first",
            attention_swapped,
            "Both arrays are there. In which order are they to be returned?",
        ),
        Misconception(
            "scores are weights",
            attention_returning_scores,
            "The output is right; the second array is still what went into the softmax.",
        ),
        Misconception(
            "weights are transposed before they meet the values",
            attention_with_transposed_weights,
            "The weights are right. Which of their axes belongs to the values: that of the queries"
            " or that of the keys?",
        ),
        Misconception(
            "the scale comes after the softmax",
            attention_scaled_after_softmax,
            "The weights no longer sum to 1. In which order do scale and softmax come?",
        ),
        Misconception(
            "no softmax is needed",
            attention_without_softmax,
            "These weights can be negative. Which step turns scores into weights?",
        ),
        Misconception(
            "the keys are averaged",
            attention_averaging_keys,
            "The weights are right, but the output averages the wrong vectors.",
        ),
    ),
    alternatives=(attention_by_einsum, attention_by_loops, attention_by_torch, attention_as_a_list),
    shortcuts=(
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
        "MultiheadAttention",
    ),
)

# --- softmax_backward
# ------------------------------------------------------------------------------------------------


def weights_and_gradient(*shape, dtype=np.float64):
    def inputs(rng):
        weights = reference.softmax(normal(rng, *shape)).astype(dtype)
        return {"weights": weights, "grad_weights": normal(rng, *shape, dtype=dtype)}

    return inputs


def saturated(rng):
    return {"weights": reference.softmax(40 * normal(rng, 3, 4)), "grad_weights": normal(rng, 3, 4)}


def nearly_saturated(rng):
    """Weights that are almost 1, with gradients of which a little still passes."""
    scores, grad_weights = normal(rng, 3, 4), normal(rng, 3, 4)
    scores[:, 0], grad_weights[:, 0] = 20, 5
    return {"weights": reference.softmax(scores), "grad_weights": grad_weights}


def backward_in_float16(rng):
    """Weights and gradients whose products and sums are exact in float16."""
    return {
        "weights": rng.permuted([[0.5, 0.25, 0.125, 0.125]] * 3, axis=-1).astype(np.float16),
        "grad_weights": rng.permuted([[-1, -0.5, 0.5, 1]] * 3, axis=-1).astype(np.float16),
    }


def backward_diagonal_only(weights, grad_weights):
    return weights * (1 - weights) * grad_weights


def backward_without_weights(weights, grad_weights):
    return grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True)


def backward_as_if_linear(weights, grad_weights):
    return weights * grad_weights


def backward_with_plain_mean(weights, grad_weights):
    return weights * (grad_weights - grad_weights.mean(axis=-1, keepdims=True))


def backward_with_plain_sum(weights, grad_weights):
    return weights * (grad_weights - grad_weights.sum(axis=-1, keepdims=True))


def backward_without_keepdims(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum(axis=-1))


def backward_over_everything(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum())


def backward_over_queries(weights, grad_weights):
    return weights * (
        grad_weights - (weights * grad_weights).sum(axis=max(-2, -weights.ndim), keepdims=True)
    )


def backward_with_wrong_sign(weights, grad_weights):
    return -reference.softmax_backward(weights, grad_weights)


def backward_from_scores(weights, grad_weights):
    return reference.softmax_backward(reference.softmax(weights), grad_weights)


def backward_in_place(weights, grad_weights):
    grad_weights -= (weights * grad_weights).sum(axis=-1, keepdims=True)
    return weights * grad_weights


def backward_in_float64(weights, grad_weights):
    return reference.softmax_backward(weights.astype(np.float64), grad_weights.astype(np.float64))


def backward_by_jacobian(weights, grad_weights):
    identity = np.eye(weights.shape[-1], dtype=weights.dtype)
    jacobian = weights[..., :, np.newaxis] * (
        identity - weights[..., np.newaxis, :]
    )  # (..., key_len, key_len)
    return np.einsum("...i,...ij->...j", grad_weights, jacobian)


def backward_expanded(weights, grad_weights):
    product = weights * grad_weights
    return product - weights * np.einsum("...i->...", product)[..., np.newaxis]


def backward_by_loops(weights, grad_weights):
    gradient = np.zeros_like(weights)
    for index in np.ndindex(*weights.shape[:-1]):
        for i, (weight, grad) in enumerate(zip(weights[index], grad_weights[index], strict=True)):
            for j in range(weights.shape[-1]):
                gradient[(*index, j)] += grad * weight * ((i == j) - weights[(*index, j)])
    return gradient


def backward_by_autograd(weights, grad_weights):
    import torch

    scores = torch.from_numpy(weights.copy()).log().requires_grad_()
    torch.softmax(scores, dim=-1).backward(torch.from_numpy(grad_weights.copy()))
    return scores.grad.numpy()


BACKWARD = Exercise(
    reference=reference.softmax_backward,
    cases=(
        Case("two weights", weights_and_gradient(2), properties=(CANCELS,), weight=2),
        Case("each row on its own", weights_and_gradient(3, 4), properties=(CANCELS,)),
        Case("as many queries as keys", weights_and_gradient(3, 3), properties=(CANCELS,)),
        Case(
            "a weight of 1 passes no gradient",
            lambda rng: {"weights": np.eye(3), "grad_weights": normal(rng, 3, 3)},
        ),
        Case("float32 in, float32 out", weights_and_gradient(2, 3, dtype=np.float32)),
        Case("the arguments stay as they were", weights_and_gradient(2, 3), probe=arguments_after),
        Case(
            "batch and heads",
            weights_and_gradient(2, 3, 4, 5),
            properties=(CANCELS,),
            visible=False,
            weight=2,
        ),
        Case(
            "all sizes equal", weights_and_gradient(3, 3, 3), properties=(CANCELS,), visible=False
        ),
        Case("a saturated softmax", saturated, properties=(CANCELS,), visible=False),
        Case("a single key", weights_and_gradient(4, 1), visible=False),
        Case(
            "a weight of almost 1 passes a little",
            nearly_saturated,
            properties=(CANCELS,),
            visible=False,
        ),
        Case(
            "five axes, some of them of length 1",
            weights_and_gradient(2, 1, 2, 1, 3),
            properties=(CANCELS,),
            visible=False,
        ),
        Case("float16 in, float16 out", backward_in_float16, properties=(CANCELS,), visible=False),
    ),
    misconceptions=(
        Misconception(
            "a weight depends on its own score alone",
            backward_diagonal_only,
            "Each weight depends on every score of its row, because the weights share one sum."
            " Where do the other terms of the formula enter?",
        ),
        Misconception(
            "the weight in front can be dropped",
            backward_without_weights,
            "Compare with the formula term by term: every one of them carries a weight in front.",
        ),
        Misconception(
            "the softmax only multiplies",
            backward_as_if_linear,
            "Raising one score lowers all the other weights. Which term of the formula says that?",
        ),
        Misconception(
            "the plain mean of the gradient is taken off",
            backward_with_plain_mean,
            "What is taken off each gradient is an average, but not one in which all keys count the"
            " same.",
        ),
        Misconception(
            "the plain sum of the gradient is taken off",
            backward_with_plain_sum,
            "In the sum over i, what stands beside the gradient of each weight?",
        ),
        Misconception(
            "a sum over an axis still lines up with the array",
            backward_without_keepdims,
            "What shape does your sum have, and along which axis is it stretched when it meets the"
            " gradient?",
        ),
        Misconception(
            "one sum serves the whole array",
            backward_over_everything,
            "Each row is a softmax of its own: over which numbers does your sum run?",
        ),
        Misconception(
            "the sum runs over the queries",
            backward_over_queries,
            "Along which axis was the softmax taken, and along which does your sum run?",
        ),
        Misconception(
            "the sign is turned round",
            backward_with_wrong_sign,
            "The size is right, the sign is not: raising a score should raise its own weight.",
        ),
        Misconception(
            "the argument holds scores",
            backward_from_scores,
            "What you are given has been through the softmax already.",
        ),
        Misconception(
            "the caller's gradient is free to be worked in",
            backward_in_place,
            "Compare `grad_weights` before and after the call. Which line of yours writes into it"
            " instead of making an array of its own?",
        ),
        Misconception(
            "the result is float64 whatever comes in",
            backward_in_float64,
            "Somewhere a float64 enters. Which of your operations brings it in?",
        ),
    ),
    alternatives=(backward_by_jacobian, backward_expanded, backward_by_loops, backward_by_autograd),
    shortcuts=("_softmax_backward_data",),
)

EXERCISES = (SOFTMAX, SCORES, ATTENTION, BACKWARD)
