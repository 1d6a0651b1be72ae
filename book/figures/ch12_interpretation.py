"""The figures of chapter 12: words and their links, heads as dots, and heads of two trainings."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, DECODER, ENCODER, GREEN, GREY, MASKED, ORANGE, PURPLE


def rows_of_dots(groups, xlabel, *, limits=None, highlight=()):
    """Show one number per training as dots, in one row for each of several things.

    Args:
        groups: dict from a label to its numbers, one for each training.
        limits: of the axis.
        highlight: the labels whose dots are orange.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.2, 0.8 + 0.32 * len(groups)))
    for row, (label, numbers) in enumerate(groups.items()):
        colour = ORANGE if label in highlight else BLUE
        ax.axhline(row, color="#E4E4E4", linewidth=0.8, zorder=0)
        ax.plot(numbers, [row] * len(numbers), "o", color=colour, alpha=0.6, markeredgewidth=0)
        ax.plot(np.mean(numbers), row, "|", color=colour, markersize=13, markeredgewidth=2)
    ax.set(xlabel=xlabel, yticks=range(len(groups)), ylim=(len(groups) - 0.5, -0.5), xlim=limits)
    ax.set_yticklabels(groups)
    ax.tick_params(axis="y", length=0)
    return figure


def noun_or_article(heads):
    """Draw each head as a bubble: how much it looks at the article, how much at the noun, and how
    many articles go wrong without it.

    Args:
        heads: list of dict with `article`, `noun`, `layer` and `wrong`.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 4.4))
    for layer, colour in ((0, BLUE), (1, ORANGE)):
        chosen = [head for head in heads if head["layer"] == layer]
        ax.scatter(
            [head["article"] for head in chosen],
            [head["noun"] for head in chosen],
            s=[14 + 14 * head["wrong"] for head in chosen],
            color=colour,
            alpha=0.55,
            linewidths=0.8,
            edgecolors="white",
            label=f"layer {layer + 1}",
        )
    for head in heads:
        if head["wrong"] >= 20:
            ax.annotate(
                f"{head['wrong']}",
                (head["article"], head["noun"]),
                ha="center",
                va="center",
                fontsize=8,
            )
    ax.plot((0, 1), (1, 0), color=GREY, linewidth=0.8, linestyle=":")
    ax.set(
        xlabel="weight on the English article, or the like",
        ylabel="weight on the noun",
        xlim=(-0.05, 1.05),
        ylim=(-0.05, 1.05),
    )
    legend = ax.legend(loc="upper right")
    for handle in legend.legend_handles:
        handle.set_sizes([40])
    return figure


def promised_and_found(panels, groups):
    """Draw for each head what a method promises and what switching the head off really does.

    Args:
        panels: dict from a method to its numbers, one for each head.
        groups: dict from a name of heads to (places among the heads, what is found for each).

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(6.6, 2.9), sharey=True)
    colours = (ENCODER, DECODER, ORANGE)
    for ax, (title, promised) in zip(axes, panels.items(), strict=True):
        for (name, (places, found)), colour in zip(groups.items(), colours, strict=True):
            x = [promised[place] for place in places]
            ax.plot(
                x, found, "o", color=colour, alpha=0.6, markersize=5, markeredgewidth=0, label=name
            )
        ax.set(title=title, yscale="log")
        ax.xaxis.set_major_locator(plt.MaxNLocator(3))
        ax.tick_params(axis="x", labelsize=8)
    axes[0].set_ylabel("loss gained without it")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def two_trainings(overlap, pairing, titles):
    """Draw the heads of two trainings side by side, with lines as thick as what they share.

    Args:
        overlap: (heads, heads), the share of weights that two heads have in common.
        pairing: for each head on the left the one on the right that it is matched with.
        titles: of both trainings.

    Returns:
        the matplotlib figure.
    """
    overlap = np.asarray(overlap)
    figure, ax = plt.subplots(figsize=(5.0, 2.9))
    heads = len(overlap)
    for (i, j), shared in np.ndenumerate(overlap):
        matched = pairing[i] == j
        colour = GREEN if matched else MASKED
        ax.plot(
            (0, 1),
            (i, j),
            color=colour,
            linewidth=max(0.5, 36 * (shared - overlap.min())),
            alpha=0.9 if matched else 0.35,
            solid_capstyle="round",
            zorder=2 if matched else 1,
        )
        if matched:
            x = 0.2
            y = i + (j - i) * x
            ax.text(
                x,
                y,
                f"{shared:.2f}",
                fontsize=9,
                ha="center",
                va="center",
                zorder=3,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )
    for x, title in zip((0, 1), titles, strict=True):
        ax.text(x, -0.62, title, ha="center", va="bottom")
        for head in range(heads):
            ax.plot(x, head, "o", color=PURPLE, markersize=20, zorder=4)
            ax.text(x, head, head, color="white", ha="center", va="center", zorder=5)
    ax.set(xlim=(-0.15, 1.15), ylim=(heads - 0.5, -0.8))
    ax.axis("off")
    return figure
