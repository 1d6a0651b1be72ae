"""Chapter 7: what the first steps of training do to the positions of a deep stack."""

from itertools import product

import numpy as np
import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.depth.backwards import hundred_words, new, train
from book.experiments.depth.deep_stacks import gradient_norm, likeness, own_share, short

# Depth, norm and initialisation of the stacks whose first steps are measured.
STACKS = (
    (12, "post", "Glorot"),
    (12, "post", "Glorot, W_2 a third"),
    (12, "post", "Glorot, W^O a third"),
    (12, "post", "Glorot, a third"),
    (12, "post", "PyTorch"),
    (6, "post", "Glorot"),
    (24, "post", "PyTorch"),
    (12, "pre", "Glorot"),
    (24, "pre", "Glorot"),
)


def measure(steps, seeds):
    """Train the stacks of `STACKS` for a few steps, each budget from the beginning.

    Args:
        steps: the budgets.

    Returns:
        list of dicts with `depth`, `norm`, `initialisation`, `seed` and, for each budget, what
            `measured` returns.
    """
    runs = []
    for (depth, norm, name), seed in product(STACKS, seeds):
        found = []
        for budget in steps:
            model = new(seed, depth, norm, initialisation=name)
            train(model, seed, budget)
            found.append(measured(model))
        run = {"depth": depth, "norm": norm, "initialisation": name, "seed": seed}
        runs.append(run | {what: [each[what] for each in found] for what in found[0]})
    return runs


def measured(model):
    """Measure a model with 100 words, in 64 bits, which see what 32 would round.

    Returns:
        dict of `own`: the own share of a position after the last layer (`deep_stacks.own_share`);
            `gradient`: the norm of that of the first layer's matrices; `added` and `along`: how
            long the vectors are that attention finds, relative to those that they are added to,
            and their cosine with these, both as means over layers and positions.
    """
    model.double().zero_grad()
    words = hundred_words()
    logits = model(words)
    nn.functional.cross_entropy(logits.flatten(0, 1), words.flip(1).flatten()).backward()
    added, along = [], []
    with torch.no_grad():
        x = model.embedding(words) + model.positions
        for layer in model.layers:
            seen = layer.norm_1(x) if layer.norm == "pre" else x
            found, _ = layer.self_attention(seen, seen, seen)
            added.append((found.norm(dim=-1) / x.norm(dim=-1)).mean().item())
            along.append(torch.cosine_similarity(found, x, dim=-1).mean().item())
            x = layer(x)
    return {
        "own": short(own_share(likeness(x))),
        "gradient": short(gradient_norm(model.layers[0])),
        "added": short(np.mean(added)),
        "along": short(np.mean(along)),
    }


EXPERIMENT = Experiment(
    page="ch07_layers",
    asks="what do the first steps of training do to the positions?",
    long={"steps": (0, 1, 2, 5, 10, 20, 50), "seeds": 6},
    initialisation="named in each run; embedding and generator are drawn as PyTorch does",
    measure=measure,
)
