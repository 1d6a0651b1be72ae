"""A machine with attention that writes in another order than it reads: “lovely” changes places with
the word after it, as an Italian adjective would.

A run, as `measure` returns it, has the keys `steps` and `seed`, and

- `accuracy`: the share of words that are right in sentences of ten words;
- `moved` and `kept`: the mean weight on the word that is written, where it changed its place, and
  where it did not;
- `written` and `weights`, for seed 0 only: what it writes after reading `SENTENCE`, and where it
  looks, (words written, words read).
"""

import sys

import numpy as np
import torch

from book.experiments import Experiment
from book.experiments.copying.copy_task import (
    LONGEST_TRAINED,
    WORDS,
    ids_of,
    random_sentences,
    sentence_of,
    train,
)

SENTENCE = "your lovely cat saw that lovely dog on the mat"
ADJECTIVE = WORDS.index("lovely")


def places_read(token_ids):
    """Return, for each word that is to be written, the place at which it is read, (batch, seq_len)
    int64: each “lovely” changes places with the word after it, from left to right.
    """
    places = torch.arange(token_ids.shape[1]).repeat(len(token_ids), 1)
    done = torch.zeros(len(token_ids), dtype=torch.bool)
    for place in range(token_ids.shape[1] - 1):
        swap = (token_ids[:, place] == ADJECTIVE) & ~done
        places[swap, place], places[swap, place + 1] = place + 1, place
        done = swap
    return places


def adjectives_last(token_ids):
    """Return the sentences (batch, seq_len) with each “lovely” after its noun."""
    return token_ids.gather(1, places_read(token_ids))


@torch.no_grad()
def looks(model, count=1000):
    """Return the share of words that are right, and the mean weight on the word that is written,
    where it moved and where it stayed.
    """
    read = random_sentences(count, LONGEST_TRAINED, torch.Generator().manual_seed(1))
    places = places_read(read)
    written, queries, keys = model.copy(read)
    right = (written == read.gather(1, places)).double().mean().item()
    weight = model.weights(queries, keys).gather(2, places.unsqueeze(2)).squeeze(2)
    moved = places != torch.arange(LONGEST_TRAINED)
    return right, weight[moved].mean().item(), weight[~moved].mean().item()


@torch.no_grad()
def measure(steps, seeds, d_hidden):
    """Train a machine for each budget and seed.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    for budget in steps:
        for seed in seeds:
            with torch.enable_grad():
                model = train(d_hidden, True, seed, budget, rewritten=adjectives_last)
            right, moved, kept = looks(model)
            run = {"steps": budget, "seed": seed, "accuracy": right, "moved": moved, "kept": kept}
            if seed == 0:
                written, queries, keys = model.copy(ids_of(SENTENCE))
                weights = model.weights(queries, keys)[0].double().numpy().round(4)
                run |= {"written": sentence_of(written), "weights": weights.tolist()}
            runs.append(run)
            print(budget, seed, np.round([right, moved, kept], 3), file=sys.stderr, flush=True)
    return runs


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="where does attention look when it writes in another order than it reads?",
    long={"steps": (400, 4000), "seeds": 5, "d_hidden": 16},
    measure=measure,
)
