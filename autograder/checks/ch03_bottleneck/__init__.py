"""Checks of `ch03_bottleneck`.

The contract leaves open, and so nothing here asks: an empty sentence, batches, float16. Weights of
the recurrent network are drawn small enough that its states stay well inside -1 and 1: where tanh
is flat, a wrong sum looks right.
"""

import numpy as np


def sizeable(rng, *shape, largest=1.0, dtype=np.float64):
    """Draw numbers between a fifth of the largest and the largest in size: none so small that it
    could go unseen.
    """
    tenths = rng.integers(2, 11, size=shape) * rng.choice([-1, 1], size=shape)
    return (tenths / 10 * largest).round(3).astype(dtype)
