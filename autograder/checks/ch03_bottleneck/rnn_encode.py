"""Sentences, read word by word into a state."""

import itertools
import math
from functools import partial

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, sizeable
from autograder.authoring.tensors import with_tensors
from autograder.shared.laws import within_one
from autograder.shared.probes import arguments_after
from solutions import ch03_bottleneck as reference


@drawn
def network(rng, seq_len, d_input, d_hidden, dtype=np.float64, recurrent=0.8):
    """Draw a sentence and a recurrent network to read it."""
    numbers = partial(sizeable, rng, dtype=dtype)
    return {
        "inputs": numbers(seq_len, d_input),
        "w_input": numbers(d_input, d_hidden, scale=0.8),
        "w_hidden": numbers(d_hidden, d_hidden, scale=recurrent),
        "bias": numbers(d_hidden, scale=0.5),
    }


@drawn
def one_word_then_silence(rng, seq_len, width):
    drawn = network(rng, seq_len, width, width)
    drawn["inputs"][1:] = 0
    drawn["bias"][:] = 0
    return drawn


def rnn_with(
    together=lambda word, state, bias: np.tanh(word + state + bias), start=np.zeros_like, order=1
):
    """Make an `rnn_encode` from rules for the new state that a word and a state make together with
    the bias, each multiplied by its matrix, for the first state and for the order of the words.
    """

    def rnn_encode(inputs, w_input, w_hidden, bias):
        state, states = start(bias), []
        for word in inputs[::order]:
            state = together(word @ w_input, state @ w_hidden, bias)
            states.append(state)
        return np.stack(states)[::order]

    return rnn_encode


def plain_sum(word, state, bias):
    return word + state + bias


checks = Checks(
    reference.rnn_encode,
    laws=(within_one,),
    shortcuts="RNN RNNCell rnn_tanh rnn_tanh_cell",
    family=rnn_with,
)
shown, hidden, wrong, right = checks.words

shown("a single word, before which the state is zero", network(1, 2, 2))
shown("two words: the second is read with the first state", network(2, 2, 2))
shown("four words", network(4, 2, 3), weight=4)
shown("as many words as numbers in a word and in the state", network(3, 3, 3))
shown("one word, then zeros: the state fades but stays", one_word_then_silence(4, 2))
shown("the bias counts at every step", network(3, 2, 3).but(inputs=np.zeros_like))
shown(
    "sums in the thousands still give states between -1 and 1",
    network(3, 3, 2).but(inputs=lambda inputs: 10_000 * inputs),
)
shown("float32 in, float32 out", network(2, 3, 2, dtype=np.float32))
shown("the arguments stay as they were", network(3, 2, 2), probe=arguments_after)
hidden("a longer sentence", network(9, 4, 5, recurrent=0.5), weight=4)
hidden("words of one number, a state of one number", network(4, 1, 1))
hidden("a state wider than the words", network(3, 2, 6, recurrent=0.4))
hidden("all sizes equal", network(4, 4, 4))
hidden(
    "large inputs press the state against 1 and -1",
    network(5, 3, 4, recurrent=1.0).but(inputs=lambda inputs: 3 * inputs),
)
hidden(
    "sums in the ten thousands", network(4, 3, 5).but(inputs=lambda inputs: 1e5 * inputs), weight=2
)
hidden("nothing but the bias", network(4, 3, 2).but(inputs=np.zeros_like))
hidden("one word, then a long silence", one_word_then_silence(6, 3))
hidden("a sentence in float32", network(5, 3, 4, dtype=np.float32, recurrent=0.3))
hidden("a square sentence stays as it was", network(4, 4, 4), probe=arguments_after)


wrong(
    "the sum is carried on, and tanh comes at the end",
    "The first state is right. What do you pass on to the next step: the sum, or its tanh?",
    together=plain_sum,
    then=np.tanh,
)


wrong(
    "a network can do without its bias",
    """Three terms are added inside the tanh. Which of the four arguments does your result not
    depend on?""",
    bias=np.zeros_like,
)


wrong(
    "the first state is all ones",
    """Already your first state is wrong. What is the state before the first word, and what does
    w_hidden make of it?""",
    start=np.ones_like,
)


wrong(
    "the bias is the first state",
    "Already your first state is wrong. What is the state before the first word?",
    start=np.copy,
)


@wrong(
    "there is a row before row 0",
    """Already your first state is wrong. Which row is row -1 in NumPy, and what does it hold when
    you read the first word?""",
)
def with_rows_that_wrap(inputs, w_input, w_hidden, bias):
    """Fills in the words first, so that row -1, which is read before row 0, is not zero."""
    states = (inputs @ w_input + bias).astype(inputs.dtype)
    for step in range(len(inputs)):
        states[step] = np.tanh(states[step] + states[step - 1] @ w_hidden)
    return states


wrong(
    "w_hidden comes before the state",
    "The first state is right. In the formula the state is a row: on which side of w_hidden is it?",
    w_hidden=np.transpose,
)


wrong(
    "w_input comes before the word",
    """Does your product of w_input and a word still work if the two widths differ? In the formula,
    the word is a row.""",
    w_input=np.transpose,
)


wrong(
    "only the last state is wanted",
    "You return only the state after the last word. How many rows should the result have?",
    then=lambda states: states[-1],
)


wrong(
    "the zero state is one of the states",
    "You have one more row than there are words. Which of your rows belongs to no word?",
    then=lambda states: np.vstack([np.zeros_like(states[0]), states]),
)


wrong(
    "a row holds the state before its word",
    """Your rows come one step late, because the first is zero. Do you keep a state before or after
    its word has been read?""",
    then=lambda states: np.vstack([np.zeros_like(states[0]), states[:-1]]),
)


wrong(
    "one array can hold all states in turn",
    """All your rows are equal to the last one. If each step writes into the same array, how many
    arrays does your list hold?""",
    then=lambda states: np.full_like(states, states[-1]),
)


@wrong(
    "a second name is a second array",
    """The first state is right, but after it the bias is no longer what it was. Does += make a new
    array, or write into an old one?""",
    rule="together",
)
def adding_into_the_bias(word, state, bias):
    total = bias
    total += word + state
    return np.tanh(total)


wrong(
    "every step starts from zero",
    """The first state is right, but the others forget what came before. Which argument has no
    influence on your result?""",
    w_hidden=np.zeros_like,
)


@wrong(
    "what is carried on is the word before",
    """Your state reaches back one word and no further. What does w_hidden multiply: the state
    before, or only the word before?""",
)
def on_the_word_before(inputs, w_input, w_hidden, bias):
    before = np.concatenate([np.zeros_like(inputs[:1]), inputs[:-1]])
    return np.tanh(inputs @ w_input + before @ w_input @ w_hidden + bias)


wrong(
    "tanh is for the words only",
    """Your states can leave the range from -1 to 1. Which terms does the formula have inside the
    tanh?""",
    together=lambda word, state, bias: np.tanh(word + bias) + state,
)


wrong(
    "the bias is added after tanh",
    "Look at the first state: is the bias added before or after the tanh?",
    together=lambda word, state, bias: np.tanh(word + state) + bias,
)


wrong(
    "no tanh is needed",
    """Your states are plain sums, so they can grow without limit. Which function of the formula
    keeps a state between -1 and 1?""",
    together=plain_sum,
)


wrong(
    "a logistic function will do for tanh",
    """All your states are positive. Which range of values does the function in the formula have,
    and which does yours?""",
    together=lambda word, state, bias: 1 / (1 + np.exp(-plain_sum(word, state, bias))),
)


wrong(
    "the sentence is read from its end",
    "Your last row looks as if its word had been read first. In which order do you read the words?",
    order=-1,
)


@wrong(
    "a state may be replaced number by number",
    """You compute the first number of each state from the old state. Which numbers do you compute
    the second one from?""",
)
def by_overwriting_units(inputs, w_input, w_hidden, bias):
    """Each unit already sees the new numbers of the units before it."""
    state, states = np.zeros_like(bias), []
    for word in inputs:
        for unit in range(len(bias)):
            state[unit] = np.tanh(word @ w_input[:, unit] + state @ w_hidden[:, unit] + bias[unit])
        states.append(state.copy())
    return np.stack(states)


checks.usual(
    "in float64",
    hint="""Somewhere your numbers become float64. Which dtype does NumPy give an array of zeros if
    you do not name one?""",
)


checks.usual(
    "into an argument",
    belief="the caller's sentence has room for the states",
    hint="""The numbers are right, but compare inputs before and after the call. Which array do you
    write your states into?""",
)


@right
def by_accumulating(inputs, w_input, w_hidden, bias):
    both = np.vstack([w_input, w_hidden])

    def advance(state, word):
        return np.tanh(np.hstack([word, state]) @ both + bias)

    states = itertools.accumulate(inputs, advance, initial=np.zeros_like(bias))
    return np.stack(list(states)[1:])


@right
def by_loops(inputs, w_input, w_hidden, bias):
    states = np.zeros((len(inputs) + 1, len(bias)))
    for step, unit in np.ndindex(len(inputs), len(bias)):
        total = inputs[step] @ w_input[:, unit] + states[step] @ w_hidden[:, unit] + bias[unit]
        states[step + 1, unit] = math.tanh(total)
    return states[1:].astype(inputs.dtype)


@right
@with_tensors
def by_torch(inputs, w_input, w_hidden, bias):
    import torch

    state, states = torch.zeros_like(bias), []
    for word in inputs:
        state = torch.rnn_tanh_cell(word[None], state[None], w_input.T, w_hidden.T, bias)[0]
        states.append(state)
    return torch.stack(states)


@right
def by_recursion(inputs, w_input, w_hidden, bias):
    if len(inputs) == 1:
        return np.tanh(inputs @ w_input + bias)
    before = by_recursion(inputs[:-1], w_input, w_hidden, bias)
    state = np.tanh(inputs[-1] @ w_input + before[-1] @ w_hidden + bias)
    return np.vstack([before, state])
