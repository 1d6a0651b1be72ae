"""The figures of chapter 9: a run, its recipe, and a search."""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREY, ORANGE


def learning_rates(curves):
    """Draw the learning rate of each step.

    Args:
        curves: dict from a label to the (steps,) rates, from step 1 on.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 2.7))
    for (label, rates), style in zip(curves.items(), ("-", "--", ":"), strict=False):
        ax.plot(range(1, len(rates) + 1), rates, style, label=label)
    ax.set(xlabel="step", ylabel="learning rate", ylim=(0, None), xlim=(0, None))
    ax.legend(loc="upper right")
    return figure


def loss_of_confidence(probabilities, curves, lowest):
    """Draw the loss of one word against the probability that the model gives it.

    Args:
        probabilities: (points,) of the right word.
        curves: dict from a label to the (points,) losses.
        lowest: dict from the same labels to the (probability, loss) where the curve is lowest, or
            None.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 2.7))
    for (label, losses), style, colour in zip(
        curves.items(), ("--", "-"), (GREY, BLUE), strict=True
    ):
        ax.plot(probabilities, losses, style, color=colour, label=label)
        if lowest[label]:
            ax.plot(*lowest[label], "o", color=colour, markersize=7, clip_on=False, zorder=3)
    ax.set(xlabel="probability of the right word", ylabel="loss", xlim=(0, 1), ylim=(0, None))
    ax.legend(loc="upper right")
    return figure


def two_batches(lengths, titles):
    """Show batches as tables, one row a sentence: words dark, padding light.

    Args:
        lengths: for each batch the words of its sentences.
        titles: one for each batch.

    Returns:
        the matplotlib figure.
    """
    widest, most = max(map(max, lengths)), max(map(len, lengths))
    figure, axes = plt.subplots(1, len(lengths), figsize=(5.6, 2.9))
    for ax, rows, title in zip(axes, lengths, titles, strict=True):
        for row, length in enumerate(rows):
            ax.barh(row, max(rows), height=0.75, color="#D9E3EA")
            ax.barh(row, length, height=0.75, color=BLUE)
        ax.set(title=title, xlabel="position", xlim=(0, widest), ylim=(most - 0.4, -0.6), yticks=[])
        ax.spines.left.set_visible(False)
    axes[0].set_ylabel("sentence of the batch")
    return figure


def beam_tree(levels, edges, chosen):
    """Draw the beginnings that a search compares, from left to right.

    Args:
        levels: for each length the (name, text, place) of the beginnings of that length; place is
            the height in the picture.
        edges: dict from (name, name) to the probability of that word.
        chosen: dict from a label to the names on its way, drawn in a colour each.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 3.0))
    where = {name: (x, y) for x, level in enumerate(levels) for name, _, y in level}
    colours = {
        pair: colour
        for (_, way), colour in zip(chosen.items(), (ORANGE, BLUE), strict=True)
        for pair in itertools.pairwise(way)
    }
    for (start, end), probability in edges.items():
        colour = colours.get((start, end), GREY)
        (x0, y0), (x1, y1) = where[start], where[end]
        ax.plot(
            [x0, x1],
            [y0, y1],
            color=colour,
            linewidth=2.2 if (start, end) in colours else 1,
            zorder=1,
        )
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(
            (x0 + x1) / 2,
            (y0 + y1) / 2,
            f"{probability:.2f}",
            ha="center",
            va="center",
            fontsize=8,
            bbox=box,
        )
    for x, level in enumerate(levels):
        for _, text, y in level:
            box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": GREY}
            ax.text(x, y, text, ha="center", va="center", fontsize=9, bbox=box, zorder=3)
    for (label, way), colour in zip(chosen.items(), (ORANGE, BLUE), strict=True):
        x, y = where[way[-1]]
        ax.text(x + 0.32, y, label, ha="left", va="center", color=colour, fontsize=9)
    heights = [y for _, y in where.values()]
    ax.set(xlim=(-0.3, len(levels) + 0.1), ylim=(min(heights) - 0.5, max(heights) + 0.5))
    ax.axis("off")
    return figure


def learning_curve(training, validation, start):
    """Draw the losses of a run on a logarithmic axis.

    Args:
        training, validation: lists of (step, loss).
        start: the loss of a model that gives every word the same probability.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3.0))
    ax.axhline(start, color=GREY, linewidth=1, linestyle=":")
    ax.text(
        training[-1][0],
        0.9 * start,
        "every word equally likely",
        color=GREY,
        ha="right",
        va="top",
        fontsize=9,
    )
    ax.plot(*zip(*training, strict=True), color=BLUE, label="training, labels smoothed")
    ax.plot(
        *zip(*validation, strict=True),
        "o-",
        color=ORANGE,
        markersize=4,
        label="validation, not smoothed",
    )
    ax.set(xlabel="step", ylabel="loss of a word (log scale)", yscale="log", xlim=(0, None))
    low = min(loss for _, loss in validation)
    levels = [level for level in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5) if level > low / 2]
    ax.set_yticks(levels, [f"{level:g}" for level in levels])
    ax.minorticks_off()
    ax.legend(loc="upper right", bbox_to_anchor=(1, 0.86))
    return figure


def recipe_dots(groups, baseline):
    """Show one score for each seed of each variant of a recipe, one row a variant.

    Args:
        groups: dict from a variant to its scores, from 0 to 1.
        baseline: the variant that the others are compared with; its range is shaded.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.4, 0.7 + 0.27 * len(groups)))
    shaded = [100 * score for score in groups[baseline]]
    ax.axvspan(min(shaded), max(shaded), color="#D9E3EA", linewidth=0)
    ax.axvline(float(np.mean(shaded)), color=GREY, linewidth=1)
    for row, (name, scores) in enumerate(groups.items()):
        percents = [100 * score for score in scores]
        colour = BLUE if name == baseline else ORANGE
        ax.plot(percents, [row] * len(percents), "o", color=colour, alpha=0.55, markeredgewidth=0)
        ax.plot(np.mean(percents), row, "|", color=colour, markersize=13, markeredgewidth=2)
    ax.set(
        xlabel="sentences exactly right, percent",
        yticks=range(len(groups)),
        ylim=(len(groups) - 0.5, -0.5),
        xlim=(-2, 102),
    )
    ax.set_yticklabels(groups)
    ax.tick_params(axis="y", length=0)
    return figure
