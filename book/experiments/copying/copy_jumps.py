"""How often attention loses its place: it copies words in order, but from too early or too late a
place.

A run, as `measure` returns it, has the keys `kind`, `size`, `steps` and `seed` of `copy_task`, and

- `right`: the share of words that are copied right in sentences of 20 words;
- `jumped`: the share of sentences in whose copy at least five words in a row are those of another
  place;
- `left`, `followed` and `by_chance`, as `departures` returns them.
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


def departures(read, written, look):
    """Ask where attention goes when it first looks at a place other than the one to copy, or one of
    its neighbours: right after another occurrence of the word that was just written?

    Args:
        read, written: (batch, seq_len) int64.
        look: (batch, seq_len) int64: for each written word the place with the largest weight.

    Returns:
        dict: `left`, the share of sentences in which it goes elsewhere, where a word precedes;
        `followed`, the share of these in which that word is the one just written; `by_chance`, the
        share that a random one of the places to which it could have gone would give.
    """
    places = torch.arange(read.shape[1])
    away = (look - places).abs() > 1
    away[:, 0] = False  # nothing has been written
    first = away.int().argmax(dim=1)
    rows = (away.any(dim=1) & (look.gather(1, first[:, None])[:, 0] > 0)).nonzero()[:, 0]
    first = first[rows]
    said, target = written[rows, first - 1], look[rows, first]
    alike = read[rows, :-1] == said[:, None]  # column j: the word before place j + 1
    possible = (places[1:] - first[:, None]).abs() > 1
    share = (alike & possible).sum(dim=1) / possible.sum(dim=1)
    return {
        "left": round(len(rows) / len(read), 4),
        "followed": round((read[rows, target - 1] == said).double().mean().item(), 4),
        "by_chance": round(share.mean().item(), 4),
    }


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
            written, queries, keys = model.copy(read)
            with torch.no_grad():
                look = model.weights(queries, keys).argmax(dim=-1)
            right = (written == read).double().mean().item()
            share = jumped(read, written).double().mean().item()
            form = {"kind": KINDS["attention"], "size": size, "steps": budget, "seed": seed}
            form |= {"right": round(right, 4), "jumped": round(share, 4)}
            runs.append(form | departures(read, written, look))
            print(runs[-1], file=sys.stderr, flush=True)
    return runs


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="in how many sentences of 20 words does attention lose its place, and where does it go?",
    long={"steps": (400, 4000), "seeds": 3, "size": 16},
    measure=measure,
)
