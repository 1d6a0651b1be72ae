"""What can a model do that doesn't match words? Where a list is said again, the next word is the
oldest of those that came only once, so it is enough to know which words came early and not again.
Models of one layer of attention, and the training of two layers in which no head marks places, are
tested on lists of several lengths.
"""

import torch

from book.experiments import Experiment
from book.experiments.heads import induction
from book.experiments.undisturbed import undisturbed

LENGTHS = (5, 10, 20)  # words of a list


def measure(steps, seeds, unmarked):
    """Train models, and test them.

    Args:
        unmarked: the seed of the training in which no head looks one place back.

    Returns:
        list of dict, one for each seed and length: `layers`; `length`; `right`, the share of the
        second half's words, but for its first, that are predicted; `guess`, what that would be for
        somebody who guesses among those words of the list that came only once; `once`, the share of
        its answers that are such words; and `age`, where these are among such words on average,
        from 0 for the oldest to 1 for the newest, if there are at least two.
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
    said = model(ids)[0][:, length:-1].argmax(dim=-1)  # all but the first word of the second half
    guesses = [1 / (length - known) for known in range(1, length)]
    once, age = ages(said, ids[:, :length])
    return {
        "length": length,
        "right": round(float((said == ids[:, length + 1 :]).float().mean()), 4),
        "guess": round(sum(guesses) / len(guesses), 4),
        "once": round(float(once.float().mean()), 4),
        "age": round(float(age[age >= 0].mean()), 4),
    }


def ages(said, rows):
    """Say of each answer whether that word came only once so far, and where it is among those.

    Args:
        said: (texts, length - 1) int64, the answers to all words of the second half but the last.
        rows: (texts, length) int64, the list.

    Returns:
        two (texts, length - 1): bool; and from 0 for the oldest of the words that came only once to
        1 for the newest, or -1 if the answer is no such word, or there is only one.
    """
    length = rows.shape[1]
    same = said[:, :, None] == rows[:, None]  # (texts, length - 1, length)
    place = torch.where(same.any(dim=-1), same.int().argmax(dim=-1), -1)
    oldest = torch.arange(1, length)  # after k words of the second half, it is that at place k
    once = place >= oldest
    age = (place - oldest) / (length - 1 - oldest).clamp(min=1)
    return once, torch.where(once & (oldest < length - 1), age, -1)


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="how far does a model get that can't match words?",
    long={"steps": induction.STEPS, "seeds": 3, "unmarked": 7},
    initialisation="PyTorch's default, without biases",
    measure=measure,
)
