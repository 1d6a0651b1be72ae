"""What the pages of chapter 9 say of their recorded experiments, as tables."""

import numpy as np
from IPython.display import Markdown

from book.experiments import measurements
from book.experiments.training import planted_bugs
from book.experiments.training.bugs import NONE

PAPER = "Vaswani et al. 2017, base"
ASKED = {  # the question -> how its answer is shown
    "first_loss": "loss before the first step: ln V {:+.1f}",
    "later_word": "a later word moves logits by {:.2f}",
    "other_source": "another source moves logits by {:.4f}",
    "source_padding": "padding of the source moves logits by {:.2f}",
    "target_padding": "padding of the target moves the loss by {:.3f}",
    "old_gradients": "after another batch, the gradient of this one differs by {:.0%}",
    "one_batch": "one batch, 60 times: loss {:.2f}",
    "exchanged": "with another source the loss rises by only {:.2f}",
    "forced": "forced on its own output, {:.0%} of the sentences agree",
}


def by_budget(measured):
    """Return dict: number of steps -> the runs of that length."""
    found = {}
    for run in measured["runs"]:
        found.setdefault(run["steps"], []).append(run)
    return found


def longer_runs(measured):
    """Say how far the page's loop comes from several seeds, and with more steps."""
    if measured is None:
        return Markdown("*Not measured yet: `python -m book.experiments training_loop`.*")
    rows = [
        (
            f"{budget:,}",
            measurements.spread([run["exact"] for run in runs], 100, 0, " %"),
            measurements.spread([run["validation_loss"] for run in runs], 1, 2),
        )
        for budget, runs in by_budget(measured).items()
    ]
    heads = ("steps", "exactly right", "validation loss")
    seeds = measured["budget"]["seeds"]
    return Markdown(
        f"{measurements.table(heads, rows).data}\n\nMean, and range over {seeds} seeds. Made by"
        f" `{measured['command']}` ({made_by(measured)})."
    )


def at_twice_the_budget(measured, best, recipe):
    """Say whether the averaged checkpoints still win after twice as many steps."""
    if measured is None:
        return Markdown(
            "Whether it still wins with more steps is not measured yet: `python -m book.experiments"
            " averaging` would say."
        )
    groups = measurements.by_ingredient(measured)
    won, whole = (measurements.spread(groups[name], 100, 1, " %") for name in (best, recipe))
    losses = measurements.by_ingredient(measured, "loss")
    lower, higher = (measurements.spread(losses[name], 1, 3) for name in (best, recipe))
    steps = measured["budget"]["steps"][0]
    command = measured["command"]
    return Markdown(
        f"With twice the budget, {steps} steps, it is {won} against {whole} of the sentences, and a"
        f" loss of {lower} against {higher}: `{command}`"
        f" ({made_by(measured)})."
    )


def made_by(measured):
    """Say when and on what a recorded run was made."""
    took = measurements.duration(measured["seconds"])
    cpu, torch = measured["hardware"]["cpu"], measured["versions"]["torch"]
    return f"{measured['date']}, {took} on one thread of {cpu}, torch {torch}"


def by_bug(measured):
    """Return dict: bug -> its runs, in the order in which they were made."""
    found = {}
    for run in measured["runs"]:
        found.setdefault(run["bug"], []).append(run)
    return found


def first_question(runs):
    """Return the first question that all runs of a bug answer as no honest one would; None where
    there is none.
    """
    wrong = [planted_bugs.found_by(run) for run in runs]
    return next(
        (name for name in planted_bugs.QUESTIONS if all(name in each for each in wrong)), None
    )


def said(runs):
    """Say what found a bug, with the mean of the answers."""
    name = first_question(runs)
    if name is None:
        return "none; only the honest run beside it"
    return ASKED[name].format(np.mean([run["answers"][name] for run in runs]))


def bug_table(measured):
    """Return the table of planted bugs: validation loss as the loop reports it, exact translations,
    and the question that finds the bug.
    """
    rows = []
    for bug, runs in by_bug(measured).items():
        loss, exact = (np.mean([run[key] for run in runs]) for key in ("loss", "exact"))
        found = "" if bug == NONE else said(runs)
        rows.append((f"*{bug}*" if bug == NONE else bug, f"{loss:.2f}", f"{exact:.0%}", found))
    heads = ("bug", "validation loss", "exactly right", "found by")
    return measurements.table(heads, rows)


def recipe_table(optimizer, model, preset):
    """Return the recipe: of the paper, of the page's loop, and of a preset of the course.

    Args:
        optimizer: of the course's Training.
        model: the Transformer of the page.
        preset: of `settings.PRESETS`.
    """
    group = optimizer.param_groups[0]
    adam = "{}, β {}, {}".format(type(optimizer).__name__, *group["betas"])
    layers = len(model.encoder), len(model.decoder)
    heads = model.encoder[0].self_attention.num_heads
    width = model.encoder[0].feed_forward.linear_1.out_features
    pre_norm = {True: "pre-norm", False: "post-norm"}
    rows = [
        ("optimizer", "Adam, β 0.9, 0.98", "AdamW, β 0.9, 0.98", adam),
        ("its ε", "1e-9", "1e-8, PyTorch's", f"{group['eps']:.0e}".replace("e-0", "e-")),
        ("weight decay", "none", "0", f"{group['weight_decay']:g}"),
        ("highest rate", "0.0007", "0.01", f"{preset['learning_rate']:g}"),
        ("warm-up, steps", "4,000", "60", preset["warmup"]),
        ("then", "falls with √step", "cosine to 0", preset.get("schedule", "cosine") + " to 0"),
        ("steps", "100,000", "400", f"{preset['steps']:,}"),
        ("words in a batch, at most", "about 25,000", "512", f"{preset['tokens']:,}"),
        ("clipping, to a norm of", "not mentioned", "1", "1"),
        ("label smoothing", "0.1", "0.1", f"{preset['smoothing']:g}"),
        ("dropout", "0.1", f"{model.dropout.p:g}", f"{preset['dropout']:g}"),
        (
            "norms",
            "post-norm",
            pre_norm[model.norm_first],
            pre_norm[preset.get("norm_first", True)],
        ),
        ("embeddings start with deviation", "not mentioned", "1/√d_model", "1/√d_model"),
        (
            "layers, heads, d_model, d_ff",
            "6 + 6, 8, 512, 2,048",
            f"{layers[0]} + {layers[1]}, {heads}, {model.d_model}, {width}",
            "{num_encoder_layers} + {num_decoder_layers}, {num_heads}, {d_model}, {d_ff}".format(
                **preset
            ),
        ),
        ("finished model", "mean of the last 5 checkpoints", "the last weights", averaged(preset)),
    ]
    return measurements.table(("setting", PAPER, "the loop of this page", "preset `small`"), rows)


def averaged(preset):
    """Say what a preset's finished model is."""
    count = preset.get("average", 1)
    return "the last weights" if count == 1 else f"mean of the last {count} checkpoints"
