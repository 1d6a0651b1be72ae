"""A learning rate that rises along a line, then falls with the square root of the step."""

import math

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import returned_number
from solutions.ch09_training import noam_rate

# wide, with long warm-ups: the rates are small, so that float32 is precise enough
WIDTHS = (384, 512, 640, 768, 896, 1024)


@drawn
def rate_case(rng, low, high):
    """Draw a step as a part of the warm-up, between two bounds."""
    warmup_steps = 100 * integer(rng, 80, 200)
    step = int(warmup_steps * (rng.uniform(low, high) if high > low else low))
    return {"step": step, "d_model": int(rng.choice(WIDTHS)), "warmup_steps": warmup_steps}


@drawn
def first_steps(rng, step):
    return {**rate_case(rng, 1, 2), "step": step}


def noam_with(
    first=lambda step: max(step, 1),
    choose=min,
    falling=lambda step, warmup_steps: step**-0.5,
    rising=lambda step, warmup_steps: step * warmup_steps**-1.5,
    factor=lambda d_model: d_model**-0.5,
):
    """Make a schedule from its rules."""

    def rate(step, d_model, warmup_steps):
        step = first(step)
        return factor(d_model) * choose(falling(step, warmup_steps), rising(step, warmup_steps))

    return rate


checks = Checks(noam_rate, family=noam_with, probe=returned_number)
shown, hidden, wrong, right = checks.words

shown("in the middle of the warm-up", rate_case(0.2, 0.8), weight=2)
shown("after the warm-up", rate_case(1.5, 6), weight=2)
shown("step 0 is treated as step 1", first_steps(0))
shown("the first step", first_steps(1))
shown("the highest rate", rate_case(1, 1))
hidden("early in the warm-up", rate_case(0.01, 0.2), weight=2)
hidden("soon after the warm-up", rate_case(1.1, 1.4), weight=2)
hidden("long after the warm-up", rate_case(40, 900))
hidden("before the first step", first_steps(0))
hidden("the second step of all", first_steps(2))
hidden("at the peak of the curve", rate_case(1, 1))


wrong(
    "step 0 is a step like others",
    "What is 0 to the power of -0.5? Schedulers ask for step 0, too.",
    first=int,
)


@wrong(
    "before the first step the rate is 0",
    "With a rate of 0 a step is lost. Which step should step 0 be treated as?",
    around=True,
)
def of_0_first(right, step, *others):
    return right(step, *others) if step else 0.0


wrong(
    "steps count from 0",
    """Your rates are those of the next step. From which number do steps count, and which one is the
    exception?""",
    step=lambda step: step + 1,
)


wrong(
    "the larger of the two counts",
    """Your rate starts very high, falls, and then grows without end. Compute both parts for step 1:
    which one is meant?""",
    choose=max,
)


wrong(
    "the rate only rises",
    "Right until the warm-up ends. What should happen then?",
    choose=lambda falling, rising: rising,
)


wrong(
    "the rate only falls",
    "Right after the warm-up. Your first step is the largest of all; what is the warm-up for?",
    choose=lambda falling, rising: falling,
)


wrong(
    "after the warm-up the rate stays",
    "Right until the warm-up ends. Does your rate ever fall?",
    falling=lambda step, warmup_steps: warmup_steps**-0.5,
)


wrong(
    "both parts have the power -0.5",
    """At the end of the warm-up both parts should be equal. Are yours? Look at the powers once
    more.""",
    rising=lambda step, warmup_steps: step * warmup_steps**-0.5,
)


wrong(
    "the power -1.5 belongs to the whole product",
    "During the warm-up the rate should rise along a line. What does the power -1.5 apply to?",
    rising=lambda step, warmup_steps: (step * warmup_steps) ** -1.5,
)


wrong(
    "wide models take large steps",
    "Your rate is too high by a factor of d_model. What is the sign of the first power?",
    factor=lambda d_model: d_model**0.5,
)


wrong(
    "a minus binds before a power and a division",
    """The shape of your curve is right, but a factor is wrong. In which order does Python evaluate
    a power and a division?""",
    factor=lambda d_model: d_model**-1 / 2,
)


wrong(
    "the width plays no part",
    "The shape of your curve is right, but its height is wrong. Which argument is not used?",
    d_model=1,
)


wrong(
    "the width is 512",
    "Right for a d_model of 512. Is a number written in your code that should be an argument?",
    d_model=512,
)


wrong(
    "the warm-up takes 4000 steps",
    "Right after the warm-up. Is a number written in your code that should be an argument?",
    warmup_steps=4000,
)


@wrong(
    "the highest rate is 1",
    """Your curve has the right shape, but its height is 1. The formula gives the rate itself, not a
    factor for it.""",
)
def up_to_1(step, d_model, warmup_steps):
    step = max(step, 1)
    return min(step / warmup_steps, (warmup_steps / step) ** 0.5)


wrong(
    "a tensor is a number",
    "The number is right, but its type is not. Which method turns a tensor into a Python number?",
    then=torch.tensor,
)


@right
def by_branches(step, d_model, warmup_steps):
    step = step or 1
    if step < warmup_steps:
        return step / (math.sqrt(d_model) * warmup_steps * math.sqrt(warmup_steps))
    return 1 / math.sqrt(d_model * step)


@right
def by_numpy(step, d_model, warmup_steps):
    step = np.maximum(step, 1)
    return np.power(float(d_model), -0.5) * np.minimum(
        1 / np.sqrt(step), step / np.power(warmup_steps, 1.5)
    )


@right
def by_the_peak(step, d_model, warmup_steps):
    part = (step or 1) / warmup_steps
    return float(min(part, part**-0.5) / (d_model * warmup_steps) ** 0.5)
