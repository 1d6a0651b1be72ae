"""Which share of a device's peak a training uses."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import returned_number
from solutions.ch10_gpu import utilization


@drawn
def run_case(rng, low, high, speed=float):
    """Draw a run whose share of the peak is between two bounds."""
    words_per_second = speed(integer(rng, 2_000, 300_000))
    num_parameters = 10_000 * integer(rng, 20, 9_000)
    share = rng.uniform(low, high)
    peak = float(f"{6 * num_parameters * words_per_second / share:.3g}")
    return {
        "words_per_second": words_per_second,
        "num_parameters": num_parameters,
        "peak_flops": peak,
    }


@drawn
def large(rng):
    return {
        "words_per_second": float(integer(rng, 5, 9) * 10**8),
        "num_parameters": integer(rng, 3, 9) * 10**12,
        "peak_flops": float(integer(rng, 5, 9) * 10**22),
    }


def share_with(
    operations=lambda words_per_second, num_parameters: 6 * words_per_second * num_parameters,
    share=lambda done, peak_flops: done / peak_flops,
):
    """Make a share from its rules."""

    def used(words_per_second, num_parameters, peak_flops):
        return share(operations(words_per_second, num_parameters), peak_flops)

    return used


checks = Checks(utilization, family=share_with, probe=returned_number)
shown, hidden, wrong, right = checks.words

shown("a run at some tenths of the peak", run_case(0.2, 0.6), weight=3)
shown("a small run on a large device", run_case(0.001, 0.02))
shown("more than the peak says that something was counted wrongly", run_case(1.5, 3.0))
hidden("a run below half of the peak", run_case(0.1, 0.45), weight=3)
hidden("a run that hardly uses the device", run_case(1e-5, 1e-4))
hidden("far above the peak", run_case(4.0, 9.0))
hidden("a whole number of words a second", run_case(0.3, 0.7, int))
hidden("trillions of parameters", large())


wrong(
    "a training goes forward alone",
    "You count the operations of one of the two passes. Which one does more?",
    operations=lambda words_per_second, num_parameters: 2 * words_per_second * num_parameters,
)


wrong(
    "a training goes backward alone",
    "You count the operations of one of the two passes. Which one is missing?",
    operations=lambda words_per_second, num_parameters: 4 * words_per_second * num_parameters,
)


wrong(
    "a multiplication and its addition are one operation",
    """How many floating-point operations does it take to multiply two numbers and to add the
    product to a sum?""",
    operations=lambda words_per_second, num_parameters: 3 * words_per_second * num_parameters,
)


wrong(
    "each parameter and word takes one operation",
    "How many operations does training do per parameter and word, forward and backward?",
    operations=lambda words_per_second, num_parameters: words_per_second * num_parameters,
)


wrong(
    "the forward pass is computed twice",
    """Training does that many operations if it computes its forward pass a second time. How many
    does plain training do?""",
    operations=lambda words_per_second, num_parameters: 8 * words_per_second * num_parameters,
)


wrong(
    "a share is at most 1",
    """What should callers see if they have counted wrongly? Read again what the statement says
    about 1.""",
    then=lambda share: min(share, 1.0),
)


wrong(
    "a share is a percentage",
    "Your number is a percentage. What is the share if a device is used fully?",
    then=lambda share: 100 * share,
)


wrong(
    "the peak is divided by what was done",
    "Your number falls when the training gets faster. What is a share of what?",
    share=lambda done, peak_flops: peak_flops / done,
)


wrong(
    "words per second belong in the denominator",
    """What is the unit of the first argument? If words come twice as fast, should the share rise or
    fall?""",
    operations=lambda words_per_second, num_parameters: 6 * num_parameters / words_per_second,
)


wrong(
    "speed has nothing to do with it",
    "Which argument do you not use? Twice as many words a second should give twice the share.",
    words_per_second=1,
)


wrong(
    "a share is a whole number",
    "Your result has lost everything after the decimal point. Which division keeps it?",
    share=lambda done, peak_flops: float(done // peak_flops),
)


wrong(
    "what is left of the peak is the share",
    "Is your number the share that is used, or the one that is not?",
    share=lambda done, peak_flops: 1 - done / peak_flops,
)


wrong(
    "a tensor is a number",
    "The number is right, but its type is not. Which method turns a tensor into a number?",
    then=torch.tensor,
)


@right
def by_time(words_per_second, num_parameters, peak_flops):
    """Compares the time of a word with the shortest possible one."""
    forward, backward = 2 * num_parameters, 4 * num_parameters
    shortest = (forward + backward) / peak_flops
    return shortest / (1 / words_per_second)


@right
def by_peaks(words_per_second, num_parameters, peak_flops):
    words_at_peak = peak_flops / (6.0 * num_parameters)
    return words_per_second / words_at_peak


@right
def by_numpy(words_per_second, num_parameters, peak_flops):
    return np.float64(words_per_second) * 3 * num_parameters * 2 / np.float64(peak_flops)
