"""How much it matters to a layer where its rows stand."""

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, sizeable
from autograder.shared.probes import arguments_after, calls_counted, returned_number
from autograder.shared.probes.stand_ins import small_encoder
from solutions.ch02_positional_encoding import order_gap

CLEAR = 0.1  # gaps that matter are larger, and as far from what a wrong answer finds
BLIND = ("none", "mean", "attention")  # without positions


@drawn
def layer_case(
    rng,
    mix,
    seq_len=4,
    d_model=3,
    places=True,
    in_place=False,
    falling=False,
    dtype=np.float64,
):
    """Make the inputs of a case: a layer, rows, and an order that is not its own inverse.

    Args:
        mix, in_place: see `small_encoder`. With "backwards" there are five rows or more: of four,
            each difference comes with both signs.
        places: whether positions are added to the rows first.
        falling: whether the largest difference is a negative one.
    """
    while True:
        encoder = {
            "mix": mix,
            "weights": sizeable(rng, d_model, d_model, scale=0.8).astype(dtype),
            "positions": sizeable(rng, seq_len, d_model).astype(dtype) if places else None,
            "in_place": in_place,
        }
        x, order = sizeable(rng, seq_len, d_model, dtype=dtype), rng.permutation(seq_len)
        if (order == np.arange(seq_len)).any() or (order[order] == np.arange(seq_len)).any():
            continue
        sees = places or mix not in BLIND
        if not sees or is_clear(small_encoder(**encoder), x, order, falling):
            return {"encode": {"stand_in": "encoder", **encoder}, "x": x, "order": order}


def is_clear(encode, x, order, falling):
    """Return whether a layer sees so much of the order that slips show: the largest difference is
    neither in the first row nor in the first column, has the sign asked for, and, in
    float64, is not by chance a number that float32 can hold.
    """
    gaps = encode(x[order]) - encode(x.copy())[order]
    sizes = np.abs(gaps)
    elsewhere = max(sizes[0].max(), sizes[:, 0].max(), (-gaps if not falling else gaps).max())
    gap = sizes.max()
    fits = sizes.dtype == np.float64 and np.isclose(np.float32(gap), gap, rtol=1e-8, atol=0)
    return gap > elsewhere + CLEAR and not fits


def largest(one, other):
    return np.abs(one - other).max()


def gap_with(
    shuffle=lambda x, order: x[order],
    shuffle_result=lambda rows, order: rows[order],
    own=np.copy,
    measure=largest,
):
    """Make an `order_gap` from rules: how rows are shuffled before and after, which array the
    first call gets, and how two results are compared.
    """

    def order_gap(encode, x, order):
        shuffled_last = shuffle_result(encode(own(x)), order)
        return float(measure(encode(shuffle(x, order)), shuffled_last))

    return order_gap


checks = Checks(order_gap, family=gap_with, probe=returned_number)
shown, hidden, wrong, right = checks.words

shown("a layer that adds positions", layer_case("none"), weight=3)
shown("each row by itself cannot tell: the gap is 0", layer_case("none", places=False))
shown("an average of all rows cannot tell, either", layer_case("mean", places=False))
shown("attention alone cannot tell", layer_case("attention", places=False))
shown("attention with positions can tell", layer_case("attention", 5, 4, falling=True), weight=2)
shown("a row that sees only earlier rows can tell", layer_case("earlier", places=False), weight=2)
shown("the largest difference is negative", layer_case("none", falling=True), weight=2)
shown("a layer that works in place", layer_case("none", 4, 2, in_place=True))
shown("a layer that returns a view of its argument", layer_case("backwards", 5, places=False))
shown(
    "x and order stay as they were",
    layer_case("mean", 4, 2, in_place=True),
    probe=arguments_after,
)
shown("encode is called twice", layer_case("none"), probe=calls_counted)
hidden("more rows and more columns", layer_case("none", 7, 6), weight=3)
hidden("attention with positions, more of both", layer_case("attention", 6, 5), weight=2)
hidden("as many rows as columns", layer_case("earlier", 4, 4, places=False, falling=True), weight=2)
hidden("a long sentence without positions", layer_case("attention", 9, 4, places=False))
hidden("again a negative difference", layer_case("attention", 5, 3, falling=True))
hidden("attention that works in place", layer_case("attention", 5, 3, in_place=True))
hidden("a view, last row first", layer_case("backwards", 7, 4, places=False))
hidden("rows and positions in float32", layer_case("none", 5, 4, dtype=np.float32))
hidden(
    "the caller's arrays are the same afterwards",
    layer_case("backwards", 5, 3, places=False),
    probe=arguments_after,
)
hidden(
    "a layer that works in place leaves the caller's arrays alone",
    layer_case("attention", 4, 3, in_place=True),
    probe=arguments_after,
)
hidden("two calls, for a longer sentence, too", layer_case("mean", 6, 3), probe=calls_counted)


wrong(
    "shuffling back is shuffling",
    """One of your two shuffles undoes the order instead of applying it. In the example, which row
    comes first after each of them?""",
    shuffle_result=lambda rows, order: rows[np.argsort(order)],
)


wrong(
    "row i goes to place order[i]",
    """There are two ways to read `order`, and both of your shuffles use the wrong one. Which row of
    x comes first in the example?""",
    shuffle=lambda x, order: x[np.argsort(order)],
    shuffle_result=lambda rows, order: rows[np.argsort(order)],
)


wrong(
    "the encoded rows need no shuffle",
    """A layer that doubles each row should have the gap 0, but yours is larger. Which row do you
    compare with which?""",
    shuffle_result=lambda rows, order: rows,
)


@wrong(
    "both results come from shuffled rows",
    "Your gap is 0 for every layer. In each of your two ways, where is a row while it is encoded?",
)
def shuffled_both_times(encode, x, order):
    return float(largest(encode(x[order]), encode(x.copy()[order])))


wrong(
    "any shuffle will do",
    "You shuffle, but not in the way that the caller asked for. What does `order` hold?",
    shuffle=lambda x, order: x[::-1].copy(),
    shuffle_result=lambda rows, order: rows[::-1],
)


wrong(
    "order is about columns",
    "Count the axes of x: along which of them do the words follow each other?",
    shuffle=lambda x, order: x[:, order],
    shuffle_result=lambda rows, order: rows[:, order],
)


wrong(
    "the mean difference",
    """Your gap is too small, because places with small differences pull it down. Which number does
    the statement ask for?""",
    measure=lambda one, other: np.abs(one - other).mean(),
)


wrong(
    "differences add up",
    """Your gap grows with the number of rows and columns, because you add the differences up. Which
    number does the statement ask for?""",
    measure=lambda one, other: np.abs(one - other).sum(),
)


wrong(
    "a square has no sign either",
    "Squares have no sign, but another size. Which number does the statement ask for?",
    measure=lambda one, other: np.square(one - other).max(),
)


wrong(
    "the gap lies between the two largest numbers",
    """You compare the largest number of one result with the largest of the other. They may be in
    different places: which comes first, the difference or the maximum?""",
    measure=lambda one, other: abs(one.max() - other.max()),
)


wrong(
    "differences may keep their sign",
    "Your gap is right where the largest difference has one sign. What if it has the other?",
    measure=lambda one, other: (one - other).max(),
)


wrong(
    "differences may keep their sign, whichever is subtracted",
    "Your gap is right where the largest difference has one sign. What if it has the other?",
    measure=lambda one, other: (other - one).max(),
)


wrong(
    "the gap is relative",
    """You divide the difference by the size of the numbers. Which unit should the gap have?""",
    measure=lambda one, other: largest(one, other) / np.abs(other).max(),
)


wrong(
    "a distance is a root of a sum of squares",
    "Your gap grows with the number of rows and columns. Which number does the statement ask for?",
    measure=lambda one, other: np.linalg.norm(one - other),
)


wrong(
    "the first row is as good as any",
    "You compare only one of the rows. What if the others give the layer away?",
    measure=lambda one, other: largest(one[0], other[0]),
)


wrong(
    "rows are compared as sums",
    """You compare one number per column, but a sum over all rows no longer shows their order. Where
    do you add the rows up?""",
    measure=lambda one, other: largest(one.sum(axis=0), other.sum(axis=0)),
)


wrong(
    "the same rows in another order are the same",
    """You compare the results as if their rows had no order. A layer should give itself away by
    what it makes of each row: which row of one result belongs to which of the other?""",
    measure=lambda one, other: largest(np.sort(one, axis=0), np.sort(other, axis=0)),
)


wrong(
    "the question is answered by yes or no",
    "You say whether the two results differ. By how much do they?",
    then=bool,
)


wrong(
    "a layer leaves what it reads as it was",
    """A layer that works in place changes the array that it gets. What does your second call read,
    and who wrote it?""",
    own=lambda x: x,
)


@wrong(
    "the last call may have the caller's array",
    """The gap is right, but compare x before and after the call. Does a line of yours write into
    it, or a layer that you gave it to?""",
)
def giving_the_callers_array_away(encode, x, order):
    shuffled_first = encode(x[order])
    return float(largest(shuffled_first, encode(x)[order]))


@wrong(
    "one array can serve both calls",
    """What a layer returns may be the array that it was given, or a view of it. What does your
    first result hold once you write other numbers into that array?""",
)
def with_one_array(encode, x, order):
    work = x.copy()
    encoded = encode(work)
    work[...] = x[order]
    return float(largest(encode(work), encoded[order]))


@wrong(
    "x can be shuffled where it is",
    """Compare x before and after the call, even with a layer that changes nothing. Which line of
    yours moves its rows?""",
)
def shuffling_the_callers_array(encode, x, order):
    shuffled_last = encode(x.copy())[order]
    x[...] = x[order]
    return float(largest(encode(x.copy()), shuffled_last))


@wrong(
    "a layer may be asked again",
    """The number is right. Count how often `encode` is called: which of its results could you keep
    instead of asking for it again?""",
)
def asking_again(encode, x, order):
    rises = (encode(x[order]) - encode(x.copy())[order]).max()
    falls = (encode(x.copy())[order] - encode(x[order])).max()
    return float(max(rises, falls))


@wrong(
    "float32 is precise enough",
    """Only the first seven digits or so are right. Which narrower dtype do the numbers pass through
    on their way?""",
)
def in_float32(encode, x, order):
    return float(np.float32(order_gap(encode, x, order)))


@right
def by_shuffling_back(encode, x, order):
    there = encode(np.take(x, order, axis=0))
    back = np.empty_like(there)
    back[order] = there
    return np.abs(back - encode(np.array(x))).max()


@right
def by_a_permutation_matrix(encode, x, order):
    permutation = np.eye(len(x), dtype=x.dtype)[order]
    gap = permutation @ encode(x + 0) - encode(permutation @ x)
    return np.linalg.norm(gap.ravel(), ord=np.inf).item()


@right
def by_loops(encode, x, order):
    shuffled = np.stack([x[place] for place in order])
    first, last = encode(shuffled).tolist(), encode(x.copy()).tolist()
    return max(
        abs(a - b)
        for row, place in enumerate(order)
        for a, b in zip(first[row], last[place], strict=True)
    )


@right
def by_extremes(encode, x, order):
    gap = encode(x[order, :])
    gap = gap - encode(x.astype(x.dtype))[list(order)]
    return max(gap.max(), -gap.min())
