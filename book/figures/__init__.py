"""Every plot of the book, in one style.

Vector graphics; tokens as tick labels; "query position" down and "key position" across; sequential
colours from zero. Each function takes plain arrays, returns the figure and computes nothing that a
reader should see computed.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyBboxPatch
from matplotlib_inline.backend_inline import set_matplotlib_formats

# Okabe and Ito's palette: the hues stay apart under the common colour-vision deficiencies.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#8F4E8B", "#6B6B6B"
SEQUENTIAL = "Blues"

STYLE = {
    "figure.figsize": (6.4, 3.2),
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.prop_cycle": plt.cycler(color=[BLUE, ORANGE, GREEN, PURPLE, GREY]),
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "attention",  # the same figure gives the same bytes
}


def use_house_style():
    """Draw every figure of this page as SVG in the style of the book."""
    set_matplotlib_formats("svg", metadata={"Date": None})
    plt.rcParams.update(STYLE)


def heatmap(
    matrix,
    row_labels,
    column_labels,
    *,
    xlabel="key position",
    ylabel="query position",
    title=None,
    decimals=2,
    ax=None,
):
    """Show a small matrix as colours from zero, with its numbers written in the cells.

    Args:
        matrix: (rows, columns) non-negative.
        row_labels, column_labels: the tokens beside the rows and below the columns.
        decimals: digits after the point; None leaves the numbers out.

    Returns:
        the matplotlib figure.
    """
    matrix = np.asarray(matrix)
    if ax is None:
        width = 1.6 + 0.75 * matrix.shape[1]
        _, ax = plt.subplots(figsize=(width, 0.9 + 0.5 * matrix.shape[0]))
    ax.imshow(matrix, cmap=SEQUENTIAL, vmin=0, vmax=max(matrix.max(), 1e-12), aspect="auto")
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.set_xticks(range(matrix.shape[1]), column_labels)
    ax.set_yticks(range(matrix.shape[0]), row_labels)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    if decimals is not None:
        for (row, column), number in np.ndenumerate(matrix):
            dark = number > 0.55 * matrix.max()
            ax.text(
                column,
                row,
                f"{number:.{decimals}f}",
                ha="center",
                va="center",
                color="white" if dark else "black",
            )
    return ax.figure


def coverage_curve(sizes, curves):
    """Draw the share of words that a vocabulary does not know against its size.

    Args:
        sizes: (points,) vocabulary sizes.
        curves: dict from a label to the (points,) shares, between 0 and 1.

    Returns:
        the matplotlib figure.
    """
    _, ax = plt.subplots(figsize=(4.6, 3.0))
    for colour, (label, shares) in zip((BLUE, ORANGE), curves.items(), strict=True):
        ax.plot(sizes, 100 * np.asarray(shares), color=colour)
        middle = len(sizes) // 2
        ax.annotate(
            label,
            (sizes[middle], 100 * shares[middle]),
            (6, 6),
            textcoords="offset points",
            color=colour,
        )
    ax.set(
        xlabel="max_size (entries in the vocabulary)",
        ylabel="unknown words (%)",
        ylim=(0, 103),
        xlim=(0, None),
    )
    return ax.figure


def dot_product_pair(first, second, labels, titles):
    """Show two small matrices of dot products side by side, on one colour scale each."""
    figure, axes = plt.subplots(1, 2, figsize=(4.7, 2.3))
    for ax, matrix, title in zip(axes, (first, second), titles, strict=True):
        heatmap(matrix, labels, labels, xlabel="", ylabel="", title=title, decimals=0, ax=ax)
    return figure


def scatter_add(tokens, token_ids, grad_output, row_labels, gradient):
    """Draw how the gradients of the positions travel to the rows of the table and add up there.

    Args:
        tokens: the words of the sentence.
        token_ids: (seq_len,) int: the row that each position looked up.
        grad_output: (seq_len, d_model) the gradient at each position.
        row_labels: the tokens of the vocabulary.
        gradient: (vocab_size, d_model) the gradient of the table.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.2, 3.5))
    rows, seq_len = len(row_labels), len(tokens)
    heights = np.linspace(rows - 2, 1, seq_len)  # spreads the positions along the table
    for place, (token, row) in enumerate(zip(tokens, token_ids, strict=True)):
        repeated = list(token_ids).count(row) > 1
        colour = ORANGE if repeated else BLUE
        ax.text(
            0.0,
            heights[place],
            f"{token}  {_vector(grad_output[place])}",
            ha="left",
            va="center",
            color=colour,
        )
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.5}
        ax.annotate("", (2.05, rows - 1 - row), (1.3, heights[place]), arrowprops=arrow)
    for row, label in enumerate(row_labels):
        look = {"va": "center", **({"weight": "bold"} if row in token_ids else {"color": GREY})}
        ax.text(2.15, rows - 1 - row, label, ha="left", **look)
        ax.text(3.45, rows - 1 - row, _vector(gradient[row]), ha="right", **look)
    ax.text(0.0, rows + 0.1, "position: its gradient", ha="left", va="center", color=GREY)
    ax.text(3.45, rows + 0.1, "row of the table: sum", ha="right", va="center", color=GREY)
    ax.set(xlim=(-0.05, 3.5), ylim=(-0.6, rows + 0.6))
    ax.axis("off")
    return figure


def _vector(numbers):
    return "[" + ", ".join(f"{number:g}" for number in numbers) + "]"


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


def seed_spread(groups):
    """Draw one dot for each seed, one row for each kind of pair.

    Args:
        groups: dict from a label to the (seeds,) mean cosine similarities.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.4, 2.3))
    for row, (label, numbers) in enumerate(groups.items()):
        colour = BLUE if "same" in label else ORANGE
        ax.plot(
            numbers,
            np.full(len(numbers), -row),
            "o",
            color=colour,
            alpha=0.6,
            markeredgewidth=0,
            markersize=7,
        )
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_yticks([-row for row in range(len(groups))], groups)
    ax.set(
        xlabel="mean cosine similarity, one dot per seed",
        xlim=(-0.3, 1.05),
        ylim=(-len(groups) + 0.5, 0.5),
    )
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return figure


def scores_to_weights(scores, weights, labels):
    """Show attention before and after the softmax: scores on the left, weights on the right.

    Args:
        scores, weights: (query_len, key_len) non-negative.
        labels: the tokens, for queries and keys alike.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, 2, figsize=(4.8, 2.1), sharey=True)
    heatmap(scores, labels, labels, title="scores", decimals=0, ax=axes[0])
    heatmap(weights, labels, labels, title="weights", ylabel=None, decimals=3, ax=axes[1])
    return figure


def masked_scores(scores, allowed, weights, labels):
    """Show a mask at work: scores with what is forbidden struck out above, the weights that are
    left below.

    Args:
        scores, weights: (seq_len, seq_len) non-negative.
        allowed: (seq_len, seq_len) bool, True where the query may attend.
        labels: the tokens, for queries and keys alike.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.6), sharex=True)
    for ax, matrix, decimals, forbidden in ((axes[0], scores, 0, "−∞"), (axes[1], weights, 2, "0")):
        seen = np.where(allowed, matrix, np.nan)  # imshow leaves these cells to the ground
        heatmap(np.where(allowed, matrix, 0), labels, labels, decimals=None, ax=ax)
        ax.images[0].set_data(seen)
        ax.set_facecolor("#E4E4E4")
        for (row, column), number in np.ndenumerate(seen):
            ink = "white" if number > 0.55 * np.nanmax(seen) else "black"
            text = forbidden if np.isnan(number) else f"{number:.{decimals}f}"
            ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=9)
    axes[0].set(title="scores", xlabel=None)
    axes[1].set(title="weights")
    axes[1].tick_params(axis="x", rotation=45)
    return figure


def attention_map(weights, query_labels, key_labels):
    """Show who looks at whom in a whole sentence, narrow enough for a phone.

    Args:
        weights: (query_len, key_len), each row summing to 1.
        query_labels, key_labels: the tokens.

    Returns:
        the matplotlib figure.
    """
    _, ax = plt.subplots(figsize=(4.8, 1.0 + 0.4 * len(query_labels)))
    return heatmap(weights, query_labels, key_labels, ax=ax)


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
    ax.text(steps, 0.7 * floor, "the lowest honest loss", color=GREY, ha="right", va="top")
    for (label, losses), colour in zip(curves.items(), (BLUE, ORANGE), strict=True):
        ax.plot(losses, color=colour, linewidth=1.2, label=label)
        ax.plot(steps + 4, held_out[label], "o", color=colour, markersize=7, clip_on=False)
    ax.set(
        xlabel="training step (dots: held-out sentences)", ylabel="loss (log scale)", yscale="log"
    )
    ax.legend(loc="upper right")
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
                color="white" if allowed else GREY,
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
    """Show tables of weights under each other's titles, on one colour scale, with the sum of each
    row beside it.

    Args:
        tables: (tables, query_len, key_len) weights.
        labels: the tokens, for queries and keys alike.
        titles: one for each table.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(len(tables), 1, figsize=(4.4, 2.0 * len(tables)), sharex=True)
    for ax, table, title in zip(axes, tables, titles, strict=True):
        heatmap(table, labels, labels, xlabel=None, ylabel=None, title=title, ax=ax)
        for row, total in enumerate(np.asarray(table).sum(axis=1)):
            ax.text(len(labels) - 0.4, row, f"sum {total:.2f}", ha="left", va="center", color=GREY)
    figure.supylabel("query position", fontsize=10)
    axes[-1].set_xlabel("key position")
    return figure


def influence_pair(shares, inputs, outputs, titles):
    """Show which inputs move which predictions, for two models, one above the other; what comes
    from the future is framed.

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
        heatmap(table, outputs, inputs, xlabel=None, ylabel="predicted word", title=title, ax=ax)
        for text in ax.texts:
            text.set_fontsize(8)
        for row in range(len(outputs) - 1):
            frame = plt.Rectangle(
                (row + 0.5, row - 0.5), 1, 1, fill=False, edgecolor=ORANGE, linewidth=1.6
            )
            ax.add_patch(frame)
    axes[-1].tick_params(axis="x", rotation=90)
    axes[-1].set_xlabel("word that the decoder reads")
    return figure


def _widths_axis(ax, widths):
    ax.set_xscale("log", base=2)
    ax.set_xticks(widths, widths)
    ax.minorticks_off()
    ax.set_xlabel("width of queries and keys, $d_k$")


def score_variance(widths, raw, scaled):
    """Draw the variance of scores against their width, one dot for each seed, beside what the
    algebra says.

    Args:
        widths: (widths,) the values of d_k.
        raw, scaled: (widths, seeds) variances of the dot products, and of the dot products divided
            by sqrt(d_k).

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 2.9))
    for variances, theory, colour, label in (
        (raw, np.asarray(widths, dtype=float), ORANGE, r"$q \cdot k$"),
        (scaled, np.ones(len(widths)), BLUE, r"$q \cdot k \, / \sqrt{d_k}$"),
    ):
        ax.plot(widths, theory, color=colour, linewidth=1)
        ax.plot(widths, variances, "o", color=colour, alpha=0.5, markeredgewidth=0, markersize=6)
        ax.text(widths[-2], theory[-2] * 2.2, label, color=colour, ha="right", va="bottom")
    _widths_axis(ax, widths)
    ax.set_yscale("log", base=2)
    ax.set_yticks([1, 8, 64, 512], [1, 8, 64, 512])
    ax.set(ylabel="variance of a score")
    ax.minorticks_off()
    return figure


def saturation(widths, largest, slope):
    """Draw how the softmax saturates as d_k grows, with and without the scale; bands reach over all
    seeds.

    Args:
        widths: (widths,) the values of d_k.
        largest: dict from a label to the (widths, seeds) mean largest weight of a row.
        slope: dict from the same labels to the (widths, seeds) median size of the softmax's
            Jacobian.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(4.8, 4.6), sharex=True)
    for ax, groups in zip(axes, (largest, slope), strict=True):
        for (label, numbers), colour in zip(groups.items(), (ORANGE, BLUE), strict=True):
            ax.fill_between(
                widths,
                numbers.min(axis=1),
                numbers.max(axis=1),
                color=colour,
                alpha=0.25,
                linewidth=0,
            )
            ax.plot(widths, np.median(numbers, axis=1), color=colour, label=label)
    axes[0].set(title="largest weight of a row", ylim=(0, 1.02))
    axes[0].legend(loc="lower right")
    axes[1].set(title="size of the softmax's Jacobian (log scale)", yscale="log")
    _widths_axis(axes[1], widths)
    return figure


def softmax_slope(gaps, slopes, marks):
    """Draw how much of a gradient passes a softmax of two scores, against the gap between them.

    Args:
        gaps: (points,) differences between the two scores.
        slopes: (points,) the rate at which the first weight changes with its own score.
        marks: dict from a label to the (gap, slope) of the point that it names.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    ax.plot(gaps, slopes, color=BLUE)
    ax.axhline(0.25, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.text(gaps[-1], 0.25 * 2.2, "never above ¼", color=GREY, ha="right", va="bottom")
    line = {"arrowstyle": "-", "color": ORANGE, "lw": 0.8, "shrinkB": 4}
    for label, (gap, slope) in marks.items():
        ax.plot(gap, slope, "o", color=ORANGE)
        place = (
            (gap - 0.4, slope / 100) if gap < 1.5 else (gap, slope / 50)
        )  # below the curve, where nothing else is
        side = "center" if gap < 1.5 else "left" if gap < 12 else "right"
        ax.annotate(
            label, (gap, slope), place, color=ORANGE, ha=side, va="top", fontsize=9, arrowprops=line
        )
    ax.set(
        xlabel="gap between the two scores",
        ylabel="slope (log scale)",
        yscale="log",
        ylim=(slopes.min() / 50, 5),
    )
    return figure


def _signed_colours():
    return LinearSegmentedColormap.from_list("signed", [ORANGE, "white", BLUE])


def clock_hands(encoding, row_labels, column_labels):
    """Draw each pair of an encoding as the hand of a clock: sine to the right, cosine up, so that 0
    is at twelve.

    Args:
        encoding: (positions, 2 * pairs), sine and cosine side by side.
        row_labels: what stands at each position.
        column_labels: what each pair is called.

    Returns:
        the matplotlib figure.
    """
    rows, pairs = len(encoding), encoding.shape[1] // 2
    figure, axes = plt.subplots(pairs, rows, figsize=(1.5 * rows, 1.65 * pairs), squeeze=False)
    for row, pair in np.ndindex(rows, pairs):
        ax = axes[pair, row]
        sine, cosine = encoding[row, 2 * pair : 2 * pair + 2]
        ax.add_patch(plt.Circle((0, 0), 1, fill=False, color=GREY, linewidth=1))
        ax.annotate(
            "",
            (sine, cosine),
            (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 1.8, "shrinkB": 0},
        )
        ax.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        if pair == 0:
            ax.set_title(row_labels[row], loc="center")
        if row == 0:
            ax.set_ylabel(column_labels[pair])
    return figure


def position_heatmap(encoding):
    """Show an encoding as colours from -1 (orange) over 0 (white) to 1 (blue), one row a position.

    Args:
        encoding: (positions, columns) between -1 and 1.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.6))
    image = ax.imshow(
        encoding, cmap=_signed_colours(), vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
    )
    ax.set(xlabel="column", ylabel="position")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    figure.colorbar(image, ax=ax, ticks=[-1, 0, 1], shrink=0.8, aspect=25)
    return figure


def similarity_by_offset(curves):
    """Draw how alike the encodings of two positions are against the distance between them.

    Args:
        curves: dict from the number of columns to the (offsets,) similarities at offsets 0, 1, 2
            and so on.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    for (columns, similarity), colour, width in zip(
        curves.items(), (GREY, ORANGE, BLUE), (1.0, 1.4, 2.2), strict=True
    ):
        ax.plot(similarity, color=colour, linewidth=width, label=f"{columns} columns")
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.set(
        xlabel="offset between the positions",
        ylabel="similarity",
        ylim=(-0.6, 1.05),
        xlim=(0, None),
        yticks=[-0.5, 0, 0.5, 1],
    )
    ax.legend(loc="lower center", ncols=3, handlelength=1.2, columnspacing=1.2)
    return figure


def signed_matrix(matrix, decimals=3):
    """Show a small square matrix as colours from -1 (orange) over 0 (white) to 1 (blue), its
    non-zero numbers in the cells.
    """
    figure, ax = plt.subplots(figsize=(4.6, 3.4))
    ax.imshow(matrix, cmap=_signed_colours(), vmin=-1, vmax=1, aspect="auto")
    ax.set(xlabel="column of $PE[pos]$", ylabel="column of $PE[pos + k]$")
    ax.set_xticks(range(len(matrix)))
    ax.set_yticks(range(len(matrix)))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for (row, column), number in np.ndenumerate(matrix):
        if number != 0:
            colour = "white" if abs(number) > 0.6 else "black"
            ax.text(
                column,
                row,
                f"{number:.{decimals}f}",
                ha="center",
                va="center",
                color=colour,
                fontsize=8,
            )
    return figure


def turned_pairs(query, key, places):
    """Draw a query and a key in the plane, turned by their positions, once for each pair of
    positions.

    Args:
        query, key: (places, 2), already turned.
        places: the (query position, key position) of each.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(places), figsize=(4.8, 2.2), sharey=True)
    for ax, q, k, (at_query, at_key) in zip(axes, query, key, places, strict=True):
        for vector, colour, name in ((q, BLUE, "$q$"), (k, ORANGE, "$k$")):
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", vector, (0, 0), arrowprops=arrow)
            ax.text(*(1.25 * vector), name, color=colour, ha="center", va="center")
        ax.add_patch(plt.Circle((0, 0), 1, fill=False, color=GREY, linewidth=0.8))
        ax.set_title(f"$q$ at {at_query}\n$k$ at {at_key}", loc="center", fontsize=9)
        ax.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return figure


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


def dealt_features(words, num_heads):
    """Draw which head gets which feature of each word: blocks of every word's features, or what a
    view cuts out of memory.

    Args:
        words: one a position; each has two features for every head.
        num_heads: how many heads, at most four.

    Returns:
        the matplotlib figure.
    """
    colours = (BLUE, ORANGE, GREEN, PURPLE)
    d_model = 2 * num_heads
    figure, axes = plt.subplots(1, 2, figsize=(4.8, 0.75 + 0.42 * len(words)), sharey=True)
    total = len(words) * d_model
    by_view = np.arange(total).reshape(len(words), d_model) // (total // num_heads)
    by_block = np.tile(np.arange(d_model) // (d_model // num_heads), (len(words), 1))
    for ax, heads, title in zip(
        axes, (by_block, by_view), ("cut, then transposed", "view alone"), strict=True
    ):
        for (row, column), head in np.ndenumerate(heads):
            ax.add_patch(plt.Rectangle((column, row), 0.92, 0.86, color=colours[head], linewidth=0))
            ax.text(
                column + 0.46,
                row + 0.43,
                str(head),
                color="white",
                ha="center",
                va="center",
                fontsize=9,
            )
        ax.set(xlim=(-0.1, d_model + 0.1), ylim=(len(words), -0.1), title=title, xlabel="feature")
        ax.set_xticks(np.arange(d_model) + 0.46, range(d_model))
        ax.set_yticks(np.arange(len(words)) + 0.43, words)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    return figure


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
            across = place + np.linspace(-0.18, 0.18, len(right))
            ax.plot(
                across,
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


def overlap_before_and_after(groups):
    """Draw the overlap of the attention maps of pairs of heads, one dot for each pair, one row for
    each kind of model.

    Args:
        groups: dict from a label to the (models, pairs) overlaps between 0 and 1.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 1.9))
    for row, (numbers, colour) in enumerate(zip(groups.values(), (GREY, BLUE), strict=True)):
        heights = (
            -row + np.linspace(0.22, -0.22, len(numbers))[:, np.newaxis]
        )  # a line for each model
        ax.plot(
            numbers,
            np.broadcast_to(heights, numbers.shape),
            "o",
            color=colour,
            alpha=0.6,
            markeredgewidth=0,
            markersize=5,
        )
    ax.set_yticks([-row for row in range(len(groups))], groups)
    ax.set(xlabel="overlap of two heads' maps", xlim=(-0.02, 1.02), ylim=(-len(groups) + 0.5, 0.5))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return figure


def transformer_diagram():
    """Draw the whole Transformer: the encoder on the left, the decoder on the right, and the memory
    between them.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.9, 5.2))
    embedded = "embedding · $\\sqrt{d_{model}}$\n+ positions"
    encoder = {
        0.55: ("source", None),
        1.55: (embedded, GREY),
        3.05: ("self-attention", BLUE),
        5.45: ("feed-forward", BLUE),
    }
    decoder = {
        0.55: ("target so far", None),
        1.55: (embedded, GREY),
        3.05: ("self-attention,\nmasked", ORANGE),
        4.25: ("cross-attention", ORANGE),
        5.45: ("feed-forward", ORANGE),
        7.0: ("linear (generator)", GREY),
        7.85: ("softmax", GREY),
        8.65: ("next word", None),
    }
    for centre, parts, name in ((1.2, encoder, "encoder layer"), (4.0, decoder, "decoder layer")):
        frame = {
            "boxstyle": "round,pad=0.02,rounding_size=0.12",
            "fill": False,
            "edgecolor": GREY,
            "linestyle": "--",
        }
        ax.add_patch(FancyBboxPatch((centre - 1.2, 2.45), 2.4, 3.6, **frame))
        ax.text(
            centre - 1.1,
            5.9,
            f"{name.split()[0]}\nlayer",
            ha="left",
            va="top",
            color=GREY,
            fontsize=8,
        )
        ax.text(centre + 1.1, 5.9, "× N", ha="right", va="top", color=GREY, fontsize=9)
        heights = sorted(parts)
        for height in heights:
            text, colour = parts[height]
            box = {
                "boxstyle": "round,pad=0.35",
                "facecolor": "white",
                "edgecolor": colour,
                "linewidth": 1.4,
            }
            ax.text(
                centre,
                height,
                text,
                ha="center",
                va="center",
                fontsize=9,
                bbox=box if colour else None,
                zorder=3,
            )
        _arrow(
            ax,
            (centre, heights[0] + 0.2),
            (centre, heights[-1] - 0.2 if "next word" in parts[heights[-1]] else 6.9),
        )
    ax.text(1.2, 7.1, "memory", ha="center", va="center", fontsize=9, weight="bold")
    ax.plot([1.2, 1.2, 2.6, 2.6], [7.3, 7.5, 7.5, 4.25], color=BLUE, linewidth=1.4, zorder=1)
    _arrow(ax, (2.6, 4.25), (3.22, 4.25), BLUE)
    ax.text(1.9, 7.6, "keys, values", ha="center", va="bottom", color=BLUE, fontsize=8)
    ax.text(4.06, 3.75, "queries", ha="left", va="center", color=ORANGE, fontsize=8)
    ax.set(xlim=(-0.1, 5.3), ylim=(0.2, 8.9))
    ax.axis("off")
    return figure


def _arrow(ax, start, end, colour=GREY):
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=arrow, zorder=1)


def next_words(probabilities, written, vocabulary):
    """Show the distribution over the next word after each word written, one row a step.

    Args:
        probabilities: (steps, vocab_size), each row summing to 1.
        written: the word written before each step.
        vocabulary: the words of the columns.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 1.5 + 0.3 * len(written)))
    heatmap(
        probabilities, written, vocabulary, xlabel="next word", ylabel="after", decimals=None, ax=ax
    )
    ax.tick_params(axis="x", rotation=90)
    for (row, column), number in np.ndenumerate(np.asarray(probabilities)):
        if number >= 0.005:
            shade = "white" if number > 0.55 else "black"
            ax.text(
                column,
                row,
                f"{100 * number:.0f}",
                ha="center",
                va="center",
                color=shade,
                fontsize=8,
            )
    return figure


def heads_at_a_step(weights, words):
    """Show where each head of one attention looks for a single query.

    Args:
        weights: (heads, key_len), each row summing to 1.
        words: the keys.

    Returns:
        the matplotlib figure.
    """
    _, ax = plt.subplots(figsize=(4.8, 0.9 + 0.4 * len(weights)))
    labels = [f"head {head}" for head in range(1, len(weights) + 1)]
    return heatmap(weights, labels, words, ylabel="", ax=ax)


def normalising_steps(rows, titles):
    """Draw a handful of features as bars, once before and once after each step of a layer norm, on
    one scale.

    Args:
        rows: (steps, features).
        titles: what has been done to them.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(rows), figsize=(5.4, 2.5), sharey=True)
    for ax, numbers, title in zip(axes, np.asarray(rows), titles, strict=True):
        places = np.arange(1, len(numbers) + 1)
        ax.bar(places, numbers, color=BLUE, width=0.7)
        ax.axhline(numbers.mean(), color=ORANGE, linewidth=1.5, linestyle="--")
        for place, number in zip(places, numbers, strict=True):
            above = number >= 0
            text = f"{number:.3g}".replace("-", "−")
            ax.text(place, number, text, ha="center", va="bottom" if above else "top", fontsize=9)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set(
            title=title,
            xlabel="feature",
            xticks=places,
            ylim=(np.min(rows) - 1.5, np.max(rows) + 1.5),
        )
        ax.tick_params(length=0)
    return figure


def who_shares_a_mean(groups, titles, row_labels):
    """Colour the cells of small tables by the group whose mean and variance they share.

    Args:
        groups: (tables, positions, features) int, the number of each cell's group.
        row_labels: the words at the positions.

    Returns:
        the matplotlib figure.
    """
    colours = ["#BBD6EA", "#F5CDB0", "#B8E0D2", "#DDC9DD", "#DDDDDD", "#F3E6A8"]
    figure, axes = plt.subplots(1, len(groups), figsize=(5.2, 2.6), sharey=True)
    for ax, table, title in zip(axes, np.asarray(groups), titles, strict=True):
        for (row, column), group in np.ndenumerate(table):
            cell = plt.Rectangle(
                (column, row), 1, 1, facecolor=colours[group], edgecolor="white", linewidth=2
            )
            ax.add_patch(cell)
            ax.text(column + 0.5, row + 0.5, "ABCDEF"[group], ha="center", va="center")
        rows, columns = table.shape
        ax.set(title=title, xlabel="feature", xlim=(0, columns), ylim=(rows, 0))
        ax.set_xticks(np.arange(columns) + 0.5, np.arange(columns) + 1)
        ax.set_yticks(np.arange(rows) + 0.5, row_labels)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
    return figure


def two_norm_orders():
    """Draw an encoder layer in post-norm and in pre-norm: what x passes on its way up, and what
    goes around it.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, 2, figsize=(4.8, 5.2))
    attention, network = ("self-attention", BLUE), ("feed-forward", GREEN)
    for ax, title, columns in (
        (axes[0], "post-norm", [[attention, "+", "norm_1"], [network, "+", "norm_2"]]),
        (axes[1], "pre-norm", [["norm_1", attention, "+"], ["norm_2", network, "+"]]),
    ):
        height = 0.0
        ax.text(0, height, "$x$", ha="center", va="center")
        for parts in columns:
            fork = height + 0.55
            for part in parts:
                height += 1.1
                _layer_arrow(ax, (0, height - 0.8), (0, height - 0.3))
                if part == "+":
                    ax.plot([0, 1.35, 1.35], [fork, fork, height], color=ORANGE, linewidth=2)
                    _layer_arrow(ax, (1.35, height), (0.22, height), ORANGE)
                    ax.text(
                        0,
                        height,
                        "+",
                        ha="center",
                        va="center",
                        bbox=_layer_box(ORANGE, "circle,pad=0.15"),
                    )
                elif isinstance(part, tuple):
                    ax.text(0, height, part[0], ha="center", va="center", bbox=_layer_box(part[1]))
                else:
                    ax.text(0, height, part, ha="center", va="center", bbox=_layer_box(GREY))
        _layer_arrow(ax, (0, height + 0.3), (0, height + 0.9))
        ax.set(xlim=(-1.3, 1.6), ylim=(-0.4, height + 1.0))
        ax.set_title(title, loc="center")
        ax.axis("off")
    return figure


def _layer_box(colour, style="round,pad=0.35"):
    return {"boxstyle": style, "facecolor": "white", "edgecolor": colour, "linewidth": 1.5}


def _layer_arrow(ax, start, end, colour="black"):
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=arrow)


def by_depth(depths, gradients, likeness):
    """Draw what a new stack of each depth does to gradients and to the difference between
    positions; bands reach over all seeds.

    Args:
        depths: (depths,) numbers of layers.
        gradients: dict from a label to the (depths, seeds) gradient norms of the first layer.
        likeness: dict from the same labels to the (depths, seeds) mean cosines between positions
            after the last layer.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(5.2, 6.0), sharex=True)
    colours = (GREY, PURPLE, ORANGE, GREEN, BLUE)
    for ax, groups in zip(axes, (gradients, likeness), strict=True):
        for (label, numbers), colour in zip(groups.items(), colours, strict=True):
            ax.fill_between(
                depths,
                numbers.min(axis=1),
                numbers.max(axis=1),
                color=colour,
                alpha=0.2,
                linewidth=0,
            )
            ax.plot(depths, np.median(numbers, axis=1), color=colour, label=label)
    axes[0].set(title="gradient norm of the first layer (log scale)", yscale="log")
    axes[1].set(
        title="likeness of the positions after the last layer", ylim=(0, 1.04), xlabel="layers"
    )
    axes[1].set_xticks([1, 4, 8, 12, 16, 20, 24])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def losses_of_deep_stacks(curves, levels):
    """Draw training losses, one thin line a seed, smoothed over twenty steps, and what knowing
    certain things is worth.

    Args:
        curves: dict from a label to the (seeds, steps) losses.
        levels: dict from a label to a loss, drawn as a dashed line: an upper one and a lower one.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.2, 3.9))
    window = np.ones(20) / 20
    styles = ((ORANGE, "-"), (GREEN, "-"), (GREEN, ":"), (BLUE, "-"))
    for (label, losses), (colour, dashes) in zip(curves.items(), styles, strict=True):
        for seed, row in enumerate(losses):
            smooth = np.convolve(row, window, mode="valid")
            steps = np.arange(len(smooth)) + len(window)
            ax.plot(
                steps, smooth, dashes, color=colour, linewidth=1.3, label=None if seed else label
            )
    for (label, level), (place, side, end) in zip(
        levels.items(), ((steps[-1], "right", "bottom"), (steps[3], "left", "top")), strict=True
    ):
        ax.axhline(level, color="black", linewidth=1, linestyle="--", zorder=0)
        ax.text(
            place, level + (0.02 if end == "bottom" else -0.03), label, ha=side, va=end, fontsize=9
        )
    ax.set(xlabel="step", ylabel="loss", ylim=(0, 2.15), xlim=(20, steps[-1]))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


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


def open_graph(weights, source, written, title, size):
    """Draw the picture that is shown with a link to the book: its title, and an attention map of a
    sentence, in large letters.

    Args:
        weights: (written words, source words), each row summing to 1.
        source, written: the words of the two sentences.
        title: of the course; what follows its comma stands on a second line.
        size: width and height in pixels, at 100 an inch.

    Returns:
        the matplotlib figure.
    """
    figure = plt.figure(figsize=(size[0] / 100, size[1] / 100), dpi=100, layout="none")
    name, _, rest = title.partition(", ")
    figure.text(0.04, 0.72, name, fontsize=68, weight="bold", color=BLUE)
    figure.text(0.04, 0.56, rest, fontsize=50, color="#222222")
    subtitle = "Build a Transformer\nthat translates, one\nfunction at a time."
    figure.text(0.04, 0.12, subtitle, fontsize=31, color="#333333")
    ax = figure.add_axes((0.645, 0.04, 0.34, 0.66))
    heatmap(weights, written, source, xlabel=None, ylabel=None, decimals=None, ax=ax)
    ax.xaxis.tick_top()
    ax.tick_params(labelsize=28, length=0, pad=6)
    ax.tick_params(axis="x", rotation=60)
    plt.setp(ax.get_xticklabels(), ha="left", rotation_mode="anchor")
    return figure
