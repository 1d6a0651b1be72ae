"""The figures of chapter 1: how alike the rows of a table are, and how they learn."""

import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

from book.figures.style import BLUE, GREY, ORANGE


def similarity_pair(before, after, labels, titles=("before", "after")):
    """Show two matrices of cosine similarities, from -1 (orange) over 0 (white) to 1 (blue).

    Args:
        before, after: (words, words) cosine similarities.
        labels: the words.

    Returns:
        the matplotlib figure.
    """
    colours = LinearSegmentedColormap.from_list("cosine", [ORANGE, "white", BLUE])
    figure, axes = plt.subplots(1, 2, figsize=(4.4, 2.9), sharey=True)
    for ax, matrix, title in zip(axes, (before, after), titles, strict=True):
        image = ax.imshow(matrix, cmap=colours, vmin=-1, vmax=1)
        ax.set_title(title)
        ax.set_xticks(range(len(labels)), labels, rotation=90)
        ax.set_yticks(range(len(labels)), labels)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    bar = figure.colorbar(
        image, ax=axes, location="bottom", shrink=0.6, aspect=30, ticks=[-1, 0, 1]
    )
    bar.set_label("cosine similarity")
    return figure


def loss_and_cosine(losses, cosines, lines):
    """Draw the loss of trainings from two starts, and below it, over the same steps, how alike the
    rows of a group are.

    Args:
        losses: dict from a label to the (seeds, steps) losses.
        cosines: dict from the same labels to the (seeds, steps) mean cosines within a group.
        lines: dict from a label to a loss that a dashed line marks.

    Returns:
        the matplotlib figure.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(4.6, 4.8), sharex=True)
    for ax, curves in ((above, losses), (below, cosines)):
        for colour, (label, several) in zip((ORANGE, BLUE), curves.items(), strict=True):
            for seed, each in enumerate(several):
                ax.plot(each, color=colour, linewidth=1.2, label=None if seed else label)
    for label, loss in lines.items():
        above.axhline(loss, color=GREY, linewidth=0.9, linestyle="--", zorder=0)
        above.annotate(
            label, (1, loss), (-2, 3 if loss > 3 else -12), xycoords=("axes fraction", "data"),
            ha="right", textcoords="offset points", color=GREY,
        )  # fmt: skip
    above.set(ylabel="loss", xlim=(0, len(each) - 1), ylim=(0, 8))
    above.legend(title="size of the start", loc="upper right")
    below.set(xlabel="step", ylabel="cosine, same group", ylim=(-0.1, 1.05))
    below.axhline(0, color=GREY, linewidth=0.6, zorder=0)
    return figure
