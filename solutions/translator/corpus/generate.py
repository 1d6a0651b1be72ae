"""An English-Italian corpus that is ours: sentences drawn from the grammar, and splits that ask
what a translator has understood.

`splits` draws them with a seed. No sentence is in two splits, no English sentence has two Italian
ones, and every word of a test sentence was seen in training. What differs is what was *not* seen:
the sentence ("random"), a noun together with an adjective ("combinations"), a construction
("structures"), a length ("long").
"""

import functools
import random
import re

from solutions.translator.corpus import grammar
from solutions.translator.corpus.grammar import Words, ask, at, clause, said, so, thing, to_do
from solutions.translator.corpus.lexicon import ADJECTIVES, BE, NAMES, NOUNS, SKILLS, VERBS

SIZES = {
    "train": 100_000,
    "validation": 1000,
    "random": 1000,
    "combinations": 1000,
    "structures": 500,
    "long": 500,
}
PROMISE = "your cat is a lovely cat"  # for the end of the course: in the language, and in no split
LONGEST_TRAINED = 12  # English words, a question mark counted
LONGEST = 24
KEPT_BACK_SHARE = 0.06  # of the pairs of noun and adjective

OWNERS = ("my", "your", "his", "her", "our", "their")
DEFINITE = ("the",) * 6 + OWNERS + ("this", "that")
INDEFINITE = ("a",) * 5 + ("two", "three", "four", "five", "ten", "some", "many")
ANY = DEFINITE * 2 + INDEFINITE + ("every", "all")
ONE = {"a", "every"}
SEVERAL = {"two", "three", "four", "five", "ten", "some", "many", "all", "how many"}
TENSES = ("present", "present", "past", "future")
PRONOUNS = ("i", "i", "you", "you", "we", "we", "he", "she", "they")
HUSBAND_AND_WIFE = {"husband": ("the", "her"), "wife": ("the", "my", "your", "his")}

TIMES = {
    "present": (
        ("today", "oggi"),
        ("now", "adesso"),
        ("every day", "ogni giorno"),
        ("in the evening", "di sera"),
    ),
    "past": (
        ("yesterday", "ieri"),
        ("last week", "la settimana scorsa"),
        ("this morning", "stamattina"),
    ),
    "future": (("tomorrow", "domani"), ("next week", "la settimana prossima"), ("soon", "presto")),
}
WELL = (("well", "bene"), ("badly", "male"))
STATES = {
    "tired", "happy", "sad", "kind", "friendly", "lazy", "brave", "polite", "patient", "nervous", "angry", "calm", "hungry", "thirsty",
    "worried", "serious", "ready", "alone",
}  # fmt: skip
FAST = (("slowly", "lentamente"), ("quickly", "velocemente"))
MANNERS = {
    "sing": WELL, "dance": WELL, "swim": WELL + FAST, "speak": WELL + FAST, "cook": WELL, "work": WELL, "play": WELL,
    "walk": FAST, "eat": FAST, "read": WELL + FAST, "sleep": WELL,
}  # fmt: skip
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
WILD_PLACES = {"wood", "field", "garden", "park", "farm", "zoo", "village"}
LANDMARKS = {"nature", "house", "castle", "church", "farm", "school", "hotel", "garden"}
CONJUNCTIONS = (("and", "e"), ("but", "ma"), ("because", "perché"), ("when", "quando"))
COMPARATIVES = {
    "taller": "tall", "older": "old", "younger": "young", "stronger": "strong", "richer": "rich", "poorer": "poor", "happier": "happy",
    "kinder": "kind", "thinner": "thin", "calmer": "calm", "lazier": "lazy", "braver": "brave",
}  # fmt: skip
LIKED = {
    "food",
    "drink",
    "animal",
    "text",
    "clothes",
    "instrument",
    "building",
    "garden",
    "city",
    "language",
    "flower",
    "car",
}


# ---- words and sentences ----


def words(sentence):
    """Split a sentence as people write it: "l'amico dorme?" is "l'", "amico", "dorme", "?"."""
    return re.findall(r"[^\s'?]*'|[^\s'?]+|\?", sentence)


def sentence(words):
    """Write words as people do, the inverse of `words`: nothing follows an apostrophe at a
    distance, and "?" none.
    """
    return " ".join(words).replace("' ", "'").replace(" ?", "?")


# ---- who goes with what ----


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


def can_stand_beside(adjective, noun):
    """Return whether an adjective can stand beside a noun, and not only be said of it."""
    return adjective.place != "predicate" and "family" not in noun.tags


def kept_back_pairs(seed=0):
    """Return the (noun, adjective) pairs, by their English, that no training sentence holds."""
    rng = random.Random(f"pairs {seed}")
    pairs = [
        (noun.name, adjective.english)
        for noun in NOUNS.values()
        for adjective in ADJECTIVES.values()
        if adjective.fits(noun)
        and can_stand_beside(adjective, noun)
        and (noun.name, adjective.english) != ("cat", "lovely")
    ]
    return frozenset(rng.sample(pairs, round(KEPT_BACK_SHARE * len(pairs))))


def stands_with(determiner, noun):
    """Return whether a determiner can stand with a noun: nobody says "two breads", "my lake" or
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


class Writer:
    """Draws sentences from the grammar.

    Args:
        seed: of the draws.
        kept_back: the (noun, adjective) pairs not to write.
        only_kept_back: to write these alone instead, wherever a noun has one.
    """

    def __init__(self, seed, kept_back, only_kept_back=False):
        generator = random.Random(seed)
        self.random, self.shuffle = generator.random, generator.shuffle
        self.eager = only_kept_back
        self.beside, self.said_of = {}, {}
        for noun in NOUNS.values():
            fitting = [
                one
                for one in ADJECTIVES.values()
                if one.fits(noun) and ((noun.name, one.english) in kept_back) == only_kept_back
            ]
            self.said_of[noun] = fitting
            self.beside[noun] = [one for one in fitting if can_stand_beside(one, noun)]
        self.fitting = {
            one: [noun for noun in NOUNS.values() if one in self.said_of[noun]]
            for one in ADJECTIVES.values()
        }
        self.adjectives = [one for one in ADJECTIVES.values() if self.fitting[one]]
        self.decks = {}

    def pick(self, choices):
        """Return one of some choices."""
        return choices[int(self.random() * len(choices))]

    def chance(self, probability):
        """Return whether something happens that does so with a probability."""
        return self.random() < probability

    # -- phrases --

    def phrase(self, nouns, determiners=DEFINITE, adjective=0.3, plural=0.35):
        """Draw a noun phrase.

        Args:
            nouns, determiners: what to draw from; a determiner that cannot stand with the noun is
                drawn again.
            adjective, plural: how often.
        """
        noun = self.pick(nouns)
        ownable = (
            noun.english[1] and "common" not in noun.tags and noun.name not in HUSBAND_AND_WIFE
        )
        if ownable and determiners is not INDEFINITE and self.chance(0.08):
            return grammar.noun_phrase("the", noun, owner=self.owner(noun))
        determiner = self.pick(determiners)
        while not stands_with(determiner, noun):
            determiner = self.pick(determiners)
        several = determiner in SEVERAL
        if not several and determiner not in ONE and noun.english[1]:
            several = self.chance(plural) and not ("one" in noun.tags and determiner in OWNERS)
        described = self.beside[noun] and (self.eager or self.chance(adjective))
        return grammar.noun_phrase(
            determiner, noun, several, (self.pick(self.beside[noun]),) if described else ()
        )

    def owner(self, noun):
        """Draw whoever owns something."""
        if self.chance(0.5):
            return self.name()
        people = [one for one in nouns_of(frozenset({"person"})) if one is not noun]
        one = self.pick(people)
        family = "family" in one.tags
        return grammar.noun_phrase(self.pick(OWNERS[:5]) if family else "the", one)

    def name(self):
        """Draw a name."""
        return grammar.name(*self.pick(tuple(NAMES.items())))

    def person(self, determiners=DEFINITE, adjective=0.25):
        """Draw somebody: a pronoun, a name, or a phrase."""
        chance = self.random()
        if chance < 0.4:
            return grammar.pronoun(self.pick(PRONOUNS))
        if chance < 0.5:
            return self.name()
        return self.phrase(nouns_of(frozenset({"person"})), determiners, adjective)

    def subject(self, verb, determiners=DEFINITE):
        """Draw who can do something."""
        if verb.by_animals and self.chance(0.5):
            return self.phrase(nouns_of(frozenset({"animal"})), determiners)
        return self.person(determiners)

    def object_of(self, verb, subject, determiners=ANY):
        """Draw a phrase to which somebody can do something."""
        if verb.italian == "avere":
            determiners = INDEFINITE
        tags = verb.tags
        if is_animal(subject) and verb.italian in ("mangiare", "bere"):
            tags = frozenset(ANIMALS_EAT if verb.italian == "mangiare" else ANIMALS_DRINK)
        nouns = [noun for noun in nouns_of(tags) if noun is not subject.noun]
        if determiners is INDEFINITE:
            nouns = [noun for noun in nouns if noun.english[1]]
        return self.phrase(nouns, determiners)

    # -- complements --

    def place(self, subject):
        """Draw where somebody or something is."""
        noun = subject.noun
        if noun and "animal" in noun.tags:
            return self.place_of_animal(noun)
        if noun and "person" not in noun.tags:
            return self.place_of_thing()
        chance = self.random()
        if chance < 0.6:
            return at("in", "in", self.somewhere({"inside"}))
        if chance < 0.7:
            return at("on", "su", self.somewhere({"island", "beach", "bridge"}))
        return self.beside_something({"place", "nature"})

    def place_of_animal(self, noun):
        """Draw where an animal is: a cat may lie under a table."""
        chance = self.random()
        if "pet" in noun.tags and chance < 0.4:
            if self.chance(0.5):
                return at("on", "su", self.somewhere({"surface"}))
            return at("under", "sotto", self.somewhere({"furniture"}))
        if chance < 0.7:
            return at("in", "in", self.somewhere(WILD_PLACES))
        return self.beside_something(LANDMARKS)

    def place_of_thing(self):
        """Draw where something small is."""
        chance = self.random()
        if chance < 0.4:
            return at("in", "in", self.somewhere({"holder", "drawer", "wardrobe", "room"}))
        if chance < 0.7:
            return at("on", "su", self.somewhere({"surface"}))
        if chance < 0.8:
            return at("under", "sotto", self.somewhere({"furniture"}))
        return self.beside_something({"furniture", "door", "window", "lamp"})

    def beside_something(self, tags):
        """Draw "near the house", "behind the house" or "in front of the house"."""
        prepositions = (("near", "vicino a"), ("behind", "dietro"), ("in front of", "davanti a"))
        return at(*self.pick(prepositions), self.somewhere(tags))

    def somewhere(self, tags):
        """Draw the phrase of a place."""
        nouns = nouns_of(frozenset(tags))
        return self.phrase(nouns, ("the",) * 9 + OWNERS, adjective=0.2, plural=0.05)

    def when(self, tense):
        """Draw a time that goes with a tense."""
        return said(*self.pick(TIMES[tense]))

    def action(self, verb, subject, pronouns=True, determiners=ANY):
        """Draw a complement of a verb, and the object pronoun if it has one.

        Args:
            pronouns: whether an object may be a pronoun (not that of an infinitive, where it would
                stand elsewhere).
        """
        kind = self.pick(
            [one for one in verb.kinds if one in ("alone", "object", "place", "human")]
        )
        if kind == "human" and pronouns and self.chance(0.8):
            return Words(), self.object_pronoun(subject)
        if kind in ("object", "human"):
            return thing(self.object_of(verb, subject, determiners)), None
        if kind == "place":
            return self.place(subject), None
        manners = MANNERS.get(verb.english[0], ())
        return (said(*self.pick(manners)) if manners and self.chance(0.4) else Words()), None

    def object_pronoun(self, subject):
        """Draw an object pronoun that is somebody else than the subject."""
        own = {0: ("me", "us"), 1: ("you",), 3: ("me", "us")}.get(subject.person, ())
        return self.pick(
            [one for one in ("me", "you", "him", "her", "her", "us", "them") if one not in own]
        )

    # -- sentences --

    def manner_of_speaking(self):
        """Draw whether a clause is a statement, a negation or a question, as arguments of
        `clause`.
        """
        chance = self.random()
        return {"negative": True} if chance < 0.2 else {"question": True} if chance < 0.35 else {}

    def quality(self):
        """Draw "the cat was tired"."""
        adjective = self.pick(self.adjectives)
        if "person" in adjective.tags and not self.eager and self.chance(0.4):
            subject = self.name() if self.chance(0.2) else grammar.pronoun(self.pick(PRONOUNS))
        else:
            subject = self.bare(self.pick(self.fitting[adjective]))
        how = self.manner_of_speaking()
        if not how and adjective.english in STATES and self.chance(0.3):
            how = {"adverb": self.pick(tuple(grammar.ADVERBS))}
        return clause(subject, BE, self.pick(TENSES), so(subject, adjective), **how)

    def bare(self, noun, several=0.4):
        """Draw a phrase without adjectives; `several` says how often it is plural."""
        determiner = self.pick(DEFINITE)
        while not stands_with(determiner, noun):
            determiner = self.pick(DEFINITE)
        plural = bool(noun.english[1]) and "one" not in noun.tags and self.chance(several)
        return grammar.noun_phrase(determiner, noun, plural)

    def kind_of(self):
        """Draw "your cat is a lovely cat", or "she is a good nurse"."""
        if self.chance(0.5):
            nouns = [noun for noun in NOUNS.values() if noun.english[1] and self.beside[noun]]
            noun = self.pick(nouns)
            subject = grammar.noun_phrase(
                self.pick([one for one in DEFINITE if stands_with(one, noun)]), noun
            )
        else:
            subject = self.somebody()
            noun = self.pick(
                [one for one in nouns_of(frozenset({"job"})) if one.gender[0] == subject.gender]
            )
        described = self.beside[noun] and (self.chance(0.6) or noun is subject.noun)
        what = grammar.noun_phrase(
            "a", noun, False, (self.pick(self.beside[noun]),) if described else ()
        )
        return clause(
            subject, BE, self.pick(("present", "past")), thing(what), **self.manner_of_speaking()
        )

    def somebody(self):
        """Draw one who may have any profession."""
        chance = self.random()
        if chance < 0.4:
            return grammar.pronoun(self.pick(("i", "you", "he", "she")))
        if chance < 0.6:
            return self.name()
        return self.bare(
            self.pick(nouns_of(frozenset({"family", "man", "woman", "friend"}))), several=0
        )

    def whereabouts(self):
        """Draw "the keys are in the drawer"."""
        nouns = nouns_of(frozenset({"person", "animal", "small", "food"}))
        subject = self.phrase(nouns, DEFINITE, 0.2) if self.chance(0.8) else self.person()
        return clause(
            subject, BE, self.pick(TENSES), self.place(subject), **self.manner_of_speaking()
        )

    def deal(self, name):
        """Deal one of `CARDS`; all are dealt before one is dealt again, so that no verb form is
        rare.
        """
        deck = self.decks.setdefault(name, [])
        if not deck:
            deck.extend(CARDS[name])
            self.shuffle(deck)
        return deck.pop()

    def deed(self):
        """Draw what somebody does: "the girl often opens the window"."""
        verb, tense, pronoun = self.deal("deed")
        return self.doing(verb, self.manner_of_speaking(), tense, pronoun=pronoun)

    def doing(self, verb, how, tense=None, time=0.2, pronoun=None):
        """Draw what somebody does, with a verb."""
        determiners = DEFINITE if how else ANY
        subject = grammar.pronoun(pronoun) if pronoun else self.subject(verb, determiners)
        tense = tense or self.pick(TENSES)
        complement, clitic = self.action(
            verb, subject, determiners=DEFINITE + ("a",) * 4 if how else ANY
        )
        if tense == "past" and not how and looks_present(verb, subject):
            tense = "present"
        if not how and self.chance(0.15):
            how = {"adverb": self.pick(tuple(grammar.ADVERBS))}
        elif not verb.stative and self.chance(2.5 * time if complement == Words() else time):
            return self.timed(subject, verb, tense, complement, how, clitic)
        return clause(subject, verb, tense, complement, clitic=clitic, **how)

    def timed(self, subject, verb, tense, complement, how, clitic):
        """Draw a time for a clause, at its end or, in a statement, at its beginning."""
        time = self.when(tense)
        if "question" in how or self.chance(0.6):
            return clause(subject, verb, tense, complement + time, clitic=clitic, **how)
        return time + clause(subject, verb, tense, complement, clitic=clitic, **how)

    def motion(self):
        """Draw "she went to the market"."""
        (verb, english, italian), tense, pronoun = self.deal("motion")
        subject = grammar.pronoun(pronoun) if pronoun else self.person()
        place = at(
            english, italian, self.phrase(nouns_of(frozenset({"goal"})), ("the",), 0.2, 0.05)
        )
        return clause(subject, verb, tense, place, **self.manner_of_speaking())

    def gift(self):
        """Draw "marco gives the book to the girl"."""
        verb, tense, pronoun = self.deal("gift")
        subject = grammar.pronoun(pronoun) if pronoun else self.person(DEFINITE, 0)
        what = thing(self.object_of(verb, subject, DEFINITE + ("a",) * 6))
        people = [noun for noun in nouns_of(frozenset({"person"})) if noun is not subject.noun]
        whom = self.name() if self.chance(0.2) else self.phrase(people, DEFINITE, 0.1)
        return clause(subject, verb, tense, what + at("to", "a", whom), **self.manner_of_speaking())

    def wish(self):
        """Draw "i want to buy a car", "he must sleep"."""
        verb, subject = self.pick(verbs_of("modal")), self.person()
        tense = self.pick(("present", "present", "past")) if verb.english[2] != "-" else "present"
        if self.chance(0.25):
            motion, english, italian = self.pick(GOALS)
            place = at(
                english, italian, self.phrase(nouns_of(frozenset({"goal"})), ("the",), 0.2, 0.05)
            )
            return clause(subject, verb, tense, to_do(motion, place), **self.manner_of_speaking())
        deed = self.pick(DOINGS)
        complement, _ = self.action(
            deed, subject, pronouns=False, determiners=DEFINITE + ("a",) * 4
        )
        return clause(subject, verb, tense, to_do(deed, complement), **self.manner_of_speaking())

    def skill(self):
        """Draw "she knows how to swim"."""
        verb, subject = self.pick(verbs_of("skill")), self.person()
        deed = self.pick([one for one in DOINGS if one.english[0] in SKILLS])
        complement, _ = self.action(deed, subject, pronouns=False, determiners=("the", "a", "this"))
        return clause(
            subject,
            verb,
            self.pick(("present", "past")),
            to_do(deed, complement),
            **self.manner_of_speaking(),
        )

    def liking(self):
        """Draw "the girl likes the cat"."""
        how = self.manner_of_speaking()
        if self.chance(0.7):
            return grammar.likes(self.person(), self.phrase(nouns_of(frozenset(LIKED))), **how)
        subject = self.person()
        deed = self.pick(
            [
                one
                for one in verbs_of("alone")
                if "object" not in one.kinds and one.italian != "cadere"
            ]
        )
        return grammar.likes(subject, said("to", "") + to_do(deed), **how)

    def presence(self):
        """Draw "there is a cat in the garden"."""
        nouns = [
            one
            for one in nouns_of(frozenset({"person", "animal", "small"}))
            if "family" not in one.tags
        ]
        what = self.phrase(nouns, INDEFINITE)
        return grammar.there_is(
            what, self.place(what), self.pick(TENSES), question=self.chance(0.25)
        )

    def health(self):
        """Draw "my mother is well"."""
        how, subject = self.manner_of_speaking(), self.person(adjective=0)
        tense = self.pick(TENSES)
        time = self.when(tense) if self.chance(0.6) else Words()
        return grammar.is_well(subject, tense, "negative" in how or self.chance(0.5), time, **how)

    def comparison(self):
        """Draw "marco is taller than the girl"."""
        comparative, adjective = self.pick(tuple(COMPARATIVES.items()))
        subject, other = self.person(adjective=0), self.name()
        if self.chance(0.7):
            other = self.phrase(nouns_of(frozenset({"person"})), adjective=0)
        fitting = subject.noun is None or ADJECTIVES[adjective] in self.said_of[subject.noun]
        if not fitting or other.english == subject.english:
            return self.comparison()
        how = self.manner_of_speaking()
        return clause(
            subject,
            BE,
            self.pick(TENSES),
            grammar.more(subject, comparative, ADJECTIVES[adjective], other),
            **how,
        )

    def report(self):
        """Draw "i know that the cat sleeps"."""
        verb, subject = self.pick(verbs_of("that")), self.person(adjective=0)
        inner = self.deed_statement() if self.chance(0.7) else self.quality_statement()
        return clause(subject, verb, "present", grammar.that(inner), **self.manner_of_speaking())

    def deed_statement(self, tense=None):
        """Draw a plain statement of what somebody does."""
        return self.doing(self.pick(DOINGS), {}, tense, time=0)

    def quality_statement(self):
        """Draw a plain statement of how something is."""
        adjective = self.pick(self.adjectives)
        subject = self.bare(self.pick(self.fitting[adjective]))
        return clause(subject, BE, self.pick(("present", "past")), so(subject, adjective))

    def question(self):
        """Draw a question that begins with a question word."""
        return getattr(self, self.pick(QUESTIONS))()

    def ask_where(self):
        """Draw "where is the cat?", "where does the cat sleep?"."""
        where = said("where", "dove")
        if self.chance(0.4):
            subject = self.phrase(nouns_of(frozenset({"person", "animal", "small", "place"})))
            return ask(where, subject, BE, self.pick(("present", "present", "past")))
        verb = self.pick(verbs_of("place"))
        return ask(where, self.subject(verb), verb, self.pick(TENSES))

    def ask_when(self):
        """Draw "when will the train arrive?"."""
        verb = self.pick(verbs_of("alone"))
        return ask(said("when", "quando"), self.subject(verb), verb, self.pick(("past", "future")))

    def ask_why(self):
        """Draw "why does the child cry?"."""
        why, verb = said("why", "perché"), self.pick(DOINGS)
        subject = self.subject(verb)
        complement, _ = self.action(verb, subject, pronouns=False, determiners=DEFINITE)
        return ask(why, subject, verb, self.pick(TENSES), complement, inverted=False)

    def ask_what(self):
        """Draw "what does the boy eat?"."""
        verb = self.pick([one for one in verbs_of("object") if one.english[0] not in NOT_WHAT])
        return ask(said("what", "che cosa"), self.subject(verb), verb, self.pick(TENSES))

    def ask_who(self):
        """Draw "who opens the door?"."""
        verb, nobody = self.pick(DOINGS), grammar.Phrase(("who",), ("chi",))
        complement, _ = self.action(verb, nobody, pronouns=False, determiners=DEFINITE)
        return grammar.who(verb, self.pick(TENSES), complement)

    def ask_how_many(self):
        """Draw "how many apples does the boy eat?"."""
        verb = self.pick([one for one in verbs_of("object") if one.italian != "dire"])
        subject = self.subject(verb)
        nouns = [
            noun for noun in nouns_of(verb.tags) if noun.english[1] and noun is not subject.noun
        ]
        if is_animal(subject):
            nouns = [
                noun for noun in nouns if noun.name in ANIMALS_EAT or "food" not in noun.tags
            ] or nouns
        if verb.italian == "bere":
            return self.ask_how_many()
        return ask(thing(self.phrase(nouns, ("how many",), 0.2)), subject, verb, self.pick(TENSES))

    def pair_of_clauses(self):
        """Draw "the cat sleeps and the dog runs"."""
        tense = self.pick(("present", "past"))
        first, second = (
            self.doing(self.pick(verbs_of("alone")), {}, tense, time=0) for _ in range(2)
        )
        return grammar.joined(first, *self.pick(CONJUNCTIONS), second)

    # -- structures kept back --

    def negative_question(self):
        """Draw "does the cat not sleep?"."""
        verb = self.pick(DOINGS)
        subject = self.subject(verb)
        complement, clitic = self.action(verb, subject, determiners=DEFINITE)
        how = {"negative": True, "question": True}
        return clause(subject, verb, self.pick(TENSES), complement, clitic=clitic, **how)

    def negative_why(self):
        """Draw "why does the cat not sleep?"."""
        why, verb = said("why", "perché"), self.pick(DOINGS)
        subject = self.subject(verb)
        complement, _ = self.action(verb, subject, pronouns=False, determiners=DEFINITE)
        return ask(why, subject, verb, self.pick(TENSES), complement, inverted=False, negative=True)

    def relative_clause(self):
        """Draw "the cat that sleeps is black"."""
        verb = self.pick(verbs_of("alone"))
        head = self.phrase(
            nouns_of(frozenset({"animal"} if verb.by_animals else {"person"})), ("the",), 0
        )
        complement, _ = self.action(verb, head, pronouns=False, determiners=("the",))
        adjectives = self.said_of[head.noun]
        tense = "present" if looks_present(verb, head) else self.pick(("present", "past"))
        subject = grammar.that_does(head, verb, tense, complement)
        return clause(subject, BE, "present", so(head, self.pick(adjectives)))

    def two_adjectives(self):
        """Draw "the small black cat sleeps"."""
        verb = self.pick(verbs_of("alone", by_animals=True))
        nouns = nouns_of(frozenset({"person", "animal"}))
        while True:
            noun = self.pick(nouns)
            sorts = [
                [one for one in self.beside[noun] if one.place == place and one.english != "good"]
                for place in ("first", "last")
            ]
            if all(sorts):
                break
        adjectives = tuple(self.pick(sort) for sort in sorts)
        subject = grammar.noun_phrase(self.pick(("the", "a")), noun, False, adjectives)
        complement, _ = self.action(verb, subject, pronouns=False, determiners=("the",))
        return clause(subject, verb, self.pick(TENSES), complement)

    def two_owners(self):
        """Draw "my brother's friend's dog is tired"."""
        owner = grammar.noun_phrase(
            "the",
            NOUNS[self.pick(("friend", "doctor", "colleague", "teacher"))],
            owner=self.owner(None),
        )
        nouns = [
            noun
            for noun in nouns_of(frozenset({"pet", "clothes", "vehicle"}))
            if "common" not in noun.tags
        ]
        subject = grammar.noun_phrase("the", self.pick(nouns), owner=owner)
        return clause(
            subject, BE, self.pick(TENSES), so(subject, self.pick(self.said_of[subject.noun]))
        )

    def two_subjects(self):
        """Draw "the cat and the dog sleep"."""
        animals = nouns_of(frozenset({"animal"}))
        first, second = (self.phrase(animals, ("the", "my"), 0.2, 0) for _ in range(2))
        if first.noun is second.noun:
            return self.two_subjects()
        verb = self.pick(verbs_of("alone", by_animals=True))
        subject = grammar.both(first, second)
        return clause(subject, verb, self.pick(TENSES))

    def long(self):
        """Draw two to four statements with conjunctions between them."""
        tense = self.pick(("present", "past"))
        chain = self.deed_statement(tense)
        while len(chain.english) <= LONGEST_TRAINED:
            chain = grammar.joined(
                chain,
                *self.pick((*CONJUNCTIONS[:2] * 2, CONJUNCTIONS[2])),
                self.deed_statement(tense),
            )
        return chain


DOINGS = tuple(verb for verb in VERBS.values() if {"alone", "object", "place"} & set(verb.kinds))


def persons_of(verb, tense):
    """Return the pronouns, or None for anybody, with which a tense of a verb is dealt: as many as
    it has forms.
    """
    if tense != "past" or verb.stative:
        return "i", "you", "we", None, None, None
    agrees = "human" in verb.kinds or verb.auxiliary == "essere"  # "l'ho vista", "sono andate"
    return (None,) * (6 if agrees else 2)


def cards(choices, verb_of=lambda choice: choice):
    """Return (choice, tense, pronoun or None for anybody) for all the forms of some verbs."""
    tenses = ("present", "past", "future")
    return tuple(
        (one, tense, pronoun)
        for one in choices
        for tense in tenses
        for pronoun in persons_of(verb_of(one), tense)
    )


CARDS = {
    "deed": cards(DOINGS),
    "gift": cards(verbs_of("gift")),
    "motion": cards(GOALS, lambda goal: goal[0]),
}
QUESTIONS = ("ask_where", "ask_when", "ask_why", "ask_what", "ask_who", "ask_how_many")
NOT_WHAT = {
    "wait for",
    "play",
    "have",
    "hug",
    "kiss",
    "greet",
    "invite",
    "thank",
    "help",
    "meet",
    "call",
}

SEEN = {  # the structures of training, and how often each is drawn
    "quality": 16, "kind_of": 6, "whereabouts": 6, "deed": 34, "motion": 5, "gift": 5, "wish": 6, "skill": 2, "liking": 5, "presence": 4,
    "health": 3, "comparison": 3, "report": 4, "question": 9, "pair_of_clauses": 6,
}  # fmt: skip
DESCRIBING = (
    "quality",
    "kind_of",
    "whereabouts",
    "deed",
    "deed",
    "liking",
    "presence",
)  # where adjectives stand
UNSEEN = (
    "negative_question",
    "negative_why",
    "relative_clause",
    "two_adjectives",
    "two_owners",
    "two_subjects",
)
SHAPES = tuple(shape for shape, weight in SEEN.items() for _ in range(weight))


# ---- splits ----


def as_pair(drawn):
    """Return drawn words as a pair of sentences."""
    return sentence(drawn.english), sentence(grammar.euphonic(drawn.italian))


def draw(writer, shapes):
    """Draw a structure, and a sentence of it."""
    return getattr(writer, writer.pick(shapes))()


def collect(size, writer, shapes, wanted, taken):
    """Draw pairs of sentences until there are enough.

    Args:
        wanted: whether drawn words may be taken.
        taken: the English sentences that are, to which these are added.
    """
    pairs = []
    while len(pairs) < size:
        drawn = draw(writer, shapes)
        if not wanted(drawn) or asks_oneself(drawn):
            continue
        pair = as_pair(drawn)
        if pair[0] not in taken:
            taken.add(pair[0])
            pairs.append(pair)
    return pairs


def asks_oneself(drawn):
    """Return whether drawn words are a question such as "do i like the cat?", which nobody asks."""
    return drawn.english[-1] == "?" and "i" in drawn.english


def is_short(drawn):
    """Return whether drawn words are short enough for training."""
    return len(drawn.english) <= LONGEST_TRAINED


def splits(seed=0):
    """Draw the corpus.

    Args:
        seed: of the draws; the same seed gives the same corpus.

    Returns:
        a dictionary with the lists of (english, italian) "train", "validation", "random" (more of
        the same), "combinations" (each holds a noun and an adjective that never meet in training,
        nor in validation), "structures" (constructions never seen, of parts that were) and "long"
        (longer than every sentence of training). No English sentence is in two of them, or twice in
        one.
    """
    kept_back = kept_back_pairs(seed)
    taken = {PROMISE}
    writer = Writer(f"sentences {seed}", kept_back)
    train = collect(SIZES["train"], writer, SHAPES, is_short, taken)
    known = tuple({word for pair in train for word in words(pair[side])} for side in (0, 1))

    def is_known(drawn):
        return known[0].issuperset(drawn.english) and known[1].issuperset(
            grammar.euphonic(drawn.italian)
        )

    def is_like_training(drawn):
        return is_short(drawn) and is_known(drawn)

    def is_combined(drawn):
        return is_like_training(drawn) and not kept_back.isdisjoint(drawn.pairs)

    def is_long(drawn):
        return LONGEST_TRAINED < len(drawn.english) <= LONGEST and is_known(drawn)

    combiner = Writer(f"combinations {seed}", kept_back, only_kept_back=True)
    return {
        "train": train,
        "validation": collect(SIZES["validation"], writer, SHAPES, is_like_training, taken),
        "random": collect(SIZES["random"], writer, SHAPES, is_like_training, taken),
        "combinations": collect(SIZES["combinations"], combiner, DESCRIBING, is_combined, taken),
        "structures": collect(SIZES["structures"], writer, UNSEEN, is_like_training, taken),
        "long": collect(SIZES["long"], writer, ("long",), is_long, taken),
    }


def examples(shapes=(*SEEN, *UNSEEN, "long"), seed=0):
    """Draw one pair of sentences of each structure, as (structure, english, italian) with the name
    of the structure in words.
    """
    writer = Writer(f"examples {seed}", kept_back_pairs(seed))
    chosen = []
    for shape in shapes:
        drawn = draw(writer, (shape,))
        while asks_oneself(drawn):
            drawn = draw(writer, (shape,))
        chosen.append((shape.replace("_", " "), *as_pair(drawn)))
    return chosen
