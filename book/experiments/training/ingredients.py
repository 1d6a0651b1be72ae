"""What does each ingredient of the recipe buy? The loop of chapter 9, and the same with one thing
changed, with the same seeds.
"""

import random
import sys
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch

from book.experiments import Experiment
from book.experiments.training import bugs, training_loop

FULL = "the whole recipe"
HIGH_RATE, WRONG_PAIRS = "three times the rate", "5 % of the pairs wrong"
TIED = "target embedding tied to the generator"
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
CHECKPOINTS = 5  # that are averaged; the loop looks every 20 steps


@dataclass(frozen=True)
class Variant:
    """A change of the page's loop.

    Args:
        edits: see `training_loop.loop_with`.
        model: arguments of the page's `new_model`.
        rate: the highest; None for the page's.
        bucketed: whether a batch has sentences of about one length.
        wrong: share of the training pairs whose targets are exchanged among them.
        against: the variant from which this one differs in one thing.
    """

    edits: tuple = ()
    model: dict = field(default_factory=dict)
    rate: float | None = None
    bucketed: bool = True
    wrong: float = 0.0
    against: str = FULL


COLD = "warmup=60", "warmup=1"
PLAIN = "smoothing=0.1", "smoothing=0.0"
POST_NORM = "norm_first=True", "norm_first=False"
MOMENTUM = (
    "AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.0)",
    "torch.optim.SGD(model.parameters(), momentum=0.9)",
)
CONSTANT = "rate * (1 + math.cos(math.pi * step / steps)) / 2", "rate"
HIGH = 3e-2
VARIANTS = {
    FULL: Variant(),
    "without warm-up": Variant((COLD,)),
    "without label smoothing": Variant((PLAIN,)),
    "without clipping": Variant((bugs.NO_CLIPPING,)),
    "batches not by length": Variant(bucketed=False),
    "embeddings start at PyTorch's size": Variant((bugs.LARGE,)),
    "post-norm": Variant((POST_NORM,)),
    "post-norm, without warm-up": Variant((POST_NORM, COLD), against="post-norm"),
    TIED: Variant(model={"kind": bugs.Tied}),
    "Adam's β₂ 0.999, not 0.98": Variant((("betas=(0.9, 0.98)", "betas=(0.9, 0.999)"),)),
    HIGH_RATE: Variant(rate=HIGH),
    f"{HIGH_RATE}, without warm-up": Variant((COLD,), rate=HIGH, against=HIGH_RATE),
    WRONG_PAIRS: Variant(wrong=0.05),
    f"{WRONG_PAIRS}, without clipping": Variant(
        (bugs.NO_CLIPPING,), wrong=0.05, against=WRONG_PAIRS
    ),
    f"{WRONG_PAIRS}, without label smoothing": Variant((PLAIN,), wrong=0.05, against=WRONG_PAIRS),
}
COLD_ROWS = tuple(name for name in VARIANTS if name.endswith("without warm-up"))  # some seeds fail


def measure(steps, seeds, names=tuple(VARIANTS)):
    """Train each variant, or some by their names, from each seed.

    Returns:
        list of dict: `ingredient`, `seed`, `loss` on the validation sentences, without smoothing,
        and `exact`, the part of the held-out sentences that came out right.
    """
    runs = []
    for seed in seeds:
        for name in names:
            page, model, _ = trained(VARIANTS[name], steps, seed)
            runs.append({"ingredient": name, "seed": seed, **seen(page, model)})
            print(runs[-1], file=sys.stderr, flush=True)
    return sorted(runs, key=lambda run: (list(VARIANTS).index(run["ingredient"]), run["seed"]))


def trained(variant, steps, seed, edits=(), **names):
    """Run the loop with a Variant; return the names of its page, the model and the history.

    Args:
        edits, names: more of them, see `training_loop.loop_with`.
    """
    page = training_loop.loop_with((*variant.edits, *edits), **names)
    pairs = with_wrong_pairs(page["easy"]["train"], variant.wrong, seed)
    sources, targets = zip(*pairs, strict=True)
    ids = page["english"].encode(list(sources)), page["italian"].encode(list(targets))
    batches = page["Batches"](*ids, 512, seed, bucketed=variant.bucketed)
    model = page["new_model"](seed=seed, **variant.model)
    rate = {"highest": variant.rate} if variant.rate else {}
    return page, model, page["train"](model, batches, page["validation"], steps, **rate)


def with_wrong_pairs(pairs, share, seed):
    """Return pairs of which a share, drawn at random, have each other's targets."""
    wrong = random.Random(seed).sample(range(len(pairs)), round(share * len(pairs)))
    changed = list(pairs)
    for place, other in zip(wrong, wrong[1:] + wrong[:1], strict=True):
        changed[place] = (pairs[place][0], pairs[other][1])
    return changed


@torch.no_grad()
def seen(page, model):
    """Return what is recorded of a trained model: `loss` and `exact`."""
    src, tgt = page["validation"]
    decoder_input, expected = page["teacher_forcing_pair"](tgt)
    logits = model.eval()(src, decoder_input)
    loss = page["label_smoothed_loss"](logits, expected, smoothing=0.0).item()
    exact = training_loop.exactly_right(page, model, training_loop.held_out(page))
    return {"loss": round(loss, 4), "exact": round(exact, 4)}


def scores_of(measured, score):
    """Return dict: variant -> its scores, one a seed, in the order of the seeds."""
    found = {}
    for run in measured["runs"]:
        found.setdefault(run["ingredient"], []).append(run[score])
    return found


def paired(scores, name):
    """Return by how much a variant differs from what it is compared with, seed by seed."""
    against = scores[VARIANTS[name].against]
    return [one - other for one, other in zip(scores[name], against, strict=True)]


def interval(differences):
    """Return the (low, high) of the 95 % interval of a mean of two to ten numbers, by Student's
    t.
    """
    reach = STUDENT[len(differences)] * np.std(differences, ddof=1) / len(differences) ** 0.5
    return np.mean(differences) - reach, np.mean(differences) + reach


# --- two schedules, each at several rates ---

COSINE, LAST, AVERAGED = "cosine", "constant", "constant, averaged"
MOMENTUM_NAME = "cosine, momentum without Adam"
KEEP = "            history.append((", "            keep(model)\n            history.append(("


def measure_schedules(steps, rates, seeds):
    """Train with each schedule at each rate.

    Returns:
        list of dict: `schedule`, `rate`, `seed`, and what `seen` returns. `LAST` and `AVERAGED` are
        one training: its last weights, and the mean of those at its last looks.
    """
    runs = []
    for seed in seeds:
        for rate in rates:
            page, model, _ = trained(Variant(rate=rate), steps, seed)
            found = {COSINE: seen(page, model)}
            kept = []
            page, model, _ = trained(
                Variant((CONSTANT,), rate=rate), steps, seed, (KEEP,), keep=partial(keep, kept)
            )
            found[LAST] = seen(page, model)
            mean = torch.stack(kept[-CHECKPOINTS:]).mean(dim=0)
            torch.nn.utils.vector_to_parameters(mean, model.parameters())
            found[AVERAGED] = seen(page, model)
            for schedule, scores in found.items():
                runs.append({"schedule": schedule, "rate": rate, "seed": seed, **scores})
                print(runs[-1], file=sys.stderr, flush=True)
    return sorted(runs, key=lambda run: (run["schedule"], run["rate"], run["seed"]))


def measure_momentum(steps, rates, seeds):
    """Train at each rate with stochastic gradient descent and momentum instead of Adam.

    Returns:
        list of dict: `schedule`, which is `MOMENTUM_NAME`, `rate`, `seed`, and what `seen` returns.
    """
    runs = []
    for rate in rates:
        for seed in seeds:
            page, model, _ = trained(Variant((MOMENTUM,), rate=rate), steps, seed)
            scores = seen(page, model)
            runs.append({"schedule": MOMENTUM_NAME, "rate": rate, "seed": seed, **scores})
            print(runs[-1], file=sys.stderr, flush=True)
    return runs


def keep(kept, model):
    """Remember the weights of a model."""
    kept.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone())


def by_rate(measured, schedule, score="loss"):
    """Return dict: rate -> one score a seed."""
    found = {}
    for run in measured["runs"]:
        if run["schedule"] == schedule:
            found.setdefault(run["rate"], []).append(run[score])
    return found


def best_rate(measured, schedule):
    """Return the rate with the lowest mean validation loss."""
    losses = by_rate(measured, schedule)
    return min(losses, key=lambda rate: np.mean(losses[rate]))


EXPERIMENT = Experiment(
    page="ch09_training",
    asks="what does each ingredient of the recipe buy?",
    long={"steps": 400, "seeds": 5},
    initialisation=training_loop.EXPERIMENT.initialisation,
    measure=measure,
)
MORE_EXPERIMENTS = {
    "tied_longer": Experiment(
        page="ch09_training",
        asks="does a tied generator lose as much with twice the steps?",
        long={"steps": 800, "seeds": 3},
        initialisation=training_loop.EXPERIMENT.initialisation,
        measure=partial(measure, names=(TIED,)),
    ),
    "schedules": Experiment(
        page="ch09_training",
        asks="which schedule wins if each has the learning rate that suits it?",
        long={"steps": 400, "rates": (0.0025, 0.005, 0.01, 0.02), "seeds": 5},
        initialisation=training_loop.EXPERIMENT.initialisation,
        measure=measure_schedules,
    ),
    "without_adam": Experiment(
        page="ch09_training",
        asks="how good is gradient descent with momentum, at the rate that suits it?",
        long={"steps": 400, "rates": (0.1, 0.3, 0.5, 1.0), "seeds": 3},
        initialisation=training_loop.EXPERIMENT.initialisation,
        measure=measure_momentum,
    ),
}
