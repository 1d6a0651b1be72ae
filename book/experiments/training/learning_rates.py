"""How high should the learning rate be? The loop of chapter 9, once for each of several rates."""

import time
from itertools import product

from book.experiments import Experiment
from book.experiments.training import training_loop

WARMUP = 0.15  # of the steps: 60 of the page's 400


def loss_after(page, rate, steps, seed=0):
    """Train the page's model at a highest rate.

    Args:
        page: what `training_loop.loop_with` returns.
        rate: the highest of the schedule.
        steps: of the training; the warm-up is the first 15 %.
        seed: of the model and of the order of the batches.

    Returns:
        float: the last validation loss, without smoothing.
    """
    batches = page["batches_of"](page["easy"]["train"], seed=seed)
    warmup = round(WARMUP * steps)
    model = page["new_model"](seed=seed)
    *_, last = page["train"](model, batches, page["validation"], steps, rate, warmup)
    return last[2]


def measure(steps, rates, seeds):
    """Train once for each number of steps, rate and seed.

    Returns:
        list of dict: `steps`, `rate`, `seed`, `validation_loss`, and `seconds` of the run.
    """
    page, runs = training_loop.loop_with(), []
    for budget, rate, seed in product(steps, rates, seeds):
        begun = time.monotonic()
        run = {"steps": budget, "rate": rate, "seed": seed}
        run["validation_loss"] = round(loss_after(page, rate, budget, seed), 4)
        runs.append(run | {"seconds": round(time.monotonic() - begun, 1)})
    return runs


def losses_by_rate(measured):
    """Return dict: number of steps -> dict: rate -> the validation loss of each seed."""
    found = {}
    for run in measured["runs"]:
        by_rate = found.setdefault(run["steps"], {})
        by_rate.setdefault(run["rate"], []).append(run["validation_loss"])
    return found


def best_rates(measured):
    """Return dict: number of steps -> the set of rates that are best with some seed."""
    return {
        steps: {min(by_rate, key=lambda rate: by_rate[rate][seed]) for seed in range(seeds)}
        for steps, by_rate in losses_by_rate(measured).items()
        for seeds in [measured["budget"]["seeds"]]
    }


EXPERIMENT = Experiment(
    page="ch09_training",
    asks="which learning rate suits the page's own loop, and can a shorter run tell?",
    short={"steps": 100, "rates": (0.001, 0.003, 0.01, 0.03, 0.1), "seeds": 1},
    long={
        "steps": (100, 200, 400, 800),
        "rates": (0.001, 0.003, 0.01, 0.03, 0.1),
        "seeds": 3,
    },
    initialisation=training_loop.EXPERIMENT.initialisation,
    measure=measure,
)
