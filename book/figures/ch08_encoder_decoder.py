"""The figures of chapter 8: what a Transformer writes, and where its heads look."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.maps import heatmap


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
    labels = [f"head {head}" for head in range(len(weights))]
    return heatmap(weights, labels, words, xlabel="source word", ylabel="", ax=ax)
