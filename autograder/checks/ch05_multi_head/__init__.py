"""Checks of `ch05_multi_head`.

The contract leaves open, and so nothing here asks: a float16 under a mask (ch06 does), how weights
are initialised, whether the returned tensors lie side by side in memory.
"""


def require_a_divisor(d_model, num_heads):
    if d_model % num_heads:
        raise ValueError("the heads cannot share these features evenly")
