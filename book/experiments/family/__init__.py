"""Experiments on four models from the same blocks."""
