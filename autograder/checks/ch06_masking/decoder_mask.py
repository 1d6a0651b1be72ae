"""Which keys a decoder may see: words, and none of them later."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.checks.ch06_masking import padding_anywhere, padding_first, sentences, short_ids
from autograder.checks.ch06_masking.causal_mask import past_alone
from autograder.shared.laws import hides_padding, looks_back_only
from autograder.shared.probes import arguments_after, device_kept, returned_for_views
from solutions.ch06_masking import causal_mask, decoder_mask, padding_mask


def decoder_with(combine=torch.logical_and, causal=causal_mask, padding=padding_mask):
    """Make a `decoder_mask` from two masks and how it combines them."""

    def both(token_ids, pad_id=0):
        return combine(padding(token_ids, pad_id), causal(token_ids.shape[1], token_ids.device))

    return both


checks = Checks(
    decoder_mask,
    family=decoder_with,
    laws=(looks_back_only, hides_padding),
    shortcuts="generate_square_subsequent_mask",
)
shown, hidden, wrong, right = checks.words

shown("words, and none of them later", sentences([3, 2], 3), weight=2)
shown("as many sentences as positions", sentences([4, 3, 2, 1], 4), weight=2)
shown("padding may have any id", sentences([4, 2], 4, pad_id=20))
shown("padding in front leaves some queries nothing to attend to", padding_first([3, 2], 4))
shown('the mask is on the device of the ids, here "meta"', sentences([3, 2], 3), probe=device_kept)
shown("the token ids stay as they were", sentences([3, 2], 3), probe=arguments_after)
hidden("a larger batch", sentences([7, 2, 5, 4, 6], 7), weight=2)
hidden("another id of padding", sentences([5, 3, 2], 5, pad_id=3))
hidden("padding between words", padding_anywhere, weight=2)
hidden("a sentence of nothing but padding", sentences([5, 0, 2], 5))
hidden("token ids of 32 bits", short_ids)
hidden("ids that are not contiguous in memory", sentences([4, 2, 3], 4), probe=returned_for_views)
hidden("the device of the ids, again", sentences([4, 1, 3], 4), probe=device_kept)


wrong(
    "either permission is enough",
    """A key needs both permissions: to be a word, and not to lie in the future. How did you join
    them?""",
    combine=torch.logical_or,
)


wrong(
    "and joins what it stands between",
    """Python's `and` asks whether a whole tensor is true. Which operator joins booleans entry by
    entry?""",
    combine=lambda words, past: words and past,
)


wrong(
    "in a decoder only the future matters",
    "The future is masked, but may padding be attended to?",
    combine=lambda words, past: past.expand(len(words), -1, -1, -1),
)


wrong(
    "in a decoder only padding matters",
    "Padding is masked. But what about the words that a query has yet to predict?",
    combine=lambda words, past: words.expand(-1, -1, words.shape[-1], -1),
)


wrong(
    "the queries are masked",
    """Your mask empties the rows of padding and leaves its columns open. Which of the two are the
    keys?""",
    padding=lambda *given: padding_mask(*given).mT,
)


wrong(
    "padding must not attend either",
    """You emptied the rows of padding, too. The rule is only about keys: what may a query attend to
    if it is padding itself?""",
    combine=lambda words, past: words & words.mT & past,
)


wrong(
    "every position may see itself",
    """Look at the diagonal where a position is padding. May anything attend to this position, even
    the position itself?""",
    combine=lambda words, past: words & past | past & past.mT,
)


checks.usual(
    "inverted",
    belief="True marks what is masked",
    hint="Your mask is upside down: True means that a query may attend to a key.",
)


wrong(
    "the triangle's rows are keys",
    """Is your triangle the other way round? Read the first row: what may the first query attend
    to?""",
    causal=lambda *given: causal_mask(*given).mT,
)


wrong(
    "a position must not see itself",
    """What is left for the first query to attend to? The word at a position is not the word that
    this position predicts.""",
    causal=past_alone,
)


wrong(
    "padding always has the id 0",
    "Follow `pad_id` through your function: where does it go?",
    pad_id=0,
)


wrong(
    "masks live on the CPU",
    "Two masks can only be combined on one device. On which was each of yours made?",
    causal=lambda seq_len, device: causal_mask(seq_len),
)


wrong(
    "one sentence speaks for the batch",
    "Each sentence has padding of its own. How long is the first axis of your result?",
    token_ids=lambda token_ids: token_ids[:1],
)


wrong(
    "heads need no axis",
    "The scores have four axes. Which one is your mask missing?",
    then=lambda mask: mask[:, 0],
)


checks.usual("added to the scores")


@right
def by_tril(token_ids, pad_id=0):
    seq_len = token_ids.shape[1]
    return (token_ids != pad_id)[:, None, None, :].expand(-1, 1, seq_len, -1).tril()


right(decoder_with(torch.mul))


@right
def by_loops(token_ids, pad_id=0):
    batch, seq_len = token_ids.shape
    mask = torch.zeros(batch, 1, seq_len, seq_len, dtype=torch.bool, device=token_ids.device)
    for row, query in np.ndindex(batch, seq_len):
        mask[row, 0, query, : query + 1] = token_ids[row, : query + 1] != pad_id
    return mask


@right
def by_exclusion(token_ids, pad_id=0):
    position = torch.arange(token_ids.shape[-1], device=token_ids.device)
    barred = (token_ids == pad_id)[:, None, None] | (position > position[:, None])
    return barred.logical_not()
