"""What a training is told: the size of the model, how to train it, and presets that are known to
work.
"""

import math
from dataclasses import dataclass
from typing import Annotated

from solutions.ch09_training import noam_rate
from solutions.translator.settings.fields import (
    SettingsError,
    Switch,
    check,
    choice,
    real,
    whole,
)


@dataclass(frozen=True)
class Shape:
    """The size of the model: the arguments of the contract's Transformer except the vocabulary
    sizes, and whether embeddings are shared.

    Args:
        d_model: numbers for each word; an even number, which the heads share equally.
        num_heads: heads of each attention.
        num_encoder_layers: layers that read the source.
        num_decoder_layers: layers that write the target.
        d_ff: width of the feed-forward networks.
        dropout: share of the numbers that are set to 0 while training.
        norm_first: whether a layer normalises before its sublayers; otherwise after them.
        tied: yes makes the generator's weight the target's embedding; all makes it the source's,
            too, which needs --vocab.

    Raises:
        SettingsError: where one is not what it may be, or the heads cannot share `d_model`.
    """

    d_model: Annotated[int, whole(2)] = 256
    num_heads: Annotated[int, whole(1)] = 4
    num_encoder_layers: Annotated[int, whole(0)] = 3
    num_decoder_layers: Annotated[int, whole(0)] = 3
    d_ff: Annotated[int, whole(1)] = 1024
    dropout: Annotated[float, real(least=0, below=0.998)] = 0.1
    norm_first: Switch = True
    tied: Annotated[bool | str, choice(False, True, "all")] = False

    def __post_init__(self):
        check(self)
        if self.d_model % 2:
            raise SettingsError(
                f"d_model is {self.d_model}, which is odd; sines and cosines take half of it each"
            )
        if self.d_model % self.num_heads:
            raise SettingsError(
                f"d_model is {self.d_model}, which {self.num_heads} heads cannot share equally;"
                f" give a multiple of num_heads, such as {self.num_heads * 32}"
            )


@dataclass(frozen=True)
class Settings:
    """How to train.

    Args:
        tokens: the most tokens on the longer side of a batch.
        accumulate: micro-batches into which a batch is split, where it would take too much memory
            at once.
        steps: updates after which training ends. Where minutes are given, too, it ends at whichever
            comes first.
        minutes: after which training ends. Only steps alone make a training repeatable to the bit,
            because with minutes the learning rate depends on how fast the machine is.
        learning_rate: the highest.
        warmup: steps in which the learning rate rises.
        schedule: how it falls afterwards: cosine to 0 at the end, noam with the square root of the
            step (Vaswani et al. 2017), constant not at all.
        smoothing: share of label smoothing.
        max_norm: to which the gradient's norm is clipped; inf for no clipping.
        weight_decay: share of the weights that is taken away at each step, times the learning rate;
            not of biases, norms and embeddings.
        precision: of the matrix products; auto is bfloat16 where the processor has instructions for
            it, else float16 on a GPU and float32 on a CPU. tf32 is float32 whose factors a GPU
            rounds to 10 bits.
        bucketed: whether a batch has sentences of about one length; no mixes them.
        shapes: how many different shapes batches may have; fewer leave more padding.
        workers: processes that prepare batches beside the training; auto is 2 for a GPU, which
            waits for nothing then, and 0 on a CPU, where they would take the cores that train.
        compiled: whether torch.compile makes code for the model, anew for each of the shapes. No is
            right on a CPU: there it takes half a minute a shape, and what it makes is not faster.
            On an H100 it took a quarter of a minute a shape, and a third off a small model's step.
        recorded: whether a GPU runs the forward and the backward pass from a recording, a CUDA
            graph, one for each of the shapes, instead of being told each kernel anew; faster where
            a model is small and the GPU is large, because launching is the limit there.
        recomputed: whether the backward pass computes each layer again instead of keeping what the
            forward pass computed: less memory, and a third more time.
        sharded: whether each of several processes keeps only its part of the weights, of their
            gradients and of what the optimiser averages: less memory, and more to tell each other.
            All have to see one disk.
        look_every: steps between two evaluations on the validation pairs, each of which leaves a
            checkpoint.
        patience: evaluations without a lower loss after which training ends; 0 for never. Where
            it is given, the finished model is the one with the lowest loss.
        average: the finished model has the mean of this many of the last checkpoints' weights.
        ema: the model that is evaluated and handed out has an exponential moving average of the
            weights, of which each step keeps this share, such as 0.999; 0 for the weights
            themselves.
        seed: decides the initial weights, the order of the batches, and dropout.

    Raises:
        SettingsError: where one is not what it may be.
    """

    tokens: Annotated[int, whole(1)] = 4096
    accumulate: Annotated[int, whole(1)] = 1
    steps: Annotated[int | None, whole(1)] = None
    minutes: Annotated[float | None, real(above=0)] = None
    learning_rate: Annotated[float, real(above=0)] = 1e-3
    warmup: Annotated[int, whole(0)] = 400
    schedule: Annotated[str, choice("cosine", "noam", "constant")] = "cosine"
    smoothing: Annotated[float, real(least=0, below=1)] = 0.1
    max_norm: Annotated[float, real(above=0, infinite=True)] = 1.0
    weight_decay: Annotated[float, real(least=0)] = 0.0
    precision: Annotated[str, choice("auto", "float32", "tf32", "bfloat16", "float16")] = "float32"
    bucketed: Switch = True
    shapes: Annotated[int, whole(1)] = 24
    workers: Annotated[int | str, whole(0, "auto")] = "auto"
    compiled: Switch = False
    recorded: Switch = False
    recomputed: Switch = False
    sharded: Switch = False
    look_every: Annotated[int, whole(1)] = 500
    patience: Annotated[int, whole(0)] = 0
    average: Annotated[int, whole(1)] = 1
    ema: Annotated[float, real(least=0, below=1)] = 0.0
    seed: Annotated[int, whole(0)] = 0

    def __post_init__(self):
        check(self)
        if self.ema and self.average > 1:
            raise SettingsError(
                f"ema is {self.ema:g} and average is {self.average}, and both average weights; give"
                " one of them"
            )
        if self.ema and self.sharded:
            raise SettingsError(
                f"ema is {self.ema:g} and sharded is yes, but the average is of whole weights; give"
                " --average instead, or leave out --sharded"
            )
        for name in ("compiled", "recomputed", "sharded"):
            if self.recorded and getattr(self, name):
                raise SettingsError(
                    f"recorded and {name} are both yes, which cannot be had at once; leave out"
                    " one of them"
                )
        if self.recorded and not self.bucketed:
            raise SettingsError(
                "recorded is yes and bucketed is no, but a recording fits one shape, and mixed"
                " batches have too many; leave out one of them"
            )

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
