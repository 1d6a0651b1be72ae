"""The figures of chapter 10: a roofline, memory, a profile, and who waits for whom."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREY, ORANGE, PURPLE


def roofline(points, bandwidth, marks):
    """Draw the most operations a second that memory and arithmetic allow, and what was measured.

    Args:
        points: list of (size, operations per byte, operations a second) of square products.
        bandwidth: bytes a second.
        marks: dict from a label to a number of operations per byte.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 3.6))
    sizes, intensities, speeds = (np.array(each, dtype=float) for each in zip(*points, strict=True))
    peak = speeds.max()
    reach = np.array([0.05, peak / bandwidth, 2 * max(intensities.max(), peak / bandwidth)])
    ax.plot(reach, np.minimum(reach * bandwidth, peak) / 1e9, color=GREY, linewidth=2.5)
    ax.plot(intensities, speeds / 1e9, "o", color=BLUE, markersize=7, zorder=3)
    for size, x, y in zip(sizes, intensities, speeds / 1e9, strict=True):
        ax.annotate(f"{size:.0f}", (x, y), (0, -15), textcoords="offset points", ha="center")
    for (label, x), colour in zip(marks.items(), (ORANGE, PURPLE), strict=False):
        ax.axvline(x, color=colour, linestyle=":", linewidth=1.5)
        ax.text(x * 1.1, 0.02, label, color=colour, transform=ax.get_xaxis_transform(), fontsize=9)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="arithmetic intensity (operations per byte)",
        ylabel="billion operations a second",
    )
    return figure


def shares_of_time(shares):
    """Draw which kinds of operation a step spends its time in.

    Args:
        shares: dict from a kind to its share, from 0 to 1.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 0.7 + 0.36 * len(shares)))
    percents = [100 * share for share in shares.values()]
    ax.barh(range(len(shares)), percents, color=BLUE, height=0.62)
    for place, percent in enumerate(percents):
        ax.text(percent + 0.8, place, f"{percent:.0f} %", va="center", fontsize=9)
    ax.set(
        xlabel="percent of the step's time",
        yticks=range(len(shares)),
        ylim=(len(shares) - 0.5, -0.5),
        xlim=(0, 1.15 * max(percents)),
    )
    ax.set_yticklabels(shares)
    ax.tick_params(axis="y", length=0)
    return figure


def two_timelines(timelines):
    """Draw when the CPU launches work and when the device does it.

    Args:
        timelines: dict from a title to (launches, kernels), lists of (start, length) in
            microseconds.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(len(timelines), 1, figsize=(5.8, 1.7 * len(timelines)), sharex=True)
    for ax, (title, (launches, kernels)) in zip(axes, timelines.items(), strict=True):
        for row, (bars, colour) in enumerate(((launches, ORANGE), (kernels, BLUE))):
            ax.broken_barh(bars, (row - 0.3, 0.6), color=colour, edgecolor="white", linewidth=1)
        ax.set(title=title, yticks=(0, 1), ylim=(1.6, -0.6))
        ax.set_yticklabels(("CPU launches", "device works"))
        ax.tick_params(axis="y", length=0)
    axes[-1].set_xlabel("microseconds")
    return figure


def gradient_sizes(sizes, smallest, scale):
    """Draw how large the numbers of a gradient are, before and after the loss is scaled.

    Args:
        sizes: (numbers,) absolute values, none of them 0.
        smallest: the smallest positive number of the narrow format.
        scale: the factor by which the loss is multiplied.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 3.0))
    bins = np.arange(-14, 3, 0.25)
    for factor, colour, label in ((1, ORANGE, "as they are"), (scale, BLUE, "loss scaled")):
        ax.hist(np.log10(sizes * factor), bins, color=colour, alpha=0.6, label=label)
    ax.axvspan(bins[0], np.log10(smallest), color="#DDDDDD", zorder=0)
    ax.text(bins[0] + 0.2, 0.93, "0 in float16", transform=ax.get_xaxis_transform(), fontsize=9)
    ax.set(xlabel="size of a number of the gradient, as a power of ten", ylabel="numbers")
    ax.set(yticks=[], xlim=(bins[0], bins[-1]))
    ax.legend(loc="center left")
    return figure
