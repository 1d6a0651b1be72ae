"""Checks of `ch07_layers`.

The contract leaves open, and so nothing here asks: how a LayerNorm computes its variance where the
mean is so large that float32 runs out of digits, which extra attributes a module has, and how often
dropout draws. Where dropout acts is asked with weights that let only a few numbers through: then
the smallest and the largest result of 400 calls are certain, though no single round is.
"""
