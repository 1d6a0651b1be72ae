"""Sentences as token ids."""

import re

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch01_embeddings import (
    SPECIALS,
    after_the_first,
    fill,
    jumbled,
    numbered,
    shuffled,
    split_otherwise,
    with_all_whitespace,
    words_in_any_order,
)
from autograder.shared.probes import arguments_after
from solutions import ch01_embeddings as reference


def with_entries(sentence, known):
    return {"sentence": sentence, "vocabulary": numbered([*SPECIALS, *known])}


@drawn
def sentence(rng, pattern, arranged=jumbled, known=2, unknown=2):
    """Ask for a sentence of words, of which the vocabulary has the first ones."""
    words = words_in_any_order(rng, known + unknown)
    return with_entries(arranged(rng, fill(pattern, words).split()), words[:known])


ONE_UNKNOWN = sentence("$a $b $c")
LONGER = sentence("$a $b $c $d $e $f $g $h $a $b $c $i $j $k $i", known=8, unknown=3)
WHITESPACE = sentence("", lambda rng, _: " " * int(rng.integers(1, 4)) + "\t ")


def marks_and_short_words(rng):
    """A sentence in which some words have an entry only with their marks, and others only
    without.
    """
    words = words_in_any_order(rng, 5)
    known = shuffled(rng, fill("$a $b's $c $d-$e a 3", words).split())
    asked = jumbled(rng, fill("$a $a. $b $b's $c! $d $d-$e a 3", words).split())
    return with_entries(asked, known)


def hundreds_of_words(rng):
    words = shuffled(rng, [f"word{number}" for number in range(400)])
    return with_entries(jumbled(rng, words[200:]), words)


def encode_with(look_up=dict.get, words_of=str.split, unknown=3, dtype=np.int64):
    """Make an `encode` from rules for how the id of a word is looked up, for the words, for unknown
    words, and for the dtype.
    """

    def encode(sentence, vocabulary):
        ids = [look_up(vocabulary, word, unknown) for word in words_of(sentence)]
        return np.array(ids, dtype=dtype)

    return encode


checks = Checks(reference.encode, family=encode_with)
shown, hidden, wrong, right = checks.words

shown(
    "each word becomes its id, in the order of the sentence",
    sentence("$b $a $a $b", lambda rng, words: " ".join(after_the_first(rng, words))),
    weight=2,
)
shown("a word that the vocabulary does not have becomes <unk>", ONE_UNKNOWN)
shown(
    "spaces, tabs and line breaks all separate words",
    sentence(
        "$b $a $b $a $b",
        lambda rng, words: with_all_whitespace(rng, after_the_first(rng, words)),
    ),
)
shown(
    "a capital letter makes another word",
    sentence(
        "$a $b",
        lambda rng, words: jumbled(rng, [*words, words[rng.integers(2)].capitalize()]),
    ),
)
shown(
    "a comma belongs to the word that it touches",
    sentence("$a $b", lambda rng, words: ", ".join(shuffled(rng, words))),
)
shown("an empty sentence has no ids, and they are int64", sentence(""), exact=True)
shown("the vocabulary stays as it was", ONE_UNKNOWN, probe=arguments_after)
hidden("a longer sentence", LONGER, weight=2)
hidden("a sentence of unknown words alone", sentence("$f $g $f", known=5))
hidden("a sentence of whitespace alone", WHITESPACE)
hidden("a larger vocabulary stays as it was", LONGER, probe=arguments_after)
hidden("a sentence of one word has a row of one id", sentence("$b"))
hidden("marks of all kinds, digits and single letters belong to words", marks_and_short_words)
hidden("a long sentence, a vocabulary of hundreds of words", hundreds_of_words)
hidden("the vocabulary stays as it was where there are no words", WHITESPACE, probe=arguments_after)


@wrong(
    "unknown words can be left out",
    """Every word of the sentence keeps its place. Which ones are missing in yours, and what does
    the vocabulary have for them?""",
    around=True,
)
def dropping_unknown_words(right, sentence, vocabulary):
    known = [word for word in sentence.split() if word in vocabulary]
    return right(" ".join(known), vocabulary)


wrong(
    "an unknown word is padding",
    """Your unknown words have become 0. Which special token has that id, and is it the one for
    unknown words?""",
    unknown=0,
)


wrong(
    "every word is in the vocabulary",
    "What should happen to a word that the vocabulary does not have?",
    look_up=lambda vocabulary, word, _: vocabulary[word],
)


wrong(
    "a new word is given a new id",
    """Your unknown words have got ids of their own, which no embedding table has a row for. Which
    special token stands for all of them? Also, the dictionary belongs to the caller.""",
    look_up=lambda vocabulary, word, _: vocabulary.setdefault(word, len(vocabulary)),
)


wrong(
    "setdefault only looks up",
    """Compare the dictionary before and after the call. Which line of yours adds, removes or
    replaces an entry?""",
    look_up=dict.setdefault,
)


wrong(
    "a look-up finds something for every word",
    """Not everything that you put into the array is a number. What does your lookup return for a
    word that the vocabulary does not have?""",
    unknown=None,
)


wrong(
    "an array of ids may hold None",
    """NumPy chooses the dtype object when not everything is a number. What does your lookup return
    for a word that the vocabulary does not have?""",
    unknown=None,
    dtype=None,
)


wrong(
    "np.array finds the dtype by itself",
    """The result is int64 even when there are no ids. Which dtype does NumPy choose for an empty
    array if you do not name one?""",
    dtype=None,
)


wrong(
    "ids may be float64",
    """Ids will serve as indices, so they must be integers, but yours are floating-point numbers. At
    which step do they become so, and which dtype does the docstring name?""",
    dtype=np.float64,
)


wrong(
    "any integer will do",
    """The numbers are right, but compare the width of your integers with the dtype that the
    docstring names.""",
    dtype=np.int32,
)


wrong(
    "a list is as good as an array",
    """The ids are right, but later chapters index and compare whole arrays of them. What type does
    the docstring promise?""",
    then=np.ndarray.tolist,
)


wrong(
    "<bos> and <eos> are added here",
    """Your result is two ids longer than the sentence. Is there one id for each word, and nothing
    else?""",
    then=lambda ids: np.array([1, *ids, 2]),
)


wrong(
    "<eos> is added here",
    """Your result is one id longer than the sentence. Is there one id for each word, and nothing
    else?""",
    then=lambda ids: np.array([*ids, 2]),
)


wrong(
    "one id needs no axis",
    """How many axes does the result have for a sentence of three words, and how many for a sentence
    of one?""",
    then=np.squeeze,
)


wrong(
    "a sentence is a batch of one",
    """Your result has one axis too many. How many axes does the docstring name for a single
    sentence?""",
    then=lambda ids: ids[np.newaxis],
)


split_otherwise(wrong)


wrong(
    "a string is a list of words",
    "Your result has one id for each letter: what do you get when you loop over a string?",
    words_of=list,
)


@right
def by_fromiter(sentence, vocabulary):
    return np.fromiter(
        (vocabulary[word if word in vocabulary else "<unk>"] for word in sentence.split()),
        dtype=np.int64,
    )


@right
def by_loops(sentence, vocabulary):
    ids = []
    for word in re.findall(r"\S+", sentence):
        found = [index for token, index in vocabulary.items() if token == word]
        ids += found or [vocabulary["<unk>"]]
    return np.asarray(ids).astype("int64")


@right
@encode_with
def by_exceptions(vocabulary, word, unknown):
    try:
        return vocabulary[word]
    except KeyError:
        return unknown


@right
def by_torch(sentence, vocabulary):
    import torch

    ids = [vocabulary.get(word, 3) for word in sentence.split()]
    return torch.tensor(ids, dtype=torch.int64).numpy()
