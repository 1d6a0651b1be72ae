"""The corpus: what the splits promise, Italian checked by rules that do not come from the
generator, and sentences written by hand.
"""

import itertools
import random
from collections import defaultdict

import pytest

from autograder.course import ROOT
from solutions.translator import corpus
from solutions.translator.corpus import grammar
from solutions.translator.corpus.grammar import (
    Words,
    ask,
    at,
    clause,
    name,
    noun_phrase,
    pronoun,
    said,
    so,
    thing,
    to_do,
)
from solutions.translator.corpus.lexicon import ADJECTIVES, BE, NAMES, NOUNS, VERBS

pytestmark = pytest.mark.xdist_group("corpus")  # drawn in one process, for all of its tests


def pairs_of(*splits):
    """Return the pairs of some splits, or of all."""
    return [pair for split in splits or corpus.splits() for pair in corpus.splits()[split]]


# ---- what the splits promise ----


def test_the_same_seed_gives_the_same_corpus_and_another_another():
    assert corpus.splits.__wrapped__() == corpus.splits()  # drawn anew
    other = corpus.splits(seed=1)
    assert {key: len(pairs) for key, pairs in other.items()} == {
        key: len(pairs) for key, pairs in corpus.splits().items()
    }
    assert other["random"] != pairs_of("random")
    assert corpus.kept_back_pairs(1) != corpus.kept_back_pairs(0)


def test_there_are_as_many_pairs_as_promised():
    assert {key: len(pairs) for key, pairs in corpus.splits().items()} == {
        "train": 100_000, "validation": 1000, "random": 1000, "combinations": 1000, "structures": 500, "long": 500,
    }  # fmt: skip
    lengths = [len(corpus.words(english)) for english, _ in pairs_of("train")]
    assert 5 <= sum(lengths) / len(lengths) <= 9
    assert len(NOUNS) >= 150 and len(ADJECTIVES) >= 60 and len(VERBS) >= 70


def test_no_sentence_is_there_twice_and_each_has_one_translation():
    assert len({english for english, _ in pairs_of()}) == len(pairs_of())
    assert corpus.PROMISE not in dict(pairs_of())
    other_draws = dict(pair for pairs in corpus.splits(seed=1).values() for pair in pairs)
    italian = dict(pairs_of())
    shared = italian.keys() & other_draws.keys()
    assert len(shared) > 1000
    assert all(italian[english] == other_draws[english] for english in shared)


def test_words_and_sentence_undo_each_other():
    for pair in pairs_of():
        for text in pair:
            assert corpus.sentence(corpus.words(text)) == text
            assert text == text.lower().strip() and "  " not in text
    assert corpus.words("l'amico dorme?") == ["l'", "amico", "dorme", "?"]
    assert corpus.words("the boy's dog") == ["the", "boy'", "s", "dog"]
    assert corpus.sentence(["dov'", "è", "l'", "albero", "?"]) == "dov'è l'albero?"


@pytest.mark.parametrize("split", ["validation", "random", "combinations", "structures", "long"])
def test_every_word_of_another_split_is_one_of_training(split):
    for side in (0, 1):
        known = {word for pair in pairs_of("train") for word in corpus.words(pair[side])}
        assert not {word for pair in pairs_of(split) for word in corpus.words(pair[side])} - known


def test_long_sentences_are_longer_than_those_of_training():
    longest = max(len(corpus.words(english)) for english, _ in pairs_of("train"))
    assert longest < min(len(corpus.words(english)) for english, _ in pairs_of("long"))


# ---- held-out pairs, found in the text ----

NOUN_OF = {
    form.replace(" ", "_"): noun.name for noun in NOUNS.values() for form in noun.english if form
}
ADJECTIVE_OF = dict.fromkeys(ADJECTIVES) | {name: name for name in ADJECTIVES} | corpus.COMPARATIVES
BETWEEN = {"is", "are", "was", "were", "will", "be", "not", "always", "often", "never"}


def described(english):
    """Return the (noun, adjective, role) triples that a plain reading of an English sentence
    finds.
    """
    read = corpus.words(english.replace("ice cream", "ice_cream"))
    found = set()
    for place, word in enumerate(read):
        if word not in NOUN_OF:
            continue
        if place and read[place - 1] in ADJECTIVE_OF:
            found.add((NOUN_OF[word], ADJECTIVE_OF[read[place - 1]], "beside"))
        rest = iter(read[place + 1 :])
        following = next((other for other in rest if other not in BETWEEN), None)
        if following in ADJECTIVE_OF:
            found.add((NOUN_OF[word], ADJECTIVE_OF[following], "said of"))
    return found


def test_pairs_that_are_kept_back_meet_in_combinations_alone():
    kept_back = corpus.kept_back_pairs()
    seen = {triple for pair in pairs_of("train", "validation") for triple in described(pair[0])}
    assert len(seen) > 5000
    assert not {triple[:2] for triple in seen} & kept_back
    nouns, adjectives = (
        {(noun, role) for noun, _, role in seen},
        {(adjective, role) for _, adjective, role in seen},
    )
    for english, _ in pairs_of("combinations"):
        new = {triple for triple in described(english) if triple[:2] in kept_back}
        assert new, english
        for noun, adjective, role in new:
            assert (noun, role) in nouns and (adjective, role) in adjectives, english


HELPERS = {"do", "does", "did", "will", "can", "must", "is", "are", "was", "were", "am"}


def kept_back_structures(english):
    """Return which structures of the split "structures" a plain reading of an English sentence
    finds.
    """
    read = corpus.words(english)
    asked = read[-1] == "?" and read[0] in HELPERS | {"why", "where", "when", "what", "how"}
    said = [
        place
        for place in range(1, len(read))
        if read[place] == "that" and read[place - 1] in {"say", "know"}
    ]
    # In "does he say that the cat does not sleep?" the question is not negated.
    inner = said[0] if said else len(read)
    owned = [
        place for place, word in enumerate(read) if word == "s" and read[place - 1].endswith("'")
    ]
    return {
        "negative question": asked and "not" in read[:inner],
        "two adjectives": any(
            one in ADJECTIVES and two in ADJECTIVES for one, two in itertools.pairwise(read)
        ),
        "two owners": any(place + 2 in owned for place in owned),
        "relative clause": any(
            read[place + 1] == "that" and word in NOUN_OF for place, word in enumerate(read[:-2])
        ),
        "two subjects": any(
            two_subjects(read, place) for place, word in enumerate(read) if word == "and"
        ),
    }


NO_NOUNS = {"i", "you", "he", "she", "we", "they", *NAMES}


def two_subjects(read, place):
    """Return whether "and" joins the first words of a sentence with another noun, and not two
    clauses.
    """
    front = read[:place]
    return not any(word in FINITE for word in front) and not NO_NOUNS & set(front)


FINITE = (
    {form for verb in VERBS.values() for english in verb.english for form in english.split()}
    | HELPERS
    | {"likes", "like"}
)
FINITE -= set(NOUN_OF)


def test_structures_that_are_kept_back_are_in_no_sentence_of_training():
    for english, _ in pairs_of("train", "validation", "random", "combinations"):
        found = kept_back_structures(english)
        assert not any(found.values()), (english, found)
    for english, _ in pairs_of("structures"):
        assert any(kept_back_structures(english).values()), english


# ---- Italian, by rules of our own ----

VOWELS = set("aeiouàèéìòù")
FEATURES = {  # article: gender and plural; what may follow
    "il": ("m", False, "plain"), "lo": ("m", False, "hard"), "i": ("m", True, "plain"), "gli": ("m", True, "hard vowel"),
    "la": ("f", False, "plain hard"), "le": ("f", True, "plain hard vowel"), "un": ("m", False, "plain vowel"),
    "uno": ("m", False, "hard"), "una": ("f", False, "plain hard"), "un'": ("f", False, "vowel"), "l'": (None, False, "vowel"),
}  # fmt: skip
MELTED = {
    start + end: article
    for start in ("de", "a", "da", "ne", "su")
    for end, article in {
        "l": "il",
        "llo": "lo",
        "ll'": "l'",
        "i": "i",
        "gli": "gli",
        "lla": "la",
        "lle": "le",
    }.items()
}
POSSESSIVE_FORMS = {
    **{stem + "o": ("m", False) for stem in ("mi", "tu", "su", "nostr")},
    **{stem + "a": ("f", False) for stem in ("mi", "tu", "su", "nostr")},
    "miei": ("m", True), "tuoi": ("m", True), "suoi": ("m", True), "nostri": ("m", True),
    "mie": ("f", True), "tue": ("f", True), "sue": ("f", True), "nostre": ("f", True), "loro": None,
}  # fmt: skip
SHORTENED = {
    "bel": ("m", False, "plain"), "bello": ("m", False, "hard"), "bell'": (None, False, "vowel"), "bei": ("m", True, "plain"),
    "begli": ("m", True, "hard vowel"), "buon": ("m", False, "plain vowel"), "buono": ("m", False, "hard"),
    "quel": ("m", False, "plain"), "quello": ("m", False, "hard"), "quell'": (None, False, "vowel"), "quei": ("m", True, "plain"),
    "quegli": ("m", True, "hard vowel"), "quella": ("f", False, "plain hard"), "quelle": ("f", True, "plain hard vowel"),
    "questo": ("m", False, "plain hard"), "questa": ("f", False, "plain hard"), "quest'": (None, False, "vowel"),
    "questi": ("m", True, "plain hard vowel"), "queste": ("f", True, "plain hard vowel"), "ogni": (None, False, "plain hard vowel"),
    "alcuni": ("m", True, "plain hard vowel"), "alcune": ("f", True, "plain hard vowel"),
    "molti": ("m", True, "plain hard vowel"), "molte": ("f", True, "plain hard vowel"),
    "quanti": ("m", True, "plain hard vowel"), "quante": ("f", True, "plain hard vowel"),
}  # fmt: skip
FAMILY = {
    "padre",
    "madre",
    "fratello",
    "sorella",
    "figlio",
    "figlia",
    "marito",
    "moglie",
    "zio",
    "zia",
    "nonno",
    "nonna",
}
NOUN_FEATURES = defaultdict(set)
for one in NOUNS.values():
    for is_plural in (False, True):
        if one.italian[is_plural]:
            NOUN_FEATURES[one.italian[is_plural]].add((one.gender[is_plural], is_plural))
FOUR_ENDINGS = [
    one.italian["m", False] for one in ADJECTIVES.values() if one.italian["m", False].endswith("o")
]
TWO_ENDINGS = [
    one.italian["m", False] for one in ADJECTIVES.values() if one.italian["m", False].endswith("e")
]
DESCRIBING = defaultdict(set)
for word in FOUR_ENDINGS:  # an ending says all: -o, -a, -i, -e
    for ending, feature in {
        "o": ("m", False),
        "a": ("f", False),
        "i": ("m", True),
        "e": ("f", True),
    }.items():
        for stem in {word[:-1], word[:-1] + "h", word[:-2] if word.endswith("io") else word[:-1]}:
            DESCRIBING[stem + ending].add(feature)
for word in TWO_ENDINGS:
    DESCRIBING[word] |= {("m", False), ("f", False)}
    DESCRIBING[word[:-1] + "i"] |= {("m", True), ("f", True)}
for word in ("blu", "rosa", "viola"):
    DESCRIBING[word] |= {("m", False), ("f", False), ("m", True), ("f", True)}
for word, feature in {
    "bel": ("m", False),
    "bell'": ("m", False),
    "bei": ("m", True),
    "begli": ("m", True),
    "buon": ("m", False),
}.items():
    DESCRIBING[word].add(feature)
ESSERE = {"è": False, "era": False, "sarà": False, "sono": True, "erano": True, "saranno": True}
THIRD = {
    forms[person]: person == 4
    for verb in VERBS.values()
    for forms in (verb.present, verb.future, verb.imperfect)
    for person in (2, 4)
}
WENT = defaultdict(set)
for stem in ("andat", "venut", "partit", "entrat", "uscit", "tornat", "arrivat", "rimast", "cadut"):
    for ending, feature in {
        "o": ("m", False),
        "a": ("f", False),
        "i": ("m", True),
        "e": ("f", True),
    }.items():
        WENT[stem + ending].add(feature)


def sound(word):
    """Return how a word begins, for the words before it."""
    if word[0] in VOWELS:
        return "vowel"
    if (
        word[0] in "zyx"
        or word.startswith(("gn", "ps", "pn"))
        or (word[0] == "s" and word[1] not in VOWELS)
    ):
        return "hard"
    return "plain"


def noun_group(read, place):
    """Return the place of the noun that an article or the like at a place belongs to, or None where
    it is no article.
    """
    for ahead in range(place + 1, min(place + 5, len(read))):
        if read[ahead] in NOUN_FEATURES:
            return ahead
        if read[ahead] not in DESCRIBING and read[ahead] not in POSSESSIVE_FORMS:
            return None
    return None


def mistakes(italian):
    """Return what a teacher would mark in an Italian sentence, as far as these rules reach."""
    read = corpus.words(italian)
    marked = []
    for place, word in enumerate(read[:-1]):
        marked += marked_pair(word, read[place + 1])
        article = MELTED.get(word, word)
        rule = FEATURES.get(article) or SHORTENED.get(article)
        noun = noun_group(read, place)
        if rule and noun is not None:
            marked += marked_group(read, place, noun, rule)
        if word in POSSESSIVE_FORMS:
            marked += marked_possessive(read, place)
    return marked + marked_predicate(read)


def marked_pair(word, following):
    """Return what is wrong about two neighbours."""
    bare = word in {"di", "a", "da", "in", "su"} and following in {
        "il",
        "lo",
        "l'",
        "i",
        "gli",
        "la",
        "le",
    }
    apart = word in {"ci", "dove"} and following in {"è", "era", "erano"}
    clash = (word == "a" and following[0] == "a") or (word == "e" and following[0] in "eè")
    needless = word in {"ad", "ed"} and following[0] not in {"ad": "a", "ed": "eè"}[word]
    return [f"{word} {following}"] if bare or apart or clash or needless else []


def marked_group(read, place, noun, rule):
    """Return what is wrong between a determiner and the words up to its noun, and the adjective
    behind that.
    """
    gender, plural, sounds = rule
    possible = {
        one for one in NOUN_FEATURES[read[noun]] if gender in (None, one[0]) and plural == one[1]
    }
    wrong = [] if possible else [f"{read[place]} ... {read[noun]}"]
    if sound(read[place + 1]) not in sounds.split():
        wrong.append(f"{read[place]} {read[place + 1]}")
    behind = (
        [noun + 1]
        if noun + 1 < len(read) and read[noun + 1] in DESCRIBING and read[noun + 1] not in FEATURES
        else []
    )
    for other in (*range(place + 1, noun), *behind):
        features = (
            {POSSESSIVE_FORMS[read[other]]}
            if read[other] in POSSESSIVE_FORMS
            else DESCRIBING[read[other]]
        )
        if read[other] != "loro" and possible and not possible & features:
            wrong.append(f"{read[other]} / {read[noun]}")
    for other in range(place + 1, noun):
        if (
            read[other] in SHORTENED
            and sound(read[other + 1]) not in SHORTENED[read[other]][2].split()
        ):
            wrong.append(f"{read[other]} {read[other + 1]}")
    return wrong


def marked_possessive(read, place):
    """Return what is wrong about a possessive: it wants an article, but before one member of the
    family, and then none.
    """
    before = MELTED.get(read[place - 1], read[place - 1]) if place else ""
    noun = noun_group(read, place)
    if noun is None:
        return [] if read[place] == "loro" else [f"{read[place]} of what"]
    family = read[noun] in FAMILY and noun == place + 1 and read[place] != "loro"
    return [] if (before in FEATURES) != family else [" ".join(read[max(place - 1, 0) : noun + 1])]


def marked_predicate(read):
    """Return what is wrong between a subject at the beginning and its verb, or what is said of
    it.
    """
    article = (
        FEATURES.get(read[0])
        or SHORTENED.get(read[0])
        or (POSSESSIVE_FORMS.get(read[0]) and (None, False, ""))
    )
    # There the subject stands behind.
    noun = noun_group(read, 0) if article and read[0] not in {"quanti", "quante"} else None
    if noun is None:
        return []
    features = {
        one
        for one in NOUN_FEATURES[read[noun]]
        if one[1] == article[1] and article[0] in (None, one[0])
    }
    rest = [word for word in read[noun + 1 :] if word not in {"non", "sempre", "spesso", "mai"}]
    if rest and rest[0] in DESCRIBING:
        rest = rest[1:]
    if not rest:
        return []
    wrong = []
    if rest[0] in THIRD | ESSERE and {(THIRD | ESSERE)[rest[0]]} != {one[1] for one in features}:
        wrong.append(f"{read[noun]} ... {rest[0]}")
    if rest[0] in ESSERE and len(rest) > 1:
        said_of = WENT.get(rest[1]) or DESCRIBING.get(rest[1])
        if said_of and not said_of & features:
            wrong.append(f"{read[noun]} è {rest[1]}")
    return wrong


def test_italian_is_right_by_rules_that_are_not_the_generators():
    chosen = random.Random(0).sample(pairs_of("train"), 20_000) + [
        pair for key in corpus.splits() if key != "train" for pair in pairs_of(key)
    ]
    wrong = [(italian, marked) for _, italian in chosen if (marked := mistakes(italian))]
    assert not wrong, wrong[:20]


@pytest.mark.parametrize(
    "wrong",
    [
        "il amico dorme", "lo gatto dorme", "un studente dorme", "uno gatto dorme", "una arancia è dolce", "un'mela è dolce",
        "i amici dormono", "gli gatti dormono", "il studente dorme", "l'gatto dorme", "la gatto dorme", "i zii dormono",
        "il zaino è nuovo", "il yogurt è buono", "il psicologo parla", "gli re dormono", "il cane di il ragazzo dorme",
        "vado a il mercato", "il libro è in la borsa", "il libro è sulla tavolo", "il cane dello ragazzo dorme",
        "mio gatto dorme", "il mio padre dorme", "loro madre dorme", "miei fratelli dormono", "la mio gatto dorme",
        "i tuo gatti dormono", "il gatto nera dorme", "la volpe nero dorme", "i gatti stanco dormono",
        "le mele rossi sono buone", "il bello gatto dorme", "il bel albero è alto", "il buono cane dorme", "quello gatto dorme",
        "quel albero è alto", "questo albero è alto", "quei amici dormono", "il gatto dormono", "i gatti dorme",
        "il gatto è stanca", "la zia è stanco", "le mele sono rossi", "la zia è arrivato", "i gatti sono caduto",
        "ci è un gatto nel giardino", "dove è il gatto?", "dorme e entra", "la uova è fresca", "gli uova sono freschi",
        "molti mele sono rosse",
    ],
)  # fmt: skip
def test_the_rules_notice(wrong):
    assert mistakes(wrong)


# ---- written by hand ----


def n(word):
    return NOUNS[word]


def a(*adjectives):
    return tuple(ADJECTIVES[one] for one in adjectives)


def the(word, *adjectives, plural=False, by="the", owner=None):
    return noun_phrase(by, n(word), plural, a(*adjectives), owner)


def v(english, italian=None):
    return next(
        verb for key, verb in VERBS.items() if key[0] == english and italian in (None, key[1])
    )


def is_so(subject, adjective, tense="present", **how):
    return clause(subject, BE, tense, so(subject, ADJECTIVES[adjective]), **how)


def is_a(subject, what):
    return clause(subject, BE, "present", thing(what))


MARCO, MARIA = name("marco", "m"), name("maria", "f")
I, YOU, HE, SHE, WE, THEY = (pronoun(word) for word in ("i", "you", "he", "she", "we", "they"))
BY_HAND = [
    # articles, by what follows
    (
        is_a(the("cat", by="your"), the("cat", "lovely", by="a")),
        "your cat is a lovely cat",
        "il tuo gatto è un gatto adorabile",
    ),
    (is_so(the("student"), "tired"), "the student is tired", "lo studente è stanco"),
    (is_so(the("friend"), "tired"), "the friend is tired", "l'amico è stanco"),
    (is_so(the("orange"), "sweet"), "the orange is sweet", "l'arancia è dolce"),
    (
        is_so(the("student", plural=True), "tired"),
        "the students are tired",
        "gli studenti sono stanchi",
    ),
    (is_so(the("friend", plural=True), "tired"), "the friends are tired", "gli amici sono stanchi"),
    (is_so(the("backpack"), "new"), "the backpack is new", "lo zaino è nuovo"),
    (is_so(the("psychologist"), "rich"), "the psychologist is rich", "lo psicologo è ricco"),
    (is_so(the("yogurt", plural=True), "cold"), "the yogurts are cold", "gli yogurt sono freddi"),
    (
        is_so(the("dumpling", plural=True), "ready"),
        "the dumplings are ready",
        "gli gnocchi sono pronti",
    ),
    (
        is_a(MARIA, the("actress", "famous", by="a")),
        "maria is a famous actress",
        "maria è un'attrice famosa",
    ),
    (is_a(MARCO, the("student", by="a")), "marco is a student", "marco è uno studente"),
    (
        is_a(MARCO, the("student", "good", by="a")),
        "marco is a good student",
        "marco è un buono studente",
    ),
    (
        is_a(MARCO, the("doctor", "good", by="a")),
        "marco is a good doctor",
        "marco è un buon medico",
    ),
    # plurals
    (is_so(the("egg"), "fresh"), "the egg is fresh", "l'uovo è fresco"),
    (is_so(the("egg", plural=True), "fresh"), "the eggs are fresh", "le uova sono fresche"),
    (is_so(the("city", plural=True), "ancient"), "the cities are ancient", "le città sono antiche"),
    (
        is_so(the("man", plural=True), "friendly"),
        "the men are friendly",
        "gli uomini sono simpatici",
    ),
    (
        is_so(the("woman", plural=True), "friendly"),
        "the women are friendly",
        "le donne sono simpatiche",
    ),
    (
        is_so(the("problem", plural=True), "difficult"),
        "the problems are difficult",
        "i problemi sono difficili",
    ),
    (
        is_so(the("colleague", plural=True), "german"),
        "the colleagues are german",
        "i colleghi sono tedeschi",
    ),
    (
        is_so(the("bag", "blue", plural=True), "full"),
        "the blue bags are full",
        "le borse blu sono piene",
    ),
    # possessives
    (is_so(the("father", by="my"), "tall"), "my father is tall", "mio padre è alto"),
    (is_so(the("mother", by="their"), "tall"), "their mother is tall", "la loro madre è alta"),
    (
        is_so(the("brother", by="my", plural=True), "tall"),
        "my brothers are tall",
        "i miei fratelli sono alti",
    ),
    (
        is_so(the("sister", "old", by="my"), "tall"),
        "my old sister is tall",
        "la mia vecchia sorella è alta",
    ),
    (is_so(the("house", by="her"), "empty"), "her house is empty", "la sua casa è vuota"),
    (is_so(the("uncle", by="our"), "rich"), "our uncle is rich", "nostro zio è ricco"),
    (
        is_so(the("dog", owner=the("boy")), "hungry"),
        "the boy's dog is hungry",
        "il cane del ragazzo è affamato",
    ),
    (
        is_so(the("house", owner=the("brother", by="my")), "new"),
        "my brother's house is new",
        "la casa di mio fratello è nuova",
    ),
    (
        is_so(the("book", owner=the("student")), "new"),
        "the student's book is new",
        "il libro dello studente è nuovo",
    ),
    (is_so(the("cat", owner=MARIA), "black"), "maria's cat is black", "il gatto di maria è nero"),
    # adjectives before and behind
    (
        is_a(the("castle", by="that"), the("castle", "beautiful", by="a")),
        "that castle is a beautiful castle",
        "quel castello è un bel castello",
    ),
    (
        is_so(the("tree", "beautiful"), "tall"),
        "the beautiful tree is tall",
        "il bell'albero è alto",
    ),
    (
        is_so(the("backpack", "beautiful", plural=True), "new"),
        "the beautiful backpacks are new",
        "i begli zaini sono nuovi",
    ),
    (
        is_so(the("friend", by="that", plural=True), "kind"),
        "those friends are kind",
        "quegli amici sono gentili",
    ),
    (is_so(the("island", by="that"), "quiet"), "that island is quiet", "quell'isola è tranquilla"),
    (is_so(the("watch", by="this"), "broken"), "this watch is broken", "quest'orologio è rotto"),
    (
        is_so(the("cat", "small", "black"), "hungry"),
        "the small black cat is hungry",
        "il piccolo gatto nero è affamato",
    ),
    (is_so(the("house", "big"), "quiet"), "the big house is quiet", "la grande casa è tranquilla"),
    # persons and tenses
    (is_so(I, "tired"), "i am tired", "sono stanco"),
    (is_so(SHE, "tired", "past"), "she was tired", "era stanca"),
    (is_so(THEY, "ready", "future"), "they will be ready", "saranno pronti"),
    (
        clause(I, v("eat"), "present", thing(the("apple", by="a"))),
        "i eat an apple",
        "mangio una mela",
    ),
    (clause(YOU, v("eat"), "present", thing(the("bread"))), "you eat the bread", "mangi il pane"),
    (
        clause(WE, v("look for"), "present", thing(the("key"))),
        "we look for the key",
        "cerchiamo la chiave",
    ),
    (
        clause(YOU, v("look for"), "future", thing(the("key"))),
        "you will look for the key",
        "cercherai la chiave",
    ),
    (
        clause(HE, v("eat"), "future", thing(the("soup"))),
        "he will eat the soup",
        "mangerà la zuppa",
    ),
    (
        clause(SHE, v("understand"), "present", thing(the("question"))),
        "she understands the question",
        "capisce la domanda",
    ),
    (
        clause(SHE, v("go"), "past", at("to", "a", the("market"))),
        "she went to the market",
        "è andata al mercato",
    ),
    (
        clause(the("girl", plural=True), v("arrive"), "past"),
        "the girls arrived",
        "le ragazze sono arrivate",
    ),
    (
        clause(HE, v("write"), "past", thing(the("letter", by="a"))),
        "he wrote a letter",
        "ha scritto una lettera",
    ),
    (clause(WE, v("have"), "past", thing(the("dog", by="a"))), "we had a dog", "avevamo un cane"),
    (
        clause(THEY, v("drink"), "present", thing(the("water"))),
        "they drink the water",
        "bevono l'acqua",
    ),
    (clause(I, v("go out"), "present"), "i go out", "esco"),
    (
        clause(THEY, v("come"), "present", at("from", "da", the("station"))),
        "they come from the station",
        "vengono dalla stazione",
    ),
    (
        clause(I, v("stay"), "future", at("in", "in", the("hotel"))),
        "i will stay in the hotel",
        "rimarrò nell'albergo",
    ),
    (
        clause(THEY, v("choose"), "present", thing(the("ring"))),
        "they choose the ring",
        "scelgono l'anello",
    ),
    (
        clause(I, v("make"), "present", thing(the("cake", by="a"))),
        "i make a cake",
        "faccio una torta",
    ),
    (
        clause(SHE, v("say"), "past", thing(the("word", by="a"))),
        "she said a word",
        "ha detto una parola",
    ),
    (
        clause(THEY, v("give"), "present", thing(the("book")) + at("to", "a", the("child"))),
        "they give the book to the child",
        "danno il libro al bambino",
    ),
    # pronouns
    (clause(I, v("see"), "present", clitic="him"), "i see him", "lo vedo"),
    (clause(I, v("see"), "past", clitic="her"), "i saw her", "l'ho vista"),
    (clause(SHE, v("see"), "past", clitic="them"), "she saw them", "li ha visti"),
    (
        clause(HE, v("help"), "present", clitic="her", negative=True),
        "he does not help her",
        "non la aiuta",
    ),
    (clause(THEY, v("invite"), "future", clitic="us"), "they will invite us", "ci inviteranno"),
    # modal verbs and infinitives
    (
        clause(I, v("want to"), "present", to_do(v("buy"), thing(the("car", "new", by="a")))),
        "i want to buy a new car",
        "voglio comprare una nuova macchina",
    ),
    (clause(WE, v("must"), "present", to_do(v("work"))), "we must work", "dobbiamo lavorare"),
    (
        clause(HE, v("can"), "present", to_do(v("come")), negative=True),
        "he cannot come",
        "non può venire",
    ),
    (
        clause(SHE, v("know how to"), "present", to_do(v("swim"))),
        "she knows how to swim",
        "sa nuotare",
    ),
    (clause(HE, v("want to"), "past", to_do(v("sleep"))), "he wanted to sleep", "voleva dormire"),
    # negation, adverbs and questions
    (
        clause(the("cat"), v("sleep"), "past", negative=True),
        "the cat did not sleep",
        "il gatto non ha dormito",
    ),
    (
        clause(the("cat"), v("sleep"), "past", adverb="always"),
        "the cat always slept",
        "il gatto ha sempre dormito",
    ),
    (
        clause(MARCO, v("sing"), "present", adverb="never"),
        "marco never sings",
        "marco non canta mai",
    ),
    (
        clause(MARCO, v("play", "giocare"), "present", question=True),
        "does marco play?",
        "marco gioca?",
    ),
    (
        clause(MARCO, v("play", "suonare"), "present", thing(the("guitar"))),
        "marco plays the guitar",
        "marco suona la chitarra",
    ),
    (ask(said("where", "dove"), the("cat"), BE, "present"), "where is the cat?", "dov'è il gatto?"),
    (
        ask(said("where", "dove"), the("shoe", plural=True), BE, "present"),
        "where are the shoes?",
        "dove sono le scarpe?",
    ),
    (
        ask(said("what", "che cosa"), the("boy"), v("eat"), "past"),
        "what did the boy eat?",
        "che cosa ha mangiato il ragazzo?",
    ),
    (
        ask(said("when", "quando"), the("mother", by="your"), v("arrive"), "past"),
        "when did your mother arrive?",
        "quando è arrivata tua madre?",
    ),
    (
        ask(said("why", "perché"), the("child"), v("cry"), "present", inverted=False),
        "why does the child cry?",
        "perché il bambino piange?",
    ),
    (
        grammar.who(v("open"), "past", thing(the("door"))),
        "who opened the door?",
        "chi ha aperto la porta?",
    ),
    (
        ask(thing(noun_phrase("how many", n("apple"), True)), THEY, v("buy"), "present"),
        "how many apples do they buy?",
        "quante mele comprano?",
    ),
    # places, presence, likes
    (
        clause(the("cat", owner=the("friend")), BE, "present", at("on", "su", the("tree"))),
        "the friend's cat is on the tree",
        "il gatto dell'amico è sull'albero",
    ),
    (
        clause(the("key", plural=True), BE, "past", at("in", "in", the("drawer"))),
        "the keys were in the drawer",
        "le chiavi erano nel cassetto",
    ),
    (
        clause(MARIA, BE, "present", at("in front of", "davanti a", the("church"))),
        "maria is in front of the church",
        "maria è davanti alla chiesa",
    ),
    (
        grammar.there_is(the("cat", by="a"), at("under", "sotto", the("table")), "present"),
        "there is a cat under the table",
        "c'è un gatto sotto il tavolo",
    ),
    (
        grammar.there_is(
            noun_phrase("two", n("bird"), True), at("near", "vicino a", the("lake")), "past"
        ),
        "there were two birds near the lake",
        "c'erano due uccelli vicino al lago",
    ),
    (
        grammar.likes(the("girl"), the("apple", plural=True)),
        "the girl likes the apples",
        "alla ragazza piacciono le mele",
    ),
    (grammar.likes(I, said("to", "") + to_do(v("sing"))), "i like to sing", "mi piace cantare"),
    (
        grammar.likes(THEY, the("soup"), negative=True),
        "they do not like the soup",
        "a loro non piace la zuppa",
    ),
    (grammar.is_well(the("mother", by="my"), "present"), "my mother is well", "mia madre sta bene"),
    (
        clause(
            MARCO,
            BE,
            "present",
            grammar.more(MARCO, "taller", ADJECTIVES["tall"], the("student", plural=True)),
        ),
        "marco is taller than the students",
        "marco è più alto degli studenti",
    ),
    # clauses in clauses
    (
        clause(
            I,
            v("know", "sapere"),
            "present",
            grammar.that(clause(the("cat"), v("sleep"), "present")),
        ),
        "i know that the cat sleeps",
        "so che il gatto dorme",
    ),
    (
        is_so(grammar.that_does(the("cat"), v("sleep"), "present"), "black"),
        "the cat that sleeps is black",
        "il gatto che dorme è nero",
    ),
    (
        clause(grammar.both(the("hen"), the("fox")), v("arrive"), "past"),
        "the hen and the fox arrived",
        "la gallina e la volpe sono arrivate",
    ),
    (
        grammar.joined(
            clause(HE, v("sleep"), "present"), "and", "e", clause(SHE, v("go out"), "present")
        ),
        "he sleeps and she goes out",
        "dorme ed esce",
    ),
    (
        clause(the("boy", by="all", plural=True), v("know", "conoscere"), "past", thing(MARIA)),
        "all the boys knew maria",
        "tutti i ragazzi conoscevano maria",
    ),
    (
        clause(the("student", by="every"), v("read"), "past", said("yesterday", "ieri")),
        "every student read yesterday",
        "ogni studente ha letto ieri",
    ),
]


@pytest.mark.parametrize(("drawn", "english", "italian"), BY_HAND, ids=[row[1] for row in BY_HAND])
def test_a_sentence_written_by_hand(drawn, english, italian):
    assert corpus.as_pair(drawn) == (english, italian)
    assert not mistakes(italian)


def test_every_tag_that_a_word_asks_for_exists():
    known = {tag for noun in NOUNS.values() for tag in noun.tags} | set(NOUNS)
    for word in (*ADJECTIVES.values(), *VERBS.values()):
        assert word.tags <= known, (word.english, word.tags - known)


FEMININE = set(  # of the nouns that end neither in -o nor in -a
    [
        "madre",
        "moglie",
        "attrice",
        "volpe",
        "tigre",
        "carne",
        "chiave",
        "canzone",
        "lezione",
        "stazione",
        "torre",
        "città",
        "università",
    ]
)


def test_genders_and_plurals_are_those_of_their_endings():
    for noun in NOUNS.values():
        one, several = noun.italian
        gender = (
            "m" if one[-1] == "o" else "f" if one[-1] == "a" else "f" if one in FEMININE else "m"
        )
        if one not in {"collega", "problema", "foto"}:
            assert noun.gender[0] == gender, one
        if several and one not in {"uovo", "foto", "zoo", "re"} and one[-1] in "oae":
            assert several[-1] == ("e" if one[-1] == "a" and noun.gender[0] == "f" else "i"), (
                several
            )
        elif several and one != "uovo":
            assert several == one
        assert noun.gender[0] == noun.gender[1] or one == "uovo"


def test_names_are_not_words_of_another_kind():
    assert not set(NAMES) & (set(NOUNS) | set(ADJECTIVES))
    assert Words() + said("a", "b") == said("a", "b")


def test_the_first_page_knows_how_long_a_sentence_may_be():
    script = (ROOT / "book" / "explorers" / "translating.js").read_text(encoding="utf-8")
    longest = max(len(english.split()) for english, _ in pairs_of("train"))
    assert f"const LONGEST = {longest};" in script


def test_the_easy_part_holds_short_sentences_and_every_word_of_the_promise():
    easy = corpus.easy_part()
    known = {word for english, _ in easy["train"] for word in corpus.words(english)}
    assert known.issuperset(corpus.words(corpus.PROMISE))
    assert corpus.PROMISE not in {english for pairs in easy.values() for english, _ in pairs}
    for pairs in easy.values():
        assert all(len(corpus.words(english)) <= corpus.LONGEST for english, _ in pairs)
    assert all(easy[name] for name in ("train", "validation", "random", "combinations"))
