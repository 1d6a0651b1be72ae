"""The grammar of the corpus: phrases and clauses, built in English and in Italian at once, with
nothing left to chance.

A `Phrase` knows its words in both languages and what others must agree with. `clause` puts a
subject, a verb and a complement together: in English with auxiliaries ("does not sleep"), in
Italian with endings ("non dorme").

What English leaves open is decided once. "You" is tu. Whoever says "i" is a man, and so are "you",
"we", "they" and "them". The past of a state is the imperfetto, the past of an event the passato
prossimo. "Big" is grande, in full, before its noun: "gran" and "grand'" are never wrong to leave
out. "La" and "lo" are cut before ho, hai, ha and their like ("l'ho vista") and nowhere else ("la
aiuto").
"""

from dataclasses import dataclass

from solutions.translator.corpus.lexicon import BE, BE_WELL, VERBS, agreeing, verb

VOWELS = "aeiouàèéìòù"
POSSESSIVES = {
    "my": "mio",
    "your": "tuo",
    "his": "suo",
    "her": "suo",
    "our": "nostro",
    "their": "loro",
}
# The only forms that the rule for adjectives does not make.
POSSESSIVE_PLURALS = {
    "mio": "miei",
    "tuo": "tuoi",
    "suo": "suoi",
}
NUMBERS = {"two": "due", "three": "tre", "four": "quattro", "five": "cinque", "ten": "dieci"}
OBJECT_PRONOUNS = {"me": "mi", "you": "ti", "him": "lo", "her": "la", "us": "ci", "them": "li"}
LIKERS = {"i": "mi", "you": "ti", "he": "gli", "she": "le", "we": "ci"}
SHORT = {  # before a noun: (plain, s + consonant and its like, vowel)
    "bello": ("bel", "bello", "bell'"),
    # "bell'isola" is as good; one of the two has to be decided on.
    "bella": (
        "bella",
        "bella",
        "bella",
    ),
    "belli": ("bei", "begli", "begli"),
    "buono": ("buon", "buono", "buon"),
    "quello": ("quel", "quello", "quell'"),
    "quella": ("quella", "quella", "quell'"),
    "quelli": ("quei", "quegli", "quegli"),
    "questo": ("questo", "questo", "quest'"),
    "questa": ("questa", "questa", "quest'"),
    "il": ("il", "lo", "l'"),
    "i": ("i", "gli", "gli"),
    "la": ("la", "la", "l'"),
    "un": ("un", "uno", "un"),
    "una": ("una", "una", "un'"),
}
# Prepositions that melt into the article behind them.
JOINED = {
    "di": "de",
    "a": "a",
    "da": "da",
    "in": "ne",
    "su": "su",
}
JOINED_ARTICLES = {
    "il": "l",
    "lo": "llo",
    "l'": "ll'",
    "la": "lla",
    "i": "i",
    "gli": "gli",
    "le": "lle",
}
# Before an English verb, behind an Italian one.
ADVERBS = {
    "always": "sempre",
    "often": "spesso",
    "never": "mai",
}
LIKE = verb(("like", "likes", "liked"), "piacere")
SAY, KNOW = VERBS["say", "dire"], VERBS["know", "sapere"]


@dataclass(frozen=True)
class Phrase:
    """Who or what: the words in both languages, and what others agree with.

    Args:
        person: the place of its verb form among those of io, tu, lui, noi, loro.
        pairs: the (noun, adjective) pairs in it, by their English.
        definite: whether its Italian begins with an article, which a preposition may melt with.
    """

    english: tuple
    italian: tuple
    person: int = 2
    gender: str = "m"
    plural: bool = False
    pairs: tuple = ()
    definite: bool = False
    noun: object = None


@dataclass(frozen=True)
class Words:
    """A piece of a sentence in both languages, with the (noun, adjective) pairs in it."""

    english: tuple = ()
    italian: tuple = ()
    pairs: tuple = ()

    def __add__(self, other):
        return Words(
            self.english + other.english, self.italian + other.italian, self.pairs + other.pairs
        )


def said(english, italian):
    """Return words that are the same wherever they stand."""
    return Words(tuple(english.split()), tuple(italian.split()))


# ---- phrases ----


def before(form, word):
    """Return the form that an article, a demonstrative or a short adjective takes before a word:
    "lo" for "il" before "studente".
    """
    if form not in SHORT:
        return form
    plain, hard, vowel = SHORT[form]
    if word[0] in VOWELS:
        return vowel
    if word[0] in "zxy" or word[:2] in ("gn", "ps") or (word[0] == "s" and word[1] not in VOWELS):
        return hard
    return plain


def definite_article(gender, plural, word):
    """Return the definite article before a word."""
    return before({"m": ("il", "i"), "f": ("la", "le")}[gender][plural], word)


def possessive(determiner, gender, plural):
    """Return "tua" for "your" before a feminine noun, and so on; "loro" never changes."""
    word = POSSESSIVES[determiner]
    if word == "loro":
        return word
    if gender == "m" and plural and word in POSSESSIVE_PLURALS:
        return POSSESSIVE_PLURALS[word]
    return agreeing(word)[gender, plural]


def italian_determiner(determiner, gender, plural, word):
    """Return the Italian words of a determiner before a word, but for "the" and possessives."""
    if determiner == "a":
        return (before("un" if gender == "m" else "una", word),)
    if determiner == "every":
        return ("ogni",)
    if determiner == "all":
        return agreeing("tutto")[gender, plural], definite_article(gender, plural, word)
    if determiner in NUMBERS:
        return (NUMBERS[determiner],)
    adjective = {
        "this": "questo",
        "that": "quello",
        "some": "alcuno",
        "many": "molto",
        "how many": "quanto",
    }[determiner]
    return (before(agreeing(adjective)[gender, plural], word),)


def english_determiner(determiner, plural, word):
    """Return the English words of a determiner before a word."""
    if determiner == "a":
        an = (word[0] in "aeiou" and not word.startswith("u")) or word in (
            "honest",
            "umbrella",
            "uncle",
        )
        return ("an" if an else "a",)
    if determiner == "all":
        return "all", "the"
    if determiner in ("this", "that") and plural:
        return ({"this": "these", "that": "those"}[determiner],)
    return tuple(determiner.split())


def noun_phrase(determiner, noun, plural=False, adjectives=(), owner=None):
    """Build "your lovely cat", "il tuo gatto adorabile".

    Args:
        determiner: "the", "a", "my", "this" (for "these" too), "two", "all" (for "all the") ...;
            not read where there is an owner.
        noun, plural: the noun, and whether it is more than one.
        adjectives: at most one of those before an Italian noun, and one of those behind; the former
            first.
        owner: the phrase of whoever it belongs to, as in "the boy's cat".
    """
    gender = noun.gender[plural]
    core = [
        noun.italian[plural],
        *(one.italian[gender, plural] for one in adjectives if one.place == "last"),
    ]
    for one in adjectives:
        if one.place == "first":
            core.insert(0, before(one.italian[gender, plural], core[0]))
    english = (*(one.english for one in adjectives), *noun.english[plural].split())
    front, italian, definite = whose(determiner, noun, plural, adjectives, owner, core)
    return Phrase(
        (*(front or english_determiner(determiner, plural, english[0])), *english),
        italian,
        person=4 if plural else 2,
        gender=gender,
        plural=plural,
        pairs=tuple((noun.name, one.english) for one in adjectives)
        + (owner.pairs if owner else ()),
        definite=definite,
        noun=noun,
    )


def whose(determiner, noun, plural, adjectives, owner, core):
    """Return the English words of an owner, the Italian words with their determiner, and whether an
    article begins them.
    """
    gender = noun.gender[plural]
    if owner:
        front = (*owner.english[:-1], owner.english[-1] + "'", "s")
        return front, (definite_article(gender, plural, core[0]), *core, *after("di", owner)), True
    if determiner == "the":
        return (), (definite_article(gender, plural, core[0]), *core), True
    if determiner in POSSESSIVES:
        own = possessive(determiner, gender, plural)
        # Mio padre.
        bare = "family" in noun.tags and not plural and not adjectives and own != "loro"
        article = () if bare else (definite_article(gender, plural, own),)
        return (), (*article, own, *core), not bare
    return (), (*italian_determiner(determiner, gender, plural, core[0]), *core), False


def pronoun(word):
    """Return a subject pronoun, which Italian leaves out: the verb's ending says it."""
    person = {"i": 0, "you": 1, "he": 2, "she": 2, "we": 3, "they": 4}[word]
    return Phrase((word,), (), person, "f" if word == "she" else "m", word in ("we", "they"))


def name(word, gender):
    """Return somebody's name."""
    return Phrase((word,), (word,), gender=gender)


def both(first, second):
    """Return "the cat and the dog", which is plural, and feminine only if both are."""
    gender = "f" if first.gender == second.gender == "f" else "m"
    italian = (*first.italian, "e", *second.italian)
    return Phrase(
        (*first.english, "and", *second.english),
        italian,
        4,
        gender,
        True,
        first.pairs + second.pairs,
    )


def that_does(head, verb, tense, complement=Words(), **how):
    """Return a phrase with a relative clause: "the cat that sleeps"."""
    silent = Phrase((), (), head.person, head.gender, head.plural)
    rest = clause(silent, verb, tense, complement, **how)
    return Phrase(
        (*head.english, "that", *rest.english),
        (*head.italian, "che", *rest.italian),
        head.person,
        head.gender,
        head.plural,
        head.pairs + rest.pairs,
        head.definite,
        head.noun,
    )


def after(preposition, phrase):
    """Return the Italian words of a phrase behind a preposition, which may melt with the article:
    "sul tavolo", "vicino alla porta".
    """
    *front, last = preposition.split()
    if phrase.definite and last in JOINED:
        return (*front, JOINED[last] + JOINED_ARTICLES[phrase.italian[0]], *phrase.italian[1:])
    return (*front, last, *phrase.italian)


# ---- complements ----


def thing(phrase):
    """Return a phrase as an object."""
    return Words(phrase.english, phrase.italian, phrase.pairs)


def at(english, italian, phrase):
    """Return a preposition and a phrase: at("on", "su", the table)."""
    return Words((*english.split(), *phrase.english), after(italian, phrase), phrase.pairs)


def so(subject, adjective):
    """Return an adjective that is said of a subject, and agrees with it."""
    pairs = ((subject.noun.name, adjective.english),) if subject.noun else ()
    return Words((adjective.english,), (adjective.italian[subject.gender, subject.plural],), pairs)


def more(subject, comparative, adjective, other):
    """Return "taller than the girl", "più alto della ragazza"."""
    quality = so(subject, adjective)
    italian = ("più", *quality.italian, *after("di", other))
    return Words((comparative, "than", *other.english), italian, quality.pairs + other.pairs)


def to_do(verb, complement=Words()):
    """Return an infinitive and what belongs to it."""
    return Words(tuple(verb.english[0].split()), (verb.italian,), ()) + complement


def that(statement):
    """Return a statement as somebody says or knows it: "that the cat sleeps"."""
    return said("that", "che") + statement


# ---- clauses ----


def english_clause(subject, verb, tense, complement, negative=False, question=False, adverb=None):
    """Return the English words of a clause, with the auxiliary that a negation or a question
    needs.
    """
    auxiliary, main = english_verb(subject, verb, tense, negative or question)
    middle = (("not",) if negative else ()) + ((adverb,) if adverb else ())
    if negative and not question and auxiliary == ("can",):
        auxiliary, middle = ("cannot",), middle[1:]
    front = (*auxiliary, *subject.english) if question else (*subject.english, *auxiliary)
    return (*front, *middle, *main, *complement.english)


def english_verb(subject, verb, tense, helped):
    """Return the auxiliary and the main verb, each as a tuple of words, perhaps empty."""
    base, he, past = verb.english
    if base in ("must", "can"):
        return (base,), ()
    if tense == "future":
        return ("will",), tuple(base.split())
    if base == "be":
        present = ("am", "are", "is", "are", "are")[subject.person]
        past = "was" if subject.person in (0, 2) else "were"
        return (past if tense == "past" else present,), ()
    third = subject.person == 2
    if helped:
        return ("did" if tense == "past" else "does" if third else "do",), tuple(base.split())
    form = past if tense == "past" else he if third else base
    return (), tuple(form.split())


def italian_verb(subject, verb, tense, clitic=None):
    """Return the pronoun, the finite verb and the participle, each as a tuple of words, perhaps
    empty.
    """
    pronoun = (OBJECT_PRONOUNS[clitic],) if clitic else ()
    if tense != "past" or verb.stative:
        forms = {"present": verb.present, "past": verb.imperfect, "future": verb.future}[tense]
        return pronoun, (forms[subject.person],), ()
    auxiliary = (BE if verb.auxiliary == "essere" else VERBS["have", "avere"]).present[
        subject.person
    ]
    agrees = ("m", False)
    if verb.auxiliary == "essere":
        agrees = subject.gender, subject.plural
    elif clitic:
        agrees = "f" if clitic == "her" else "m", clitic in ("us", "them")
    if pronoun in (("lo",), ("la",)):
        pronoun = ("l'",)
    return pronoun, (auxiliary,), (agreeing(verb.participle)[agrees],)


def italian_clause(
    subject, verb, tense, complement, negative=False, adverb=None, clitic=None, asked=False
):
    """Return the Italian words of a clause; where something is asked for, the subject stands behind
    the verb.
    """
    pronoun, finite, participle = italian_verb(subject, verb, tense, clitic)
    group = (("non",) if negative or adverb == "never" else ()) + pronoun + finite
    group += ((ADVERBS[adverb],) if adverb else ()) + participle
    return (
        (*group, *subject.italian, *complement.italian)
        if asked
        else (*subject.italian, *group, *complement.italian)
    )


def clause(
    subject,
    verb,
    tense,
    complement=Words(),
    *,
    negative=False,
    question=False,
    adverb=None,
    clitic=None,
):
    """Build a statement or a question to be answered by yes or no.

    Args:
        tense: "present", "past" or "future".
        adverb: one of `ADVERBS`.
        clitic: an object pronoun, such as "him".
    """
    seen = Words((clitic,), ()) if clitic else Words()
    english = english_clause(subject, verb, tense, seen + complement, negative, question, adverb)
    italian = italian_clause(subject, verb, tense, complement, negative, adverb, clitic)
    end = ("?",) if question else ()
    return Words(english + end, italian + end, subject.pairs + complement.pairs)


def ask(words, subject, verb, tense, complement=Words(), *, inverted=True, negative=False):
    """Build a question that begins with a question word, such as said("where", "dove")."""
    english = english_clause(subject, verb, tense, complement, negative, question=True)
    italian = italian_clause(subject, verb, tense, complement, negative, asked=inverted)
    question = words + Words(english, italian, subject.pairs + complement.pairs)
    return question + said("?", "?")


def who(verb, tense, complement=Words()):
    """Build a question for the subject: "who opens the door?"."""
    return clause(Phrase(("who",), ("chi",)), verb, tense, complement) + said("?", "?")


def likes(liker, liked, *, negative=False, question=False):
    """Build "the girl likes the cat", which Italian turns round: "alla ragazza piace il gatto".

    Args:
        liker: a phrase or a subject pronoun; its `english` tells which.
        liked: a phrase, or `Words` that begin with an infinitive ("to sing").
    """
    piace = LIKE.present[4 if getattr(liked, "plural", False) else 2]
    weak = LIKERS.get(liker.english[0]) if not liker.italian else None
    if weak:
        italian = (*(("non",) if negative else ()), weak, piace)
    else:
        italian = (
            *(after("a", liker) if liker.italian else ("a", "loro")),
            *(("non",) if negative else ()),
            piace,
        )
    english = english_clause(liker, LIKE, "present", liked, negative, question)
    end = ("?",) if question else ()
    return Words(english + end, (*italian, *liked.italian, *end), liker.pairs + liked.pairs)


def there_is(what, where, tense, question=False):
    """Build "there is a cat in the garden", "c'è un gatto nel giardino"."""
    auxiliary, main = english_verb(what, BE, tense, question)
    front = (*auxiliary, "there") if question else ("there", *auxiliary)
    finite = italian_verb(what, BE, tense)[1]
    end = ("?",) if question else ()
    return Words(
        (*front, *main, *what.english, *where.english, *end),
        ("ci", *finite, *what.italian, *where.italian, *end),
        what.pairs + where.pairs,
    )


def is_well(subject, tense, well=True, time=Words(), **how):
    """Build "the boy is well", which is stare and not essere: "il ragazzo sta bene"."""
    return clause(
        subject,
        BE_WELL,
        tense,
        (said("well", "bene") if well else said("unwell", "male")) + time,
        **how,
    )


def joined(first, english, italian, second):
    """Return two clauses with a conjunction between them."""
    return first + said(english, italian) + second


def euphonic(words):
    """Return Italian words as their neighbours want them: "c'è" for ci è, "dov'è" for dove è, "ad
    anna", "ed entra".
    """
    result = list(words)
    for place, following in enumerate(result[1:]):
        word = result[place]
        if word in ("ci", "dove") and following in ("è", "era", "erano"):
            result[place] = word[:-1] + "'"
        elif word in ("a", "e") and following[0] in (word, {"a": "à", "e": "è"}[word]):
            result[place] = word + "d"
    return result
