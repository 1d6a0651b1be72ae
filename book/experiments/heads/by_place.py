"""What can a model do that doesn't match words? Models of one layer of attention, and the training
of two layers in which no head marks places, are tested on lists of several lengths. Only the longest
list ends at a place that gives its length away.
"""

import torch

from book.experiments import Experiment
from book.experiments.heads import induction
from book.experiments.undisturbed import undisturbed

LENGTHS = (5, 10, 20)  # words of a list; 20 is the longest


def measure(steps, seeds, unmarked):
    """Train models, and test them.

    Args:
        unmarked: the seed of the training in which no head looks one place back.

    Returns:
        list of dict, one for each seed and length: `layers`; `length`; `right`, the share of the
        second half's words, but for its first, that are predicted; `late`, the same share of the
        last quarter of the text; and `guess`, what `right` would be for somebody who knows the list
        and guesses among those of its words that came only once.
    """
    models = [(1, seed) for seed in seeds] + [(2, unmarked)]
    runs = []
    for layers, seed in models:
        with undisturbed():
            model = induction.trained(steps, seed, num_layers=layers)
        runs += [{"layers": layers, "seed": seed, **tested(model, length)} for length in LENGTHS]
    return runs


@torch.no_grad()
def tested(model, length):
    """Return what a model predicts of the second half of lists."""
    generator = torch.Generator().manual_seed(1000)
    ids = induction.texts(induction.TEXTS, length, generator)
    said = model(ids)[0][:, :-1].argmax(dim=-1)
    right = (said == ids[:, 1:])[:, length:].float()  # all but the first word of the second half
    guesses = [1 / (length - known) for known in range(1, length)]
    return {
        "length": length,
        "right": round(float(right.mean()), 4),
        "late": round(float(right[:, length // 2 :].mean()), 4),
        "guess": round(sum(guesses) / len(guesses), 4),
    }


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="how far does a model get that can't match words?",
    long={"steps": induction.STEPS, "seeds": 3, "unmarked": 7},
    initialisation="PyTorch's default, without biases",
    measure=measure,
)
