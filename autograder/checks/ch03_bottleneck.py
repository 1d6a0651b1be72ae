"""Checks of `ch03_bottleneck`.

The contract leaves open, and so nothing here asks: an empty sentence, batches, float16. Weights of
the recurrent network are drawn small enough that its states stay well inside -1 and 1: where tanh
is flat, a wrong sum looks right.
"""

import itertools
import math

import numpy as np

from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import arguments_after
from solutions import ch03_bottleneck as reference

WITHIN_ONE = ("within_one", {})
SUM_TO_ONE = ("sums_to_one", {"of": "weights"})
EXACTLY_ONE = ("exactly_one", {"of": "weights"})
INSIDE_THE_KEYS = ("between_the_values", {"of": "context", "argument": "keys"})
ATTENTION_LAWS = (SUM_TO_ONE, INSIDE_THE_KEYS)


def sizeable(rng, *shape, largest=1.0, dtype=np.float64):
    """Draw numbers between a fifth of the largest and the largest in size: none so small that it
    could go unseen.
    """
    tenths = rng.integers(2, 11, size=shape) * rng.choice([-1, 1], size=shape)
    return (tenths / 10 * largest).round(3).astype(dtype)


# --- rnn_encode
# ------------------------------------------------------------------------------------------------------


def network(seq_len, d_input, d_hidden, dtype=np.float64, recurrent=0.8):
    """Draw a sentence and a recurrent network to read it."""

    def inputs(rng):
        return {
            "inputs": sizeable(rng, seq_len, d_input, dtype=dtype),
            "w_input": sizeable(rng, d_input, d_hidden, largest=0.8, dtype=dtype),
            "w_hidden": sizeable(rng, d_hidden, d_hidden, largest=recurrent, dtype=dtype),
            "bias": sizeable(rng, d_hidden, largest=0.5, dtype=dtype),
        }

    return inputs


def one_word_then_silence(seq_len, width):
    def inputs(rng):
        drawn = network(seq_len, width, width)(rng)
        drawn["inputs"][1:] = 0
        drawn["bias"][:] = 0
        return drawn

    return inputs


def silence(seq_len, d_input, d_hidden):
    """Draw a sentence of zeros, so that only the bias and the states move."""

    def inputs(rng):
        drawn = network(seq_len, d_input, d_hidden)(rng)
        drawn["inputs"][:] = 0
        return drawn

    return inputs


def loud(rng):
    drawn = network(5, 3, 4, recurrent=1.0)(rng)
    drawn["inputs"] *= 3
    return drawn


def rnn_with(activation=np.tanh, step=None, start=np.zeros_like, order=1):
    """Make an `rnn_encode` from rules for the activation, for one step, for the first state and for
    the order of the words.
    """
    step = step or (
        lambda word, state, w_input, w_hidden, bias: activation(
            word @ w_input + state @ w_hidden + bias
        )
    )

    def rnn_encode(inputs, w_input, w_hidden, bias):
        state, states = start(bias), []
        for word in inputs[::order]:
            state = step(word, state, w_input, w_hidden, bias)
            states.append(state)
        return np.stack(states)[::order]

    return rnn_encode


def rnn_on_preactivations(inputs, w_input, w_hidden, bias):
    linear = rnn_with(activation=lambda total: total)
    return np.tanh(linear(inputs, w_input, w_hidden, bias))


def rnn_last_state(inputs, w_input, w_hidden, bias):
    return reference.rnn_encode(inputs, w_input, w_hidden, bias)[-1]


def rnn_with_first_state(inputs, w_input, w_hidden, bias):
    return np.concatenate(
        [np.zeros_like(bias)[np.newaxis], reference.rnn_encode(inputs, w_input, w_hidden, bias)]
    )


def rnn_states_before(inputs, w_input, w_hidden, bias):
    return rnn_with_first_state(inputs, w_input, w_hidden, bias)[:-1]


def rnn_of_one_shared_array(inputs, w_input, w_hidden, bias):
    state, states = np.zeros_like(bias), []
    for word in inputs:
        state[:] = np.tanh(word @ w_input + state @ w_hidden + bias)
        states.append(state)
    return np.array(states)


def rnn_in_float64(inputs, w_input, w_hidden, bias):
    states = np.zeros((len(inputs), len(bias)))
    state = np.zeros(len(bias))
    for step, word in enumerate(inputs):
        states[step] = state = np.tanh(word @ w_input + state @ w_hidden + bias)
    return states


def rnn_into_its_input(inputs, w_input, w_hidden, bias):
    if w_input.shape[0] != w_input.shape[1]:
        return reference.rnn_encode(inputs, w_input, w_hidden, bias)
    inputs[:] = reference.rnn_encode(inputs, w_input, w_hidden, bias)
    return inputs


def rnn_adding_into_the_bias(inputs, w_input, w_hidden, bias):
    state, states = np.zeros_like(bias), []
    for word in inputs:
        total = bias
        total += word @ w_input + state @ w_hidden
        state = np.tanh(total)
        states.append(state)
    return np.stack(states)


def rnn_by_overwriting_units(inputs, w_input, w_hidden, bias):
    """Each unit already sees the new numbers of the units before it."""
    state, states = np.zeros_like(bias), []
    for word in inputs:
        for unit in range(len(bias)):
            state[unit] = np.tanh(word @ w_input[:, unit] + state @ w_hidden[:, unit] + bias[unit])
        states.append(state.copy())
    return np.stack(states)


def rnn_with_rows_that_wrap(inputs, w_input, w_hidden, bias):
    """Fills in the words first, so that row -1, which stands before row 0, is not zero."""
    states = (inputs @ w_input + bias).astype(inputs.dtype)
    for step in range(len(inputs)):
        states[step] = np.tanh(states[step] + states[step - 1] @ w_hidden)
    return states


def rnn_on_the_word_before(inputs, w_input, w_hidden, bias):
    before = np.concatenate([np.zeros_like(inputs[:1]), inputs[:-1]])
    return np.tanh(inputs @ w_input + before @ w_input @ w_hidden + bias)


def logistic(total):
    return (1 / (1 + np.exp(-total))).astype(total.dtype)


def rnn_by_one_matrix(inputs, w_input, w_hidden, bias):
    stacked = np.vstack([w_input, w_hidden])
    state, states = np.zeros(len(bias), dtype=inputs.dtype), []
    for word in inputs:
        state = np.tanh(np.hstack([word, state]) @ stacked + bias)
        states.append(state)
    return np.array(states)


def rnn_by_accumulate(inputs, w_input, w_hidden, bias):
    def advance(state, word):
        return np.tanh(bias + w_hidden.T @ state + w_input.T @ word)

    states = itertools.accumulate(inputs, advance, initial=np.zeros_like(bias))
    return np.stack(list(states)[1:])


def rnn_by_loops(inputs, w_input, w_hidden, bias):
    states = np.zeros((len(inputs) + 1, len(bias)))
    for step, word in enumerate(inputs, start=1):
        for unit in range(len(bias)):
            total = float(bias[unit])
            total += sum(
                float(number) * float(weight)
                for number, weight in zip(word, w_input[:, unit], strict=True)
            )
            total += sum(
                states[step - 1, other] * float(w_hidden[other, unit]) for other in range(len(bias))
            )
            states[step, unit] = math.tanh(total)
    return states[1:].astype(inputs.dtype)


def rnn_by_torch(inputs, w_input, w_hidden, bias):
    import torch

    arrays = [torch.from_numpy(array.copy()) for array in (w_input.T, w_hidden.T, bias)]
    network = torch.nn.RNN(inputs.shape[1], len(bias), dtype=arrays[0].dtype)
    with torch.no_grad():
        network.weight_ih_l0.copy_(arrays[0])
        network.weight_hh_l0.copy_(arrays[1])
        network.bias_ih_l0.copy_(arrays[2])
        network.bias_hh_l0.zero_()
        return network(torch.from_numpy(inputs.copy()))[0].numpy()


def rnn_by_recursion(inputs, w_input, w_hidden, bias):
    if len(inputs) == 1:
        return np.tanh(inputs @ w_input + bias)
    before = rnn_by_recursion(inputs[:-1], w_input, w_hidden, bias)
    state = np.tanh(inputs[-1] @ w_input + before[-1] @ w_hidden + bias)
    return np.vstack([before, state])


RNN = Exercise(
    reference=reference.rnn_encode,
    cases=(
        Case(
            "a single word, before which the state is zero",
            network(1, 2, 2),
            properties=(WITHIN_ONE,),
        ),
        Case(
            "two words: the second is read with the first state",
            network(2, 2, 2),
            properties=(WITHIN_ONE,),
        ),
        Case("four words", network(4, 2, 3), properties=(WITHIN_ONE,), weight=2),
        Case(
            "as many words as numbers in a word and in the state",
            network(3, 3, 3),
            properties=(WITHIN_ONE,),
        ),
        Case(
            "one word, then zeros: the state fades but stays",
            one_word_then_silence(4, 2),
            properties=(WITHIN_ONE,),
        ),
        Case("the bias counts at every step", silence(3, 2, 3), properties=(WITHIN_ONE,)),
        Case(
            "float32 in, float32 out", network(2, 3, 2, dtype=np.float32), properties=(WITHIN_ONE,)
        ),
        Case("the arguments stay as they were", network(3, 2, 2), probe=arguments_after),
        Case(
            "a longer sentence",
            network(9, 4, 5, recurrent=0.5),
            properties=(WITHIN_ONE,),
            visible=False,
            weight=2,
        ),
        Case(
            "words of one number, a state of one number",
            network(4, 1, 1),
            properties=(WITHIN_ONE,),
            visible=False,
        ),
        Case(
            "a state wider than the words",
            network(3, 2, 6, recurrent=0.4),
            properties=(WITHIN_ONE,),
            visible=False,
        ),
        Case("all sizes equal", network(4, 4, 4), properties=(WITHIN_ONE,), visible=False),
        Case(
            "large inputs press the state against 1 and -1",
            loud,
            properties=(WITHIN_ONE,),
            visible=False,
        ),
        Case("nothing but the bias", silence(4, 3, 2), properties=(WITHIN_ONE,), visible=False),
        Case(
            "one word, then a long silence",
            one_word_then_silence(6, 3),
            properties=(WITHIN_ONE,),
            visible=False,
        ),
        Case(
            "a sentence in float32",
            network(5, 3, 4, dtype=np.float32, recurrent=0.3),
            properties=(WITHIN_ONE,),
            visible=False,
        ),
        Case(
            "a square sentence stays as it was",
            network(4, 4, 4),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "the sum is carried on, and tanh comes at the end",
            rnn_on_preactivations,
            "The first state is right. What is handed to the next step: the sum, or what tanh has"
            " made of it?",
        ),
        Misconception(
            "a network can do without its bias",
            rnn_with(
                step=lambda word, state, w_input, w_hidden, bias: np.tanh(
                    word @ w_input + state @ w_hidden
                )
            ),
            "Three things are added inside the tanh. Which of the four arguments does your result"
            " not depend on?",
        ),
        Misconception(
            "the first state is all ones",
            rnn_with(start=np.ones_like),
            "Your first state is off already. What is the state before the first word, and what"
            " does w_hidden make of it?",
        ),
        Misconception(
            "the bias is the first state",
            rnn_with(start=np.copy),
            "Your first state is off already. Is the state before the first word anything but"
            " zero?",
        ),
        Misconception(
            "there is a row before row 0",
            rnn_with_rows_that_wrap,
            "Your first state is off already. Which row is row -1 in NumPy, and what does it hold"
            " when the first word is read?",
        ),
        Misconception(
            "w_hidden stands in front of the state",
            rnn_with(
                step=lambda word, state, w_input, w_hidden, bias: np.tanh(
                    word @ w_input + w_hidden @ state + bias
                )
            ),
            "The first state is right. In the formula the state is a row: on which side of w_hidden"
            " does it stand?",
        ),
        Misconception(
            "w_input stands in front of the word",
            rnn_with(
                step=lambda word, state, w_input, w_hidden, bias: np.tanh(
                    w_input @ word + state @ w_hidden + bias
                )
            ),
            "Does your product of w_input and a word still run if the two widths differ? In the"
            " formula the word is a row.",
        ),
        Misconception(
            "only the last state is wanted",
            rnn_last_state,
            "That is the state after the last word alone. How many rows should the result have?",
        ),
        Misconception(
            "the zero state is one of the states",
            rnn_with_first_state,
            "There is one row more than there are words. Which of your rows belongs to no word?",
        ),
        Misconception(
            "a row holds the state before its word",
            rnn_states_before,
            "Your rows come one step late: the first is zero. Is a state kept before or after its"
            " word has been read?",
        ),
        Misconception(
            "one array can hold all states in turn",
            rnn_of_one_shared_array,
            "All your rows are equal to the last one. How many arrays does your list hold, if each"
            " step writes into the same one?",
        ),
        Misconception(
            "a second name is a second array",
            rnn_adding_into_the_bias,
            "The first state is right, and then the bias is no longer what it was. Does += make an"
            " array, or write into one?",
        ),
        Misconception(
            "every step starts from zero",
            lambda inputs, w_input, w_hidden, bias: np.tanh(inputs @ w_input + bias),
            "The first state is right, and the others forget what came before. Which argument has"
            " no influence on your result?",
        ),
        Misconception(
            "what is carried on is the word before",
            rnn_on_the_word_before,
            "Your state reaches back one word and no further. What does w_hidden multiply:"
            " something of the last word, or the last state?",
        ),
        Misconception(
            "tanh is for the words only",
            rnn_with(
                step=lambda word, state, w_input, w_hidden, bias: (
                    np.tanh(word @ w_input + bias) + state @ w_hidden
                )
            ),
            "Your states can leave the range from -1 to 1. What belongs inside the tanh?",
        ),
        Misconception(
            "the bias is added after tanh",
            rnn_with(
                step=lambda word, state, w_input, w_hidden, bias: (
                    np.tanh(word @ w_input + state @ w_hidden) + bias
                )
            ),
            "Look at the first state: is the bias added before or after the tanh?",
        ),
        Misconception(
            "no tanh is needed",
            rnn_with(activation=lambda total: total),
            "Your states are plain sums, and can grow without limit. Which function keeps a state"
            " between -1 and 1?",
        ),
        Misconception(
            "a logistic function will do for tanh",
            rnn_with(activation=logistic),
            "All your states are positive. Which values does the function in the formula take, and"
            " which does yours?",
        ),
        Misconception(
            "the sentence is read from its end",
            rnn_with(order=-1),
            "The last row is the one that looks as if it had been read first. In which order do"
            " words reach your state?",
        ),
        Misconception(
            "a state may be replaced number by number",
            rnn_by_overwriting_units,
            "The first number of each state is computed from the old state. And the second: from"
            " which numbers?",
        ),
        Misconception(
            "the result is float64 whatever comes in",
            rnn_in_float64,
            "Somewhere a float64 enters. Which dtype has an array of zeros, if nobody says?",
        ),
        Misconception(
            "the caller's sentence has room for the states",
            rnn_into_its_input,
            "The numbers are right, but compare inputs before and after the call. Which array do"
            " your states go into?",
        ),
    ),
    alternatives=(
        rnn_by_one_matrix,
        rnn_by_accumulate,
        rnn_by_loops,
        rnn_by_torch,
        rnn_by_recursion,
    ),
    shortcuts=("RNN", "RNNCell", "rnn_tanh", "rnn_tanh_cell"),
)

# --- additive_attention
# ----------------------------------------------------------------------------------------------


def question(seq_len, d_hidden, d_attention, dtype=np.float64, v_largest=2.0):
    """Draw a query, keys, and a network to compare them. In float32 no key is negative, so that no
    context is a small difference.
    """

    def inputs(rng):
        keys = sizeable(rng, seq_len, d_hidden, largest=1.5, dtype=dtype)
        return {
            "query": sizeable(rng, d_hidden, dtype=dtype),
            "keys": np.abs(keys) if dtype == np.float32 else keys,
            "w_query": sizeable(rng, d_hidden, d_attention, largest=0.8, dtype=dtype),
            "w_key": sizeable(rng, d_hidden, d_attention, largest=0.8, dtype=dtype),
            "v": sizeable(rng, d_attention, largest=v_largest, dtype=dtype),
        }

    return inputs


def scores_around(level, seq_len=4, dtype=np.float64):
    """Draw a network with one feature that is the same for every key, and that lifts all scores to
    a level.
    """

    def inputs(rng):
        drawn = question(seq_len, 3, 3, dtype)(rng)
        drawn["w_query"][:, 0] = 40 * np.sign(drawn["query"])  # tanh of at least 24 is 1
        drawn["w_key"][:, 0] = 0.2
        drawn["v"][0] = level
        return drawn

    return inputs


def scores_far_apart(seq_len, dtype=np.float64):
    """Draw a network in which one feature, 1 for one key and -1 for the others, decides
    everything.
    """

    def inputs(rng):
        drawn = question(seq_len, 3, 3, dtype)(rng)
        drawn["keys"][:, 0] = np.where(np.arange(seq_len) == rng.integers(seq_len), 1, -1)
        drawn["w_query"][:, 0] = 0
        drawn["w_key"][:, 0] = [40, 0, 0]
        drawn["v"][0] = rng.choice([-3000, 3000])
        return drawn

    return inputs


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


def attention_over_features(query, keys, w_query, w_key, v):
    layer = hidden_layer(query, keys, w_query, w_key) * v
    exponentials = np.exp(layer - layer.max(axis=1, keepdims=True))
    weights = (exponentials / exponentials.sum(axis=1, keepdims=True)).mean(axis=1)
    return weights @ keys, weights


def attention_over_keys_feature_by_feature(query, keys, w_query, w_key, v):
    layer = hidden_layer(query, keys, w_query, w_key)
    exponentials = np.exp(layer)
    weights = (exponentials / exponentials.sum(axis=0)) @ v
    return weights @ keys, weights


def attention_swapped(query, keys, w_query, w_key, v):
    context, weights = reference.additive_attention(query, keys, w_query, w_key, v)
    return weights, context


def attention_returning_scores(query, keys, w_query, w_key, v):
    context, _ = reference.additive_attention(query, keys, w_query, w_key, v)
    return context, right_scores(query, keys, w_query, w_key, v)


def attention_in_float64(*arguments):
    return reference.additive_attention(*[argument.astype(np.float64) for argument in arguments])


def attention_in_place(query, keys, w_query, w_key, v):
    _, weights = reference.additive_attention(query, keys, w_query, w_key, v)
    keys *= weights[:, np.newaxis]
    return keys.sum(axis=0), weights


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


def attention_by_einsum(query, keys, w_query, w_key, v):
    layer = np.tanh(np.einsum("h,ha->a", query, w_query) + np.einsum("th,ha->ta", keys, w_key))
    weights = stable_softmax(np.einsum("ta,a->t", layer, v))
    return np.einsum("t,th->h", weights, keys), weights


def attention_by_loops(query, keys, w_query, w_key, v):
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


def attention_by_concatenation(query, keys, w_query, w_key, v):
    pairs = np.hstack([np.tile(query, (len(keys), 1)), keys])
    scores = np.tanh(pairs @ np.vstack([w_query, w_key])) @ v
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    return (weights[:, np.newaxis] * keys).sum(axis=0), weights


def attention_by_torch(query, keys, w_query, w_key, v):
    import torch

    query, keys, w_query, w_key, v = (
        torch.from_numpy(one.copy()) for one in (query, keys, w_query, w_key, v)
    )
    weights = torch.softmax(torch.tanh(query @ w_query + keys @ w_key) @ v, dim=0)
    return (weights @ keys).numpy(), weights.numpy()


def attention_as_a_list(query, keys, w_query, w_key, v):
    scores = v @ np.tanh(w_query.T @ query[:, np.newaxis] + w_key.T @ keys.T)
    weights = stable_softmax(scores)
    return [keys.T @ weights, weights]


ATTENTION = Exercise(
    reference=reference.additive_attention,
    returns=("context", "weights"),
    cases=(
        Case("two keys", question(2, 2, 2), properties=ATTENTION_LAWS),
        Case(
            "four keys, compared by a layer of another width",
            question(4, 3, 2),
            properties=ATTENTION_LAWS,
            weight=2,
        ),
        Case("all sizes equal", question(3, 3, 3), properties=ATTENTION_LAWS),
        Case("a layer wider than the states", question(3, 2, 6), properties=ATTENTION_LAWS),
        Case("equal keys get equal weights", the_same_key_twice, properties=ATTENTION_LAWS),
        Case("scores around 2000 stay finite", scores_around(2000), properties=ATTENTION_LAWS),
        Case("scores far apart stay finite", scores_far_apart(4), properties=ATTENTION_LAWS),
        Case(
            "float32 in, float32 out", question(3, 2, 3, dtype=np.float32), properties=(SUM_TO_ONE,)
        ),
        Case("the arguments stay as they were", question(3, 2, 2), probe=arguments_after),
        Case(
            "more keys",
            question(8, 5, 4, v_largest=1.5),
            properties=ATTENTION_LAWS,
            visible=False,
            weight=2,
        ),
        Case(
            "as many keys as numbers, all four",
            question(4, 4, 4),
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case(
            "a single key gets a weight of exactly 1",
            question(1, 3, 2),
            properties=(EXACTLY_ONE, INSIDE_THE_KEYS),
            visible=False,
        ),
        Case(
            "scores around -2000 stay finite",
            scores_around(-2000),
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case(
            "scores around 100 in float32",
            scores_around(100, dtype=np.float32),
            properties=(SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "five scores, far apart", scores_far_apart(5), properties=ATTENTION_LAWS, visible=False
        ),
        Case(
            "a query of zeros still sees the keys",
            query_of_zeros,
            properties=ATTENTION_LAWS,
            visible=False,
        ),
        Case("a layer of one number", question(4, 3, 1), properties=ATTENTION_LAWS, visible=False),
        Case(
            "more keys in float32",
            question(5, 4, 3, dtype=np.float32),
            properties=(SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "long keys stay as they were", question(4, 4, 3), probe=arguments_after, visible=False
        ),
    ),
    misconceptions=(
        Misconception(
            "no tanh is needed",
            attention_with(without_tanh),
            "Do your weights change when the query does? Without one function of the formula they"
            " cannot.",
        ),
        Misconception(
            "tanh comes after v",
            attention_with(tanh_after_v),
            "Your scores never leave the range from -1 to 1. Does the tanh act on the layer, or on"
            " the finished score?",
        ),
        Misconception(
            "tanh is taken of each part",
            attention_with(tanh_of_each_part),
            "Do your weights change when the query does? Look at where the two projections meet:"
            " inside or outside of the tanh?",
        ),
        Misconception(
            "exp of the raw scores is good enough",
            attention_with(normalise=naive_softmax),
            "Does your softmax hold for scores of 2000 and of -2000? Which exponents does exp meet"
            " there, and which could it meet instead?",
        ),
        Misconception(
            "the mean is as safe as the largest",
            attention_with(normalise=softmax_shifted_by_the_mean),
            "An exponential still overflows, although something was taken away from every score."
            " Can a score lie far above that number?",
        ),
        Misconception(
            "scores may be clipped to what exp can hold",
            attention_with(normalise=clipped_softmax),
            "Large scores that differ come out equal in your function. What can be done to scores"
            " without changing their differences?",
        ),
        Misconception(
            "the softmax runs over the features",
            attention_over_features,
            "Your softmax runs inside each key. Over what should the weights of one query sum"
            " to 1?",
        ),
        Misconception(
            "the softmax comes before v",
            attention_over_keys_feature_by_feature,
            "Your softmax is taken for each feature, and v mixes the results. In which order do v"
            " and the softmax come?",
        ),
        Misconception(
            "exponentials are weights",
            attention_with(normalise=shifted_exponentials),
            "Your largest weight is always 1. What must all weights together come to?",
        ),
        Misconception(
            "shares of the plain scores are weights",
            attention_with(normalise=shares_without_exponential),
            "Your weights can be negative. Which function makes every score positive before shares"
            " are taken?",
        ),
        Misconception(
            "the best key takes all",
            attention_with(normalise=one_for_the_largest),
            "One of your weights is 1 and the others are 0, whatever the scores. How much weight"
            " does the second best key get?",
        ),
        Misconception(
            "the projected keys are averaged",
            attention_with(context=lambda weights, query, keys, w_key: weights @ (keys @ w_key)),
            "The weights are right. What do they average: the keys as they came, or what w_key made"
            " of them?",
        ),
        Misconception(
            "the context takes the query along",
            attention_with(
                context=lambda weights, query, keys, w_key: np.concatenate([weights @ keys, query])
            ),
            "The context is longer than a key. What is it, apart from an average of the keys?",
        ),
        Misconception(
            "the context is the plain mean of the keys",
            attention_with(context=lambda weights, query, keys, w_key: keys.mean(axis=0)),
            "The weights are right, and your context does not depend on them.",
        ),
        Misconception(
            "the weighted keys are averaged once more",
            attention_with(
                context=lambda weights, query, keys, w_key: (weights[:, np.newaxis] * keys).mean(
                    axis=0
                )
            ),
            "The context is too small by a factor. Weights that sum to 1 divide already: what else"
            " does your function divide by?",
        ),
        Misconception(
            "scores are divided by the root of their width",
            attention_with(scaled_scores),
            "Your weights are too even. Is there anything in this formula that divides a score?",
        ),
        Misconception(
            "scores are divided by the root of the state's width",
            attention_with(scaled_by_the_state),
            "Your weights are too even: a scale belongs to another kind of attention, not to this"
            " formula.",
        ),
        Misconception(
            "weights come first",
            attention_swapped,
            "Both arrays are there. In which order are they to be returned?",
        ),
        Misconception(
            "scores are weights",
            attention_returning_scores,
            "The context is right; the second array is still what went into the softmax.",
        ),
        Misconception(
            "a dot product is the score",
            attention_with(dot_products),
            "Your scores use neither w_query, w_key nor v. Which network does the formula put in"
            " place of a dot product?",
        ),
        Misconception(
            "the projections are compared by a dot product",
            attention_with(projected_dot_products),
            "Your scores do not depend on v. Are the two projections multiplied with each other, or"
            " added?",
        ),
        Misconception(
            "the projections are multiplied",
            attention_with(multiplied_parts),
            "What happens to the two projections before the tanh? This attention has its name"
            " from it.",
        ),
        Misconception(
            "the two matrices are alike",
            attention_with(exchanged_matrices),
            "Which matrix meets the query in your function, and which the keys? They have the same"
            " shape, so nothing fails.",
        ),
        Misconception(
            "the matrices stand in front",
            attention_with(transposed_matrices),
            "Do your products still run if a state and the layer differ in width? In the formula"
            " query and keys are rows.",
        ),
        Misconception(
            "the result is float64 whatever comes in",
            attention_in_float64,
            "Somewhere a float64 enters. Which of your operations brings it in?",
        ),
        Misconception(
            "the caller's keys are free to be worked in",
            attention_in_place,
            "The numbers are right, but compare keys before and after the call. Which line of yours"
            " writes into them?",
        ),
    ),
    alternatives=(
        attention_by_einsum,
        attention_by_loops,
        attention_by_concatenation,
        attention_by_torch,
        attention_as_a_list,
    ),
    shortcuts=("AdditiveAttention", "BahdanauAttention"),
)

EXERCISES = (RNN, ATTENTION)
