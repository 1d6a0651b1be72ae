"""Token ids as rows with a single 1."""

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch01_embeddings import shuffled
from autograder.shared.laws import sums_to_one
from autograder.shared.probes import arguments_after
from solutions import ch01_embeddings as reference


@drawn
def ids_within(rng, low, high, ids_of):
    """Draw a size of the vocabulary, from `low` up to `high`, which is left out, and ids for it."""
    vocab_size = int(rng.integers(low, high))
    return {"token_ids": np.array(ids_of(rng, vocab_size)), "vocab_size": vocab_size}


def ids_of_shape(*shape):
    return ids_within(7, 16, lambda rng, size: rng.integers(size, size=shape))


def as_many_ids_as_entries(rng):
    """Draw ids that lead once around: read as columns instead of rows, they lead the other way."""
    around = rng.permutation(rng.integers(3, 8))
    return {"token_ids": np.roll(around, 1)[around.argsort()], "vocab_size": len(around)}


@drawn
def with_one_outside(rng, *shape, outside):
    """Ask for valid ids with one that is not; among several it is neither the first nor the
    last.
    """
    asked = ids_of_shape(*shape)(rng)
    ids, number = asked["token_ids"], outside(rng, asked["vocab_size"])
    ids.flat[rng.integers(1, ids.size - 1) if ids.size > 1 else 0] = number
    return asked


def just_too_large(rng, vocab_size):
    return vocab_size


def negative(rng, vocab_size):
    return -rng.integers(1, vocab_size + 1)


def compared(token_ids, vocab_size):
    return (token_ids[..., np.newaxis] == np.arange(vocab_size)).astype(np.float64)


def one_hot_with(rows=compared, lowest=0, beyond=0, refused=np.any):
    """Make a `one_hot` that accepts ids from `lowest` up to `vocab_size + beyond`, left out, and
    decides by a rule which ids outside are refused, and by another one how rows are made.
    """

    def one_hot(token_ids, vocab_size):
        outside = (token_ids < lowest) | (token_ids >= vocab_size + beyond)
        if refused(outside):
            raise ValueError("token id out of range")
        return rows(token_ids, vocab_size)

    return one_hot


checks = Checks(
    reference.one_hot,
    laws=(sums_to_one,),
    shortcuts="one_hot OneHotEncoder label_binarize get_dummies",
    family=one_hot_with,
)
shown, hidden, wrong, right = checks.words

shown(
    "each id becomes a row with a single 1",
    ids_within(4, 12, lambda rng, size: shuffled(rng, [0, size - 1, rng.integers(1, size - 1)])),
    weight=2,
)
shown(
    "a row has vocab_size numbers, also if the last ids do not occur",
    ids_within(6, 9, lambda rng, size: rng.permutation([0, *rng.integers(size - 2, size=2)])),
)
shown("two sentences at once keep their shape", ids_of_shape(2, 3))
shown("no ids give no rows, each still of vocab_size numbers", ids_of_shape(0))
shown("an id equal to vocab_size is refused", with_one_outside(3, outside=just_too_large))
shown("a negative id is refused", with_one_outside(3, outside=negative))
shown("the ids stay as they were", ids_of_shape(2, 3), probe=arguments_after)
hidden("ids with three axes", ids_of_shape(2, 3, 4), weight=2)
hidden("as many ids as entries", as_many_ids_as_entries)
hidden("a single id without axes becomes a single row", ids_of_shape())
hidden(
    "one id far too large among many is refused",
    with_one_outside(3, 4, outside=lambda rng, size: size + rng.integers(1, 50)),
)
hidden("a single id without axes is refused too", with_one_outside(outside=just_too_large))
hidden("one negative id among many is refused", with_one_outside(3, 4, outside=negative))
hidden(
    "an id far below zero is refused",
    with_one_outside(3, outside=lambda rng, size: -size - rng.integers(1, 50)),
)
hidden("a single negative id without axes is refused", with_one_outside(outside=negative))
hidden("one id in a row gives one row", ids_of_shape(1))
hidden("an axis of length 1 stays", ids_of_shape(1, 3))
hidden("ids with four axes", ids_of_shape(2, 1, 2, 3))
hidden(
    "a vocabulary of hundreds of words",
    ids_within(
        300,
        400,
        lambda rng, size: shuffled(
            rng, [0, size - 1, rng.integers(128, 256), rng.integers(256, size)]
        ),
    ),
)


@wrong(
    "NumPy refuses what is out of range",
    """What does NumPy do with the index -1, and which kind of error does it raise for an index that
    is too large?""",
)
def by_indexing(token_ids, vocab_size):
    return np.eye(vocab_size)[token_ids]


@wrong(
    "an IndexError tells of every id that is out of range",
    """Which ids does NumPy complain about when they are used as indices? What does it do with an
    index of -1?""",
)
def catching_index_errors(token_ids, vocab_size):
    try:
        return by_indexing(token_ids, vocab_size)
    except IndexError:
        raise ValueError("token id out of range") from None


wrong(
    "ids are never negative",
    """The range has two ends. Which ids are outside at the lower end, and what does your function
    return for them?""",
    lowest=-np.inf,
)


wrong(
    "an id out of range is a row of zeros",
    """What does an id outside the range become in your result? A row without a 1 is no word at all,
    so such an id should not get that far.""",
)(compared)


wrong(
    "an id out of range is moved inside",
    """An id outside the range is a mistake made earlier. If you move it to the nearest entry, it
    becomes another word: who would notice?""",
)(lambda token_ids, vocab_size: compared(token_ids.clip(0, vocab_size - 1), vocab_size))


wrong(
    "vocab_size is a valid id",
    """What is the largest id of a vocabulary with vocab_size entries, if the first id is 0?""",
    beyond=1,
)


wrong(
    "0 is not an id",
    "Which token has the id 0, and does your condition let it through?",
    lowest=1,
)


wrong(
    "the last id is out of range",
    "What is the largest id of a vocabulary with vocab_size entries, if the first id is 0?",
    beyond=-1,
)


wrong(
    "an error is due only if all ids are wrong",
    """How many ids have to be outside the range before your function complains? One should be
    enough.""",
    refused=lambda outside: outside.size and outside.all(),
)


wrong(
    "there is a largest id",
    "An empty sentence is a sentence, too. What is the maximum of an array without numbers?",
    # of no ids at all it raises an error
    refused=np.max,
)


wrong(
    "the ids themselves tell the size of the vocabulary",
    """How long is a row, and where does that number come from: from the ids that happen to occur,
    or from vocab_size?""",
    rows=lambda token_ids, _: compared(token_ids, token_ids.max(initial=-1) + 1),
)


wrong(
    "ones and zeros are integers",
    """The ones are in the right places, but they are integers. The rows will be multiplied with a
    table of floats: which dtype does the docstring name?""",
    then=lambda rows: rows.astype(np.int64),
)


wrong(
    "True and False will do",
    """The ones are in the right places, but a comparison gives True and False. Which dtype does the
    docstring name?""",
    then=lambda rows: rows.astype(bool),
)


wrong(
    "float32 is precise enough for a 1",
    "The ones are in the right places. Which floating dtype does the docstring name?",
    then=lambda rows: rows.astype(np.float32),
)


wrong(
    "ids come in a single row",
    """How many axes do the ids have, and how many does your result have? There should be exactly
    one more, and the others should stay as they were.""",
    token_ids=np.ravel,
)


wrong(
    "an axis of length 1 is none",
    """An axis of length 1 is an axis, too. How many axes do the ids have, and how many does your
    result have?""",
    then=np.squeeze,
)


wrong(
    "the new axis comes first",
    """Your new axis is in the wrong place. Which axis should have length vocab_size, the first or
    the last?""",
    then=lambda rows: np.moveaxis(rows, -1, 0),
)


wrong(
    "ids start at 1",
    "Every 1 is one place away from where it should be. At which number do ids start?",
    then=lambda rows: np.roll(rows, -1, axis=-1),
)


checks.usual(
    "reshapes its arguments",
    belief="the caller's ids are free to be reshaped",
    hint="""Compare `token_ids`, with its shape, before and after the call. Which line of yours
    changes it instead of making a new array?""",
)


@wrong(
    "ids have one axis, and are compared with the vocabulary along a new one after it",
    """Your function is made for ids with one axis. Print the shape of `token_ids` here: where does
    your new axis end up, and where should it be for ids of any shape?""",
    rule="rows",
)
def of_one_axis(token_ids, vocab_size):
    return (token_ids[:, None] == np.arange(vocab_size)).astype(np.float64)


@wrong(
    "ids have one axis, and each has a row",
    """Your function is made for ids with one axis: what is `len` of two sentences, or of a single
    id?""",
    rule="rows",
)
def filled_row_by_row(token_ids, vocab_size):
    rows = np.zeros((len(token_ids), vocab_size))
    rows[np.arange(len(token_ids)), token_ids] = 1
    return rows


right(one_hot_with(by_indexing))


@right
def by_loops(token_ids, vocab_size):
    rows = np.zeros((*token_ids.shape, vocab_size))
    for index, token in np.ndenumerate(token_ids):
        if not 0 <= token < vocab_size:
            raise ValueError(token)
        rows[(*index, token)] = 1
    return rows


@right
@with_tensors
def by_torch(token_ids, vocab_size):
    import torch

    try:
        return torch.nn.functional.one_hot(token_ids, vocab_size).double()
    except RuntimeError as error:
        raise ValueError(str(error)) from error
