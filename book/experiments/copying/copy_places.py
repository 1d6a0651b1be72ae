"""Which places of a sentence are copied right: the first words or the last ones, while the writer
goes on from its own words or from the right ones.

A run, as `measure` returns it, has the keys `kind`, `size`, `steps` and `seed` of `copy_task`, and

- `own`: the share of words that are right at each place of ten, when each word is written after the
  words that the machine itself wrote;
- `given`: the same, when each word is written after the right words, as in training.
"""

import sys
from dataclasses import replace
from itertools import product

import numpy as np
import torch

from book.experiments import Experiment
from book.experiments.copying.copy_task import (
    KINDS,
    LONGEST_TRAINED,
    new,
    random_sentences,
    train_side_by_side,
)


@torch.no_grad()
def by_place(model, seq_len=LONGEST_TRAINED, count=1000):
    """Return the shares of words copied right at each place of sentences that no training saw.

    Returns:
        two lists of `seq_len` floats: after the machine's own words, and after the right ones.
    """
    read = random_sentences(count, seq_len, torch.Generator().manual_seed(1))
    written = (model.copy(read)[0], model(read, read).argmax(dim=-1))
    return [(each == read).double().mean(dim=0).tolist() for each in written]


def measure(steps, seeds, machines, shortest=1, longest=LONGEST_TRAINED):
    """Train machines of each form with each budget, all seeds side by side.

    Args:
        machines: such as "vector-64" and "attention-16", with the numbers in a state.
        shortest, longest: words of the sentences in training; the copied ones have ten.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    for budget, (kind, size) in product(steps, [name.split("-") for name in machines]):
        models = [new(int(size), kind == "attention", seed) for seed in seeds]
        train_side_by_side(models, seeds, budget, longest, shortest)
        for seed, model in zip(seeds, models, strict=True):
            own, given = by_place(model)
            form = {"kind": KINDS[kind], "size": int(size), "steps": budget, "seed": seed}
            runs.append(form | {"own": own, "given": given})
            print(kind, size, budget, seed, np.mean(own), file=sys.stderr, flush=True)
    return runs


def shares(runs, kind, size, which):
    """Return the recorded shares of one form, (seeds, places); `which` is "own" or "given"."""
    return np.array([run[which] for run in runs if (run["kind"], run["size"]) == (kind, size)])


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="which places of ten words are copied right, after own words and after the right ones?",
    long={"steps": (400,), "seeds": 5, "machines": ("vector-64", "attention-16")},
    measure=measure,
)
MORE_EXPERIMENTS = {
    "copy_places_ten": replace(
        EXPERIMENT,
        asks="the same, when every sentence in training has ten words, so that no place is rare?",
        long={"steps": (400,), "seeds": 5, "machines": ("vector-64",), "shortest": 10},
    ),
    "copy_places_five": replace(
        EXPERIMENT,
        asks="the same, when no sentence in training has more than five words?",
        long={
            "steps": (400, 4000),
            "seeds": 5,
            "machines": ("attention-16", "vector-64"),
            "longest": 5,
        },
    ),
}
