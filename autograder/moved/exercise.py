"""The name that private cases and an older `nbgrader_config.py` know; write
`autograder.authoring.exercise` in new ones.
"""

from autograder.authoring.exercise import *  # noqa: F403
