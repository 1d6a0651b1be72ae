"""Checks of `ch01_embeddings`.

The contract leaves open, and so nothing here asks: words spelled like a special token, ids outside
the table in `embed` and `embedding_gradient`, the alphabetical order of capitals among small
letters or of punctuation, ids that are not int64, the order in which a dictionary lists its
entries.
"""

from itertools import combinations, pairwise

import numpy as np

from solutions import ch01_embeddings as reference

SPECIALS = reference.SPECIAL_TOKENS

# Of three or four letters each: a vocabulary of two words, or two short sentences, still stand in a
# message in full.
ANIMALS_AND_PLANTS = """
    ant ape bat bear bee bird bud cat cow crow deer dog dove duck eel elk fern fish fox frog goat hare hawk hen ivy kite
    lamb lark leaf lily lion lynx mole moss moth mule newt oak owl pig pine plum ram reed rose seal swan toad tree vole
    wasp wolf worm yak
"""
WORDS = tuple(ANIMALS_AND_PLANTS.split())
LONGER_BEFORE_SHORTER = tuple(
    (one, other)
    for one, other in combinations(sorted(WORDS), 2)
    if one[0] == other[0] and len(one) > len(other)
)


def draw_words(rng, count):
    """Draw different words, in alphabetical order."""
    return sorted(rng.choice(WORDS, size=count, replace=False).tolist())


def shuffled(rng, items):
    return rng.permutation(items).tolist()


def shuffled_ties(rng, words):
    """Order three words, given alphabetically, as neither the alphabet nor its reverse does, the
    first not in front.
    """
    first, second, third = words
    orders = ((second, third, first), (second, first, third), (third, first, second))
    return list(orders[rng.integers(len(orders))])


def as_sentences(rng, words, count=2):
    """Cut a list of words into sentences, none of them empty."""
    cuts = [0, *sorted(1 + rng.choice(len(words) - 1, size=count - 1, replace=False)), len(words)]
    return [" ".join(words[start:end]) for start, end in pairwise(cuts)]


def with_all_whitespace(rng, words):
    """Join words by spaces, a tab and both kinds of line break, with more of them around."""
    gaps = shuffled(rng, ["  ", "\t", "\n", "\r\n", *[" "] * (len(words) - 5)])
    return " " + "".join(word + gap for word, gap in zip(words, [*gaps, "\n"], strict=True))


def different_numbers(rng, *shape, dtype=np.float64):
    """Draw quarters, no two alike in size, with one sign in each column.

    Quarters add up exactly in every dtype and order, and what has one sign never cancels: no right
    answer loses by rounding, and no lost or repeated summand stays unseen.
    """
    size = int(np.prod(shape))
    sizes = rng.permutation(np.arange(1, size + 12))[:size].reshape(shape) / 4
    return (sizes * rng.choice([-1, 1], size=shape[-1])).astype(dtype)


def thirds(rng, *shape, dtype=np.float64):
    """Draw numbers like `different_numbers` of which any narrower dtype loses digits."""
    return (4 * different_numbers(rng, *shape) - 1 / 3).astype(dtype)


def thousands(rng, *shape, dtype=np.float64):
    return 1000 * different_numbers(rng, *shape, dtype=dtype)
