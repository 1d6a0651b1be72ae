"""Vocabularies, one-hot vectors and embeddings as others write them."""

import numpy as np

from tests.strangers import keeps


def require_within(token_ids, vocab_size):
    if np.any(token_ids < 0) or np.any(token_ids >= vocab_size):
        raise ValueError("token id out of range")


@keeps(0.9, "its ones are integers", most=0.99, of="one_hot")
def integer_rows(token_ids, vocab_size):
    require_within(token_ids, vocab_size)
    return np.eye(vocab_size, dtype=int)[token_ids]


@keeps(0.9, "its ones are float32", most=0.99, of="one_hot")
def float32_rows(token_ids, vocab_size):
    require_within(token_ids, vocab_size)
    return np.eye(vocab_size, dtype=np.float32)[token_ids]


@keeps(0.5, "ids come in one row", most=0.8, of="one_hot")
def row_by_row(token_ids, vocab_size):
    require_within(token_ids, vocab_size)
    rows = np.zeros((len(token_ids), vocab_size))
    for place, token in enumerate(token_ids):
        rows[place, token] = 1.0
    return rows


@keeps(0.4, "nothing is refused, and integers come out", most=0.7, of="one_hot")
def without_a_refusal(token_ids, vocab_size):
    return np.eye(vocab_size, dtype=int)[token_ids]


@keeps(0.5, "ids come in one row", most=0.8, of="embed")
def one_sentence(token_ids, table):
    vectors = np.zeros((len(token_ids), table.shape[1]), dtype=table.dtype)
    for place in range(len(token_ids)):
        vectors[place] = table[int(token_ids[place])]
    return vectors


@keeps(0.9, "the product with float64 rows widens the table", most=0.99, of="embed")
def by_product(token_ids, table):
    return np.eye(len(table))[token_ids] @ table


@keeps(0.5, "ids come in one row", most=0.8, of="embedding_gradient")
def over_one_sentence(token_ids, grad_output, vocab_size):
    gradient = np.zeros((vocab_size, grad_output.shape[1]), dtype=grad_output.dtype)
    for place in range(len(token_ids)):
        gradient[int(token_ids[place])] += grad_output[place]
    return gradient


@keeps(0.9, "the sums are float64", most=0.99, of="embedding_gradient")
def into_float64(token_ids, grad_output, vocab_size):
    gradient = np.zeros((vocab_size, grad_output.shape[-1]))
    flat = grad_output.reshape(-1, grad_output.shape[-1])
    for token, row in zip(np.ravel(token_ids), flat, strict=True):
        gradient[token] += row
    return gradient
