"""Checks of `ch04_attention`: what its exercises share."""

import numpy as np

from autograder.authoring.drawn import drawn


@drawn
def normal(rng, *shape, scale=1.0, dtype=np.float64):
    """Draw numbers with one decimal, which read well in a message."""
    rounded = (scale * rng.normal(size=shape)).round(1)
    return (rounded + 0.0).astype(dtype)  # + 0.0 makes -0.0 a plain 0


@drawn
def halves(rng, *shape, low, high):
    """Draw float16 numbers whose products and sums are exact, so that every right order of
    operations gives the same.
    """
    return (rng.integers(2 * low, 2 * high + 1, size=shape) / 2).astype(np.float16)
