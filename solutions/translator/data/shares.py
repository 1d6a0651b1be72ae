"""What each process computes of each batch, prepared while the one before is computed: its tensors
have fixed shapes, and say themselves where there is a word to predict, so that no device has to be
asked.
"""

from typing import NamedTuple

import torch
from torch.utils.data import DataLoader, Dataset

from solutions.translator.data.shapes import rounded_up
from solutions.translator.data.tokenizer import PAD

ROUND_TO = 8  # words to predict: odd numbers make bfloat16 on a CPU slow, and its memory grow


class MicroBatch(NamedTuple):
    """What a process computes at once.

    Args:
        src: (rows, src_len) int64.
        target: (rows, tgt_len + 1) int64 from `<bos>` to `<eos>`.
        words: (some,) int64: the places in the flattened targets, their first column left out,
            where there is a word to predict; filled up with places of padding.
    """

    src: torch.Tensor
    target: torch.Tensor
    words: torch.Tensor


class Share(NamedTuple):
    """One process's share of a batch.

    Args:
        micro_batches: list of MicroBatch.
        words: to predict in the whole batch, over all processes.
        epoch, position: of the batch.
    """

    micro_batches: list
    words: int
    epoch: int
    position: int


class Shares(Dataset):
    """One process's share of each batch.

    Args:
        batches: Batches.
        rank: of the process.
        size: how many processes there are.
        parts: micro-batches into which a process splits its share.
        everywhere: name all places of the targets and not only those where there is a word to
            predict, so that batches of one shape have as many.
    """

    def __init__(self, batches, rank=0, size=1, parts=1, everywhere=False):
        self.batches, self.rank, self.size, self.parts = batches, rank, size, parts
        self.places = all_places if everywhere else places_with_words

    def __getitem__(self, place):
        """Return a Share.

        Args:
            place: (epoch, position, indices of the pairs in the whole batch).
        """
        epoch, position, indices = place
        count, shape = self.size * self.parts, self.batches.shape(indices)
        rows_to = self.batches.rows_to if shape.rows >= self.batches.rows_to * count else 1
        shape = shape._replace(rows=rounded_up(shape.rows / count, rows_to))
        mine = [indices[first::count] for first in range(self.rank, count, self.size)]
        made = [self.batches.tensors(some, shape) for some in mine]
        micro_batches = [
            MicroBatch(src, target, self.places(target[:, 1:].flatten())) for src, target in made
        ]
        words = int(self.batches.lengths[indices, 1].sum())
        return Share(micro_batches, words, epoch, position)


def loader(shares, epoch=0, position=0, workers=0, pinned=False):
    """Return an iterable over the shares of all batches, epoch after epoch without an end, from a
    batch on.

    Args:
        shares: Shares.
        epoch, position: of the first batch.
        workers: processes that prepare batches meanwhile; 0 prepares each where it is asked for.
        pinned: prepare them in memory from which a GPU can fetch them by itself.
    """
    return DataLoader(
        shares,
        sampler=Order(shares.batches, epoch, position),
        batch_size=None,  # the sampler says what a batch is
        num_workers=workers,
        pin_memory=pinned,
        generator=torch.Generator(),  # its draws are not taken from the training's
    )


class Order:
    """The batches of all epochs, from one on, as (epoch, position, indices).

    Args:
        batches: Batches.
        epoch, position: of the first batch.
    """

    def __init__(self, batches, epoch=0, position=0):
        self.batches, self.epoch, self.position = batches, epoch, position

    def __iter__(self):
        epoch, position = self.epoch, self.position
        while True:
            yield from self.of(epoch, position)
            epoch, position = epoch + 1, 0

    def of(self, epoch, position=0):
        """Yield the batches of one epoch, from one on."""
        for indices in self.batches.epoch(epoch)[position:]:
            yield epoch, position, indices
            position += 1


def places_with_words(expected):
    """Return where there is a word to predict, and as many places of padding, which cost nothing
    in the loss, as make their number a multiple of `ROUND_TO` above 0.

    Args:
        expected: (places,) int64.

    Returns:
        (some,) int64.
    """
    words = (expected != PAD).nonzero().flatten()
    missing = -len(words) % ROUND_TO if len(words) else ROUND_TO
    return torch.cat([words, (expected == PAD).nonzero().flatten()[:missing]])


def all_places(expected):
    """Return all places of a target: (places,) int64; padding costs nothing in the loss."""
    return torch.arange(len(expected))
