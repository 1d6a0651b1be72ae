"""Where little translators look, and how they go on after a mistake, over all sentences that were
set aside: what the page of chapter 8 shows for one sentence and one seed.

A recorded run is a dict with `steps` and `seed`; `exact`, how many sentences are translated
without a mistake, and of how many; `aligned`, for each kind of Italian word the share of words for
which the cross-attention, averaged over its heads, looks most at the English word that it
translates; and `slips`, what becomes of a translation that is begun with the article of the other
gender: see `after_a_slip`.
"""

import itertools
from collections import Counter

import torch

from book.experiments import Experiment
from book.experiments.little.toy_translation import (
    ADJECTIVES,
    DETERMINERS,
    NOUNS,
    VERBS,
    VERBS_WITH_OBJECT,
    as_batch,
    corpus,
    cross_attention,
    train_translator,
)

LONGEST = 20
OTHER = {"il": "la", "la": "il", "un": "una", "una": "un"}
ITALIAN_NOUNS = {italian for italian, _ in NOUNS.values()}
AFTER = ("as if nothing", "corrected", "other noun", "twice", "from the verb on")
ITALIAN_VERBS = {"è", *VERBS.values(), *VERBS_WITH_OBJECT.values()}


def aligned_words(english):
    """Say for each word of the Italian translation what it translates.

    Args:
        english: a sentence of the little language.

    Returns:
        a list of (kind of word, its place in the English sentence).
    """
    words, pairs, adjective = english.split(), [], None
    for place, word in enumerate(words):
        if word in DETERMINERS:
            kinds = ["article", "possessive"][: len(DETERMINERS[word][0].split())]
            pairs += [(kind, place) for kind in kinds]
        elif word in NOUNS:
            pairs += [("noun", place), *adjective] if adjective else [("noun", place)]
            adjective = None
        elif word in ADJECTIVES and place + 1 < len(words):
            adjective = [("adjective", place)]  # the Italian one comes after its noun
        else:
            pairs.append(("adjective" if word in ADJECTIVES else "verb", place))
    return pairs


def looked_at_most(translator, pairs):
    """Return for each pair the places at which the mean of the heads looks most, one a step."""
    src, tgt = as_batch(pairs, translator.english, translator.italian)
    looks = cross_attention(translator.model, src, tgt[:, :-1])[0]  # of the only layer
    return looks.mean(dim=1).argmax(dim=-1).tolist()


def aligned_shares(translator, pairs):
    """Count how often the mean of the heads looks most at the word that is translated.

    Returns:
        dict: kind of Italian word -> share, from 0 to 1.
    """
    hits, all_of = Counter(), Counter()
    for row, (english, _) in zip(looked_at_most(translator, pairs), pairs, strict=True):
        for step, (kind, place) in enumerate(aligned_words(english)):
            all_of[kind] += 1
            hits[kind] += row[step] == place
    return {kind: hits[kind] / count for kind, count in all_of.items()}


def strays_at_their_noun(translator, pairs):
    """Return the share of articles and possessives at which the heads look most at the noun of the
    same phrase, among those at which they look most at another word than their own.
    """
    found = []
    for row, (english, _) in zip(looked_at_most(translator, pairs), pairs, strict=True):
        words = english.split()
        for step, (kind, place) in enumerate(aligned_words(english)):
            if kind in ("article", "possessive") and row[step] != place:
                noun = next(at for at in range(place, len(words)) if words[at] in NOUNS)
                found.append(row[step] == noun)
    return sum(found) / len(found) if found else 1.0


@torch.no_grad()
def greedy_from(model, src, ids):
    """Go on greedily from given beginnings, (batch, begun) int64; 0 after the end."""
    memory = model.encode(src)
    while ids.shape[1] < LONGEST and not (ids == 2).any(dim=1).all():
        following = model.generator(model.decode(ids, memory, src)[:, -1]).argmax(dim=-1)
        following = following.masked_fill((ids == 2).any(dim=1), 0)
        ids = torch.cat([ids, following[:, None]], dim=1)
    return ids


def after_a_slip(translator, pairs):
    """Begin each translation with the article of the other gender, and see how the model goes on.

    Returns:
        dict of shares, from 0 to 1: `as if nothing`, all other words are right; `corrected`, the
        whole right translation follows; `other noun`, the first noun is another; `twice`, a word
        comes twice in a row; `from the verb on`, everything from the verb on is right.
    """
    src, _ = as_batch(pairs, translator.english, translator.italian)
    begun = [[1, translator.italian[OTHER[italian.split()[0]]]] for _, italian in pairs]
    ids = greedy_from(translator.model, src, torch.tensor(begun))
    counts = Counter()
    for row, (_, italian) in zip(ids, pairs, strict=True):
        counts.update(what_came(translator.words(row[row > 2])[1:], italian.split()))
    return {kind: counts[kind] / len(pairs) for kind in AFTER}


def what_came(written, meant):
    """Say which of `AFTER` describe the words that were written after a wrong first word."""
    nouns = [[word for word in each if word in ITALIAN_NOUNS][:1] for each in (written, meant)]
    verb = next(place for place, word in enumerate(meant) if word in ITALIAN_VERBS)
    true = (
        written == meant[1:],
        written == meant,
        nouns[0] != nouns[1],
        any(one == other for one, other in itertools.pairwise(written)),
        written[verb - len(meant) :] == meant[verb:],
    )
    return [kind for kind, holds in zip(AFTER, true, strict=True) if holds]


def examined(translator):
    """Look at one translator, over all sentences that were set aside."""
    _, held_out = corpus()
    return {
        "exact": list(translator.exact),
        "aligned": rounded(aligned_shares(translator, held_out)),
        "slips": rounded(after_a_slip(translator, held_out)),
    }


def rounded(shares):
    return {kind: round(share, 4) for kind, share in shares.items()}


def measure(steps, seeds):
    """Train translators with all budgets and seeds."""
    return [
        {"steps": budget, "seed": seed} | examined(train_translator(steps=budget, seed=seed))
        for budget in steps
        for seed in seeds
    ]


EXPERIMENT = Experiment(
    page="ch08_encoder_decoder",
    asks="how often do the heads align, and what comes after a mistake?",
    short={"steps": 600, "seeds": 1},
    long={"steps": (600, 1200), "seeds": 3},
    initialisation="embeddings N(0, 1/d_model), all else PyTorch's default",
    measure=measure,
)
