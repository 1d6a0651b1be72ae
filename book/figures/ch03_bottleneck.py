"""The figures of chapter 3: one vector against attention."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

from book.figures.style import BLUE, ENCODER, GREEN, GREY, ORANGE

KINDS = {"one vector": ORANGE, "attention": BLUE}


def _box(ax, place, text, colour=GREY, filled=False, size=9):
    face = {"boxstyle": "round,pad=0.28", "fc": colour if filled else "white", "ec": colour}
    ax.text(
        *place,
        text,
        ha="center",
        va="center",
        color="white" if filled else "black",
        bbox=face | {"lw": 1.4},
        fontsize=size,
    )


def _arrow(ax, start, end, colour=GREY, width=1.3, curve=0.0, gaps=(11, 11)):
    look = {"arrowstyle": "-|>", "color": colour, "lw": width, "mutation_scale": 9}
    bend = {"connectionstyle": f"arc3,rad={curve}", "shrinkA": gaps[0], "shrinkB": gaps[1]}
    ax.annotate("", end, start, arrowprops=look | bend)


def _guessing(ax, chance, x):
    """Draw the share that guessing gets as a dotted line, and name it above `x`."""
    ax.axhline(100 * chance, color=GREY, linewidth=0.8, linestyle=":")
    ax.text(x, 100 * chance + 1, "guessing", fontsize=8, color=GREY, va="bottom")


def who_waits(groups):
    """Draw which vectors are made in which step: one column for each step, one row for each word.
    The words themselves are at step 0, with a faint line to each vector that reads them: its own
    word, or every word where no vector needs another.

    Args:
        groups: dict from a title to `steps` and `needs`: for each vector the step that makes it,
            and the rows of the vectors that it is made from.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(groups), figsize=(4.4, 2.6), sharey=True, sharex=True)
    for ax, (title, (steps, needs)) in zip(axes, groups.items(), strict=True):
        for row, (step, needed) in enumerate(zip(steps, needs, strict=True)):
            words = range(len(steps)) if not any(needs) else [row]
            for word in words:  # what it reads
                look = {"color": GREY, "lw": 0.6, "alpha": 0.5, "zorder": 0}
                ax.plot((0, step - 0.3), (word + 1, row + 1), **look)
            ax.plot(0, row + 1, "o", color=GREY, markersize=3.5)
            for other in needed:
                _arrow(ax, (steps[other], other + 1), (step, row + 1), gaps=(7, 7))
            _box(ax, (step, row + 1), str(row + 1), ENCODER, filled=True, size=8)
        ax.set(title=title, xlabel="step", ylim=(len(steps) + 0.6, 0.4))
        ax.set(xticks=range(len(steps) + 1), xlim=(-0.4, len(steps) + 0.6))
        ax.tick_params(length=0)
    axes[0].set(ylabel="word", yticks=range(1, len(steps) + 1))
    return figure


def forgetting(gradients, read_out, every):
    """Draw how a first word fades with distance: the gradient that comes back to it, and how often
    it can be read out of the state.

    Args:
        gradients: dict from a label to the (seeds, distances) largest stretch of the Jacobian, at
            distances 0, 1, 2 and so on.
        read_out: dict from the same labels to the (seeds, places) share of sentences whose first
            word is read out rightly.
        every: how many words are between two places.

    Returns:
        the matplotlib figure.
    """
    heights = {"height_ratios": [1.5, 1]}
    figure, axes = plt.subplots(2, 1, figsize=(4.8, 5.0), sharex=True, gridspec_kw=heights)
    colours = (ORANGE, GREY, BLUE, GREEN)
    for ax, groups, factor, apart in zip(
        axes, (gradients, read_out), (1, 100), (1, every), strict=True
    ):
        for (label, numbers), colour in zip(groups.items(), colours, strict=True):
            numbers = factor * np.asarray(numbers)
            words = apart * np.arange(numbers.shape[1])
            band = {"color": colour, "alpha": 0.25, "linewidth": 0}
            ax.fill_between(words, numbers.min(axis=0), numbers.max(axis=0), **band)
            ax.plot(words, np.median(numbers, axis=0), color=colour, label=label)
    axes[0].set(yscale="log", ylim=(1e-24, 1e4))
    axes[0].set_title("gradient: how much comes back to the first state")
    axes[1].set_title("memory: first word read out rightly (%)")
    axes[1].set(xlabel="words read since the first", xlim=(0, None), ylim=(40, 103))
    _guessing(axes[1], 0.5, 1)
    axes[0].legend(loc="lower left")
    return figure


def copy_accuracy(lengths, panels, longest_trained, chance, dots=None):
    """Draw the share of words copied right against the length of the sentence, one panel below the
    other; bands cover all seeds.

    Args:
        lengths: (lengths,) the numbers of words.
        panels: dict from a title to a dict from a kind of machine to a dict from the size of its
            state to (seeds, lengths) shares.
        longest_trained: the longest sentence in training.
        chance: the share that guessing would get.
        dots: dict like one panel, but with (lengths,) shares, drawn into the first panel.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(4.8, 0.4 + 1.85 * len(panels)), sharex=True, sharey=True
    )
    axes = np.atleast_1d(axes)
    for ax, (title, groups) in zip(axes, panels.items(), strict=True):
        ax.axvspan(longest_trained + 0.5, lengths[-1], color=GREY, alpha=0.1, linewidth=0)
        _guessing(ax, chance, 1.3)
        for kind, sizes in groups.items():
            for shares, width in zip(sizes.values(), (0.9, 1.7, 2.6), strict=False):
                shares = 100 * np.asarray(shares)
                band = {"color": KINDS[kind], "alpha": 0.2, "linewidth": 0}
                ax.fill_between(lengths, shares.min(axis=0), shares.max(axis=0), **band)
                ax.plot(lengths, shares.mean(axis=0), color=KINDS[kind], linewidth=width)
        ax.set(title=title, ylim=(0, 103), xlim=(1, lengths[-1]), yticks=(0, 50, 100))
    for kind, sizes in (dots or {}).items():
        for shares in sizes.values():
            look = {"color": KINDS[kind], "edgecolors": "black", "linewidths": 0.8, "zorder": 3}
            axes[0].scatter(lengths, 100 * np.asarray(shares), 16, **look)
    beyond = (longest_trained + 0.8, 97)
    axes[0].text(*beyond, "longer than in training", fontsize=8, color=GREY, va="top")
    axes[len(panels) // 2].set_ylabel("words copied right (%)")
    axes[-1].set(xlabel="words in the sentence", xticks=range(2, lengths[-1] + 1, 2))
    place = longest_trained - 2  # where the lines are far apart
    for ax, groups in zip(axes[:-1], panels.values(), strict=False):
        for kind, sizes in groups.items():
            for size, shares in sizes.items():
                on_the_line = lengths[place], 100 * np.mean(shares, axis=0)[place]
                ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
                look = {"color": KINDS[kind], "fontsize": 8, "ha": "center", "va": "center"}
                ax.text(*on_the_line, str(size), bbox=ground, **look)
    return figure


def copy_budgets(budgets, panels, chance):
    """Draw the share of words copied right against the steps of training, one panel below the
    other; bands cover all seeds.

    Args:
        budgets: (budgets,) numbers of steps.
        panels: dict from a title to a dict from a kind of machine to a dict from the size of its
            state to one (seeds,) array of shares for each budget.
        chance: the share that guessing would get.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(4.8, 0.8 + 2.2 * len(panels)), sharex=True, sharey=True
    )
    for ax, (title, groups) in zip(axes, panels.items(), strict=True):
        _guessing(ax, chance, budgets[1])
        for kind, sizes in groups.items():
            for (size, shares), width in zip(sizes.items(), (0.9, 1.7, 2.6), strict=False):
                low, mean, high = (
                    [100 * over_seeds(each) for each in shares]
                    for over_seeds in (np.min, np.mean, np.max)
                )
                ax.fill_between(budgets, low, high, color=KINDS[kind], alpha=0.2, linewidth=0)
                look = {"color": KINDS[kind], "linewidth": width, "label": f"{kind}, {size}"}
                ax.plot(budgets, mean, "o-", markersize=2 + 1.5 * width, **look)
        ax.set(title=title, xscale="log", ylim=(0, 104), ylabel="words copied right (%)")
    axes[-1].set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes[-1].xaxis.set_minor_locator(NullLocator())
    axes[-1].set_xlabel("steps of training")
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=2, fontsize=8, handlelength=1.4)
    return figure


def copied_by_place(groups, chance, beyond=None):
    """Draw the share of words copied right at each place of a sentence; bands cover all seeds.

    Args:
        groups: dict from what the words are written after, or from a kind of machine, to (seeds,
            places) shares; a kind has its colour, and of the others the first is drawn solid, the
            second dashed, the third dotted.
        chance: the share that guessing would get.
        beyond: the last place that training reached, if it did not reach all.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.6 if beyond is None else 3.0))
    _guessing(ax, chance, 1)
    for (label, shares), line in zip(groups.items(), ("o-", "o--", "o:"), strict=False):
        shares = 100 * np.asarray(shares)
        places = range(1, shares.shape[1] + 1)
        ends = shares.min(axis=0), shares.max(axis=0)
        colour = KINDS.get(label.split(",")[0], ORANGE)
        line = "o-" if beyond else line
        ax.fill_between(places, *ends, color=colour, alpha=0.2, linewidth=0)
        ax.plot(places, shares.mean(axis=0), line, color=colour, markersize=4, label=label)
    ax.set(xlabel="place in the sentence", ylabel="words copied right (%)", ylim=(0, 103))
    ax.set_xticks(places)
    if beyond:
        ax.set_xlim(0.7, places[-1] + 0.3)
        ax.axvspan(beyond + 0.5, places[-1] + 0.3, color=GREY, alpha=0.1, linewidth=0)
        ax.text(beyond + 0.7, 100, "never in training", fontsize=8, color=GREY, va="top")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, handlelength=2.4)
    return figure


def gradient_by_place(groups):
    """Draw the gradient that each written word sends to the read word that it copies, on a
    logarithmic axis, one dot for each seed.

    Args:
        groups: dict from a kind of machine, perhaps with a comma and a remark, to (seeds, places)
            norms; those with a remark are dashed.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    for label, norms in groups.items():
        norms = np.asarray(norms)
        places = range(1, norms.shape[1] + 1)
        kind, *remark = label.split(",")
        look = {"color": KINDS[kind], "markersize": 5, "markeredgewidth": 0}
        ax.plot(places, norms.T, "o", alpha=0.5, **look)
        line = {"color": KINDS[kind], "linewidth": 1.2, "label": label}
        ax.plot(places, np.median(norms, axis=0), "--" if remark else "-", **line)
    ax.set(xlabel="place in the sentence", ylabel="gradient (log scale)", yscale="log")
    ax.set_xticks(places)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, handlelength=2.4)
    return figure
