"""Recurrent networks and additive attention as others write them."""

import numpy as np

from solutions import ch03_bottleneck as reference
from tests.strangers import keeps


def own_tanh(x):
    with np.errstate(all="ignore"):
        return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))


@keeps(0.75, "a tanh of its own overflows", most=0.95, of="rnn_encode")
def by_own_tanh(inputs, w_input, w_hidden, bias):
    state, states = np.zeros_like(bias), []
    for x in inputs:
        state = own_tanh(x @ w_input + state @ w_hidden + bias)
        states.append(state)
    return np.array(states)


@keeps(0.9, "its states are float64", most=0.99, of="rnn_encode")
def into_float64(inputs, w_input, w_hidden, bias):
    states = np.zeros((len(inputs) + 1, len(bias)))
    for t, x in enumerate(inputs):
        states[t + 1] = np.tanh(x @ w_input + states[t] @ w_hidden + bias)
    return states[1:]


@keeps(0.5, "its softmax overflows", most=0.8, of="additive_attention")
def by_plain_exponentials(query, keys, w_query, w_key, v):
    with np.errstate(all="ignore"):
        exponentials = np.exp(np.tanh(query @ w_query + keys @ w_key) @ v)
        weights = exponentials / exponentials.sum()
        return weights @ keys, weights


@keeps(0.97, "a denominator with 1e-12 more", of="additive_attention")
def with_an_epsilon(query, keys, w_query, w_key, v):
    scores = np.tanh(query @ w_query + keys @ w_key) @ v
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / (exponentials.sum() + 1e-12)
    return weights @ keys, weights


@keeps(0.9, "its scores are filled into float64", most=0.99, of="additive_attention")
def one_key_after_the_other(query, keys, w_query, w_key, v):
    scores = np.zeros(len(keys))
    for t, key in enumerate(keys):
        scores[t] = v @ np.tanh(w_query.T @ query + w_key.T @ key)
    exponentials = np.exp(scores - np.max(scores))
    weights = exponentials / np.sum(exponentials)
    return np.sum(weights[:, None] * keys, axis=0), weights


@keeps(0.5, "weights with an axis of length 1, as a column", most=0.6, of="additive_attention")
def with_a_column_of_weights(query, keys, w_query, w_key, v):
    context, weights = reference.additive_attention(query, keys, w_query, w_key, v)
    return context, weights[:, None]
