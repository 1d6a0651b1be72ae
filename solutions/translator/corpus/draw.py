"""The splits of the corpus, drawn with a seed. Each asks something else of a translator."""

import contextlib
import functools
import random

from solutions.translator.corpus import grammar
from solutions.translator.corpus.fitting import can_stand_beside
from solutions.translator.corpus.lexicon import ADJECTIVES, NOUNS
from solutions.translator.corpus.marks import forgotten
from solutions.translator.corpus.questions import Questions
from solutions.translator.corpus.spelling import as_pair, words
from solutions.translator.corpus.unseen import LONGEST_TRAINED, Unseen

SIZES = {
    "train": 100_000,
    "validation": 1000,
    "random": 1000,
    "combinations": 1000,
    "structures": 500,
    "long": 500,
}
PROMISE = "your cat is a lovely cat"  # for the end of the course: in the language, and in no split
LONGEST = 24
KEPT_BACK_SHARE = 0.06  # of the pairs of noun and adjective

SEEN = {  # the structures of training, and how often each is drawn
    "quality": 16,
    "kind_of": 6,
    "whereabouts": 6,
    "deed": 34,
    "motion": 5,
    "gift": 5,
    "wish": 6,
    "skill": 2,
    "liking": 5,
    "presence": 4,
    "health": 3,
    "comparison": 3,
    "report": 4,
    "question": 9,
    "pair_of_clauses": 6,
}
# those that have adjectives
DESCRIBING = ("quality", "kind_of", "whereabouts", "deed", "deed", "liking", "presence")
UNSEEN = (
    "negative_question",
    "negative_why",
    "relative_clause",
    "two_adjectives",
    "two_owners",
    "two_subjects",
)
SHAPES = tuple(shape for shape, weight in SEEN.items() for _ in range(weight))


class Writer(Questions, Unseen):
    """Draws sentences of all structures."""


def kept_back_pairs(seed=0):
    """Return the (noun, adjective) pairs, by their English, that no training sentence holds."""
    rng = random.Random(f"pairs {seed}")
    pairs = [
        (noun.name, adjective.english)
        for noun in NOUNS.values()
        for adjective in ADJECTIVES.values()
        if adjective.fits(noun)
        and can_stand_beside(adjective, noun)
        and (noun.name, adjective.english) != ("cat", "lovely")
    ]
    return frozenset(rng.sample(pairs, round(KEPT_BACK_SHARE * len(pairs))))


def draw(writer, shapes):
    """Draw a structure, and a sentence of it."""
    return getattr(writer, writer.pick(shapes))()


def collect(size, writer, shapes, wanted, taken, note=None):
    """Draw pairs of sentences until there are enough.

    Args:
        wanted: whether drawn words may be taken.
        taken: the English sentences that are, to which these are added.
        note: called with the drawn words of each pair.
    """
    pairs = []
    while len(pairs) < size:
        drawn = draw(writer, shapes)
        if not wanted(drawn) or asks_oneself(drawn):
            continue
        pair = as_pair(drawn)
        if pair[0] not in taken:
            taken.add(pair[0])
            pairs.append(pair)
            if note:
                note(drawn)
    return pairs


def asks_oneself(drawn):
    """Return whether drawn words are a question such as "do i like the cat?", which nobody asks."""
    return drawn.english[-1] == "?" and "i" in drawn.english


def is_short(drawn):
    """Return whether drawn words are short enough for training."""
    return len(drawn.english) <= LONGEST_TRAINED


@functools.cache  # seconds of work, which a page, a command or a test may ask for again
def splits(seed=0):
    """Draw the corpus; asked again, return the same lists, so copy what you want to change.

    Args:
        seed: of the draws; the same seed gives the same corpus.

    Returns:
        a dictionary with the lists of (english, italian) "train", "validation", "random" (more of
        the same), "combinations" (each holds a noun and an adjective that never meet in training,
        nor in validation), "structures" (constructions never seen, of parts that were) and "long"
        (longer than every sentence of training). No English sentence is in two of them, or twice in
        one.
    """
    return drawn_splits(seed)


def drawn_splits(seed, note=lambda split, drawn: None, remembered=()):
    """Draw the corpus.

    Args:
        note: called with the name of the split and the drawn words of each pair, in order.
        remembered: the names of the splits whose words remember what they say; the others are
            drawn in half the time.
    """
    kept_back = kept_back_pairs(seed)
    taken = {PROMISE}
    writer = Writer(f"sentences {seed}", kept_back)

    def split(name, writer, shapes, wanted):
        noted = functools.partial(note, name)
        with contextlib.nullcontext() if name in remembered else forgotten():
            return collect(SIZES[name], writer, shapes, wanted, taken, noted)

    train = split("train", writer, SHAPES, is_short)
    known = tuple({word for pair in train for word in words(pair[side])} for side in (0, 1))

    def is_known(drawn):
        return known[0].issuperset(drawn.english) and known[1].issuperset(
            grammar.euphonic(drawn.italian)
        )

    def is_like_training(drawn):
        return is_short(drawn) and is_known(drawn)

    def is_combined(drawn):
        return is_like_training(drawn) and not kept_back.isdisjoint(drawn.pairs)

    def is_long(drawn):
        return LONGEST_TRAINED < len(drawn.english) <= LONGEST and is_known(drawn)

    combiner = Writer(f"combinations {seed}", kept_back, only_kept_back=True)
    return {
        "train": train,
        "validation": split("validation", writer, SHAPES, is_like_training),
        "random": split("random", writer, SHAPES, is_like_training),
        "combinations": split("combinations", combiner, DESCRIBING, is_combined),
        "structures": split("structures", writer, UNSEEN, is_like_training),
        "long": split("long", writer, ("long",), is_long),
    }


def examples(shapes=(*SEEN, *UNSEEN, "long"), seed=0):
    """Draw one pair of sentences of each structure, as (structure, english, italian) with the name
    of the structure in words.
    """
    writer = Writer(f"examples {seed}", kept_back_pairs(seed))
    chosen = []
    for shape in shapes:
        drawn = draw(writer, (shape,))
        while asks_oneself(drawn):
            drawn = draw(writer, (shape,))
        chosen.append((shape.replace("_", " "), *as_pair(drawn)))
    return chosen
