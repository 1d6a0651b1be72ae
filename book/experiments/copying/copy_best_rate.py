"""The copying machines at several learning rates, so that each is compared at a rate that suits it.

A run, as `measure` returns it, has the keys of `copy_task` and `rate`, that of the first step.
"""

from book.experiments import Experiment
from book.experiments.copying import copy_task


def measure(steps, seeds, machines, rates):
    """Train machines of each form with each budget at each learning rate, all seeds side by side.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    for rate in rates:
        found = copy_task.measure(steps, seeds, len(seeds), machines, rate=rate)
        runs += [run | {"rate": rate} for run in found]
    return runs


def at_rates(runs, kind, size, steps, seq_len):
    """Return the recorded shares of one form and budget: dict from a rate to (seeds,)."""
    rates = sorted({run["rate"] for run in runs})
    return {
        rate: copy_task.shares([run for run in runs if run["rate"] == rate], kind, steps)[size][
            :, seq_len - 1
        ]
        for rate in rates
    }


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="how well is a sentence copied after a short training, at which learning rate?",
    long={
        "steps": (400,),
        "seeds": 5,
        "machines": ("vector-64", "attention-16"),
        "rates": (0.0075, 0.015, 0.03, 0.06),
    },
    measure=measure,
)
