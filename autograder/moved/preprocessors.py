"""The name that private cases and an older `nbgrader_config.py` know; write
`autograder.grading.nbgrader_plugin` in new ones.
"""

from autograder.grading.nbgrader_plugin import *  # noqa: F403
