"""Do induction heads form in training? Two layers of attention, and nothing else, learn to continue
texts that say a row of random words twice. What do their heads do, when do they begin to, and which
of them does the rest need?

The rate, its schedule, the lengths of the rows and the number of steps were chosen by looking at
seeds 0 to 4; the others came afterwards.
"""

import torch
from torch import nn
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.heads.translators import block_of
from book.experiments.undisturbed import undisturbed
from solutions.ch05_multi_head import MultiHeadAttention
from solutions.ch06_masking import causal_mask
from solutions.ch12_interpretation import ablate_heads, induction_score

WORDS = [
    *(
        "the",
        "cat",
        "does",
        "not",
        "sleep",
        "in",
        "garden",
        ".",
        "a",
        "hen",
        "is",
        "black",
        "white",
    ),
    *("old", "my", "your", "friend", "house", "table", "pen", "dog", "horse", "book", "tree"),
    *("water", "bread", "red", "small", "big", "sees", "on", "under"),
]
SENTENCE = ["the", "cat", "does", "not", "sleep", "in", "the", "garden", ".", "the"]
SHORTEST, LONGEST = 2, 20  # words of a row, before it is said again
BATCH, RATE, WARM_UP, STEPS = 32, 3e-3, 100, 2500
TEXTS, EVERY = 256, 25  # texts that are looked at, and steps between two looks
MOSTLY = 0.5  # of the weight of a head


class AttentionOnly(nn.Module):
    """Layers of attention with residual connections: no norm, no feed-forward network and no bias,
    so that all that a head does is a product of matrices. Positions are added to queries and keys
    alone, so that what a head hands on is about words.
    """

    def __init__(self, num_layers=2, d_model=64, num_heads=2):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), d_model)
        self.position = nn.Embedding(2 * LONGEST, d_model)
        self.layers = nn.ModuleList(
            MultiHeadAttention(d_model, num_heads) for _ in range(num_layers)
        )
        self.generator = nn.Linear(d_model, len(WORDS), bias=False)
        for layer in self.layers:
            for projection in layer.children():
                projection.bias = None

    def forward(self, ids):
        """Return (batch, seq_len, vocab_size) logits, and a list of each layer's weights."""
        x, seen = self.embedding(ids), []
        for layer in range(len(self.layers)):
            found, weights = self.attend(layer, x, x, x)
            x = x + found
            seen.append(weights)
        return self.generator(x), seen

    def attend(self, layer, query, key, value):
        """Return what a layer finds, and its weights."""
        place = self.position.weight[: query.shape[1]]
        return self.layers[layer](query + place, key + place, value, causal_mask(len(place)))


def texts(count, length, generator):
    """Draw texts, each a row of random words, no word twice, and then the same row again.

    Returns:
        (count, 2 * length) int64.
    """
    rows = torch.rand(count, len(WORDS), generator=generator).argsort(dim=1)[:, :length]
    return torch.cat([rows, rows], dim=1)


def trained(steps, seed, num_layers=2, look=None):
    """Train a model. Each batch has rows of another length: if all had the same, it would be enough
    to look back that far.

    Args:
        look: called with the step and the model, now and then.
    """
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = AttentionOnly(num_layers)
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: share_of_rate(step, steps))
    for step in range(steps + 1):
        if look and step % EVERY == 0:
            look(step, model)
        length = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=generator))
        ids = texts(BATCH, length, generator)
        logits, _ = model(ids)
        loss = functional.cross_entropy(logits[:, :-1].mT, ids[:, 1:])
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
    return model.requires_grad_(False)


def share_of_rate(step, steps):
    """Return the share of the rate at a step: up to 1 in the warm-up, and then down to 0."""
    return min((step + 1) / WARM_UP, 1 - (step - WARM_UP) / max(steps + 1 - WARM_UP, 1))


def measure(steps, seeds):
    """Train models, and look into them.

    Returns:
        list of dict. Of `kind` "look", for each seed and each 25 steps: `first` and `second`, the
        losses on both halves of texts of 2 x 20 words (where the second begins is not to be known,
        so its first word is left out); `previous` and `induction`, for each layer and head the
        weight on the place before, in the first half, and the induction score.

        Of `kind` "model", for each seed: `right`, the share of the second half that is predicted;
        `previous`, the head of the first layer that looks most at the place before, and
        `induction`, those of the second with an induction score above a half; `without`, what is
        right without some heads, by zero; `copied`, where what the previous-token head found in
        another text reaches the second layer's queries, keys or values alone: how often the model
        says what comes next in its `own` text, and how often what comes after the place at which
        the `other` text has the word (the other text has the same words in another order);
        `circuits`, for each head of the second layer, for how many words the largest entry of the
        QK and of the OV circuit is that of the word itself; `one_layer`, what is right if a model
        of one layer is trained; and of the sentence, after its second and its third "the", what the
        model says and the mean weights of its induction heads on what came after each earlier one.
    """
    runs = []
    for seed in seeds:
        with undisturbed():
            looks = []
            model = trained(steps, seed, look=lambda step, model: looks.append(seen(step, model)))  # noqa: B023
            runs += [{"kind": "look", "seed": seed, **look} for look in looks]
            alone = right(trained(steps, seed, num_layers=1)(examples())[0], examples())
            entry = {"kind": "model", "seed": seed, "one_layer": round(alone, 4)}
            runs.append(entry | looked_into(model, examples()))
    return runs


def examples():
    """Return the (texts, 2 * 20) that all models are looked at with."""
    return texts(TEXTS, LONGEST, torch.Generator().manual_seed(1000))


@torch.no_grad()
def seen(step, model):
    """Return the entry of one look."""
    ids = examples()
    logits, weights = model(ids)
    losses = functional.cross_entropy(logits[:, :-1].mT, ids[:, 1:], reduction="none")
    return {
        "step": step,
        "first": round(float(losses[:, : LONGEST - 1].mean()), 4),
        "second": round(float(losses[:, LONGEST:].mean()), 4),
        "previous": rounded(map(previous_score, weights)),
        "induction": rounded(induction_score(each, ids).mean(dim=0) for each in weights),
    }


def rounded(scores):
    return [[round(float(one), 4) for one in layer] for layer in scores]


def previous_score(weights):
    """Return (heads,): the mean weight on the place before, in the first half."""
    half = weights.shape[-1] // 2
    return weights[:, :, 1:half].diagonal(dim1=2, dim2=3).mean(dim=(0, 2))


def right(logits, ids):
    """Return the share of the second half's words, but for its first, that are predicted."""
    half = ids.shape[1] // 2
    return float((logits[:, half:-1].argmax(dim=-1) == ids[:, half + 1 :]).float().mean())


@torch.no_grad()
def looked_into(model, ids):
    """Return what is said of a trained model."""
    logits, weights = model(ids)
    previous = int(previous_score(weights[0]).argmax())
    scores = induction_score(weights[1], ids).mean(dim=0)
    induction = [head for head, score in enumerate(scores.tolist()) if score > MOSTLY]
    heads = range(len(scores))
    sets = {
        "the previous-token head": (0, [previous]),
        "the rest of its layer": (0, [head for head in heads if head != previous]),
        **{f"induction head {head}": (1, [head]) for head in induction},
        "all induction heads": (1, induction),
    }
    off = {name: right(without(model, *chosen, ids), ids) for name, chosen in sets.items()}
    return {
        "right": round(right(logits, ids), 4),
        "previous": previous,
        "induction": induction,
        "without": {name: round(share, 4) for name, share in off.items()},
        "copied": {into: copied(model, previous, ids, into) for into in ("query", "key", "value")},
        "circuits": [circuit_scores(model, previous, head) for head in heads],
        "sentence": of_the_sentence(model, induction),
    }


def without(model, layer, heads, ids):
    """Return the logits without some heads of a layer."""
    module = model.layers[layer]
    gates = torch.ones(module.num_heads)
    gates[heads] = 0
    with ablate_heads(module, gates):
        return model(ids)[0]


def found_by(model, head, ids):
    """Return (batch, seq_len, d_model): what a head of the first layer adds to the states."""
    module, x = model.layers[0], model.embedding(ids)
    gates = torch.zeros(module.num_heads)
    gates[head] = 1
    with ablate_heads(module, gates):
        return model.attend(0, x, x, x)[0]


def read_with(model, ids, change, *into):
    """Return the logits of a run in which the second layer makes its queries, keys or values of
    states that are changed.

    Args:
        change: what is added to the states after the first layer.
        into: "query", "key" and "value", or some of them.
    """
    x = model.embedding(ids)
    x = x + model.attend(0, x, x, x)[0]
    read = [x + change if name in into else x for name in ("query", "key", "value")]
    return model.generator(x + model.attend(1, *read)[0])


def copied(model, head, ids, into):
    """Return what the model says where a head's finds of another text reach one input of the second
    layer: the word that comes next in its own text, or after the place of the word in the other.
    """
    half = ids.shape[1] // 2
    rows = ids[:, :half]
    order = torch.rand(rows.shape, generator=torch.Generator().manual_seed(0)).argsort(dim=1)
    others = rows.gather(1, order)
    both = torch.cat([others, others], dim=1)
    change = found_by(model, head, both) - found_by(model, head, ids)
    said = read_with(model, ids, change, into)[:, half:-1].argmax(dim=-1)
    place = (rows[:, :-1, None] == others[:, None]).int().argmax(dim=-1)  # in the other text
    return {
        "own": round(float((said == rows[:, 1:]).float().mean()), 4),
        "other": round(float((said == ids.gather(1, place + 1)).float().mean()), 4),
    }


def circuits(model, previous, head):
    """Return two (words, words): how well the query of each word fits the key of a position that
    comes after each word, as the previous-token head has marked it, and what attending to each word
    adds to the logit of each word.
    """
    (first, second), words = model.layers, model.embedding.weight
    marked = words @ through(first.w_v, first.w_o, previous, first)
    matched = (
        second.w_q.weight[block_of(head, second)].T @ second.w_k.weight[block_of(head, second)]
    )
    scores = words @ matched @ marked.T / (second.w_q.out_features // second.num_heads) ** 0.5
    return scores, words @ through(second.w_v, second.w_o, head, second) @ model.generator.weight.T


def through(w_v, w_o, head, layer):
    """Return (d_model, d_model): what a head makes of what it looks at."""
    return w_v.weight[block_of(head, layer)].T @ w_o.weight[:, block_of(head, layer)].T


def circuit_scores(model, previous, head):
    """Return dict: circuit -> for how many words its largest entry is that of the word itself."""
    found = circuits(model, previous, head)
    own = torch.arange(len(WORDS))
    return {
        name: int((each.argmax(dim=1) == own).sum())
        for name, each in zip(("QK", "OV"), found, strict=True)
    }


def of_the_sentence(model, heads):
    """Return what a model says after the second and the third "the" of the sentence, how sure it
    is, and the mean weights of some heads on the places after the earlier ones.
    """
    ids = torch.tensor([[WORDS.index(word) for word in SENTENCE]])
    logits, weights = model(ids)
    the = [place for place, word in enumerate(SENTENCE) if word == "the"]
    shares, said = logits[0, the].softmax(dim=-1).max(dim=-1)
    after = weights[1][0, heads].sum(dim=0)[the] / max(len(heads), 1)
    return [
        {
            "says": WORDS[said[number]],
            "share": round(float(shares[number]), 4),
            "after": [round(float(after[number, place + 1]), 4) for place in the[:number]],
        }
        for number in (1, 2)
    ]


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="do induction heads form in training, when, and what do they need?",
    long={"steps": STEPS, "seeds": 10},
    initialisation="PyTorch's default, without biases",
    measure=measure,
)
