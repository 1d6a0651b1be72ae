"""What a training is told: the size of the model, how to train it, and presets that are known to
work.
"""

import math
from dataclasses import dataclass

import torch

from solutions.ch09_training import noam_rate


@dataclass(frozen=True)
class Shape:
    """The size of a model: the arguments of the contract's Transformer except the vocabulary
    sizes, and whether embeddings are shared.
    """

    d_model: int = 256
    num_heads: int = 4
    num_encoder_layers: int = 3
    num_decoder_layers: int = 3
    d_ff: int = 1024
    dropout: float = 0.1
    norm_first: bool = True
    tied: bool | str = False


@dataclass(frozen=True)
class Settings:
    """How to train.

    Args:
        tokens: the most tokens on the longer side of a batch.
        accumulate: micro-batches into which a batch is split, where it would take too much memory
            at once.
        steps, minutes: how long to train. Where both are given, training ends at whichever comes
            first. Only `steps` alone makes a training repeatable to the bit, because with `minutes`
            the learning rate depends on how fast the machine is.
        learning_rate: the highest.
        warmup: steps in which the learning rate rises.
        schedule: how it falls afterwards: "cosine" to 0 at the end, "noam" with the square root of
            the step (Vaswani et al. 2017), "constant" not at all.
        smoothing: share of label smoothing.
        max_norm: to which the gradient's norm is clipped.
        precision: "float32", or "bfloat16" for the matrix products; on the command line also
            "auto".
        look_every: steps between two evaluations on the validation pairs, each of which leaves a
            checkpoint.
        patience: evaluations without a lower loss after which training ends; 0 for never.
        average: the finished model has the mean of this many of the last checkpoints' weights.
        seed: decides the initial weights, the order of the batches, and dropout.
    """

    tokens: int = 4096
    accumulate: int = 1
    steps: int | None = None
    minutes: float | None = None
    learning_rate: float = 1e-3
    warmup: int = 400
    schedule: str = "cosine"
    smoothing: float = 0.1
    max_norm: float = 1.0
    weight_decay: float = 0.0
    precision: str = "float32"
    bucketed: bool = True
    compiled: bool = False
    look_every: int = 500
    patience: int = 0
    average: int = 1
    seed: int = 0

    def progress(self, step, seconds):
        """Return how much of the training is done after a step, from 0 to 1."""
        by_steps = step / self.steps if self.steps else 0.0
        by_time = seconds / 60 / self.minutes if self.minutes else 0.0
        return min(1.0, max(by_steps, by_time))

    def rate(self, step, progress):
        """Return the learning rate of a step; steps are counted from 1."""
        warmup = max(1, self.warmup)
        if self.schedule == "noam":
            return self.learning_rate * noam_rate(step, 1, warmup) / noam_rate(warmup, 1, warmup)
        risen = min(1.0, step / warmup)
        if self.schedule == "cosine":
            return self.learning_rate * risen * (1 + math.cos(math.pi * progress)) / 2
        return self.learning_rate * risen


# The course's corpus takes a fixed number of steps, so that a busy machine comes to the same
# result, only later. Real text takes the time that one gives it.
PRESETS = {
    "small": {  # the course's own corpus, in two minutes on a quiet machine
        # a second thread makes a step a third faster, but ten times slower beside a busy process
        "threads": 1,
        "d_model": 128,
        "num_heads": 4,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "d_ff": 512,
        "dropout": 0.0,
        "tokens": 1024,
        "learning_rate": 2e-3,
        "warmup": 200,
        "smoothing": 0.0,
        "steps": 1500,
        "look_every": 500,
        "precision": "auto",
    },
    "captions": {  # 29,000 image captions; with more time, more --d-model and --dropout
        "d_model": 192,
        "num_heads": 4,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "d_ff": 384,
        "dropout": 0.0,
        "tied": "all",
        "tokens": 768,
        "learning_rate": 2.5e-3,
        "warmup": 400,
        "smoothing": 0.1,
        "minutes": 3.0,
        "look_every": 1000,
        "precision": "auto",
        "vocab": 3000,
    },
}


def with_preset(name, given):
    """Return a preset with some of its settings changed.

    Args:
        name: of the preset.
        given: dict of what was asked for. Who asks for `steps` alone is not stopped by the clock.
    """
    preset = PRESETS[name]
    if "steps" in given:
        preset = {each: value for each, value in preset.items() if each != "minutes"}
    return preset | given


def known_precision(precision):
    """Return the precision of matrix products: "auto" is bfloat16 where the processor has
    instructions for it.
    """
    if precision != "auto":
        return precision
    if torch.cuda.is_available():
        fast = torch.cuda.is_bf16_supported()
    else:
        fast = torch.cpu._is_avx512_bf16_supported()
    return "bfloat16" if fast else "float32"
