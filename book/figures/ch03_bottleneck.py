"""The figures of chapter 3: one vector against attention."""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREY, ORANGE


def _box(ax, x, y, text, colour=GREY, filled=False):
    face = {
        "boxstyle": "round,pad=0.25",
        "fc": colour if filled else "white",
        "ec": colour,
        "lw": 1.2,
    }
    ax.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        color="white" if filled else "black",
        bbox=face,
        fontsize=9,
    )


def two_machines(read, written):
    """Draw an encoder and a decoder twice: with one vector between them, and with lines back to
    every state.

    Args:
        read, written: the words of the source and of the target.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(5.4, 4.4))
    arrow = {"arrowstyle": "-|>", "color": GREY, "lw": 1.2, "shrinkA": 9, "shrinkB": 9}
    first_written = len(read) + 0.9
    for ax, looks_back in zip(axes, (False, True), strict=True):
        places = [(x, 1.0) for x in range(len(read))] + [
            (first_written + x, 1.0) for x in range(len(written))
        ]
        for (left, _), (right, _) in itertools.pairwise(places):
            ax.annotate("", (right, 1), (left, 1), arrowprops=arrow)
        for x, word in enumerate(read):
            ax.annotate("", (x, 1), (x, 0), arrowprops=arrow)
            ax.text(x, 0, word, ha="center", va="center", fontsize=9)
            last = x == len(read) - 1 and not looks_back
            _box(ax, x, 1, f"$h_{x + 1}$", ORANGE if last else BLUE, filled=last or looks_back)
        for x, word in enumerate(written):
            ax.annotate("", (first_written + x, 2), (first_written + x, 1), arrowprops=arrow)
            ax.text(first_written + x, 2, word, ha="center", va="center", fontsize=9)
            _box(ax, first_written + x, 1, f"$s_{x + 1}$")
        if looks_back:
            for x in range(len(read)):
                curve = {
                    "arrowstyle": "-",
                    "color": BLUE,
                    "lw": 1.3,
                    "connectionstyle": "arc3,rad=-0.45",
                    "shrinkA": 10,
                }
                ax.annotate(
                    "", (first_written, 1.22), (x, 1.05), arrowprops={**curve, "shrinkB": 2}
                )
        title = (
            "attention: every state can be looked at"
            if looks_back
            else "one vector: all that is written comes from $h_4$"
        )
        ax.set(xlim=(-0.5, first_written + len(written) - 0.4), ylim=(-0.3, 2.3), title=title)
        ax.axis("off")
    return figure


def forgetting(gradients, differences):
    """Draw how a first word fades over the distance: the gradient that comes back to it, and the
    difference that it makes.

    Args:
        gradients: dict from a label to the (seeds, distances) largest stretch of the Jacobian, at
            distances 0, 1, 2 and so on.
        differences: dict from the same labels to the (seeds, distances) distance between two
            states.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(4.8, 5.2), sharex=True)
    for ax, groups in zip(axes, (gradients, differences), strict=True):
        for (label, numbers), colour in zip(groups.items(), (ORANGE, GREY, BLUE), strict=True):
            ax.fill_between(
                range(numbers.shape[1]),
                numbers.min(axis=0),
                numbers.max(axis=0),
                color=colour,
                alpha=0.25,
                linewidth=0,
            )
            ax.plot(np.median(numbers, axis=0), color=colour, label=label)
        ax.set_yscale("log")
        ax.set_ylim(1e-10, 1e4)
    axes[0].set_title("gradient: how much comes back to the first state")
    axes[1].set_title("memory: distance of two states, first word changed")
    axes[0].legend(loc="lower left")
    axes[1].set(xlabel="words read since the first", xlim=(0, None))
    return figure


def copy_accuracy(lengths, groups, longest_trained, chance):
    """Draw the share of words copied right against the length of the sentence; bands reach over all
    seeds.

    Args:
        lengths: (lengths,) the numbers of words.
        groups: dict from a kind of machine to a dict from the size of its state to (seeds, lengths)
            shares.
        longest_trained: the longest sentence in training.
        chance: the share that guessing would get.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.4))
    ax.axvspan(longest_trained + 0.5, lengths[-1], color=GREY, alpha=0.1, linewidth=0)
    ax.axhline(100 * chance, color=GREY, linewidth=0.8, linestyle=":")
    colours = {"one vector": ORANGE, "attention": BLUE}
    for kind, sizes in groups.items():
        for (size, shares), width in zip(sizes.items(), (0.9, 1.7, 2.6), strict=True):
            shares = 100 * np.asarray(shares)
            band = {"color": colours[kind], "alpha": 0.2, "linewidth": 0}
            ax.fill_between(lengths, shares.min(axis=0), shares.max(axis=0), **band)
            ax.plot(
                lengths,
                shares.mean(axis=0),
                color=colours[kind],
                linewidth=width,
                label=f"{kind}, {size}",
            )
    ax.set(
        xlabel="words in the sentence",
        ylabel="words copied right (%)",
        ylim=(0, 103),
        xlim=(1, lengths[-1]),
    )
    ax.text(longest_trained + 0.8, 98, "longer than in training", fontsize=8, color=GREY, va="top")
    ax.set_xticks(range(2, lengths[-1] + 1, 2))
    ax.legend(loc="lower left", ncols=len(groups), fontsize=8, handlelength=1.4, columnspacing=1.0)
    return figure


def gradient_reach(lengths, groups):
    """Draw the gradient that a written word sends to the read word that it copies, one dot for each
    seed, on two logarithmic axes.

    Args:
        lengths: (lengths,) the numbers of words.
        groups: dict from a kind of machine to (seeds, lengths) norms.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 2.9))
    for (kind, norms), colour in zip(groups.items(), (ORANGE, BLUE), strict=True):
        norms = np.asarray(norms)
        ax.plot(lengths, norms.T, "o", color=colour, alpha=0.5, markeredgewidth=0, markersize=5)
        ax.plot(lengths, np.median(norms, axis=0), color=colour, linewidth=1.2)
        beside = (lengths[-3], np.median(norms, axis=0)[-3])
        ax.annotate(kind, beside, (8, 6), textcoords="offset points", color=colour)
    ax.set(
        xlabel="words between reading a word and writing it",
        ylabel="gradient (log scale)",
        yscale="log",
    )
    return figure
