"""What the pages of chapter 9 say of their recorded experiments, as tables."""

import numpy as np
from IPython.display import Markdown

from book.experiments import measurements
from book.experiments.training import ingredients, planted_bugs
from book.experiments.training.bugs import NONE

PAPER, LARGE = "Vaswani et al. 2017, base", "LLaMA 7B, 2023"
SILENT = "not mentioned"
WHY = {  # a bug -> what it does
    NONE: "",
    "the decoder sees later words": "it copies the answer, and in translating there is none",
    "padding of the source is not masked": "words attend to padding; batches by length have little",
    "cross-attention reads the decoder": "the source never arrives",
    "scores are not divided by √d_k": "the softmax starts too sharp",
    "embeddings start at PyTorch's size": "they drown positions and learn slowly; a norm hides it",
    "the same, and tied to the generator": "nothing after the generator hides it",
    "softmax before the loss": "training takes two, and sticks near 6; validation takes one",
    "the answer is not shifted": "it says the word that it has just read",
    "the loss counts padding": "rarely trained on, but counted in validation",
    "sources belong to other targets": "it learns Italian, not translating",
    "no zero_grad": "all gradients so far are summed; clipping lets the old ones fade",
    "no zero_grad, no clipping": "they are summed, and nothing fades",
    "the optimizer holds a copy": "it moves other weights than the model’s",
    "the rate is ten times as high": "it overshoots",
    "dropout stays on in translating": "each word comes from another model",
    "the decoder gets the last word alone": "training is right, but decoding forgets",
}
ASKED = {  # a question -> its name in the table of bugs
    "first_loss": "first loss",
    "scores": "scores",
    "later_word": "later word",
    "other_source": "source",
    "source_padding": "source padding",
    "target_padding": "target padding",
    "old_gradients": "old gradients",
    "one_batch": "one batch",
    "exchanged": "wrong sources",
    "forced": "own translation",
}
LOWER, HIGHER = "↓", "↑"


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


def ingredients_table(measured):
    """Return the table of all changes, folded: both scores, and the mean differences from what each
    change is compared with, with the interval of that mean; what is clear is bold. Where a single
    seed may fail, an interval says little: there each seed's difference is given.
    """
    columns = [(ingredients.scores_of(measured, score)) for score in ("exact", "loss")]
    rows = []
    for name in columns[0]:
        row = [name]
        for scores, factor, digits, unit in zip(columns, (100, 1), (1, 3), (" %", ""), strict=True):
            row.append(f"{factor * np.mean(scores[name]):.{digits}f}{unit}")
            found = ingredients.paired(scores, name)
            said = seed_by_seed if name in ingredients.COLD_ROWS else difference
            row.append(said(found, factor, digits))
        rows.append(row)
    heads = ("change", "exactly right", "difference, points", "loss", "difference")
    head = "::::{admonition} The numbers\n:class: dropdown\n\n"
    foot = (
        "\n\nBold: the interval is all on one side of 0. Without warm-up: the difference of each"
        f" seed. Made by `{measured['command'].split(' --')[0]}` ({made_by(measured)}).\n::::"
    )
    return Markdown(head + measurements.table(heads, rows).data + foot)


def seed_by_seed(differences, factor, digits):
    """Write each difference: "-1.2, +0.3"."""
    return ", ".join(f"{factor * each:+.{digits}f}" for each in differences).replace("-", "−")


def difference(differences, factor, digits):
    """Write a mean difference with its interval: "-1.2 (-2.0 to -0.4)"."""
    if not any(differences):
        return ""
    low, high = ingredients.interval(differences)
    numbers = (f"{factor * each:+.{digits}f}" for each in (np.mean(differences), low, high))
    said = "{} ({} to {})".format(*numbers).replace("-", "−")
    return f"**{said}**" if low > 0 or high < 0 else said


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


def failures(runs):
    """Return dict: question -> of how many seeds the answer is not as it should be."""
    wrong = [planted_bugs.found_by(run) for run in runs]
    return {name: sum(name in each for each in wrong) for name in planted_bugs.QUESTIONS}


def beside(runs, honest):
    """Say where the losses of a bug's runs are beside the range of honest ones: `LOWER`, `HIGHER`,
    or "" where the ranges overlap.
    """
    losses, others = ([run["loss"] for run in each] for each in (runs, honest))
    if max(losses) < min(others):
        return LOWER
    return HIGHER if min(losses) > max(others) else ""


def wrong_answers(runs, honest):
    """Name the questions whose answers are wrong, and say where the loss is beside honest ones:
    "3 later word, (5 source padding), 11 loss ↓". What is in brackets is wrong with some seeds.
    """
    named = [
        f"{number} {ASKED[name]}" if count == len(runs) else f"({number} {ASKED[name]})"
        for number, (name, count) in enumerate(failures(runs).items(), 1)
        if count
    ]
    side = beside(runs, honest)
    return ", ".join([*named, f"{len(ASKED) + 1} loss {side}"] if side else named)


def bug_table(measured):
    """Return the table of planted bugs: what each does, the ranges of the validation loss as the
    loop reports it and of the exact translations, and which questions it fails; folded.
    """
    groups, rows = by_bug(measured), []
    for bug, runs in groups.items():
        name = f"*{bug}*" if bug == NONE else f"**{bug}**: {WHY[bug]}"
        loss = between([run["loss"] for run in runs], 1, 2)
        exact = between([run["exact"] for run in runs], 100, 0)
        rows.append((name, wrong_answers(runs, groups[NONE]), loss, exact))
    table = measurements.table(("bug", "wrong answers", "loss", "right, %"), rows).data
    return Markdown(f"::::{{admonition}} The answers\n:class: dropdown\n\n{table}\n::::")


def between(numbers, factor, digits):
    """Write a range: "0.87–1.12"."""
    low, high = (f"{factor * each:.{digits}f}" for each in (min(numbers), max(numbers)))
    return low if low == high else f"{low}–{high}"


def recipe_table(optimizer, model, preset):
    """Return the recipe: of the paper, of the page's loop, of a preset of the course, and of a
    large language model (Touvron et al. 2023).

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
        ("optimizer", "Adam, β 0.9, 0.98", "AdamW, β 0.9, 0.98", adam, "AdamW, β 0.9, 0.95"),
        ("its ε", "1e-9", "1e-8", f"{group['eps']:.0e}".replace("e-0", "e-"), SILENT),
        ("weight decay", SILENT, "0", f"{group['weight_decay']:g}", "0.1"),
        ("highest rate", "0.0007", "0.01", f"{preset['learning_rate']:g}", "0.0003"),
        ("warm-up, steps", "4,000", "60", preset["warmup"], "2,000"),
        (
            "then",
            "falls with √step",
            "cosine to 0",
            preset.get("schedule", "cosine") + " to 0",
            "cosine to a tenth",
        ),
        ("steps", "100,000", "400", f"{preset['steps']:,}", "about 250,000"),
        (
            "tokens in a batch",
            "about 25,000 a side",
            "up to 512",
            f"up to {preset['tokens']:,}",
            "4 million",
        ),
        ("clipping, to a norm of", SILENT, "1", "1", "1"),
        ("label smoothing", "0.1", "0.1", f"{preset['smoothing']:g}", SILENT),
        ("dropout", "0.1", f"{model.dropout.p:g}", f"{preset['dropout']:g}", SILENT),
        (
            "layer norms",
            "post-norm",
            pre_norm[model.norm_first],
            pre_norm[preset.get("norm_first", True)],
            "pre-norm, RMSNorm",
        ),
        ("embeddings start with deviation", SILENT, "1/√d_model", "1/√d_model", SILENT),
        (
            "layers, heads, d_model, d_ff",
            "6 + 6, 8, 512, 2,048",
            f"{layers[0]} + {layers[1]}, {heads}, {model.d_model}, {width}",
            "{num_encoder_layers} + {num_decoder_layers}, {num_heads}, {d_model}, {d_ff}".format(
                **preset
            ),
            "32, 32, 4,096, about 11,000",
        ),
        (
            "finished model",
            "mean of the last 5 checkpoints",
            "the last weights",
            averaged(preset),
            SILENT,
        ),
    ]
    heads = ("setting", PAPER, "the loop of this page", "preset `small`", LARGE)
    return measurements.table(heads, rows)


def averaged(preset):
    """Say what a preset's finished model is."""
    count = preset.get("average", 1)
    return "the last weights" if count == 1 else f"mean of the last {count} checkpoints"
