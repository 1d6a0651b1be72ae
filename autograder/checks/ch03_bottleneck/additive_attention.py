"""Attention whose scores come from a small network."""

import math
from functools import partial

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch03_bottleneck import sizeable
from autograder.shared.laws import between_the_values, exactly_one, sums_to_one
from autograder.shared.probes import arguments_after
from solutions import ch03_bottleneck as reference


@drawn
def question(rng, seq_len, d_hidden, d_attention, dtype=np.float64, v_largest=2.0):
    """Draw a query, keys, and a network to compare them. In float32 no key is negative, so that no
    context is a small difference.
    """
    keys = sizeable(rng, seq_len, d_hidden, largest=1.5, dtype=dtype)
    return {
        "query": sizeable(rng, d_hidden, dtype=dtype),
        "keys": np.abs(keys) if dtype == np.float32 else keys,
        "w_query": sizeable(rng, d_hidden, d_attention, largest=0.8, dtype=dtype),
        "w_key": sizeable(rng, d_hidden, d_attention, largest=0.8, dtype=dtype),
        "v": sizeable(rng, d_attention, largest=v_largest, dtype=dtype),
    }


@drawn
def scores_around(rng, level, seq_len=4, dtype=np.float64):
    """Draw a network with one feature that is the same for every key, and that lifts all scores to
    a level.
    """
    drawn = question(seq_len, 3, 3, dtype)(rng)
    drawn["w_query"][:, 0] = 40 * np.sign(drawn["query"])  # tanh of at least 24 is 1
    drawn["w_key"][:, 0] = 0.2
    drawn["v"][0] = level
    return drawn


@drawn
def scores_far_apart(rng, seq_len, dtype=np.float64):
    """Draw a network in which one feature, 1 for one key and -1 for the others, decides
    everything.
    """
    drawn = question(seq_len, 3, 3, dtype)(rng)
    drawn["keys"][:, 0] = np.where(np.arange(seq_len) == rng.integers(seq_len), 1, -1)
    drawn["w_query"][:, 0] = 0
    drawn["w_key"][:, 0] = [40, 0, 0]
    drawn["v"][0] = rng.choice([-3000, 3000])
    return drawn


def the_same_key_twice(rng):
    drawn = question(3, 3, 2)(rng)
    drawn["keys"][2] = drawn["keys"][0]
    return drawn


def query_of_zeros(rng):
    drawn = question(4, 3, 2)(rng)
    drawn["query"][:] = 0
    return drawn


def hidden_layer(query, keys, w_query, w_key):
    return np.tanh(query @ w_query + keys @ w_key)


def stable_softmax(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def right_scores(query, keys, w_query, w_key, v):
    return hidden_layer(query, keys, w_query, w_key) @ v


def attention_with(scores=right_scores, normalise=stable_softmax, context=None):
    """Make an `additive_attention` from rules for the scores, the weights and the context."""

    def additive_attention(query, keys, w_query, w_key, v):
        weights = normalise(scores(query, keys, w_query, w_key, v))
        return (context(weights, query, keys, w_key) if context else weights @ keys), weights

    return additive_attention


def naive_softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


def shifted_exponentials(scores):
    return np.exp(scores - scores.max())


def one_for_the_largest(scores):
    return (scores == scores.max()).astype(scores.dtype)


def shares_without_exponential(scores):
    return scores / scores.sum()


def softmax_shifted_by_the_mean(scores):
    exponentials = np.exp(scores - scores.mean())
    return exponentials / exponentials.sum()


def clipped_softmax(scores):
    return stable_softmax(np.clip(scores, -500, 500))


def without_tanh(query, keys, w_query, w_key, v):
    return (query @ w_query + keys @ w_key) @ v


def tanh_after_v(query, keys, w_query, w_key, v):
    return np.tanh(without_tanh(query, keys, w_query, w_key, v))


def tanh_of_each_part(query, keys, w_query, w_key, v):
    return (np.tanh(query @ w_query) + np.tanh(keys @ w_key)) @ v


def scaled_scores(query, keys, w_query, w_key, v):
    return right_scores(query, keys, w_query, w_key, v) / math.sqrt(len(v))


def scaled_by_the_state(query, keys, w_query, w_key, v):
    return right_scores(query, keys, w_query, w_key, v) / math.sqrt(len(query))


def dot_products(query, keys, w_query, w_key, v):
    return keys @ query


def projected_dot_products(query, keys, w_query, w_key, v):
    return (keys @ w_key) @ (query @ w_query)


def multiplied_parts(query, keys, w_query, w_key, v):
    return np.tanh((query @ w_query) * (keys @ w_key)) @ v


def exchanged_matrices(query, keys, w_query, w_key, v):
    return right_scores(query, keys, w_key, w_query, v)


def transposed_matrices(query, keys, w_query, w_key, v):
    return np.tanh(w_query @ query + keys @ w_key.T) @ v


checks = Checks(
    reference.additive_attention,
    laws=(
        partial(sums_to_one, of="weights"),
        partial(between_the_values, of="context", argument="keys"),
    ),
    returns=("context", "weights"),
    shortcuts=("AdditiveAttention", "BahdanauAttention"),
)
shown, hidden, wrong, right = checks.words

shown("two keys", question(2, 2, 2))
shown("four keys, compared by a layer of another width", question(4, 3, 2), weight=2)
shown("all sizes equal", question(3, 3, 3))
shown("a layer wider than the states", question(3, 2, 6))
shown("equal keys get equal weights", the_same_key_twice)
shown("scores around 2000 stay finite", scores_around(2000))
shown("scores far apart stay finite", scores_far_apart(4))
shown("float32 in, float32 out", question(3, 2, 3, dtype=np.float32))
shown("the arguments stay as they were", question(3, 2, 2), probe=arguments_after)
hidden("more keys", question(8, 5, 4, v_largest=1.5), weight=2)
hidden("as many keys as numbers, all four", question(4, 4, 4))
hidden(
    "a single key gets a weight of exactly 1",
    question(1, 3, 2),
    laws=(
        partial(exactly_one, of="weights"),
        partial(between_the_values, of="context", argument="keys"),
    ),
)
hidden("scores around -2000 stay finite", scores_around(-2000))
hidden("scores around 100 in float32", scores_around(100, dtype=np.float32))
hidden("five scores, far apart", scores_far_apart(5))
hidden("a query of zeros still sees the keys", query_of_zeros)
hidden("a layer of one number", question(4, 3, 1))
hidden("more keys in float32", question(5, 4, 3, dtype=np.float32))
hidden("long keys stay as they were", question(4, 4, 3), probe=arguments_after)


wrong(
    "no tanh is needed",
    hint="Do your weights change when the query does? Without one function of the formula they cannot.",
)(attention_with(without_tanh))


wrong(
    "tanh comes after v",
    hint="Your scores never leave the range from -1 to 1. Does the tanh act on the layer, or on the"
    " finished score?",
)(attention_with(tanh_after_v))


wrong(
    "tanh is taken of each part",
    hint="Do your weights change when the query does? Look at where the two projections meet: inside"
    " or outside of the tanh?",
)(attention_with(tanh_of_each_part))


wrong(
    "exp of the raw scores is good enough",
    hint="Does your softmax hold for scores of 2000 and of -2000? Which exponents does exp meet there,"
    " and which could it meet instead?",
)(attention_with(normalise=naive_softmax))


wrong(
    "the mean is as safe as the largest",
    hint="An exponential still overflows, although something was taken away from every score. Can a"
    " score lie far above that number?",
)(attention_with(normalise=softmax_shifted_by_the_mean))


wrong(
    "scores may be clipped to what exp can hold",
    hint="Large scores that differ come out equal in your function. What can be done to scores without"
    " changing their differences?",
)(attention_with(normalise=clipped_softmax))


@wrong(
    "the softmax runs over the features",
    hint="Your softmax runs inside each key. Over what should the weights of one query sum to 1?",
)
def over_features(query, keys, w_query, w_key, v):
    layer = hidden_layer(query, keys, w_query, w_key) * v
    exponentials = np.exp(layer - layer.max(axis=1, keepdims=True))
    weights = (exponentials / exponentials.sum(axis=1, keepdims=True)).mean(axis=1)
    return weights @ keys, weights


@wrong(
    "the softmax comes before v",
    hint="Your softmax is taken for each feature, and v mixes the results. In which order do v and the"
    " softmax come?",
)
def over_keys_feature_by_feature(query, keys, w_query, w_key, v):
    layer = hidden_layer(query, keys, w_query, w_key)
    exponentials = np.exp(layer)
    weights = (exponentials / exponentials.sum(axis=0)) @ v
    return weights @ keys, weights


wrong(
    "exponentials are weights",
    hint="Your largest weight is always 1. What must all weights together come to?",
)(attention_with(normalise=shifted_exponentials))


wrong(
    "shares of the plain scores are weights",
    hint="Your weights can be negative. Which function makes every score positive before shares are"
    " taken?",
)(attention_with(normalise=shares_without_exponential))


wrong(
    "the best key takes all",
    hint="One of your weights is 1 and the others are 0, whatever the scores. How much weight does the"
    " second best key get?",
)(attention_with(normalise=one_for_the_largest))


wrong(
    "the projected keys are averaged",
    hint="The weights are right. What do they average: the keys as they came, or what w_key made of"
    " them?",
)(attention_with(context=lambda weights, query, keys, w_key: weights @ (keys @ w_key)))


wrong(
    "the context takes the query along",
    hint="The context is longer than a key. What is it, apart from an average of the keys?",
)(
    attention_with(
        context=lambda weights, query, keys, w_key: np.concatenate([weights @ keys, query])
    )
)


wrong(
    "the context is the plain mean of the keys",
    hint="The weights are right, and your context does not depend on them.",
)(attention_with(context=lambda weights, query, keys, w_key: keys.mean(axis=0)))


wrong(
    "the weighted keys are averaged once more",
    hint="The context is too small by a factor. Weights that sum to 1 divide already: what else does"
    " your function divide by?",
)(
    attention_with(
        context=lambda weights, query, keys, w_key: (weights[:, np.newaxis] * keys).mean(axis=0)
    )
)


wrong(
    "scores are divided by the root of their width",
    hint="Your weights are too even. Is there anything in this formula that divides a score?",
)(attention_with(scaled_scores))


wrong(
    "scores are divided by the root of the state's width",
    hint="Your weights are too even: a scale belongs to another kind of attention, not to this"
    " formula.",
)(attention_with(scaled_by_the_state))


@wrong("weights come first", hint="Both arrays are there. In which order are they to be returned?")
def swapped(query, keys, w_query, w_key, v):
    context, weights = reference.additive_attention(query, keys, w_query, w_key, v)
    return weights, context


@wrong(
    "scores are weights",
    hint="The context is right; the second array is still what went into the softmax.",
)
def returning_scores(query, keys, w_query, w_key, v):
    context, _ = reference.additive_attention(query, keys, w_query, w_key, v)
    return context, right_scores(query, keys, w_query, w_key, v)


wrong(
    "a dot product is the score",
    hint="Your scores use neither w_query, w_key nor v. Which network does the formula put in place of"
    " a dot product?",
)(attention_with(dot_products))


wrong(
    "the projections are compared by a dot product",
    hint="Your scores do not depend on v. Are the two projections multiplied with each other, or"
    " added?",
)(attention_with(projected_dot_products))


wrong(
    "the projections are multiplied",
    hint="What happens to the two projections before the tanh? This attention has its name from it.",
)(attention_with(multiplied_parts))


wrong(
    "the two matrices are alike",
    hint="Which matrix meets the query in your function, and which the keys? They have the same shape,"
    " so nothing fails.",
)(attention_with(exchanged_matrices))


wrong(
    "the matrices stand in front",
    hint="Do your products still run if a state and the layer differ in width? In the formula query"
    " and keys are rows.",
)(attention_with(transposed_matrices))


@wrong(
    "the result is float64 whatever comes in",
    hint="Somewhere a float64 enters. Which of your operations brings it in?",
)
def in_float64(*arguments):
    return reference.additive_attention(*[argument.astype(np.float64) for argument in arguments])


@wrong(
    "the caller's keys are free to be worked in",
    hint="The numbers are right, but compare keys before and after the call. Which line of yours"
    " writes into them?",
)
def in_place(query, keys, w_query, w_key, v):
    _, weights = reference.additive_attention(query, keys, w_query, w_key, v)
    keys *= weights[:, np.newaxis]
    return keys.sum(axis=0), weights


@right
def by_einsum(query, keys, w_query, w_key, v):
    layer = np.tanh(np.einsum("h,ha->a", query, w_query) + np.einsum("th,ha->ta", keys, w_key))
    weights = stable_softmax(np.einsum("ta,a->t", layer, v))
    return np.einsum("t,th->h", weights, keys), weights


@right
def by_loops(query, keys, w_query, w_key, v):
    scores = []
    for key in keys:
        layer = [
            math.tanh(
                sum(
                    float(number) * float(weight)
                    for number, weight in zip((*query, *key), column, strict=True)
                )
            )
            for column in np.vstack([w_query, w_key]).T
        ]
        scores.append(sum(float(weight) * number for weight, number in zip(v, layer, strict=True)))
    exponentials = [math.exp(score - max(scores)) for score in scores]
    weights = np.array([number / sum(exponentials) for number in exponentials], dtype=keys.dtype)
    context = np.zeros_like(keys[0])
    for weight, key in zip(weights, keys, strict=True):
        context += weight * key
    return context, weights


@right
def by_concatenation(query, keys, w_query, w_key, v):
    pairs = np.hstack([np.tile(query, (len(keys), 1)), keys])
    scores = np.tanh(pairs @ np.vstack([w_query, w_key])) @ v
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    return (weights[:, np.newaxis] * keys).sum(axis=0), weights


@right
def by_torch(query, keys, w_query, w_key, v):
    import torch

    query, keys, w_query, w_key, v = (
        torch.from_numpy(one.copy()) for one in (query, keys, w_query, w_key, v)
    )
    weights = torch.softmax(torch.tanh(query @ w_query + keys @ w_key) @ v, dim=0)
    return (weights @ keys).numpy(), weights.numpy()


@right
def as_a_list(query, keys, w_query, w_key, v):
    scores = v @ np.tanh(w_query.T @ query[:, np.newaxis] + w_key.T @ keys.T)
    weights = stable_softmax(scores)
    return [keys.T @ weights, weights]
