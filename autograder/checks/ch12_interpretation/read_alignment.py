"""Alignments read from cross-attention."""

import math

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.probes import arguments_after, device_kept
from solutions.ch12_interpretation import read_alignment

APART = 0.02  # so far is the largest mean weight above the next one


@drawn
def crossing(
    rng,
    lengths,
    heads,
    tgt_len,
    src_len=None,
    masked=True,
    padded_left=False,
    dtype=torch.float64,
    scale=2.0,
):
    """Draw the weights of a cross-attention and the mask of its sources; no two words have nearly
    the same mean.

    Args:
        lengths: words of each source.
        src_len: of the longest, if that is not the largest length.
        masked: whether padding has a weight of 0, as a right mask makes it; otherwise it has more
            than any word.
        padded_left: whether padding comes before the words.
    """
    src_len = src_len or max(lengths)
    place = torch.arange(src_len)
    if padded_left:
        place = place.flip(0)
    src_mask = place < torch.tensor(lengths)[:, None]
    hidden = ~src_mask[:, None, None]
    shape = len(lengths), heads, tgt_len, src_len
    scores = normal(rng, *shape, scale=scale, dtype=torch.float64)
    while True:
        given = scores.masked_fill(hidden, -math.inf) if masked else scores + 4.0 * hidden
        weights = given.softmax(-1)
        best = weights.mean(1).masked_fill(~src_mask[:, None], -1).topk(min(2, src_len)).values
        close = best[..., 0] - best[..., -1] < APART
        if src_len == 1 or not close.any():
            return {"weights": weights.to(dtype), "src_mask": src_mask}
        again = normal(rng, *shape, scale=scale, dtype=torch.float64)
        scores = torch.where(close[:, None, :, None], again, scores)  # the other rows may stay


@drawn
def of_nothing(rng, heads, tgt_len):
    """Draw sentences of one word, at any place, that has no weight at all."""
    batch, src_len = 3, 4
    word = torch.from_numpy(rng.integers(1, src_len, batch))
    src_mask = torch.arange(src_len) == word[:, None]
    scores = normal(rng, batch, heads, tgt_len, src_len, dtype=torch.float64)
    weights = scores.masked_fill(src_mask[:, None, None], -math.inf).softmax(-1)
    return {"weights": weights, "src_mask": src_mask}


def without_padding(mean, src_mask):
    return mean.masked_fill(~src_mask[:, None], -math.inf)


def alignment_with(
    fused=lambda weights: weights.mean(dim=1),
    hidden=without_padding,
    rows=lambda table: table,
    chosen=lambda table: table.argmax(dim=-1),
):
    """Make an alignment from its rules."""

    def read_alignment(weights, src_mask):
        return chosen(rows(hidden(fused(weights), src_mask)))

    return read_alignment


checks = Checks(read_alignment, family=alignment_with)
shown, hidden, wrong, right = checks.words

shown("one sentence, two heads", crossing([4], 2, 3), weight=3)
shown("two sentences of one length, three heads", crossing([5, 5], 3, 4), weight=2)
shown("sentences of different length, padding has no weight", crossing([3, 5], 2, 4))
shown(
    "padding is never the answer, whatever its weight",
    crossing([2, 4], 2, 3, masked=False),
    weight=2,
)
shown(
    "padding that comes before the words",
    crossing([3, 6, 2], 2, 4, masked=False, padded_left=True),
)
shown("the arguments stay as they were", crossing([2, 4], 2, 3), probe=arguments_after)
hidden("many heads", crossing([6, 6, 6], 8, 5), weight=3)
hidden("sources that a single head reads", crossing([5, 5], 1, 6), weight=2)
hidden("a long target", crossing([7], 2, 15), weight=2)
hidden("a single row", crossing([4, 4], 3, 1), weight=2)
hidden("a source of one word", crossing([1, 1], 2, 3))
hidden("three lengths, padding has no weight", crossing([2, 6, 4], 2, 5))
hidden(
    "padding with more weight than the words",
    crossing([3, 5, 2], 3, 4, masked=False),
    weight=2,
)
hidden("a word without any weight beside padding", of_nothing(2, 3))
hidden("weights in float32", crossing([3, 5], 2, 4, dtype=torch.float32))
hidden("the result lies where the weights lie", crossing([3, 5], 2, 4), probe=device_kept)


wrong(
    "the decoder is one word ahead",
    """Your rows come one too early or too late. The statement wants row `t` of the weights to be
    row `t` of the result.""",
    rows=lambda table: torch.cat([table[:, 1:], table[:, -1:]], dim=1),
)


wrong(
    "the decoder is one word behind",
    "Row 0 of your result belongs to no row of the weights. Is there a shift in your code?",
    rows=lambda table: torch.cat([table[:, :1], table[:, :-1]], dim=1),
)


wrong(
    "a shift leaves one row less",
    "How many rows does the result have, and how many do the weights?",
    rows=lambda table: table[:, 1:],
)


wrong(
    "padding has no weight anyway",
    """Right where padding has a weight of 0. But the statement says that padding is never the
    answer. What is `src_mask` for?""",
    hidden=lambda mean, src_mask: mean,
)


wrong(
    "padding of weight 0 cannot win",
    """You give padding a weight of 0. What if the only word of a sentence has that weight, too?
    Which of equal numbers wins then?""",
    hidden=lambda mean, src_mask: mean * src_mask[:, None],
)


wrong(
    "True marks padding",
    "You align to padding, and to nothing else where there is some. What does True mean here?",
    hidden=lambda mean, src_mask: mean.masked_fill(src_mask[:, None], -math.inf),
)


wrong(
    "padding comes at the end",
    """Right where padding comes after the words. You keep the first places, as many as there are
    words. Which places does `src_mask` name?""",
    hidden=lambda mean, src_mask: mean.masked_fill(
        torch.arange(src_mask.shape[1], device=mean.device) >= src_mask.sum(-1)[:, None, None],
        -math.inf,
    ),
)


wrong(
    "the first head will do",
    "Right for one head. The others have weights, too. How does the statement combine them?",
    fused=lambda weights: weights[:, 0],
)


wrong(
    "the last head will do",
    "Right for one head. How are the heads put together before the largest weight is looked for?",
    fused=lambda weights: weights[:, -1],
)


wrong(
    "the surest head decides",
    "You take the largest weight of any head. Which value of the heads does the statement compare?",
    fused=lambda weights: weights.amax(dim=1),
)


wrong(
    "heads multiply",
    """You multiply what the heads say, so that one that says 0 rules a word out. Which value of the
    heads does the statement compare?""",
    fused=lambda weights: weights.clamp(min=1e-12).log().mean(dim=1),
)


@wrong(
    "places are counted among the words",
    """Right where the words come first. You look at the words alone: which place does a word have
    in the whole source?""",
)
def among_the_words(weights, src_mask):
    mean = weights.mean(1)
    rows = [each[:, words].argmax(-1) for each, words in zip(mean, src_mask, strict=True)]
    return torch.stack(rows)


@wrong(
    "heads vote",
    """You let each head choose a word, and then count. A head that is nearly undecided counts as
    much as one that is sure. What does the statement do first?""",
)
def by_vote(weights, src_mask):
    votes = weights.masked_fill(~src_mask[:, None, None], -math.inf).argmax(-1)
    counts = torch.nn.functional.one_hot(votes, weights.shape[-1]).sum(1)
    return counts.argmax(-1)


wrong(
    "each source word has a target word",
    """You look for the largest weight of each column. Which of the two languages does a row of the
    weights belong to?""",
    chosen=lambda table: table.argmax(dim=-2),
)


wrong(
    "the weakest word is meant",
    "You return the words with the least attention. Which ones translate which?",
    hidden=lambda mean, src_mask: -mean.masked_fill(~src_mask[:, None], math.inf),
)


wrong(
    "positions count from 1",
    "All of your answers are one too large. From which number do positions count?",
    then=lambda alignment: alignment + 1,
)


wrong(
    "a weight is as good as a place",
    "You return weights. The statement asks where the largest one is.",
    chosen=lambda table: table.amax(dim=-1),
)


wrong(
    "each head has an alignment of its own",
    "Count the axes of your result. Which one should have gone before you looked for the largest?",
    fused=lambda weights: weights,
    hidden=lambda mean, src_mask: mean.masked_fill(~src_mask[:, None, None], -math.inf),
)


wrong(
    "the caller's mask may be flipped",
    """The answer is right, but compare the mask before and after the call. Which operation of yours
    writes into it? In PyTorch their names end in an underscore.""",
    src_mask=lambda src_mask: ~src_mask.logical_not_(),
)


@right
def by_loops(weights, src_mask):
    alignment = src_mask.new_zeros(weights.shape[0], weights.shape[2], dtype=torch.int64)
    for b, sentence in enumerate(weights):
        words = src_mask[b].nonzero().flatten()
        for t in range(weights.shape[2]):
            scores = sum(head[t, words] for head in sentence)
            alignment[b, t] = words[scores.argmax()]
    return alignment


@right
def by_sorting(weights, src_mask):
    mean = torch.einsum("bhts->bts", weights) / weights.shape[1]
    mean = torch.where(src_mask.unsqueeze(1), mean, torch.full_like(mean, -1.0))
    return mean.sort(dim=-1, descending=True).indices[..., 0]


@right
def by_maximum(weights, src_mask):
    lowest = torch.finfo(weights.dtype).min
    _, places = torch.max(weights.mean(1).masked_fill(~src_mask[:, None, :], lowest), dim=2)
    return places
