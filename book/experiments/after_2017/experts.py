"""A small GPT whose feed-forward networks are mixtures of experts.

The model is `since_2017`'s "as in GPT", and it reads the same pieces of the same text. In each
layer 8 experts replace the network of inner width 256. An expert has half of that width and 2 of
them work on each letter, so that the work is the same, but for the router, and the parameters of
the networks are four times as many.

Load is balanced as in DeepSeek-V3 (section 2.1.2): after each batch an expert that was chosen too
seldom gets a small bonus, and one that was chosen too often loses some. A bonus counts where
experts are chosen, and not in the weights of what they return.
"""

from itertools import product

import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.after_2017.since_2017 import D_MODEL, LAYERS, Letters
from book.experiments.family.alice import cut, encoded, letters, texts, train
from book.experiments.undisturbed import undisturbed
from solutions.ch07_layers import FeedForward

EXPERTS, AT_WORK, BONUS = 8, 2, 0.01
VARIANTS = ("balanced", "left alone")
PHRASE = "said the Queen"  # whose letters are followed to their experts


class Mixture(nn.Module):
    """Experts of which a router chooses a few for each position.

    Args:
        bonus: what the bonus of an expert grows by after a batch in which it was chosen too seldom.
    """

    def __init__(self, d_model, d_ff, bonus):
        super().__init__()
        self.router = nn.Linear(d_model, EXPERTS, bias=False)
        self.experts = nn.ModuleList(FeedForward(d_model, d_ff) for _ in range(EXPERTS))
        self.step = bonus
        self.register_buffer("bonus", torch.zeros(EXPERTS))

    def route(self, x):
        """Choose for each row: (rows, d_model) -> chosen and shares, both (rows, AT_WORK)."""
        scores = self.router(x)
        chosen = (scores + self.bonus).topk(AT_WORK).indices
        return chosen, scores.gather(1, chosen).softmax(dim=-1)

    def forward(self, x):
        """Map (batch, seq_len, d_model) to the same shape."""
        rows = x.flatten(0, 1)
        chosen, shares = self.route(rows)
        out = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            row, place = (chosen == number).nonzero(as_tuple=True)
            out = out.index_add(0, row, shares[row, place, None] * expert(rows[row]))
        if self.training:
            self.bonus += self.step * (1 / EXPERTS - loads(chosen)).sign()
        return out.view_as(x)


def loads(chosen):
    """Return (EXPERTS,): which share of all choices each expert has."""
    return chosen.flatten().bincount(minlength=EXPERTS) / chosen.numel()


def built(variant):
    """Return a model with new networks, drawn with torch's own random numbers."""
    model = Letters(len(letters()))
    for layer in range(LAYERS):
        bonus = BONUS if variant == "balanced" else 0
        model.networks[layer] = Mixture(D_MODEL, 4 * D_MODEL // AT_WORK, bonus)
    return model


@torch.no_grad()
def followed(model, pieces):
    """Return for each layer what its router chooses at each position: list of (chosen, shares)."""
    seen = [[] for _ in model.networks]
    hooks = [
        network.register_forward_hook(lambda _, given, __, kept=kept: kept.append(given[0]))
        for network, kept in zip(model.networks, seen, strict=True)
    ]
    model.eval()
    model(pieces)
    for hook in hooks:
        hook.remove()
    return [
        network.route(kept[0].flatten(0, 1))
        for network, kept in zip(model.networks, seen, strict=True)
    ]


def run(variant, steps, seed):
    """Train one model.

    Returns:
        dict: `variant`, `steps`, `seed`, `parameters`, the smallest `validation` loss in nats a
        letter, and for each layer the `loads` of its experts on the validation text; for seed 0 the
        `phrase` as [chosen, shares] of all its letters, and how `often` each of `letters()` goes to
        which.
    """
    parts = texts()
    ids, validation = encoded(parts["train"]), encoded(parts["validation"])
    torch.manual_seed(seed)
    model = built(variant)
    history = train(model, ids, validation, steps, seed)
    found = {
        "variant": variant,
        "steps": steps,
        "seed": seed,
        "parameters": sum(each.numel() for each in model.parameters()),
        "validation": min(each["validation"] for each in history),
    }
    pieces = cut(validation, model.max_len)
    routes = followed(model, pieces)
    found["loads"] = [[round(each, 4) for each in loads(one).tolist()] for one, _ in routes]
    if seed == 0:
        phrase = followed(model, encoded(PHRASE)[None])
        found["phrase"] = [[one.tolist(), shares.tolist()] for one, shares in phrase]
        counts = [torch.zeros(len(letters()), EXPERTS, dtype=torch.int64) for _ in routes]
        for count, (one, _) in zip(counts, routes, strict=True):
            which = pieces.flatten()[:, None].expand_as(one)
            count.index_put_((which, one), torch.tensor(1), accumulate=True)
        found["often"] = [count.tolist() for count in counts]
    return found


def measure(steps, seeds):
    """Train each variant with each seed for each budget; returns a list of what `run` says."""
    with undisturbed():
        return [run(*each) for each in product(VARIANTS, steps, seeds)]


EXPERIMENT = Experiment(
    page="ch13_since_2017",
    asks="what does a mixture of experts buy a small language model, and who gets the work?",
    long={"steps": (500, 1000), "seeds": 3},
    initialisation="embeddings from a normal distribution of standard deviation 1 / sqrt(d_model),"
    " else PyTorch's default",
    measure=measure,
)
