"""The figures of what has changed since 2017: trainings of equal cost, and tiny models by size."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE


def equal_trainings(sizes, curves):
    """Show what a law of scaling says of models of all sizes that cost the same to train.

    Args:
        sizes: numbers of parameters.
        curves: dict from the name of a model to (losses of all sizes at the cost of its training,
            its own size, its own loss).

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3.6))
    names = zip(curves.items(), (ORANGE, GREEN, BLUE, PURPLE), ("s", "o", "^", "D"), strict=False)
    for (name, (losses, size, loss)), colour, sign in names:
        ax.plot(sizes, losses, color=colour, lw=1.5)
        best = int(np.argmin(losses))
        ax.plot(sizes[best], losses[best], "|", color=colour, markersize=13, mew=2)
        ax.plot(size, loss, sign, color=colour, markersize=8, label=name)
    ax.set_xscale("log")
    ax.set(xlabel="parameters", ylabel="loss, nats per token (by the law)", ylim=(1.9, 2.35))
    ax.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.55, 1.0))
    return figure


def losses_and_lines(panels):
    """Show losses on logarithmic axes, and the straight line that fits them best.

    Args:
        panels: dict from the name of an axis to list of (size, loss), several of each size.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(5.6, 2.8), sharey=True)
    for ax, (name, points) in zip(axes, panels.items(), strict=True):
        sizes, losses = np.array(points).T
        slope, start = np.polyfit(np.log(sizes), np.log(losses), 1)
        ends = np.array([sizes.min(), sizes.max()])
        ax.plot(ends, np.exp(start) * ends**slope, "--", color=GREY, label="best straight line")
        ax.plot(sizes, losses, "o", color=BLUE, alpha=0.6, markersize=5, mew=0)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_yticks([1.6, 2, 2.5], ["1.6", "2.0", "2.5"])
        ax.minorticks_off()
        ax.set(xlabel=name)
    axes[0].set(ylabel="loss, nats per letter")
    axes[0].legend(fontsize=9)
    return figure
