"""Pairs of notebooks that share more than chance would have it, though some of their exercises
differ.

Two who work alone write a short answer alike in every second case, and a long one hardly ever. How
probable it is in this class is seen from how many others wrote it, and where these are few, guessed
from its length. Each exercise that both wrote is a bet at even odds on whether they agree, and a
pair is listed where the bets together come to more than there are pairs in twenty such classes: if
nobody copies, fewer than one class in twenty has such a pair.
"""

from collections import Counter, defaultdict
from itertools import chain, combinations
from math import log2

CLASSES = 20  # without a copy, in fewer than one of which a pair is listed
FEWEST, MOST = 3, 30  # who may have written a rare answer; between these, a fifth of the class
# Guesses, on the safe side: of all who solve an exercise, one in 2 ** (size / 25) writes it in one
# way (4 of 10 a softmax of 31 parts, 1 of 17 an encoder layer of 103), and since a person's style
# shows in all of their short answers, none counts for more than a bit for each 15 parts.
HALVED_BY, PARTS_A_BIT = 25, 15
MOST_BITS = 100  # a longer answer is no more improbable than that
GUESSED = 10  # learners whom that guess is worth, beside those of the class


def circles(prints, published):
    """Return those who share several rare answers, as (learners, exercises) pairs.

    Args:
        prints: learner -> exercise -> `autograder.reporting.likeness.Print`.
        published: exercise -> digest of the published solution, which anybody may have read.
    """
    writers = defaultdict(set)
    for learner, solved in prints.items():
        for name, each in solved.items():
            if published.get(name) != each.digest:
                writers[name, each.digest].add(learner)
    most = min(max(FEWEST, len(prints) // 5), MOST)
    shared = defaultdict(list)
    for answer, learners in writers.items():
        if len(learners) <= most:
            for pair in combinations(sorted(learners), 2):
                shared[pair].append(answer)
    needed = log2(CLASSES * max(1, len(prints) * (len(prints) - 1) / 2))
    listed = {
        pair: [name for name, _ in answers]
        for pair, answers in shared.items()
        if len(answers) > 1 and evidence(prints, writers, pair, answers) > needed
    }
    return joined(listed)


def evidence(prints, writers, pair, answers):
    """Return by how many bits it is more probable that two copied than that they agree by chance.

    Args:
        writers: (exercise, digest) -> the learners who wrote that.
        answers: the (exercise, digest) pairs that both wrote and that are rare.
    """
    one, other = (prints[learner] for learner in pair)
    agreeing = Counter(chain.from_iterable(writers[answer] for answer in answers))
    # a third friend makes nothing usual
    friends = {each for each, count in agreeing.items() if 2 * count >= max(4, len(answers))}
    bits = 0.0
    for name, digest in answers:
        size, others = one[name].size, len(writers[name, digest] - friends)
        strangers = len(prints) - len(friends)
        guess = 2 ** -min(size / HALVED_BY, MOST_BITS)
        chance = (others + GUESSED * guess) / (strangers + GUESSED)
        bits += min(-log2(chance), size / PARTS_A_BIT) - 1
    return bits - sum(one[name].digest != other[name].digest for name in one.keys() & other.keys())


def joined(listed):
    """Join pairs that have a learner in common.

    Args:
        listed: pair of learners -> the exercises that they share.

    Returns:
        list of (learners, exercises), both sorted tuples.
    """
    found = []
    for pair, names in listed.items():
        together, shared = set(pair), set(names)
        apart = []
        for learners, exercises in found:
            if learners & together:
                together |= learners
                shared |= exercises
            else:
                apart.append((learners, exercises))
        found = [*apart, (together, shared)]
    return [(tuple(sorted(each)), tuple(sorted(names))) for each, names in found]
