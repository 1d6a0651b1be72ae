"""Where is the gender of a noun when an article is written? Two sentences differ in one noun, so
that the article differs, too. A part of what the model computes for one is copied into its run on
the other: does the article change?
"""

import random
from contextlib import ExitStack
from dataclasses import dataclass, replace

import torch

from book.experiments import Experiment
from book.experiments.heads.ablations import MOSTLY
from book.experiments.heads.alignments import where_articles_look
from book.experiments.heads.translators import (
    Seen,
    article_at,
    attentions,
    block_of,
    head_replaced,
    read,
    trained,
)
from solutions.translator import corpus
from solutions.translator.corpus.grammar import VOWELS, before
from solutions.translator.corpus.lexicon import NOUNS

OTHER = {"il": "la", "i": "le", "un": "una"}
OTHER |= {feminine: masculine for masculine, feminine in OTHER.items()}
DETERMINERS = {"the", "a"}
SETS = ("determiner",), ("noun",), ("rest",), ("determiner", "noun"), ("noun", "rest")
UNTOLD = {"common", "one"}  # tags that do not say what a noun goes with


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences that differ in one noun, up to the article that agrees with it.

    Args:
        sentences: Sentences, the first of each pair.
        src: (batch, src_len) int64, the second of each.
        row: (batch,) int64, the position that writes the article.
        articles: (2, batch) int64, the right article of the first and of the second.
        places: dict: name -> (batch, src_len) bool, the "determiner", the "noun", and the "rest".
    """

    sentences: object
    src: torch.Tensor
    row: torch.Tensor
    articles: torch.Tensor
    places: dict

    def at(self, states):
        """Return what (batch, tgt_len, ...) has in the row of the article."""
        return states[range(len(self.row)), self.row]


def measure(steps, seeds):
    """Copy states of the encoder, and what heads of the cross-attention find, from run to run.

    Returns:
        list of dict, one for each seed and `patch`: `moved`, the share of the way from the logit
        difference of both articles in the one run to that in the other; `flipped`, the share of
        pairs in which the other article is now the likeliest word; `pairs`, how many there are, of
        those drawn in all (`drawn`), the others being pairs in which an article is wrong already.

        patch "states": the encoder's states at `places`, a list of "determiner", "noun" and "rest".
        patch "head": what one head of the cross-attention finds in the row of the article; `layer`,
        `head`, `noun` and `article`, its mean weights there on the noun and on the determiner, and
        `direct`, the share of the difference that this head adds straight to the logits.
        patch "heads": likewise for several, which `name` names: those of "layer 1", "layer 2", or
        "both layers", and "noun heads", those that have most of their weight on the noun in the
        validation sentences, and "all others"; `heads` lists them as [layer, head].

        The pairs are made of other sentences than those that the noun heads are chosen by.
    """
    known = corpus.annotations()
    swaps = drawn_swaps(known["random"])
    return [
        row
        for seed in seeds
        for row in rows_of(seed, *trained(steps, seed), swaps, known["validation"])
    ]


# ---- pairs ----


def drawn_swaps(known):
    """Return list of (Annotation, its other English, Italian place of the article, English places
    of determiner and noun), one for each article that another noun would change.
    """
    rng = random.Random("patching")
    found = []
    for one in known:
        for place, article in enumerate(one.italian):
            at = places_of(one, place) if article in OTHER and article_at(one, place) else None
            others = at and sorted(other_nouns(one, place, at[1]))
            if others:
                english = list(one.english)
                english[at[1]] = rng.choice(others)
                found.append((one, tuple(english), place, *at))
    return found


def places_of(one, place):
    """Return the English places of an article's determiner and noun, or None where there is no
    "the" or "a" or where a word before the article agrees with the noun, too.
    """
    nouns = [i for i, j in one.agreement if j == place]
    said_by = [i for i, j in one.sure if j == place and one.english[i] in DETERMINERS]
    if len(nouns) != 1 or len(said_by) != 1 or nouns == said_by:
        return None
    told_before = any(i == nouns[0] and j < place for i, j in one.agreement | one.possible)
    return None if told_before else (said_by[0], nouns[0])


def other_nouns(one, place, at):
    """Yield the English of nouns with which only the gender of the article would change: of the
    same number and of a like kind, and with a plain consonant first in both languages.
    """
    english, italian = one.english[at], one.italian[place + 1]
    for noun in NOUNS.values():
        for plural in (False, True):
            if (noun.english[plural], noun.italian[plural]) == (english, italian):
                yield from (
                    other.english[plural]
                    for other in NOUNS.values()
                    if is_like(noun, other, plural) and plain(noun, plural) and plain(other, plural)
                )


def is_like(noun, other, plural):
    """Return whether a noun is of a like kind as another one, and of the other gender."""
    genders = {noun.gender[plural], other.gender[plural]}
    return bool(other.english[plural] and noun.tags & other.tags - UNTOLD) and genders == {"m", "f"}


def plain(noun, plural):
    """Return whether the sound of a noun changes no article, neither "a" nor "il"."""
    english, italian = noun.english[plural], noun.italian[plural]
    one_word = english.isalpha()
    return one_word and english[0] not in VOWELS and before("il", italian) == "il"


def as_pairs(run, swaps):
    """Return Pairs as a model reads them."""
    known, english, place, determiner, noun = zip(*swaps, strict=True)
    sentences = read(run, known)
    others = [replace(one, english=words) for one, words in zip(known, english, strict=True)]
    row = torch.tensor(place)
    columns = torch.arange(sentences.src.shape[1])
    places = {
        name: torch.tensor(at)[:, None] == columns
        for name, at in (("determiner", determiner), ("noun", noun))
    }
    places["rest"] = ~(places["determiner"] | places["noun"])
    articles = [
        [one.italian[at] for one, at in zip(known, place, strict=True)],
        [OTHER[one.italian[at]] for one, at in zip(known, place, strict=True)],
    ]
    ids = [[ids[0] for ids in run.target.encode(side)] for side in articles]
    return Pairs(sentences, read(run, others).src, row, torch.tensor(ids), places)


# ---- patches ----


@torch.no_grad()
def rows_of(seed, run, model, swaps, validation):
    """Yield the entries of one seed."""
    both = BothRuns(model, as_pairs(run, swaps))
    for places in SETS:
        memory = both.memory_with(places)
        yield {"seed": seed, "patch": "states", "places": list(places), **both.moved_by(memory)}
    heads = list(cross_heads(model))
    for layer, head in heads:
        row = {"seed": seed, "patch": "head", "layer": layer, "head": head}
        yield row | both.looked(layer, head) | both.moved_by(heads=[(layer, head)])
    on_nouns = heads_on_nouns(model, read(run, validation))
    for name, chosen in (
        ("layer 1", [place for place in heads if place[0] == 0]),
        ("layer 2", [place for place in heads if place[0] == 1]),
        ("both layers", heads),
        ("noun heads", on_nouns),
        ("all others", [place for place in heads if place not in on_nouns]),
    ):
        row = {"seed": seed, "patch": "heads", "name": name, "heads": list(map(list, chosen))}
        yield row | both.moved_by(heads=chosen)


class BothRuns:
    """What a model computes for the first and for the second sentence of each pair, both with the
    first one's Italian before the article, and what it writes when parts of the second run are
    copied into the first.
    """

    def __init__(self, model, pairs):
        self.model, self.pairs = model, pairs
        self.memories, self.seen, written = [], [], []
        for src in (pairs.sentences.src, pairs.src):
            self.memories.append(model.encode(src))
            with Seen(model) as seen:
                written.append(pairs.at(model(src, pairs.sentences.tgt)))
            self.seen.append(seen)
        self.before, self.after = map(self.difference, written)
        self.kept = torch.stack(
            [right(logits, ids) for logits, ids in zip(written, pairs.articles, strict=True)]
        ).all(dim=0)

    def difference(self, logits):
        """Return (batch,): the second article's logit minus that of the first."""
        first, second = (logits.gather(-1, ids[:, None])[:, 0] for ids in self.pairs.articles)
        return second - first

    def memory_with(self, places):
        """Return the first run's memory with the states of the second one at some places."""
        copied = torch.stack([self.pairs.places[name] for name in places]).any(dim=0)
        return torch.where(copied[..., None], *reversed(self.memories))

    def moved_by(self, memory=None, heads=()):
        """Return how far the article moves towards that of the second run.

        Args:
            memory: what the decoder reads, or None for that of the first run.
            heads: list of (layer, head) of the cross-attention, whose finds in the row of the
                article are copied from the second run.
        """
        modules, sentences = attentions(self.model)["cross"], self.pairs.sentences
        articles = range(len(self.pairs.row)), self.pairs.row
        memory = self.memories[0] if memory is None else memory
        with ExitStack() as blocks:
            for layer, head in heads:
                found = self.pairs.at(self.seen[1].outputs["cross", layer])
                found = found[:, block_of(head, modules[layer])]
                blocks.enter_context(head_replaced(modules[layer], head, found, articles))
            hidden = self.model.decode(sentences.tgt, memory, sentences.src)
        logits = self.model.generator(self.pairs.at(hidden))
        flipped = right(logits, self.pairs.articles[1])[self.kept]
        return {
            "moved": self.share(self.difference(logits) - self.before),
            "flipped": round(float(flipped.float().mean()), 4),
            "pairs": len(flipped),
            "drawn": len(self.kept),
        }

    def share(self, change):
        """Return a change of the logit difference, as a share of that between the two runs."""
        whole = (self.after - self.before)[self.kept].sum()
        return round(float(change[self.kept].sum() / whole), 4)

    def looked(self, layer, head):
        """Return where a head looks in the row of the article, and what it adds to the logits."""
        weights = self.pairs.at(self.seen[0].weights["cross", layer][:, head])
        on = {name: (weights * at).sum(dim=-1) for name, at in self.pairs.places.items()}
        added = [self.added(seen, layer, head) for seen in self.seen]
        return {
            "noun": round(float(on["noun"][self.kept].mean()), 4),
            "article": round(float(on["determiner"][self.kept].mean()), 4),
            "direct": self.share(added[1] - added[0]),
        }

    def added(self, seen, layer, head):
        """Return (batch,): what a head adds straight to the logit difference. The last norm divides
        by the standard deviation of the run, whatever the head adds to it.
        """
        w_o, norm = attentions(self.model)["cross"][layer].w_o, self.model.decoder_norm
        block = block_of(head, attentions(self.model)["cross"][layer])
        found = self.pairs.at(seen.outputs["cross", layer])[:, block] @ w_o.weight[:, block].T
        state = self.pairs.at(seen.hidden[-1])
        deviation = (state.var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()
        normed = (found - found.mean(dim=-1, keepdim=True)) / deviation * norm.weight
        return self.difference(normed @ self.model.generator.weight.T)


def right(logits, ids):
    """Return (batch,) bool: whether an article is the likeliest word."""
    return logits.argmax(dim=-1) == ids


def cross_heads(model):
    """Yield (layer, head) for each head of the cross-attention."""
    for layer, module in enumerate(attentions(model)["cross"]):
        for head in range(module.num_heads):
            yield layer, head


def heads_on_nouns(model, sentences):
    """Return the (layer, head) that have most of their weight on the noun while an article is
    written.
    """
    with Seen(model) as seen:
        model(sentences.src, sentences.tgt)
    return [
        (layer, head)
        for layer, head in cross_heads(model)
        if where_articles_look(seen.weights["cross", layer][:, head], sentences)["noun"] > MOSTLY
    ]


EXPERIMENT = Experiment(
    page="ch12_interpretation",
    asks="from where does the translator know the gender of the noun when it writes an article?",
    long={"steps": 1500, "seeds": 5},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
MORE_EXPERIMENTS = {
    "patching_longer": replace(
        EXPERIMENT,
        asks="the same, after twice the training",
        long={"steps": 3000, "seeds": 2},
    )
}
