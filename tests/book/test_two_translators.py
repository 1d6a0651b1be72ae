"""The toy language of chapter 6: its grammar is right, and its loss has the floor that the page
draws.
"""

import math

from book.experiments import two_translators as toy


def test_nouns_articles_and_adjectives_agree():
    genders = dict(toy.NOUNS.values())
    endings = {"m": "o", "f": "a"}
    adjectives = {stem + end for stems in toy.ADJECTIVES.values() for stem in stems for end in "oa"}
    for english, italian in toy.PAIRS:
        words = italian.split()
        assert len(words) == len(english.split())
        for place, word in enumerate(words):
            if word in genders:
                assert words[place - 1] in {
                    toy.ARTICLES[article][genders[word]] for article in toy.ARTICLES
                }
                if place + 1 < len(words) and words[place + 1] in adjectives:
                    assert words[place + 1].endswith(endings[genders[word]])


def test_no_sentence_is_both_learned_and_held_out():
    assert not {english for english, _ in toy.LEARNED} & {english for english, _ in toy.HELD_OUT}


def test_the_floor_is_log_2_for_each_free_choice():
    pairs = [
        ("a small cat sees the moon", "un gatto piccolo guarda la luna"),
        ("the moon seeks a dog", "la luna cerca un cane"),
    ]
    assert math.isclose(toy.loss_floor(pairs), 2 * math.log(2) / (7 + 6))


def test_any_choice_between_equals_is_right():
    pairs = [("a small cat sees the moon", "un gatto piccolo guarda la luna")] * 3
    said = ["un gatto minuscolo vede la luna", "un gatto piccola guarda la luna", ""]
    assert toy.count_right(said, pairs) == 1
