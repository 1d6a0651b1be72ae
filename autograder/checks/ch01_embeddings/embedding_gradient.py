"""The gradient of a table of embeddings."""

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch01_embeddings import different_numbers, thirds
from autograder.checks.ch01_embeddings.embed import (
    ids_of_the_upper_half,
    ids_of_words,
    ids_with_padding,
)
from autograder.shared.probes import arguments_after
from solutions import ch01_embeddings as reference


@drawn
def ids_and_gradient(
    rng,
    *shape,
    vocab_size,
    d_model,
    ids_of=ids_of_words,
    numbers_of=different_numbers,
    **dtype,
):
    return {
        "token_ids": ids_of(rng, *shape, vocab_size=vocab_size),
        "grad_output": numbers_of(rng, *shape, d_model, **dtype),
        "vocab_size": vocab_size,
    }


def different_ids(rng, *shape, vocab_size):
    """Draw ids without repetition, neither 0 nor the largest one."""
    return (1 + rng.permutation(vocab_size - 2))[: shape[0]]


def one_id_only(rng, *shape, vocab_size):
    return np.full(shape, rng.integers(1, vocab_size - 1))


def thousands(rng, *shape):
    return 1000 * different_numbers(rng, *shape)


def nothing_looked_up(rng):
    vocab_size, d_model = rng.integers(2, 6, size=2).tolist()
    return ids_and_gradient(rng, 0, vocab_size=vocab_size, d_model=d_model)


def gradient_with(add=np.add.at):
    """Make an `embedding_gradient` from how it adds to a table of zeros."""

    def embedding_gradient(token_ids, grad_output, vocab_size):
        gradient = np.zeros((vocab_size, grad_output.shape[-1]), dtype=grad_output.dtype)
        add(gradient, token_ids, grad_output)
        return gradient

    return embedding_gradient


checks = Checks(
    reference.embedding_gradient, shortcuts="embedding_dense_backward", family=gradient_with
)
shown, hidden, wrong, right = checks.words

shown(
    "rows that were not looked up get 0",
    ids_and_gradient(3, vocab_size=5, d_model=2, ids_of=different_ids),
    weight=2,
)
shown(
    "an id that occurs twice gets both contributions",
    ids_and_gradient(3, vocab_size=4, d_model=2),
    weight=3,
)
shown(
    "two sentences at once, with <pad> like any other word",
    ids_and_gradient(2, 3, vocab_size=5, d_model=2, ids_of=ids_with_padding),
)
shown("nothing looked up, nothing to learn: all rows are 0", nothing_looked_up)
shown("float32 in, float32 out", ids_and_gradient(3, vocab_size=4, d_model=2, dtype=np.float32))
shown(
    "ids and grad_output stay as they were",
    ids_and_gradient(2, 3, vocab_size=5, d_model=1),
    probe=arguments_after,
)
hidden("ids with three axes", ids_and_gradient(2, 3, 4, vocab_size=6, d_model=5), weight=2)
hidden(
    "one word said again and again, with large gradients",
    ids_and_gradient(7, vocab_size=4, d_model=3, ids_of=one_id_only, numbers_of=thousands),
)
hidden("a table with as many rows as columns", ids_and_gradient(6, vocab_size=4, d_model=4))
hidden("a single id without axes", ids_and_gradient(vocab_size=5, d_model=3))
hidden("float16 in, float16 out", ids_and_gradient(2, 3, vocab_size=4, d_model=3, dtype=np.float16))
hidden("axes of length 1 stay", ids_and_gradient(1, 3, vocab_size=5, d_model=1))
hidden(
    "ids with four axes, <pad> among them",
    ids_and_gradient(2, 1, 2, 3, vocab_size=5, d_model=2, ids_of=ids_with_padding),
)
hidden(
    "a table of hundreds of rows",
    ids_and_gradient(6, vocab_size=600, d_model=3, ids_of=ids_of_the_upper_half),
    weight=2,
)
hidden(
    "the gradient has all the digits of grad_output",
    ids_and_gradient(3, vocab_size=4, d_model=2, numbers_of=thirds),
)


@wrong(
    "indexing with an array and += (or =) takes each repetition of an id into account",
    """An id that occurs more than once has kept only its last contribution. Run the small
    experiment from the exercise's hint: how much does it add?""",
    rule="add",
)
def losing_repetitions(gradient, token_ids, grad_output):
    gradient[token_ids] += grad_output


@wrong(
    "an id counts where it occurs first",
    """An id that occurs more than once has kept only its first contribution. What happens to the
    others?""",
    rule="add",
)
def of_first_occurrences(gradient, token_ids, grad_output):
    ids, places = np.unique(token_ids, return_index=True)
    gradient[ids] = grad_output.reshape(-1, grad_output.shape[-1])[places]


@wrong(
    "repeated ids are averaged",
    """A row that was looked up several times affects the loss several times. Should its
    contributions be added up or averaged?""",
    rule="add",
)
def averaging(gradient, token_ids, grad_output):
    np.add.at(gradient, token_ids, grad_output)
    gradient /= np.bincount(token_ids.ravel(), minlength=len(gradient)).clip(1)[:, np.newaxis]


@wrong(
    "the gradient is a mean over the tokens",
    """All your numbers are too small by the same factor, the number of tokens. Is anything divided
    in the sum whose gradient you compute?""",
    rule="add",
)
def averaging_over_tokens(gradient, token_ids, grad_output):
    np.add.at(gradient, token_ids, grad_output)
    gradient /= token_ids.size


checks.usual(
    "in float64",
    hint="""Somewhere your numbers become float64. Print the dtype of each array that your function
    makes: which is the first one that differs from grad_output's?""",
)


checks.usual("through float32")


wrong(
    "an axis of length 1 is none",
    """The gradient has the shape of the table, which always has two axes, even when one of them has
    length 1. How many axes does your result have?""",
    then=np.squeeze,
)


@wrong(
    "the table ends with the largest id that occurs",
    """The gradient has the shape of the table. How many rows does the table have, including those
    that no id looked up?""",
)
def up_to_the_largest_id(token_ids, grad_output, vocab_size):
    return reference.embedding_gradient(token_ids, grad_output, token_ids.max(initial=-1) + 1)


@wrong(
    "only repetitions between sentences need care",
    """How many axes may the ids have? Look at what your loop handles in one step: is it a single
    id, or a whole sentence, which may repeat a word?""",
    rule="add",
)
def row_by_row(gradient, token_ids, grad_output):
    for token, grad in zip(token_ids, grad_output, strict=True):
        gradient[token] += grad


@wrong(
    ".T turns a batch of one-hot vectors the right way round",
    """What does .T do to an array with three axes, or with only one? Which axes should your product
    sum over?""",
)
def with_all_axes_reversed(token_ids, grad_output, vocab_size):
    return reference.one_hot(token_ids, vocab_size).astype(grad_output.dtype).T @ grad_output


wrong(
    "the gradient counts the words",
    "Your numbers only say how often each word occurs. Where do you use grad_output?",
    grad_output=np.ones_like,
)


@wrong(
    "<pad> learns nothing",
    """Only row 0 is wrong. Does the sum whose gradient you compute treat the id 0 differently from
    the others?""",
    rule="add",
)
def without_padding(gradient, token_ids, grad_output):
    np.add.at(gradient, token_ids, grad_output)
    gradient[0] = 0


checks.usual(
    "transposed",
    belief="rows are features",
    hint="""Your rows and columns are swapped. A gradient has the same axes as the table that it
    belongs to, in the same order.""",
)


wrong(
    "the gradient passes through unchanged",
    """You return the gradient with respect to the vectors that were looked up. The exercise asks
    for the one with respect to the table: how many rows does that have?""",
)(lambda token_ids, grad_output, vocab_size: grad_output.copy())


checks.usual(
    "negated",
    belief="the gradient points downhill",
    hint="""The sizes are right, but the sign is not. Gradient descent has a minus: does it belong
    to the gradient, or to the update of the table?""",
)


checks.usual(
    "reshapes its arguments",
    hint="""Compare both arrays, with their shapes, before and after the call. Which line of yours
    changes one of them instead of making a new array?""",
)


@right
def by_one_hot(token_ids, grad_output, vocab_size):
    rows = reference.one_hot(token_ids.ravel(), vocab_size).astype(grad_output.dtype)
    return rows.T @ grad_output.reshape(-1, grad_output.shape[-1])


@right
@gradient_with
def by_loops(gradient, token_ids, grad_output):
    for index in np.ndindex(*token_ids.shape):
        gradient[token_ids[index]] += grad_output[index]


@right
def by_masks(token_ids, grad_output, vocab_size):
    return np.stack([grad_output[token_ids == token].sum(axis=0) for token in range(vocab_size)])


@right
@gradient_with
def by_counting_with_weights(gradient, token_ids, grad_output):
    for feature, column in enumerate(gradient.T):
        weights = grad_output[..., feature].ravel()
        column[:] = np.bincount(token_ids.ravel(), weights, minlength=len(column))


@right
@with_tensors
def by_autograd(token_ids, grad_output, vocab_size):
    table = grad_output.new_zeros(vocab_size, grad_output.shape[-1]).requires_grad_()
    (table[token_ids] * grad_output).sum().backward()
    return table.grad
