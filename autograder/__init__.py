"""Checks, instant feedback and grades. In a notebook: `from autograder import check`."""

import sys

from autograder.shared.learner import check

__all__ = ["check"]

# Names from before the modules had rooms, which a class's private cases and its own
# `nbgrader_config.py` may still import.
__path__.append(f"{__path__[0]}/moved")

# nbformat loads jsonschema, which loads this where it is installed, for a kind of address that no
# notebook holds: it compiles a grammar at its import, which takes longer than all else that a
# grader loads.
sys.modules.setdefault("rfc3987_syntax", None)
