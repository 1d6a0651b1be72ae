"""Checks of `ch05_multi_head`.

The contract leaves open, and so nothing here asks: a float16 under a mask (ch06 does), how weights
are initialised, whether the returned tensors lie side by side in memory.
"""

from autograder.authoring.drawn import drawn, integer


@drawn
def sizes_that_do_not_fit(rng, most_heads):
    """Draw a d_model and a number of heads below `most_heads` that does not divide it."""
    num_heads = integer(rng, 3, most_heads)
    d_model = num_heads * integer(rng, 1, 4) + integer(rng, 1, num_heads)
    return {"d_model": d_model, "num_heads": num_heads}


def require_a_divisor(d_model, num_heads):
    if d_model % num_heads:
        raise ValueError("the heads cannot share these features evenly")
