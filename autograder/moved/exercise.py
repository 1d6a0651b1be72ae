"""The name that private cases and an older `nbgrader_config.py` know; write
`autograder.authoring.exercise` or `autograder.authoring.loading` in new ones.
"""

from autograder.authoring.exercise import *  # noqa: F403
from autograder.authoring.loading import *  # noqa: F403
