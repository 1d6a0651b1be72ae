"""The figures of chapter 10: a roofline, a step by kinds of call, who waits for whom, and the
memory of a step.
"""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE

COLUMNS = 250  # of a drawing of moments: more cannot be told apart, and weigh a megabyte


def roofline(lines, bandwidth, peak):
    """Draw the most FLOPs a second that memory and arithmetic allow, and what was measured.

    Args:
        lines: dict from a label to a list of (what a dot is called, FLOPs per byte, FLOPs a
            second); only the second one's dots are joined.
        bandwidth: bytes a second.
        peak: FLOPs a second.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.9, 3.4))
    all_x = [x for points in lines.values() for _, x, _ in points]
    reach = np.geomspace(0.6 * min(all_x), 1.6 * max(all_x), 200)
    roof = np.minimum(reach * bandwidth, peak) / 1e9
    ax.plot(reach, roof, color=GREY, linewidth=2.5, label="roof")
    looks = ((ORANGE, "s", (-4, 7)), (BLUE, "o-", (4, -13)), (GREEN, "D", (4, -13)))
    for (label, points), (colour, look, side) in zip(lines.items(), looks, strict=True):
        names, x, y = zip(*points, strict=True)
        y = np.array(y) / 1e9
        ax.plot(x, y, look, color=colour, markersize=5, linewidth=1, zorder=3, label=label)
        for each, *spot in zip(names, x, y, strict=True):
            across = "right" if side[0] < 0 else "left"
            ax.annotate(each, spot, side, textcoords="offset points", fontsize=10, ha=across)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="arithmetic intensity (FLOPs per byte)",
        ylabel="billion FLOPs a second",
    )
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(lambda y, _: f"{y:g}" if f"{y:e}"[0] in "25" else "")
    ax.set_ylim(top=1.6 * ax.get_ylim()[1])  # room for a name above the level
    ax.legend(loc="lower right")
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


def step_by_batch(sentences, lines, readings):
    """Draw how long a step takes for larger and larger batches, on logarithmic axes.

    Args:
        sentences: (points,) of a batch.
        lines: dict from a label to (points,) seconds; the last two were not measured.
        readings: dict from the sentences of a batch to all seconds that the first line's step took.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.9, 3.6))
    looks = [(ORANGE, "o-"), (BLUE, "o-"), (GREY, "--"), (GREEN, ":")]
    for (label, seconds), (colour, look) in zip(lines.items(), looks, strict=True):
        ax.plot(sentences, 1000 * np.array(seconds), look, color=colour, markersize=5, label=label)
    for count, seen in readings.items():
        ax.plot([count] * len(seen), 1000 * np.array(seen), "_-", color=ORANGE, linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="sentences in a batch", ylabel="milliseconds")
    ax.set_xticks(sentences, [f"{each:,}" for each in sentences])
    ax.set_yticks([10**power for power in range(-1, 3)], ["0.1", "1", "10", "100"])
    ax.minorticks_off()
    figure.legend(loc="outside upper left", ncols=2, fontsize=9)
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


def memory_of_a_step(line, phases, gradients, always, logits, other=None):
    """Draw how much memory a training step holds from one moment to the next: of thousands of
    moments, the one with the most in each of `COLUMNS` equal spans of time.

    Args:
        line: list of (seconds, bytes beyond what is there all the time).
        phases: dict from the name of a phase to its (first second, last second), in their order.
        gradients: list of (seconds, bytes of all gradients so far).
        always: bytes that are there all the time.
        logits: bytes that the loss holds at the peak.
        other: (name, line, phases) of another way to take this step, drawn as an outline.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3.0))
    always = always / 1e6
    times, sizes, ends = _fullest_moments(line, phases)
    made, held = np.array([(0.0, 0), *gradients]).T * [[1e3], [1e-6]]
    below = held[np.searchsorted(made, times, side="right") - 1]
    top, right = sizes.max() + always, ends
    looks = {"step": "post", "linewidth": 0}
    over = np.maximum(sizes, below)
    for low, high, colour, name in (
        (below, over, GREEN, "activations"),
        (0 * below, below, ORANGE, "gradients"),
        (0 * below - always, 0 * below, PURPLE, "weights, moments"),
    ):
        ax.fill_between(
            times, always + low, always + high, color=colour, alpha=0.55, label=name, **looks
        )
    if other is not None:
        name, other_line, other_phases = other
        then, outline, other_ends = _fullest_moments(other_line, other_phases)
        then, outline = np.append(then, other_ends), np.append(outline, 0.0)  # back to `always`
        ax.plot(then, always + outline, color=GREY, drawstyle="steps-post", label=name)
        top, right = max(top, outline.max() + always), max(right, other_ends)
    peak = sizes.argmax()
    x, y = times[peak], always + sizes[peak]
    ax.plot([x, x], [y - logits / 1e6, y], color="black", linewidth=1.2, marker="_")
    ax.text(x + 0.02 * right, y - logits / 2e6, "logits", va="center")
    for name, (begin, end) in phases.items():
        ax.axvline(1e3 * end, color=GREY, linestyle=":", linewidth=1)
        ax.text(5e2 * (begin + end), 1.06 * top, name, ha="center", color=GREY)
    ax.legend(loc="upper right", bbox_to_anchor=(1, 0.93))
    ax.set(xlabel="milliseconds", ylabel="MB in use", xlim=(0, right), ylim=(0, 1.15 * top))
    return figure


def _fullest_moments(line, phases):
    """Return the milliseconds and megabytes of the fullest moment in each column, and the
    millisecond at which the last phase ends.
    """
    ends = 1e3 * list(phases.values())[-1][1]
    times, sizes = np.array([(0.0, 0), *line, (ends / 1e3, line[-1][1])]).T * [[1e3], [1e-6]]
    column = np.floor(COLUMNS * times / ends)
    most = [
        place[sizes[place].argmax()]
        for place in (np.flatnonzero(column == each) for each in np.unique(column))
    ]
    return times[most], sizes[most], ends
