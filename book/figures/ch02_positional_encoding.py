"""The figures of chapter 2: clocks, and how alike positions are."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from book.figures.style import BLUE, GREY, ORANGE


def _signed_colours():
    return LinearSegmentedColormap.from_list("signed", [ORANGE, "white", BLUE])


def position_heatmap(encoding):
    """Show an encoding as colours from -1 (orange) over 0 (white) to 1 (blue), one row a position.

    Args:
        encoding: (positions, columns) between -1 and 1.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.6))
    image = ax.imshow(
        encoding, cmap=_signed_colours(), vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
    )
    ax.set(xlabel="column", ylabel="position")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    figure.colorbar(image, ax=ax, ticks=[-1, 0, 1], shrink=0.8, aspect=25)
    return figure


def similarity_by_offset(curves):
    """Draw how alike the encodings of two positions are against the distance between them.

    Args:
        curves: dict from the number of columns to the (offsets,) similarities at offsets 0, 1, 2
            and so on.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    for (columns, similarity), colour, width in zip(
        curves.items(), (GREY, ORANGE, BLUE), (1.0, 1.4, 2.2), strict=True
    ):
        ax.plot(similarity, color=colour, linewidth=width, label=f"{columns} columns")
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.set(
        xlabel="offset between the positions",
        ylabel="similarity",
        ylim=(-0.6, 1.05),
        xlim=(0, None),
        yticks=[-0.5, 0, 0.5, 1],
    )
    ax.legend(loc="lower center", ncols=3, handlelength=1.2, columnspacing=1.2)
    return figure


def signed_matrix(matrix, decimals=3):
    """Show a small square matrix as colours from -1 (orange) over 0 (white) to 1 (blue), its
    non-zero numbers in the cells.
    """
    figure, ax = plt.subplots(figsize=(4.6, 3.4))
    ax.imshow(matrix, cmap=_signed_colours(), vmin=-1, vmax=1, aspect="auto")
    ax.set(xlabel="column of $PE[pos]$", ylabel="column of $PE[pos + k]$")
    ax.set_xticks(range(len(matrix)))
    ax.set_yticks(range(len(matrix)))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for (row, column), number in np.ndenumerate(matrix):
        if number != 0:
            colour = "white" if abs(number) > 0.6 else "black"
            ax.text(
                column,
                row,
                f"{number:.{decimals}f}",
                ha="center",
                va="center",
                color=colour,
                fontsize=8,
            )
    return figure
