"""What happens if the text is small? The loop of chapter 9 with a thousand pairs, with dropout and
without it: the loss on those pairs, and on sentences that it does not train on. The rate is
constant after the warm-up, and labels are not smoothed, because both a rate that falls to 0 and
smoothing hide how the loss on other sentences rises.
"""

import numpy as np
import torch

from book.experiments import Experiment
from book.experiments.training import ingredients, training_loop

PAIRS = 1000
RATE = 0.005  # the best of those that were tried with a constant rate, on the whole text
PLAIN = "plain = label_smoothed_loss(logits, expected, smoothing=0.0)"
EVALUATED = PLAIN, "plain = loss_on_the_text(model)"  # in eval mode, on more than one batch


def measure(steps, dropouts, seeds):
    """Train on the first thousand pairs.

    Returns:
        list of dict: `dropout`, `seed`, `curve`, a list of (step, loss on half of the pairs trained
        on, validation loss), both in eval mode and without smoothing, and `exact`, the part of the
        held-out sentences that came out right in the end.
    """
    return [one_run(steps, dropout, seed) for dropout in dropouts for seed in seeds]


def one_run(steps, dropout, seed):
    """Return the entry of one run."""
    edits = EVALUATED, ingredients.CONSTANT, ingredients.PLAIN
    page = training_loop.loop_with(edits, loss_on_the_text=lambda model: loss_of(model))
    small = page["easy"]["train"][:PAIRS]
    text = page["batches_of"](small[::2], tokens=10_000).tensors(range(PAIRS // 2))

    @torch.no_grad()
    def loss_of(model):
        src, tgt = text
        decoder_input, expected = page["teacher_forcing_pair"](tgt)
        logits = model.eval()(src, decoder_input)
        return page["label_smoothed_loss"](logits, expected, smoothing=0.0)

    model = page["new_model"](seed=seed, dropout=dropout)
    batches = page["batches_of"](small, seed=seed)
    history = page["train"](model, batches, page["validation"], steps=steps, highest=RATE)
    curve = [(step, round(plain, 4), round(missed, 4)) for step, plain, missed, _ in history]
    exact = training_loop.exactly_right(page, model, training_loop.held_out(page))
    return {"dropout": dropout, "seed": seed, "curve": curve, "exact": round(exact, 4)}


def lowest(run):
    """Return the (step, validation loss) at which a run should have stopped."""
    step, _, missed = min(run["curve"], key=lambda point: point[2])
    return step, missed


def mean_curves(measured, dropout):
    """Return (looks, 3): step, training loss, validation loss, means over the seeds."""
    curves = [run["curve"] for run in measured["runs"] if run["dropout"] == dropout]
    return np.mean(curves, axis=0)


EXPERIMENT = Experiment(
    page="ch09_training",
    asks="when does a small text begin to be learned by heart, and what does dropout change?",
    long={"steps": 400, "dropouts": (0.0, 0.2), "seeds": 3},
    initialisation=training_loop.EXPERIMENT.initialisation,
    measure=measure,
)
