"""Words of a corpus, numbered by how often they occur."""

import re
from collections import Counter
from functools import partial
from itertools import combinations

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.checks.ch01_embeddings import (
    SPECIALS,
    WORDS,
    after_the_first,
    draw_words,
    fill,
    jumbled,
    numbered,
    shuffled,
    split_otherwise,
    with_all_whitespace,
    words_in_any_order,
)
from autograder.shared.probes import arguments_after, returned_for_generator
from solutions import ch01_embeddings as reference


def cut(rng, words, count=2):
    """Cut a list of words into sentences, none of them empty."""
    starts = np.sort(1 + rng.choice(len(words) - 1, size=count - 1, replace=False))
    return [" ".join(sentence) for sentence in np.split(words, starts)]


def cut_after_shuffling(rng, words):
    return cut(rng, shuffled(rng, words))


@drawn
def text(rng, count, pattern, arranged=cut_after_shuffling, words_of=draw_words, separator=None):
    """Draw words for a pattern, split it, and arrange the parts as sentences."""
    return arranged(rng, fill(pattern, words_of(rng, count)).split(separator))


# Their order by frequency is neither the alphabet's, nor its reverse, nor that of rising frequency.
THREE_FREQUENCIES = text(3, "$b $b $b $c $c $a")
RAREST_FIRST = text(
    4,
    "$a $b $b $c $c $c $d $d $d $d",
    lambda rng, words: cut(rng, after_the_first(rng, words)),
    words_in_any_order,
)


@drawn
def with_ties(rng):
    """Three words, in an order that is neither the alphabet's nor its reverse and does not begin
    with the first, and twice a fourth.
    """
    first, second, third, often = draw_words(rng, 4)
    orders = [second, third, first], [second, first, third], [third, first, second]
    words = orders[rng.integers(3)]
    for places in (4, 5):
        words.insert(rng.integers(places), often)
    return cut(rng, words)


def often_in_one_sentence(rng):
    first, second, third = draw_words(rng, 3)
    return {"sentences": shuffled(rng, [jumbled(rng, [third] * 3 + [first]), f"{first} {second}"])}


def between_all_whitespace(rng, words, sentences=1):
    return [with_all_whitespace(rng, shuffled(rng, words)) for _ in range(sentences)]


def each_once_more(rng, words):
    """Make a sentence in which no two of seven words occur equally often."""
    return [jumbled(rng, np.repeat(shuffled(rng, words), range(1, 8)))]


def longer_text(rng):
    words = words_in_any_order(rng, 10)
    first, second, third, last = sorted(words[6:])
    others = [second, third, *sorted(np.repeat(words[:6], [6, 4, 4, 2, 2, 2]))]
    return {"sentences": cut(rng, [last, *shuffled(rng, others), first], count=5)}


def ties_of_different_lengths(rng):
    """Ask for two words, of which the longer one comes first in the alphabet, and for the
    alphabet's last, which occurs more often.
    """
    *others, last = sorted(WORDS)
    pairs = [
        (one, other)
        for one, other in combinations(others, 2)
        if one[0] == other[0] and len(one) > len(other)
    ]
    longer, shorter = rng.choice(pairs)
    return {"sentences": [f"{shorter} {longer} {last} {last}"]}


def most_frequent_first(counts):
    return sorted(counts, key=lambda word: (-counts[word], word))


def ties_as_they_come(counts):
    return [word for word, _ in counts.most_common()]


def vocabulary_with(
    order=most_frequent_first,
    words_of=str.split,
    refused=lambda max_size: max_size < 4,
    kept=lambda tokens, max_size, counts: tokens[:max_size],
    specials=SPECIALS,
    start=0,
):
    """Make a `build_vocabulary` from its rules."""

    def build_vocabulary(sentences, max_size=None):
        counts = Counter(word for sentence in sentences for word in words_of(sentence))
        tokens = [*specials, *order(counts)]
        if max_size is not None:
            if refused(max_size):
                raise ValueError("max_size must be at least 4")
            tokens = kept(tokens, max_size, counts)
        return numbered(tokens, start)

    return build_vocabulary


def chosen_before_sorting(order):
    """Make a rule that keeps those words that come first in another order."""

    def kept(tokens, max_size, counts):
        chosen = [*SPECIALS, *order(counts)][:max_size]
        return [token for token in tokens if token in chosen]

    return kept


checks = Checks(
    reference.build_vocabulary,
    shortcuts="build_vocab_from_iterator CountVectorizer",
    family=vocabulary_with,
)
shown, hidden, wrong, right = checks.words

shown("the most frequent word comes first", sentences=THREE_FREQUENCIES, weight=4)
shown("words that occur equally often come in alphabetical order", sentences=with_ties(), weight=2)
shown("a word counts each time it occurs, also twice in one sentence", often_in_one_sentence)
shown(
    "spaces, tabs and line breaks all separate words",
    sentences=text(3, "$a $b $b $b $c", between_all_whitespace),
)
shown(
    "a capital letter makes another word",
    sentences=text(2, "$A $A $A $a $a $b", words_of=words_in_any_order),
)
shown(
    "a comma belongs to the word that it touches",
    sentences=text(2, "$a, $a, $a, $a $a $b", words_of=words_in_any_order),
)
shown("no sentences leave the special tokens alone", sentences=[])
shown("max_size counts the special tokens too", sentences=RAREST_FIRST, max_size=integer(5, 7))
shown(
    "max_size=4 leaves room for the special tokens alone",
    sentences=text(6, "$a $b $c $d $e $f"),
    max_size=4,
)
shown(
    "a max_size that the words do not fill changes nothing",
    sentences=THREE_FREQUENCIES,
    max_size=integer(8, 20),
)
shown("max_size=3 is refused", sentences=THREE_FREQUENCIES, max_size=3)
shown(
    "sentences may come from a generator, which can be read only once",
    sentences=THREE_FREQUENCIES,
    probe=returned_for_generator,
)
shown("the list of sentences stays as it was", sentences=with_ties(), probe=arguments_after)
hidden("a longer text", longer_text, weight=4)
hidden("max_size cuts between words that occur equally often", sentences=with_ties(), max_size=6)
hidden("max_size=0 is refused too", sentences=THREE_FREQUENCIES, max_size=0)
hidden(
    "a generator together with max_size",
    sentences=RAREST_FIRST,
    max_size=integer(5, 7),
    probe=returned_for_generator,
)
hidden(
    "empty sentences add nothing",
    sentences=THREE_FREQUENCIES.then(lambda texts: ["", texts[0], "   ", texts[1], "\t"]),
)
hidden(
    "capitals, commas and whitespace of all kinds in one text",
    sentences=text(
        3,
        "$a $a $a $a $A $A $A $b, $b, $c",
        partial(between_all_whitespace, sentences=2),
        words_in_any_order,
    ),
    weight=2,
)
hidden(
    "marks of all kinds, digits and single letters belong to words",
    sentences=text(5, "$a $a. $b's $c! $d-and-$e a 3", each_once_more),
    weight=2,
)
hidden("words that occur equally often are compared letter by letter", ties_of_different_lengths)
hidden(
    "a sentence that occurs twice counts twice",
    sentences=text(3, "$a $b/$c/$c", shuffled, separator="/"),
)
hidden("a max_size of 1 or 2 is refused too", sentences=THREE_FREQUENCIES, max_size=integer(1, 3))
hidden(
    "a negative max_size is refused too",
    sentences=THREE_FREQUENCIES,
    max_size=integer(0, 3).then(lambda index: (-1, -2, -5)[index]),
)
hidden(
    "an untidy list stays as it was",
    sentences=text(3, "/ $C, $a  /$b $a/", lambda _, sentences: sentences, separator="/"),
    probe=arguments_after,
)


wrong(
    "Counter.most_common breaks ties alphabetically",
    """When two words occur equally often, which one comes first in your vocabulary: the first in
    the alphabet, or the first in the text?""",
    order=ties_as_they_come,
)


wrong(
    "one reversed sort serves both parts of the key",
    """The frequencies fall as they should, but words that occur equally often run backwards through
    the alphabet. What does reversing a sort do to each part of its key?""",
    order=lambda counts: sorted(counts, key=lambda word: (counts[word], word), reverse=True),
)


wrong(
    "the rarest word comes first",
    """In which order do your words come: is the word with id 4 the one that occurs most often, or
    least often?""",
    order=lambda counts: sorted(counts, key=lambda word: (counts[word], word)),
)


wrong(
    "the alphabet decides alone",
    """All your words are in alphabetical order. When should the alphabet decide: always, or only
    between words that occur equally often?""",
    order=sorted,
)


wrong(
    "the text's own order is the order",
    """Your words come in the order in which the text first has them. What does the exercise sort
    them by?""",
    order=list,
)


wrong(
    "a frequency is a number of sentences",
    "If a word occurs twice in one sentence, how often is it counted?",
    words_of=lambda sentence: set(sentence.split()),
)


wrong(
    "words that occur once are not worth an id",
    """As long as max_size leaves room, every word of the text gets an id, even one that occurs only
    once. At which step do you lose those?""",
    order=lambda counts: [word for word in most_frequent_first(counts) if counts[word] > 1],
)


wrong(
    "the limit is for words alone",
    """Count all entries of your dictionary, including the special tokens. How does that number
    compare with max_size?""",
    kept=lambda tokens, max_size, counts: tokens[: max_size + 4],
)


wrong(
    "max_size can be left aside",
    "Your result can have more than max_size entries. Which line of yours uses max_size?",
    kept=lambda tokens, *_: tokens,
)


wrong(
    "the first max_size words of the text are kept",
    """You have kept the words that come first in the text. When is the right moment to cut: before
    the words are sorted, or afterwards?""",
    kept=chosen_before_sorting(list),
)


wrong(
    "a cut leaves the right one of several words that occur equally often",
    """When max_size leaves room for only some of the words that occur equally often, which of them
    should stay? Which ones have you kept?""",
    kept=chosen_before_sorting(ties_as_they_come),
)


wrong(
    "a max_size without room for the special tokens goes through",
    """The four special tokens always have to fit. What does your function do with a max_size that
    is too small for them?""",
    refused=lambda max_size: False,
)


wrong(
    "max_size=4 is too small",
    """With max_size=4 the four special tokens just fit, and no word gets an entry, which is
    allowed. Which values of max_size does your function refuse?""",
    refused=lambda max_size: max_size <= 4,
)


wrong(
    "0 stands for no limit",
    """Two different things can be false in Python: which values of max_size does your condition
    take for `no limit`?""",
    max_size=lambda max_size: max_size or None,
)


@wrong(
    "a max_size that is not filled is a mistake",
    """max_size is the largest number of entries allowed. What should happen when there are fewer
    words than that?""",
    rule="kept",
)
def only_if_filled(tokens, max_size, counts):
    if max_size > len(tokens):
        raise ValueError("max_size is larger than the vocabulary")
    return tokens[:max_size]


wrong(
    "the special tokens have no place here",
    "Which four entries does every vocabulary of this course begin with?",
    specials=(),
)


wrong(
    "the special tokens come last",
    """All entries are there. Which ids are set aside for the special tokens in the whole
    course?""",
    then=lambda vocabulary: numbered([*list(vocabulary)[4:], *SPECIALS]),
)


wrong("ids start at 1", "All your ids are too large by one. Which id should <pad> have?", start=1)


split_otherwise(wrong)


wrong(
    "a string is a list of words",
    "Your entries are single letters: what do you get when you loop over a string?",
    words_of=lambda sentence: sentence.replace(" ", ""),
)


@wrong(
    "the sentences can be read again",
    """A generator can be read only once. How often does your function go through `sentences`, and
    what does it find the second time?""",
)
def read_twice(sentences, max_size=None):
    words = sorted({word for sentence in sentences for word in sentence.split()})
    of_the_second_reading = vocabulary_with(
        lambda counts: sorted(words, key=lambda word: -counts[word])
    )
    return of_the_second_reading(sentences, max_size)


@wrong(
    "the caller's list is free to be worked in",
    """Your function should only read `sentences`, from front to back. Which line of yours changes
    it, or asks for an element by its index?""",
)
def splitting_in_place(sentences, max_size=None):
    sentences[:] = map(str.split, sentences)
    return reference.build_vocabulary(map(" ".join, sentences), max_size)


wrong(
    "a vocabulary leads from ids to words",
    """You will want to look up a word in the dictionary and get its id. Which of the two is the
    key?""",
    then=lambda vocabulary: dict(enumerate(vocabulary)),
)


@right
@vocabulary_with
def by_two_sorts(counts):
    return sorted(sorted(counts), key=counts.get, reverse=True)


@right
def by_loops(sentences, max_size=None):
    limit = float("inf") if max_size is None else max_size
    if limit < 4:
        raise ValueError("no room for the special tokens")
    counts, vocabulary = {}, numbered(SPECIALS)
    for word in re.findall(r"\S+", " ".join(sentences)):
        counts[word] = counts.get(word, 0) + 1
    while counts and len(vocabulary) < limit:
        best = min(word for word in counts if counts[word] == max(counts.values()))
        vocabulary[best] = len(vocabulary)
        del counts[best]
    return vocabulary


@right
@vocabulary_with
def by_numpy(counts):
    words, frequencies = np.unique(list(counts.elements()), return_counts=True)
    return words[np.argsort(-frequencies, kind="stable")].tolist()
