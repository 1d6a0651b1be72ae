"""The figures of chapter 1: vocabularies, one-hot vectors, and the table's gradient."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from book.figures.maps import heatmap
from book.figures.style import BLUE, GREY, ORANGE


def coverage_curve(sizes, curves):
    """Draw the share of words that a vocabulary does not know, against its size.

    Args:
        sizes: (points,) vocabulary sizes.
        curves: dict from a label to the (points,) shares, between 0 and 1.

    Returns:
        the matplotlib figure.
    """
    _, ax = plt.subplots(figsize=(4.6, 3.0))
    for colour, (label, shares) in zip((BLUE, ORANGE), curves.items(), strict=True):
        ax.plot(sizes, 100 * np.asarray(shares), color=colour)
        middle = len(sizes) // 2
        ax.annotate(
            label,
            (sizes[middle], 100 * shares[middle]),
            (6, 6),
            textcoords="offset points",
            color=colour,
        )
    ax.set(
        xlabel="max_size (entries in the vocabulary)",
        ylabel="unknown words (%)",
        ylim=(0, 103),
        xlim=(0, None),
    )
    return ax.figure


def dot_product_pair(first, second, labels, titles):
    """Show two small matrices of dot products side by side, each on a colour scale of its own."""
    figure, axes = plt.subplots(1, 2, figsize=(4.7, 2.3))
    for ax, matrix, title in zip(axes, (first, second), titles, strict=True):
        heatmap(matrix, labels, labels, xlabel="", ylabel="", title=title, decimals=0, ax=ax)
    return figure


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


def seed_spread(groups):
    """Draw one dot for each seed, one row for each kind of pair.

    Args:
        groups: dict from a label to the (seeds,) mean cosine similarities.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.4, 2.3))
    for row, (label, numbers) in enumerate(groups.items()):
        colour = BLUE if "same" in label else ORANGE
        ax.plot(
            numbers,
            np.full(len(numbers), -row),
            "o",
            color=colour,
            alpha=0.6,
            markeredgewidth=0,
            markersize=7,
        )
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_yticks([-row for row in range(len(groups))], groups)
    ax.set(
        xlabel="mean cosine similarity, one dot per seed",
        xlim=(-0.3, 1.05),
        ylim=(-len(groups) + 0.5, 0.5),
    )
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return figure
