"""The figures of chapter 8: the whole Transformer, and what it writes."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch

from book.figures.maps import heatmap
from book.figures.style import DECODER, ENCODER, GREY


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
        3.05: ("self-attention", ENCODER),
        5.45: ("feed-forward", ENCODER),
    }
    decoder = {
        0.55: ("target so far", None),
        1.55: (embedded, GREY),
        3.05: ("self-attention,\nmasked", DECODER),
        4.25: ("cross-attention", DECODER),
        5.45: ("feed-forward", DECODER),
        7.0: ("linear (generator)", GREY),
        7.85: ("softmax", GREY),
        8.65: ("next word", None),
    }
    _stack(ax, 1.2, encoder, "encoder")
    _stack(ax, 4.0, decoder, "decoder")
    ax.text(1.2, 7.1, "memory", ha="center", va="center", fontsize=9, weight="bold")
    ax.plot([1.2, 1.2, 2.6, 2.6], [7.3, 7.5, 7.5, 4.25], color=ENCODER, linewidth=1.4, zorder=1)
    _arrow(ax, (2.6, 4.25), (3.22, 4.25), ENCODER)
    ax.text(1.9, 7.6, "keys, values", ha="center", va="bottom", color=ENCODER, fontsize=8)
    ax.text(4.06, 3.75, "queries", ha="left", va="center", color=DECODER, fontsize=8)
    ax.set(xlim=(-0.1, 5.3), ylim=(0.2, 8.9))
    ax.axis("off")
    return figure


def _stack(ax, centre, parts, name):
    """Draw one of the two halves around its vertical axis.

    Args:
        parts: dict from a height to the text of a part and the colour of its box, or None.
        name: of the layer that the dashed frame repeats.
    """
    frame = {"boxstyle": "round,pad=0.02,rounding_size=0.12", "linestyle": "--"}
    ax.add_patch(
        FancyBboxPatch((centre - 1.2, 2.45), 2.4, 3.6, fill=False, edgecolor=GREY, **frame)
    )
    beside = {"va": "top", "color": GREY}
    ax.text(centre - 1.1, 5.9, f"{name}\nlayer", ha="left", fontsize=8, **beside)
    ax.text(centre + 1.1, 5.9, "× N", ha="right", fontsize=9, **beside)
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "linewidth": 1.4}
    middle = {"ha": "center", "va": "center", "fontsize": 9, "zorder": 3}
    for height, (text, colour) in parts.items():
        ax.text(
            centre, height, text, bbox={**box, "edgecolor": colour} if colour else None, **middle
        )
    # the encoder's arrow ends at its memory, which is written above its parts
    end = max(parts) - 0.2 if name == "decoder" else 6.9
    _arrow(ax, (centre, min(parts) + 0.2), (centre, end))


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
