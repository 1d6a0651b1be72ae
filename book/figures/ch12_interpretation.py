"""The figures of chapter 12: numbers of several trainings as dots, heads as bubbles, and how
induction heads form.
"""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.maps import heatmap
from book.figures.style import BLUE, GREY, ORANGE, SEQUENTIAL

LEADER = {"arrowstyle": "-", "color": GREY, "linewidth": 0.8}


def rows_of_dots(groups, xlabel, *, limits=None, highlight=(), width=6.2):
    """Show one number per training as dots, in one row for each of several things.

    Args:
        groups: dict from a label to its numbers, one for each training.
        limits: of the axis.
        highlight: the labels whose dots are orange.
        width: of the figure, in inches; the narrower, the larger its letters on a phone.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(width, 0.8 + 0.32 * len(groups)))
    for row, (label, numbers) in enumerate(groups.items()):
        colour = ORANGE if label in highlight else BLUE
        ax.axhline(row, color="#E4E4E4", linewidth=0.8, zorder=0)
        ax.plot(numbers, [row] * len(numbers), "o", color=colour, alpha=0.6, markeredgewidth=0)
        ax.plot(np.mean(numbers), row, "|", color=colour, markersize=13, markeredgewidth=2)
    ax.set(xlabel=xlabel, yticks=range(len(groups)), ylim=(len(groups) - 0.5, -0.5), xlim=limits)
    ax.set_yticklabels(groups)
    ax.tick_params(axis="y", length=0)
    return figure


def noun_or_article(heads):
    """Draw each head as a bubble: how much it looks at the article, how much at the noun, and how
    many articles go wrong without it.

    Args:
        heads: list of dict with `article`, `noun`, `layer` and `wrong`.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.0, 4.4))
    heads = sorted(heads, key=lambda head: -head["wrong"])  # so that no bubble hides a smaller one
    for layer, colour in ((0, BLUE), (1, ORANGE)):
        chosen = [head for head in heads if head["layer"] == layer]
        ax.scatter(
            [head["article"] for head in chosen],
            [head["noun"] for head in chosen],
            s=[14 + 14 * head["wrong"] for head in chosen],
            color=colour,
            alpha=0.55,
            linewidths=0.8,
            edgecolors="white",
            label=f"layer {layer + 1}",
        )
    for head in heads:
        if head["wrong"] >= 20:
            ax.annotate(
                f"{head['wrong']}",
                (head["article"], head["noun"]),
                ha="center",
                va="center",
                fontsize=8,
            )
    ax.plot((0, 1), (1, 0), color=GREY, linewidth=0.8, linestyle=":")
    ax.set(
        xlabel="weight on the English word for the article",
        ylabel="weight on the noun",
        xlim=(-0.05, 1.05),
        ylim=(-0.05, 1.05),
    )
    legend = ax.legend(loc="upper right")
    for handle in legend.legend_handles:
        handle.set_sizes([40])
    return figure


def two_clouds(groups, axes, marked):
    """Draw what two heads write as one point for each noun, with lines at 0, and the mean of both
    genders.

    Args:
        groups: two of (label, (nouns, 2)), one for each gender, by the article.
        axes: names of both heads.
        marked: dict from a noun to its two numbers.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.0, 3.6))
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.axvline(0, color=GREY, linewidth=0.8)
    for (label, points), colour, shape in zip(groups.values(), (BLUE, ORANGE), "os", strict=True):
        ax.plot(*points.T, shape, color=colour, alpha=0.5, markeredgewidth=0, label=label)
    for noun, point in marked.items():
        ax.annotate(noun, point, (8, -28), textcoords="offset points", arrowprops=LEADER)
    middle = np.mean([points.mean(axis=0) for _, points in groups.values()], axis=0)
    ax.plot(*middle, "P", color=GREY, markersize=8, linestyle="none", label="mean of both")
    ax.set_ylim(bottom=-6)
    ax.set(xlabel=f"{axes[0]}, adds to la − il", ylabel=f"{axes[1]}, adds to la − il")
    ax.legend(loc="upper left")
    return figure


def answers(shares, rows, columns, *, decimals=2, **axes):
    """Show what is given to each of several things as colours, narrow enough for a phone, with
    slanted names.

    Args:
        shares: (rows, columns); what is below 0 is red.
        rows, columns: names of what gives, and of what gets.
        decimals: digits after the point; None leaves the numbers out.
        axes: `xlabel` and `ylabel`, if they need titles.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.0, 1.2 + 0.34 * len(rows)))
    titles = {"xlabel": None, "ylabel": None} | axes
    heatmap(shares, rows, columns, decimals=decimals, ax=ax, **titles)
    if np.min(np.asarray(shares)) < 0:
        (image,) = ax.images
        largest = image.get_clim()[1]
        image.set(cmap="RdBu", clim=(-largest, largest))
    ax.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor")
    return figure


def heads_forming(looks, seed):
    """Draw how a model learns to continue texts that repeat themselves: its losses in both halves
    of a text, and what its heads look at. Other trainings are drawn faintly.

    Args:
        looks: list of dict with `seed`, `step`, `first` and `second`, and `previous` and
            `induction`, scores by layer and head.
        seed: of the training that is drawn strongly.

    Returns:
        the matplotlib figure.
    """
    figure, (losses, scores) = plt.subplots(2, 1, figsize=(5.0, 4.8), sharex=True)
    seeds = sorted({look["seed"] for look in looks}, key=lambda each: each == seed)
    for each in seeds:
        strong = each == seed
        mine = [look for look in looks if look["seed"] == each][:: 1 if strong else 4]
        steps = [look["step"] for look in mine]
        faint = {} if strong else {"alpha": 0.3, "linewidth": 0.8}
        lines = [
            (losses, GREY, "first half", [look["first"] for look in mine]),
            (losses, ORANGE, "second half", [look["second"] for look in mine]),
        ]
        previous, induction = (
            np.array([look[name] for look in mine]) for name in ("previous", "induction")
        )
        marker = previous[-1, 0].argmax()
        names = {0: "layer 1, induction score", 1: "layer 2, induction score"}
        for layer, head in np.ndindex(induction.shape[1:]):
            if strong or layer:
                colour = (GREY, ORANGE)[layer]
                lines.append((scores, colour, names.pop(layer, None), induction[:, layer, head]))
        name = "layer 1, one place back"
        lines.append((scores, BLUE, name, previous[:, 0, marker]))
        for ax, colour, label, numbers in lines:
            ax.plot(steps, numbers, color=colour, label=label if strong else None, **faint)
    losses.set(ylabel="loss (nats)", ylim=(0, None))
    scores.set(xlabel="step", ylabel="weight", ylim=(0, 1.5), xlim=(0, looks[-1]["step"]))
    scores.set_yticks((0, 0.5, 1))  # the legend is above the lines
    losses.legend(loc="lower left", fontsize=9)
    scores.legend(loc="upper left", fontsize=9)
    return figure


def two_circuits(titles, labels, matrices):
    """Show two tables of words by words as colours, entries below 0 in white.

    Args:
        titles: of both.
        labels: of both, what its rows and what its columns are.
        matrices: of both, (words, words).

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, 2, figsize=(4.8, 2.8))
    for ax, title, (rows, columns), matrix in zip(axes, titles, labels, matrices, strict=True):
        ax.imshow(np.clip(matrix, 0, None), cmap=SEQUENTIAL, vmin=0)
        ax.set(title=title, ylabel=rows, xlabel=columns, xticks=(), yticks=())
        for side in ax.spines.values():
            side.set_color("#BBBBBB")
            side.set_visible(True)
    return figure
