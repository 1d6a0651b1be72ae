"""The figures of chapter 11: cost by length, tiles, a cache that grows, and shared heads."""

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from book.figures.style import BLUE, GREEN, ORANGE


def cost_by_length(lengths, curves, unit):
    """Draw what grows with the length, on logarithmic axes.

    Args:
        lengths: (points,) words.
        curves: dict from a label to (points,) numbers.
        unit: what the numbers count.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 3.4))
    for (label, numbers), colour in zip(curves.items(), (ORANGE, BLUE, GREEN), strict=False):
        ax.plot(lengths, numbers, "o-", color=colour, markersize=5, label=label)
    ax.set(xscale="log", yscale="log", xlabel="words", ylabel=unit)
    ax.legend(loc="upper left")
    return figure


def largest_tensors(shapes):
    """Draw tensors to one scale, as rectangles that have their shapes.

    Args:
        shapes: dict from a label to (rows, columns).

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 3.4))
    left, tallest = 0, max(rows for rows, _ in shapes.values())
    for (label, (rows, columns)), colour in zip(shapes.items(), (ORANGE, BLUE), strict=False):
        ax.add_patch(Rectangle((left, 0), columns, rows, color=colour, alpha=0.75, linewidth=0))
        text = f"{label}\n{rows:,} × {columns:,} = {rows * columns:,}"
        ax.text(left, 1.04 * tallest, text, fontsize=9, va="bottom")
        left += max(columns, 0.75 * tallest) + 0.25 * tallest
    ax.set(xlim=(-0.02 * left, left + 0.2 * tallest), ylim=(-0.02 * tallest, 1.3 * tallest))
    ax.set_aspect("equal")
    ax.axis("off")
    return figure
