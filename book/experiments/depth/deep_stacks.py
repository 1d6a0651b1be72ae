"""The stacks of chapter 7: encoder layers from which parts can be left out, and what arrives at
each of them.

The matrices are drawn by Glorot's rule, as the theory of deep stacks assumes, as PyTorch draws them
unless told otherwise, or with the standard deviation 0.02. Seeds decide everything else.
"""

import math
from functools import partial
from itertools import product

import numpy as np
import torch
from torch import nn

from book.experiments import Experiment
from solutions.ch07_layers import EncoderLayer, LayerNorm

D_MODEL, NUM_HEADS, D_FF = 32, 4, 64
# Name -> norm, residual.
KINDS = {
    "neither": (None, False),
    "residuals alone": (None, True),
    "norms alone": ("post", False),
    "norms first, alone": ("pre", False),
    "post-norm": ("post", True),
    "pre-norm": ("pre", True),
}
CLASSES = 10  # of the random labels that the gradients are measured with
# Name -> what draws a matrix, or None where it stays as its module has drawn it.
INITIALISATIONS = {
    "Glorot": nn.init.xavier_uniform_,
    "PyTorch": None,
    "PyTorch, biases 0": None,
    "N(0, 0.02)": partial(nn.init.normal_, std=0.02),
    "Glorot, a third": nn.init.xavier_uniform_,
    "Glorot, W^O a third": nn.init.xavier_uniform_,
    "Glorot, W_2 a third": nn.init.xavier_uniform_,
}
# Name -> the matrices that are divided by three once they are drawn: the last of attention, W^O,
# and that of the feed-forward network, W_2. So the part adds a third of what it added.
THIRDS = {
    "Glorot, a third": ("W^O", "W_2"),
    "Glorot, W^O a third": ("W^O",),
    "Glorot, W_2 a third": ("W_2",),
}


class PartialLayer(EncoderLayer):
    """An encoder layer that may lack its norms or its residual connections.

    Args:
        norm: "post", "pre", or None for a layer without norms.
        residual: whether x is added to what each part makes of it.
    """

    def __init__(self, norm, residual):
        super().__init__(D_MODEL, NUM_HEADS, D_FF, norm_first=norm == "pre")
        self.norm, self.residual = norm, residual

    def forward(self, x):
        """Pass x: (batch, seq_len, d_model) through the parts that the layer has."""

        def attend(x):
            return self.self_attention(x, x, x)[0]

        for part, norm in ((attend, self.norm_1), (self.feed_forward, self.norm_2)):
            found = part(norm(x) if self.norm == "pre" else x)
            x = x + found if self.residual else found
            x = norm(x) if self.norm == "post" else x
        return x


def stack(depth, norm, residual, initialisation):
    """Make new layers.

    Args:
        initialisation: a name in INITIALISATIONS. The biases are 0, except in "PyTorch", where they
            are drawn as the matrices are.

    Returns:
        nn.ModuleList of `depth` PartialLayers.
    """
    layers = nn.ModuleList([PartialLayer(norm, residual) for _ in range(depth)])
    draw = INITIALISATIONS[initialisation]
    for name, parameter in layers.named_parameters():
        if draw and parameter.ndim > 1:
            draw(parameter)
        elif initialisation != "PyTorch" and name.endswith("bias"):
            nn.init.zeros_(parameter)
    for layer in layers:
        last = {"W^O": layer.self_attention.w_o, "W_2": layer.feed_forward.linear_2}
        for name in THIRDS.get(initialisation, ()):
            last[name].weight.data /= 3
    return layers


def pass_through(layers, x):
    """Return x after each layer."""
    seen = []
    for layer in layers:
        x = layer(x)
        seen.append(x)
    return seen


def at_the_start(depth, norm, residual, seed, initialisation, batch=4, seq_len=16):
    """Measure a new stack, before any training.

    Random vectors go in; a random linear layer guesses random labels from what comes out (after one
    more norm in pre-norm, as is usual).

    Returns:
        dict of (depth,) lists: `gradients`, the norm of the gradient of each layer's matrices, all
        of them together; `likeness`, the mean cosine between the vectors of two positions after
        each layer; `own`, the share of a vector that its position has for itself, see `own_share`;
        `added`, see `added_by_attention`.
    """
    torch.manual_seed(seed)
    layers = stack(depth, norm, residual, initialisation).double()
    x = torch.randn(batch, seq_len, D_MODEL, dtype=torch.float64)
    readout = torch.randn(D_MODEL, CLASSES, dtype=torch.float64) / math.sqrt(D_MODEL)
    labels = torch.randint(CLASSES, (batch * seq_len,))
    seen = pass_through(layers, x)
    last = LayerNorm(D_MODEL).double()(seen[-1]) if norm == "pre" else seen[-1]
    nn.functional.cross_entropy((last @ readout).flatten(0, 1), labels).backward()
    with torch.no_grad():
        return {
            "gradients": [gradient_norm(layer) for layer in layers],
            "likeness": [likeness(each) for each in seen],
            "own": [own_share(likeness(each)) for each in seen],
            "added": [added_by_attention(*each) for each in zip(layers, [x, *seen], strict=False)],
        }


def added_by_attention(layer, x):
    """Return how long the vectors are that attention finds, relative to those that they are added
    to: the mean over all positions.

    Args:
        x: (batch, seq_len, d_model), what goes into the layer.
    """
    seen = layer.norm_1(x) if layer.norm == "pre" else x
    found, _ = layer.self_attention(seen, seen, seen)
    return (found.norm(dim=-1) / x.norm(dim=-1)).mean().item()


def measure(seeds, depths, initialisations):
    """Measure new stacks of every kind, initialisation and depth.

    Returns:
        list of dicts with `kind` (a name in KINDS), `initialisation`, `depth`, `seed`, and what
        `at_the_start` returns, each number with three digits.
    """
    runs = []
    for initialisation, kind, depth, seed in product(initialisations, KINDS, depths, seeds):
        found = at_the_start(depth, *KINDS[kind], seed, initialisation)
        runs.append(
            {"kind": kind, "initialisation": initialisation, "depth": depth, "seed": seed}
            | {name: [short(number) for number in numbers] for name, numbers in found.items()}
        )
    return runs


def short(number):
    """Return a number with three digits."""
    return float(f"{number:.3g}")


def by_seed(runs, what, kind, initialisation, depth):
    """Return a measure of all seeds, (seeds, depth)."""
    wanted = (kind, initialisation, depth)
    return np.array(
        [run[what] for run in runs if (run["kind"], run["initialisation"], run["depth"]) == wanted]
    )


def gradient_norm(layer):
    """Return the root of the sum of squares over the gradients of a layer's matrices."""
    return math.sqrt(sum(p.grad.square().sum().item() for p in layer.parameters() if p.ndim > 1))


def likeness(x):
    """Return the mean cosine between the vectors of two different positions; 1 where all positions
    hold the same.

    Args:
        x: (batch, seq_len, d_model).
    """
    directions = nn.functional.normalize(x, dim=-1)
    cosines = directions @ directions.mT  # (batch, seq_len, seq_len)
    seq_len = x.shape[1]
    return ((cosines.sum((-2, -1)) - seq_len) / (seq_len * (seq_len - 1))).mean().item()


def own_share(likeness):
    """Return which share of a vector's length a position has for itself, where the rest is common
    to all and at right angles to it: 0 where all positions hold the same.
    """
    return math.sqrt(max(0, 1 - likeness))


EXPERIMENT = Experiment(
    page="ch07_layers",
    asks="what arrives at each layer of a new deep stack, gradients and differences?",
    short={"seeds": 1, "depths": (12,), "initialisations": ("Glorot", "PyTorch")},
    long={
        "seeds": 5,
        "depths": (1, 2, 4, 6, 12, 18, 24),
        "initialisations": ("Glorot", "PyTorch"),
    },
    initialisation="named in each run",
    measure=measure,
)
