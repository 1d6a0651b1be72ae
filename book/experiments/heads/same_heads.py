"""Are the heads of two trainings the same heads? Those of the cross-attention of five seeds, paired
by their numbers, and paired by where they look.
"""

import itertools

import torch

from book.experiments import Experiment
from book.experiments.heads.translators import Seen, read, trained
from solutions.translator import corpus


def measure(steps, seeds):
    """Compare the heads of every pair of seeds.

    Returns:
        list of dict, one for each pair of `seeds` and each `layer`: `overlap`, one row for each
        head of the first and one column for each of the second: the share of their weights that
        two heads have in common, as a mean over the rows that write a word; `by_number`, the mean
        over heads of the same number; `matched`, the mean under the best pairing, and `pairing`,
        the head of the second for each of the first; `by_chance`, the mean over all pairings;
        `agree`, the share of next words that both models predict alike; `articles`, a dict with the
        overlaps, the means and the pairing over those rows alone that write an article.
    """
    known = corpus.annotations()["validation"]
    found = {seed: looked(*trained(steps, seed), known) for seed in seeds}
    return [
        compared(one, other, layer, found[one], found[other])
        for one, other in itertools.combinations(seeds, 2)
        for layer in range(len(found[one][0]))
    ]


@torch.no_grad()
def looked(run, model, known):
    """Return for each layer (heads, rows, src_len), the (rows,) words that are predicted, and
    (rows,) bool: where an article is written.
    """
    sentences = read(run, known)
    with Seen(model) as seen:
        logits = model(sentences.src, sentences.tgt)
    layers = [
        seen.weights["cross", layer].transpose(1, 2)[sentences.words].transpose(0, 1)
        for layer in range(len(model.decoder))
    ]
    said = logits.argmax(dim=-1)[sentences.words]
    return layers, said, sentences.is_article()[sentences.words]


def compared(one, other, layer, first, second):
    """Return the entry of two seeds in one layer."""
    mine, theirs, articles = first[0][layer], second[0][layer], first[2]
    return {
        "seeds": [one, other],
        "layer": layer,
        **overlaps(mine, theirs),
        "agree": round(float((first[1] == second[1]).float().mean()), 5),
        "articles": overlaps(mine[:, articles], theirs[:, articles]),
    }


def overlaps(mine, theirs):
    """Return what the heads of one training share with those of another one, in some rows."""
    overlap = torch.stack(
        [torch.stack([torch.minimum(a, b).sum(dim=-1).mean() for b in theirs]) for a in mine]
    )  # (heads, heads)
    pairing = best_pairing(overlap)
    heads = range(len(overlap))
    return {
        "overlap": [[round(number, 3) for number in row] for row in overlap.tolist()],
        "by_number": round(float(overlap.diagonal().mean()), 4),
        "matched": round(float(overlap[list(heads), list(pairing)].mean()), 4),
        "pairing": list(pairing),
        "by_chance": round(float(overlap.mean()), 4),
    }


def best_pairing(overlap):
    """Return for each row its column, so that the sum over all is the largest; four heads have 24
    pairings, of which each is tried.
    """
    rows = list(range(len(overlap)))
    return max(
        itertools.permutations(rows), key=lambda columns: float(overlap[rows, list(columns)].sum())
    )


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="does head 1 of one training do what head 1 of another one does?",
    long={"steps": 1500, "seeds": 5},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
