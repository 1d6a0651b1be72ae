"""The loss of a tiny GPT against its size, and against how much of the book it has read.

The model is that of `alice`, with two layers of different widths. Each training keeps the weights
with the smallest validation loss, because on so short a text the larger models begin to learn it by
heart.
"""

import numpy as np
import torch

from book.experiments import Experiment
from book.experiments.family.alice import INITIALISATION, Letters, encoded, letters, texts, train
from book.experiments.undisturbed import undisturbed

WIDTHS = (8, 16, 32, 64, 128)
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
WIDTH = 64  # of the model that reads shares of the text


def sizes(width):
    """Return the sizes of a model of a width."""
    return {"max_len": 64, "d_model": width, "num_heads": 4, "num_layers": 2, "d_ff": 4 * width}


def run(width, share, steps, seed):
    """Train one model.

    Returns:
        dict: `width`, `share`, `seed`, `parameters` of its layers alone, `letters` of the text that
        it has read, the smallest `validation` loss in nats a letter, and the `step` of it.
    """
    parts = texts()
    ids, validation = encoded(parts["train"]), encoded(parts["validation"])
    ids = ids[: round(share * len(ids))]
    with undisturbed():
        torch.manual_seed(seed)
        model = Letters(len(letters()), **sizes(width))
        history = train(model, ids, validation, steps, seed)
    best = min(history, key=lambda each: each["validation"])
    return {
        "width": width,
        "share": share,
        "seed": seed,
        "parameters": sum(each.numel() for each in model.layers.parameters()),
        "letters": len(ids),
        "validation": best["validation"],
        "step": best["step"],
    }


def measure(steps, seeds):
    """Train models of all widths on the whole text, and of one width on all shares of it."""
    asked = [(width, 1) for width in WIDTHS] + [(WIDTH, share) for share in SHARES[:-1]]
    return [run(width, share, steps, seed) for width, share in asked for seed in seeds]


def straight_line(sizes, losses):
    """Fit `loss = constant * size ** -power`, a straight line on logarithmic axes.

    Returns:
        power, and the largest distance of a loss from the line, as a share of the loss.
    """
    x, y = np.log(sizes), np.log(losses)
    slope, start = np.polyfit(x, y, 1)
    return -slope, float(np.abs(np.expm1(y - (start + slope * x))).max())


EXPERIMENT = Experiment(
    page="ch13_since_2017",
    asks="how does the loss of a tiny GPT fall with its size, and with the text it has read?",
    long={"steps": 400, "seeds": 3},
    initialisation=INITIALISATION,
    measure=measure,
)
