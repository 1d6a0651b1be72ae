"""What is known of each pair of the corpus: links, roles and entities, of a sample in `make test`,
and of the whole corpus in a long test. What is linked is looked up in the tables of words, which
know nothing of the links.
"""

import functools
import hashlib
from collections import Counter

import pytest

from solutions.translator import corpus
from solutions.translator.corpus import grammar, phrases, statements
from solutions.translator.corpus.annotation import HELD_OUT
from solutions.translator.corpus.draw import draw
from solutions.translator.corpus.grammar import at, clause, name, noun_phrase, pronoun, so, thing
from solutions.translator.corpus.lexicon import ADJECTIVES, BE, BE_WELL, NAMES, NOUNS, VERBS
from solutions.translator.corpus.marks import Word, forgotten

pytestmark = pytest.mark.xdist_group("corpus")  # drawn in one process, for all of its tests

# of the corpus as it was drawn before its words were marked
DIGESTS = {
    0: "4a557537681c2d0a",
    1: "c8d3d7ad22967e27",
    2: "683f361f3fa9d210",
    3: "858cc654c09de9a9",
    4: "a62c7682cd93aa72",
}
# English words that are always said outright, and by what
FUNCTION_WORDS = {
    "not": {"non"},
    "and": {"e", "ed"},
    "there": {"ci", "c'"},
    "who": {"chi"},
    "where": {"dove", "dov'"},
    **{english: {italian} for english, italian in grammar.ADVERBS.items()},
    **{english: {italian} for english, italian in grammar.NUMBERS.items()},
}
SHAPES = (*corpus.SEEN, *corpus.UNSEEN, "long")


def digest(splits):
    """Return a digest of all sentences, in order."""
    text = "".join(
        f"{split}\t{english}\t{italian}\n"
        for split, pairs in splits.items()
        for english, italian in pairs
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def translations():
    """Return dict: English word of the tables -> all Italian forms that they give it; "how" and
    "to" are left out, because they are not always part of "know how to".
    """
    found = {}

    def add(english, italian):
        for one in english.split():
            found.setdefault(one, set()).update(italian)

    for noun in NOUNS.values():
        for plural in (False, True):
            if noun.english[plural]:
                add(noun.english[plural], [noun.italian[plural]])
    for adjective in ADJECTIVES.values():
        forms = set(adjective.italian.values())
        add(adjective.english, forms.union(*(grammar.SHORT.get(form, ()) for form in forms)))
    for comparative, adjective in corpus.COMPARATIVES.items():
        add(comparative, {"più", *ADJECTIVES[adjective].italian.values()})
    for one in NAMES:
        add(one, [one])
    for verb in (*VERBS.values(), grammar.LIKE):
        finite = (*verb.present, *verb.future, *(verb.imperfect if verb.stative else ()))
        participles = grammar.agreeing(verb.participle).values()
        for form in verb.english:
            add(form, {verb.italian, *finite, *participles})
    return {english: forms for english, forms in found.items() if english not in ("how", "to")}


def without_possessive(word):
    return word.removesuffix("'")


def flaws(known):
    """Return what is wrong with an Annotation, as a list of strings."""
    english, italian = known.english, known.italian
    inside = {(i, j) for i in range(len(english)) for j in range(len(italian))}
    found = []
    if not known.sure <= known.possible <= inside or not known.agreement <= inside:
        found.append("a link is out of range, or sure and not possible")
    for side, words in enumerate((english, italian)):
        linked = {link[side] for link in known.possible}
        found += [f"{words[i]} is not linked" for i in range(len(words)) if i not in linked]
        if not len(known.roles[side]) == len(known.entities[side]) == len(words):
            found.append("not every word has a role and an entity")
        for text, role, entity in zip(words, known.roles[side], known.entities[side], strict=True):
            if (text != "?" and role not in corpus.ROLES) or (text == "?" and role):
                found.append(f"{text} has the role {role!r}")
            is_name = without_possessive(text) in NAMES
            if is_name != (entity == "name") or entity not in ("", *corpus.ENTITIES):
                found.append(f"{text} is {entity!r}")
    sure_of = {i: {italian[j] for k, j in known.sure if k == i} for i in range(len(english))}
    for i, text in enumerate(english):
        said = sure_of[i]
        plain = without_possessive(text)
        looked_up = plain in translations() and not may_be_helper(known, i)
        if looked_up and not (said and said <= translations()[plain] | own_forms(text)):
            found.append(f"{text} is linked to {sorted(said)}")
        if text in FUNCTION_WORDS and not said & FUNCTION_WORDS[text]:
            found.append(f"{text} is linked to {sorted(said)}")
    return found


def may_be_helper(known, i):
    """Return whether a word of the tables may be part of an expression: "in front of"."""
    return known.roles[0][i] in ("time", "manner", "question", "place") and (
        known.english[i] not in NOUNS_ALONE
    )


NOUNS_ALONE = {form for noun in NOUNS.values() for form in noun.english if form and " " not in form}


def own_forms(text):
    """Return what a word is linked to that is there in two ways: "well" is "bene" as well."""
    spoken = [*phrases.WELL, *phrases.FAST, *statements.CONJUNCTIONS]
    forms = {italian for english, italian in spoken if english == text}
    both = (*BE.present, *BE.imperfect, *BE.future, *BE_WELL.present, *BE_WELL.imperfect)
    return forms | ({"che"} if text == "that" else set()) | (set(both) if text == "be" else set())


# ---- by hand ----


def the(word, *adjectives, by="the", plural=False, owner=None):
    chosen = tuple(ADJECTIVES[one] for one in adjectives)
    return noun_phrase(by, NOUNS[word], plural, chosen, owner=owner)


EAT, SLEEP, WANT = VERBS["eat", "mangiare"], VERBS["sleep", "dormire"], VERBS["want to", "volere"]
BY_HAND = [
    # english, italian, and each Italian word's English: sure, and possible in brackets
    (
        lambda: clause(the("cat"), SLEEP, "present", at("in", "in", the("garden"))),
        "the cat sleeps in the garden",
        "il:the gatto:cat dorme:sleeps nel:in+the giardino:garden",
    ),
    (
        lambda: clause(pronoun("i"), EAT, "past", thing(the("apple", by="two", plural=True))),
        "i ate two apples",
        "ho:(ate)+(i) mangiato:ate due:two mele:apples",
    ),
    (
        lambda: clause(the("friend"), SLEEP, "past", question=True),
        "did the friend sleep ?",
        "l':the amico:friend ha:did+(sleep) dormito:sleep ?:?",
    ),
    (
        lambda: clause(the("cat"), SLEEP, "present", negative=True),
        "the cat does not sleep",
        "il:the gatto:cat non:not dorme:sleep+(does)",
    ),
    (
        lambda: clause(the("cat", by="your"), BE, "present", so(the("cat"), ADJECTIVES["black"])),
        "your cat is black",
        "il:(your) tuo:your gatto:cat è:is nero:black",
    ),
    (
        lambda: clause(the("coat", owner=name("maria", "f")), BE, "future", at("on", "su", the("bed"))),
        "maria' s coat will be on the bed",
        "il:(coat) cappotto:coat di:s maria:maria' sarà:be+(will) sul:on+the letto:bed",
    ),
    (
        lambda: clause(pronoun("she"), WANT, "present", grammar.to_do(SLEEP)),
        "she wants to sleep",
        "vuole:wants+(she)+(to) dormire:sleep",
    ),
    (
        lambda: clause(pronoun("we"), SLEEP, "past", adverb="never"),
        "we never slept",
        "non:(never) abbiamo:(slept)+(we) mai:never dormito:slept",
    ),
    (
        lambda: grammar.likes(pronoun("they"), the("soup"), negative=True),
        "they do not like the soup",
        "a:(they) loro:they non:not piace:like+(do) la:the zuppa:soup",
    ),
    (
        lambda: grammar.there_is(the("cat", by="a"), at("near", "vicino a", the("tree")), "present"),
        "there is a cat near the tree",
        "c':there è:is un:a gatto:cat vicino:near all':near+the albero:tree",
    ),
    (
        lambda: clause(pronoun("he"), VERBS["see", "vedere"], "past", clitic="her"),
        "he saw her",
        "l':her ha:(he)+(saw) vista:saw",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("drawn", "english", "italian"), BY_HAND, ids=[row[1] for row in BY_HAND])
def test_a_sentence_linked_by_hand(drawn, english, italian):
    known = corpus.annotate(drawn())
    assert " ".join(known.english) == english
    said = []
    for j, text in enumerate(known.italian):
        sure = [known.english[i] for i, to in sorted(known.sure) if to == j]
        only_possible = sorted(known.english[i] for i, to in known.possible - known.sure if to == j)
        said.append(f"{text}:{'+'.join(sure + [f'({one})' for one in only_possible])}")
    assert " ".join(said) == italian
    assert not flaws(known)


def test_roles_and_agreement_by_hand():
    drawn = clause(the("girl"), VERBS["go", "andare"], "past", at("to", "a", the("market")))
    known = corpus.annotate(drawn + grammar.said_as("time", grammar.said("today", "oggi")))
    assert known.english == ("the", "girl", "went", "to", "the", "market", "today")
    assert known.roles[0] == ("subject", "subject", "verb", "place", "place", "place", "time")
    assert known.roles[1] == ("subject", "subject", "verb", "verb", "place", "place", "time")
    # la ragazza è andata al mercato: the girl decides four words, and the market two
    assert sorted(known.agreement) == [(1, 0), (1, 1), (1, 2), (1, 3), (5, 4), (5, 5)]
    assert known.entities[0] == ("", "", "", "", "", "place", "")


# ---- of all structures ----


@pytest.mark.parametrize("shape", SHAPES)
def test_a_sample_of_each_structure_is_linked(shape):
    writer = corpus.Writer(f"annotated {shape}", frozenset())
    for _ in range(60):
        drawn = draw(writer, (shape,))
        known = corpus.annotate(drawn)
        texts = tuple(corpus.sentence(side) for side in (known.english, known.italian))
        assert texts == corpus.as_pair(drawn)
        assert tuple(map(corpus.words, texts)) == (list(known.english), list(known.italian))
        assert not flaws(known), texts


def test_marks_change_no_sentence():
    assert digest(corpus.splits()) == DIGESTS[0]


def test_a_flaw_is_seen():
    known = corpus.annotate(clause(the("cat"), EAT, "present", thing(the("apple"))))
    swapped = {(1, 4), (4, 1)} | {link for link in known.sure if link not in ((1, 1), (4, 4))}
    wrong = corpus.Annotation(
        known.english, known.italian, frozenset(swapped), frozenset(swapped), known.agreement,
        known.roles, known.entities,
    )  # fmt: skip
    assert flaws(wrong) == ["cat is linked to ['mela']", "apple is linked to ['gatto']"]


@pytest.mark.long
@pytest.mark.parametrize("seed", DIGESTS)
def test_the_whole_corpus_is_linked(seed):
    splits = corpus.splits.__wrapped__(seed)
    assert digest(splits) == DIGESTS[seed]
    known = corpus.annotations.__wrapped__(seed, ("train", *HELD_OUT))
    found = Counter()
    for split, pairs in splits.items():
        assert len(pairs) == len(known[split])
        for pair, one in zip(pairs, known[split], strict=True):
            assert pair == (corpus.sentence(one.english), corpus.sentence(one.italian))
            found.update(flaws(one))
    assert not found


def test_plain_strings_are_drawn_where_nothing_is_to_be_remembered():
    def drawn():
        writer = corpus.Writer("plain", frozenset())
        return [draw(writer, (shape,)) for shape in SHAPES for _ in range(20)]

    with forgotten():
        plain = drawn()
    remembered = drawn()
    assert list(map(corpus.as_pair, plain)) == list(map(corpus.as_pair, remembered))
    assert {type(word) for each in plain for word in each.english + each.italian} == {str}
    assert {type(word) for each in remembered for word in each.english + each.italian} == {Word}
