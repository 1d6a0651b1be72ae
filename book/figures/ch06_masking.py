"""The figures of chapter 6: masks, and what leaks without them."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.maps import heatmap
from book.figures.style import BLUE, GREY, MASKED, ORANGE, PURPLE, SEQUENTIAL


def masked_scores(scores, allowed, weights, labels):
    """Show a mask at work: above, the scores with what is forbidden struck out; below, the weights
    that are left.

    Args:
        scores, weights: (seq_len, seq_len) non-negative.
        allowed: (seq_len, seq_len) bool, True where the query may attend.
        labels: the tokens, of the queries and of the keys.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.6), sharex=True)
    for ax, matrix, decimals, forbidden in ((axes[0], scores, 0, "−∞"), (axes[1], weights, 2, "0")):
        seen = np.where(allowed, matrix, np.nan)  # imshow leaves these cells empty
        heatmap(np.where(allowed, matrix, 0), labels, labels, decimals=None, ax=ax)
        ax.images[0].set_data(seen)
        ax.set_facecolor((MASKED, 0.18))
        for (row, column), number in np.ndenumerate(seen):
            ink = "white" if number > 0.55 * np.nanmax(seen) else "black"
            text = forbidden if np.isnan(number) else f"{number:.{decimals}f}"
            ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=9)
    axes[0].set(title="scores", xlabel=None)
    axes[1].set(title="weights")
    axes[1].tick_params(axis="x", rotation=45)
    return figure


def training_losses(curves, held_out, floor):
    """Draw training losses on a logarithmic axis, with the loss on held-out sentences as a dot at
    the end.

    Args:
        curves: dict from a label to the (steps,) losses.
        held_out: dict from the same labels to the loss on sentences that were not trained on.
        floor: the lowest mean loss that can be reached without seeing the answer.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    steps = len(next(iter(curves.values())))
    ax.axhline(floor, color=GREY, linewidth=1, linestyle="--")
    ax.text(steps, 0.7 * floor, "lowest honest loss (held-out)", color=GREY, ha="right", va="top")
    for (label, losses), colour in zip(curves.items(), (BLUE, ORANGE), strict=True):
        ax.plot(losses, color=colour, linewidth=1.2, label=label)
        ax.plot(steps + 4, held_out[label], "o", color=colour, markersize=7, clip_on=False)
    ax.set(
        xlabel="training step (dots: held-out sentences)", ylabel="loss (log scale)", yscale="log"
    )
    ax.legend(loc="upper right")
    return figure


def losses_by_mask(losses, floor):
    """Draw the losses on held-out sentences after several numbers of steps, on logarithmic axes.

    Args:
        losses: dict from a mask to a dict: number of steps -> the loss of each seed.
        floor: the lowest mean loss that can be reached without seeing the answer.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3.2))
    ax.axhline(floor, color=GREY, linewidth=1, linestyle="--")
    names = {"before the softmax": "mask before the softmax", "after it": "mask after the softmax"}
    for (mask, by_steps), colour in zip(losses.items(), (BLUE, PURPLE, ORANGE), strict=True):
        steps = list(by_steps)
        label = names.get(mask, "no mask")
        ax.plot(steps, [np.median(each) for each in by_steps.values()], color=colour, label=label)
        for budget, each in by_steps.items():
            ax.plot([budget] * len(each), each, "o", color=colour, alpha=0.55, markeredgewidth=0)
    ax.set(xlabel="training steps", ylabel="held-out loss (log scale)", xscale="log", yscale="log")
    ax.set_xticks(steps, [f"{each:,}" for each in steps])
    ax.xaxis.minorticks_off()
    lowest = min(min(each) for by_steps in losses.values() for each in by_steps.values())
    ax.set_ylim(lowest / 2, 12 * floor)
    ax.text(steps[-1], 1.2 * floor, "the lowest honest loss", color=GREY, ha="right", va="bottom")
    ax.legend(loc="upper left", ncols=3, fontsize=8, columnspacing=1, handlelength=1.5)
    return figure


def mask_tables(masks, words, titles):
    """Show masks side by side: blue where a query may attend, white where it may not.

    Args:
        masks: (tables, query_len, key_len) bool.
        words: the tokens, for queries and keys alike.
        titles: one for each table.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(masks), figsize=(5.2, 2.3), sharey=True)
    for ax, mask, title in zip(axes, masks, titles, strict=True):
        ax.imshow(mask, cmap=SEQUENTIAL, vmin=0, vmax=1.6)
        for (row, column), allowed in np.ndenumerate(mask):
            ax.text(
                column,
                row,
                "1" if allowed else "0",
                ha="center",
                va="center",
                color="white" if allowed else MASKED,
            )
        ax.set(title=title, xlabel="key")
        ax.set_xticks(range(len(words)), words, rotation=90)
        ax.set_yticks(range(len(words)), words)
        ax.set_xticks(np.arange(len(words) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(words) + 1) - 0.5, minor=True)
        ax.grid(which="minor", color=GREY, linewidth=0.5)
        ax.tick_params(which="both", length=0)
    axes[0].set_ylabel("query")
    return figure


def weights_in_a_row(tables, labels, titles):
    """Show tables of weights, one below the other, on one colour scale, with the sum of each row
    beside it.

    Args:
        tables: (tables, query_len, key_len) weights.
        labels: the tokens, for queries and keys alike.
        titles: one for each table.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(len(tables), 1, figsize=(4.4, 2.0 * len(tables)), sharex=True)
    for ax, table, title in zip(axes, tables, titles, strict=True):
        heatmap(table, labels, labels, xlabel=None, ylabel=None, title=title, darkest=1, ax=ax)
        for row, total in enumerate(np.asarray(table).sum(axis=1)):
            ax.text(len(labels) - 0.4, row, f"sum {total:.2f}", ha="left", va="center", color=GREY)
    figure.supylabel("query position", fontsize=10)
    axes[-1].set_xlabel("key position")
    return figure


def influence_pair(shares, inputs, outputs, titles):
    """Show which inputs move which predictions, for two models, one above the other, on one colour
    scale; the input that is the word to be predicted is framed.

    Args:
        shares: (2, tgt_len, tgt_len), rows summing to 1.
        inputs: the words that the decoder reads, at the columns.
        outputs: the words that it should predict, at the rows.
        titles: one for each model.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.4), sharex=True)
    for ax, table, title in zip(axes, shares, titles, strict=True):
        names = {"xlabel": None, "ylabel": "read → to be predicted", "title": title}
        steps = [f"{read} → {said}" for read, said in zip(inputs, outputs, strict=True)]
        heatmap(table, steps, inputs, **names, darkest=1, ax=ax)
        for text, number in zip(ax.texts, np.ravel(table), strict=True):
            text.set_fontsize(8)
            if number == 0:
                text.set_text("0")
        for row in range(len(outputs) - 1):
            frame = plt.Rectangle(
                (row + 0.5, row - 0.5), 1, 1, fill=False, edgecolor=ORANGE, linewidth=1.6
            )
            ax.add_patch(frame)
    axes[-1].tick_params(axis="x", rotation=90)
    axes[-1].set_xlabel("word that the decoder reads")
    return figure
