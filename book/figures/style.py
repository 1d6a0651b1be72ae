"""One style for every figure of the book."""

import matplotlib.pyplot as plt
from matplotlib_inline.backend_inline import set_matplotlib_formats

from book.palette import SERIES, colours

# Figures are drawn on white: in the dark theme a page inverts them.
QUERY, KEY, ENCODER, DECODER, MASKED = (
    colours()[role] for role in ("query", "key", "encoder", "decoder", "masked")
)
BLUE, ORANGE, GREEN, PURPLE, GREY = (colours()[name] for name in SERIES)
SEQUENTIAL = "Blues"

STYLE = {
    "figure.figsize": (6.4, 3.2),
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.prop_cycle": plt.cycler(color=[BLUE, ORANGE, GREEN, PURPLE, GREY]),
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "attention",  # the same figure gives the same bytes
}


def use_house_style():
    """Draw every figure of this page as SVG in the style of the book."""
    set_matplotlib_formats("svg", metadata={"Date": None})
    plt.rcParams.update(STYLE)
