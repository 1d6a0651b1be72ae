"""Where the translator looked: the cross-attention of a sentence and its translation, as a
picture.
"""

import contextlib

import numpy as np
import torch

from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS


def cross_attention(model, source, target):
    """Return the cross-attention of a model while it writes a target.

    Args:
        model: a contract's Transformer whose attention modules take `need_weights`.
        source, target: lists of int, without special ids.

    Returns:
        (layers, heads, written, src_len) float: row t is where the model looked before it wrote
        target word t; the last row, before `<eos>`.
    """
    seen = []

    def ask_for_weights(module, arguments, named):
        return arguments, {**named, "need_weights": True}

    def keep(module, arguments, result):
        seen.append(result[1][0])

    with contextlib.ExitStack() as hooks, torch.no_grad():
        for layer in model.decoder:
            hooks.callback(
                layer.cross_attention.register_forward_pre_hook(
                    ask_for_weights, with_kwargs=True
                ).remove
            )
            hooks.callback(layer.cross_attention.register_forward_hook(keep).remove)
        model(padded([source]), padded([[BOS, *target]]))
    return torch.stack(seen).numpy()


def draw(path, weights, source_words, target_words):
    """Write a picture of attention weights, each head of the last layer and their mean.

    Args:
        weights: (layers, heads, written, src_len).
        source_words, target_words: for the axes.
    """
    from matplotlib.figure import Figure

    last = np.concatenate(
        [weights[-1].mean(axis=0, keepdims=True), weights[-1]]
    )  # (1 + heads, written, src_len)
    figure = Figure(figsize=(2.6 * len(last), 0.32 * weights.shape[2] + 1.4), layout="constrained")
    for number, (axes, panel) in enumerate(
        zip(np.ravel(figure.subplots(1, len(last))), last, strict=True)
    ):
        axes.imshow(panel, vmin=0, vmax=1, cmap="Blues", aspect="auto")
        axes.set_title("all heads" if number == 0 else f"head {number}", fontsize=9)
        axes.set_xticks(range(len(source_words)), source_words, rotation=60, ha="right", fontsize=8)
        axes.set_yticks(
            range(len(target_words)),
            target_words if number == 0 else [""] * len(target_words),
            fontsize=8,
        )
    figure.supxlabel("key position: the source", fontsize=9)
    figure.supylabel("query position: what is written next", fontsize=9)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
