"""The curves of chapter 11: cost by length, and how well a short text predicts a long one."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREEN, GREY, ORANGE


def cost_by_length(lengths, curves, unit):
    """Draw what grows with the length, on logarithmic axes.

    Args:
        lengths: (points,) words.
        curves: dict from a label to (points,) numbers.
        unit: what the numbers count.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    for (label, numbers), colour in zip(curves.items(), (ORANGE, BLUE), strict=True):
        ax.plot(lengths, numbers, "o-", color=colour, markersize=5, label=label)
    ax.set(xscale="log", yscale="log", xlabel="words", ylabel=unit)
    ax.legend(loc="upper left")
    return figure


def measured_over_promised(lengths, runs, start):
    """Draw how many times as long each run took as its own time at one length promises, if time
    grows with the square of the length.

    Args:
        lengths: (points,) words.
        runs: lists of (points,) seconds, one for each run.
        start: index of the length from which to extrapolate.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    lengths = np.array(lengths)
    squares = (lengths / lengths[start]) ** 2
    ax.axhline(1, color=GREY, linewidth=1)
    for number, (times, colour) in enumerate(zip(runs, (ORANGE, BLUE, GREEN), strict=True), 1):
        ratio = np.array(times) / (times[start] * squares)
        ax.plot(lengths, ratio, "o-", color=colour, markersize=5, label=f"run {number}")
    ax.set(xscale="log", xlabel="words", ylabel="measured / promised", ylim=(0, None))
    ax.set_xticks(lengths, [f"{each // 1000}k" for each in lengths])
    ax.minorticks_off()
    ax.legend(loc="lower right")
    return figure
