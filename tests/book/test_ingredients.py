"""What each ingredient buys: every variant differs in one thing from what it is compared with, the
comparison is seed by seed, and the page's tables take what is there.
"""

from collections import Counter

import numpy as np
import pytest
import torch

from book.experiments import measurements
from book.experiments.training import embedding_rates, ingredients, reports, training_loop


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", ingredients.VARIANTS)
def test_a_variant_differs_in_one_thing_from_what_it_is_compared_with(name):
    variant = ingredients.VARIANTS[name]
    other = ingredients.VARIANTS[variant.against]
    changed = [set(variant.edits) != set(other.edits), variant.model != other.model]
    changed += [variant.rate != other.rate, variant.bucketed != other.bucketed]
    changed += [variant.wrong != other.wrong]
    assert sum(changed) == (name != ingredients.FULL)
    assert len(set(variant.edits) ^ set(other.edits)) <= 1
    training_loop.loop_with(variant.edits)  # raises where the page does not say what is edited


def test_a_variant_is_trained_as_it_says():
    def moved(name):
        page, model, history = ingredients.trained(ingredients.VARIANTS[name], 20, 11)
        seen = ingredients.seen(page, model)
        assert 0 <= seen["exact"] <= 1 and seen["loss"] == pytest.approx(history[-1][2], abs=1e-3)
        return seen["loss"]

    whole = moved(ingredients.FULL)
    for name in ("without warm-up", "post-norm", "batches not by length", ingredients.WRONG_PAIRS):
        assert moved(name) != whole


def test_wrong_pairs_have_each_others_targets():
    pairs = [(f"a{number}", f"b{number}") for number in range(100)]
    changed = ingredients.with_wrong_pairs(pairs, 0.05, seed=3)
    assert [source for source, _ in changed] == [source for source, _ in pairs]
    assert Counter(target for _, target in changed) == Counter(target for _, target in pairs)
    assert sum(one != other for one, other in zip(changed, pairs, strict=True)) == 5
    assert ingredients.with_wrong_pairs(pairs, 0.0, seed=3) == pairs


def test_a_difference_is_taken_seed_by_seed_and_has_the_interval_of_its_mean():
    scores = {
        ingredients.FULL: [0.1, 0.2, 0.3],
        "post-norm": [0.2, 0.4, 0.6],
        "post-norm, without warm-up": [0.2, 0.3, 0.4],
    }
    assert ingredients.paired(scores, "post-norm") == pytest.approx([0.1, 0.2, 0.3])
    assert ingredients.paired(scores, "post-norm, without warm-up") == pytest.approx(
        [0.0, -0.1, -0.2]
    )
    low, high = ingredients.interval([1, 2, 3, 4, 5])
    assert (low, high) == pytest.approx((3 - 1.963, 3 + 1.963), abs=0.01)
    assert reports.difference([0.0, 0.0], 1, 1) == ""
    assert reports.difference([-0.02, -0.022, -0.018], 100, 1) == "**−2.0 (−2.5 to −1.5)**"
    assert "**" not in reports.difference([-0.02, 0.03, 0.0], 100, 1)


def test_averaged_weights_are_another_model_than_the_last():
    runs = ingredients.measure_schedules(60, (0.01,), [11])
    losses = {run["schedule"]: run["loss"] for run in runs}
    assert set(losses) == {ingredients.COSINE, ingredients.LAST, ingredients.AVERAGED}
    assert len(set(losses.values())) == 3
    assert ingredients.best_rate({"runs": runs}, ingredients.COSINE) == 0.01


@pytest.mark.long
def test_a_tuned_baseline_eats_most_of_the_win_with_an_unseen_seed():
    """The headline claim: most of a lead at half the best rate is gone at the best one."""
    runs = ingredients.measure_schedules(400, (0.005, 0.01), [11])
    found = {(run["schedule"], run["rate"]): run for run in runs}
    one, other = (
        {rate: found[name, rate] for rate in (0.005, 0.01)}
        for name in (ingredients.AVERAGED, ingredients.COSINE)
    )
    leads = {rate: one[rate]["exact"] - other[rate]["exact"] for rate in one}
    assert leads[0.005] > 0.04 > leads[0.01] > -0.03
    assert one[0.01]["loss"] < other[0.01]["loss"] < other[0.005]["loss"]


@pytest.mark.long
def test_a_high_rate_needs_its_warm_up_with_an_unseen_seed():
    exact = {}
    for name in (ingredients.HIGH_RATE, f"{ingredients.HIGH_RATE}, without warm-up"):
        page, model, _ = ingredients.trained(ingredients.VARIANTS[name], 400, 11)
        exact[name] = ingredients.seen(page, model)
    warm, cold = exact.values()
    assert cold["loss"] > warm["loss"] and cold["exact"] < 0.1


def test_the_best_rate_has_the_lowest_mean_loss():
    runs = [
        {"schedule": "cosine", "rate": rate, "seed": seed, "loss": loss, "exact": 0.0}
        for rate, losses in ((0.1, (1.0, 3.0)), (0.2, (1.5, 1.6)))
        for seed, loss in enumerate(losses)
    ]
    assert ingredients.by_rate({"runs": runs}, "cosine") == {0.1: [1.0, 3.0], 0.2: [1.5, 1.6]}
    assert ingredients.best_rate({"runs": runs}, "cosine") == 0.2


def test_the_recorded_runs_have_every_variant_with_every_seed():
    measured = measurements.load("ingredients")
    seeds = list(range(measured["budget"]["seeds"]))
    for score in ("exact", "loss"):
        found = ingredients.scores_of(measured, score)
        assert list(found) == list(ingredients.VARIANTS)
        assert all(
            len(scores) == len(seeds) and np.isfinite(scores).all() for scores in found.values()
        )
    by_variant = {}
    for run in measured["runs"]:
        by_variant.setdefault(run["ingredient"], []).append(run["seed"])
    assert all(each == seeds for each in by_variant.values())


def test_the_longer_run_has_the_tied_generator_alone():
    longer = measurements.load("tied_longer")
    assert longer["budget"]["steps"] == 2 * measurements.load("ingredients")["budget"]["steps"]
    found = [(run["ingredient"], run["seed"]) for run in longer["runs"]]
    assert found == [(ingredients.TIED, seed) for seed in range(longer["budget"]["seeds"])]


def test_the_embeddings_alone_have_a_rate_of_their_own():
    page = training_loop.loop_with((*embedding_rates.OWN_RATE, ("highest=1e-2", "highest=1e-3")))
    model = page["new_model"](seed=11)
    groups = embedding_rates.grouped(8.0)(model)
    parameters = [each for group in groups for each in group["params"]]
    assert {id(each) for each in parameters} == {id(each) for each in model.parameters()}
    assert len(parameters) == len(list(model.parameters()))
    assert [group["times"] for group in groups] == [8.0, 1.0]
    assert len(groups[0]["params"]) == 2

    def first_move(times):
        page["grouped"] = embedding_rates.grouped(times)
        model = page["new_model"](seed=11)
        watched = model.src_embedding.weight, model.generator.weight
        before = [each.detach().clone() for each in watched]
        page["train"](model, page["training"], page["validation"], steps=2, warmup=1)
        return [(new - old).abs().max().item() for new, old in zip(watched, before, strict=True)]

    slow, fast = first_move(1.0), first_move(8.0)
    assert fast[0] == pytest.approx(8 * slow[0], rel=0.01)
    assert fast[1] == pytest.approx(slow[1], rel=0.01)


def test_the_recorded_embeddings_have_both_sizes_and_both_rates_with_every_seed():
    for name in ("embedding_rates", "embedding_rates_longer"):
        measured = measurements.load(name)
        found = embedding_rates.scores_of(measured)
        assert list(found) == list(embedding_rates.TIMES)
        assert all(len(scores) == measured["budget"]["seeds"] for scores in found.values())


def test_no_sentence_is_right_without_its_source():
    blind = measurements.load("without_a_source")
    assert len(blind["runs"]) == blind["budget"]["seeds"]
    assert all(run["exact"] == 0 for run in blind["runs"])


def test_differences_are_written_seed_by_seed():
    assert reports.seed_by_seed([-0.02, 0.0, 0.015], 100, 1) == "−2.0, +0.0, +1.5"
    measured = measurements.load("ingredients")
    table = reports.ingredients_table(measured).data
    (row,) = (line for line in table.splitlines() if line.startswith("| without warm-up"))
    assert row.count(", ") == 2 * (measured["budget"]["seeds"] - 1)


def test_the_table_of_runs_takes_what_is_there():
    assert "No runs measured yet" in measurements.runs_table(None).data
    whole = {
        "text": "Multi30k", "command": "python -m x", "hardware": "a CPU", "date": "2026-01-01", "weights": 1234567, "seconds": 600,
        "bleu_greedy": 30.123, "bleu_beam_5": 31.0, "chrf": 55.5, "signature": "nrefs:1", "remark": "The third of three tries.",
    }  # fmt: skip
    table = measurements.runs_table([whole, {"text": "something else", "chrf": None}]).data
    assert "| Multi30k | 30.1 | 31.0 | 55.5 | 1.2M | 10 min |" in table
    assert "| something else | – | – | – | – | – |" in table
    assert "\npython -m x\nnrefs:1\n" in table
    assert "The third of three tries." in table
    elsewhere = {**whole, "text": "another test", "bleu_greedy": 9.0}
    table = measurements.runs_table([whole, elsewhere]).data
    assert "| another test | 9.0 | 31.0 | 55.5 | as in row 1 |  |" in table


def test_runs_that_differ_in_their_seed_alone_are_one_row():
    one, other = (
        {"text": "a", "command": f"train --into work/{seed} --seed {seed} --steps 9", "chrf": chrf}
        for seed, chrf in ((0, 50.0), (1, 52.0))
    )
    longer = {**one, "command": "train --into work/2 --seed 0 --steps 10"}
    rows = measurements.runs_table([one, other, longer]).data.split("\n")
    scores = [row.split("|")[4].strip() for row in rows if row.startswith("| a")]
    assert scores == ["51.0 (50.0 to 52.0)", "50.0"]
