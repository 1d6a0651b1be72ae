"""What rotary positions do beyond the length at which they were trained.

A model of `since_2017` with rotary positions is trained on pieces of 64 letters. It has no table of
positions that could end, so that it computes something for longer texts, too. Is that any good? Its
loss is measured by the position of the letter that it predicts, in pieces four times as long, and
beside it on the same letters with only the 63 letters before them.
"""

import torch
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.after_2017.since_2017 import D_MODEL, MAX_LEN, Letters
from book.experiments.family.alice import INITIALISATION, encoded, letters, texts, train
from book.experiments.undisturbed import undisturbed

LONGEST = 4 * MAX_LEN
BEGINS = (0, 32, 64, 96, 128, 192)  # of the ranges of positions whose losses are averaged


@torch.no_grad()
def losses(model, pieces):
    """Return the loss of each position but the first, (pieces, length - 1), in nats."""
    return torch.cat(
        [
            functional.cross_entropy(model(some)[:, :-1].mT, some[:, 1:], reduction="none")
            for some in pieces.split(64)
        ]
    )


def by_position(model, ids):
    """Compare what a model loses with all that comes before a letter and with a part of it.

    Returns:
        list of dict, one for each range of positions: `begin` and `end` (excluded), the mean loss
        of the letters predicted there from all `before`, and from the last 63 letters, `window`.
    """
    whole = losses(model, ids.unfold(0, LONGEST, LONGEST))
    last = losses(model, ids.unfold(0, MAX_LEN, 1))[:, -1]
    rows = []
    for begin, end in zip(BEGINS, (*BEGINS[1:], LONGEST - 1), strict=True):
        # whole[piece, place] is of letter piece * LONGEST + place + 1, with which a window ends
        letter = torch.arange(len(whole))[:, None] * LONGEST + torch.arange(begin, end) + 1
        starts = letter - (MAX_LEN - 1)
        found = {"begin": begin, "end": end, "before": whole[:, begin:end].mean().item()}
        inside = starts[(starts >= 0) & (starts < len(last))]
        rows.append(found | {"window": last[inside].mean().item()})
    return rows


def measure(steps, seeds):
    """Train a model with each seed, and measure its loss by position.

    Returns:
        list of dict: `seed`, and what `by_position` returns, on the validation text.
    """
    parts = {name: encoded(text) for name, text in texts().items()}
    rows = []
    for seed in seeds:
        with undisturbed():
            torch.manual_seed(seed)
            model = Letters(len(letters()), ("rotary positions",))
            torch.nn.init.normal_(model.embedding.weight, std=D_MODEL**-0.5)
            train(model, parts["train"], parts["validation"], steps, seed)
            found = by_position(model.eval(), parts["validation"])
        rows += [{"seed": seed, **row} for row in found]
    return rows


EXPERIMENT = Experiment(
    page="ch13_since_2017",
    asks="do rotary positions serve texts that are longer than the trained ones?",
    long={"steps": 1000, "seeds": 3},
    initialisation=INITIALISATION,
    measure=measure,
)
