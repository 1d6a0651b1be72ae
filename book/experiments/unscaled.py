"""Chapter 4: the training of "Watch a map form" without the division by the root of d_k, with a
larger rate than the page's, and with Adam.
"""

import numpy as np

from book.experiments import Experiment
from solutions.ch01_embeddings import one_hot
from solutions.ch04_attention import softmax, softmax_backward

ANSWERS = [2, 2, 1, 2, 5, 4]  # for each position, that of the word to name
LENGTH, CHOICES, WORDS = 6, 3, 18
WIDTH = 64
VALUE_RATE = 5  # of gradient descent
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's usual ones

# Whether scores are divided, optimizer, and the learning rates that are tried.
SETTINGS = (
    (False, "SGD", (50.0,)),
    (False, "Adam", (0.01, 0.03, 0.1)),
    (True, "Adam", (0.03,)),
)


def draw_sentences(seed, count=200):
    """Return (count, LENGTH) ids, one of three words at each position."""
    drawn = np.random.default_rng(seed).integers(CHOICES, size=(count, LENGTH))
    return drawn + CHOICES * np.arange(LENGTH)


def begin(seed):
    """Return the matrices of queries, keys and values, as the page draws its large start."""
    rng = np.random.default_rng(seed)
    sizes = (WIDTH, 1.0), (WIDTH, 1.0), (WORDS, 1 / np.sqrt(WORDS))
    return [size * rng.normal(size=(WORDS, width)) for width, size in sizes]


def gradients(w, x, target, divisor):
    """Return the gradients of the three matrices, for sentences of one-hot vectors."""
    q, k, v = (x @ each for each in w)
    weights = softmax(q @ k.mT / divisor)
    of_output = (softmax(weights @ v) - target) / (LENGTH * len(x))
    of_dots = softmax_backward(weights, of_output @ v.mT) / divisor
    found = of_dots @ k, of_dots.mT @ q, weights.mT @ of_output
    rows = x.reshape(-1, WORDS)
    return [rows.T @ each.reshape(-1, each.shape[-1]) for each in found]


def steps_of_adam(rate):
    """Return the function that takes gradients and returns by how much parameters shrink."""
    means, squares, count = {}, {}, 0

    def taken(grads):
        nonlocal count
        count += 1
        changes = []
        for name, grad in enumerate(grads):
            means[name] = BETA_1 * means.get(name, 0) + (1 - BETA_1) * grad
            squares[name] = BETA_2 * squares.get(name, 0) + (1 - BETA_2) * grad**2
            mean = means[name] / (1 - BETA_1**count)
            spread = np.sqrt(squares[name] / (1 - BETA_2**count))
            changes.append(rate * mean / (spread + EPSILON))
        return changes

    return taken


def steps_of_descent(rate):
    """Return the same for gradient descent, with a rate of its own for the values."""
    return lambda grads: [
        its * grad for its, grad in zip((rate, rate, VALUE_RATE), grads, strict=True)
    ]


def learn(divided, optimizer, rate, steps, seed):
    """Train one model, and return the share of right answers in the test after each of `steps`."""
    divisor = np.sqrt(WIDTH) if divided else 1.0
    ids, test = draw_sentences(seed), one_hot(draw_sentences(99), WORDS)
    x, target = one_hot(ids, WORDS), one_hot(ids[:, ANSWERS], WORDS)
    w, found = begin(seed), []
    changes = {"Adam": steps_of_adam, "SGD": steps_of_descent}[optimizer](rate)
    for step in range(max(steps) + 1):
        if step in steps:
            q, k, v = (test @ each for each in w)
            named = (softmax(q @ k.mT / divisor) @ v).argmax(-1)
            found.append(float((named == test.argmax(-1)[:, ANSWERS]).mean().round(4)))
        for each, change in zip(w, changes(gradients(w, x, target, divisor)), strict=True):
            each -= change
    return found


def measure(steps, seeds):
    """Train with every one of `SETTINGS`.

    Returns:
        list of dicts with `divided`, `optimizer`, `rate`, `seed` and `right`: the share of right
            answers after each number of `steps`.
    """
    runs = []
    for divided, optimizer, rates in SETTINGS:
        for rate in rates:
            for seed in seeds:
                named = {"divided": divided, "optimizer": optimizer, "rate": rate, "seed": seed}
                runs.append(named | {"right": learn(divided, optimizer, rate, steps, seed)})
    return runs


EXPERIMENT = Experiment(
    page="ch04_attention",
    asks="does Adam learn without the division by the root of d_k?",
    short={"steps": 600, "seeds": 3},
    long={"steps": (300, 600, 6000), "seeds": 6},
    initialisation="queries and keys with components of variance 1",
    measure=measure,
)
