"""Checks of `ch03_bottleneck`.

The contract leaves open, and so nothing here asks: an empty sentence, batches, float16. Weights of
the recurrent network are drawn small enough that its states stay well inside -1 and 1: where tanh
is flat, a wrong sum looks right.
"""
