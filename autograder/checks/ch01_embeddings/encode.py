"""Sentences as token ids."""

import re

import numpy as np

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn
from autograder.checks.ch01_embeddings import SPECIALS, draw_words, shuffled, with_all_whitespace
from autograder.checks.ch01_embeddings.build_vocabulary import numbered, without_marks_around
from autograder.shared.probes import arguments_after
from solutions import ch01_embeddings as reference


@drawn
def sentence_and_vocabulary(rng, sentence_of, known=2, unknown=2):
    """Ask for a sentence that `sentence_of(rng, known, unknown)` makes, with a vocabulary of the
    known words.
    """
    words = shuffled(rng, draw_words(rng, known + unknown))
    sentence = sentence_of(rng, words[:known], words[known:])
    return {"sentence": sentence, "vocabulary": numbered([*SPECIALS, *words[:known]])}


def known_words(rng, known, unknown):
    return " ".join([known[1], *shuffled(rng, [known[0], known[0], known[1]])])


def one_unknown_word(rng, known, unknown):
    return " ".join(shuffled(rng, [*known, unknown[0]]))


def known_words_between_all_whitespace(rng, known, unknown):
    return with_all_whitespace(rng, [known[1], *shuffled(rng, [*known, *known])])


def with_a_capital(rng, known, unknown):
    return " ".join(shuffled(rng, [*known, known[rng.integers(2)].capitalize()]))


def with_a_comma_between(rng, known, unknown):
    return ", ".join(shuffled(rng, known))


def longer_sentence(rng, known, unknown):
    return " ".join(shuffled(rng, [*known, *known[:3], *unknown, unknown[0]]))


def unknown_words(rng, known, unknown):
    return " ".join(shuffled(rng, [*unknown, unknown[0]]))


def nothing(rng, known, unknown):
    return ""


def only_whitespace(rng, known, unknown):
    return " " * int(rng.integers(1, 4)) + "\t "


def one_word(rng, known, unknown):
    return known[1]


def marks_and_short_words_to_encode(rng):
    """A sentence in which some words have an entry only with their marks, and others only
    without.
    """
    word, other, third, *pair = shuffled(rng, draw_words(rng, 5))
    known = shuffled(rng, [word, f"{other}'s", third, "-".join(pair), "a", "3"])
    words = [word, f"{word}.", other, f"{other}'s", f"{third}!", pair[0], "-".join(pair), "a", "3"]
    return {"sentence": " ".join(shuffled(rng, words)), "vocabulary": numbered([*SPECIALS, *known])}


def hundreds_of_words(rng):
    words = shuffled(rng, [f"word{number}" for number in range(400)])
    return {
        "sentence": " ".join(shuffled(rng, words[200:])),
        "vocabulary": numbered([*SPECIALS, *words]),
    }


def encode_with(
    words_of=str.split, id_of=lambda word, vocabulary: vocabulary.get(word, 3), dtype=np.int64
):
    """Make an `encode` from rules for the words, for the id of one, and for the dtype."""

    def encode(sentence, vocabulary):
        return np.array([id_of(word, vocabulary) for word in words_of(sentence)], dtype=dtype)

    return encode


checks = Checks(reference.encode)
shown, hidden, wrong, right = checks.words

shown(
    "each word becomes its id, in the order of the sentence",
    sentence_and_vocabulary(known_words),
    weight=2,
)
shown(
    "a word that the vocabulary does not have becomes <unk>",
    sentence_and_vocabulary(one_unknown_word),
)
shown(
    "spaces, tabs and line breaks all separate words",
    sentence_and_vocabulary(known_words_between_all_whitespace),
)
shown("a capital letter makes another word", sentence_and_vocabulary(with_a_capital))
shown("a comma belongs to the word that it touches", sentence_and_vocabulary(with_a_comma_between))
shown("an empty sentence has no ids, and they are int64", sentence_and_vocabulary(nothing))
shown(
    "the vocabulary stays as it was",
    sentence_and_vocabulary(one_unknown_word),
    probe=arguments_after,
)
hidden("a longer sentence", sentence_and_vocabulary(longer_sentence, known=8, unknown=3), weight=2)
hidden("a sentence of unknown words alone", sentence_and_vocabulary(unknown_words, known=5))
hidden("a sentence of whitespace alone", sentence_and_vocabulary(only_whitespace))
hidden(
    "a larger vocabulary stays as it was",
    sentence_and_vocabulary(longer_sentence, 8, 3),
    probe=arguments_after,
)
hidden("a sentence of one word has a row of one id", sentence_and_vocabulary(one_word))
hidden(
    "marks of all kinds, digits and single letters belong to words", marks_and_short_words_to_encode
)
hidden("a long sentence, a vocabulary of hundreds of words", hundreds_of_words)
hidden(
    "the vocabulary stays as it was where there are no words",
    sentence_and_vocabulary(only_whitespace),
    probe=arguments_after,
)


@wrong(
    "unknown words can be left out",
    hint="Every word of the sentence keeps its place. Which of yours have gone, and what does the"
    " vocabulary have for them?",
)
def dropping_unknown_words(sentence, vocabulary):
    return np.array(
        [vocabulary[word] for word in sentence.split() if word in vocabulary], dtype=np.int64
    )


wrong(
    "an unknown word is padding",
    hint="Your unknown words have become 0. Which special token has that id, and is it the one for"
    " unknown words?",
)(encode_with(id_of=lambda word, vocabulary: vocabulary.get(word, 0)))


wrong(
    "every word is in the vocabulary",
    hint="What should happen to a word that the vocabulary does not have?",
)(encode_with(id_of=lambda word, vocabulary: vocabulary[word]))


@wrong(
    "a new word is given a new id",
    hint="Your unknown words have got ids of their own, which no embedding table has a row for. Which"
    " special token stands for all of them? And the dictionary belongs to the caller.",
)
def learning_new_words(sentence, vocabulary):
    for word in sentence.split():
        vocabulary.setdefault(word, len(vocabulary))
    return reference.encode(sentence, vocabulary)


wrong(
    "setdefault only looks up",
    hint="Compare the dictionary before and after the call. Which line of yours puts something in,"
    " takes something out or replaces something?",
)(encode_with(id_of=lambda word, vocabulary: vocabulary.setdefault(word, 3)))


wrong(
    "a look-up finds something for every word",
    hint="Not everything that you put into the array is a number. What does your look-up give for a"
    " word that the vocabulary does not have?",
)(encode_with(id_of=lambda word, vocabulary: vocabulary.get(word)))


wrong(
    "an array of ids may hold None",
    hint="NumPy chooses the dtype object where not everything is a number. What does your look-up give"
    " for a word that the vocabulary does not have?",
)(encode_with(id_of=lambda word, vocabulary: vocabulary.get(word), dtype=None))


wrong(
    "np.array finds the dtype by itself",
    hint="Ids are int64, also where there are none. Which dtype does NumPy choose for an array without"
    " numbers when it is not told one?",
)(encode_with(dtype=None))


@wrong(
    "ids may be float64",
    hint="Ids are whole numbers that will serve as indices, but yours are floating. At which step do"
    " they become so, and which dtype does the docstring name?",
)
def filling_zeros(sentence, vocabulary):
    ids = np.zeros(len(sentence.split()))
    ids[:] = reference.encode(sentence, vocabulary)
    return ids


wrong(
    "any integer will do",
    hint="The numbers are right; compare the width of your integers with the one that the docstring"
    " names.",
)(encode_with(dtype=np.int32))


@wrong(
    "a list is as good as an array",
    hint="The ids are right. The chapters to come index and compare whole arrays of them: what should"
    " they be kept in?",
)
def as_a_list(sentence, vocabulary):
    return reference.encode(sentence, vocabulary).tolist()


@wrong(
    "<bos> and <eos> are added here",
    hint="Your result is two ids longer than the sentence. Is there one id for each word, and nothing"
    " else?",
)
def framed(sentence, vocabulary):
    return np.array([1, *reference.encode(sentence, vocabulary), 2], dtype=np.int64)


@wrong(
    "<eos> is added here",
    hint="Your result is one id longer than the sentence. Is there one id for each word, and nothing"
    " else?",
)
def with_an_end(sentence, vocabulary):
    return np.array([*reference.encode(sentence, vocabulary), 2], dtype=np.int64)


@wrong(
    "one id needs no axis",
    hint="How many axes does the result have for a sentence of three words, and how many for a"
    " sentence of one?",
)
def without_an_axis_of_one(sentence, vocabulary):
    return reference.encode(sentence, vocabulary).squeeze()


@wrong(
    "a sentence is a batch of one",
    hint="Your result has an axis too many: one sentence gives a single row of ids.",
)
def as_a_batch(sentence, vocabulary):
    return reference.encode(sentence, vocabulary)[np.newaxis]


wrong(
    "capital letters do not matter",
    hint="Words are taken as they are written. Is there a step in which yours lose their capital"
    " letters?",
)(encode_with(words_of=lambda sentence: sentence.lower().split()))


wrong(
    "punctuation is no part of a word",
    hint="Only whitespace separates words here. What happens to a comma, an apostrophe or a hyphen in"
    " your function?",
)(encode_with(words_of=lambda sentence: re.findall(r"\w+", sentence)))


wrong(
    "punctuation around a word is no part of it",
    hint="Words are taken as they are written. What happens to a comma or a full stop at the end of a"
    " word?",
)(encode_with(words_of=without_marks_around))


wrong(
    "a single space separates words",
    hint="What do you get where two spaces stand together, where a tab stands, or where there is no"
    " word at all? Look at the words before you look them up.",
)(encode_with(words_of=lambda sentence: sentence.split(" ")))


wrong(
    "a string is a list of words",
    hint="Your result has one id for each letter: what do you get when you loop over a string?",
)(encode_with(words_of=list))


@right
def by_fromiter(sentence, vocabulary):
    return np.fromiter(
        (vocabulary[word if word in vocabulary else "<unk>"] for word in sentence.split()),
        dtype=np.int64,
    )


@right
def by_loops(sentence, vocabulary):
    words = re.findall(r"\S+", sentence)
    ids = np.full(len(words), vocabulary["<unk>"])
    for position, word in enumerate(words):
        for token, index in vocabulary.items():
            if token == word:
                ids[position] = index
    return ids


@right
def by_torch(sentence, vocabulary):
    import torch

    return torch.tensor(
        [vocabulary.get(word, 3) for word in sentence.split()], dtype=torch.int64
    ).numpy()


@right
def by_astype(sentence, vocabulary):
    ids = []
    for word in sentence.split():
        try:
            ids.append(vocabulary[word])
        except KeyError:
            ids.append(vocabulary["<unk>"])
    return np.asarray(ids).astype("int64")
