"""Two machines that learn to copy a sentence: one passes a single vector from reader to writer, the
other can look back.

Everything else is equal: embeddings, a GRU that reads, a GRU that writes, and an output layer that
sees the writer's state and a context. The context is the last state of the reader, or additive
attention over all of its states.

A run, as `measure` returns it, has the keys

- `kind` ("one vector" or "attention"), `size` (numbers in a state), `longest` (words of the longest
  sentence in training), `steps` and `seed`;
- `accuracy`: the share of words that are copied right, for sentences of 1 to 20 words.
"""

import sys
from dataclasses import replace
from itertools import product

import numpy as np
import torch
from torch import nn
from torch.func import stack_module_state
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.copying.side_by_side import clipped_in_place, logits_of

WORDS = ["a", "cat", "dog", "is", "lovely", "mat", "on", "sat", "saw", "that", "the", "your"]
SENTENCE = "your cat is a lovely cat that sat on the mat that the dog that saw the cat sat on"
BEGIN = len(WORDS)  # the id that the writer reads before its first word
LONGEST_TRAINED = 10
LENGTHS = range(1, len(SENTENCE.split()) + 1)
KINDS = {"vector": "one vector", "attention": "attention"}
BATCH, RATE = 64, 0.015


def ids_of(sentence):
    """Return the ids of a sentence as a batch of one, (1, seq_len) int64."""
    return torch.tensor([[WORDS.index(word) for word in sentence.split()]])


def sentence_of(token_ids):
    """Return the words of a batch of one sentence, as a string."""
    return " ".join(WORDS[token] for token in token_ids.flatten().tolist())


class Copier(nn.Module):
    """A GRU encoder and a GRU decoder, with one context vector or with additive attention.

    Args:
        d_hidden: numbers in a state, of reader and writer alike.
        attention: whether the writer may look back at all states of the reader.
        d_attention, d_model: sizes of the attention's hidden layer and of an embedding.
    """

    def __init__(self, d_hidden, attention, d_attention=16, d_model=16):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS) + 1, d_model)
        self.reader = nn.GRU(d_model, d_hidden, batch_first=True)
        self.writer = nn.GRU(d_model, d_hidden, batch_first=True)
        self.output = nn.Linear(2 * d_hidden, len(WORDS))
        self.attention = attention
        if attention:
            self.w_query = nn.Linear(d_hidden, d_attention, bias=False)
            self.w_key = nn.Linear(d_hidden, d_attention, bias=False)
            self.v = nn.Linear(d_attention, 1, bias=False)

    def forward(self, read, target):
        """Return logits (batch, seq_len, words) for writing `target` after reading `read`, where
        each word is predicted from the right words before it.
        """
        return self.write(target, *self.reader(self.embedding(read)))

    def write(self, target, keys, last):
        """Return the logits, from the reader's states (batch, seq_len, d_hidden) and its last one
        (1, batch, d_hidden).
        """
        begin = torch.full_like(target[:, :1], BEGIN)
        so_far = torch.cat([begin, target[:, :-1]], dim=1)
        queries, _ = self.writer(self.embedding(so_far), last)
        return self.output(torch.cat([queries, self.context(queries, keys)], dim=-1))

    def context(self, queries, keys):
        """Return what the writer sees of the sentence at each of its steps, (batch, query_len,
        d_hidden).
        """
        if not self.attention:
            return keys[:, -1:].expand_as(queries)
        return self.weights(queries, keys) @ keys

    def weights(self, queries, keys):
        """Return additive attention, (batch, query_len, key_len)."""
        projected = self.w_query(queries).unsqueeze(2) + self.w_key(keys).unsqueeze(1)
        return self.v(projected.tanh()).squeeze(-1).softmax(dim=-1)

    @torch.no_grad()
    def copy(self, token_ids, context=None):
        """Read a batch of sentences and write them down again, each word after the words that the
        model itself wrote.

        Args:
            context: a function to call instead of the model's own method of this name.

        Returns:
            written: (batch, seq_len) int64.
            queries, keys: (batch, seq_len, d_hidden), the states of writer and reader.
        """
        keys, state = self.reader(self.embedding(token_ids))
        word = torch.full_like(token_ids[:, :1], BEGIN)
        written, queries = [], []
        for _ in range(token_ids.shape[1]):
            query, state = self.writer(self.embedding(word), state)
            logits = self.output(torch.cat([query, (context or self.context)(query, keys)], dim=-1))
            word = logits.argmax(dim=-1)
            written.append(word)
            queries.append(query)
        return torch.cat(written, dim=1), torch.cat(queries, dim=1), keys


def random_sentences(count, seq_len, generator):
    """Draw sentences whose words are independent and equally likely, (count, seq_len) int64."""
    return torch.randint(len(WORDS), (count, seq_len), generator=generator)


def copied(token_ids):
    """Return what is to be written after reading `token_ids`: here, the same."""
    return token_ids


def train(d_hidden, attention, seed, steps=400, longest=LONGEST_TRAINED, rewritten=copied):
    """Train one machine to copy random sentences of 1 to `longest` words, or to write what
    `rewritten` makes of them; the same seed gives the same machine. All seeds see the same lengths
    in the same order, with different words.
    """
    model, words = new(d_hidden, attention, seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = falling(optimizer, steps)
    for seq_len in random_lengths(steps, longest):
        read = random_sentences(BATCH, seq_len, words)
        target = rewritten(read)
        logits = model(read, target)  # (batch, seq_len, words)
        loss = functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
    return model


def new(d_hidden, attention, seed):
    """Return the untrained machine of a seed, and leave the global random numbers as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Copier(d_hidden, attention)


def falling(optimizer, steps):
    """Let the learning rate fall in a straight line to a twentieth, whatever `steps` is."""
    return torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)


def random_lengths(steps, longest, shortest=1):
    """Return the number of words in the sentences of each step, a list of ints from `shortest` to
    `longest`.
    """
    generator = torch.Generator().manual_seed(0)
    return torch.randint(shortest, longest + 1, (steps,), generator=generator).tolist()


def train_side_by_side(models, seeds, steps, longest=LONGEST_TRAINED, shortest=1, rate=RATE):
    """Train machines of one form side by side, in place; each learns as it would in `train`.

    Their parameters are stacked into one tensor for each name, so that one product computes all of
    them. That trains three of them about twice as fast as one after the other.

    Args:
        models: list of new Copiers of the same sizes.
        seeds: one for each model, from which the words that it reads are drawn.
        longest, shortest: words in the sentences.
        rate: the learning rate of the first step.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    parameters, _ = stack_module_state(models)  # name -> (models, *shape of one)
    optimizer = torch.optim.Adam(parameters.values(), lr=rate, fused=True)
    schedule = falling(optimizer, steps)
    for seq_len in random_lengths(steps, longest, shortest):
        drawn = [random_sentences(BATCH, seq_len, each) for each in generators]
        token_ids = torch.stack(drawn).permute(2, 0, 1)  # (seq_len, models, batch)
        logits = logits_of(parameters, token_ids)
        loss = functional.cross_entropy(
            logits.flatten(0, 2), token_ids.flatten(), reduction="sum"
        ) / (BATCH * seq_len)  # the sum of the models' losses
        optimizer.zero_grad()
        loss.backward()
        clipped_in_place(parameters.values())
        optimizer.step()
        schedule.step()
    for number, model in enumerate(models):
        model.load_state_dict({name: each[number] for name, each in parameters.items()})


def accuracy(model, lengths, count=200):
    """Return the share of words that are copied right, for each length, on sentences that no
    training saw; a list of floats.
    """
    generator = torch.Generator().manual_seed(2**20)
    shares = []
    for seq_len in lengths:
        token_ids = random_sentences(count, seq_len, generator)
        shares.append((model.copy(token_ids)[0] == token_ids).double().mean().item())
    return shares


def reach(model, seq_len=LONGEST_TRAINED, count=64):
    """Measure the gradient that each word, as written, sends to the same word as read.

    Returns:
        (seq_len,) array: for each place the norm of the gradient of that word's logit with respect
            to its embedding, the mean over `count` random sentences. (The gradient of its loss
            shrinks also where the word is copied rightly already.)
    """
    token_ids = random_sentences(count, seq_len, torch.Generator().manual_seed(0))
    norms = []
    for place in range(seq_len):
        read = model.embedding(token_ids).detach().requires_grad_()
        logits = model.write(token_ids, *model.reader(read))
        right = logits[:, place].gather(1, token_ids[:, place : place + 1])
        (gradient,) = torch.autograd.grad(right.sum(), read)
        norms.append(gradient[:, place].norm(dim=-1).mean().item())
    return np.array(norms)


def measure(steps, seeds, longest_seeds, machines, longest=LONGEST_TRAINED, rate=RATE):
    """Train machines of each form with each budget, all seeds side by side.

    Args:
        longest_seeds: how many of the seeds the largest budget is run with.
        machines: such as "vector-32" and "attention-16", with the numbers in a state.
        rate: the learning rate of the first step.

    Returns:
        list of dicts, one per run, as described above.
    """
    runs = []
    for budget, (kind, size) in product(steps, [name.split("-") for name in machines]):
        chosen = seeds[:longest_seeds] if budget == max(steps) else seeds
        models = [new(int(size), kind == "attention", seed) for seed in chosen]
        train_side_by_side(models, chosen, budget, longest, rate=rate)
        form = {"kind": KINDS[kind], "size": int(size), "longest": longest, "steps": budget}
        for seed, model in zip(chosen, models, strict=True):
            shares = [round(share, 4) for share in accuracy(model, LENGTHS)]
            runs.append(form | {"seed": seed, "accuracy": shares})
        ends = [run["accuracy"][LONGEST_TRAINED - 1] for run in runs[-len(chosen) :]]
        print(f"{kind}, {size} numbers, {budget} steps:", ends, file=sys.stderr, flush=True)
    return runs


def shares(runs, kind, steps):
    """Return the recorded accuracy of one kind and budget: dict from a size to (seeds, lengths)."""
    found = {}
    for run in runs:
        if (run["kind"], run["steps"]) == (kind, steps):
            found.setdefault(run["size"], []).append(run["accuracy"])
    return {size: np.array(rows) for size, rows in found.items()}


EXPERIMENT = Experiment(
    page="ch03_bottleneck",
    asks="how well is a sentence copied through one vector, and with attention, by budget?",
    short={"steps": 400, "seeds": 1},
    long={
        "steps": (400, 4000, 20000),
        "seeds": 6,
        "longest_seeds": 3,
        "machines": ("vector-16", "vector-32", "vector-64", "attention-16"),
    },
    measure=measure,
)
MORE_EXPERIMENTS = {
    "copy_wide": replace(
        EXPERIMENT,
        asks="how well does one vector copy that has as many numbers as attention keeps?",
        short={},
        long={
            "steps": (400, 4000),
            "seeds": 5,
            "longest_seeds": 5,
            "machines": ("vector-160",),
        },
    ),
    "copy_rates": replace(
        EXPERIMENT,
        asks="does attention still learn to copy faster at a third of the learning rate?",
        short={},
        long={
            "steps": (400, 4000),
            "seeds": 5,
            "longest_seeds": 3,
            "machines": ("vector-64", "attention-16"),
            "rate": 0.005,
        },
    ),
}
