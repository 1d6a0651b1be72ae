"""A small ViT on scikit-learn's digits, beside what simpler readers make of them.

The 1,797 images of 8 x 8 pixels are split by a seed: 1,200 for training, 297 for validation and 300
for the test. Beside ViT stand the most frequent class, logistic regression on the pixels, and the
same ViT without positions, to which an image is a bag of patches.
"""

import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.undisturbed import undisturbed
from solutions.family.models import VisionTransformer

SHAPE = {"d_model": 48, "num_heads": 4, "num_layers": 2, "d_ff": 96}
TRAIN, VALIDATION = 1200, 297
BATCH, PEAK = 64, 3e-3


def splits(seed):
    """Return dict: "train", "validation" and "test" -> (images (n, 1, 8, 8) in [0, 1], labels)."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(seed))
    images = torch.from_numpy(digits.images).float()[order, None] / 16
    labels = torch.from_numpy(digits.target)[order]
    ends = (TRAIN, TRAIN + VALIDATION, len(labels))
    starts = (0, *ends)
    return {
        name: (images[start:end], labels[start:end])
        for name, start, end in zip(("train", "validation", "test"), starts, ends, strict=False)
    }


def right(model, images, labels):
    """Return the share of images whose class a model names."""
    with torch.no_grad():
        return (model(images).argmax(-1) == labels).float().mean().item()


def trained(parts, epochs, seed, positions=True):
    """Train a ViT, and return it in eval mode; without `positions` they stay 0."""
    with undisturbed():
        torch.manual_seed(seed)
        model = VisionTransformer(8, 2, 1, 10, **SHAPE, dropout=0.1)
        if not positions:
            model.positions.data.zero_()
            model.positions.requires_grad_(False)
        images, labels = parts["train"]
        fit(model, images, labels, epochs * len(images.split(BATCH)))
    return model.eval()


def fit(model, images, labels, steps):
    """Train a model, with every image once before any comes again."""
    optimizer = torch.optim.AdamW(model.parameters(), PEAK, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK, total_steps=steps)
    for _, batch in zip(range(steps), shuffled(len(images)), strict=False):
        loss = functional.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def shuffled(count):
    """Yield batches of places from 0 to `count` - 1, in a new order each time round."""
    while True:
        yield from torch.randperm(count).split(BATCH)


def measure(epochs, seeds):
    """Train with each seed, which also splits the images.

    Returns:
        list of dict: `seed`, `epochs`, and the shares of test images that are right: `vit`,
        `without_positions`, `pixels` (logistic regression), `majority`.
    """
    rows = []
    for seed in seeds:
        parts = splits(seed)
        images, labels = parts["test"]
        pixels = LogisticRegression(max_iter=5000)
        pixels.fit(parts["train"][0].flatten(1).numpy(), parts["train"][1].numpy())
        commonest = parts["train"][1].mode().values
        for budget in epochs:
            rows.append(
                {
                    "seed": seed,
                    "epochs": budget,
                    "vit": right(trained(parts, budget, seed), images, labels),
                    "without_positions": right(
                        trained(parts, budget, seed, positions=False), images, labels
                    ),
                    "pixels": pixels.score(images.flatten(1).numpy(), labels.numpy()),
                    "majority": (labels == commonest).float().mean().item(),
                }
            )
    return rows


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="does a small ViT read digits better than the pixels do by themselves?",
    long={"epochs": (30, 60), "seeds": 3},
    initialisation="positions from a normal distribution of standard deviation 0.02, else"
    " PyTorch's default",
    measure=measure,
)
