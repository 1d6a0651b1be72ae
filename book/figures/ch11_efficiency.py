"""The curves of chapter 11: cost by length, and how well a short text predicts a long one."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREEN, GREY, ORANGE


def bytes_by_length(lengths, growing, levels):
    """Draw what grows with the length beside what does not, on logarithmic axes.

    Args:
        lengths: (points,) words.
        growing: dict from a label to (points,) bytes: three caches, and a table.
        levels: dict from a label to the bytes that do not depend on the length: two.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.6, 4.2))
    looks = [(BLUE, "-"), (BLUE, "--"), (BLUE, ":"), (ORANGE, "-"), (GREEN, "-"), (GREY, ":")]
    flat = {label: [number] * len(lengths) for label, number in levels.items()}
    for (label, numbers), (colour, style) in zip((growing | flat).items(), looks, strict=True):
        ax.plot(lengths, np.array(numbers) / 1e9, style, color=colour, label=label)
    ax.set(xscale="log", yscale="log", xlabel="words", ylabel="GB", ylim=(1e-4, 1e4))
    ax.set_xticks([10**power for power in range(3, 7)], ["1k", "10k", "100k", "1M"])
    ax.set_yticks([1e-3, 0.1, 10, 1e3], ["0.001", "0.1", "10", "1,000"])
    ax.minorticks_off()
    ax.legend(loc="lower right")
    return figure
