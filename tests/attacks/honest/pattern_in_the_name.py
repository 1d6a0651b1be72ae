"""Has brackets in the name of the learner's folder, which nbgrader takes for a pattern that no
folder fits.
"""

LEARNER = "ada [group 2]"
