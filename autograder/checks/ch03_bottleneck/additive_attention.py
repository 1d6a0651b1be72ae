"""Attention whose scores come from a small network."""

import math
from functools import partial

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, sizeable
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch04_attention.softmax import naive, shifted_by_the_mean
from autograder.shared.laws import between_the_values, sums_to_one
from autograder.shared.probes import arguments_after
from solutions import ch03_bottleneck as reference
from solutions.ch04_attention import softmax


@drawn
def question(rng, seq_len, d_hidden, d_attention, dtype=np.float64, v_largest=2.0):
    """Draw a query, keys, and a network to compare them. In float32 no key is negative, so that no
    context is a small difference.
    """
    numbers = partial(sizeable, rng, dtype=dtype)
    keys = numbers(seq_len, d_hidden, scale=1.5)
    return {
        "query": numbers(d_hidden),
        "keys": np.abs(keys) if dtype == np.float32 else keys,
        "w_query": numbers(d_hidden, d_attention, scale=0.8),
        "w_key": numbers(d_hidden, d_attention, scale=0.8),
        "v": numbers(d_attention, scale=v_largest),
    }


@drawn
def scores_around(rng, level, dtype=np.float64):
    """Draw a network with one feature that is the same for every key, and that lifts all scores to
    a level.
    """
    drawn = question(rng, 4, 3, 3, dtype)
    drawn["w_query"][:, 0] = 40 * np.sign(drawn["query"])  # tanh of at least 24 is 1
    drawn["w_key"][:, 0] = 0.2
    drawn["v"][0] = level
    return drawn


@drawn
def scores_far_apart(rng, seq_len):
    """Draw a network in which one feature, 1 for one key and -1 for the others, decides
    everything.
    """
    drawn = question(rng, seq_len, 3, 3)
    drawn["keys"][:, 0] = np.where(np.arange(seq_len) == rng.integers(seq_len), 1, -1)
    drawn["w_query"][:, 0] = 0
    drawn["w_key"][:, 0] = [40, 0, 0]
    drawn["v"][0] = rng.choice([-3000, 3000])
    return drawn


def attention_with(
    compare=lambda asked, seen, v: np.tanh(asked + seen) @ v,
    normalise=softmax,
    average=lambda weights, keys, seen: weights @ keys,
):
    """Make an `additive_attention` from rules that compare what is asked with what is seen, the
    projections of the query and of the keys, and that make the weights and the context.
    """

    def additive_attention(query, keys, w_query, w_key, v):
        seen = keys @ w_key
        weights = normalise(compare(query @ w_query, seen, v))
        return average(weights, keys, seen), weights

    return additive_attention


inside_the_keys = partial(between_the_values, of="context", argument="keys")
checks = Checks(
    reference.additive_attention,
    laws=(partial(sums_to_one, of="weights"), inside_the_keys),
    returns=("context", "weights"),
    shortcuts="AdditiveAttention BahdanauAttention",
    family=attention_with,
)
shown, hidden, wrong, right = checks.words

shown("two keys", question(2, 2, 2), weight=2)
shown("four keys, compared by a layer of another width", question(4, 3, 2), weight=2)
shown("all sizes equal", question(3, 3, 3))
shown("a layer wider than the states", question(3, 2, 6))
shown("equal keys get equal weights", question(3, 3, 2).but(keys=lambda keys: keys[[0, 1, 0]]))
shown("scores around 2000 stay finite", scores_around(2000))
shown("scores far apart stay finite", scores_far_apart(4))
shown("float32 in, float32 out", question(3, 2, 3, dtype=np.float32))
shown("the arguments stay as they were", question(3, 2, 2), probe=arguments_after)
hidden("more keys", question(8, 5, 4, v_largest=1.5), weight=2)
hidden("as many keys as numbers, all four", question(4, 4, 4))
hidden("a single key gets all the weight", question(1, 3, 2))
hidden("scores around -2000 stay finite", scores_around(-2000))
hidden("scores around 100 in float32", scores_around(100, dtype=np.float32))
hidden("five scores, far apart", scores_far_apart(5))
hidden("a query of zeros still sees the keys", question(4, 3, 2).but(query=np.zeros_like))
hidden("a layer of one number", question(4, 3, 1))
hidden("long keys stay as they were", question(4, 4, 3), probe=arguments_after)


wrong(
    "no tanh is needed",
    """Do your weights change when the query changes? They cannot, because a function of the formula
    is missing.""",
    compare=lambda asked, seen, v: (asked + seen) @ v,
)


wrong(
    "tanh comes after v",
    """Your scores never leave the range from -1 to 1. Does your tanh act on each number of the
    layer, or on the finished score?""",
    compare=lambda asked, seen, v: np.tanh((asked + seen) @ v),
)


wrong(
    "tanh is taken of each part",
    """Do your weights change when the query changes? Look at where the two projections meet: inside
    the tanh, or outside?""",
    compare=lambda asked, seen, v: (np.tanh(asked) + np.tanh(seen)) @ v,
)


wrong(
    "exp of the raw scores is good enough",
    """What does your softmax return for scores of 2000, or of -2000? Which exponents does exp get
    there, and which others would give the same weights?""",
    normalise=naive,
)


wrong(
    "the mean is as safe as the largest",
    """An exponential still overflows, although you subtract a number from every score. Can a score
    be far above that number?""",
    normalise=shifted_by_the_mean,
)


wrong(
    "scores may be clipped to what exp can hold",
    """Large scores that differ become equal in your function. What can you do to all scores without
    changing their differences?""",
    normalise=lambda scores: softmax(np.clip(scores, -500, 500)),
)


wrong(
    "the softmax runs over the features",
    """Your softmax runs over the features of each key. Over which axis should the weights of one
    query sum to 1?""",
    compare=lambda asked, seen, v: np.tanh(asked + seen) * v,
    normalise=lambda scores: softmax(scores).mean(axis=1),
)


wrong(
    "the softmax comes before v",
    """You take a softmax for each feature, and then v mixes the results. In which order does the
    formula use v and the softmax?""",
    compare=lambda asked, seen, v: softmax(np.tanh(asked + seen), axis=0) @ v,
    normalise=lambda scores: scores,
)


wrong(
    "exponentials are weights",
    "Your largest weight is always 1. What should all weights add up to?",
    normalise=lambda scores: np.exp(scores - scores.max()),
)


wrong(
    "shares of the plain scores are weights",
    """Your weights can be negative. Which function makes every score positive before you divide by
    the sum?""",
    normalise=lambda scores: scores / scores.sum(),
)


wrong(
    "the best key takes all",
    """One of your weights is 1 and the others are 0, whatever the scores. How much weight does the
    second best key get?""",
    normalise=lambda scores: (scores == scores.max()).astype(scores.dtype),
)


wrong(
    "the projected keys are averaged",
    """The weights are right. What should they average: the keys themselves, or what w_key makes of
    them?""",
    average=lambda weights, keys, seen: weights @ seen,
)


@wrong(
    "the context takes the query along",
    "The context is longer than a key. What is it, apart from an average of the keys?",
    around=True,
)
def taking_the_query_along(right, query, *others):
    context, weights = right(query, *others)
    return np.concatenate([context, query]), weights


wrong(
    "the context is the plain mean of the keys",
    "The weights are right, but your context does not depend on them. What should they weight?",
    average=lambda weights, keys, seen: keys.mean(axis=0),
)


wrong(
    "the weighted keys are averaged once more",
    """The context is too small by a factor. A sum with weights that sum to 1 is already an average,
    so what else does your function divide by?""",
    average=lambda weights, keys, seen: weights @ keys / len(keys),
)


wrong(
    "scores are divided by the root of their width",
    "Your weights are too even. Is there anything in this formula that divides a score?",
    v=lambda v: v / math.sqrt(len(v)),
)


@wrong(
    "scores are divided by the root of the state's width",
    """Your weights are too even, because you scale the scores. That belongs to another kind of
    attention: does this formula divide by anything?""",
    around=True,
)
def scaled_by_the_state(right, query, keys, w_query, w_key, v):
    return right(query, keys, w_query, w_key, v / math.sqrt(len(query)))


checks.usual(
    "in another order",
    belief="weights come first",
    hint="Both arrays are there. In which order does the docstring return them?",
)


wrong(
    "scores are weights",
    """The context is right, but the second array is still what went into the softmax. What does the
    docstring call it?""",
    normalise=lambda scores: scores,
    average=lambda scores, keys, seen: softmax(scores) @ keys,
)


@wrong(
    "a dot product is the score",
    """Your scores use neither w_query, w_key nor v. What does the formula have instead of a dot
    product?""",
)
def by_dot_products(query, keys, w_query, w_key, v):
    weights = softmax(keys @ query)
    return weights @ keys, weights


wrong(
    "the projections are compared by a dot product",
    "Your scores do not depend on v. Are the two projections multiplied by each other, or added?",
    compare=lambda asked, seen, v: seen @ asked,
)


wrong(
    "the projections are multiplied",
    "What happens to the two projections before the tanh? This attention is named after it.",
    compare=lambda asked, seen, v: np.tanh(asked * seen) @ v,
)


@wrong(
    "the two matrices are alike",
    """Which matrix do you multiply the query by, and which one the keys? They have the same shape,
    so nothing fails.""",
    around=True,
)
def matrices_swapped(right, query, keys, w_query, w_key, v):
    return right(query, keys, w_key, w_query, v)


wrong(
    "the matrices come first",
    """Do your products still work if a state and the layer have different widths? In the formula,
    the query and the keys are rows.""",
    w_query=np.transpose,
    w_key=np.transpose,
)


checks.usual("in float64")


@wrong(
    "the caller's keys are free to be worked in",
    """The numbers are right, but compare the keys before and after the call. Which line of yours
    writes into them?""",
    rule="average",
)
def in_place(weights, keys, seen):
    keys *= weights[:, np.newaxis]
    return keys.sum(axis=0)


@right
def by_einsum(query, keys, w_query, w_key, v):
    layer = np.tanh(np.einsum("h,ha->a", query, w_query) + np.einsum("th,ha->ta", keys, w_key))
    weights = softmax(np.einsum("ta,a->t", layer, v))
    return [np.einsum("t,th->h", weights, keys), weights]


@right
@attention_with
def by_loops(asked, seen, v):
    scores = np.zeros(len(seen))
    for key, feature in np.ndindex(*seen.shape):
        scores[key] += v[feature] * math.tanh(asked[feature] + seen[key, feature])
    return scores.astype(seen.dtype)


@right
def by_concatenation(query, keys, w_query, w_key, v):
    pairs = np.hstack([np.broadcast_to(query, keys.shape), keys])
    scores = np.tanh(pairs @ np.vstack([w_query, w_key])) @ v
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    return (weights[:, np.newaxis] * keys).sum(axis=0), weights


@right
@with_tensors
def by_torch(query, keys, w_query, w_key, v):
    weights = ((query @ w_query + keys @ w_key).tanh() @ v).softmax(dim=0)
    return weights @ keys, weights
