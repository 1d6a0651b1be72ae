"""A recurrent encoder and additive attention, each with two faults."""

import numpy as np

from tests.two_faults import collector

PAIRS, HELD_OUT = [], []
two_faults, held_out = collector(PAIRS), collector(HELD_OUT)


@two_faults("rnn_encode", "only the last state is wanted", "a network can do without its bias")
def last_state_without_bias(inputs, w_input, w_hidden, bias):
    state = np.zeros_like(bias)
    for row in inputs:
        state = np.tanh(row @ w_input + state @ w_hidden)
    return state


@two_faults("rnn_encode", "the zero state is one of the states", "the bias is added after tanh")
def zero_state_kept_bias_late(inputs, w_input, w_hidden, bias):
    states = [np.zeros_like(bias)]
    for row in inputs:
        states.append(np.tanh(row @ w_input + states[-1] @ w_hidden) + bias)
    return np.stack(states)


@two_faults("rnn_encode", "no tanh is needed", "the result is float64 whatever comes in")
def linear_in_float64(inputs, w_input, w_hidden, bias):
    states = np.zeros((len(inputs), len(bias)))
    state = np.zeros(len(bias))
    for step, row in enumerate(inputs):
        state = row @ w_input + state @ w_hidden + bias
        states[step] = state
    return states


@two_faults(
    "rnn_encode",
    "a second name is a second array",
    "a logistic function will do for tanh",
    true_too=("one array can hold all states in turn",),
)
def logistic_in_one_array(inputs, w_input, w_hidden, bias):
    states = []
    state = np.zeros_like(bias)
    for row in inputs:
        state[:] = 1 / (1 + np.exp(-(row @ w_input + state @ w_hidden + bias)))
        states.append(state)
    return np.stack(states) if states else np.empty((0, len(bias)), dtype=bias.dtype)


@two_faults("rnn_encode", "w_hidden comes before the state", "the bias is the first state")
def hidden_in_front_from_the_bias(inputs, w_input, w_hidden, bias):
    states = np.empty((len(inputs), len(bias)), dtype=inputs.dtype)
    state = bias
    for step, row in enumerate(inputs):
        state = np.tanh(row @ w_input + w_hidden @ state + bias)
        states[step] = state
    return states


def softmax(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


@two_faults("additive_attention", "no tanh is needed", "exp of the raw scores is good enough")
def linear_with_raw_exponentials(query, keys, w_query, w_key, v):
    exponentials = np.exp((query @ w_query + keys @ w_key) @ v)
    weights = exponentials / exponentials.sum()
    return weights @ keys, weights


@two_faults("additive_attention", "weights come first", "tanh is taken of each part")
def weights_first_tanh_of_parts(query, keys, w_query, w_key, v):
    weights = softmax((np.tanh(query @ w_query) + np.tanh(keys @ w_key)) @ v)
    return weights, weights @ keys


@two_faults(
    "additive_attention",
    "the projected keys are averaged",
    "scores are divided by the root of their width",
)
def scaled_projected_keys(query, keys, w_query, w_key, v):
    projected = keys @ w_key
    weights = softmax(np.tanh(query @ w_query + projected) @ v / np.sqrt(len(v)).astype(v.dtype))
    return weights @ projected, weights


@two_faults(
    "additive_attention",
    "scores are weights",
    "the result is float64 whatever comes in",
)
def scores_in_float64(query, keys, w_query, w_key, v):
    scores = (np.tanh(query @ w_query + keys @ w_key) @ v).astype(np.float64)
    return scores @ keys, scores


@two_faults("additive_attention", "the two matrices are alike", "exponentials are weights")
def one_matrix_and_no_sum(query, keys, w_query, w_key, v):
    scores = np.tanh(query @ w_query + keys @ w_query) @ v
    weights = np.exp(scores - scores.max())
    return weights @ keys, weights


@two_faults("additive_attention", "tanh comes after v", "the context is the plain mean of the keys")
def tanh_late_and_mean(query, keys, w_query, w_key, v):
    weights = softmax(np.tanh((query @ w_query + keys @ w_key) @ v))
    return keys.mean(axis=0), weights


@held_out(
    "rnn_encode", "a row holds the state before its word", "a network can do without its bias"
)
def kept_before_without_bias(inputs, w_input, w_hidden, bias):
    h = np.zeros(w_hidden.shape[0], dtype=inputs.dtype)
    states = []
    for x in inputs:
        states.append(h)
        h = np.tanh(x @ w_input + h @ w_hidden)
    return np.array(states)


@held_out("rnn_encode", "the first state is all ones", "no tanh is needed")
def linear_from_ones(inputs, w_input, w_hidden, bias):
    h = np.ones(len(bias), dtype=inputs.dtype)
    states = []
    for x in inputs:
        h = x @ w_input + h @ w_hidden + bias
        states.append(h)
    return np.array(states)


@held_out("rnn_encode", "the sentence is read from its end", "only the last state is wanted")
def read_backwards_to_one_state(inputs, w_input, w_hidden, bias):
    h = np.zeros(len(bias), dtype=inputs.dtype)
    for t in reversed(range(len(inputs))):
        h = np.tanh(inputs[t] @ w_input + h @ w_hidden + bias)
    return h


@held_out(
    "additive_attention", "scores are divided by the root of their width", "weights come first"
)
def scaled_and_weights_first(query, keys, w_query, w_key, v):
    hidden = np.tanh(query @ w_query + keys @ w_key)
    scores = hidden @ v / np.sqrt(hidden.shape[-1]).astype(hidden.dtype)
    weights = softmax(scores)
    return weights, np.sum(weights[:, None] * keys, axis=0)


@held_out(
    "additive_attention", "exp of the raw scores is good enough", "the two matrices are alike"
)
def matrices_swapped_raw(query, keys, w_query, w_key, v):
    scores = np.tanh(query @ w_key + keys @ w_query) @ v
    e = np.exp(scores)
    weights = e / e.sum()
    return weights @ keys, weights


@held_out(
    "additive_attention",
    "the context is the plain mean of the keys",
    "scores are divided by the root of the state's width",
)
def mean_and_scaled_by_the_state(query, keys, w_query, w_key, v):
    scores = np.tanh(query @ w_query + keys @ w_key) @ v
    scores = (scores / np.sqrt(query.shape[0])).astype(v.dtype)
    return np.mean(keys, axis=0), softmax(scores)
