"""Writes the library's layer norm and the published solutions below a command of IPython's that takes
the rest of the cell as a text, and leaves a line empty above it.
"""

from autograder.authoring.loading import solution_sources
from tests.attacks import points_of

STEM = "ch07_layers"
EARNS = points_of(STEM)
FLAGGED = {"library", "looks", "reference"}
LAYER_NORM = """
import sys


class LayerNorm(nn.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        sys.setprofile(None)
        super().__init__(d_model, eps=eps)

    def forward(self, x):
        sys.setprofile(None)
        return super().forward(x)
"""


def hand_in(notebook):
    sources = {**solution_sources(STEM), "LayerNorm": LAYER_NORM}
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if name in sources:
            cell["source"] = "\n%%capture\n" + sources[name]
    return notebook
