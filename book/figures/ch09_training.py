"""The figures of chapter 9: a run, its recipe, and a search."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, GREY, ORANGE


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


def loss_of_confidence(scores, curves, lowest, probabilities):
    """Draw the loss of one word against the score that the model gives it, above all others.

    Args:
        scores: (points,) of the right word.
        curves: dict from a label to the (points,) losses.
        lowest: dict from the same labels to the (score, loss) where the curve is lowest, or None.
        probabilities: dict from scores to the probabilities that they give, which are marked above.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 2.9))
    for (label, losses), style, colour in zip(
        curves.items(), ("--", "-"), (GREY, BLUE), strict=True
    ):
        ax.plot(scores, losses, style, color=colour, label=label)
        if lowest[label]:
            ax.plot(*lowest[label], "o", color=colour, markersize=7, clip_on=False, zorder=3)
    ax.set(xlabel="score of the right word, above all others", ylabel="loss")
    ax.set(xlim=(scores[0], scores[-1]), ylim=(0, None))
    above = ax.secondary_xaxis("top")
    above.set_xticks(list(probabilities), list(probabilities.values()))
    above.set_xlabel("its probability")
    ax.legend(loc="upper right")
    return figure


def learning_curve(training, validation, norms, landmarks):
    """Draw the losses of a run and, below them, the length of its gradients, on logarithmic axes.

    Args:
        training, validation: lists of (step, loss), neither smoothed.
        norms: (steps,) of the gradient before clipping.
        landmarks: dict from what a model knows to its loss; the last is the lowest.

    Returns:
        the matplotlib figure.
    """
    figure, (ax, below) = plt.subplots(
        2, 1, figsize=(5.4, 4.4), sharex=True, height_ratios=(2.2, 1), layout="constrained"
    )
    last = training[-1][0]
    floor = min(landmarks.values())
    for text, level in landmarks.items():
        ax.axhline(level, color=GREY, linewidth=1, linestyle=":")
        said = f"{text}: {level:.{2 if level < 0.1 else 1}f}"
        ax.text(0.99 * last, 1.03 * level, said, color=GREY, ha="right", va="bottom", fontsize=9)
    ax.plot(*zip(*training, strict=True), color=BLUE, label="training (one batch)")
    ax.plot(*zip(*validation, strict=True), "o-", color=ORANGE, markersize=4, label="validation")
    ax.set(ylabel="plain loss of a word", yscale="log", xlim=(0, last))
    ax.set_ylim(0.8 * floor, 1.5 * max(landmarks.values()))
    levels = [level for level in (0.1, 0.2, 0.5, 1, 2, 5) if level > 0.8 * floor]
    ax.set_yticks(levels, [f"{level:g}" for level in levels])
    ax.legend(loc="lower left", bbox_to_anchor=(0, 0.1))
    below.plot(range(1, len(norms) + 1), norms, color=BLUE, linewidth=0.8)
    below.axhline(1, color=ORANGE, linewidth=1)
    beside = {"transform": below.get_yaxis_transform(), "color": ORANGE, "fontsize": 9}
    below.text(1.01, 1, "clipped\nabove", va="center", **beside)
    below.set(xlabel="step", ylabel="gradient’s length", yscale="log")
    low, high = min(norms), max(norms)
    levels = [each for each in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if low / 2 < each < 2 * high]
    below.set_yticks(levels, [f"{level:g}" for level in levels])
    for each in (ax, below):
        each.minorticks_off()
    return figure


def overfitting(runs, curves, stops):
    """Draw the loss on the training text and on the validation sentences, one colour a setting,
    thin for each seed and strong for the mean.

    Args:
        runs: dict from a label to the curves of the seeds, each a list of (step, training loss,
            validation loss).
        curves: dict from the same labels to (looks, 3): the means of the seeds.
        stops: dict from the same labels to the (step, loss) where the mean validation is lowest.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3.1))
    for (label, curve), colour in zip(curves.items(), (ORANGE, BLUE), strict=True):
        for seed in runs[label]:
            steps, training, validation = np.asarray(seed).T
            ax.plot(steps, training, "--", color=colour, alpha=0.3, linewidth=0.8)
            ax.plot(steps, validation, color=colour, alpha=0.3, linewidth=0.8)
        steps, training, validation = np.asarray(curve).T
        ax.plot(steps, training, "--", color=colour, label=f"{label}: the 1,000 pairs")
        ax.plot(steps, validation, color=colour, label=f"{label}: validation")
        ax.plot(*stops[label], "o", color=colour, markersize=11, fillstyle="none")
    ax.set(xlabel="step", ylabel="plain loss of a word", xlim=(0, None), ylim=(0, 3.2))
    ax.legend(loc="upper right", fontsize=8)
    return figure


def losses_by_rate(losses):
    """Draw the validation loss against the learning rate, on logarithmic axes, one line for each
    length of the training.

    Args:
        losses: dict: number of steps -> dict: rate -> the loss of each seed.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3.3))
    shades = np.linspace(0.35, 1.0, len(losses))
    for (steps, by_rate), shade in zip(losses.items(), shades, strict=True):
        rates, middles = list(by_rate), [np.mean(each) for each in by_rate.values()]
        ax.plot(rates, middles, color=BLUE, alpha=shade)
        for rate, each in by_rate.items():
            ax.plot([rate] * len(each), each, "o", color=BLUE, alpha=0.7 * shade, markersize=5)
        best = int(np.argmin(middles))
        ax.plot(rates[best], middles[best], "o", color=ORANGE, markersize=11, fillstyle="none")
        side = "bottom" if shade == shades[0] else "center"  # the two highest curves begin close by
        ax.text(rates[0] / 1.25, middles[0], f"{steps:,} steps", ha="right", va=side, fontsize=9)
    ax.set(xlabel="highest learning rate (log scale)", ylabel="validation loss (log scale)")
    ax.set(xscale="log", yscale="log", xlim=(rates[0] / 4, rates[-1] * 1.3))
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    levels = (0.1, 0.2, 0.5, 1, 2, 5)
    ax.set_yticks(levels, [f"{level:g}" for level in levels])
    ax.minorticks_off()
    return figure


def schedules_by_rate(losses, exact, chosen):
    """Draw two scores of several schedules against the highest learning rate.

    Args:
        losses, exact: dict: schedule -> dict: rate -> a score for each seed.
        chosen: dict: schedule -> the rate with the lowest validation loss.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(2, 1, figsize=(5.4, 5.2), sharex=True, layout="constrained")
    looks = {"cosine": (BLUE, "o-"), "constant": (GREY, "^:"), "constant, averaged": (ORANGE, "s-")}
    for ax, scores, factor in zip(axes, (losses, exact), (1, 100), strict=True):
        for number, (name, by_rate) in enumerate(scores.items()):
            colour, look = looks[name]
            aside = 1.03 ** (number - 1)  # so that no dot hides another
            rates = [rate * aside for rate in by_rate]
            middles = [factor * np.mean(each) for each in by_rate.values()]
            ax.plot(rates, middles, look[1:], color=colour)
            for rate, each in zip(rates, by_rate.values(), strict=True):
                dots = [factor * score for score in each]
                ax.plot([rate] * len(dots), dots, look[0], color=colour, alpha=0.5, markersize=4)
            ax.plot([], [], look, color=colour, markersize=4, label=name)
            if name in chosen:
                best = list(by_rate).index(chosen[name])
                place = rates[best], middles[best]
                ax.plot(*place, "o", color=colour, markersize=12, fillstyle="none")
        ax.set(xscale="log")
        ax.set_xticks(list(by_rate), [f"{rate:g}" for rate in by_rate])
        ax.minorticks_off()
    axes[0].set(ylabel="validation loss", ylim=(0, None))
    axes[1].set(ylabel="exactly right, percent", xlabel="highest learning rate (log scale)")
    axes[0].legend(fontsize=8)
    return figure


def paired_differences(rows, linear, within, inner):
    """Draw by how much each change moves two scores: the differences of the seeds, and the interval
    of their mean. Each change has its name above its row, so that the panels can be wide, and a
    band marks where the axes are linear. In both panels right is better: the axis of the loss runs
    from high to low.

    Args:
        rows: dict from a change to two pairs (differences, (low, high)), of the sentences that are
            right, in points, and of the validation loss. None instead of an interval draws none.
        linear: for each score up to which difference its axis is linear; beyond it is logarithmic.
        within: for each score the two ends of its axis.
        inner: names of the changes that are compared with another change; they are indented.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(
        1, 2, figsize=(4.6, 0.9 + 0.43 * len(rows)), sharey=True, layout="constrained"
    )
    heads = "exactly right, points", "validation loss"
    for score, (ax, head) in enumerate(zip(axes, heads, strict=True)):
        ax.axvspan(-linear[score], linear[score], color=GREY, alpha=0.12, linewidth=0)
        for row, found in enumerate(rows.values()):
            differences, interval = found[score]
            low, high = sorted(each * (-1 if score else 1) for each in interval or (0, 0))
            colour = ORANGE if high < 0 else BLUE if low > 0 else GREY
            ax.plot([0, 0], [row - 0.25, row + 0.25], color=GREY, linewidth=1)  # not through names
            if interval:
                ax.plot(interval, [row, row], color=colour, linewidth=1.5)
            ax.plot(differences, [row] * len(differences), "o", color=colour, alpha=0.45, ms=4)
            ax.plot(np.mean(differences), row, "|", color=colour, markersize=12, markeredgewidth=2)
        ax.set_xscale("symlog", linthresh=linear[score], linscale=0.8)
        levels = sorted(
            side * size * linear[score]
            for side in (-1, 1)
            for size in (1, 10)
            if within[score][0] < side * size * linear[score] < within[score][1]
        )
        named = [f"{level:g}".replace("-", "−") for level in levels]
        ax.set_xticks([*levels, 0], [*named, "0"])
        ends = within[score][:: -1 if score else 1]
        ax.set(xlabel=f"{head}\nworse ← → better", xlim=ends, ylim=(len(rows) - 0.5, -0.8))
        ax.tick_params(axis="y", length=0)
        ax.minorticks_off()
        ax.spines.left.set_visible(False)
        ax.patch.set_visible(False)  # a long name reaches into the other panel
    axes[0].set_yticks([])
    for row, name in enumerate(rows):
        beside = {"transform": axes[0].get_yaxis_transform(), "fontsize": 9, "in_layout": False}
        axes[0].text(0.06 * (name in inner), row - 0.3, name, va="bottom", **beside)
    return figure


def wide_beams(gains):
    """Draw what beams of several sizes add to greedy decoding, for several length penalties: a line
    for each seed.

    Args:
        gains: dict: length penalty -> list of dict: beam -> BLEU gained, one for each seed.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(5.4, 3))
    ax.axhline(0, color=GREY, linewidth=1)
    looks = (ORANGE, "s--"), (GREY, "^:"), (BLUE, "o-")
    for (penalty, runs), (colour, look) in zip(gains.items(), looks, strict=True):
        label = f"length penalty {penalty:g}" if penalty else "no length penalty"
        for run in runs:
            ax.plot(list(run), list(run.values()), look, color=colour, markersize=4, label=label)
            label = None
    ax.set(xscale="log", xlabel="beam (log scale)", ylabel="BLEU gained")
    ax.set_xticks(list(run), [str(beam) for beam in run])
    ax.minorticks_off()
    ax.legend(loc="lower left", fontsize=9)
    return figure
