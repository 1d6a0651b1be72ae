"""Checks of `ch06_masking`.

Nothing here asks for more digits than float32 has, because the contract leaves them open: code that
computes half precision in float32 and casts the result back is right in every dtype that it names.
"""

import torch

from autograder.authoring import draw
from autograder.authoring.drawn import drawn


@drawn
def sentences(rng, lengths, seq_len, pad_id=None):
    """Draw padded sentences of these lengths, in any order; with another `pad_id`, the id 0 is a
    word.
    """
    token_ids = draw.padded(rng, rng.permutation(lengths).tolist(), seq_len, pad_id=pad_id or 0)
    if pad_id is None:
        return {"token_ids": token_ids}
    token_ids[:, 0] = torch.where(token_ids[:, 0] == pad_id, token_ids[:, 0], 0)
    return {"token_ids": token_ids, "pad_id": pad_id}


@drawn
def padding_first(rng, lengths, seq_len):
    """Draw sentences whose padding comes before the words."""
    return {"token_ids": sentences(rng, lengths, seq_len)["token_ids"].flip(1)}


def padding_anywhere(rng):
    """Draw sentences with padding in their middle, words at both ends of one, and one word at least
    in each.
    """
    token_ids = draw.words(rng, 3, 6).masked_fill(torch.from_numpy(rng.random((3, 6)) < 0.4), 0)
    token_ids[0, [0, 5]], token_ids[0, 2:4] = 7, 0
    token_ids[1, 0], token_ids[1, 1] = 0, 5
    token_ids[2, 3] = 8
    return {"token_ids": token_ids}


def short_ids(rng):
    return {"token_ids": sentences(rng, [4, 2, 1], 5)["token_ids"].int()}
