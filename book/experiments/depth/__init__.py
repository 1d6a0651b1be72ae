"""Experiments on deep stacks of encoder layers, new and in training."""
