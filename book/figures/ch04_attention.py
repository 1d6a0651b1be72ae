"""The figures of chapter 4: scores, weights, and what the scale is for."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from book.figures.maps import heatmap
from book.figures.style import BLUE, GREY, ORANGE


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


def moved_in_a_plane(places, word, moved, directions):
    """Draw words as points of a plane, what comes out for one of them, and where that moves it.

    Args:
        places: dict from each word to its two numbers; words at (0, 0) share a point.
        word: the one that moves.
        moved: dict from each sentence to the two numbers that come out, which are added to the
            word; the words of a sentence are corners of a shaded ground.
        directions: what the two axes mean.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 4.0))
    empty = ", ".join(name for name, place in places.items() if not any(place))
    for name, place in {**places, empty: (0, 0)}.items():
        if any(place) or name == empty:
            ax.plot(*place, "o", color=GREY if name != word else "black")
            beside = (-12, -14) if name == word else (7 if place[0] else -7, -4)
            side = "left" if place[0] else "right"  # beyond the axis, where no line is
            ax.annotate(name, place, beside, textcoords="offset points", ha=side)
    start = np.array(places[word])
    for (name, output), colour in zip(moved.items(), (BLUE, ORANGE), strict=True):
        corners = np.array(sorted({tuple(places[each]) for each in name.split()}), dtype=float)
        around = np.arctan2(*(corners - corners.mean(axis=0)).T)
        ax.fill(*corners[around.argsort()].T, color=colour, alpha=0.12, linewidth=0)
        ax.plot(*zip((0, 0), output, strict=True), color=colour, lw=1.2, linestyle=(0, (4, 3)))
        ax.plot(*output, "D", color=colour, markersize=6)
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 4, "shrinkB": 0}
        ax.annotate("", start + output, start, arrowprops=arrow)
        above = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
        ax.annotate(name, start + output, color=colour, **above)
    ax.set(xlim=(-0.6, 2.9), ylim=(-0.1, 2.7), xticks=[0, 1, 2], yticks=[0, 1, 2])
    ax.set(xlabel=f"{directions[0]} →", ylabel=f"{directions[1]} →", aspect="equal")
    return figure


def maps_forming(maps, words, titles):
    """Show attention maps of one sentence at several stages of a training, one below the other.

    Args:
        maps: (stages, query_len, key_len) weights.
        words: of the sentence.
        titles: one for each stage.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(len(maps), 1, figsize=(4.6, 2.1 * len(maps)), sharex=True)
    for ax, table, title in zip(axes, maps, titles, strict=True):
        heatmap(table, words, words, xlabel=None, ylabel=None, title=title, ax=ax)
        ax.images[0].set_clim(0, 1)
        for text, weight in zip(ax.texts, np.ravel(table), strict=True):
            text.set_color("white" if weight > 0.55 else "black")
    figure.supylabel("query position", fontsize=10)
    axes[-1].set_xlabel("key position")
    return figure


def _widths_axis(ax, widths):
    ax.set_xscale("log", base=2)
    ax.set_xticks(widths, widths)
    ax.minorticks_off()
    ax.set_xlabel("width of queries and keys, $d_k$")


def saturation(widths, largest, slope, mean, marked):
    """Draw how the softmax saturates as d_k grows, with and without the scale; bands reach over all
    seeds.

    Args:
        widths: (widths,) the values of d_k.
        largest: dict from a label to the (widths, seeds) mean largest weight of a row.
        slope: dict from the same labels to the (widths, seeds) median rate at which the weight of
            a random word follows its score.
        mean: like `slope`, of the mean rate.
        marked: the width that a dotted line marks.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(4.8, 4.6), sharex=True)
    for ax, groups in zip(axes, (largest, slope), strict=True):
        ax.axvline(marked, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
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
    for numbers, colour in zip(mean.values(), (ORANGE, BLUE), strict=True):
        axes[1].plot(widths, np.median(numbers, axis=1), color=colour, linestyle=(0, (4, 2)))
    kinds = [Line2D([], [], color=GREY, linestyle=style) for style in ("-", (0, (4, 2)))]
    axes[1].legend(kinds, ["typical row (median)", "mean of all rows"], loc="lower left")
    axes[0].set(title="largest weight of a row", ylim=(0, 1.02))
    axes[0].legend(loc="lower right")
    axes[1].set(title="how fast a random word's weight follows its score (log scale)", yscale="log")
    _widths_axis(axes[1], widths)
    return figure


def starts_and_rates(stages, curves, starts, rates):
    """Draw how a task is learned from several starts at several rates; bands reach over all seeds.

    Args:
        stages: dict from a start to the steps after which it was tested.
        curves: dict from a start and a rate to the (seeds, stages) shares of right answers.
        starts: dict from each start to its name; it chooses the colour.
        rates: dict from each rate to its name; it chooses the dashes.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.6))
    colour = dict(zip(starts, (BLUE, ORANGE), strict=True))
    dashes = dict(zip(rates, ("-", (0, (4, 2)), (0, (1, 1.5))), strict=True))
    for (start, rate), shares in curves.items():
        steps = stages[start]
        band = {"color": colour[start], "alpha": 0.15, "linewidth": 0}
        ax.fill_between(steps, shares.min(axis=0), shares.max(axis=0), **band)
        label = f"{starts[start]}, {rates[rate]}"
        style = {"color": colour[start], "linestyle": dashes[rate]}
        ax.plot(steps, np.median(shares, axis=0), label=label, **style)
    ax.set(xlabel="steps", title="share of right answers", ylim=(0, 1.03))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    figure.legend(loc="outside lower center", ncols=2, fontsize=9)
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
        # Below the curve, where nothing else is.
        place = (gap - 0.4, slope / 100) if gap < 1.5 else (gap, slope / 50)
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
