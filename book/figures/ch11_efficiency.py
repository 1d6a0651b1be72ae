"""The curves of chapter 11: cost by length, and what a short text promises for a long one."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREY, ORANGE


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
    for (label, numbers), colour in zip(curves.items(), (ORANGE, BLUE), strict=True):
        ax.plot(lengths, numbers, "o-", color=colour, markersize=5, label=label)
    ax.set(xscale="log", yscale="log", xlabel="words", ylabel=unit)
    ax.legend(loc="upper left")
    return figure


def measured_and_promised(lengths, runs, start):
    """Draw the times of several runs as dots, and as a band what their times at one length
    promise for all others, if time grows with the square of the length.

    Args:
        lengths: (points,) words.
        runs: lists of (points,) seconds, one for each run.
        start: index of the length from which to extrapolate.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 3.4))
    lengths = np.array(lengths)
    low, high = (
        best([times[start] for times in runs]) * (lengths / lengths[start]) ** 2
        for best in (min, max)
    )
    label = f"{lengths[start]:,} words, times the square"
    ax.fill_between(lengths, low, high, color=GREY, alpha=0.35, linewidth=0, label=label)
    for number, (times, colour) in enumerate(zip(runs, (ORANGE, BLUE), strict=True), 1):
        ax.plot(lengths, times, "o", color=colour, markersize=5, label=f"run {number}, measured")
    ax.set(xscale="log", yscale="log", xlabel="words", ylabel="seconds")
    ax.legend(loc="upper left")
    return figure
