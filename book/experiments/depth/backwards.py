"""Chapter 7's training: deep stacks learn to write words of random letters backwards, in post-norm
and in pre-norm, with the matrices drawn in three ways.

A run, as `measure` returns it, has the keys

- `norm`, `initialisation`, `depth`, `warmup` (in steps; 1 is none) and `seed`;
- `losses`: the mean training loss of every `EVERY` steps;
- `likeness`: of the positions after the last layer, before the training and after it.
"""

import copy
import math
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from book.experiments import Experiment
from book.experiments.depth.deep_stacks import D_MODEL, likeness, stack
from book.experiments.measurements import NOTHING, spread, table
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch07_layers import LayerNorm

LETTERS, WORD_LEN = 6, 5
BATCH, RATE, WARMUP = 16, 3e-3, 150
THREE = ("Glorot", "PyTorch", "N(0, 0.02)")  # of the names in `deep_stacks.INITIALISATIONS`
EVERY = 50  # one mean loss is kept for so many steps


class Reverser(nn.Module):
    """Guess, at each position of a word, the letter that comes at that position of the word written
    backwards.

    Args:
        depth: how many encoder layers.
        norm, residual, initialisation: of the layers, as in `deep_stacks.stack`.
    """

    def __init__(self, depth, norm, residual=True, initialisation="PyTorch"):
        super().__init__()
        self.embedding = nn.Embedding(LETTERS, D_MODEL)
        self.layers = stack(depth, norm, residual, initialisation)
        self.last_norm = LayerNorm(D_MODEL) if norm == "pre" else nn.Identity()
        self.generator = nn.Linear(D_MODEL, LETTERS)
        positions = torch.tensor(sinusoidal_encoding(WORD_LEN, D_MODEL), dtype=torch.float32)
        self.register_buffer("positions", positions)

    def features(self, letters):
        """Return what the last layer makes of the words, (batch, seq_len, d_model)."""
        x = self.embedding(letters) + self.positions
        for layer in self.layers:
            x = layer(x)
        return x

    def forward(self, letters):
        """Return the logits, (batch, seq_len, letters)."""
        return self.generator(self.last_norm(self.features(letters)))


def train(model, seed, steps, warmup=1, rate=RATE):
    """Train a Reverser, in place.

    Args:
        seed: of the words that it reads.
        warmup: the number of steps in which the learning rate rises to `rate`, in equal parts.

    Returns:
        (steps,) losses.
    """
    words = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    losses = []
    for step in range(steps):
        letters = torch.randint(LETTERS, (BATCH, WORD_LEN), generator=words)
        logits = model(letters)  # (batch, seq_len, letters)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), letters.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / warmup)
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)


def train_many(models, seeds, steps, warmup=1, rate=RATE):
    """Train models of one form side by side, in place; each learns as `train` would teach it alone,
    but together they take less time.

    Args:
        models: list of Reverser with equal depths and norms.
        seeds: of the words that the models read, one seed per model.
        warmup, rate: as in `train`.

    Returns:
        (models, steps) losses.
    """
    words = [torch.Generator().manual_seed(seed) for seed in seeds]
    parameters, buffers = stack_module_state(models)  # name -> (models, *shape of one)
    form = copy.deepcopy(models[0]).to("meta")  # a module without numbers of its own

    def loss_of(parameters, buffers, letters):
        logits = functional_call(form, (parameters, buffers), (letters,))
        return nn.functional.cross_entropy(logits.flatten(0, 1), letters.flip(1).flatten())

    optimizer = torch.optim.Adam(parameters.values(), lr=rate, fused=True)
    losses = []
    for step in range(steps):
        shape = (BATCH, WORD_LEN)
        letters = torch.stack([torch.randint(LETTERS, shape, generator=word) for word in words])
        each = vmap(loss_of)(parameters, buffers, letters)  # (models,)
        optimizer.zero_grad()
        each.sum().backward()  # no model has a part in another's loss
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, (step + 1) / warmup)
        optimizer.step()
        losses.append(each.detach())
    for number, model in enumerate(models):
        model.load_state_dict({name: each[number] for name, each in (parameters | buffers).items()})
    return torch.stack(losses, dim=1)


def new(seed, *arguments, **named):
    """Return the Reverser of a seed, and leave the global random numbers as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Reverser(*arguments, **named)


def hundred_words():
    """Return 100 words, always the same, (words, seq_len)."""
    return torch.randint(LETTERS, (100, WORD_LEN), generator=torch.Generator().manual_seed(2**20))


@torch.no_grad()
def likeness_of(model):
    """Return how alike the positions of 100 words are after a model's last layer."""
    return round(likeness(model.features(hundred_words())), 4)


def run(norm, depth, initialisations, warmup, seeds, steps, rate=RATE):
    """Train one model for each initialisation and seed.

    Returns:
        list of dicts as described above, but with all losses.
    """
    kinds = list(product(initialisations, seeds))
    models = [new(seed, depth, norm, initialisation=name) for name, seed in kinds]
    before = [likeness_of(model) for model in models]
    losses = train_many(models, [seed for _, seed in kinds], steps, warmup, rate)
    return [
        {
            "norm": norm,
            "initialisation": name,
            "depth": depth,
            "warmup": warmup,
            "seed": seed,
            "losses": losses[place].tolist(),
            "likeness": [before[place], likeness_of(models[place])],
        }
        for place, (name, seed) in enumerate(kinds)
    ]


def measure(steps, seeds, depths, initialisations=THREE):
    """Train in post-norm without and with warm-up, and in pre-norm, at each depth.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    for depth, (norm, warmup) in product(depths, (("post", 1), ("pre", 1), ("post", WARMUP))):
        runs += [kept(each) for each in run(norm, depth, initialisations, warmup, seeds, steps)]
        ends = [each["losses"][-1] for each in runs[-len(initialisations) * len(seeds) :]]
        print(f"{depth} layers, {norm}-norm, warm-up {warmup}:", ends, file=sys.stderr, flush=True)
    return runs


def measure_post(steps, seeds, rate, initialisations):
    """Train twelve layers in post-norm, without a warm-up, at some rate.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = run("post", 12, initialisations, 1, seeds, steps, rate)
    return [kept(each) for each in runs]


def measure_bare(steps, seeds, depth, initialisations):
    """Train with residual connections, but without any norm.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = run(None, depth, initialisations, 1, seeds, steps)
    return [kept(each) for each in runs]


def kept(run):
    """Return a run as it is recorded, with the mean of every so many losses; None where it is
    nan.
    """
    means = torch.tensor(run["losses"]).unflatten(0, (-1, EVERY)).mean(dim=1)
    rounded = {"losses": [round(mean, 3) for mean in means.tolist()], "likeness": run["likeness"]}
    return run | {
        name: [None if math.isnan(each) else each for each in numbers]
        for name, numbers in rounded.items()
    }


def curves(runs, depth, norm, warmup=1):
    """Return the recorded losses of one kind of stack: dict from an initialisation to the steps,
    (points,), and the losses, (seeds, points).
    """
    found = {}
    for run in runs:
        if (run["depth"], run["norm"], run["warmup"]) == (depth, norm, warmup):
            found.setdefault(run["initialisation"], []).append(run["losses"])
    return {
        name: (EVERY * np.arange(1, len(rows[0]) + 1), np.array(rows, dtype=float))
        for name, rows in found.items()
    }


def losses_table(runs, budgets=(250, 500, 1000, 2000)):
    """Return the table of the recorded losses after several budgets: mean and range over seeds,
    sorted by depth, order and initialisation.
    """
    rows = []
    kinds = {(r["depth"], r["norm"] or "", r["warmup"]) for r in runs}
    for depth, norm, warmup in sorted(kinds):
        order = (f"{norm}-norm" if norm else "no norm") + (", warm-up" if warmup > 1 else "")
        for name, (steps, losses) in sorted(curves(runs, depth, norm or None, warmup).items()):
            seen = [losses[:, steps == budget] for budget in budgets]
            cells = [in_a_cell(each) if each.size else NOTHING for each in seen]
            rows.append((depth, order, name, *cells))
    return table(("layers", "order", "matrices", *(f"{each:,} steps" for each in budgets)), rows)


def in_a_cell(losses):
    """Write the mean and the range of losses, and how many are nan."""
    finite = losses[np.isfinite(losses)]
    lost = losses.size - finite.size
    return spread(finite, 1, 2) + (f"; {lost} of {losses.size} nan" if lost else "")


def loss_of_letters_without_places():
    """Return the best mean loss of a model that knows which letters a word has, and how often, but
    not where they are.
    """
    total = 0.0
    for counts, ways in letter_counts(WORD_LEN, LETTERS):
        entropy = -sum(n / WORD_LEN * math.log(n / WORD_LEN) for n in counts if n)
        total += ways / LETTERS**WORD_LEN * entropy
    return total


def letter_counts(length, letters):
    """Yield how often each letter may be in a word, and how many such words there are."""
    if letters == 1:
        yield (length,), 1
        return
    for first in range(length + 1):
        for others, ways in letter_counts(length - first, letters - 1):
            yield (first, *others), ways * math.comb(length, first)


EXPERIMENT = Experiment(
    page="ch07_layers",
    asks="which stacks of 6 and 12 layers learn, by the place of the norm and by initialisation?",
    short={"steps": 100, "seeds": 1, "depths": (12,)},
    long={"steps": 2000, "seeds": 3, "depths": (12, 6)},
    initialisation="three, named in each run; embedding and generator are drawn as PyTorch does",
    measure=measure,
)
MORE_EXPERIMENTS = {
    "backwards_24": replace(
        EXPERIMENT,
        asks="which stacks of 24 layers learn, by the place of the norm and by initialisation?",
        initialisation="named in each run; embedding and generator are drawn as PyTorch does",
        short={},
        long={
            "steps": 1000,
            "seeds": 3,
            "depths": (24,),
            "initialisations": ("Glorot", "PyTorch"),
        },
    ),
    "backwards_third": replace(
        EXPERIMENT,
        asks="does a stack by Glorot's rule learn where each part adds a third of it?",
        initialisation="Glorot's rule, W^O and W_2 divided by 3; embedding and generator are drawn"
        " as PyTorch does",
        short={},
        long={"steps": 1000, "seeds": 3, "depths": (12,), "initialisations": ("Glorot, a third",)},
    ),
    "backwards_each_third": replace(
        EXPERIMENT,
        asks="does a stack by Glorot's rule learn where one of its two parts adds a third of it?",
        initialisation="Glorot's rule, W^O or W_2 divided by 3; embedding and generator are drawn"
        " as PyTorch does",
        short={},
        long={
            "steps": 2000,
            "seeds": 3,
            "rate": RATE,
            "initialisations": ("Glorot, W^O a third", "Glorot, W_2 a third"),
        },
        measure=measure_post,
    ),
    "backwards_slow": replace(
        EXPERIMENT,
        asks="does a stack by Glorot's rule learn at a tenth of the rate?",
        short={},
        long={"steps": 4000, "seeds": 3, "rate": 3e-4, "initialisations": ("Glorot", "PyTorch")},
        measure=measure_post,
    ),
    "backwards_bare": replace(
        EXPERIMENT,
        asks="which stacks of 12 layers learn without any norm?",
        short={},
        long={"steps": 2000, "seeds": 3, "depth": 12, "initialisations": THREE},
        measure=measure_bare,
    ),
}
