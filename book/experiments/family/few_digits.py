"""How many images does a ViT need, beside a convolutional network that knows neighbours from the
start?

Both are trained on the first images of the splits of `digits`, for the same number of steps with
the same optimizer, and have about as many parameters.

    python -m book.experiments few_digits
"""

from itertools import product

import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.family import digits
from book.experiments.undisturbed import undisturbed
from solutions.family.models import VisionTransformer


def convolution():
    """Return a small convolutional network for the digits."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.1), nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip


def vit():
    """Return the ViT of `digits`."""
    return VisionTransformer(8, 2, 1, 10, **digits.SHAPE, dropout=0.1)


def trained(build, images, labels, steps, seed):
    """Build a model and train it, with the rate of `digits`; return it in eval mode."""
    with undisturbed():
        torch.manual_seed(seed)
        model = build()
        digits.fit(model, images, labels, steps)
    return model.eval()


def measure(images, steps, seeds):
    """Train both on several numbers of images, with several budgets.

    Returns:
        list of dict: `images`, `steps`, `seed`, and the shares of test images that are right,
        `convolution` and `vit`.
    """
    rows = []
    for count, budget, seed in product(images, steps, seeds):
        parts = digits.splits(seed)
        given = [each[:count] for each in parts["train"]]
        shares = {
            build.__name__: digits.right(trained(build, *given, budget, seed), *parts["test"])
            for build in (convolution, vit)
        }
        rows.append({"images": count, "steps": budget, "seed": seed, **shares})
    return rows


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="how much better than a ViT does a convolution read digits, from few and from many?",
    long={"images": (75, 1200), "steps": (600, 2400), "seeds": 3},
    initialisation=digits.EXPERIMENT.initialisation,
    measure=measure,
)
