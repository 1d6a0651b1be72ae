"""The training of chapter 7: models side by side learn as they would alone, and the page's claims
hold with seeds that it does not show.
"""

import copy
import math
from itertools import product

import numpy as np
import pytest
import torch

from book.experiments.depth import backwards, deep_stacks, first_steps
from book.experiments.undisturbed import one_thread

UNSEEN = range(100, 103)


@pytest.mark.parametrize(("norm", "warmup"), [("post", 1), ("pre", 4)])
def test_side_by_side_each_model_learns_as_it_would_alone(norm, warmup):
    models = [
        backwards.new(seed, 2, norm, initialisation=name).double()
        for seed, name in ((0, "Glorot"), (1, "PyTorch"))
    ]
    alone = [copy.deepcopy(model) for model in models]
    losses = backwards.train_many(models, seeds=[3, 4], steps=6, warmup=warmup)
    for row, model, other, seed in zip(losses, models, alone, (3, 4), strict=True):
        assert row.tolist() == pytest.approx(backwards.train(other, seed, 6, warmup).tolist())
        for one, two in zip(model.parameters(), other.parameters(), strict=True):
            assert torch.allclose(one, two)


def test_the_same_seed_gives_the_same_model_and_leaves_the_random_numbers_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, same, other = (backwards.new(seed, 1, "post").generator.weight for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, same) and not torch.equal(one, other)


def test_a_run_keeps_the_mean_of_every_fifty_losses():
    losses = [1.0] * 50 + [2.0] * 25 + [4.0] * 25 + [math.nan] * 50
    kept = backwards.kept({"losses": losses, "likeness": [0.5, math.nan]})
    assert kept == {"losses": [1.0, 3.0, None], "likeness": [0.5, None]}


def test_recorded_curves_are_found_by_depth_norm_and_warm_up():
    def run(name, seed, **kind):
        return {"initialisation": name, "seed": seed, "losses": [1.5, seed], **kind}

    wanted = {"depth": 6, "norm": "post", "warmup": 1}
    runs = [run("Glorot", seed, **wanted) for seed in (0, 1)]
    runs += [run("Glorot", 9, **wanted | change) for change in ({"depth": 7}, {"warmup": 150})]
    curves = backwards.curves(runs, 6, "post")
    steps, losses = curves["Glorot"]
    assert list(curves) == ["Glorot"] and steps.tolist() == [50, 100]
    assert losses.tolist() == [[1.5, 0], [1.5, 1]]
    assert "| 6 | post-norm | Glorot | 0.50 (0.00 to 1.00) | – |" in (
        backwards.losses_table(runs, budgets=(100, 250)).data
    )


def test_a_loss_that_is_nan_is_counted_and_not_averaged():
    assert backwards.in_a_cell(np.array([1.0, np.nan, 2.0])) == "1.50 (1.00 to 2.00); 1 of 3 nan"


def test_the_first_steps_are_measured_from_the_beginning_for_each_budget(monkeypatch):
    monkeypatch.setattr(first_steps, "STACKS", ((1, "pre", "Glorot"), (2, "post", "PyTorch")))
    runs = first_steps.measure(steps=(0, 2), seeds=range(1))
    assert [(run["depth"], run["norm"]) for run in runs] == [(1, "pre"), (2, "post")]
    model = backwards.new(0, 2, "post", initialisation="PyTorch")
    for place, steps in enumerate((0, 2)):
        again = copy.deepcopy(model)
        backwards.train(again, 0, steps)
        own = deep_stacks.own_share(backwards.likeness_of(again))
        assert runs[1]["own"][place] == pytest.approx(own, abs=0.01)


def test_what_attention_adds_is_compared_with_what_is_there():
    model = backwards.new(0, 1, "post", initialisation="Glorot")
    attention = model.layers[0].self_attention
    for parameter in attention.parameters():
        torch.nn.init.zeros_(parameter)
    model.embedding.weight.data.fill_(3.0)
    model.positions.zero_()
    torch.nn.init.constant_(attention.w_o.bias, 1.0)
    found = first_steps.measured(model)
    assert (found["added"], found["along"]) == (0.333, 1.0)


def test_knowing_the_letters_but_not_their_places(monkeypatch):
    monkeypatch.setattr(backwards, "LETTERS", 3)
    monkeypatch.setattr(backwards, "WORD_LEN", 4)
    words = list(product(range(3), repeat=4))
    shares = [[word.count(letter) / 4 for letter in range(3)] for word in words]
    mean = sum(-sum(p * math.log(p) for p in share if p) for share in shares) / len(words)
    assert math.isclose(backwards.loss_of_letters_without_places(), mean)


def ends(depth, norm, initialisations, steps, warmup=1):
    """Train with seeds that no page uses, and return dict: initialisation -> last losses."""
    with one_thread():
        runs = backwards.run(norm, depth, initialisations, warmup, UNSEEN, steps)
    return {
        name: [sum(run["losses"][-50:]) / 50 for run in runs if run["initialisation"] == name]
        for name in initialisations
    }


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_at_twelve_layers_of_post_norm_the_initialisation_decides():
    steps = backwards.EXPERIMENT.long["steps"]
    losses = ends(12, "post", ("Glorot", "PyTorch", "Glorot, a third"), steps)
    assert min(losses["Glorot"]) > 1.7, "Glorot's rule does not learn"
    assert max(losses["PyTorch"]) < 0.1, "PyTorch's default learns"
    assert max(losses["Glorot, a third"]) < 0.2, "a third of what each part adds is enough"


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_at_twelve_layers_pre_norm_learns_by_either_rule():
    losses = ends(12, "pre", ("Glorot", "PyTorch"), steps=1000)
    assert max(losses["Glorot"] + losses["PyTorch"]) < 0.1


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_without_a_norm_only_small_matrices_learn():
    losses = ends(12, None, ("Glorot", "PyTorch"), steps=500)
    assert max(losses["PyTorch"]) < 0.1, "PyTorch's default needs no norm"
    assert min(losses["Glorot"]) > 10, "Glorot's rule needs one"
