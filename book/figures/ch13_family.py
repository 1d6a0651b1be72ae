"""The figures of chapter 13: curves of learning, by answers, examples and steps."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE


def learned_from_few(models, spared):
    """Show how much is right against the number of sentences with answers, and how many of them
    pretraining spares.

    Args:
        models: dict from the name of a model to its (numbers of sentences, (numbers, seeds) shares
            that are right).
        spared: list of (share, few, many): as much is right after few answers as without
            pretraining after many.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5, 3.5))
    for (name, (counts, shares)), colour in zip(models.items(), (BLUE, ORANGE, GREY), strict=True):
        shares = 100 * np.asarray(shares)
        ax.plot(counts, shares.mean(axis=1), color=colour, label=name)
        ax.plot(counts, shares, "o", color=colour, alpha=0.4, markersize=4, mew=0)
    for share, few, many in spared:
        style = {"arrowstyle": "<|-|>", "color": "black", "lw": 1, "shrinkA": 3, "shrinkB": 3}
        ax.annotate("", (few, 100 * share), (many, 100 * share), arrowprops=style)
        words = f"{few} instead of {many:.0f}"
        ax.text((few * many**2) ** (1 / 3), 100 * share + 1.5, words, ha="center", fontsize=9)
    ax.set_xscale("log")
    ax.set_xticks(counts, counts)
    ax.minorticks_off()
    ax.set(
        xlabel="sentences with answers (each time twice as many)",
        ylabel="percent right",
        ylim=(0, 104),
    )
    ax.legend(fontsize=9)
    return figure


def right_by_examples(models, ceiling, guess):
    """Show how often the next letter is right, by the number of examples before it.

    Args:
        models: dict from four names to (seeds, numbers of examples) shares that are right.
        ceiling: for each number of examples, the share that somebody has right who forgets nothing.
        guess: the share that is right by chance.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5, 3.2))
    examples = np.arange(len(ceiling))
    ax.plot(examples, 100 * np.asarray(ceiling), "--", color=GREY, label="perfect memory")
    colours = (PURPLE, GREEN, BLUE, ORANGE)
    for (name, shares), colour in zip(models.items(), colours, strict=True):
        shares = 100 * np.asarray(shares)
        ax.plot(examples, shares.mean(axis=0), color=colour, label=name)
        ax.plot(examples, shares.T, "o", color=colour, alpha=0.4, markersize=4, mew=0)
    ax.axhline(100 * guess, color=GREY, linestyle=":", label="guessing")
    ax.set(xlabel="examples in the prompt", ylabel="percent right", ylim=(0, 104))
    ax.legend(fontsize=9, loc=(0.5, 0.14))  # under the curves
    return figure


def losses_by_step(histories, baselines):
    """Show training and validation losses by step, beside losses that are the same at every step.

    Args:
        histories: for each training a list of dict with `step`, `training` and `validation`.
        baselines: dict from a label to a loss.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5, 3.2))
    for number, history in enumerate(histories):
        steps = [each["step"] for each in history]
        for name, colour in (("training", GREY), ("validation", BLUE)):
            label = f"GPT, {name} text" if not number else None
            ax.plot(steps, [each[name] for each in history], color=colour, label=label, lw=1.3)
    for (label, loss), style in zip(baselines.items(), ("--", ":", "-."), strict=False):
        ax.axhline(loss, color=ORANGE, linestyle=style, label=label)
    ax.set(xlabel="step", ylabel="loss, nats per letter")
    ax.legend(fontsize=9)
    return figure
