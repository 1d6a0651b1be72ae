"""The figures of chapter 13: four models beside each other, patches, turning pairs, and curves."""

import matplotlib.pyplot as plt
import numpy as np

from book.figures.style import BLUE, DECODER, ENCODER, GREEN, GREY, MASKED, ORANGE, PURPLE

SERIES = (BLUE, ORANGE, GREEN, PURPLE, GREY)


def four_models(models):
    """Draw who may look at whom in several models, side by side: inputs below, outputs above, and a
    line wherever an output depends on an input.

    Args:
        models: list of dict: `title`; `inputs` and `outputs`, lists of words; `encoder`, how many
            of them belong to an encoder; `sees`, a set of (output, input); `asked`, dict from an
            output to what it predicts.

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(models), figsize=(9.0, 2.9))
    for ax, model in zip(axes, models, strict=True):
        for output, source in model["sees"]:
            colour = ENCODER if output < model["encoder"] else DECODER
            ax.plot((source, output), (0.16, 0.84), color=colour, linewidth=1.1, zorder=1)
        for height, words in ((0, model["inputs"]), (1, model["outputs"])):
            for place, word in enumerate(words):
                role = ENCODER if place < model["encoder"] else DECODER
                box = {"boxstyle": "round,pad=0.25", "edgecolor": role, "facecolor": "white"}
                ax.text(place, height, word, ha="center", va="center", fontsize=7, bbox=box)
        for place, word in model["asked"].items():
            ax.annotate(
                word,
                (place, 1.14),
                (place, 1.42),
                ha="center",
                fontsize=8,
                color="black",
                arrowprops={"arrowstyle": "<-", "color": MASKED},
            )
        ax.set(xlim=(-0.6, len(model["outputs"]) - 0.4), ylim=(-0.25, 1.6))
        ax.set_title(model["title"], loc="center")
        ax.axis("off")
    return figure


def image_to_patches(image, patches, patch_size):
    """Draw an image with the borders of its patches, and beside it the patches in their order.

    Args:
        image: (height, width), dark where it is 0.
        patches: (count, patch_size * patch_size), as `patchify` returns them.

    Returns:
        the matplotlib figure.
    """
    count = len(patches)
    half = (count + 1) // 2
    figure = plt.figure(figsize=(7.0, 2.4))
    grid = figure.add_gridspec(2, half + 3)
    whole = figure.add_subplot(grid[:, :2])
    limits = {"cmap": "Greys", "vmin": 0, "vmax": image.max()}
    whole.imshow(image, **limits)
    height, width = image.shape
    for edge in range(patch_size, height, patch_size):
        whole.axhline(edge - 0.5, color=ORANGE)
    for edge in range(patch_size, width, patch_size):
        whole.axvline(edge - 0.5, color=ORANGE)
    whole.set_title("an image")
    axes = [whole]
    for place, patch in enumerate(patches):
        ax = figure.add_subplot(grid[place // half, 3 + place % half])
        ax.imshow(patch.reshape(patch_size, patch_size), **limits)
        ax.set_title(place + 1, loc="center", fontsize=8)
        axes.append(ax)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        for side in ax.spines.values():
            side.set(visible=True, edgecolor=ORANGE)
    return figure


def turning_pairs(pairs, positions):
    """Draw pairs of features as arrows in a plane, each turned by its position.

    Args:
        pairs: (positions, pairs, 2).
        positions: the positions of the first axis.

    Returns:
        the matplotlib figure.
    """
    count = pairs.shape[1]
    figure, axes = plt.subplots(1, count, figsize=(2.3 * count, 2.5))
    around = np.linspace(0, 2 * np.pi, 200)
    for pair, ax in enumerate(axes):
        length = np.linalg.norm(pairs[0, pair])
        ax.plot(length * np.cos(around), length * np.sin(around), color="#DDDDDD", linewidth=1)
        for row, position in enumerate(positions):
            tip = pairs[row, pair]
            strength = 0.35 + 0.65 * row / max(len(positions) - 1, 1)
            style = {"arrowstyle": "-|>", "color": BLUE, "alpha": strength, "linewidth": 1.6}
            ax.annotate("", tip, (0, 0), arrowprops=style)
            ax.text(*(1.22 * tip), position, ha="center", va="center", fontsize=8)
        ax.set(xlim=(-1.45 * length, 1.45 * length), ylim=(-1.45 * length, 1.45 * length))
        ax.set_title(f"pair {pair + 1}", loc="center")
        ax.set_aspect("equal")
        ax.axis("off")
    return figure


def losses_by_step(histories, baselines):
    """Show training and validation losses by step, beside losses that are the same at every step.

    Args:
        histories: for each training a list of dict with `step`, `training` and `validation`.
        baselines: dict from a label to a loss.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(6.2, 3.2))
    for number, history in enumerate(histories):
        steps = [each["step"] for each in history]
        for name, colour in (("training", GREY), ("validation", BLUE)):
            label = f"GPT, {name} text" if not number else None
            ax.plot(steps, [each[name] for each in history], color=colour, label=label, lw=1.3)
    for (label, loss), style in zip(baselines.items(), ("--", ":", "-."), strict=False):
        ax.axhline(loss, color=ORANGE, linestyle=style, label=label)
    ax.set(xlabel="step", ylabel="loss, nats a letter")
    ax.legend(fontsize=8)
    return figure


def on_straight_lines(panels):
    """Show losses against sizes, both on logarithmic axes, each panel with the line that fits.

    Args:
        panels: list of dict: `xlabel`; `points`, a list of (size, loss); `line`, a list of two
            (size, loss).

    Returns:
        the matplotlib figure.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(6.6, 2.9), sharey=True)
    for ax, panel in zip(axes, panels, strict=True):
        ax.loglog(*zip(*panel["line"], strict=True), color=ORANGE)
        ax.loglog(*zip(*panel["points"], strict=True), "o", color=BLUE, alpha=0.6, mew=0)
        ax.set(xlabel=panel["xlabel"])
        ax.yaxis.set_minor_formatter("{x:.1f}")
        ax.yaxis.set_major_formatter("{x:.1f}")
    axes[0].set_ylabel("validation loss, nats a letter")
    return figure
