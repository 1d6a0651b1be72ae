"""Checks of `ch01_embeddings`.

The contract leaves open, and so nothing here asks: words spelled like a special token, ids outside
the table in `embed` and `embedding_gradient`, the alphabetical order of capitals among small
letters or of punctuation, ids that are not int64, the order in which a dictionary lists its
entries.
"""

import re
from collections import Counter
from itertools import combinations, pairwise

import numpy as np

from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import arguments_after, returned_for_generator
from solutions import ch01_embeddings as reference

ROWS_SUM_TO_ONE = ("sums_to_one", {})
SPECIALS = reference.SPECIAL_TOKENS

# Of three or four letters each: a vocabulary of two words, or two short sentences, still stand in a
# message in full.
ANIMALS_AND_PLANTS = """
    ant ape bat bear bee bird bud cat cow crow deer dog dove duck eel elk fern fish fox frog goat hare hawk hen ivy kite
    lamb lark leaf lily lion lynx mole moss moth mule newt oak owl pig pine plum ram reed rose seal swan toad tree vole
    wasp wolf worm yak
"""
WORDS = tuple(ANIMALS_AND_PLANTS.split())
LONGER_BEFORE_SHORTER = tuple(
    (one, other)
    for one, other in combinations(sorted(WORDS), 2)
    if one[0] == other[0] and len(one) > len(other)
)


def draw_words(rng, count):
    """Draw different words, in alphabetical order."""
    return sorted(rng.choice(WORDS, size=count, replace=False).tolist())


def shuffled(rng, items):
    return rng.permutation(items).tolist()


def shuffled_ties(rng, words):
    """Order three words, given alphabetically, as neither the alphabet nor its reverse does, the
    first not in front.
    """
    first, second, third = words
    orders = ((second, third, first), (second, first, third), (third, first, second))
    return list(orders[rng.integers(len(orders))])


def as_sentences(rng, words, count=2):
    """Cut a list of words into sentences, none of them empty."""
    cuts = [0, *sorted(1 + rng.choice(len(words) - 1, size=count - 1, replace=False)), len(words)]
    return [" ".join(words[start:end]) for start, end in pairwise(cuts)]


def with_all_whitespace(rng, words):
    """Join words by spaces, a tab and both kinds of line break, with more of them around."""
    gaps = shuffled(rng, ["  ", "\t", "\n", "\r\n", *[" "] * (len(words) - 5)])
    return " " + "".join(word + gap for word, gap in zip(words, [*gaps, "\n"], strict=True))


def different_numbers(rng, *shape, dtype=np.float64):
    """Draw quarters, no two alike in size, with one sign in each column.

    Quarters add up exactly in every dtype and order, and what has one sign never cancels: no right
    answer loses by rounding, and no lost or repeated summand stays unseen.
    """
    size = int(np.prod(shape))
    sizes = rng.permutation(np.arange(1, size + 12))[:size].reshape(shape) / 4
    return (sizes * rng.choice([-1, 1], size=shape[-1])).astype(dtype)


def thirds(rng, *shape, dtype=np.float64):
    """Draw numbers like `different_numbers` of which any narrower dtype loses digits."""
    return (4 * different_numbers(rng, *shape) - 1 / 3).astype(dtype)


def thousands(rng, *shape, dtype=np.float64):
    return 1000 * different_numbers(rng, *shape, dtype=dtype)


# --- build_vocabulary
# ------------------------------------------------------------------------------------------------


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


def beside_another_spelling(respell):
    """Ask for a text in which a word and a variant of it occur, in different numbers."""

    def inputs(rng):
        word, other = shuffled(rng, draw_words(rng, 2))
        return {
            "sentences": as_sentences(
                rng, shuffled(rng, [respell(word)] * 3 + [word] * 2 + [other])
            )
        }

    return inputs


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


def three_frequencies_up_to(*max_sizes):
    return lambda rng: {**three_frequencies(rng), "max_size": int(rng.choice(max_sizes))}


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


def vocabulary_cut_by_most_common(sentences, max_size=None):
    counts = Counter(word for sentence in sentences for word in sentence.split())
    within_max_size([], max_size)
    room = None if max_size is None else max_size - 4
    return numbered([*SPECIALS, *most_frequent_first(dict(counts.most_common(room)))])


def vocabulary_read_twice(sentences, max_size=None):
    words = {word for sentence in sentences for word in sentence.split()}
    counts = Counter(word for sentence in sentences for word in sentence.split())
    return numbered(
        within_max_size(
            [*SPECIALS, *sorted(words, key=lambda word: (-counts[word], word))], max_size
        )
    )


def vocabulary_of_the_first_words(sentences, max_size=None):
    counts = Counter(word for sentence in sentences for word in sentence.split())
    room = len(within_max_size([*SPECIALS, *counts], max_size)) - len(SPECIALS)
    return numbered([*SPECIALS, *most_frequent_first(dict(list(counts.items())[:room]))])


def vocabulary_with_specials_last(sentences, max_size=None):
    tokens = within_max_size(
        [*SPECIALS, *list(reference.build_vocabulary(sentences))[4:]], max_size
    )
    return numbered([*tokens[4:], *SPECIALS])


def vocabulary_from_id_to_word(sentences, max_size=None):
    return dict(enumerate(reference.build_vocabulary(sentences, max_size)))


def vocabulary_splitting_in_place(sentences, max_size=None):
    for index in range(len(sentences)):
        sentences[index] = sentences[index].split()
    return reference.build_vocabulary([" ".join(words) for words in sentences], max_size)


def numbered(tokens):
    return {token: index for index, token in enumerate(tokens)}


def vocabulary_by_two_sorts(sentences, max_size=None):
    limit = float("inf") if max_size is None else max_size
    if limit < 4:
        raise ValueError("no room for the special tokens")
    words = " ".join(sentences).split()
    ranked = sorted(sorted(set(words)), key=words.count, reverse=True)
    return {token: index for index, token in enumerate(list(SPECIALS) + ranked) if index < limit}


def vocabulary_by_loops(sentences, max_size=None):
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


def vocabulary_by_numpy(sentences, max_size=None):
    if max_size is not None and max_size // 4 < 1:
        raise ValueError(f"{max_size} entries are too few")
    words, counts = np.unique(
        np.array([word for one in sentences for word in one.split()], dtype=str), return_counts=True
    )
    ranked = words[np.argsort(-counts, kind="stable")].tolist()
    return dict(
        zip([*SPECIALS, *ranked][:max_size], range(len(SPECIALS) + len(ranked)), strict=False)
    )


VOCABULARY = Exercise(
    reference=reference.build_vocabulary,
    cases=(
        Case("the most frequent word comes first", three_frequencies, weight=2),
        Case("words that occur equally often stand in alphabetical order", with_ties),
        Case(
            "a word counts each time it occurs, also twice in one sentence", often_in_one_sentence
        ),
        Case("spaces, tabs and line breaks all separate words", between_all_whitespace),
        Case("a capital letter makes another word", beside_another_spelling(str.capitalize)),
        Case("a comma belongs to the word that it touches", beside_another_spelling(with_a_comma)),
        Case("no sentences leave the special tokens alone", lambda rng: {"sentences": []}),
        Case("max_size counts the special tokens too", cut_by_max_size),
        Case("max_size=4 leaves room for the special tokens alone", room_for_no_word),
        Case("a max_size that the words do not fill changes nothing", unfilled_max_size),
        Case("max_size=3 is refused", three_frequencies_up_to(3)),
        Case(
            "sentences may come from a generator, which can be read only once",
            three_frequencies,
            returned_for_generator,
        ),
        Case("the list of sentences stays as it was", with_ties, probe=arguments_after),
        Case("a longer text", longer_text, visible=False, weight=2),
        Case(
            "max_size cuts between words that occur equally often", cut_between_ties, visible=False
        ),
        Case("max_size=0 is refused too", three_frequencies_up_to(0), visible=False),
        Case(
            "a generator together with max_size",
            cut_by_max_size,
            probe=returned_for_generator,
            visible=False,
        ),
        Case("empty sentences add nothing", among_empty_sentences, visible=False),
        Case(
            "capitals, commas and whitespace of all kinds in one text",
            everything_between_whitespace,
            visible=False,
        ),
        Case(
            "marks of all kinds, digits and single letters belong to words",
            marks_and_short_words,
            visible=False,
        ),
        Case(
            "words that occur equally often are compared letter by letter",
            ties_of_different_lengths,
            visible=False,
        ),
        Case("a sentence that occurs twice counts twice", one_sentence_twice, visible=False),
        Case("a max_size of 1 or 2 is refused too", three_frequencies_up_to(1, 2), visible=False),
        Case(
            "a negative max_size is refused too", three_frequencies_up_to(-1, -2, -5), visible=False
        ),
        Case("an untidy list stays as it was", untidy_list, probe=arguments_after, visible=False),
    ),
    misconceptions=(
        Misconception(
            "Counter.most_common breaks ties alphabetically",
            vocabulary_with(order=ties_as_they_come),
            "Which of two words that occur equally often did you put first: the first in the"
            " alphabet, or the first in the text?",
        ),
        Misconception(
            "one reversed sort serves both parts of the key",
            vocabulary_with(order=ties_backwards),
            "The frequencies fall as they should, but words that occur equally often run backwards"
            " through the alphabet. What does reversing a sort do to each part of its key?",
        ),
        Misconception(
            "the rarest word comes first",
            vocabulary_with(order=rarest_first),
            "In which direction do your frequencies run: does the word with id 4 occur most often,"
            " or least often?",
        ),
        Misconception(
            "the alphabet decides alone",
            vocabulary_with(order=sorted),
            "Your words stand in alphabetical order throughout. When is the alphabet asked: always,"
            " or only for words that occur equally often?",
        ),
        Misconception(
            "the text's own order is the order",
            vocabulary_with(order=list),
            "Your words stand in the order in which the text first has them. How often each occurs"
            " should decide.",
        ),
        Misconception(
            "a frequency is a number of sentences",
            vocabulary_with(words_of=lambda sentence: set(sentence.split())),
            "How much does a word count that stands twice in one sentence?",
        ),
        Misconception(
            "words that occur once are not worth an id",
            vocabulary_with(order=without_rare_words),
            "Every word of the text gets an id while max_size leaves room, also one that occurs"
            " only once. Where do yours go?",
        ),
        Misconception(
            "the limit is for words alone",
            vocabulary_with(kept=beyond_the_specials),
            "Count all the entries of your dictionary, the special tokens included, and compare"
            " with max_size.",
        ),
        Misconception(
            "max_size can be left aside",
            vocabulary_with(kept=everything),
            "Where does max_size limit what you return?",
        ),
        Misconception(
            "the first max_size words of the text are kept",
            vocabulary_of_the_first_words,
            "You have kept the words that the text has first. When is the right moment to cut:"
            " before or after the words are put in order?",
        ),
        Misconception(
            "a cut leaves the right one of several words that occur equally often",
            vocabulary_cut_by_most_common,
            "Where max_size leaves room for only some of the words that occur equally often, which"
            " of them should stay? Which have stayed in yours?",
        ),
        Misconception(
            "a max_size without room for the special tokens goes through",
            vocabulary_with(kept=unchecked),
            "The four special tokens always have to fit. What does your function do with a max_size"
            " that is too small for them?",
        ),
        Misconception(
            "max_size=4 is too small",
            vocabulary_with(kept=only_if_words_fit),
            "Four entries are just enough for the four special tokens, and words without room are"
            " left out. Which values of max_size does your function refuse?",
        ),
        Misconception(
            "0 stands for no limit",
            vocabulary_with(kept=zero_as_no_limit),
            "Two different things can be false in Python: which values of max_size does your"
            " condition take for `no limit`?",
        ),
        Misconception(
            "a max_size that is not filled is a mistake",
            vocabulary_with(kept=only_if_filled),
            "max_size is the largest number of entries that is allowed, not one that has to be"
            " reached.",
        ),
        Misconception(
            "the special tokens have no place here",
            vocabulary_with(specials=()),
            "Which four entries does every vocabulary of this course begin with?",
        ),
        Misconception(
            "the special tokens come last",
            vocabulary_with_specials_last,
            "All entries are there. Which ids are set aside for the special tokens in the whole"
            " course?",
        ),
        Misconception(
            "ids start at 1",
            vocabulary_with(start=1),
            "All your ids are one too large: which id does <pad> have?",
        ),
        Misconception(
            "capital letters do not matter",
            vocabulary_with(words_of=lambda sentence: sentence.lower().split()),
            "Words are taken as they are written. Is there a step in which yours lose their capital"
            " letters?",
        ),
        Misconception(
            "punctuation is no part of a word",
            vocabulary_with(words_of=lambda sentence: re.findall(r"\w+", sentence)),
            "Only whitespace separates words here. What happens to a comma, an apostrophe or a"
            " hyphen in your function?",
        ),
        Misconception(
            "punctuation around a word is no part of it",
            vocabulary_with(words_of=without_marks_around),
            "Words are taken as they are written. What happens to a comma or a full stop at the end"
            " of a word?",
        ),
        Misconception(
            "a single space separates words",
            vocabulary_with(words_of=lambda sentence: sentence.split(" ")),
            "What do you get where two spaces stand together, where a tab stands, or where there is"
            " no word at all? Look at the words before you count them.",
        ),
        Misconception(
            "a string is a list of words",
            vocabulary_with(words_of=lambda sentence: sentence.replace(" ", "")),
            "Your entries are single letters: what do you get when you loop over a string?",
        ),
        Misconception(
            "the sentences can be read again",
            vocabulary_read_twice,
            "A generator can be read only once. How often does your function go through"
            " `sentences`, and what does it find the second time?",
        ),
        Misconception(
            "the caller's list is free to be worked in",
            vocabulary_splitting_in_place,
            "Your function should only read `sentences`, from front to back. Which line of yours"
            " writes into it, puts something in, takes something out, or asks for a certain place?",
        ),
        Misconception(
            "a vocabulary leads from ids to words",
            vocabulary_from_id_to_word,
            "You will want to ask the dictionary for a word and be told its id. Which of the two is"
            " the key?",
        ),
    ),
    alternatives=(vocabulary_by_two_sorts, vocabulary_by_loops, vocabulary_by_numpy),
    shortcuts=("build_vocab_from_iterator", "CountVectorizer"),
)

# --- encode
# ----------------------------------------------------------------------------------------------------------


def sentence_and_vocabulary(sentence_of, known=2, unknown=2):
    """Ask for a sentence that `sentence_of(rng, known, unknown)` makes, with a vocabulary of the
    known words.
    """

    def inputs(rng):
        words = shuffled(rng, draw_words(rng, known + unknown))
        sentence = sentence_of(rng, words[:known], words[known:])
        return {"sentence": sentence, "vocabulary": numbered([*SPECIALS, *words[:known]])}

    return inputs


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


def encode_dropping_unknown_words(sentence, vocabulary):
    return np.array(
        [vocabulary[word] for word in sentence.split() if word in vocabulary], dtype=np.int64
    )


def encode_learning_new_words(sentence, vocabulary):
    for word in sentence.split():
        vocabulary.setdefault(word, len(vocabulary))
    return reference.encode(sentence, vocabulary)


def encode_as_a_list(sentence, vocabulary):
    return reference.encode(sentence, vocabulary).tolist()


def encode_without_an_axis_of_one(sentence, vocabulary):
    return reference.encode(sentence, vocabulary).squeeze()


def encode_framed(sentence, vocabulary):
    return np.array([1, *reference.encode(sentence, vocabulary), 2], dtype=np.int64)


def encode_with_an_end(sentence, vocabulary):
    return np.array([*reference.encode(sentence, vocabulary), 2], dtype=np.int64)


def encode_as_a_batch(sentence, vocabulary):
    return reference.encode(sentence, vocabulary)[np.newaxis]


def encode_filling_zeros(sentence, vocabulary):
    ids = np.zeros(len(sentence.split()))
    ids[:] = reference.encode(sentence, vocabulary)
    return ids


def encode_by_fromiter(sentence, vocabulary):
    return np.fromiter(
        (vocabulary[word if word in vocabulary else "<unk>"] for word in sentence.split()),
        dtype=np.int64,
    )


def encode_by_loops(sentence, vocabulary):
    words = re.findall(r"\S+", sentence)
    ids = np.full(len(words), vocabulary["<unk>"])
    for position, word in enumerate(words):
        for token, index in vocabulary.items():
            if token == word:
                ids[position] = index
    return ids


def encode_by_torch(sentence, vocabulary):
    import torch

    return torch.tensor(
        [vocabulary.get(word, 3) for word in sentence.split()], dtype=torch.int64
    ).numpy()


def encode_by_astype(sentence, vocabulary):
    ids = []
    for word in sentence.split():
        try:
            ids.append(vocabulary[word])
        except KeyError:
            ids.append(vocabulary["<unk>"])
    return np.asarray(ids).astype("int64")


ENCODE = Exercise(
    reference=reference.encode,
    cases=(
        Case(
            "each word becomes its id, in the order of the sentence",
            sentence_and_vocabulary(known_words),
            weight=2,
        ),
        Case(
            "a word that the vocabulary does not have becomes <unk>",
            sentence_and_vocabulary(one_unknown_word),
        ),
        Case(
            "spaces, tabs and line breaks all separate words",
            sentence_and_vocabulary(known_words_between_all_whitespace),
        ),
        Case("a capital letter makes another word", sentence_and_vocabulary(with_a_capital)),
        Case(
            "a comma belongs to the word that it touches",
            sentence_and_vocabulary(with_a_comma_between),
        ),
        Case("an empty sentence has no ids, and they are int64", sentence_and_vocabulary(nothing)),
        Case(
            "the vocabulary stays as it was",
            sentence_and_vocabulary(one_unknown_word),
            probe=arguments_after,
        ),
        Case(
            "a longer sentence",
            sentence_and_vocabulary(longer_sentence, known=8, unknown=3),
            visible=False,
            weight=2,
        ),
        Case(
            "a sentence of unknown words alone",
            sentence_and_vocabulary(unknown_words, known=5),
            visible=False,
        ),
        Case(
            "a sentence of whitespace alone",
            sentence_and_vocabulary(only_whitespace),
            visible=False,
        ),
        Case(
            "a larger vocabulary stays as it was",
            sentence_and_vocabulary(longer_sentence, 8, 3),
            arguments_after,
            visible=False,
        ),
        Case(
            "a sentence of one word has a row of one id",
            sentence_and_vocabulary(one_word),
            visible=False,
        ),
        Case(
            "marks of all kinds, digits and single letters belong to words",
            marks_and_short_words_to_encode,
            visible=False,
        ),
        Case(
            "a long sentence, a vocabulary of hundreds of words", hundreds_of_words, visible=False
        ),
        Case(
            "the vocabulary stays as it was where there are no words",
            sentence_and_vocabulary(only_whitespace),
            arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "unknown words can be left out",
            encode_dropping_unknown_words,
            "Every word of the sentence keeps its place. Which of yours have gone, and what does"
            " the vocabulary have for them?",
        ),
        Misconception(
            "an unknown word is padding",
            encode_with(id_of=lambda word, vocabulary: vocabulary.get(word, 0)),
            "Your unknown words have become 0. Which special token has that id, and is it the one"
            " for unknown words?",
        ),
        Misconception(
            "every word is in the vocabulary",
            encode_with(id_of=lambda word, vocabulary: vocabulary[word]),
            "What should happen to a word that the vocabulary does not have?",
        ),
        Misconception(
            "a new word is given a new id",
            encode_learning_new_words,
            "Your unknown words have got ids of their own, which no embedding table has a row for."
            " Which special token stands for all of them? And the dictionary belongs to the"
            " caller.",
        ),
        Misconception(
            "setdefault only looks up",
            encode_with(id_of=lambda word, vocabulary: vocabulary.setdefault(word, 3)),
            "Compare the dictionary before and after the call. Which line of yours puts something"
            " in, takes something out or replaces something?",
        ),
        Misconception(
            "a look-up finds something for every word",
            encode_with(id_of=lambda word, vocabulary: vocabulary.get(word)),
            "Not everything that you put into the array is a number. What does your look-up give"
            " for a word that the vocabulary does not have?",
        ),
        Misconception(
            "an array of ids may hold None",
            encode_with(id_of=lambda word, vocabulary: vocabulary.get(word), dtype=None),
            "NumPy chooses the dtype object where not everything is a number. What does your"
            " look-up give for a word that the vocabulary does not have?",
        ),
        Misconception(
            "np.array finds the dtype by itself",
            encode_with(dtype=None),
            "Ids are int64, also where there are none. Which dtype does NumPy choose for an array"
            " without numbers when it is not told one?",
        ),
        Misconception(
            "ids may be float64",
            encode_filling_zeros,
            "Ids are whole numbers that will serve as indices, but yours are floating. At which"
            " step do they become so, and which dtype does the docstring name?",
        ),
        Misconception(
            "any integer will do",
            encode_with(dtype=np.int32),
            "The numbers are right; compare the width of your integers with the one that the"
            " docstring names.",
        ),
        Misconception(
            "a list is as good as an array",
            encode_as_a_list,
            "The ids are right. The chapters to come index and compare whole arrays of them: what"
            " should they be kept in?",
        ),
        Misconception(
            "<bos> and <eos> are added here",
            encode_framed,
            "Your result is two ids longer than the sentence. Is there one id for each word, and"
            " nothing else?",
        ),
        Misconception(
            "<eos> is added here",
            encode_with_an_end,
            "Your result is one id longer than the sentence. Is there one id for each word, and"
            " nothing else?",
        ),
        Misconception(
            "one id needs no axis",
            encode_without_an_axis_of_one,
            "How many axes does the result have for a sentence of three words, and how many for a"
            " sentence of one?",
        ),
        Misconception(
            "a sentence is a batch of one",
            encode_as_a_batch,
            "Your result has an axis too many: one sentence gives a single row of ids.",
        ),
        Misconception(
            "capital letters do not matter",
            encode_with(words_of=lambda sentence: sentence.lower().split()),
            "Words are taken as they are written. Is there a step in which yours lose their capital"
            " letters?",
        ),
        Misconception(
            "punctuation is no part of a word",
            encode_with(words_of=lambda sentence: re.findall(r"\w+", sentence)),
            "Only whitespace separates words here. What happens to a comma, an apostrophe or a"
            " hyphen in your function?",
        ),
        Misconception(
            "punctuation around a word is no part of it",
            encode_with(words_of=without_marks_around),
            "Words are taken as they are written. What happens to a comma or a full stop at the end"
            " of a word?",
        ),
        Misconception(
            "a single space separates words",
            encode_with(words_of=lambda sentence: sentence.split(" ")),
            "What do you get where two spaces stand together, where a tab stands, or where there is"
            " no word at all? Look at the words before you look them up.",
        ),
        Misconception(
            "a string is a list of words",
            encode_with(words_of=list),
            "Your result has one id for each letter: what do you get when you loop over a string?",
        ),
    ),
    alternatives=(encode_by_fromiter, encode_by_loops, encode_by_torch, encode_by_astype),
)

# --- one_hot
# ---------------------------------------------------------------------------------------------------------


def first_last_and_between(rng):
    vocab_size = int(rng.integers(4, 12))
    ids = shuffled(rng, [0, vocab_size - 1, int(rng.integers(1, vocab_size - 1))])
    return {"token_ids": np.array(ids), "vocab_size": vocab_size}


def ids_that_stop_short(rng):
    vocab_size = int(rng.integers(6, 9))
    return {
        "token_ids": rng.permutation([0, *rng.integers(vocab_size - 2, size=2)]),
        "vocab_size": vocab_size,
    }


def ids_of_shape(*shape):
    def inputs(rng):
        vocab_size = int(rng.integers(7, 16))
        return {"token_ids": rng.integers(vocab_size, size=shape), "vocab_size": vocab_size}

    return inputs


def among_hundreds(rng):
    vocab_size = int(rng.integers(300, 400))
    ids = [0, vocab_size - 1, int(rng.integers(128, 256)), int(rng.integers(256, vocab_size))]
    return {"token_ids": np.array(shuffled(rng, ids)), "vocab_size": vocab_size}


def as_many_ids_as_entries(rng):
    """Draw ids that lead once around: read as columns instead of rows, they lead the other way."""
    around = rng.permutation(rng.integers(3, 8))
    token_ids = np.empty_like(around)
    token_ids[around] = np.roll(around, 1)
    return {"token_ids": token_ids, "vocab_size": len(around)}


def with_one_outside(*shape, outside):
    """Ask for valid ids with one that is not; among several it is neither the first nor the
    last.
    """

    def inputs(rng):
        asked = ids_of_shape(*shape)(rng)
        ids = asked["token_ids"]
        ids.flat[rng.integers(1, ids.size - 1) if ids.size > 1 else 0] = outside(
            rng, asked["vocab_size"]
        )
        return asked

    return inputs


def just_too_large(rng, vocab_size):
    return vocab_size


def far_too_large(rng, vocab_size):
    return vocab_size + rng.integers(1, 50)


def negative(rng, vocab_size):
    return -rng.integers(1, vocab_size + 1)


def far_below_zero(rng, vocab_size):
    return -vocab_size - rng.integers(1, 50)


def one_hot_with(
    rows=lambda token_ids, vocab_size: compared(token_ids, vocab_size),
    outside=lambda ids, size: (ids < 0) | (ids >= size),
):
    """Make a `one_hot` from a rule for the rows and one for what is refused."""

    def one_hot(token_ids, vocab_size):
        if np.any(outside(token_ids, vocab_size)):
            raise ValueError("token id out of range")
        return rows(token_ids, vocab_size)

    return one_hot


def compared(token_ids, vocab_size):
    return (token_ids[..., np.newaxis] == np.arange(vocab_size)).astype(np.float64)


def one_hot_by_indexing(token_ids, vocab_size):
    return np.eye(vocab_size)[token_ids]


def one_hot_catching_index_errors(token_ids, vocab_size):
    try:
        return np.eye(vocab_size)[token_ids]
    except IndexError:
        raise ValueError("token id out of range") from None


def one_hot_clipped(token_ids, vocab_size):
    return compared(np.clip(token_ids, 0, vocab_size - 1), vocab_size)


def one_hot_by_largest_id(token_ids, vocab_size):
    if token_ids.min() < 0 or token_ids.max() >= vocab_size:
        raise ValueError("token id out of range")
    return compared(token_ids, vocab_size)


def one_hot_reshaping_in_place(token_ids, vocab_size):
    rows = reference.one_hot(token_ids, vocab_size)
    token_ids.resize(token_ids.size, refcheck=False)
    return rows


def one_hot_of_one_axis(token_ids, vocab_size):
    check = reference.one_hot(token_ids, vocab_size)  # it does refuse what must be refused
    return (token_ids[:, None] == np.arange(vocab_size)).astype(check.dtype)


def one_hot_filled_row_by_row(token_ids, vocab_size):
    rows = np.zeros((len(token_ids), *reference.one_hot(token_ids, vocab_size).shape[-1:]))
    rows[np.arange(len(token_ids)), token_ids] = 1
    return rows


def one_hot_without_axes_of_one(token_ids, vocab_size):
    return reference.one_hot(token_ids, vocab_size).squeeze()


def one_hot_by_eye(token_ids, vocab_size):
    if not np.all(np.isin(token_ids, np.arange(vocab_size))):
        raise ValueError(f"ids must lie in [0, {vocab_size})")
    return np.eye(vocab_size)[token_ids]


def one_hot_by_loops(token_ids, vocab_size):
    rows = np.zeros((*token_ids.shape, vocab_size))
    for index in np.ndindex(*token_ids.shape):
        token = int(token_ids[index])
        if not 0 <= token < vocab_size:
            raise ValueError(token)
        rows[(*index, token)] = 1
    return rows


def one_hot_by_torch(token_ids, vocab_size):
    import torch

    try:
        return (
            torch.nn.functional.one_hot(torch.from_numpy(token_ids.copy()), vocab_size)
            .to(torch.float64)
            .numpy()
        )
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def one_hot_by_scatter(token_ids, vocab_size):
    if token_ids.size and (token_ids.min() < 0 or token_ids.max() >= vocab_size):
        raise ValueError("an id lies outside the vocabulary")
    rows = np.zeros((*token_ids.shape, vocab_size))
    np.put_along_axis(rows, token_ids[..., np.newaxis], 1.0, axis=-1)
    return rows


ONE_HOT = Exercise(
    reference=reference.one_hot,
    cases=(
        Case(
            "each id becomes a row with a single 1",
            first_last_and_between,
            properties=(ROWS_SUM_TO_ONE,),
            weight=2,
        ),
        Case(
            "a row has vocab_size numbers, also if the last ids do not occur",
            ids_that_stop_short,
            properties=(ROWS_SUM_TO_ONE,),
        ),
        Case(
            "two sentences at once keep their shape",
            ids_of_shape(2, 3),
            properties=(ROWS_SUM_TO_ONE,),
        ),
        Case("no ids give no rows, each still of vocab_size numbers", ids_of_shape(0)),
        Case("an id equal to vocab_size is refused", with_one_outside(3, outside=just_too_large)),
        Case("a negative id is refused", with_one_outside(3, outside=negative)),
        Case("the ids stay as they were", ids_of_shape(2, 3), probe=arguments_after),
        Case(
            "ids with three axes",
            ids_of_shape(2, 3, 4),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
            weight=2,
        ),
        Case(
            "as many ids as entries",
            as_many_ids_as_entries,
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "a single id without axes becomes a single row",
            ids_of_shape(),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "one id far too large among many is refused",
            with_one_outside(3, 4, outside=far_too_large),
            visible=False,
        ),
        Case(
            "a single id without axes is refused too",
            with_one_outside(outside=just_too_large),
            visible=False,
        ),
        Case(
            "one negative id among many is refused",
            with_one_outside(3, 4, outside=negative),
            visible=False,
        ),
        Case(
            "an id far below zero is refused",
            with_one_outside(3, outside=far_below_zero),
            visible=False,
        ),
        Case(
            "a single negative id without axes is refused",
            with_one_outside(outside=negative),
            visible=False,
        ),
        Case(
            "one id in a row gives one row",
            ids_of_shape(1),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "an axis of length 1 stays",
            ids_of_shape(1, 3),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "ids with four axes",
            ids_of_shape(2, 1, 2, 3),
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
        Case(
            "a vocabulary of hundreds of words",
            among_hundreds,
            properties=(ROWS_SUM_TO_ONE,),
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "NumPy refuses what is out of range",
            one_hot_by_indexing,
            "What does NumPy make of the index -1, and which kind of error does it raise for an"
            " index that is too large?",
        ),
        Misconception(
            "an IndexError tells of every id that is out of range",
            one_hot_catching_index_errors,
            "Which ids does NumPy complain about when they serve as indices? What does it make of"
            " an index of -1?",
        ),
        Misconception(
            "ids are never negative",
            one_hot_with(outside=lambda ids, size: ids >= size),
            "The range has two sides. Which ids lie outside it on the lower one, and what do yours"
            " turn into?",
        ),
        Misconception(
            "an id out of range is a row of zeros",
            compared,
            "What do the ids outside the range become in your result? A row without a 1 stands for"
            " no word at all, so they should not get that far.",
        ),
        Misconception(
            "an id out of range is moved inside",
            one_hot_clipped,
            "An id outside the range is a mistake made earlier. Moving it to the nearest entry"
            " turns it into another word, and nobody notices.",
        ),
        Misconception(
            "vocab_size is a valid id",
            one_hot_with(outside=lambda ids, size: (ids < 0) | (ids > size)),
            "Which is the largest id that a vocabulary of vocab_size entries has, when the first id"
            " is 0?",
        ),
        Misconception(
            "0 is not an id",
            one_hot_with(outside=lambda ids, size: (ids <= 0) | (ids >= size)),
            "Which token has the id 0, and on which side of your limit does it lie?",
        ),
        Misconception(
            "the last id is out of range",
            one_hot_with(outside=lambda ids, size: (ids < 0) | (ids >= size - 1)),
            "Which is the largest id that a vocabulary of vocab_size entries has, when the first id"
            " is 0?",
        ),
        Misconception(
            "an error is due only if all ids are wrong",
            one_hot_with(outside=lambda ids, size: ids.size and ((ids < 0) | (ids >= size)).all()),
            "How many ids have to be outside the range before your function objects? One should be"
            " enough.",
        ),
        Misconception(
            "there is a largest id",
            one_hot_by_largest_id,
            "What is the largest of no numbers at all? An empty sentence is a sentence too.",
        ),
        Misconception(
            "the ids themselves tell the size of the vocabulary",
            one_hot_with(lambda ids, size: compared(ids, ids.max(initial=-1) + 1)),
            "How long is a row, and where does that number come from: from the ids that happen to"
            " occur, or from vocab_size?",
        ),
        Misconception(
            "ones and zeros are integers",
            one_hot_with(lambda ids, size: compared(ids, size).astype(np.int64)),
            "The places are right, but these are whole numbers. The rows are to be multiplied with"
            " a table of floating numbers: which dtype does the docstring name?",
        ),
        Misconception(
            "True and False will do",
            one_hot_with(lambda ids, size: compared(ids, size).astype(bool)),
            "The places are right, but a comparison gives True and False. Which dtype does the"
            " docstring name?",
        ),
        Misconception(
            "float32 is precise enough for a 1",
            one_hot_with(lambda ids, size: compared(ids, size).astype(np.float32)),
            "The places are right. Which floating dtype does the docstring name?",
        ),
        Misconception(
            "ids come in a single row",
            one_hot_with(lambda ids, size: compared(ids.ravel(), size)),
            "How many axes do the ids have, and how many does your result have? There should be"
            " exactly one more, and the others as before.",
        ),
        Misconception(
            "an axis of length 1 is none",
            one_hot_without_axes_of_one,
            "An axis of length 1 is an axis too. How many axes do the ids have, and how many does"
            " your result have?",
        ),
        Misconception(
            "the new axis comes first",
            one_hot_with(lambda ids, size: np.moveaxis(compared(ids, size), -1, 0)),
            "Your ones run along the wrong axis: which one should have length vocab_size, the first"
            " or the last?",
        ),
        Misconception(
            "ids start at 1",
            one_hot_with(lambda ids, size: compared((ids - 1) % size, size)),
            "Every 1 stands one place away from where it should. At which place does the counting"
            " of ids begin?",
        ),
        Misconception(
            "the caller's ids are free to be reshaped",
            one_hot_reshaping_in_place,
            "Compare `token_ids`, its shape and its numbers, before and after the call. Which line"
            " of yours changes it instead of making an array of its own?",
        ),
        Misconception(
            "ids have one axis, and are compared with the vocabulary along a new one behind it",
            one_hot_of_one_axis,
            "Your function is made for ids with one axis. Print the shape of `token_ids` here:"
            " where does your new axis come to stand, and where should it stand for ids of any"
            " shape?",
        ),
        Misconception(
            "ids have one axis, and each has a row",
            one_hot_filled_row_by_row,
            "Your function is made for ids with one axis: what is `len` of two sentences, or of a"
            " single id?",
        ),
    ),
    alternatives=(one_hot_by_eye, one_hot_by_loops, one_hot_by_torch, one_hot_by_scatter),
    shortcuts=("one_hot", "OneHotEncoder", "label_binarize", "get_dummies"),
)

# --- embed
# -----------------------------------------------------------------------------------------------------------


def ids_with_padding(rng, *shape, vocab_size):
    """Draw ids; where there are three or more, the first three are 0 and twice another one, in any
    order.
    """
    ids = rng.integers(vocab_size, size=shape)
    if ids.size >= 3:
        ids.flat[:3] = 0
        ids.flat[rng.permutation(3)[:2]] = rng.integers(1, vocab_size)
    return ids


def ids_of_the_upper_half(rng, *shape, vocab_size):
    return rng.integers(vocab_size // 2, vocab_size, size=shape)


def ids_and_table(
    *shape,
    vocab_size,
    d_model,
    ids_of=ids_with_padding,
    numbers_of=different_numbers,
    dtype=np.float64,
):
    def inputs(rng):
        ids = ids_of(rng, *shape, vocab_size=vocab_size)
        return {"token_ids": ids, "table": numbers_of(rng, vocab_size, d_model, dtype=dtype)}

    return inputs


def embed_flat(token_ids, table):
    return table[token_ids.ravel()]


def embed_first(token_ids, table):
    return table[token_ids.flat[0]]


def embed_by_position(token_ids, table):
    return table[np.arange(token_ids.shape[-1])]


def embed_columns(token_ids, table):
    return table[:, token_ids]


def embed_with_the_table_first(table, token_ids):
    return table[token_ids]


def embed_rows_of_the_transpose(token_ids, table):
    return table.T[token_ids]


def embed_in_float64(token_ids, table):
    return reference.one_hot(token_ids, table.shape[0]) @ table


def embed_through_float32(token_ids, table):
    return table.astype(np.float32)[token_ids].astype(table.dtype)


def embed_without_axes_of_one(token_ids, table):
    return table[token_ids].squeeze()


def embed_as_a_mean(token_ids, table):
    return table[token_ids].mean(axis=-2)


def embed_without_padding(token_ids, table):
    return np.where(token_ids[..., np.newaxis] == 0, table.dtype.type(0), table[token_ids])


def embed_clearing_the_padding_row(token_ids, table):
    table[0] = 0
    return table[token_ids]


def embed_from_one(token_ids, table):
    return table[token_ids - 1]


def embed_scaled(token_ids, table):
    return table[token_ids] * table.dtype.type(table.shape[-1] ** 0.5)


def embed_each_word_once(token_ids, table):
    return table[np.unique(token_ids)]


def embed_as_a_list(token_ids, table):
    return [table[token] for token in token_ids]


def embed_by_collecting(token_ids, table):
    return np.array([table[token] for token in token_ids])


def embed_by_take(token_ids, table):
    return np.take(table, token_ids, axis=0)


def embed_by_one_hot(token_ids, table):
    return np.einsum(
        "...v,vd->...d", reference.one_hot(token_ids, len(table)).astype(table.dtype), table
    )


def embed_by_loops(token_ids, table):
    vectors = np.empty((*token_ids.shape, table.shape[1]), dtype=table.dtype)
    for index in np.ndindex(*token_ids.shape):
        for feature in range(table.shape[1]):
            vectors[(*index, feature)] = table[token_ids[index], feature]
    return vectors


def embed_by_torch(token_ids, table):
    import torch

    return torch.nn.functional.embedding(
        torch.from_numpy(token_ids.copy()), torch.from_numpy(table.copy())
    ).numpy()


EMBED = Exercise(
    reference=reference.embed,
    cases=(
        Case(
            "three ids pick three rows of the table",
            ids_and_table(3, vocab_size=3, d_model=2),
            weight=2,
        ),
        Case(
            "two sentences at once keep their shape", ids_and_table(2, 3, vocab_size=5, d_model=4)
        ),
        Case("a table with as many rows as columns", ids_and_table(4, vocab_size=4, d_model=4)),
        Case(
            "no ids give no vectors, each still of d_model numbers",
            ids_and_table(0, vocab_size=3, d_model=2),
        ),
        Case(
            "a float32 table gives float32 vectors",
            ids_and_table(3, vocab_size=3, d_model=2, dtype=np.float32),
        ),
        Case(
            "ids and table stay as they were",
            ids_and_table(2, 3, vocab_size=3, d_model=2),
            probe=arguments_after,
        ),
        Case(
            "ids with three axes",
            ids_and_table(2, 3, 4, vocab_size=6, d_model=5),
            visible=False,
            weight=2,
        ),
        Case(
            "a single id without axes gives a single vector",
            ids_and_table(vocab_size=5, d_model=3),
            visible=False,
        ),
        Case(
            "a table of hundreds of rows",
            ids_and_table(6, vocab_size=600, d_model=3, ids_of=ids_of_the_upper_half),
            visible=False,
        ),
        Case(
            "a float16 table gives float16 vectors",
            ids_and_table(2, 3, vocab_size=4, d_model=3, dtype=np.float16),
            visible=False,
        ),
        Case(
            "one id in a row gives one row",
            ids_and_table(1, vocab_size=4, d_model=3),
            visible=False,
        ),
        Case("axes of length 1 stay", ids_and_table(1, 3, vocab_size=4, d_model=1), visible=False),
        Case(
            "ids with four axes", ids_and_table(2, 1, 2, 3, vocab_size=4, d_model=2), visible=False
        ),
        Case(
            "two sentences without words",
            ids_and_table(2, 0, vocab_size=4, d_model=3),
            visible=False,
        ),
        Case(
            "the vectors have all the digits of the table",
            ids_and_table(3, vocab_size=4, d_model=2, numbers_of=thirds),
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "ids come in a single row",
            embed_flat,
            "The shape of the ids has been lost on the way: the result should have their axes, and"
            " d_model as one more.",
        ),
        Misconception(
            "there is a single id",
            embed_first,
            "You have looked up one token. What became of the others?",
        ),
        Misconception(
            "the first word takes the first row",
            embed_by_position,
            "Which row does a token pick: the one of its place in the sentence, or the one of"
            " its id?",
        ),
        Misconception(
            "words are the columns of the table",
            embed_columns,
            "Which axis of the table belongs to the words, and which one do your ids pick from?",
        ),
        Misconception(
            "the table comes first",
            embed_with_the_table_first,
            "In which order does the first line of the stub name its two arguments, and in which"
            " does yours?",
        ),
        Misconception(
            "the table has to be transposed",
            embed_rows_of_the_transpose,
            "Which axis of the table belongs to the words? Look at its shape before and after what"
            " you do to it.",
        ),
        Misconception(
            "the product with one-hot vectors keeps the table's dtype",
            embed_in_float64,
            "The result has become wider than the table. Which array or number of yours brings the"
            " wider dtype in, and does a look-up need it?",
        ),
        Misconception(
            "float32 is precise enough",
            embed_through_float32,
            "Only the first seven digits or so are right. Which narrower dtype do the numbers pass"
            " through on their way?",
        ),
        Misconception(
            "an axis of length 1 is none",
            embed_without_axes_of_one,
            "An axis of length 1 is an axis too. The result should have those of the ids, and"
            " d_model as one more: how many has yours?",
        ),
        Misconception(
            "a sentence has a single vector",
            embed_as_a_mean,
            "An average over the words has one axis less than it should: each token keeps a vector"
            " of its own.",
        ),
        Misconception(
            "<pad> has the vector zero",
            embed_without_padding,
            "Rows other than row 0 are looked up rightly. Does the definition, one-hot times table,"
            " treat the id 0 differently from the others?",
        ),
        Misconception(
            "the row of <pad> is cleared in the table",
            embed_clearing_the_padding_row,
            "The id 0 picks a row like any other, and the table belongs to the caller. Compare its"
            " row 0 before and after the call.",
        ),
        Misconception(
            "ids start at 1",
            embed_from_one,
            "Each token has got the row of its neighbour. Which row belongs to the id 0?",
        ),
        Misconception(
            "embeddings are multiplied by sqrt(d_model)",
            embed_scaled,
            "All numbers are too large by the same factor. The Transformer has such a factor, in a"
            " later chapter; has a plain look-up one?",
        ),
        Misconception(
            "each word is looked up once",
            embed_each_word_once,
            "A word that occurs twice is there twice, and the order of the sentence stays: how many"
            " vectors should there be?",
        ),
        Misconception(
            "a list of vectors is an array",
            embed_as_a_list,
            "The vectors are in a Python list. How do they become one array, whatever the number of"
            " axes of the ids?",
        ),
        Misconception(
            "there is always something to collect",
            embed_by_collecting,
            "What does your function make of no ids at all, or of a single id without axes? The"
            " result should have the axes of the ids there too, and d_model as one more.",
        ),
    ),
    alternatives=(embed_by_take, embed_by_one_hot, embed_by_loops, embed_by_torch),
    shortcuts=("embedding", "Embedding", "embedding_bag", "EmbeddingBag"),
)

# --- embedding_gradient
# ----------------------------------------------------------------------------------------------


def ids_and_gradient(
    *shape,
    vocab_size,
    d_model,
    ids_of=ids_with_padding,
    numbers_of=different_numbers,
    dtype=np.float64,
):
    def inputs(rng):
        ids = ids_of(rng, *shape, vocab_size=vocab_size)
        return {
            "token_ids": ids,
            "grad_output": numbers_of(rng, *shape, d_model, dtype=dtype),
            "vocab_size": vocab_size,
        }

    return inputs


def different_ids(rng, *shape, vocab_size):
    """Draw ids without repetition, 0 among them, the largest one never."""
    return rng.permutation([0, *(1 + rng.permutation(vocab_size - 2))[: shape[0] - 1]])


def one_id_only(rng, *shape, vocab_size):
    return np.full(shape, rng.integers(vocab_size - 1))


def nothing_looked_up(rng):
    vocab_size, d_model = rng.integers(2, 6, size=2).tolist()
    return ids_and_gradient(0, vocab_size=vocab_size, d_model=d_model)(rng)


def gradient_losing_repetitions(token_ids, grad_output, vocab_size):
    gradient = np.zeros((vocab_size, grad_output.shape[-1]), dtype=grad_output.dtype)
    gradient[token_ids] += grad_output
    return gradient


def gradient_of_first_occurrences(token_ids, grad_output, vocab_size):
    gradient = np.zeros((vocab_size, grad_output.shape[-1]), dtype=grad_output.dtype)
    ids, places = np.unique(token_ids, return_index=True)
    gradient[ids] = grad_output.reshape(-1, grad_output.shape[-1])[places]
    return gradient


def gradient_averaging_repetitions(token_ids, grad_output, vocab_size):
    counts = np.bincount(token_ids.ravel(), minlength=vocab_size)[:, np.newaxis].clip(1)
    return (reference.embedding_gradient(token_ids, grad_output, vocab_size) / counts).astype(
        grad_output.dtype
    )


def gradient_per_token(token_ids, grad_output, vocab_size):
    mean = reference.embedding_gradient(token_ids, grad_output, vocab_size) / token_ids.size
    return mean.astype(grad_output.dtype)


def gradient_in_float64(token_ids, grad_output, vocab_size):
    return reference.embedding_gradient(token_ids, grad_output.astype(np.float64), vocab_size)


def gradient_through_float32(token_ids, grad_output, vocab_size):
    narrow = reference.embedding_gradient(token_ids, grad_output.astype(np.float32), vocab_size)
    return narrow.astype(grad_output.dtype)


def gradient_without_axes_of_one(token_ids, grad_output, vocab_size):
    return reference.embedding_gradient(token_ids, grad_output, vocab_size).squeeze()


def gradient_up_to_the_largest_id(token_ids, grad_output, vocab_size):
    return reference.embedding_gradient(token_ids, grad_output, token_ids.max(initial=-1) + 1)


def gradient_row_by_row(token_ids, grad_output, vocab_size):
    gradient = np.zeros((vocab_size, grad_output.shape[-1]), dtype=grad_output.dtype)
    for token, grad in zip(token_ids, grad_output, strict=True):
        gradient[token] += grad
    return gradient


def gradient_with_all_axes_reversed(token_ids, grad_output, vocab_size):
    return reference.one_hot(token_ids, vocab_size).astype(grad_output.dtype).T @ grad_output


def gradient_counting(token_ids, grad_output, vocab_size):
    return reference.embedding_gradient(token_ids, np.ones_like(grad_output), vocab_size)


def gradient_without_padding(token_ids, grad_output, vocab_size):
    gradient = reference.embedding_gradient(token_ids, grad_output, vocab_size)
    gradient[0] = 0
    return gradient


def gradient_transposed(token_ids, grad_output, vocab_size):
    return reference.embedding_gradient(token_ids, grad_output, vocab_size).T


def gradient_passed_through(token_ids, grad_output, vocab_size):
    return grad_output.copy()


def gradient_descending(token_ids, grad_output, vocab_size):
    return -reference.embedding_gradient(token_ids, grad_output, vocab_size)


def gradient_reshaping_in_place(token_ids, grad_output, vocab_size):
    gradient = reference.embedding_gradient(token_ids, grad_output, vocab_size)
    token_ids.resize(token_ids.size, refcheck=False)
    grad_output.resize((token_ids.size, grad_output.shape[-1]), refcheck=False)
    return gradient


def gradient_by_one_hot(token_ids, grad_output, vocab_size):
    one_hot = np.eye(vocab_size, dtype=grad_output.dtype)[token_ids.reshape(-1)]
    return np.einsum("nv,nd->vd", one_hot, grad_output.reshape(-1, grad_output.shape[-1]))


def gradient_by_loops(token_ids, grad_output, vocab_size):
    gradient = np.zeros((vocab_size, grad_output.shape[-1]), dtype=grad_output.dtype)
    for index in np.ndindex(*token_ids.shape):
        gradient[token_ids[index]] += grad_output[index]
    return gradient


def gradient_by_masks(token_ids, grad_output, vocab_size):
    return np.stack([grad_output[token_ids == token].sum(axis=0) for token in range(vocab_size)])


def gradient_by_counting_with_weights(token_ids, grad_output, vocab_size):
    flat = grad_output.reshape(-1, grad_output.shape[-1])
    columns = [
        np.bincount(token_ids.reshape(-1), weights=column, minlength=vocab_size)
        for column in flat.T
    ]
    return np.stack(columns, axis=1).astype(grad_output.dtype)


def gradient_by_autograd(token_ids, grad_output, vocab_size):
    import torch

    grad_output = torch.from_numpy(grad_output.copy())
    table = torch.zeros(
        vocab_size, grad_output.shape[-1], dtype=grad_output.dtype, requires_grad=True
    )
    (table[torch.from_numpy(token_ids.copy())] * grad_output).sum().backward()
    return table.grad.numpy()


def gradient_by_index_add(token_ids, grad_output, vocab_size):
    import torch

    source = torch.from_numpy(grad_output.reshape(-1, grad_output.shape[-1]).copy())
    gradient = torch.zeros(vocab_size, source.shape[1], dtype=source.dtype)
    return gradient.index_add_(0, torch.from_numpy(token_ids.reshape(-1).copy()), source).numpy()


GRADIENT = Exercise(
    reference=reference.embedding_gradient,
    cases=(
        Case(
            "rows that were not looked up get 0",
            ids_and_gradient(3, vocab_size=5, d_model=2, ids_of=different_ids),
        ),
        Case(
            "an id that occurs twice gets both contributions",
            ids_and_gradient(3, vocab_size=4, d_model=2),
            weight=2,
        ),
        Case("two sentences at once", ids_and_gradient(2, 3, vocab_size=5, d_model=2)),
        Case("nothing looked up, nothing to learn: all rows are 0", nothing_looked_up),
        Case(
            "float32 in, float32 out",
            ids_and_gradient(3, vocab_size=4, d_model=2, dtype=np.float32),
        ),
        Case(
            "ids and grad_output stay as they were",
            ids_and_gradient(2, 3, vocab_size=5, d_model=1),
            probe=arguments_after,
        ),
        Case(
            "ids with three axes",
            ids_and_gradient(2, 3, 4, vocab_size=6, d_model=5),
            visible=False,
            weight=2,
        ),
        Case(
            "one word said again and again, with large gradients",
            ids_and_gradient(7, vocab_size=4, d_model=3, ids_of=one_id_only, numbers_of=thousands),
            visible=False,
        ),
        Case(
            "a table with as many rows as columns",
            ids_and_gradient(6, vocab_size=4, d_model=4),
            visible=False,
        ),
        Case("a single id without axes", ids_and_gradient(vocab_size=5, d_model=3), visible=False),
        Case(
            "float16 in, float16 out",
            ids_and_gradient(2, 3, vocab_size=4, d_model=3, dtype=np.float16),
            visible=False,
        ),
        Case(
            "axes of length 1 stay", ids_and_gradient(1, 3, vocab_size=5, d_model=1), visible=False
        ),
        Case(
            "ids with four axes",
            ids_and_gradient(2, 1, 2, 3, vocab_size=5, d_model=2),
            visible=False,
        ),
        Case(
            "a table of hundreds of rows",
            ids_and_gradient(6, vocab_size=600, d_model=3, ids_of=ids_of_the_upper_half),
            visible=False,
        ),
        Case(
            "the gradient has all the digits of grad_output",
            ids_and_gradient(3, vocab_size=4, d_model=2, numbers_of=thirds),
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "indexing with an array and += (or =) takes each repetition of an id into account",
            gradient_losing_repetitions,
            "An id that occurs more than once has kept only its last contribution. Run the small"
            " experiment of the exercise's own hint: how much does it add?",
        ),
        Misconception(
            "an id counts where it occurs first",
            gradient_of_first_occurrences,
            "An id that occurs more than once has kept only its first contribution. What becomes of"
            " the others?",
        ),
        Misconception(
            "repeated ids are averaged",
            gradient_averaging_repetitions,
            "A row that was looked up several times acts on the loss several times. Do its"
            " contributions add up, or do you divide by their number?",
        ),
        Misconception(
            "the gradient is a mean over the tokens",
            gradient_per_token,
            "All numbers are too small by the same factor, the number of tokens. Does the sum whose"
            " gradient is asked for divide by anything?",
        ),
        Misconception(
            "the result is float64 whatever comes in",
            gradient_in_float64,
            "Somewhere a float64 enters. Look at the dtype of each array that your function makes:"
            " where does it come from?",
        ),
        Misconception(
            "float32 is precise enough",
            gradient_through_float32,
            "Only the first seven digits or so are right. Which narrower dtype do the numbers pass"
            " through on their way?",
        ),
        Misconception(
            "an axis of length 1 is none",
            gradient_without_axes_of_one,
            "The gradient has the shape of the table, and a table has two axes. How many has your"
            " result, also where one of them has length 1?",
        ),
        Misconception(
            "the table ends with the largest id that occurs",
            gradient_up_to_the_largest_id,
            "The gradient has the shape of the table, row for row. How many rows does the table"
            " have, also where no id asks for them?",
        ),
        Misconception(
            "only repetitions between sentences need care",
            gradient_row_by_row,
            "How many axes may the ids have? Look at what your loop takes in one step: a single id,"
            " or a whole sentence with repetitions of its own?",
        ),
        Misconception(
            ".T turns a batch of one-hot vectors the right way round",
            gradient_with_all_axes_reversed,
            "Which axes change places when you transpose an array with more than two axes, or with"
            " only one? Which axes should the product sum over?",
        ),
        Misconception(
            "the gradient counts the words",
            gradient_counting,
            "Your numbers say how often each word occurs. Where does grad_output enter?",
        ),
        Misconception(
            "<pad> learns nothing",
            gradient_without_padding,
            "Every row is right except row 0. Does the sum whose gradient is asked for treat the id"
            " 0 differently from the others?",
        ),
        Misconception(
            "rows are features",
            gradient_transposed,
            "Your result lies on its side: a gradient has the same axes, in the same order, as the"
            " table that it belongs to.",
        ),
        Misconception(
            "the gradient passes through unchanged",
            gradient_passed_through,
            "This is the gradient with respect to the vectors that were looked up. What is asked"
            " for has one row for each row of the table.",
        ),
        Misconception(
            "the gradient points downhill",
            gradient_descending,
            "The sizes are right, the sign is not. The minus belongs to the update of the table,"
            " not to its gradient.",
        ),
        Misconception(
            "the caller's arrays are free to be reshaped",
            gradient_reshaping_in_place,
            "Compare both arrays, their shapes and their numbers, before and after the call. Which"
            " line of yours changes them instead of making an array of its own?",
        ),
    ),
    alternatives=(
        gradient_by_one_hot,
        gradient_by_loops,
        gradient_by_masks,
        gradient_by_counting_with_weights,
        gradient_by_autograd,
        gradient_by_index_add,
    ),
    shortcuts=("embedding_dense_backward",),
)

EXERCISES = (VOCABULARY, ENCODE, ONE_HOT, EMBED, GRADIENT)
