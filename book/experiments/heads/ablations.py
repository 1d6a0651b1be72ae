"""What the translator needs each head for: each is switched off, by zero and by its mean, beside
what its weights and its gradient say.
"""

import itertools
import random
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import torch

from book.experiments import Experiment
from book.experiments.heads.alignments import where_articles_look
from book.experiments.heads.translators import (
    GROUPS,
    Seen,
    all_heads,
    attentions,
    head_replaced,
    read,
    trained,
)
from solutions.ch12_interpretation import ablate_heads, attention_entropy, head_importance
from solutions.translator import corpus

SENTENCES_ONE_BY_ONE = 200
MOSTLY = 0.5  # of a head's weight
OTHER_SETS = 8


def measure(steps, seeds):
    """Switch off one head after the other, and several together.

    Returns:
        list of dict, one for each seed and head: `group` ("encoder" or "decoder" for
        self-attention, "cross"), `layer`, `head`; `entropy`, the mean over its rows in nats;
        `importance`, the size of the gradient of the mean loss at its gate, and `importance_each`,
        the mean of the sizes that single sentences give; `noun`, of a head of the
        cross-attention, the mean weight on the noun while an article is written; and what happens
        without it, by `zero` and by `mean`, the mean of what it finds in these sentences: `loss`
        (the mean over all next words), and how many `articles` and `others` are predicted wrong
        with the right words before them. Each seed has further entries, with `group`

        "none": nothing is switched off; `words` and `articles_in_all` count what there is;
        "noun heads": all heads of the cross-attention with most of their weight on the noun, at
        once (`heads`, as [layer, head]), by `zero` and by `mean`;
        "others": as many other heads of the cross-attention, drawn anew for each entry.
    """
    known = corpus.annotations()["validation"]
    return [row for seed in seeds for row in rows_of(seed, *trained(steps, seed), known)]


def rows_of(seed, run, model, known):
    """Yield the entries of one seed."""
    sentences = read(run, known)
    model.requires_grad_(False)
    articles = sentences.is_article()
    with torch.no_grad(), Seen(model) as seen:
        model(sentences.src, sentences.tgt)
    importance, importance_each = importances(model, sentences)
    counts = {"words": int(sentences.words.sum()), "articles_in_all": int(articles.sum())}
    without = partial(errors, model, sentences, articles)
    yield {"seed": seed, "group": "none", **without(), **counts}
    means, nouns = {}, {}
    for group, layer, head, module in all_heads(model):
        places = sentences.src != 0 if group == "encoder" else sentences.words
        found = seen.outputs[group, layer].unflatten(-1, (module.num_heads, -1))[..., head, :]
        means[group, layer, head] = found[places].mean(dim=0)
        weights = seen.weights[group, layer][:, head]
        row = {"seed": seed, "group": group, "layer": layer, "head": head}
        row["entropy"] = round(float(attention_entropy(weights)[places].mean()), 4)
        row["importance"] = round(float(importance[group][layer, head]), 5)
        row["importance_each"] = round(float(importance_each[group][layer, head]), 5)
        if group == "cross":
            row["noun"] = where_articles_look(weights, sentences)["noun"]
            nouns[layer, head] = row["noun"]
        yield row | both_ways(model, without, {(group, layer, head)}, means)
    on_nouns = sorted(place for place, weight in nouns.items() if weight > MOSTLY)
    elsewhere = sorted(set(nouns) - set(on_nouns))
    sets = list(itertools.combinations(elsewhere, len(on_nouns)))
    random.Random(seed).shuffle(sets)
    for name, chosen in [
        ("noun heads", on_nouns),
        *(("others", each) for each in sets[:OTHER_SETS]),
    ]:
        heads = {("cross", *place) for place in chosen}
        row = {"seed": seed, "group": name, "heads": list(map(list, chosen))}
        yield row | both_ways(model, without, heads, means)


def both_ways(model, without, heads, means):
    """Return what happens without some heads, by zero and by their means.

    Args:
        heads: set of (group, layer, head).
    """
    modules = attentions(model)
    found = {}
    for way in ("zero", "mean"):
        with ExitStack() as blocks:
            for group, layer, head in heads:
                module = modules[group][layer]
                if way == "zero":
                    gates = torch.ones(module.num_heads).index_fill(0, torch.tensor(head), 0)
                    blocks.enter_context(ablate_heads(module, gates))
                else:
                    by = means[group, layer, head]
                    blocks.enter_context(head_replaced(module, head, by))
            found[way] = without()
    return found


@torch.no_grad()
def errors(model, sentences, articles, digits=5):
    """Return the loss, and how many articles and other words are predicted wrong.

    Args:
        articles: (batch, tgt_len) bool.
        digits: of the loss.
    """
    hidden = model.decode(sentences.tgt, model.encode(sentences.src), sentences.src)
    logits = model.generator(hidden[sentences.words])
    expected = sentences.expected[sentences.words]
    wrong, articles = logits.argmax(dim=-1) != expected, articles[sentences.words]
    return {
        "loss": round(float(torch.nn.functional.cross_entropy(logits, expected)), digits),
        "articles": int((wrong & articles).sum()),
        "others": int((wrong & ~articles).sum()),
    }


def importances(model, sentences, singles=None):
    """Return two dicts: group -> (layers, heads), the size of the gradient at the gates, of the
    mean loss of all sentences, and of single sentences, averaged afterwards.

    Args:
        singles: how many single sentences to take.
    """
    modules = attentions(model)
    shape = len(GROUPS), len(model.decoder), modules["cross"][0].num_heads

    def loss_of(some, gates):
        with ExitStack() as blocks:
            for group, of_group in zip(GROUPS, gates.view(shape), strict=True):
                for module, of_layer in zip(modules[group], of_group, strict=True):
                    blocks.enter_context(ablate_heads(module, of_layer))
            logits = model(some.src, some.tgt)
        return torch.nn.functional.cross_entropy(logits.mT, some.expected, ignore_index=0)

    def importance(some):
        found = head_importance(partial(loss_of, some), torch.ones(shape).flatten(0, 1))
        return found.view(shape)

    rows = range(singles or SENTENCES_ONE_BY_ONE)
    each = torch.stack([importance(sentences.only(row)) for row in rows])
    both = importance(sentences), each.mean(dim=0)
    return tuple(dict(zip(GROUPS, found, strict=True)) for found in both)


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="what breaks when a head of the translator is switched off?",
    long={"steps": 1500, "seeds": 5},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
MORE_EXPERIMENTS = {
    "ablations_longer": replace(
        EXPERIMENT,
        asks="the same, after twice the training",
        long={"steps": 3000, "seeds": 2},
    )
}
