"""The figures of chapter 7: norms, residual connections and depth."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE

STARTS = {"Glorot": ORANGE, "PyTorch": BLUE, "N(0, 0.02)": GREEN}  # of each initialisation
# Of stacks that lack parts, and of whole ones by Glorot's rule.
PARTS = {
    "neither": (GREY, "-."),
    "residuals alone": (PURPLE, "-"),
    "norms alone": (GREEN, "-"),
    "post-norm": (ORANGE, "-"),
    "pre-norm": (ORANGE, "--"),
}


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


ROUNDING = 2**-24  # numbers of 32 bits are exact to this share of themselves


def by_depth(depths, gradients, own):
    """Draw how large the gradient is, and how much positions have of their own, in new stacks of
    each depth; bands reach over all seeds.

    Args:
        depths: (depths,) numbers of layers.
        gradients: dict from "neither", "residuals alone", "norms alone", "post-norm" and "pre-norm"
            to the (depths, seeds) gradient norms of the first layer.
        own: dict from the same labels to the (depths, seeds) own shares after the last layer.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(5.2, 6.4), sharex=True)
    least = ROUNDING / 8
    own = {label: np.maximum(numbers, least) for label, numbers in own.items()}
    axes[0].set(title="gradient norm of the first layer", yscale="log")
    axes[1].set(title="own share of the positions after the last layer", yscale="log")
    axes[1].set(xlabel="layers", ylim=(least / 8, 3), xticks=[1, 4, 8, 12, 16, 20, 24])
    for ax, groups in zip(axes, (gradients, own), strict=True):
        for label, numbers in groups.items():
            colour, dashes = PARTS[label]
            low, middle, high = (f(numbers, axis=1) for f in (np.min, np.median, np.max))
            ax.fill_between(depths, low, high, color=colour, alpha=0.2, linewidth=0)
            ax.plot(depths, middle, dashes, color=colour)
        ax.set_xlim(depths[0], depths[-1])
        name_ends(ax, {label: np.median(numbers[-1]) for label, numbers in groups.items()})
    axes[1].axhline(ROUNDING, color="black", linewidth=1, linestyle=":")
    axes[1].text(23.5, 1.6 * ROUNDING, "32 bits round here", ha="right", va="bottom", fontsize=9)
    return figure


def name_ends(ax, ends, apart=0.08):
    """Write names to the right of some lines, where they end.

    Args:
        ends: dict from a label in PARTS to the last y of its line.
        apart: least distance between two names, as a share of the height of the axes.
    """

    def height(y):
        return ax.transAxes.inverted().transform(ax.transData.transform((1, y)))[1]

    labels = sorted(ends, key=ends.get)
    heights = np.array([height(ends[label]) for label in labels])
    for _ in range(100):  # neighbours that are too close push each other away
        missing = np.maximum(apart - np.diff(heights), 0) / 2
        heights -= np.append(missing, 0)
        heights = np.minimum(heights + np.append(0, missing), 1.04)
    for label, y in zip(labels, heights, strict=True):
        place = {"transform": ax.transAxes, "va": "center", "fontsize": 9}
        ax.text(1.02, y, label, color=PARTS[label][0], **place)


def losses_of_deep_stacks(panels, levels, seen):
    """Draw training losses below each other, one thin line per run, coloured by its initialisation.

    Args:
        panels: dict from a title to a dict from an initialisation to (steps, losses): (points,) and
            (seeds, points).
        levels: dict from a label to a loss, drawn as a dashed line.
        seen: the steps of a shorter run, drawn as a grey band.

    Returns:
        the matplotlib figure.
    """
    top = 2.25
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(5.2, 0.9 + 1.75 * len(panels)), sharex=True, sharey=True
    )
    for ax, (title, groups) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for initialisation, (steps, losses) in groups.items():
            for seed, row in enumerate(losses):
                label = None if seed else initialisation
                ax.plot(steps, row, color=STARTS[initialisation], linewidth=1.3, label=label)
            if np.nanmedian(losses) > top:
                note = f"{initialisation}: nearly always above {top}"
                ax.text(0.07 * steps[-1], 1.95, note, color=STARTS[initialisation], fontsize=9)
        ax.axvspan(0, seen, color=GREY, alpha=0.25, linewidth=0)
        for label, level in levels.items():  # above the highest, where no line runs; else below
            ax.axhline(level, color="black", linewidth=1, linestyle="--", zorder=0)
            away, side = (0.03, "bottom") if level == max(levels.values()) else (-0.04, "top")
            ax.text(0.95 * steps[-1], level + away, label, ha="right", va=side, fontsize=9)
        ax.set(title=title, ylabel="loss", ylim=(0, top), xlim=(0, steps[-1]))
    ax.set_xlabel("step")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
