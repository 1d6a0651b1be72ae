"""How much can a head's weights change while what it finds stays the same? In a short sentence not
at all, because the values of its words are linearly independent. So we search for weights with
nearly the same output, and also try weights that say nothing.
"""

from contextlib import ExitStack

import torch

from book.experiments import Experiment
from book.experiments.heads.translators import (
    Seen,
    all_heads,
    head_replaced,
    read,
    trained,
)
from solutions.ch05_multi_head import split_heads
from solutions.translator import corpus
from solutions.translator.data.tokenizer import PAD

SENTENCES = 100
SEARCH = 400  # steps of Adam
ALLOWED = 0.05  # of the length of what a head finds


def measure(steps, seeds):
    """Search for other weights of each head of the cross-attention.

    Returns:
        list of dict, one for each seed and head: `layer`, `head`; `top`, the mean of the largest
        weight of a row; `moved`, the mean share of a row's weight that the search could move while
        what the head finds changes by at most `ALLOWED` of its length, and `new_top`, what it left
        on the word that was largest; `other_word`, the share of rows in which another word is
        largest now; `rank`, the mean rank of the values of a sentence, and `words`, of how many;
        `even` and `shuffled`, the share of the next words that stay the same when the head looks at
        all words alike, or with its weights in a random order. One more for each seed has
        `layer` "all", and only the last two, of all these heads at once.
    """
    known = corpus.annotations()["validation"][:SENTENCES]
    return [row for seed in seeds for row in rows_of(seed, *trained(steps, seed), known)]


def rows_of(seed, run, model, known):
    """Yield the entries of one seed."""
    model.requires_grad_(False)
    sentences = read(run, known)
    with torch.no_grad(), Seen(model) as seen:
        before = model(sentences.src, sentences.tgt).argmax(dim=-1)
        memory = model.encode(sentences.src)
    there = sentences.src != PAD
    even = there / there.sum(dim=1, keepdim=True)
    generator = torch.Generator().manual_seed(seed)
    instead = {"even": [], "shuffled": []}
    for group, layer, head, module in all_heads(model):
        if group != "cross":
            continue
        weights = seen.weights[group, layer][:, head]  # (batch, tgt_len, src_len)
        values = split_heads(module.w_v(memory), module.num_heads)[:, head]
        for name, others in instead.items():
            new = even[:, None].expand_as(weights)
            if name == "shuffled":
                new = shuffled(weights, there, generator)
            others.append((module, head, new @ values))
        yield {
            "seed": seed,
            "layer": layer,
            "head": head,
            **what_was_found(weights, values, there, sentences.words),
            **{
                name: unchanged(model, sentences, before, each[-1:])
                for name, each in instead.items()
            },
        }
    yield {
        "seed": seed,
        "layer": "all",
        **{name: unchanged(model, sentences, before, each) for name, each in instead.items()},
    }


def what_was_found(weights, values, there, words):
    """Return what the search for other weights of one head came to."""
    other = searched(weights, values, there)
    top = weights.argmax(dim=-1, keepdim=True)
    return {
        "top": mean(weights.gather(-1, top)[..., 0][words]),
        "new_top": mean(other.gather(-1, top)[..., 0][words]),
        "moved": mean((weights - other).clamp(min=0).sum(dim=-1)[words]),
        "other_word": mean((other.argmax(dim=-1) != top[..., 0])[words].float()),
        "rank": mean(ranks(values, there).float()),
        "words": mean(there.sum(dim=1).float()),
    }


@torch.no_grad()
def unchanged(model, sentences, before, replaced):
    """Return the share of the next words that stay the same.

    Args:
        before: (batch, tgt_len) int64, the words that were likeliest.
        replaced: list of (module, head, what it finds instead).
    """
    with ExitStack() as blocks:
        for module, head, instead in replaced:
            blocks.enter_context(head_replaced(module, head, instead))
        after = model(sentences.src, sentences.tgt).argmax(dim=-1)
    return mean((after == before)[sentences.words].float())


def mean(numbers):
    return round(float(numbers.mean()), 4)


def ranks(values, there):
    """Return (batch,) how many of the values of each sentence are independent of each other."""
    return torch.stack(
        [torch.linalg.matrix_rank(each[words]) for each, words in zip(values, there, strict=True)]
    )


def searched(weights, values, there):
    """Search for weights that put as little as possible on the word that has most, while what is
    found changes by no more than is allowed. Where the search ends outside, it goes back towards
    the weights that were, which are inside.

    Args:
        weights: (batch, tgt_len, src_len).
        values: (batch, src_len, head_dim).
        there: (batch, src_len) bool.
    """
    found = weights @ values
    top = weights.argmax(dim=-1, keepdim=True)
    hidden = ~there[:, None].expand_as(weights)
    scores = weights.clamp(min=1e-4).log().masked_fill(hidden, -torch.inf).requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=0.05)
    for _ in range(SEARCH):
        other = scores.softmax(dim=-1)
        off = (other @ values - found).norm(dim=-1) / found.norm(dim=-1)
        too_far = (off - ALLOWED).clamp(min=0)
        loss = (other.gather(-1, top)[..., 0] + 20 * too_far).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    other = scores.detach().softmax(dim=-1)
    off = (other @ values - found).norm(dim=-1) / found.norm(dim=-1)
    share = (ALLOWED / off).clamp(max=1)[..., None]  # what is found is linear in the weights
    return weights + share * (other - weights)


def shuffled(weights, there, generator):
    """Return each row's weights in a random order; padding comes after the words and keeps 0."""
    drawn = torch.rand(weights.shape, generator=generator)
    order = drawn.masked_fill(~there[:, None], 2).argsort(dim=-1)  # of the words, then padding
    return weights.gather(-1, order)


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="do other weights find the same?",
    long={"steps": 1500, "seeds": 5},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
