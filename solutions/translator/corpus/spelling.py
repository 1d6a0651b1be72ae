"""Sentences as words, and words as people write them."""

import re

from solutions.translator.corpus.grammar import euphonic


def words(sentence):
    """Split a sentence as people write it: "l'amico dorme?" is "l'", "amico", "dorme", "?"."""
    return re.findall(r"[^\s'?]*'|[^\s'?]+|\?", sentence)


def sentence(words):
    """Write words as people do, the inverse of `words`: nothing follows an apostrophe at a
    distance, and "?" none.
    """
    return " ".join(words).replace("' ", "'").replace(" ?", "?")


def as_pair(drawn):
    """Return drawn words as a pair of sentences."""
    return sentence(drawn.english), sentence(euphonic(drawn.italian))
