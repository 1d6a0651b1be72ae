"""Vectors of the encoder, exchanged between two sentences: with none and with all of them the
translations are the model's own, and what was recorded comes out again.
"""

from book.experiments import measurements
from book.experiments.exchanges import articles, exchanges
from book.experiments.heads import in_the_page
from solutions.translator.decoding import translate_ids

CAT, CHAIR = "your cat is a lovely cat", "your chair is a lovely chair"


def test_with_no_vector_and_with_all_it_is_what_the_model_writes():
    model, english, italian = in_the_page.translator()
    outcomes = exchanges(CAT, CHAIR)["outcomes"]
    assert len(outcomes) == 2**6
    for sentence, outcome in ((CAT, outcomes[0]), (CHAIR, outcomes[-1])):
        [ids] = translate_ids(model, [[english.index(word) for word in sentence.split()]])
        assert outcome["words"] == [italian[number] for number in ids]
        assert len(outcome["percents"]) == len(ids) and min(outcome["percents"]) > 90


def test_an_exchange_the_other_way_round_is_the_rest_of_the_exchange():
    one, other = (exchanges(*pair)["outcomes"] for pair in ((CAT, CHAIR), (CHAIR, CAT)))
    assert one == other[::-1]


def test_what_was_recorded_of_the_first_seed_comes_out_again():
    recorded = [run for run in measurements.load("exchanges")["runs"] if run["seed"] == 0]
    for found, kept in zip(articles(*in_the_page.translator()), recorded, strict=True):
        assert [found[key] for key in ("article", "places", "nouns")] == [
            kept[key] for key in ("article", "places", "nouns")
        ]
        assert abs(found["changed"] - kept["changed"]) < 0.01
