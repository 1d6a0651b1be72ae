"""A small task on which one can watch heads at work: every word of a sentence has to answer four
questions about the others.

Which word stands before you, which after you, which one is the verb, which one is first? The words
come in random order, so that no grammar helps: an answer must be fetched from the position where it
stands. The model has one layer of attention and nothing that could bend its output: logits are a
linear function of what the heads bring. (`one_average` gives it a hidden layer, to see how much of
the answers a single average still holds.)
"""

import itertools

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.measurements import NOTHING, spread, table
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch05_multi_head import MultiHeadAttention, split_heads

VERBS = ["is", "saw", "bit", "likes"]
NOUNS = ["cat", "dog", "man", "bird", "mouse"]
SMALL_WORDS = ["a", "the", "your", "my", "today", "again"]
ADJECTIVES = ["lovely", "small", "old", "wild"]
WORDS = VERBS + NOUNS + SMALL_WORDS + ADJECTIVES  # the ids of verbs come first
QUESTIONS = ("before", "after", "verb", "first")
LENGTHS = (5, 6, 7, 8)
# In place of a position or a word: the first word has none before it, the last none after it.
NOWHERE = -100


def ids_of(sentence):
    """Return the ids of a sentence as a batch of one, (1, seq_len) int64."""
    return torch.tensor([[WORDS.index(word) for word in sentence.lower().split()]])


def sentences(count, seq_len, generator):
    """Draw sentences of random words, exactly one of which is a verb.

    Returns:
        (count, seq_len) int64.
    """
    token_ids = torch.randint(len(VERBS), len(WORDS), (count, seq_len), generator=generator)
    verbs = torch.randint(len(VERBS), (count, 1), generator=generator)
    return token_ids.scatter(1, torch.randint(seq_len, (count, 1), generator=generator), verbs)


def places(token_ids):
    """Return where the answers stand: (batch, seq_len, 4) int64, one position for each word and
    question.
    """
    batch, seq_len = token_ids.shape
    own = torch.arange(seq_len).expand(batch, seq_len)
    before = own - 1
    after = own + 1
    verb = (token_ids < len(VERBS)).int().argmax(dim=1, keepdim=True).expand(batch, seq_len)
    found = torch.stack([before, after, verb, torch.zeros_like(own)], dim=-1)
    return found.masked_fill((found < 0) | (found >= seq_len), NOWHERE)


def answers(token_ids):
    """Return the right answers: (batch, seq_len, 4) int64, ids of words."""
    where = places(token_ids)
    words = token_ids.gather(1, where.clamp(min=0).flatten(1)).view_as(where)
    return words.masked_fill(where == NOWHERE, NOWHERE)


class Reader(nn.Module):
    """Embeddings, positions, one multi-head attention, and a linear layer that reads four answers
    from what it brings.

    Args:
        num_heads: how many heads share the d_model features.
        hidden: units of a hidden layer with ReLU that reads first; 0 for none, so that the answers
            are read by a single linear layer.
    """

    def __init__(self, num_heads, d_model=32, hidden=0):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), d_model)
        # About as long as an encoding of the position.
        nn.init.normal_(self.embedding.weight, std=0.5)
        self.attention = MultiHeadAttention(d_model, num_heads)
        logits = len(QUESTIONS) * len(WORDS)
        self.output = (
            nn.Sequential(nn.Linear(d_model, hidden), nn.ReLU(), nn.Linear(hidden, logits))
            if hidden
            else nn.Linear(d_model, logits)
        )

    def features(self, token_ids):
        """Return (batch, seq_len, d_model): words and where they stand."""
        x = self.embedding(token_ids)
        return x + torch.from_numpy(sinusoidal_encoding(*x.shape[1:])).to(x.dtype)

    def forward(self, token_ids):
        """Return logits (batch, seq_len, 4, words) and weights (batch, heads, seq_len, seq_len)."""
        x = self.features(token_ids)
        found, weights = self.attention(x, x, x)
        return self.output(found).unflatten(-1, (len(QUESTIONS), len(WORDS))), weights


def trained(num_heads, seed, steps=500, batch=64, rate=1e-2, hidden=0):
    """Train a Reader on fresh sentences; the same seed gives the same one."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Reader(
        num_heads, hidden=hidden
    ).double()  # so that another processor's rounding trains no other model
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1)
    for step in range(steps):
        loss = loss_of(model, sentences(batch, LENGTHS[step % len(LENGTHS)], generator))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval().requires_grad_(False)


def loss_of(model, token_ids):
    """Return the cross-entropy of a model's answers, a scalar."""
    logits, _ = model(token_ids)
    return functional.cross_entropy(
        logits.flatten(0, 2), answers(token_ids).flatten(), ignore_index=NOWHERE
    )


def with_equal_heads(model):
    """Give every head of a model the numbers of head 0: its rows of the three projections, its
    columns of W^O.
    """
    attention = model.attention
    heads = attention.num_heads
    with torch.no_grad():
        for layer in (attention.w_q, attention.w_k, attention.w_v):
            for parameter in layer.parameters():
                blocks = parameter.unflatten(0, (heads, -1))
                blocks.copy_(blocks[0].clone().expand_as(blocks))
        blocks = attention.w_o.weight.unflatten(1, (heads, -1))
        blocks.copy_(blocks[:, :1].clone().expand_as(blocks))
    return model


def share_right(logits, token_ids):
    """Return the share of right answers to each question, (4,)."""
    right = answers(token_ids)
    asked = right != NOWHERE
    return ((logits.argmax(dim=-1) == right) & asked).sum((0, 1)) / asked.sum((0, 1))


def offers(model, token_ids):
    """Return what each head would add to the logits if it looked at one key only.

    A head's average passes through its own block of W^O and through the output layer, both linear;
    so what it brings is the same average of these.

    Returns:
        (batch, heads, key_len, 4, words).
    """
    attention = model.attention
    value = split_heads(attention.w_v(model.features(token_ids)), attention.num_heads)
    blocks = attention.w_o.weight.unflatten(
        1, (attention.num_heads, -1)
    )  # (d_model, heads, head_dim)
    readers = torch.einsum("od,dhe->hoe", model.output.weight, blocks)
    return torch.einsum("bhke,hoe->bhko", value, readers).unflatten(
        -1, (len(QUESTIONS), len(WORDS))
    )


def base(model):
    """Return the logits if no head brings anything, (4, words)."""
    return model.output(model.attention.w_o.bias).view(len(QUESTIONS), len(WORDS))


def mixed(model, token_ids, weights, gates):
    """Return the logits, (batch, query_len, 4, words), with weights of one's own, each head's
    contribution multiplied by its gate.

    Args:
        weights: (batch, heads, query_len, key_len).
        gates: (heads,) from 0, switched off, to 1.
    """
    return base(model) + torch.einsum(
        "h,bhqk,bhkcw->bqcw", gates, weights, offers(model, token_ids)
    )


def share_of_weight(weights, token_ids):
    """Return how much of its weight each head puts on the place of each answer, (heads, 4).

    Counted are the words for which all four answers stand at different places; else one glance
    would serve two questions.
    """
    where = places(token_ids)
    apart = (where.sort(dim=-1).values.diff(dim=-1) > 0).all(-1) & (where != NOWHERE).all(
        -1
    )  # (batch, query_len)
    spots = where.clamp(min=0)[:, None].expand(-1, weights.shape[1], -1, -1)
    return weights.gather(-1, spots).transpose(1, 2)[apart].mean(0)


def explorer_state(model, texts, decimals=3):
    """Return what the explorer `heads` starts from: for each sentence its words, weights and
    offers, rounded.
    """

    def numbers(tensor):
        return (tensor.double() * 10**decimals).round().div(10**decimals).tolist()

    state = {
        "words": WORDS,
        "questions": list(QUESTIONS),
        "base": numbers(base(model)),
        "sentences": [],
    }
    for text in texts:
        token_ids = ids_of(text)
        state["sentences"].append(
            {
                "words": text.split(),
                "weights": numbers(model(token_ids)[1][0]),
                "offers": numbers(offers(model, token_ids)[0]),
                "answers": [
                    [None if i == NOWHERE else WORDS[i] for i in row]
                    for row in answers(token_ids)[0].tolist()
                ],
            }
        )
    return state


def measure(heads, steps, seeds, hidden=0):
    """Train a Reader for each number of heads, budget and seed.

    Returns:
        list of dict: `heads`, `steps`, `seed`, and the share of right answers to each question,
            `right`, in 500 fresh sentences.
    """
    test = held_out()
    runs = []
    for number, budget, seed in itertools.product(heads, steps, seeds):
        right = share_right(trained(number, seed, budget, hidden=hidden)(test)[0], test)
        shares = dict(zip(QUESTIONS, right.tolist(), strict=True))
        runs.append({"heads": number, "steps": budget, "seed": seed, "right": shares})
    return runs


def measure_weight(steps, seeds):
    """Train a Reader with one head for each budget and seed.

    Returns:
        list of dict: `steps`, `seed`, and how much of its weight the head puts on the place of each
            answer, `weight`, in 500 fresh sentences.
    """
    test = held_out()
    runs = []
    for budget, seed in itertools.product(steps, seeds):
        weight = share_of_weight(trained(1, seed, budget)(test)[1], test)[0]
        shares = dict(zip(QUESTIONS, weight.tolist(), strict=True))
        runs.append({"steps": budget, "seed": seed, "weight": shares})
    return runs


def held_out():
    """Return the 500 sentences of eight words on which readers are measured."""
    return sentences(500, 8, torch.Generator().manual_seed(99))


def shares_of(measured, heads, steps):
    """Return the recorded shares of right answers, (seeds, questions)."""
    return np.array(
        [
            list(run["right"].values())
            for run in measured["runs"]
            if (run["heads"], run["steps"]) == (heads, steps)
        ]
    )


def budget_table(measured, bent):
    """Return the table of right answers by heads and steps: mean, and range over seeds where there
    is one.

    Args:
        measured: the record of `four_questions`.
        bent: that of `one_average`, for a row of its own.
    """
    steps = measured["budget"]["steps"]
    named = [(f"{number}", measured, number) for number in measured["budget"]["heads"]]
    named.insert(1, ("1, read by a hidden layer", bent, 1))
    rows = []
    for name, record, number in named:
        right = (shares_of(record, number, budget) for budget in steps)
        rows.append((name, *(_mean_and_range(each) for each in right)))
    return table(("heads", *(f"{budget:,} steps" for budget in steps)), rows)


def _mean_and_range(right):
    """Write shares, (seeds, questions), as a mean over the questions with its range over seeds."""
    if not len(right):
        return NOTHING
    each = right.mean(axis=1)
    low, high = (f"{100 * number:.0f}" for number in (each.min(), each.max()))
    return f"{low} %" if low == high else spread(each, 100, 0, " %")


EXPERIMENT = Experiment(
    page="ch05_multi_head",
    asks="do heads share out four questions among them, and can one head answer all?",
    short={"heads": (1, 4), "steps": 500, "seeds": 3},
    long={"heads": (1, 2, 4, 8), "steps": (500, 1000, 2000, 4000), "seeds": 4},
    initialisation="PyTorch's default, embeddings with standard deviation 0.5",
    measure=measure,
)

MORE_EXPERIMENTS = {
    "one_average": Experiment(
        page="ch05_multi_head",
        asks="does a reader with a hidden layer get more out of the average of a single head?",
        long={"heads": (1,), "steps": (500, 2000), "seeds": 3, "hidden": 128},
        initialisation="PyTorch's default, embeddings with standard deviation 0.5",
        measure=measure,
    ),
    "weight_of_one_head": Experiment(
        page="ch05_multi_head",
        asks="where does a single head put its weight, early and late in its training?",
        long={"steps": (500, 4000), "seeds": 3},
        initialisation="PyTorch's default, embeddings with standard deviation 0.5",
        measure=measure_weight,
    ),
}
