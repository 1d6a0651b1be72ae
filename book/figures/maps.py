"""Attention maps: who looks at whom, as colours, with the tokens beside and below."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, SEQUENTIAL


def heatmap(
    matrix,
    row_labels,
    column_labels,
    *,
    xlabel="key position",
    ylabel="query position",
    title=None,
    decimals=2,
    darkest=None,
    ax=None,
):
    """Show a small matrix as colours from zero, with its numbers written in the cells.

    Args:
        matrix: (rows, columns) non-negative.
        row_labels, column_labels: the tokens beside the rows and below the columns.
        decimals: digits after the point; None leaves the numbers out.
        darkest: the number with the darkest colour, for tables that are compared; None is the
            largest of the matrix.

    Returns:
        the matplotlib figure.
    """
    matrix = np.asarray(matrix)
    darkest = max(matrix.max(), 1e-12) if darkest is None else darkest
    if ax is None:
        width = 1.6 + 0.75 * matrix.shape[1]
        _, ax = plt.subplots(figsize=(width, 0.9 + 0.5 * matrix.shape[0]))
    ax.imshow(matrix, cmap=SEQUENTIAL, vmin=0, vmax=darkest, aspect="auto")
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.set_xticks(range(matrix.shape[1]), column_labels)
    ax.set_yticks(range(matrix.shape[0]), row_labels)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    if decimals is not None:
        for (row, column), number in np.ndenumerate(matrix):
            dark = number > 0.55 * darkest
            ax.text(
                column,
                row,
                f"{number:.{decimals}f}",
                ha="center",
                va="center",
                color="white" if dark else "black",
            )
    return ax.figure


def attention_map(weights, query_labels, key_labels, **axes):
    """Show who looks at whom in a whole sentence, narrow enough for a phone.

    Args:
        weights: (query_len, key_len), each row summing to 1.
        query_labels, key_labels: the tokens.
        axes: `xlabel` and `ylabel`, as for `heatmap`.

    Returns:
        the matplotlib figure.
    """
    _, ax = plt.subplots(figsize=(4.8, 1.0 + 0.4 * len(query_labels)))
    return heatmap(weights, query_labels, key_labels, ax=ax, **axes)


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
