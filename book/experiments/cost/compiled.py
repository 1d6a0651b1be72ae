"""What `torch.compile` costs and brings for the training step of chapter 10's model, shape by
shape.
"""

import statistics
import time

import torch

from book.experiments import Experiment
from solutions.ch08_encoder_decoder import Transformer
from solutions.ch09_training import label_smoothed_loss

VOCAB, D_MODEL, HEADS, LAYERS, D_FF, BATCH = 2000, 128, 4, 2, 512, 32
LENGTHS = (24, 32, 17)  # each is a shape of its own


def measure(steps, seeds):
    """Time a forward and a backward pass, plain and compiled in turn, for batches of several
    lengths.

    Returns:
        list with one dict for each seed and length: `first`, the seconds of the compiled step when
        it first sees the length, `plain` and `compiled`, those of a later step, the median of
        `steps`.
    """
    return [each for seed in seeds for each in measure_lengths(steps, seed)]


def measure_lengths(steps, seed):
    torch.manual_seed(seed)
    torch.compiler.reset()
    torch.compiler.config.force_disable_caches = True  # as on the first day
    model = Transformer(VOCAB, VOCAB, D_MODEL, HEADS, LAYERS, LAYERS, D_FF, dropout=0.0)

    def step(src, tgt):
        label_smoothed_loss(model(src, tgt[:, :-1]), tgt[:, 1:]).backward()

    kinds = {"plain": step, "compiled": torch.compile(step, dynamic=False)}
    for length in LENGTHS:
        batch = [torch.randint(4, VOCAB, (BATCH, length + side)) for side in (0, 1)]
        took = {name: [seconds(each, batch)] for name, each in kinds.items()}
        for _ in range(steps):
            for name, each in kinds.items():
                took[name].append(seconds(each, batch))
        later = {name: round(statistics.median(each[1:]), 4) for name, each in took.items()}
        yield {"seed": seed, "length": length, "first": round(took["compiled"][0], 1), **later}


def seconds(function, arguments):
    """Return how long a call takes."""
    began = time.monotonic()
    function(*arguments)
    return time.monotonic() - began


EXPERIMENT = Experiment(
    page="ch10_gpu",
    asks="what does torch.compile cost and bring on a CPU?",
    long={"steps": 20, "seeds": 1},
    measure=measure,
)
