"""The experiments on beams: what they record of a decoder's sentences beside greedy ones."""

import itertools

from book.experiments import measurements
from book.experiments.training import beams, wide_beams

REFERENCES = ["the cat is on the mat today", "a dog runs in the park now"] * 20
WRONG = ["the cat was on a mat today", "a dog ran in the park"] * 20


def test_greedy_sentences_are_compared_with_nothing():
    seen = beams.scored(WRONG, WRONG, REFERENCES)
    assert seen["p"] is None and 0 < seen["bleu"] < 100
    assert seen["length"] == round((7 + 6) / (7 + 7), 4)


def test_better_sentences_have_a_small_p_value_and_equally_good_ones_do_not():
    assert beams.scored(REFERENCES, WRONG, REFERENCES)["p"] < 0.05
    swapped = [WRONG[1], *REFERENCES[1:]]
    other = [*REFERENCES[:-2], WRONG[0], REFERENCES[-1]]
    assert beams.scored(swapped, other, REFERENCES)["p"] > 0.05


def test_the_recorded_run_decodes_one_test_with_each_beam():
    (run,) = measurements.load("beams")["runs"]
    assert [each["beam"] for each in run["decoded"]] == list(beams.EXPERIMENT.long["beams"])
    assert run["sentences"] == 1000


def test_wide_beams_were_measured_with_each_beam_and_penalty():
    measured, budget = measurements.load("wide_beams"), wide_beams.EXPERIMENT.long
    runs = itertools.product(budget["steps"], range(budget["seeds"]))
    assert [(run["steps"], run["seed"]) for run in measured["runs"]] == list(runs)
    searches = [(1, None)] + [(b, p) for b in budget["beams"][1:] for p in budget["penalties"]]
    for run in measured["runs"]:
        assert [(each["beam"], each["penalty"]) for each in run["decoded"]] == searches


def test_a_searcher_of_the_little_translator_is_scored():
    (run,) = wide_beams.measure(steps=[2], beams=(1, 2), penalties=(0.0,), seeds=[0])
    greedy, searched = run["decoded"]
    assert (greedy["penalty"], searched["penalty"], run["sentences"]) == (None, 0.0, 405)
    assert 0 <= searched["right"] < 10 and searched["length"] >= 0
