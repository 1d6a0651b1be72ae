"""What is known of each pair of the corpus: which word translates which, who does what, and what is
a name or a place. The grammar that drew the words says it; nothing is guessed from the text.

Links are sure or possible, as in Och and Ney (2003). They are sure between words that say the same
outright, contractions included: "nel" is linked to "in" and to "the". They are possible where a
word only takes part in what another one says: the "il" of "il tuo gatto" in "your", the "ha" of "ha
dormito" in "slept", "does" in the verb whose ending says it, and a subject that Italian leaves out,
which the ending says, too.
"""

import functools
from collections import defaultdict
from dataclasses import dataclass

from solutions.translator.corpus.draw import drawn_splits
from solutions.translator.corpus.grammar import euphonic

ROLES = (
    "subject",
    "verb",
    "object",
    "recipient",
    "predicate",
    "place",
    "time",
    "manner",
    "question",
    "conjunction",
)
ENTITIES = ("name", "place")
HELD_OUT = ("validation", "random", "combinations", "structures", "long")


@dataclass(frozen=True)
class Annotation:
    """A pair of sentences, word by word, as `corpus.words` splits them. Words are counted from 0.

    Args:
        english, italian: tuples of words.
        sure: frozenset of (English word, Italian word) that say the same.
        possible: likewise, with those that only take part in it; `sure` is within it.
        agreement: frozenset of (English word, Italian word): the English word says what gender,
            number or person the Italian one takes. An Italian noun is in it with its own English.
        roles: a role of `ROLES` for each English word, and for each Italian one that of the English
            which it translates; "" for a question mark. Within a clause that is part of another
            one, as in "i know that the cat sleeps", they are those of the inner clause.
        entities: one of `ENTITIES` for each English and each Italian word, or "".
    """

    english: tuple
    italian: tuple
    sure: frozenset
    possible: frozenset
    agreement: frozenset
    roles: tuple
    entities: tuple


def annotate(drawn):
    """Return the Annotation of a sentence that the grammar made.

    Args:
        drawn: grammar.Words.
    """
    italian = euphonic(drawn.italian)
    places = defaultdict(list)
    for place, word in enumerate(drawn.english):
        for mark in word.sense.sure:
            places[mark].append(place)

    def links(marks_of):
        return frozenset(
            (place, index)
            for index, word in enumerate(italian)
            for mark in marks_of(word.sense)
            for place in places[mark]
        )

    sure = links(lambda sense: sense.sure)
    sides = drawn.english, italian
    return Annotation(
        *(tuple(map(str, side)) for side in sides),
        sure,
        sure | links(lambda sense: sense.possible),
        links(lambda sense: (sense.agrees,)),
        tuple(tuple(word.role for word in side) for side in sides),
        tuple(tuple(word.sense.entity for word in side) for side in sides),
    )


@functools.cache  # as `splits` is
def annotations(seed=0, names=HELD_OUT):
    """Return what is known of the pairs of `splits`, in their order.

    Args:
        seed: of the draws.
        names: of the splits, of which "train" is a gigabyte.

    Returns:
        dict of lists of Annotation.
    """
    kept = {name: [] for name in names}

    def note(split, drawn):
        if split in kept:
            kept[split].append(annotate(drawn))

    drawn_splits(seed, note, names)
    return kept
