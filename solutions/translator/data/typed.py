"""Sentences as people type them."""

import re

SPELLED_OUT = (  # short forms, and what the corpus of the course has instead
    (r",(?=\s|$)", ""),
    (r"\bcan['’]t\b", "cannot"),
    (r"\bwon['’]t\b", "will not"),
    (r"n['’]t\b", " not"),
    (r"['’]m\b", " am"),
    (r"['’]re\b", " are"),
    (r"\b(he|she|it|that|what|where|who)['’]s\b", r"\1 is"),
)


def as_in_the_corpus(sentence):
    """Return a sentence without capitals, commas, a full stop and short forms such as "don't"."""
    plain = sentence.lower().rstrip(".! ")
    for pattern, spelled_out in SPELLED_OUT:
        plain = re.sub(pattern, spelled_out, plain)
    return plain
