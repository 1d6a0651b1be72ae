"""A GPT that has read one book learns another style: with all its parameters, or with LoRA alone.

The model is `alice`'s, and the style is that of the course's own corpus: short sentences in small
letters, drawn from a grammar, one a line. LoRA is beside every linear layer, with one of four
ranks. Each way to learn sees the same pieces of the same sentences. Its rate is chosen from several
by the validation loss on the new style, and all are recorded. Beside them stand the model as it is,
and counting (`alice.Counts`).
"""

import torch

from book.experiments import Experiment
from book.experiments.family import alice
from book.experiments.undisturbed import undisturbed
from solutions.family.lora import LoRA, with_lora
from solutions.translator.corpus import Writer
from solutions.translator.corpus.draw import SHAPES, collect, is_short

TRAINED, ASKED = 300, 200  # sentences
BATCH = 8
LAYERS = ("w_q", "w_k", "w_v", "w_o", "linear_1", "linear_2")  # that have LoRA beside them
EVERYTHING = "all parameters"
RANKS = {f"LoRA of rank {rank}": rank for rank in (1, 2, 4, 8)}
WAYS = (*RANKS, EVERYTHING)


def sentences():
    """Return dict: "train", "validation" and "test" -> English sentences of the grammar, one a
    line; none is in two of them.
    """
    writer, taken, parts = Writer("another style", frozenset()), set(), {}
    for name, size in (("train", TRAINED), ("validation", ASKED), ("test", ASKED)):
        pairs = collect(size, writer, SHAPES, is_short, taken)
        parts[name] = "".join(f"{english}\n" for english, _ in pairs)
    return parts


def begun(way):
    """Return the model with which a way to learn begins."""
    model = alice.loaded()
    return model if way == EVERYTHING else with_lora(model, RANKS[way], LAYERS)


def merged(model):
    """Put a plain linear layer into the place of each LoRA of a model, and return the model."""
    for module in list(model.modules()):
        for name, layer in list(module.named_children()):
            if isinstance(layer, LoRA):
                setattr(module, name, layer.merged())
    return model


def learn(way, rate, steps, seed, new, old):
    """Learn the new style.

    Args:
        way: one of `WAYS`.
        rate: the highest learning rate.
        new: dict of the ids of its texts.
        old: pieces of the old text.

    Returns:
        dict: `way`, `rate`, `seed`, the number of `trained` parameters, the `validation` and `test`
        loss in the new style, that on the `old` text, all in nats a letter, and `merging`, the most
        that merging changes a logit.
    """
    with undisturbed():
        torch.manual_seed(seed)
        model = begun(way)
        trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
        history = alice.train(model, new["train"], new["validation"], steps, seed, BATCH, rate)
        test = alice.cut(new["test"], model.max_len)
        found = {
            "way": way,
            "rate": rate,
            "seed": seed,
            "trained": trained,
            "validation": min(each["validation"] for each in history),
            "test": alice.loss_on(model, test),
            "old": alice.loss_on(model, old),
        }
        with torch.no_grad():
            before = model(test, pad_id=alice.PAD)
            after = merged(model)(test, pad_id=alice.PAD)
        return found | {"merging": (after - before).abs().max().item()}


def measure(steps, seeds, rates):
    """Learn the new style in each way, with each rate and seed.

    Returns:
        list of dict: those of `learn`; before them one with the `way` "as it is", which is the
        model that has not learned, and one with "counts", both with `validation` and `test`, and
        the former with `old`: the loss on the last chapter of the book.
    """
    texts = sentences()
    new = {name: alice.encoded(text) for name, text in texts.items()}
    base = alice.loaded()
    old = alice.cut(alice.encoded(alice.texts()["test"]), base.max_len)
    counts = alice.Counts(texts["train"], 5, alice.letters())
    asked = ("validation", "test")
    rows = [
        {
            "way": "as it is",
            **{name: alice.loss_on(base, alice.cut(new[name], base.max_len)) for name in asked},
            "old": alice.loss_on(base, old),
        },
        {"way": "counts", **{name: counts.loss_on(texts[name]) for name in asked}},
    ]
    for way in WAYS:
        for rate in rates:
            rows += [learn(way, rate, steps, seed, new, old) for seed in seeds]
    return rows


def at_the_best_rate(runs, way):
    """Return the runs of a way at the rate whose mean validation loss is smallest."""
    by_rate = {}
    for run in runs:
        if run["way"] == way:
            by_rate.setdefault(run["rate"], []).append(run)
    return min(by_rate.values(), key=lambda of: sum(run["validation"] for run in of) / len(of))


EXPERIMENT = Experiment(
    page="ch13_since_2017",
    asks="what does LoRA of each rank learn of a new style, and what is left of the old one?",
    short={"steps": 40, "seeds": 1, "rates": (3e-3,)},
    long={"steps": 200, "seeds": 3, "rates": (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)},
    initialisation="the weights of alice.safetensors; LoRA's first matrix from a normal"
    " distribution of standard deviation 1 / rank, its second 0",
    measure=measure,
)
