"""The figures of chapter 9: a run, its recipe, and a search."""

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


def losses_by_rate(losses):
    """Draw the validation loss against the learning rate, on logarithmic axes, one line for each
    length of the training.

    Args:
        losses: dict: number of steps -> dict: rate -> the loss of each seed.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3.3))
    shades = np.linspace(0.35, 1.0, len(losses))
    for (steps, by_rate), shade in zip(losses.items(), shades, strict=True):
        rates, middles = list(by_rate), [np.mean(each) for each in by_rate.values()]
        ax.plot(rates, middles, color=BLUE, alpha=shade)
        for rate, each in by_rate.items():
            ax.plot([rate] * len(each), each, "o", color=BLUE, alpha=0.7 * shade, markersize=5)
        best = int(np.argmin(middles))
        ax.plot(rates[best], middles[best], "o", color=ORANGE, markersize=11, fillstyle="none")
        ax.text(
            rates[0] / 1.25, middles[0], f"{steps:,} steps", ha="right", va="center", fontsize=9
        )
    ax.set(xlabel="highest learning rate (log scale)", ylabel="validation loss (log scale)")
    ax.set(xscale="log", yscale="log", xlim=(rates[0] / 4, rates[-1] * 1.3))
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    levels = (0.1, 0.2, 0.5, 1, 2, 5)
    ax.set_yticks(levels, [f"{level:g}" for level in levels])
    ax.minorticks_off()
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


def greedy_and_beam(names, greedy, beam):
    """Draw two scores for each text: of greedy decoding, and of beam search.

    Args:
        names: of the texts.
        greedy, beam: a score for each.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.4, 0.8 + 0.32 * len(names)))
    rows = range(len(names))
    ax.hlines(rows, greedy, beam, color=GREY, linewidth=1.5)
    ax.plot(greedy, rows, "o", color=ORANGE, label="greedy")
    ax.plot(beam, rows, "o", color=BLUE, label="beam of 5")
    for row, (before, after) in enumerate(zip(greedy, beam, strict=True)):
        ax.text(after + 0.8, row, f"{after - before:+.1f}", va="center", fontsize=9, color=GREY)
    ax.set(
        xlabel="BLEU",
        xlim=(0, max(beam) + 6),
        yticks=rows,
        ylim=(len(names) - 0.5, -0.5),
    )
    ax.set_yticklabels(names)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower right")
    return figure
