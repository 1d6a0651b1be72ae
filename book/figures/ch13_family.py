"""The figures of chapter 13: four models beside each other, patches, turning pairs, and curves."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREY, KEY, ORANGE, QUERY


def turning_pairs(query, key, places):
    """Draw one pair of features of a query and of a key as arrows, turned by their positions.

    Args:
        query, key: dict from a position to the two numbers there.
        places: list of (position of the query, position of the key), one panel each.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(places), figsize=(5.4, 1.8))
    around = np.linspace(0, 2 * np.pi, 200)
    for ax, (at_query, at_key) in zip(axes, places, strict=True):
        ax.plot(np.cos(around), np.sin(around), color="#DDDDDD", linewidth=1)
        ends = (
            (query[at_query], QUERY, f"query at {at_query}"),
            (key[at_key], KEY, f"key at {at_key}"),
        )
        angles = [np.arctan2(tip[1], tip[0]) for tip, _, _ in ends]
        turn = (angles[0] - angles[1] + np.pi) % (2 * np.pi) - np.pi
        between = angles[1] + np.linspace(0, turn, 60)
        ax.plot(0.4 * np.cos(between), 0.4 * np.sin(between), color=GREY, linewidth=1.2)
        for tip, colour, label in ends:
            style = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", tip, (0, 0), arrowprops=style)
            away = 1.18 * np.asarray(tip)
            side = "left" if tip[0] > 0.3 else "right" if tip[0] < -0.3 else "center"
            ax.text(*away, label, ha=side, va="center", fontsize=8, color=colour)
        ax.set(xlim=(-2.1, 2.1), ylim=(-1.4, 1.4), aspect="equal")
        ax.axis("off")
    return figure


def learned_from_few(tasks):
    """Show how much is right of each task against the number of sentences with answers.

    Args:
        tasks: dict from a task to a dict from the name of a model to its (numbers of sentences,
            (numbers, seeds) shares that are right).

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 2, figsize=(6.6, 4.8), sharex=True, sharey=True)
    colours = (BLUE, ORANGE, GREY)
    for ax, (task, models) in zip(axes.flat, tasks.items(), strict=True):
        for (name, (counts, shares)), colour in zip(models.items(), colours, strict=True):
            shares = 100 * np.asarray(shares)
            ax.plot(counts, shares.mean(axis=1), color=colour, label=name)
            ax.plot(counts, shares, "o", color=colour, alpha=0.5, markersize=4, mew=0)
        ax.set_title(task)
        ax.set_xscale("log")
        ax.set_xticks(counts, counts)
        ax.minorticks_off()
    axes[0, 0].set_ylim(0, 104)
    figure.supxlabel("sentences with answers", fontsize=10)
    figure.supylabel("percent right", fontsize=10)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def losses_by_step(histories, baselines):
    """Show training and validation losses by step, beside losses that are the same at every step.

    Args:
        histories: for each training a list of dict with `step`, `training` and `validation`.
        baselines: dict from a label to a loss.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.2, 3.2))
    for number, history in enumerate(histories):
        steps = [each["step"] for each in history]
        for name, colour in (("training", GREY), ("validation", BLUE)):
            label = f"GPT, {name} text" if not number else None
            ax.plot(steps, [each[name] for each in history], color=colour, label=label, lw=1.3)
    for (label, loss), style in zip(baselines.items(), ("--", ":", "-."), strict=False):
        ax.axhline(loss, color=ORANGE, linestyle=style, label=label)
    ax.set(xlabel="step", ylabel="loss, nats a letter")
    ax.legend(fontsize=8)
    return figure


def on_straight_lines(panels):
    """Show losses against sizes, both on logarithmic axes, each panel with the line that fits.

    Args:
        panels: list of dict: `xlabel`; `points`, a list of (size, loss); `line`, a list of two
            (size, loss).

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(6.6, 2.9), sharey=True)
    for ax, panel in zip(axes, panels, strict=True):
        ax.loglog(*zip(*panel["line"], strict=True), color=ORANGE)
        ax.loglog(*zip(*panel["points"], strict=True), "o", color=BLUE, alpha=0.6, mew=0)
        ax.set(xlabel=panel["xlabel"])
        ax.yaxis.set_minor_formatter("{x:.1f}")
        ax.yaxis.set_major_formatter("{x:.1f}")
    axes[0].set_ylabel("validation loss, nats a letter")
    return figure
