"""Where is the gender of a noun, once the encoder has read a sentence? The decoder reads, at some
places, the vectors that the encoder made of another sentence: what does it write then?
"""

import itertools
import random

import torch

from book.experiments import Experiment
from book.experiments.heads import in_the_page
from book.experiments.heads.translators import trained
from solutions.translator.corpus.lexicon import NOUNS
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS, EOS

LONGEST = 20  # words of a translation
SENTENCE = "your {0} is a lovely {0}"
PLACES = {"your": [0], "noun": [1], "both": [0, 1], "others": [2, 3, 4, 5]}
PAIRS = 1000


def exchanges(*sentences):
    """Return what the translator of the first page writes of each mixture of two sentences.

    Args:
        sentences: two texts of as many words.

    Returns:
        dict: `sentences`, their words; `outcomes`, one for each set of places whose vectors are
        those of the second sentence: place i adds 2**i to the number of the outcome. An outcome is
        `words`, the translation, and `percents`, the probability of each word at its place.
    """
    model, english, italian = in_the_page.translator()
    words = [sentence.split() for sentence in sentences]
    src = padded([[english.index(word) for word in each] for each in words])
    with torch.no_grad():
        first, second = model.encode(src)
    places = range(len(words[0]))
    sets = [[bool(number >> place & 1) for place in places] for number in range(2 ** len(places))]
    memory = torch.where(torch.tensor(sets)[..., None], second, first)
    found = written(model, memory, src[:1].expand(len(sets), -1))
    return {
        "sentences": words,
        "outcomes": [outcome(*each, italian) for each in zip(*found, strict=True)],
    }


def outcome(ids, shares, italian):
    """Return a translation as `exchanges` has it."""
    end = ids.index(EOS)
    return {
        "words": [italian[number] for number in ids[:end]],
        "percents": [round(100 * share, 1) for share in shares[:end]],
    }


@torch.no_grad()
def written(model, memory, src):
    """Translate greedily from what an encoder is said to have made.

    Args:
        memory: (batch, src_len, d_model).
        src: (batch, src_len) int64, which says where padding is.

    Returns:
        ids, shares: lists, one for each row, of the words and of their probabilities.
    """
    tgt = torch.full((len(memory), 1), BOS)
    shares = []
    while not (tgt == EOS).any(dim=1).all() and tgt.shape[1] <= LONGEST:
        logits = model.generator(model.decode(tgt, memory, src)[:, -1])
        share, word = logits.softmax(dim=-1).max(dim=-1)
        tgt = torch.cat([tgt, word[:, None]], dim=1)
        shares.append(share)
    return tgt[:, 1:].tolist(), torch.stack(shares, dim=1).tolist()


def measure(steps, seeds):
    """Exchange vectors between sentences that differ in their noun alone, in a model of each seed.

    Returns:
        list of dict, one for each seed, article and set of places, as `articles` returns them.
    """
    return [{"seed": seed, **found} for seed in seeds for found in articles(*model_of(steps, seed))]


def model_of(steps, seed):
    """Return a translator, and the words of both vocabularies. Of the training that the page shows,
    it is the one whose parameters are rounded to a byte.
    """
    if (steps, seed) == (in_the_page.STEPS, 0):
        return in_the_page.translator()
    run, model = trained(steps, seed)
    sides = (run.source, run.target)
    return model, *([side.token(i) for i in range(side.vocab_size)] for side in sides)


@torch.no_grad()
def articles(model, english, italian):
    """Exchange vectors between sentences that differ in their noun alone.

    Args:
        model: chapter 8's Transformer.
        english, italian: lists of words, by their ids.

    Returns:
        list of dict, one for each article ("il" or "la") and set of `PLACES`: `nouns`, how many get
        that article before "your"; `changed`, the share of `PAIRS` pairs of nouns, drawn at random,
        in which the vectors of these places, taken from the sentence with a noun of the other
        article, change the article into that one.
    """
    ids = {word: number for number, word in enumerate(english)}
    names = [noun.name for noun in NOUNS.values() if noun.name in ids]
    src = torch.tensor([[ids[word] for word in SENTENCE.format(name).split()] for name in names])
    memory = model.encode(src)
    first = [italian[number] for number in first_words(model, memory, src)]
    rows = {
        article: [i for i, word in enumerate(first) if word == article] for article in ("il", "la")
    }
    draw = random.Random(0)
    found = []
    for one, other in (("il", "la"), ("la", "il")):
        pairs = list(itertools.product(rows[one], rows[other]))
        mine, theirs = zip(*draw.sample(pairs, PAIRS), strict=True)
        for name, places in PLACES.items():
            mixed = memory[list(mine)].clone()
            mixed[:, places] = memory[list(theirs)][:, places]
            words = [italian[number] for number in first_words(model, mixed, src[list(mine)])]
            share = words.count(other) / PAIRS
            found.append(
                {"article": one, "places": name, "nouns": len(rows[one]), "changed": share}
            )
    return found


def first_words(model, memory, src):
    """Return the ids of the words that come first."""
    logits = model.generator(model.decode(torch.full((len(src), 1), BOS), memory, src))
    return logits[:, -1].argmax(dim=-1).tolist()


EXPERIMENT = Experiment(
    page="index",
    asks="is it the vector of “your” or that of the noun that brings the gender into the article?",
    long={"steps": in_the_page.STEPS, "seeds": 3},
    initialisation="Glorot's, biases 0, embeddings with standard deviation 1/sqrt(d_model)",
    measure=measure,
)
