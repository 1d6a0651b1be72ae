"""Are marks all that is missing where no induction head forms? One head of the first layer is made
to look exactly one place back, by hand, and what a match adds to the second layer's scores is
compared with what places alone add.
"""

import torch

from book.experiments import Experiment
from book.experiments.heads import induction
from book.experiments.heads.translators import block_of, head_replaced
from book.experiments.undisturbed import undisturbed


def measure(steps, seeds, unmarked):
    """Train models of two layers, and mark the places of their texts by hand.

    Args:
        unmarked: the seed of the training in which no head looks one place back; it is repeated
            with twice the steps.

    Returns:
        list of dict, one for each training: `seed`, `steps`; `right`, the share of the second
        half's words, but for its first, that are predicted; `by_hand`, for each head of the first
        layer, what is right if that head gives all its weight to the place before; `previous`, the
        head that does so most by itself; and for each head of the second layer `match`, how much
        higher the QK circuit is on its diagonal than elsewhere, on average, and `places`, the
        standard deviation of what places alone add to the scores of a row of the second half.
    """
    runs = []
    for seed, trained_for in [(seed, steps) for seed in seeds] + [(unmarked, 2 * steps)]:
        with undisturbed():
            model = induction.trained(trained_for, seed)
        found = looked_into(model, induction.examples())
        runs.append({"seed": seed, "steps": trained_for, **found})
    return runs


@torch.no_grad()
def looked_into(model, ids):
    """Return what is said of a trained model."""
    logits, weights = model(ids)
    previous = int(induction.previous_score(weights[0]).argmax())
    heads = range(model.layers[0].num_heads)
    by_hand = [induction.right(marked_by_hand(model, head, ids), ids) for head in heads]
    return {
        "right": round(induction.right(logits, ids), 4),
        "by_hand": [round(share, 4) for share in by_hand],
        "previous": previous,
        "match": [round(match(model, previous, head), 2) for head in heads],
        "places": [round(places(model, head), 2) for head in heads],
    }


def marked_by_hand(model, head, ids):
    """Return the logits of a run in which a head of the first layer gives all its weight to the
    place before.
    """
    layer = model.layers[0]
    values = layer.w_v(model.embedding(ids))[..., block_of(head, layer)]
    before = torch.cat([values[:, :1], values[:, :-1]], dim=1)  # the first has only itself
    with head_replaced(layer, head, before):
        return model(ids)[0]


def match(model, previous, head):
    """Return how much more a head's QK circuit gives to a place marked with the query's own word
    than to one marked with another, on average.
    """
    scores, _ = induction.circuits(model, previous, head)
    same = torch.eye(len(scores), dtype=torch.bool)
    return float(scores[same].mean() - scores[~same].mean())


def places(model, head):
    """Return by how much places alone let the scores of a row of the second half differ."""
    layer, place = model.layers[1], model.position.weight
    block = block_of(head, layer)
    query, key = (place @ each.weight[block].T for each in (layer.w_q, layer.w_k))
    scores = query @ key.T / key.shape[1] ** 0.5
    rows = range(induction.LONGEST, 2 * induction.LONGEST - 1)
    return float(torch.stack([scores[row, : row + 1].std() for row in rows]).mean())


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="does a previous-token head that is made by hand repair a model that has none?",
    long={"steps": induction.STEPS, "seeds": 10, "unmarked": 7},
    initialisation="PyTorch's default, without biases",
    measure=measure,
)
