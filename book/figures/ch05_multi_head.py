"""The figures of chapter 5: what the heads of one attention look at."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREY, SEQUENTIAL


def right_by_heads(shares, questions):
    """Draw the share of right answers against the number of heads, a panel for each question, one
    dot for each seed.

    Args:
        shares: dict from the number of heads to the (seeds, questions) shares of right answers.
        questions: what is asked, one word each.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(questions), figsize=(4.8, 2.6), sharey=True)
    for column, (ax, question) in enumerate(zip(axes, questions, strict=True)):
        for place, right in enumerate(shares.values()):
            ax.plot(
                [place] * len(right),
                100 * right[:, column],
                "o",
                color=BLUE,
                alpha=0.6,
                markeredgewidth=0,
                markersize=5,
            )
        ax.set(title=question, ylim=(0, 104), xlim=(-0.5, len(shares) - 0.5), xlabel="heads")
        ax.set_xticks(range(len(shares)), shares)
        ax.tick_params(axis="x", length=0)
        ax.grid(axis="y", color=GREY, alpha=0.2)
    axes[0].set_ylabel("right answers (%)")
    return figure


def head_maps(weights, labels):
    """Show the attention maps of four heads, two by two, on one colour scale.

    Args:
        weights: (4, query_len, key_len), each row summing to 1.
        labels: the tokens, for queries and keys alike.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 2, figsize=(4.8, 4.9), sharex=True, sharey=True)
    for head, (ax, matrix) in enumerate(zip(axes.flat, weights, strict=True)):
        ax.imshow(matrix, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
        ax.set_title(f"head {head}")
        ax.set_xticks(range(len(labels)), labels, rotation=90)
        ax.set_yticks(range(len(labels)), labels)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    figure.supxlabel("key position", fontsize=10)
    figure.supylabel("query position", fontsize=10)
    return figure


def jobs_of_heads(matrices, questions, titles):
    """Show how much of each head's weight lies where each answer stands, a panel for each model.

    Args:
        matrices: (models, heads, questions) between 0 and 1.
        questions: what is asked, one word each.
        titles: one for each model.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(matrices), figsize=(4.8, 2.5), sharey=True)
    for ax, matrix, title in zip(axes, np.asarray(matrices), titles, strict=True):
        ax.imshow(matrix, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
        ax.set_title(title)
        ax.set_xticks(range(len(questions)), questions, rotation=90)
        ax.set_yticks(range(len(matrix)), [f"head {head}" for head in range(len(matrix))])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        for (row, column), share in np.ndenumerate(matrix):
            if share >= 0.05:
                colour = "white" if share > 0.55 else "black"
                ax.text(
                    column,
                    row,
                    f"{100 * share:.0f}",
                    ha="center",
                    va="center",
                    color=colour,
                    fontsize=7,
                )
    return figure
