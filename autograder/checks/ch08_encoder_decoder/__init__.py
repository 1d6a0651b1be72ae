"""Checks of `ch08_encoder_decoder`.

Several cases set dropout to 1: then everything that passes a dropout in train mode is exactly 0,
and nothing is left to chance. Others stack no layers at all, so that what goes into a stack is seen
as it is. The contract leaves open, and so nothing here asks: a source of nothing but padding, and a
target that begins with padding. A case about gradients has no padding: `padding_idx` is as good as
none.
"""
