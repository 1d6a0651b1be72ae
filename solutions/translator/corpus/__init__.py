"""An English-Italian corpus that is ours: sentences drawn from a grammar, and splits that ask what
a translator has understood.

`splits` draws them with a seed. No sentence is in two splits, no English sentence has two Italian
ones, and every word of a test sentence was seen in training. What differs is what was *not* seen:
the sentence ("random"), a noun together with an adjective ("combinations"), a construction
("structures"), a length ("long").

`annotations` says of each pair what the grammar knew when it drew it: which word translates which,
who does what, and what is a name or a place.
"""

from solutions.translator.corpus.annotation import (
    ENTITIES,
    ROLES,
    Annotation,
    annotate,
    annotations,
)
from solutions.translator.corpus.draw import (
    PROMISE,
    SEEN,
    UNSEEN,
    Writer,
    collect,
    examples,
    kept_back_pairs,
    splits,
)
from solutions.translator.corpus.easy import LONGEST, easy_part
from solutions.translator.corpus.spelling import as_pair, sentence, words
from solutions.translator.corpus.statements import COMPARATIVES

__all__ = [
    "COMPARATIVES",
    "ENTITIES",
    "LONGEST",
    "PROMISE",
    "ROLES",
    "SEEN",
    "UNSEEN",
    "Annotation",
    "Writer",
    "annotate",
    "annotations",
    "as_pair",
    "collect",
    "easy_part",
    "examples",
    "kept_back_pairs",
    "sentence",
    "splits",
    "words",
]
