"""Softmax: scores to weights."""

import math
from functools import partial

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.tensors import with_tensors
from autograder.checks.ch04_attention import normal
from autograder.shared.laws import sums_to_one, zero_where_minus_infinity
from autograder.shared.probes import arguments_after
from solutions import ch04_attention as reference

FAR_APART = np.array([[-900], [0], [900]])


def with_minus_infinity(rng):
    scores = normal(rng, 3, 4)
    scores[[0, 1, 1], [rng.integers(4), 0, 3]] = -np.inf
    return {"scores": scores}


def one_finite_score(rng):
    scores = np.full((3, 4), -np.inf)
    scores[np.arange(3), rng.integers(4, size=3)] = -1e12
    return {"scores": scores}


def small_weights(rng):
    """Rows whose weights range from almost 1 down to almost 0, in steps."""
    below = [rng.permutation([0, 4, 9, 14, 19, 30, 45]) for _ in range(2)]
    return {"scores": normal(rng, 2, 1) - np.array(below, dtype=np.float64)}


def one_score_far_above(rng):
    scores = normal(rng, 2, 4)
    scores[[0, 1], rng.permutation([1, 2])] += 2000
    return {"scores": scores}


def batch_with_minus_infinity(rng):
    scores = normal(rng, 2, 3, 4)
    scores[[0, 1], rng.integers(3, size=2), rng.integers(4, size=2)] = -np.inf
    return {"scores": scores}


largest = partial(np.max, keepdims=True)
sum_along = partial(np.sum, keepdims=True)


def softmax_with(shift=largest, total=sum_along):
    """Make a softmax from rules for what is taken off the scores and for what divides."""

    def softmax(scores, axis=-1):
        exponentials = np.exp(scores - shift(scores, axis))
        return exponentials / total(exponentials, axis)

    return softmax


checks = Checks(
    reference.softmax,
    laws=(sums_to_one, zero_where_minus_infinity),
    shortcuts="softmax Softmax log_softmax LogSoftmax softmin Softmin gumbel_softmax _softmax",
    family=softmax_with,
)
shown, hidden, wrong, right = checks.words

shown("three scores become three weights", scores=normal(3), weight=3)
shown("each row of a matrix is a softmax of its own", scores=normal(3, 4), weight=2)
shown("axis=0 makes the columns sum to 1", scores=normal(3, 3), axis=0, weight=4)
shown("scores around 1000 do not overflow", scores=1000 + normal(3), weight=2)
shown(
    "rows whose scores are far apart do not disturb each other",
    scores=normal(3, 4) + FAR_APART,
    weight=4,
)
shown("a score of -inf gets a weight of exactly 0", with_minus_infinity)
shown("a score on its own has a weight of 1", scores=normal(3, 1))
shown("float32 scores give float32 weights", scores=normal(2, 3, dtype=np.float32))
shown("the scores stay as they were", scores=normal(2, 3), probe=arguments_after)
hidden("a batch of heads", scores=normal(2, 3, 4, 5), weight=3)
hidden("heads with rows whose scores are far apart", scores=normal(2, 3, 4) + FAR_APART, weight=4)
hidden("an axis in the middle", scores=normal(3, 3, 3), axis=1, weight=4)
hidden("an axis counted from the end", scores=normal(2, 4, 4), axis=-2, weight=2)
hidden("scores far below zero", scores=normal(2, 4) - 2000)
hidden("float32 scores of a few hundred", scores=200 + normal(2, 5, scale=10, dtype=np.float32))
hidden(
    "two equal scores share the weight",
    # around 5: equal scores of 0.5 would be their own weights
    scores=normal().then(lambda score: np.full((3, 2), 5 + score)),
)
hidden("a single finite score gets all the weight of its row", one_finite_score)
hidden("small weights are neither cut off nor raised", small_weights)
hidden("a score far above all others of its row", one_score_far_above)
hidden("the last of three axes, by its number", scores=normal(3, 4, 5), axis=2)
hidden("five axes, some of them of length 1", scores=normal(1, 2, 1, 2, 3), weight=2)
hidden("float16 scores give float16 weights", scores=normal(2, 3, dtype=np.float16))
hidden(
    "a batch with scores of -inf stays as it was", batch_with_minus_infinity, probe=arguments_after
)


naive = wrong(
    "exp of the raw scores is good enough",
    """How large may a number be before its exponential no longer fits into a float? What could you
    subtract from every score of a slice without changing the fraction?""",
    shift=lambda scores, axis: 0,
)


shifted_by_the_mean = wrong(
    "taking off the mean makes exp safe",
    """What is the largest number that your exp can meet? Think of a score far above all others of
    its row, and of one that is -inf.""",
    shift=partial(np.mean, keepdims=True),
)


wrong(
    "a very negative number is as good as -inf",
    """Scores may be of any size. What if the other scores of a row are further below zero than the
    number that you use for -inf?""",
    scores=lambda scores: np.where(np.isneginf(scores), scores.dtype.type(-1e9), scores),
)


wrong(
    "the axis is always the last one",
    "Along which axis do your weights sum to 1, and which one was asked for?",
    axis=-1,
)


wrong(
    "the axis is always the first one",
    "Along which axis do your weights sum to 1, and which one was asked for?",
    axis=0,
)


wrong(
    "one maximum serves the whole array",
    """Look at a row whose scores are far below the largest of the whole array: what does exp make
    of it, and what is left to divide by?""",
    shift=lambda scores, axis: scores.max(),
)


wrong(
    "a small epsilon in the denominator does no harm",
    """Is there something in the denominator that the formula does not have? Can that sum be 0 at
    all?""",
    total=lambda exponentials, axis: sum_along(exponentials, axis) + 1e-6,
)


over_everything = wrong(
    "all numbers of the array share one sum",
    """Each slice along the axis is a softmax of its own. Over which numbers do your weights sum to
    1?""",
    shift=lambda scores, axis: scores.max(),
    total=lambda exponentials, axis: exponentials.sum(),
)


wrong(
    "all exponentials of the array share one sum",
    """Each slice along the axis is a softmax of its own. Over which numbers does your sum run, and
    over which your maximum?""",
    total=lambda exponentials, axis: exponentials.sum(),
)


wrong(
    "a maximum over an axis still lines up with the array",
    """What shape does the maximum have, and along which axis is it stretched when you subtract
    it?""",
    shift=np.max,
)


wrong(
    "a sum over an axis still lines up with the array",
    """What shape does the sum have, and along which axis is it stretched when you divide by it?""",
    total=np.sum,
)


checks.usual(
    "changes its argument",
    belief="the caller's array is free to be worked in",
    hint="""Compare `scores` before and after the call. Which line of yours writes into it instead
    of making a new array?""",
)


checks.usual("in float64")


@wrong(
    "dividing by the sum is enough",
    """Dividing by the sum alone makes numbers sum to 1, but it keeps negative ones negative. What
    does the formula apply to each score first?""",
)
def without_exponential(scores, axis=-1):
    return scores / sum_along(scores, axis)


@right
def by_logarithm(scores, axis=-1):
    below = scores - largest(scores, axis)
    return np.exp(below - np.log(sum_along(np.exp(below), axis)))


@right
def by_loops(scores, axis=-1):
    def of_slice(one):
        exponentials = [math.exp(number - max(one)) for number in one.tolist()]
        return [number / sum(exponentials) for number in exponentials]

    return np.apply_along_axis(of_slice, axis, scores).astype(scores.dtype)


@right
@with_tensors
def by_torch(scores, axis=-1):
    return scores.softmax(dim=axis)


@right
def in_longdouble(scores, axis=-1):
    return softmax_with()(scores.astype(np.longdouble), axis).astype(scores.dtype)
