"""Token ids as rows of a table."""

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch01_embeddings import different_numbers, thirds
from autograder.shared.probes import arguments_after
from solutions import ch01_embeddings as reference


def ids_of_words(rng, *shape, vocab_size):
    """Draw ids other than 0, the id of <pad>; where there are three or more, the first three are
    one and twice another, in any order.
    """
    ids = rng.integers(1, vocab_size, size=shape)
    if ids.size >= 3:
        once, twice = 1 + rng.permutation(vocab_size - 1)[:2]
        ids.flat[:3] = once
        ids.flat[rng.permutation(3)[:2]] = twice
    return ids


def ids_with_padding(rng, *shape, vocab_size):
    """Draw ids of which the last in each row is 0."""
    ids = ids_of_words(rng, *shape, vocab_size=vocab_size)
    ids[..., -1] = 0
    return ids


def ids_of_the_upper_half(rng, *shape, vocab_size):
    return rng.integers(vocab_size // 2, vocab_size, size=shape)


@drawn
def ids_and_table(
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
        "table": numbers_of(rng, vocab_size, d_model, **dtype),
    }


checks = Checks(reference.embed, shortcuts="embedding Embedding embedding_bag EmbeddingBag")
shown, hidden, wrong, right = checks.words

shown("three ids pick three rows of the table", ids_and_table(3, vocab_size=3, d_model=2), weight=3)
shown(
    "two sentences at once keep their shape, with <pad> like any other word",
    ids_and_table(2, 3, vocab_size=5, d_model=4, ids_of=ids_with_padding),
)
shown("a table with as many rows as columns", ids_and_table(4, vocab_size=4, d_model=4), weight=2)
shown(
    "no ids give no vectors, each still of d_model numbers",
    ids_and_table(0, vocab_size=3, d_model=2),
)
shown(
    "a float32 table gives float32 vectors",
    ids_and_table(3, vocab_size=3, d_model=2, dtype=np.float32),
)
shown(
    "ids and table stay as they were",
    ids_and_table(2, 3, vocab_size=3, d_model=2),
    probe=arguments_after,
)
hidden("ids with three axes", ids_and_table(2, 3, 4, vocab_size=6, d_model=5), weight=2)
hidden("a single id without axes gives a single vector", ids_and_table(vocab_size=5, d_model=3))
hidden(
    "a table of hundreds of rows",
    ids_and_table(6, vocab_size=600, d_model=3, ids_of=ids_of_the_upper_half),
    weight=2,
)
hidden(
    "a float16 table gives float16 vectors",
    ids_and_table(2, 3, vocab_size=4, d_model=3, dtype=np.float16),
)
hidden("one id in a row gives one row", ids_and_table(1, vocab_size=4, d_model=3))
hidden("axes of length 1 stay", ids_and_table(1, 3, vocab_size=4, d_model=1))
hidden(
    "ids with four axes, <pad> among them",
    ids_and_table(2, 1, 2, 3, vocab_size=4, d_model=2, ids_of=ids_with_padding),
)
hidden("two sentences without words", ids_and_table(2, 0, vocab_size=4, d_model=3))
hidden(
    "the vectors have all the digits of the table",
    ids_and_table(3, vocab_size=4, d_model=2, numbers_of=thirds),
)


wrong(
    "ids come in a single row",
    """The ids have lost their shape on the way. The result should have all of their axes, with
    d_model as one more at the end.""",
    token_ids=np.ravel,
)


wrong(
    "there is a single id",
    "You have looked up only one token. What happened to the others?",
    token_ids=lambda ids: ids.flat[0],
)


wrong(
    "the first word takes the first row",
    "What decides which row a token gets: its position in the sentence, or its id?",
    token_ids=lambda ids: np.arange(ids.shape[-1]),
)


wrong(
    "words are the columns of the table",
    "Which axis of the table counts the words, and along which one do your ids index?",
)(lambda token_ids, table: table[:, token_ids])


wrong(
    "the table comes first",
    "In which order does the stub take its two arguments, and in which order does yours?",
)(lambda table, token_ids: table[token_ids])


wrong(
    "the table has to be transposed",
    """Which axis of the table counts the words? Print the shape of the table before and after what
    you do to it.""",
    table=np.transpose,
)


checks.usual(
    "in float64",
    belief="the product with one-hot vectors keeps the table's dtype",
    hint="""The dtype of the result is wider than that of the table. Which array or number of yours
    brings it in, and does a lookup need that at all?""",
)


checks.usual("through float32")


wrong(
    "an axis of length 1 is none",
    """An axis of length 1 is an axis, too. The result should have all axes of the ids, and d_model
    as one more. How many axes does yours have?""",
    then=np.squeeze,
)


wrong(
    "a sentence has a single vector",
    """Your result has one axis too few, because it averages over the words. How many vectors should
    a sentence of three tokens get?""",
    then=lambda vectors: vectors.mean(axis=-2),
)


@wrong(
    "<pad> has the vector zero",
    """Only the vectors of id 0 are wrong. Does the definition, one-hot times table, treat the id 0
    differently from the others?""",
    around=True,
)
def without_padding(right, token_ids, table):
    vectors = right(token_ids, table)
    vectors[token_ids == 0] = 0
    return vectors


@wrong(
    "the row of <pad> is cleared in the table",
    """The id 0 picks a row like any other id, and the table belongs to the caller. Compare row 0 of
    the table before and after the call.""",
)
def clearing_the_padding_row(token_ids, table):
    table[0] = 0
    return table[token_ids]


wrong(
    "ids start at 1",
    "Each token has got the row next to its own. Which row belongs to the id 0?",
    token_ids=lambda ids: ids - 1,
)


wrong(
    "embeddings are multiplied by sqrt(d_model)",
    """All numbers are too large by the same factor. The Transformer has such a factor, which comes
    in a later chapter. Does a plain lookup have one?""",
    then=lambda vectors: vectors * vectors.shape[-1] ** 0.5,
)


wrong(
    "each word is looked up once",
    """A word that occurs twice gets two vectors, and the order of the sentence stays. How many
    vectors should your result have?""",
    token_ids=np.unique,
)


@wrong(
    "a list of vectors is an array",
    """Your vectors are in a Python list. How can they become one array, however many axes the ids
    have?""",
)
def as_a_list(token_ids, table):
    return [table[token] for token in token_ids]


wrong(
    "there is always something to collect",
    """What does your function return for no ids at all, or for a single id without axes? There,
    too, the result should have the axes of the ids, and d_model as one more.""",
)(lambda token_ids, table: np.array(as_a_list(token_ids, table)))


@right
def by_take(token_ids, table):
    return np.take(table, token_ids, axis=0)


@right
def by_one_hot(token_ids, table):
    rows = reference.one_hot(token_ids, len(table)).astype(table.dtype)
    return np.einsum("...v,vd->...d", rows, table)


@right
def by_loops(token_ids, table):
    vectors = np.empty((*token_ids.shape, table.shape[1]), dtype=table.dtype)
    for index, token in np.ndenumerate(token_ids):
        vectors[index] = table[token]
    return vectors


@right
@with_tensors
def by_torch(token_ids, table):
    import torch

    return torch.nn.functional.embedding(token_ids, table)
