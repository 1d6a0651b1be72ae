"""The figures of chapter 10: a roofline, a step by kinds of call, who waits for whom, gradients
that vanish, and the memory of a step.
"""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE


def roofline(sweeps, bandwidth, peak):
    """Draw the most FLOPs a second that memory and arithmetic allow, and what was measured.

    Args:
        sweeps: dict from a label to a list of (words, FLOPs per byte, FLOPs a second).
        bandwidth: bytes a second.
        peak: FLOPs a second.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.8, 3.8))
    reach = np.array([0.05, peak / bandwidth, 400])
    ax.plot(reach, np.minimum(reach * bandwidth, peak) / 1e9, color=GREY, linewidth=2.5)
    for (label, points), colour in zip(sweeps.items(), (BLUE, GREEN), strict=False):
        words, x, y = (np.array(each, dtype=float) for each in zip(*points, strict=True))
        ax.plot(x, y / 1e9, "o-", color=colour, markersize=5, linewidth=1, zorder=3, label=label)
        for count, place in zip(words, zip(x, y / 1e9, strict=True), strict=True):
            if colour == BLUE:
                ax.annotate(f"{count:.0f}", place, (2, -14), textcoords="offset points", fontsize=9)
    ax.plot(1 / 12, bandwidth / 12 / 1e9, "s", color=ORANGE, markersize=7, zorder=3)
    place = (1 / 12, bandwidth / 12 / 1e9)
    ax.annotate("addition", place, (8, -4), textcoords="offset points", color=ORANGE)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="arithmetic intensity (FLOPs per byte)",
        ylabel="billion FLOPs a second",
    )
    ax.legend(loc="upper left", title="the weights")
    return figure


COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY, "#D7D7D7")


def step_by_kind(steps):
    """Draw what a step spends its time on, for batches of several sizes.

    Args:
        steps: dict from a label to a dict from a kind of call to its milliseconds.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.2, 1.9 + 0.4 * len(steps)))
    kinds, left = list(next(iter(steps.values()))), np.zeros(len(steps))
    for kind, colour in zip(kinds, COLOURS, strict=False):
        wide = np.array([found[kind] for found in steps.values()])
        ax.barh(range(len(steps)), wide, left=left, color=colour, height=0.6, label=kind)
        left += wide
    for place, whole in enumerate(left):
        ax.text(whole + 0.01 * left.max(), place, f"{whole:.0f} ms", va="center", fontsize=9)
    ax.set(xlabel="milliseconds", yticks=range(len(steps)), ylim=(len(steps) - 0.5, -0.5))
    ax.set(xlim=(0, 1.13 * left.max()))
    ax.set_yticklabels(steps)
    ax.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper left", ncols=3, fontsize=9)
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


def gradient_sizes(kinds, smallest, lost):
    """Draw how large the gradients of each kind are, and which share float16 loses.

    Args:
        kinds: dict from a kind to (numbers,) sizes, none of them 0.
        smallest: the smallest positive number of the narrow format.
        lost: dict from a kind to the shares that are lost, as they are and after scaling.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.2, 0.9 + 0.42 * len(kinds)))
    bins = np.arange(-12, 0.01, 0.25)
    for place, sizes in enumerate(kinds.values()):
        counts, _ = np.histogram(np.log10(sizes), bins)
        high = place + 0.3 - 0.75 * counts / counts.max()
        ax.fill_between(bins[:-1] + 0.125, place + 0.3, high, color=BLUE, alpha=0.75, linewidth=0)
    for place, kind in enumerate(kinds):
        plain, scaled = (f"{100 * share:.1f} %" for share in lost[kind])
        ax.text(0.2, place + 0.15, plain, fontsize=9, ha="left")
        ax.text(2.1, place + 0.15, scaled, fontsize=9, ha="left")
    ax.text(0.2, -0.85, "lost", fontsize=9)
    ax.text(2.1, -0.85, "scaled", fontsize=9)
    ax.axvspan(bins[0], np.log10(smallest), color="#DDDDDD", zorder=0)
    ax.text(bins[0] + 0.15, -0.85, "0 in float16", fontsize=9)
    ax.set(xlabel="size of a number, as a power of ten", yticks=range(len(kinds)))
    ax.set(xlim=(bins[0], 3.8), ylim=(len(kinds) - 0.5, -1.2), xticks=range(-12, 1, 2))
    ax.set_yticklabels(kinds)
    ax.tick_params(axis="y", length=0)
    return figure


def memory_of_a_step(line, phases, always):
    """Draw how much memory a training step holds from one moment to the next.

    Args:
        line: list of (seconds, bytes beyond what is there all the time).
        phases: dict from the name of a phase to its (first second, last second), in their order.
        always: bytes that are there all the time.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.2, 3.1))
    moments, sizes = np.array([(0.0, 0), *line]).T
    ends = phases[list(phases)[-1]][1]
    moments, sizes = 1e3 * np.append(moments, ends), (np.append(sizes, sizes[-1]) + always) / 1e6
    ax.fill_between(moments, always / 1e6, sizes, step="post", color=GREEN, alpha=0.55, linewidth=0)
    ax.fill_between([0, 1e3 * ends], 0, always / 1e6, color=PURPLE, alpha=0.45, linewidth=0)
    ax.text(0.01 * 1e3 * ends, 0.35 * always / 1e6, "weights and moments", fontsize=9)
    low = 0.85 * always / 1e6 + 0.15 * sizes.max()
    begin = phases[list(phases)[1]][0] + 0.02 * ends
    ax.text(1e3 * begin, low, "activations, gradients", fontsize=9)
    for (name, (begin, end)), colour in zip(phases.items(), (BLUE, ORANGE, PURPLE), strict=False):
        ax.axvline(1e3 * end, color=GREY, linestyle=":", linewidth=1)
        ax.text(5e2 * (begin + end), 1.05 * sizes.max(), name, color=colour, ha="center")
    ax.set(xlabel="milliseconds", ylabel="MB in use", xlim=(0, 1e3 * ends))
    ax.set(ylim=(0, 1.15 * sizes.max()))
    return figure
