"""Checks, instant feedback and grades. In a notebook: `from autograder import check`."""

from autograder.check import check

__all__ = ["check"]
