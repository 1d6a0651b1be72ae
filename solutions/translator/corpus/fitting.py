"""Who goes with what: the nouns that a verb, an adjective or a determiner goes with."""

import functools

from solutions.translator.corpus.lexicon import NOUNS, VERBS

OWNERS = ("my", "your", "his", "her", "our", "their")
DEFINITE = ("the",) * 6 + OWNERS + ("this", "that")
INDEFINITE = ("a",) * 5 + ("two", "three", "four", "five", "ten", "some", "many")
ANY = DEFINITE * 2 + INDEFINITE + ("every", "all")
ONE = {"a", "every"}
SEVERAL = {"two", "three", "four", "five", "ten", "some", "many", "all", "how many"}
HUSBAND_AND_WIFE = {"husband": ("the", "her"), "wife": ("the", "my", "your", "his")}
ANIMALS_EAT = {
    "bread",
    "cheese",
    "meat",
    "fish",
    "apple",
    "carrot",
    "egg",
    "potato",
    "pear",
    "biscuit",
}
ANIMALS_DRINK = {"water", "milk"}


@functools.cache
def nouns_of(tags):
    """Return the nouns that have one of some tags, or are named in them, in the order of the
    table.
    """
    return tuple(noun for noun in NOUNS.values() if noun.is_one_of(tags))


@functools.cache
def verbs_of(kind, by_animals=False):
    """Return the verbs that take a kind of complement, and that animals can do if they must."""
    return tuple(
        verb
        for verb in VERBS.values()
        if kind in verb.kinds and (verb.by_animals or not by_animals)
    )


def goals():
    """Return the verbs of motion, each with its two prepositions."""
    kinds = (
        (verb, kind) for verb in VERBS.values() for kind in verb.kinds if kind.startswith("goal=")
    )
    return tuple((verb, *kind.removeprefix("goal=").split(":")) for verb, kind in kinds)


GOALS = goals()
DOINGS = tuple(verb for verb in VERBS.values() if {"alone", "object", "place"} & set(verb.kinds))


def can_stand_beside(adjective, noun):
    """Return whether an adjective can be part of a noun phrase, and not only be said of a noun."""
    return adjective.place != "predicate" and "family" not in noun.tags


def stands_with(determiner, noun):
    """Return whether a determiner goes with a noun: nobody says "two breads", "my lake" or
    "this mother".
    """
    if noun.english[1] is None and (determiner in SEVERAL or determiner in ONE):
        return False
    if noun.name in HUSBAND_AND_WIFE and determiner in DEFINITE:
        return determiner in HUSBAND_AND_WIFE[noun.name]
    if "one" in noun.tags and determiner in INDEFINITE:
        return False
    if "family" in noun.tags:
        return (
            determiner in OWNERS
            or determiner in ("a", "the", "how many")
            or determiner in INDEFINITE
        )
    return determiner not in OWNERS or "common" not in noun.tags


def is_animal(phrase):
    """Return whether a phrase is about animals."""
    return phrase.noun is not None and "animal" in phrase.noun.tags


def looks_present(verb, subject):
    """Return whether the past looks like the present in English, so that it does not decide the
    Italian: "they read".
    """
    return verb.english[0] == verb.english[2] and subject.person != 2
