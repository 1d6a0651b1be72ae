"""Checks, instant feedback and grades. In a notebook: `from autograder import check`."""

from autograder.learner import check

__all__ = ["check"]
