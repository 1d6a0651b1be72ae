"""Checks of `ch09_training`.

No model is trained here: a small one, made of weights that the case holds, stands in for it, and a
table for what a model would say (see `autograder.shared.probes`). Inputs of searches are drawn
again until the right answer is clear, and until the wrong ones that a case is there for answer
otherwise. The contract leaves open, and so nothing here asks: what an impossible extension, of
log-probability -inf, may still become where nothing else is left; how often a model is asked; and
gradients after a step.
"""

BOS, EOS, FIRST_WORD = 1, 2, 4
