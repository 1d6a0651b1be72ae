"""How often attention loses its place: it copies words in order, but from too early or too late a
place.

A run, as `measure` returns it, has the keys `kind`, `size`, `steps` and `seed` of `copy_task`, and

- `right`: the share of words that are copied right in sentences of 20 words;
- `jumped`: the share of sentences in whose copy at least five words in a row are those of another
  place.
"""

import sys

import torch

from book.experiments import Experiment
from book.experiments.copying.copy_task import (
    KINDS,
    LENGTHS,
    new,
    random_sentences,
    train_side_by_side,
)

IN_A_ROW = 5  # of two random sentences by chance in about one pair of 700


def jumped(read, written, in_a_row=IN_A_ROW):
    """Return which copies have `in_a_row` words in order, but moved by one place or more.

    Args:
        read, written: (batch, seq_len) int64.

    Returns:
        (batch,) bool.
    """
    found = torch.zeros(len(read), dtype=torch.bool)
    for places in range(1, read.shape[1] - in_a_row + 1):
        for one, other in ((read, written), (written, read)):
            alike = one[:, places:] == other[:, :-places]
            found |= alike.unfold(1, in_a_row, 1).all(dim=-1).any(dim=-1)
    return found


def measure(steps, seeds, size, count=1000):
    """Train machines with attention for each budget, all seeds side by side.

    Args:
        size: numbers in a state.
        count: how many random sentences of 20 words each of them copies.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    read = random_sentences(count, len(LENGTHS), torch.Generator().manual_seed(1))
    for budget in steps:
        models = [new(size, True, seed) for seed in seeds]
        train_side_by_side(models, seeds, budget)
        for seed, model in zip(seeds, models, strict=True):
            written = model.copy(read)[0]
            right = (written == read).double().mean().item()
            share = jumped(read, written).double().mean().item()
            form = {"kind": KINDS["attention"], "size": size, "steps": budget, "seed": seed}
            runs.append(form | {"right": round(right, 4), "jumped": round(share, 4)})
            print(runs[-1], file=sys.stderr, flush=True)
    return runs


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="in how many sentences of 20 words does attention lose its place?",
    long={"steps": (4000,), "seeds": 3, "size": 16},
    measure=measure,
)
