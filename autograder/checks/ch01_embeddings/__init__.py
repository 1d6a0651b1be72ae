"""Checks of `ch01_embeddings`.

The contract leaves open, and so nothing here asks: words spelled like a special token, ids outside
the table in `embed` and `embedding_gradient`, the alphabetical order of capitals among small
letters or of punctuation, ids that are not int64, the order in which a dictionary lists its
entries.
"""

import re
from string import Template, ascii_lowercase

import numpy as np

from solutions import ch01_embeddings as reference

SPECIALS = reference.SPECIAL_TOKENS

# Three or four letters each, so that a vocabulary of two words, or two short sentences, fit into a
# message in full.
ANIMALS_AND_PLANTS = """
    ant ape bat bear bee bird bud cat cow crow deer dog dove duck eel elk fern fish fox frog
    goat hare hawk hen ivy kite lamb lark leaf lily lion lynx mole moss moth mule newt oak owl
    pig pine plum ram reed rose seal swan toad tree vole wasp wolf worm yak
"""
WORDS = ANIMALS_AND_PLANTS.split()


def draw_words(rng, count):
    """Draw different words, in alphabetical order."""
    return sorted(rng.choice(WORDS, size=count, replace=False).tolist())


def words_in_any_order(rng, count):
    return shuffled(rng, draw_words(rng, count))


def shuffled(rng, items):
    return rng.permutation(items).tolist()


def after_the_first(rng, words):
    """Shuffle words but for the first, which stays in front."""
    return [words[0], *shuffled(rng, words[1:])]


def jumbled(rng, words):
    """Make a sentence of words in any order."""
    return " ".join(shuffled(rng, words))


def fill(pattern, words):
    """Put words in the places `$a`, `$b` and so on of a pattern, and capitalised ones in `$A` and
    `$B`.
    """
    places = dict(zip(ascii_lowercase, words, strict=False))
    capitals = {place.upper(): word.capitalize() for place, word in places.items()}
    return Template(pattern).substitute(places, **capitals)


def numbered(tokens, start=0):
    return {token: index for index, token in enumerate(tokens, start)}


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


def thirds(rng, *shape):
    """Draw numbers like `different_numbers`, but such that any narrower dtype loses digits."""
    return 4 * different_numbers(rng, *shape) - 1 / 3


def split_otherwise(wrong):
    """Declare the wrong answers to an exercise whose family has a rule `words_of(sentence)`."""
    wrong(
        "capital letters do not matter",
        "Words are taken as they are written. In which step do yours lose their capital letters?",
        words_of=lambda sentence: sentence.lower().split(),
    )
    wrong(
        "punctuation is no part of a word",
        """Only whitespace separates words here. What happens to a comma, an apostrophe or a hyphen
        in your function?""",
        words_of=lambda sentence: re.findall(r"\w+", sentence),
    )
    wrong(
        "punctuation around a word is no part of it",
        """Words are taken as they are written. What happens to a comma or a full stop at the end of
        a word?""",
        words_of=lambda sentence: [word.strip(".,;:!?") for word in sentence.split()],
    )
    wrong(
        "a single space separates words",
        """What does your function make of two spaces in a row, of a tab, or of a sentence without
        words? Print the list of words that it works with.""",
        words_of=lambda sentence: sentence.split(" "),
    )
