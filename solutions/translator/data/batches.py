"""Sentences of about one length together, so that a batch holds words and not padding.

A batch is as many pairs as fit into a number of tokens. Which pairs those are, and in which order
the batches come, depends on the seed and the epoch alone, so that a training that was interrupted
finds its place again.
"""

import math
import queue
import threading

import numpy as np
import torch
from torch.nn import functional

from solutions.translator.data.tokenizer import BOS, EOS, PAD


def padded(rows, round_to=1):
    """Put rows of different lengths into one tensor, padding after them.

    Args:
        rows: lists of int.
        round_to: the length is a multiple of it.

    Returns:
        (len(rows), longest) int64.
    """
    ids = np.full((len(rows), rounded_up(max(map(len, rows)), round_to)), PAD)
    for row, each in zip(ids, rows, strict=True):
        row[: len(each)] = each
    return torch.from_numpy(ids)


def rounded_up(length, round_to):
    """Return the smallest multiple of `round_to` that is not less than a length."""
    return math.ceil(length / round_to) * round_to


class Batches:
    """The batches of a corpus, epoch after epoch.

    Args:
        sources, targets: lists of int by sentence, without special ids.
        tokens: the most tokens on the longer side of a batch, padding counted.
        seed: decides the order.
        bucketed: put sentences of about one length together; False mixes them, for comparison.
        round_to: lengths are multiples of it; see `solutions.translator.model.ROUND_TO`.

    Raises:
        ValueError: where a pair alone is longer than a batch may be.
    """

    def __init__(self, sources, targets, tokens, seed=0, bucketed=True, round_to=1):
        self.sources = sources
        self.targets = [[BOS, *target, EOS] for target in targets]
        self.tokens, self.seed, self.bucketed, self.round_to = tokens, seed, bucketed, round_to
        both = zip(self.sources, self.targets, strict=True)
        self.lengths = np.array(
            [(len(source), len(target) - 1) for source, target in both]
        )  # (pairs, 2)
        if self.lengths.max() > tokens:
            raise ValueError(
                f"the longest sentence has {self.lengths.max()} tokens, more than a batch of"
                f" {tokens}; give larger batches, or clean the text with a smaller --max-words"
            )

    def epoch(self, number):
        """Return the batches of an epoch, each an array of the indices of its pairs."""
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.lengths))
        if self.bucketed:
            order = order[np.lexsort((self.lengths[order, 0], self.lengths[order, 1]))]
        batches = np.split(order, self.starts(order)[1:])
        return [batches[each] for each in rng.permutation(len(batches))]

    def starts(self, order):
        """Return where each batch begins, if each takes as many pairs as fit into it.

        Args:
            order: (pairs,) the indices of the pairs, in the order in which they are taken.
        """
        starts, longest = [0], 0
        for place, length in enumerate(self.lengths[order].max(axis=1).tolist()):
            longest = max(longest, length)
            rows = place + 1 - starts[-1]
            if rows > 1 and rows * rounded_up(longest, self.round_to) > self.tokens:
                starts.append(place)
                longest = length
        return starts

    def tensors(self, indices):
        """Return the pairs of a batch.

        Returns:
            src: (batch, src_len) int64, and target: (batch, tgt_len) int64 from `<bos>` to `<eos>`.
        """
        src = padded([self.sources[each] for each in indices], self.round_to)
        target = padded([self.targets[each] for each in indices])
        read = target.shape[1] - 1  # the decoder never reads the last column
        missing = rounded_up(read, self.round_to) - read
        return src, functional.pad(target, (0, missing), value=PAD)

    def fill(self):
        """Return the part of an epoch's tokens that are words, not padding, on both sides
        together.
        """
        real = self.lengths.sum()
        made = sum(self.lengths[batch].max(axis=0).sum() * len(batch) for batch in self.epoch(0))
        return float(real / made)


def make_batches(sources, targets, settings):
    """Return Batches as the settings ask for them."""
    return Batches(
        sources,
        targets,
        settings.tokens,
        settings.seed,
        settings.bucketed,
        round_to=8 if settings.precision == "bfloat16" else 1,
    )


def prefetched(items, make, ahead=4):
    """Yield make(item) for each item, made by a thread while the device is at work.

    Args:
        ahead: how many may be made before they are asked for.
    """
    ready, over = queue.Queue(ahead), object()

    def work():
        try:
            for item in items:
                ready.put(make(item))
            ready.put(over)
        except BaseException as error:
            ready.put(error)

    threading.Thread(target=work, daemon=True).start()
    while (made := ready.get()) is not over:
        if isinstance(made, BaseException):
            raise made
        yield made
