"""What attention gives over two sets of keys, from what it gives over each."""

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.shared.probes import arguments_after, merged_in_turn
from solutions.ch11_efficiency import merge


def described(scores, values, seen):
    """Describe a set of keys: its maximum, total and average, for each query.

    Args:
        scores: (query_len, key_len).
        values: (key_len, d_v).
        seen: (query_len, key_len) bool; a row without any True has no key.
    """
    scores = np.where(seen, scores, -np.inf)
    maximum = scores.max(axis=-1)
    exponentials = np.exp(scores - np.where(np.isneginf(maximum), 0, maximum)[:, None])
    total = exponentials.sum(axis=-1)
    average = exponentials @ values / np.where(total == 0, 1, total)[:, None]
    return tuple(each.astype(values.dtype) for each in (maximum, total, average))


@drawn
def sets(
    rng,
    query_len=3,
    keys=(4, 2),
    d_v=2,
    around=(0.0, 0.0),
    spread=1.5,
    empty=((), ()),
    dtype=np.float64,
):
    """Draw two sets of keys, as `merge` takes them. In some row the second set has the larger
    maximum, so that it is no answer to return the first.

    Args:
        keys: how many the sets have.
        around: what their scores lie around.
        empty: rows in which each set has no key.
    """
    for _ in range(100):
        drawn_sets = []
        for count, middle, rows in zip(keys, around, empty, strict=True):
            scores = (middle + spread * rng.standard_normal((query_len, count))).round(3)
            values = (3 * rng.standard_normal((count, d_v))).round(3).astype(dtype)
            seen = np.ones(scores.shape, bool)
            seen[list(rows)] = False
            drawn_sets.append(described(scores, values, seen))
        left, right = drawn_sets
        if (right[0] > left[0]).any():
            break
    return {"left": left, "right": right}


@drawn
def rows_far_apart(rng):
    """Draw two sets: one has the larger scores in some rows, and the other in the rest."""
    one, other = (sets(rng, 4, (3, 3), 2, (middle, -middle)) for middle in (700.0, -700.0))
    mixed = {}
    for name in ("left", "right"):
        mixed[name] = tuple(
            np.concatenate([above[:2], below[2:]])
            for above, below in zip(one[name], other[name], strict=True)
        )
    return mixed


@drawn
def many_sets(rng, keys, order, query_len=3, empty=None, apart=4.0, around=0.0):
    """Draw several sets, whose scores lie `apart`, `around` a number; they are merged in an order,
    "from the left" or "from the right".
    """
    middles = around + apart * rng.standard_normal(len(keys))
    nobody = empty or [()] * len(keys)
    left, right, *more = [
        sets(rng, query_len, (1, count), 2, (middle - 50, middle), empty=((), ()))["right"]
        if not rows
        else sets(rng, query_len, (count, 1), 2, (middle, middle + 50), empty=(rows, ()))["left"]
        for count, middle, rows in zip(keys, middles, nobody, strict=True)
    ]
    return {"forward": {"left": left, "right": right}, "more": more, "order": order}


def finite_start(maximum):
    """Return what the scores are measured from; 0 where there is no key at all."""
    return np.where(np.isneginf(maximum), 0, maximum)


def merge_with(
    largest=np.maximum,
    measured_from=finite_start,
    rescaled=lambda total, maximum, start: total * np.exp(maximum - start),
    weight=lambda rescaled, total: rescaled,
    sum_of=lambda totals: totals[0] + totals[1],
    divide=lambda weights: [
        each / np.where(weights[0] + weights[1] == 0, 1, weights[0] + weights[1])
        for each in weights
    ],
    add=lambda shares, averages: sum(
        share[:, None] * average for share, average in zip(shares, averages, strict=True)
    ),
    reported=lambda maximum, total: maximum,
):
    """Make a merge from its rules."""

    def merged(left, right):
        maximum = largest(left[0], right[0])
        start = measured_from(maximum)
        totals = [rescaled(each[1], each[0], start) for each in (left, right)]
        weights = [
            weight(total, each[1]) for total, each in zip(totals, (left, right), strict=True)
        ]
        average = add(divide(weights), (left[2], right[2]))
        total = sum_of(totals)
        return reported(maximum, total), total, average

    return merged


checks = Checks(merge, returns=("maximum", "total", "average"), family=merge_with)
shown, hidden, wrong, right = checks.words

NOBODY = ((0, 1, 2), (0, 1, 2))
shown("two sets of keys", sets(), weight=3)
shown("one key each", sets(keys=(1, 1)))
shown("the second set has the larger scores", sets(around=(0.0, 3.0)))
shown("the first set has no key", sets(empty=((0, 1, 2), ())))
shown(
    "two sets without a key make another one, to which keys can come",
    many_sets((2, 1, 4), "from the left", empty=(*NOBODY, ())),
    probe=merged_in_turn,
    weight=2,
)
shown("scores around a thousand", sets(around=(998.0, 1000.0)), weight=3)
shown("a set with far larger scores", sets(around=(-900.0, 900.0)))
shown(
    "a third set comes, and the order does not matter",
    many_sets((3, 2, 4), "from the left"),
    probe=merged_in_turn,
    weight=4,
)
shown("arguments stay as they were", sets(empty=((1,), ())), probe=arguments_after)
hidden("more queries, more keys", sets(6, (9, 5), 3), weight=3)
hidden("the second set has far larger scores", sets(around=(0.0, 9.0)))
hidden("one key against many", sets(keys=(1, 30)))
hidden("the second set has no key", many_sets((3, 4), "from the right"), probe=merged_in_turn)
hidden("some rows have no key, on one side or on both", sets(5, empty=((0, 2), (2, 3))), weight=2)
hidden(
    "no key anywhere, until the last set comes",
    many_sets((1, 2, 3, 2), "from the right", empty=((), *NOBODY, NOBODY[0])),
    probe=merged_in_turn,
)
hidden("scores far below zero", sets(around=(-1201.0, -1200.0)), weight=2)
hidden("now one set has the larger scores, now the other", rows_far_apart())
hidden("a single query, and values of one feature", sets(1, (3, 4), 1))
hidden("sets that are described in float32", sets(4, (6, 3), 3, dtype=np.float32))
hidden(
    "the same in float32, with rows that have no key",
    sets(4, (2, 3), empty=((0,), (0, 1)), dtype=np.float32),
)
hidden(
    "five sets, one after the other",
    many_sets((2, 1, 5, 3, 2), "from the left"),
    probe=merged_in_turn,
    weight=4,
)
hidden(
    "four sets from the last to the first",
    many_sets((1, 4, 2, 3), "from the right"),
    probe=merged_in_turn,
    weight=4,
)
hidden(
    "sets of which some have no key for some queries",
    many_sets((2, 3, 2, 1), "from the right", 4, ((0, 1), (1,), (1, 2), (1, 3))),
    probe=merged_in_turn,
    weight=4,
)
hidden(
    "sets with large scores, one after the other",
    many_sets((2, 3, 1, 2), "from the left", apart=1500.0, around=6000.0),
    probe=merged_in_turn,
    weight=4,
)
hidden("the arguments are the same afterwards", sets(4, (3, 3)), probe=arguments_after)


wrong(
    "totals are added as they are",
    """Each total was measured from the maximum of its own set. From which maximum should both be
    measured before you add them?""",
    rescaled=lambda total, maximum, start: total,
)


wrong(
    "averages are weighted by totals as they are",
    """Your total is right. But what do you weight the averages by? Are both of those numbers
    measured from the same maximum?""",
    weight=lambda rescaled, total: total,
)


wrong(
    "both sets count the same",
    "You take the mean of two averages. Does a set with small scores weigh as much as the other?",
    divide=lambda weights: [
        np.where(weights[0] == 0, 0, np.where(weights[1] == 0, 1, 0.5)).astype(weights[0].dtype),
        np.where(weights[1] == 0, 0, np.where(weights[0] == 0, 1, 0.5)).astype(weights[0].dtype),
    ],
)


wrong(
    "a set weighs what its largest score weighs",
    "Right for sets of one key. What part do the other keys of a set have in its weight?",
    rescaled=lambda total, maximum, start: np.exp(maximum - start),
)


wrong(
    "the set with the larger maximum takes it all",
    "You keep one of the two averages. Do the keys of the other set have no weight at all?",
    divide=lambda weights: [
        (weights[0] >= weights[1]).astype(weights[0].dtype),
        (weights[0] < weights[1]).astype(weights[0].dtype),
    ],
)


wrong(
    "scores are measured from 0",
    "What is the exponential of 1000? And what is left of the exponential of -1000?",
    measured_from=np.zeros_like,
    rescaled=lambda total, maximum, start: total * np.exp(maximum),
)


wrong(
    "the maximum may be divided out afterwards",
    """Right for small scores. What is the exponential of 1000, and what is left of the exponential
    of -1000? The statement says what must not occur.""",
    rescaled=lambda total, maximum, start: total * np.exp(maximum) / np.exp(start),
)


wrong(
    "a new maximum makes the old sum larger",
    """When the maximum rises, every exponential that is measured from it becomes smaller. Look at
    the sign in your exponent.""",
    rescaled=lambda total, maximum, start: total * np.exp(start - maximum),
)


wrong(
    "-inf can be measured from -inf",
    "Right where each row has a key. What is -inf - (-inf), and what becomes of it?",
    measured_from=lambda maximum: maximum,
)


wrong(
    "a total is never 0",
    "In a row without any key you divide by a total of 0. What should its average be?",
    divide=lambda weights: [each / (weights[0] + weights[1]) for each in weights],
)


wrong(
    "without a key the maximum is 0",
    "A set without any key has the maximum -inf. Which one does your merged set have?",
    reported=lambda maximum, total: finite_start(maximum),
)


wrong(
    "the maximum is the logarithm of the sum",
    "Your first result holds more than a maximum. Which of the three is the total?",
    reported=lambda maximum, total: maximum + np.log(np.where(total == 0, 1, total)),
)


wrong(
    "the newer maximum counts",
    "Right where the second set has the larger scores. Whose maximum is your first result?",
    largest=lambda one, other: np.where(np.isneginf(other), one, other),
)


wrong(
    "the maximum is one for all queries",
    "Each query has scores of its own. Is your maximum that of one row, or that of all?",
    largest=lambda one, other: np.full_like(one, max(one.max(), other.max())),
)


wrong(
    "the average is a sum",
    "Your third result grows with the number of keys. What is an average divided by?",
    divide=lambda weights: weights,
)


wrong(
    "the total is a count of sets",
    "Your total is always 1. It should be what the exponentials of both sets add up to.",
    then=lambda result: (result[0], (result[1] > 0).astype(result[1].dtype), result[2]),
)


@wrong(
    "a new set counts once",
    """Compare what each set contributes to your new total. How many keys does the second set have,
    and where does its total come in?""",
)
def second_total_unused(left, right):
    maximum = np.maximum(left[0], right[0])
    start = finite_start(maximum)
    one, other = left[1] * np.exp(left[0] - start), np.exp(right[0] - start)
    total = one + other
    divisor = np.where(total == 0, 1, total)
    average = (one / divisor)[:, None] * left[2] + (other / divisor)[:, None] * right[2]
    return maximum, total, average


@wrong(
    "a sum can be had from its logarithm",
    """Logarithms of sums are safe, but how do you get back to the total? Look for the exponential
    of a large number, and for the logarithm of 0.""",
)
def through_logarithms(left, right):
    logs = [each[0] + np.log(each[1]) for each in (left, right)]
    both = np.logaddexp(*logs)
    shares = [np.exp(each - both)[:, None] for each in logs]
    maximum = np.maximum(left[0], right[0])
    total = np.exp(both) / np.exp(maximum)
    return maximum, total, shares[0] * left[2] + shares[1] * right[2]


@wrong(
    "one empty row makes a set empty",
    """You look at a whole set to see whether it has a key. Can it have some for one query, and none
    for another?""",
    around=True,
)
def by_whole_sets(right, left, right_set):
    if np.isneginf(left[0]).any():
        return tuple(each.copy() for each in right_set)
    if np.isneginf(right_set[0]).any():
        return tuple(each.copy() for each in left)
    return right(left, right_set)


@wrong(
    "a set has keys for all queries or for none",
    """Right where all queries have a key, and where none has. What if some have one, and others
    none? In their rows, what is -inf - (-inf)?""",
)
def unless_a_whole_set_has_no_key(left, right):
    for one, other in ((left, right), (right, left)):
        if np.isneginf(one[0]).all():
            return tuple(each.copy() for each in other)
    return merge_with(measured_from=lambda maximum: maximum)(left, right)


@wrong(
    "the running description may be updated in place",
    """The numbers are right, but compare `left` before and after the call. Which line of yours
    writes into it?""",
    around=True,
)
def into_the_left(right, left, right_set):
    for old, new in zip(left, right(left, right_set), strict=True):
        old[...] = new
    return left


wrong(
    "the result is float64 whatever comes in",
    "Your result became float64 on the way. Which of your operations made it so?",
    then=lambda result: tuple(each.astype(np.float64) for each in result),
)


wrong(
    "float32 is precise enough",
    "Only the first seven digits or so are right. Which narrower dtype do numbers pass through?",
    then=lambda result: tuple(each.astype(np.float32).astype(each.dtype) for each in result),
)


checks.usual("in another order")


@right
def by_logarithms(left, right):
    """Weights the averages by a softmax of two logarithms of sums."""
    with np.errstate(all="ignore"):
        logs = np.stack([each[0] + np.log(each[1]) for each in (left, right)])
    maximum = np.maximum(left[0], right[0])
    nobody = np.isneginf(maximum)
    logs[:, nobody] = 0
    shares = np.exp(logs - logs.max(axis=0))
    total_of_shares = shares.sum(axis=0)
    shares = np.where(nobody, 0, shares / total_of_shares).astype(left[0].dtype)
    total = np.exp(logs.max(axis=0) - np.where(nobody, 0, maximum)) * total_of_shares
    total = np.where(nobody, 0, total).astype(left[0].dtype)
    return maximum, total, shares[0][:, None] * left[2] + shares[1][:, None] * right[2]


@right
def by_rows(left, right):
    rows = []
    for m1, t1, a1, m2, t2, a2 in zip(*left, *right, strict=True):
        if t1 == 0 or t2 == 0:
            rows.append((m1, t1, a1) if t2 == 0 else (m2, t2, a2))
            continue
        m = max(m1, m2)
        w1, w2 = t1 * np.exp(m1 - m), t2 * np.exp(m2 - m)
        rows.append((m, w1 + w2, (w1 * a1 + w2 * a2) / (w1 + w2)))
    return tuple(
        np.array([row[place] for row in rows], dtype=like.dtype) for place, like in enumerate(left)
    )


@right
def swept_at_the_end(left, right):
    """Lets nan arise in rows without a key, and puts zeros there."""
    with np.errstate(all="ignore"):
        maximum = np.maximum(left[0], right[0])
        one, other = (each[1] * np.exp(each[0] - maximum) for each in (left, right))
        average = (one[:, None] * left[2] + other[:, None] * right[2]) / (one + other)[:, None]
    nobody = np.isneginf(maximum)
    total = np.where(nobody, left[1] * 0, one + other)
    return maximum, total, np.where(nobody[:, None], left[2] * 0, average)


@right
def one_if_the_other_is_empty(left, right):
    """Returns an argument where the other set has no key at all."""
    if not left[1].any():
        return right
    if not right[1].any():
        return left
    return merge(left, right)
