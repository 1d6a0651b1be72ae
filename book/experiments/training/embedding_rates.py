"""Why does the page's loop learn so much less if its embeddings start at PyTorch's size? Large
embeddings drown the positions that are added to them, and as Adam moves every weight by about the
rate, they also change less in proportion. So each of two sizes is trained with two rates of the
embeddings: the whole model's, and one that makes up for the size.

And how low can the loss become if no source belongs to its target? Run by the same loop.
"""

import math
import sys

from book.experiments import Experiment
from book.experiments.training import bugs, ingredients, training_loop
from book.experiments.training.ingredients import Variant

SIZES = math.sqrt(64)  # PyTorch's embeddings are this many times as large as the page's
PAGE, LARGE = "the page's size", "PyTorch's size"
EVEN, SCALED = "one rate", "a rate that makes up for the size"
OWN_RATE = (
    ("AdamW(model.parameters(), betas", "AdamW(grouped(model), betas"),
    ('group["lr"] = rate', 'group["lr"] = group["times"] * rate'),
)
TIMES = {(PAGE, EVEN): 1.0, (LARGE, EVEN): 1.0, (PAGE, SCALED): 1 / SIZES, (LARGE, SCALED): SIZES}


def grouped(times):
    """Return a function from a model to groups of its parameters: the embeddings have `times` the
    rate of the others.
    """

    def groups(model):
        embeddings = [model.src_embedding.weight, model.tgt_embedding.weight]
        own = {id(each) for each in embeddings}
        others = [each for each in model.parameters() if id(each) not in own]
        return [{"params": embeddings, "times": times}, {"params": others, "times": 1.0}]

    return groups


def measure(steps, seeds):
    """Train with each size and each rate of the embeddings.

    Returns:
        list of dict: `size`, `rate`, `seed`, and what `ingredients.seen` returns.
    """
    runs = []
    for (size, rate), times in TIMES.items():
        edits = (bugs.LARGE, *OWN_RATE) if size == LARGE else OWN_RATE
        for seed in seeds:
            page, model, _ = ingredients.trained(
                Variant(edits), steps, seed, grouped=grouped(times)
            )
            runs.append({"size": size, "rate": rate, "seed": seed, **ingredients.seen(page, model)})
            print(runs[-1], file=sys.stderr, flush=True)
    return runs


def scores_of(measured, score="exact"):
    """Return dict: (size, rate) -> one score a seed."""
    found = {}
    for run in measured["runs"]:
        found.setdefault((run["size"], run["rate"]), []).append(run[score])
    return found


def measure_blind(steps, seeds):
    """Train with targets that are exchanged among all the pairs.

    Returns:
        list of dict: `seed`, and the `loss` and `exact` of `ingredients.seen`.
    """
    runs = []
    for seed in seeds:
        page, model, _ = ingredients.trained(Variant(wrong=1.0), steps, seed)
        runs.append({"seed": seed, **ingredients.seen(page, model)})
        print(runs[-1], file=sys.stderr, flush=True)
    return runs


STARTS = "PyTorch's default; embeddings with standard deviation 1/sqrt(d_model) or 1"
EXPERIMENT = Experiment(
    page="ch09_training",
    asks="do large embeddings cost so much by their size, or because they move little beside it?",
    long={"steps": 400, "seeds": 3},
    initialisation=STARTS,
    measure=measure,
)
MORE_EXPERIMENTS = {
    "embedding_rates_longer": Experiment(
        page="ch09_training",
        asks="which of the two still costs something in a run that is four times as long?",
        long={"steps": 1600, "seeds": 3},
        initialisation=STARTS,
        measure=measure,
    ),
    "without_a_source": Experiment(
        page="ch09_training",
        asks="how low is the loss of a model whose sources belong to other targets?",
        long={"steps": 400, "seeds": 3},
        initialisation=training_loop.EXPERIMENT.initialisation,
        measure=measure_blind,
    ),
}
