"""Which keys are words, and not padding."""

import torch

from autograder.authoring.checks import Checks
from autograder.checks.ch06_masking import padding_anywhere, padding_first, sentences, short_ids
from autograder.shared.laws import hides_padding
from autograder.shared.probes import arguments_after, device_kept, returned_for_views
from solutions.ch06_masking import padding_mask

checks = Checks(padding_mask, laws=(hides_padding,))
shown, hidden, wrong, right = checks.words

shown("a word may be attended to, padding may not", sentences([3, 1], 3), weight=2)
shown("padding may have any id, and 0 may be a word", sentences([3, 2], 4, pad_id=20), weight=2)
shown("as many sentences as positions", sentences([4, 3, 2, 1], 4))
shown("padding may come in front", padding_first([4, 2, 1], 4))
shown('the mask is on the device of the ids, here "meta"', sentences([3, 1], 3), probe=device_kept)
shown("the token ids stay as they were", sentences([3, 1], 3), probe=arguments_after)
hidden("a larger batch", sentences([9, 1, 4, 6, 2], 9), weight=2)
hidden("another id of padding", sentences([6, 2, 3], 6, pad_id=3), weight=2)
hidden("padding between words", padding_anywhere)
hidden("a sentence of nothing but padding", sentences([5, 0, 2], 5))
hidden("token ids of 32 bits", short_ids)
hidden("ids that are not contiguous in memory", sentences([5, 3, 1], 5), probe=returned_for_views)
hidden("a batch of token ids stays as it was", sentences([4, 2, 3], 5), probe=arguments_after)


checks.usual(
    "inverted",
    belief="True marks what is masked",
    hint="Your mask is upside down. What does True mean here, for a word and for padding?",
)


wrong(
    "padding always has the id 0",
    """Which id means padding? Look at the second parameter, and at what 0 means when padding has
    another id.""",
    pad_id=0,
)


@wrong(
    "words have larger ids than padding",
    "Are the ids of all words larger than that of padding? The id of padding can be any number.",
)
def above(token_ids, pad_id=0):
    return (token_ids > pad_id)[:, None, None, :]


@wrong(
    "a mask is made on the CPU",
    """You make a new tensor, and PyTorch makes it on the default device. Which argument tells where
    the mask has to be?""",
)
def on_the_default_device(token_ids, pad_id=0):
    mask = torch.ones(len(token_ids), 1, 1, token_ids.shape[1], dtype=torch.bool)
    for row, column in zip(*torch.where(token_ids == pad_id), strict=True):
        mask[int(row), 0, 0, int(column)] = False
    return mask


wrong(
    "a mask has the shape of the ids",
    """This mask has to meet scores of shape (batch, heads, query_len, key_len). Which of these axes
    does yours have, and where do the missing ones belong?""",
    then=lambda mask: mask[:, 0, 0],
)


wrong(
    "one axis for all heads and queries is enough",
    """Count the axes of the scores from the right: which one would the batch of your mask meet?""",
    then=lambda mask: mask[:, 0],
)


checks.usual(
    "transposed",
    belief="the queries are masked",
    hint="""Rows are queries, columns are keys. Padding does harm where others look at it: is that
    in a row or in a column?""",
)


wrong(
    "every query needs a copy",
    """The mask is the same for every query. What does an axis of length 1 do when it meets a longer
    one?""",
    then=lambda mask: mask.repeat(1, 1, mask.shape[-1], 1),
)


checks.usual("added to the scores")


checks.usual("as numbers")


@wrong(
    "the words of a sentence come first",
    """Does your mask say how many words there are, or where they are? Padding may come before
    words, too.""",
)
def by_length(token_ids, pad_id=0):
    lengths = (token_ids != pad_id).sum(dim=1)
    place = torch.arange(token_ids.shape[1], device=token_ids.device)
    return (place < lengths[:, None])[:, None, None]


wrong(
    "after padding there are no words",
    """What does your mask say about everything after the first padding? Padding may come before
    words, too.""",
    then=lambda mask: mask.cumprod(dim=-1).bool(),
)


wrong(
    "one sentence speaks for the batch",
    "Each sentence has padding of its own. How long is the first axis of your result?",
    token_ids=lambda token_ids: token_ids[:1],
)


checks.usual(
    "changes its argument",
    belief="the caller's ids are free to be worked in",
    hint="""Compare `token_ids` before and after the call. A method whose name ends in an underscore
    changes the tensor that it is called on.""",
)


@right
def negated(token_ids, pad_id=0):
    return token_ids.eq(pad_id).logical_not().reshape(len(token_ids), 1, 1, -1)


@right
def by_loops(token_ids, pad_id=0):
    rows = [[[[word != pad_id for word in sentence]]] for sentence in token_ids.tolist()]
    return torch.tensor(rows, device=token_ids.device)


@right
def by_where(token_ids, pad_id=0):
    return torch.where(token_ids == pad_id, 0, 1).bool()[:, None, None]
