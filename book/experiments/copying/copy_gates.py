"""What training does to the gates of the GRU that reads, and to the gradient that goes back through
it, where one vector is passed on.

A run, as `measure` returns it, has the keys `kind`, `size`, `steps` and `seed` of `copy_task` (0
steps are before training), and

- `kept`: for each place of ten words, how much of the old state the gate lets stay, from 0 to 1;
  the mean over the numbers of the state and over random sentences;
- `reach`: for each place the gradient that the written word sends back to the word that it copies,
  as `copy_task.reach` returns it.
"""

import sys

import torch

from book.experiments import Experiment
from book.experiments.copying.copy_task import (
    KINDS,
    LONGEST_TRAINED,
    new,
    random_sentences,
    reach,
    train_side_by_side,
)


@torch.no_grad()
def kept(model, seq_len=LONGEST_TRAINED, count=500):
    """Return how much of the old state stays at each place, a list of `seq_len` floats."""
    read = random_sentences(count, seq_len, torch.Generator().manual_seed(1))
    words, gru = model.embedding(read), model.reader
    states, _ = gru(words)
    before = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)
    from_words = words @ gru.weight_ih_l0.T + gru.bias_ih_l0
    from_states = before @ gru.weight_hh_l0.T + gru.bias_hh_l0
    _, gates, _ = (from_words + from_states).chunk(3, dim=-1)  # of PyTorch's r, z and n
    return gates.sigmoid().mean(dim=(0, 2)).tolist()


def measure(steps, seeds, size):
    """Train machines with one vector for each budget, all seeds side by side.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    for budget in steps:
        models = [new(size, False, seed) for seed in seeds]
        if budget:
            train_side_by_side(models, seeds, budget)
        for seed, model in zip(seeds, models, strict=True):
            form = {"kind": KINDS["vector"], "size": size, "steps": budget, "seed": seed}
            found = {"kept": kept(model), "reach": reach(model).tolist()}
            runs.append(form | {name: [round(x, 6) for x in each] for name, each in found.items()})
            print(runs[-1], file=sys.stderr, flush=True)
    return runs


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="how does training open the gates of one vector's reader, and what gradient comes back?",
    long={"steps": (0, 400), "seeds": 5, "size": 32},
    measure=measure,
)
