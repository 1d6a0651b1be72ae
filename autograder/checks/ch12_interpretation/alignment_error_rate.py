"""How far an alignment is from what people marked."""

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import rated, rated_afterwards
from solutions.ch12_interpretation import alignment_error_rate


def as_set(pairs):
    """Describe a set of pairs."""
    return {"stand_in": "pairs", "pairs": sorted(pairs)}


@drawn
def marked(rng, size, sure=3, possible=3, right=2, allowed=1, wrong=1):
    """Draw marked pairs and predicted ones.

    Args:
        size: words of either sentence.
        sure, possible: how many pairs are sure, and possible without being sure.
        right, allowed, wrong: how many predicted pairs are sure, possible alone, and neither.

    Each count may be a pair, (least, most), of which one is drawn: a rate that is always the same
    could be known from the sizes of the sets.
    """
    counts = (sure, possible, right, allowed, wrong)
    sure, possible, right, allowed, wrong = (
        integer(rng, each[0], each[1] + 1) if isinstance(each, tuple) else each for each in counts
    )
    every = [(s, t) for s in range(size) for t in range(size)]
    order = [every[place] for place in rng.permutation(len(every))]
    are_sure, may_be, others = (
        order[:sure],
        order[sure : sure + possible],
        order[sure + possible :],
    )
    return {
        "predicted": as_set(are_sure[:right] + may_be[:allowed] + others[:wrong]),
        "sure": as_set(are_sure),
        "possible": as_set(are_sure + may_be),
    }


@drawn
def about(rng, size, most=9):
    """Draw any numbers of pairs, so that few rates are alike."""
    sure, possible, wrong = (int(each) for each in rng.integers(2, most, 3))
    right, allowed = int(rng.integers(1, sure)), int(rng.integers(1, possible))
    return marked(rng, size, sure, possible, right, allowed, wrong)


def pairs(*given):
    return as_set(given)


NOTHING = as_set([])


def rate_with(
    matches=lambda p, s, q: len(p & s) + len(p & q),
    whole=lambda p, s, q: len(p) + len(s),
    empty=lambda p, s, q: 0.0 if not p and not s else None,
    rate=lambda share: 1 - share,
    possible=lambda q, s: q,
):
    """Make a rate from its rules."""

    def alignment_error_rate(predicted, sure, given_possible):
        sets = predicted, sure, possible(given_possible, sure)
        if (early := empty(*sets)) is not None:
            return early
        return rate(matches(*sets) / whole(*sets))

    return alignment_error_rate


checks = Checks(
    alignment_error_rate, family=rate_with, probe=rated, shortcuts="alignment_error_rate"
)
shown, hidden, wrong, right = checks.words

shown(
    "some pairs are sure, some possible, some wrong",
    marked(4, sure=(3, 5), possible=(2, 4), right=(1, 3), allowed=(1, 2), wrong=(1, 3)),
    weight=4,
)
shown(
    "more wrong pairs than right ones",
    marked(5, sure=(2, 4), right=(1, 2), allowed=(1, 2), wrong=(5, 8)),
)
shown(
    "all possible pairs are sure",
    marked(4, sure=(3, 6), possible=0, right=(1, 3), allowed=0, wrong=(1, 4)),
)
shown("exactly what is sure is predicted", marked(4, right=3, allowed=0, wrong=0))
shown("nothing is predicted", marked(4, right=0, allowed=0, wrong=0))
shown(
    "nothing is sure",
    marked(4, sure=0, possible=(4, 6), right=0, allowed=(1, 4), wrong=(1, 4)),
    weight=2,
)
shown(
    "nothing is predicted and nothing is sure",
    predicted=NOTHING,
    sure=NOTHING,
    possible=pairs((0, 1)),
)
shown("the sets stay as they were", marked(3), probe=rated_afterwards)
hidden("long sentences", about(8), weight=4)
hidden("other long sentences", about(9), weight=3)
hidden(
    "more sure pairs than predicted ones",
    marked(6, sure=(7, 9), right=(1, 3), allowed=(1, 3), wrong=0),
    weight=2,
)
hidden(
    "many possible pairs",
    marked(7, sure=(2, 3), possible=(15, 20), right=(1, 2), allowed=(4, 8), wrong=(1, 3)),
    weight=2,
)
hidden("nothing of what is predicted is possible", marked(4, right=0, allowed=0, wrong=3))
hidden("nothing is wrong, and nothing is missing", marked(5, right=3, allowed=3, wrong=0))
hidden(
    "nothing of this sentence is sure or possible",
    marked(3, sure=0, possible=0, right=0, allowed=0),
)
hidden("all three sets are empty", predicted=NOTHING, sure=NOTHING, possible=NOTHING)
hidden("a pair and its mirror image are two", lambda rng: mirrored(rng))
hidden("the sets stay as they were, however many pairs", about(6, most=6), probe=rated_afterwards)


def mirrored(rng):
    """Draw a case in which pairs are predicted with source and target exchanged."""
    s, t = (int(each) for each in rng.choice(9, 2, replace=False))
    others = [(u, u) for u in range(9, integer(rng, 10, 15))]
    return {
        "predicted": pairs((s, t), (t, s), *others),
        "sure": pairs((t, s)),
        "possible": pairs((t, s), *others),
    }


wrong(
    "an error rate is the share that is right",
    "Yours is 1 where everything is right. What is an error rate then?",
    rate=lambda share: share,
    empty=lambda p, s, q: 0.0 if not p and not s else None,
)


wrong(
    "there is always a pair",
    """What do you divide by where nothing is predicted and nothing is sure? The statement says what
    the rate is then.""",
    empty=lambda p, s, q: None,
)


wrong(
    "without pairs everything is wrong",
    "Where nothing is predicted and nothing is sure, what could be wrong?",
    empty=lambda p, s, q: 1.0 if not p and not s else None,
)


wrong(
    "without a predicted pair nothing is wrong",
    "Your rate is 0 where nothing is predicted, even if there is something that must be there.",
    empty=lambda p, s, q: None if p else 0.0,
)


wrong(
    "without a sure pair nothing is wrong",
    "Your rate is 0 where nothing is sure. What about predicted pairs that aren't even possible?",
    empty=lambda p, s, q: None if s else 0.0,
)


wrong(
    "possible pairs count for nothing",
    """A predicted pair that is possible but not sure counts as wrong in yours. How many sets does
    the formula compare the predicted pairs with?""",
    matches=lambda p, s, q: 2 * len(p & s),
)


wrong(
    "sure pairs are nothing special",
    """A predicted pair that is sure counts no more than one that is possible. How many sets does
    the formula compare the predicted pairs with?""",
    matches=lambda p, s, q: 2 * len(p & q),
)


wrong(
    "what is sure is not possible",
    """You count a sure pair once. Is it possible, too? Then it is in both of the sets that the
    formula compares with.""",
    possible=lambda q, s: q - s,
)


wrong(
    "every possible pair must be there",
    "You divide by the possible pairs. Must an alignment have those?",
    whole=lambda p, s, q: len(p) + len(q),
)


wrong(
    "only predicted pairs are counted",
    "What happens in yours if only one pair is predicted, and five are missing?",
    matches=lambda p, s, q: len(p & q),
    whole=lambda p, s, q: len(p) or 1,
)


wrong(
    "only missing pairs are counted",
    "What happens in yours if a hundred wrong pairs are predicted?",
    matches=lambda p, s, q: len(p & s),
    whole=lambda p, s, q: len(s) or 1,
)


wrong(
    "a pair is counted once, wherever it is",
    """You divide by the number of different pairs. A pair that is predicted and sure counts twice
    above the line. How often does it count below?""",
    whole=lambda p, s, q: len(p | s),
)


wrong(
    "the rate is the mean of two errors",
    """You take the mean of the share of wrong predictions and the share of missing pairs. The
    formula adds the counts before it divides.""",
    matches=lambda p, s, q: (
        (len(p & q) / len(p) if p else 1.0) + (len(p & s) / len(s) if s else 1.0)
    ),
    whole=lambda p, s, q: 2,
)


@wrong(
    "what follows the stroke is below the line",
    "In Python a division comes before a sum. Which numbers does your code divide, and by which?",
)
def without_brackets_below(predicted, sure, possible):
    if not predicted and not sure:
        return 0.0
    return 1 - (len(predicted & sure) + len(predicted & possible)) / len(predicted) + len(sure)


@wrong(
    "a fraction needs no brackets",
    "Python divides before it adds. Which part of your line does it divide, and by what?",
)
def without_brackets(predicted, sure, possible):
    if not predicted and not sure:
        return 0.0
    return 1 - len(predicted & sure) + len(predicted & possible) / len(predicted) + len(sure)


@wrong(
    "the rate is one less the F-measure",
    """Yours is 1 minus the harmonic mean of precision and recall. Precision looks at the possible
    pairs here, and recall at the sure ones, so that is not the same as the formula.""",
)
def one_less_the_f_measure(predicted, sure, possible):
    if not predicted and not sure:
        return 0.0
    precision = len(predicted & possible) / len(predicted) if predicted else 0.0
    recall = len(predicted & sure) / len(sure) if sure else 0.0
    if precision + recall == 0:
        return 1.0
    return 1 - 2 * precision * recall / (precision + recall)


wrong(
    "a rate is a percentage",
    "Yours is between 0 and 100. Which numbers does the statement have?",
    then=lambda rate: 100 * rate,
)


wrong(
    "a rate is rounded",
    "Your number is right, up to the digits that you have cut off.",
    then=lambda rate: round(rate, 2),
)


wrong(
    "the order within a pair does not matter",
    "Is the pair (2, 5) the same as (5, 2)? Which of the two is the source?",
    around=lambda right: (
        lambda predicted, sure, possible: right(
            *({tuple(sorted(pair)) for pair in each} for each in (predicted, sure, possible))
        )
    ),
)


wrong(
    "the caller's sets may be worked in",
    """The rate is right, but compare the sets before and after the call. Which operation of yours
    changes one of them instead of making another?""",
    around=lambda right: (
        lambda predicted, sure, possible: (
            right(predicted, sure, possible),
            predicted.intersection_update(sure),
        )[0]
    ),
)


checks.exchanged("sure", "possible")
checks.exchanged("predicted", "sure")


@right
def by_counting(predicted, sure, possible):
    total = len(predicted) + len(sure)
    if total == 0:
        return 0
    hits = sum((pair in sure) + (pair in possible) for pair in predicted)
    return (total - hits) / total


@right
def by_kinds(predicted, sure, possible):
    """Counts errors: pairs that are missing, and predicted ones by kind."""
    missing = len(sure.difference(predicted))
    allowed = len((predicted & possible) - sure)
    wrong_ones = len(predicted - possible)
    total = len(predicted) + len(sure)
    return (missing + allowed * 0 + wrong_ones + 0.0) / total if total else 0.0


@right
def by_lists(predicted, sure, possible):
    below = len(predicted) + len(sure) or 1
    above = len([p for p in predicted if p in sure]) + len([p for p in predicted if p in possible])
    return 1.0 - above / below if predicted or sure else 0.0
