"""The figures of chapter 1: how alike the rows of a table are, and how they learn."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from book.figures.style import BLUE, GREY, ORANGE


def similarity_pair(before, after, labels, titles=("before", "after")):
    """Show two matrices of cosine similarities, from -1 (orange) over 0 (white) to 1 (blue).

    Args:
        before, after: (words, words) cosine similarities.
        labels: the words.

    Returns:
        the matplotlib figure.
    """
    colours = LinearSegmentedColormap.from_list("cosine", [ORANGE, "white", BLUE])
    figure, axes = plt.subplots(1, 2, figsize=(4.4, 2.9), sharey=True)
    for ax, matrix, title in zip(axes, (before, after), titles, strict=True):
        image = ax.imshow(matrix, cmap=colours, vmin=-1, vmax=1)
        ax.set_title(title)
        ax.set_xticks(range(len(labels)), labels, rotation=90)
        ax.set_yticks(range(len(labels)), labels)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    bar = figure.colorbar(
        image, ax=axes, location="bottom", shrink=0.6, aspect=30, ticks=[-1, 0, 1]
    )
    bar.set_label("cosine similarity")
    return figure


def loss_and_width(curves, lines, widths, cosines):
    """Draw the loss of trainings from two starts, and beside it how alike rows become with more
    columns.

    Args:
        curves: dict from a label to the (seeds, steps) losses.
        lines: dict from a label to a loss that a dashed line marks.
        widths: numbers of columns.
        cosines: dict from a label to the (widths, seeds) mean cosines within a group.

    Returns:
        the matplotlib figure.
    """
    figure, (left, right) = plt.subplots(2, 1, figsize=(4.6, 5.4))
    for colour, (label, losses) in zip((ORANGE, BLUE), curves.items(), strict=True):
        for place, each in enumerate(losses):
            left.plot(each, color=colour, linewidth=0.9, label=None if place else label)
    for label, loss in lines.items():
        left.axhline(loss, color=GREY, linewidth=0.9, linestyle="--", zorder=0)
        left.annotate(
            label, (1, loss), (-2, 3 if loss > 3 else -11), xycoords=("axes fraction", "data"),
            ha="right", textcoords="offset points", color=GREY,
        )  # fmt: skip
    left.set(xlabel="step", ylabel="loss", xlim=(0, len(each) - 1), ylim=(0, None))
    left.legend(title="size of the start", loc="upper right")
    sides = (0.96, 1.04)  # so that no point hides another
    for side, colour, (label, means) in zip(sides, (ORANGE, BLUE), cosines.items(), strict=True):
        middle = np.mean(means, axis=1)
        right.plot(widths, middle, color=colour)
        right.plot(side * np.array(widths), means, "o", color=colour, alpha=0.6, markeredgewidth=0)
        below = -16 if middle[-1] > 0.5 else -5  # of the line
        right.annotate(
            label, (widths[-1], middle[-1]), (-14, below), textcoords="offset points", ha="right",
            color=colour,
        )  # fmt: skip
    right.set_xscale("log", base=2)
    right.set_xticks(widths, widths)
    right.set(xlabel="columns (d_model)", ylabel="cosine, same group", ylim=(0, 1.1))
    right.minorticks_off()
    return figure
