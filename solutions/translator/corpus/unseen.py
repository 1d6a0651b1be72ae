"""Structures that training never shows, of parts that it does, drawn."""

from solutions.translator.corpus import grammar
from solutions.translator.corpus.fitting import DEFINITE, DOINGS, looks_present, nouns_of, verbs_of
from solutions.translator.corpus.grammar import ask, clause, said, so
from solutions.translator.corpus.lexicon import BE, NOUNS
from solutions.translator.corpus.phrases import TENSES
from solutions.translator.corpus.statements import CONJUNCTIONS, Statements

LONGEST_TRAINED = 12  # English words, a question mark counted


class Unseen(Statements):
    """Draws what the test splits "structures" and "long" hold."""

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
