"""How well do the steps of two small models predict those of larger ones? The times of a training
step of chapter 10's model at several widths, measured side by side on one core.
"""

import torch

from book.experiments import Experiment
from book.experiments.cost.measured_cost import seconds_of, straight_line
from book.experiments.cost.training_cost import Run, step_flops
from solutions.ch08_encoder_decoder import Transformer
from solutions.ch09_training import train_step

WIDTHS = (32, 64, 128, 256)  # the first two predict the others
BATCH, LENGTH, VOCAB, LAYERS = 16, 24, 1000, 2


def a_step(d_model):
    """Return a function that takes a training step."""
    model = Transformer(VOCAB, VOCAB, d_model, 4, LAYERS, LAYERS, 4 * d_model, dropout=0.0)
    optimizer = torch.optim.AdamW(model.parameters())
    src, tgt = (torch.randint(4, VOCAB, (BATCH, LENGTH + n)) for n in (0, 1))
    return lambda: train_step(model, optimizer, src, tgt)


def flops(d_model):
    """Return the FLOPs of that step."""
    return step_flops(Run(d_model, LAYERS, 4 * d_model, VOCAB, BATCH, LENGTH))


def measure(steps, seeds):
    """Time the steps of all widths in turn.

    Returns:
        list with one dict for each seed: `seconds`, a step's at each of `WIDTHS`, each the median
        of `steps`.
    """
    found = []
    for seed in seeds:
        torch.manual_seed(seed)
        seconds = seconds_of(*map(a_step, WIDTHS), rounds=steps)
        found.append({"seed": seed, "seconds": [round(each, 5) for each in seconds]})
    return found


def misses(run):
    """Return by which share the line through the first two widths, and their utilization, miss
    each of the others.

    Returns:
        dict from a width to (of the line, of the utilization of the second width).
    """
    known = list(zip(map(flops, WIDTHS), run["seconds"], strict=True))
    start, slope = straight_line(known[:2])
    return {
        width: ((start + slope * work) / took - 1, known[1][1] * work / known[1][0] / took - 1)
        for width, (work, took) in list(zip(WIDTHS, known, strict=True))[2:]
    }


EXPERIMENT = Experiment(
    page="ch10_memory",
    asks="do the steps of two small models predict those of larger ones?",
    long={"steps": 25, "seeds": 5},
    measure=measure,
)
