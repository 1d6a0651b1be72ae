"""One vector that is narrower than the networks on both sides of it.

In `copy_task` a larger state makes the vector wider, and with it both networks. Here the networks
keep their size: after the last word, the reader's state goes through a matrix that leaves `passed`
numbers of it, and through another that widens these again for the writer, which sees nothing else.

A run, as `measure` returns it, has the keys of `copy_task` and `passed`, the numbers in the vector.
"""

import sys
from itertools import product

import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.copying.copy_task import (
    KINDS,
    LENGTHS,
    LONGEST_TRAINED,
    accuracy,
    new,
    train_side_by_side,
)


class SqueezedReader(nn.GRU):
    """A GRU that reads a sentence and passes on `passed` numbers, widened to a state again."""

    def __init__(self, d_model, d_hidden, passed):
        super().__init__(d_model, d_hidden, batch_first=True)
        self.narrow = nn.Linear(d_hidden, passed, bias=False)
        self.widen = nn.Linear(passed, d_hidden, bias=False)

    def forward(self, words):
        """Return the widened vector twice, as the only key (batch, 1, d_hidden) and as the last
        state (1, batch, d_hidden), from words (batch, seq_len, d_model).
        """
        _, last = super().forward(words)
        last = self.widen(self.narrow(last))
        return last.transpose(0, 1), last


def new_squeezed(d_hidden, passed, seed):
    """Return the untrained machine of a seed, whose reader passes on `passed` numbers."""
    model = new(d_hidden, False, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model.reader = SqueezedReader(model.embedding.embedding_dim, d_hidden, passed)
    return model


def measure(steps, seeds, size, passed):
    """Train machines with states of `size` numbers for each budget and width of the vector, all
    seeds side by side.

    Args:
        passed: such as (16, 64), the numbers in the vector.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    for budget, width in product(steps, passed):
        models = [new_squeezed(size, width, seed) for seed in seeds]
        train_side_by_side(models, seeds, budget)
        form = {"kind": KINDS["vector"], "size": size, "passed": width, "steps": budget}
        for seed, model in zip(seeds, models, strict=True):
            shares = [round(share, 4) for share in accuracy(model, LENGTHS)]
            runs.append(form | {"seed": seed, "accuracy": shares})
        ends = [run["accuracy"][LONGEST_TRAINED - 1] for run in runs[-len(seeds) :]]
        print(f"{size} numbers, {width} passed, {budget} steps:", ends, file=sys.stderr, flush=True)
    return runs


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="how well do networks of 64 numbers copy through a vector of 16?",
    long={"steps": (400, 4000), "seeds": 5, "size": 64, "passed": (16, 64)},
    measure=measure,
)
