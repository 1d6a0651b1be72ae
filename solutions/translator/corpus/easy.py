"""The part of the corpus that a small model learns in a minute."""

import functools
from collections import Counter

from solutions.translator.corpus.draw import PROMISE, splits
from solutions.translator.corpus.spelling import words

COMMON_WORDS, LONGEST = 250, 7  # what makes a sentence easy


@functools.cache
def easy_part(common=COMMON_WORDS, longest=LONGEST):
    """Return the short sentences of common words.

    Args:
        common: how many of the most frequent English words a sentence may use, beside those of
            `PROMISE`.
        longest: English words of a sentence, a question mark counted.

    Returns:
        dict: the name of a split -> list of (english, italian).
    """
    all_splits = splits()
    counts = Counter(word for english, _ in all_splits["train"] for word in words(english))
    known = {word for word, _ in counts.most_common(common)} | set(words(PROMISE))

    def is_easy(english):
        there = words(english)
        return len(there) <= longest and known.issuperset(there)

    return {
        name: [pair for pair in pairs if is_easy(pair[0])] for name, pairs in all_splits.items()
    }
