"""Words of a corpus, numbered by how often they occur."""

import re
from collections import Counter

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch01_embeddings import (
    LONGER_BEFORE_SHORTER,
    SPECIALS,
    as_sentences,
    draw_words,
    shuffled,
    shuffled_ties,
    with_all_whitespace,
)
from autograder.shared.probes import arguments_after, returned_for_generator
from solutions import ch01_embeddings as reference


def three_frequencies(rng):
    """Three words whose order by frequency is neither the alphabet's, nor its reverse, nor that of
    rising frequency.
    """
    first, second, third = draw_words(rng, 3)
    return {"sentences": as_sentences(rng, shuffled(rng, [second] * 3 + [third] * 2 + [first]))}


def with_ties(rng):
    *tied, often = draw_words(rng, 4)
    words = shuffled_ties(rng, tied)
    for _ in range(2):
        words.insert(rng.integers(len(words) + 1), often)
    return {"sentences": as_sentences(rng, words)}


def often_in_one_sentence(rng):
    first, second, third = draw_words(rng, 3)
    return {
        "sentences": shuffled(
            rng, [" ".join(shuffled(rng, [third] * 3 + [first])), f"{first} {second}"]
        )
    }


def between_all_whitespace(rng):
    first, second, third = draw_words(rng, 3)
    return {"sentences": [with_all_whitespace(rng, shuffled(rng, [first, *[second] * 3, third]))]}


@drawn
def beside_another_spelling(rng, respell):
    """Ask for a text in which a word and a variant of it occur, in different numbers."""
    word, other = shuffled(rng, draw_words(rng, 2))
    return {
        "sentences": as_sentences(rng, shuffled(rng, [respell(word)] * 3 + [word] * 2 + [other]))
    }


def with_a_comma(word):
    return f"{word},"


def rarest_first_in_the_text(rng):
    rarest, *others = shuffled(rng, draw_words(rng, 4))
    words = [word for count, word in enumerate(others, start=2) for _ in range(count)]
    return {"sentences": as_sentences(rng, [rarest, *shuffled(rng, words)])}


def cut_by_max_size(rng):
    return {**rarest_first_in_the_text(rng), "max_size": int(rng.integers(5, 7))}


def cut_between_ties(rng):
    return {**with_ties(rng), "max_size": 6}


def unfilled_max_size(rng):
    return {**three_frequencies(rng), "max_size": int(rng.integers(8, 20))}


def room_for_no_word(rng):
    return {"sentences": as_sentences(rng, shuffled(rng, draw_words(rng, 6))), "max_size": 4}


@drawn
def three_frequencies_up_to(rng, *max_sizes):
    return {**three_frequencies(rng), "max_size": int(rng.choice(max_sizes))}


def longer_text(rng):
    words = draw_words(rng, 10)
    counts = dict(zip(shuffled(rng, words), [6, 4, 4, 2, 2, 2, 1, 1, 1, 1], strict=True))
    first, *others, last = sorted(word for word in words if counts[word] == 1)
    others += [word for word in words for _ in range(counts[word]) if counts[word] > 1]
    return {"sentences": as_sentences(rng, [last, *shuffled(rng, others), first], count=5)}


def among_empty_sentences(rng):
    sentences = three_frequencies(rng)["sentences"]
    return {"sentences": ["", sentences[0], "   ", *sentences[1:], "\t"]}


def everything_between_whitespace(rng):
    word, other, third = shuffled(rng, draw_words(rng, 3))
    words = [word] * 4 + [word.capitalize()] * 3 + [f"{other},"] * 2 + [third]
    return {"sentences": [with_all_whitespace(rng, shuffled(rng, words)) for _ in range(2)]}


def marks_and_short_words(rng):
    """One sentence of words with marks, digits and single letters, no two of them equally often."""
    word, other, third, *pair = draw_words(rng, 5)
    tokens = [word, f"{word}.", f"{other}'s", f"{third}!", "-and-".join(pair), "a", "3"]
    words = [
        token for count, token in enumerate(shuffled(rng, tokens), start=1) for _ in range(count)
    ]
    return {"sentences": [" ".join(shuffled(rng, words))]}


def ties_of_different_lengths(rng):
    longer, shorter = LONGER_BEFORE_SHORTER[rng.integers(len(LONGER_BEFORE_SHORTER))]
    return {"sentences": [f"{shorter} {longer}"]}


def one_sentence_twice(rng):
    first, second, third = draw_words(rng, 3)
    return {"sentences": shuffled(rng, [f"{first} {second}", third, third])}


def untidy_list(rng):
    first, second, third = draw_words(rng, 3)
    return {"sentences": ["", f" {third.capitalize()}, {first}  ", f"{second} {first}", ""]}


def most_frequent_first(counts):
    return sorted(counts, key=lambda word: (-counts[word], word))


def within_max_size(tokens, max_size):
    if max_size is not None and max_size < 4:
        raise ValueError("max_size must be at least 4")
    return tokens[:max_size]


def vocabulary_with(
    words_of=str.split, order=most_frequent_first, kept=within_max_size, specials=SPECIALS, start=0
):
    """Make a `build_vocabulary` from rules for the words, their order, what is kept, and the
    numbering.
    """

    def build_vocabulary(sentences, max_size=None):
        counts = Counter(word for sentence in sentences for word in words_of(sentence))
        return {
            token: index
            for index, token in enumerate(kept([*specials, *order(counts)], max_size), start)
        }

    return build_vocabulary


def ties_backwards(counts):
    return sorted(counts, key=lambda word: (counts[word], word), reverse=True)


def rarest_first(counts):
    return sorted(counts, key=lambda word: (counts[word], word))


def ties_as_they_come(counts):
    return [word for word, _ in counts.most_common()]


def without_rare_words(counts):
    return [word for word in most_frequent_first(counts) if counts[word] > 1]


def unchecked(tokens, max_size):
    return tokens[:max_size]


def beyond_the_specials(tokens, max_size):
    within_max_size(tokens, max_size)
    return tokens if max_size is None else tokens[: max_size + 4]


def only_if_words_fit(tokens, max_size):
    if max_size is not None and max_size <= 4:
        raise ValueError("max_size must be larger than 4")
    return tokens[:max_size]


def zero_as_no_limit(tokens, max_size):
    if not max_size:
        return tokens
    return within_max_size(tokens, max_size)


def everything(tokens, max_size):
    within_max_size(tokens, max_size)
    return tokens


def only_if_filled(tokens, max_size):
    if max_size is not None and max_size > len(tokens):
        raise ValueError("max_size is larger than the vocabulary")
    return within_max_size(tokens, max_size)


def without_marks_around(sentence):
    return [word.strip(".,;:!?") for word in sentence.split()]


def numbered(tokens):
    return {token: index for index, token in enumerate(tokens)}


checks = Checks(
    reference.build_vocabulary, shortcuts=("build_vocab_from_iterator", "CountVectorizer")
)
shown, hidden, wrong, right = checks.words

shown("the most frequent word comes first", three_frequencies, weight=2)
shown("words that occur equally often stand in alphabetical order", with_ties)
shown("a word counts each time it occurs, also twice in one sentence", often_in_one_sentence)
shown("spaces, tabs and line breaks all separate words", between_all_whitespace)
shown("a capital letter makes another word", beside_another_spelling(str.capitalize))
shown("a comma belongs to the word that it touches", beside_another_spelling(with_a_comma))
shown("no sentences leave the special tokens alone", sentences=[])
shown("max_size counts the special tokens too", cut_by_max_size)
shown("max_size=4 leaves room for the special tokens alone", room_for_no_word)
shown("a max_size that the words do not fill changes nothing", unfilled_max_size)
shown("max_size=3 is refused", three_frequencies_up_to(3))
shown(
    "sentences may come from a generator, which can be read only once",
    three_frequencies,
    probe=returned_for_generator,
)
shown("the list of sentences stays as it was", with_ties, probe=arguments_after)
hidden("a longer text", longer_text, weight=2)
hidden("max_size cuts between words that occur equally often", cut_between_ties)
hidden("max_size=0 is refused too", three_frequencies_up_to(0))
hidden("a generator together with max_size", cut_by_max_size, probe=returned_for_generator)
hidden("empty sentences add nothing", among_empty_sentences)
hidden("capitals, commas and whitespace of all kinds in one text", everything_between_whitespace)
hidden("marks of all kinds, digits and single letters belong to words", marks_and_short_words)
hidden("words that occur equally often are compared letter by letter", ties_of_different_lengths)
hidden("a sentence that occurs twice counts twice", one_sentence_twice)
hidden("a max_size of 1 or 2 is refused too", three_frequencies_up_to(1, 2))
hidden("a negative max_size is refused too", three_frequencies_up_to(-1, -2, -5))
hidden("an untidy list stays as it was", untidy_list, probe=arguments_after)


wrong(
    "Counter.most_common breaks ties alphabetically",
    hint="Which of two words that occur equally often did you put first: the first in the alphabet, or"
    " the first in the text?",
)(vocabulary_with(order=ties_as_they_come))


wrong(
    "one reversed sort serves both parts of the key",
    hint="The frequencies fall as they should, but words that occur equally often run backwards"
    " through the alphabet. What does reversing a sort do to each part of its key?",
)(vocabulary_with(order=ties_backwards))


wrong(
    "the rarest word comes first",
    hint="In which direction do your frequencies run: does the word with id 4 occur most often, or"
    " least often?",
)(vocabulary_with(order=rarest_first))


wrong(
    "the alphabet decides alone",
    hint="Your words stand in alphabetical order throughout. When is the alphabet asked: always, or"
    " only for words that occur equally often?",
)(vocabulary_with(order=sorted))


wrong(
    "the text's own order is the order",
    hint="Your words stand in the order in which the text first has them. How often each occurs should"
    " decide.",
)(vocabulary_with(order=list))


wrong(
    "a frequency is a number of sentences",
    hint="How much does a word count that stands twice in one sentence?",
)(vocabulary_with(words_of=lambda sentence: set(sentence.split())))


wrong(
    "words that occur once are not worth an id",
    hint="Every word of the text gets an id while max_size leaves room, also one that occurs only"
    " once. Where do yours go?",
)(vocabulary_with(order=without_rare_words))


wrong(
    "the limit is for words alone",
    hint="Count all the entries of your dictionary, the special tokens included, and compare with"
    " max_size.",
)(vocabulary_with(kept=beyond_the_specials))


wrong("max_size can be left aside", hint="Where does max_size limit what you return?")(
    vocabulary_with(kept=everything)
)


@wrong(
    "the first max_size words of the text are kept",
    hint="You have kept the words that the text has first. When is the right moment to cut: before or"
    " after the words are put in order?",
)
def of_the_first_words(sentences, max_size=None):
    counts = Counter(word for sentence in sentences for word in sentence.split())
    room = len(within_max_size([*SPECIALS, *counts], max_size)) - len(SPECIALS)
    return numbered([*SPECIALS, *most_frequent_first(dict(list(counts.items())[:room]))])


@wrong(
    "a cut leaves the right one of several words that occur equally often",
    hint="Where max_size leaves room for only some of the words that occur equally often, which of"
    " them should stay? Which have stayed in yours?",
)
def cut_by_most_common(sentences, max_size=None):
    counts = Counter(word for sentence in sentences for word in sentence.split())
    within_max_size([], max_size)
    room = None if max_size is None else max_size - 4
    return numbered([*SPECIALS, *most_frequent_first(dict(counts.most_common(room)))])


wrong(
    "a max_size without room for the special tokens goes through",
    hint="The four special tokens always have to fit. What does your function do with a max_size that"
    " is too small for them?",
)(vocabulary_with(kept=unchecked))


wrong(
    "max_size=4 is too small",
    hint="Four entries are just enough for the four special tokens, and words without room are left"
    " out. Which values of max_size does your function refuse?",
)(vocabulary_with(kept=only_if_words_fit))


wrong(
    "0 stands for no limit",
    hint="Two different things can be false in Python: which values of max_size does your condition"
    " take for `no limit`?",
)(vocabulary_with(kept=zero_as_no_limit))


wrong(
    "a max_size that is not filled is a mistake",
    hint="max_size is the largest number of entries that is allowed, not one that has to be reached.",
)(vocabulary_with(kept=only_if_filled))


wrong(
    "the special tokens have no place here",
    hint="Which four entries does every vocabulary of this course begin with?",
)(vocabulary_with(specials=()))


@wrong(
    "the special tokens come last",
    hint="All entries are there. Which ids are set aside for the special tokens in the whole course?",
)
def with_specials_last(sentences, max_size=None):
    tokens = within_max_size(
        [*SPECIALS, *list(reference.build_vocabulary(sentences))[4:]], max_size
    )
    return numbered([*tokens[4:], *SPECIALS])


wrong("ids start at 1", hint="All your ids are one too large: which id does <pad> have?")(
    vocabulary_with(start=1)
)


wrong(
    "capital letters do not matter",
    hint="Words are taken as they are written. Is there a step in which yours lose their capital"
    " letters?",
)(vocabulary_with(words_of=lambda sentence: sentence.lower().split()))


wrong(
    "punctuation is no part of a word",
    hint="Only whitespace separates words here. What happens to a comma, an apostrophe or a hyphen in"
    " your function?",
)(vocabulary_with(words_of=lambda sentence: re.findall(r"\w+", sentence)))


wrong(
    "punctuation around a word is no part of it",
    hint="Words are taken as they are written. What happens to a comma or a full stop at the end of a"
    " word?",
)(vocabulary_with(words_of=without_marks_around))


wrong(
    "a single space separates words",
    hint="What do you get where two spaces stand together, where a tab stands, or where there is no"
    " word at all? Look at the words before you count them.",
)(vocabulary_with(words_of=lambda sentence: sentence.split(" ")))


wrong(
    "a string is a list of words",
    hint="Your entries are single letters: what do you get when you loop over a string?",
)(vocabulary_with(words_of=lambda sentence: sentence.replace(" ", "")))


@wrong(
    "the sentences can be read again",
    hint="A generator can be read only once. How often does your function go through `sentences`, and"
    " what does it find the second time?",
)
def read_twice(sentences, max_size=None):
    words = {word for sentence in sentences for word in sentence.split()}
    counts = Counter(word for sentence in sentences for word in sentence.split())
    return numbered(
        within_max_size(
            [*SPECIALS, *sorted(words, key=lambda word: (-counts[word], word))], max_size
        )
    )


@wrong(
    "the caller's list is free to be worked in",
    hint="Your function should only read `sentences`, from front to back. Which line of yours writes"
    " into it, puts something in, takes something out, or asks for a certain place?",
)
def splitting_in_place(sentences, max_size=None):
    for index in range(len(sentences)):
        sentences[index] = sentences[index].split()
    return reference.build_vocabulary([" ".join(words) for words in sentences], max_size)


@wrong(
    "a vocabulary leads from ids to words",
    hint="You will want to ask the dictionary for a word and be told its id. Which of the two is the"
    " key?",
)
def from_id_to_word(sentences, max_size=None):
    return dict(enumerate(reference.build_vocabulary(sentences, max_size)))


@right
def by_two_sorts(sentences, max_size=None):
    limit = float("inf") if max_size is None else max_size
    if limit < 4:
        raise ValueError("no room for the special tokens")
    words = " ".join(sentences).split()
    ranked = sorted(sorted(set(words)), key=words.count, reverse=True)
    return {token: index for index, token in enumerate(list(SPECIALS) + ranked) if index < limit}


@right
def by_loops(sentences, max_size=None):
    if max_size is not None and max_size < 4:
        raise ValueError
    counts, vocabulary = {}, {"<pad>": 0, "<bos>": 1, "<eos>": 2, "<unk>": 3}
    for sentence in sentences:
        for word in re.findall(r"\S+", sentence):
            counts[word] = counts.get(word, 0) + 1
    while counts and (max_size is None or len(vocabulary) < max_size):
        best = min(word for word in counts if counts[word] == max(counts.values()))
        vocabulary[best] = len(vocabulary)
        del counts[best]
    return vocabulary


@right
def by_numpy(sentences, max_size=None):
    if max_size is not None and max_size // 4 < 1:
        raise ValueError(f"{max_size} entries are too few")
    words, counts = np.unique(
        np.array([word for one in sentences for word in one.split()], dtype=str), return_counts=True
    )
    ranked = words[np.argsort(-counts, kind="stable")].tolist()
    return dict(
        zip([*SPECIALS, *ranked][:max_size], range(len(SPECIALS) + len(ranked)), strict=False)
    )
