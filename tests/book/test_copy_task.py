"""The copying machines of chapter 3: made by their seed, alike alone and side by side, attending as
the reference does; and the page's claims hold with seeds that it does not show.
"""

import copy
from functools import cache

import numpy as np
import pytest
import torch
from torch.func import stack_module_state

from book.experiments.copying import (
    copy_best_rate,
    copy_gates,
    copy_jumps,
    copy_places,
    copy_sentences,
    copy_squeezed,
    copy_task,
    reordering,
    side_by_side,
)
from solutions.ch03_bottleneck import additive_attention


@pytest.fixture(autouse=True)
def one_thread():
    """Machines this small are slower on two cores, and much slower if the other one is busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("attention", [False, True])
def test_the_same_seed_gives_the_same_machine(attention):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, same, other = (copy_task.train(8, attention, seed, steps=3) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before), "the global generator is left alone"
    weights = [
        torch.cat([weight.flatten() for weight in machine.parameters()])
        for machine in (one, same, other)
    ]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("attention", [False, True])
def test_side_by_side_each_machine_learns_as_it_would_alone(attention):
    seeds = (3, 5)
    together = [copy_task.new(8, attention, seed) for seed in seeds]
    copy_task.train_side_by_side(together, seeds, steps=8)
    for seed, model in zip(seeds, together, strict=True):
        alone = copy_task.train(8, attention, seed, steps=8)
        for (name, one), other in zip(model.named_parameters(), alone.parameters(), strict=True):
            assert torch.allclose(one, other, atol=1e-4), name


def test_squeezed_machines_write_from_few_numbers_and_compute_the_same_side_by_side():
    seeds = (3, 5)
    together = [copy_squeezed.new_squeezed(8, 2, seed) for seed in seeds]
    read = copy_task.random_sentences(4, 5, torch.Generator().manual_seed(0))
    for model in together:
        keys, last = model.reader(model.embedding(read))
        assert torch.equal(keys[:, 0], last[0]) and torch.linalg.matrix_rank(last[0]) == 2
        assert model.copy(read)[0].shape == read.shape
    alone = [copy.deepcopy(model) for model in together]
    stacked, _ = stack_module_state(together)
    both = side_by_side.logits_of(stacked, torch.stack([read.T, read.T], dim=1))
    for number, model in enumerate(alone):
        assert torch.allclose(both[:, number].transpose(0, 1), model(read, read), atol=1e-5)
    copy_task.train_side_by_side(together, seeds, steps=2)
    before, after = (each[0].state_dict()["reader.narrow.weight"] for each in (alone, together))
    assert not torch.equal(before, after)


def test_measured_squeezed_runs_and_rates_say_what_they_are():
    runs = copy_squeezed.measure((2,), range(2), 8, (2, 4))
    assert [(run["size"], run["passed"], run["seed"]) for run in runs] == [
        *((8, 2, 0), (8, 2, 1), (8, 4, 0), (8, 4, 1))
    ]
    assert all(len(run["accuracy"]) == 20 for run in runs)
    rates = copy_best_rate.measure((2,), range(2), ("vector-4",), (0.01, 0.02))
    found = copy_best_rate.at_rates(rates, "one vector", 4, 2, 10)
    assert list(found) == [0.01, 0.02] and all(len(each) == 2 for each in found.values())


def test_each_gradient_is_shortened_by_its_own_length():
    together = [torch.nn.Parameter(torch.zeros(2, *shape)) for shape in ((3, 2), (4,))]
    for each in together:
        each.grad = torch.randn(each.shape, generator=torch.Generator().manual_seed(0))
        each.grad[1] *= 0.01  # short enough already
    alone = [[torch.nn.Parameter(each.data[model]) for each in together] for model in range(2)]
    for model, parameters in enumerate(alone):
        for one, both in zip(parameters, together, strict=True):
            one.grad = both.grad[model].clone()
        torch.nn.utils.clip_grad_norm_(parameters, max_norm=1.0)
    side_by_side.clipped_in_place(together)
    for model, parameters in enumerate(alone):
        for one, both in zip(parameters, together, strict=True):
            assert torch.allclose(one.grad, both.grad[model])


def test_the_machine_attends_as_the_reference_does():
    torch.manual_seed(0)
    machine = copy_task.Copier(8, attention=True).double()
    _, queries, keys = machine.copy(copy_task.ids_of("your cat is lovely"))
    w_query, w_key, v = (
        layer.weight.detach().numpy().T for layer in (machine.w_query, machine.w_key, machine.v)
    )
    answers = [
        additive_attention(query, keys[0].numpy(), w_query, w_key, v[:, 0])
        for query in queries[0].numpy()
    ]
    weights = machine.weights(queries, keys)[0].detach().numpy()
    context = machine.context(queries, keys)[0].detach().numpy()
    assert np.allclose([weight for _, weight in answers], weights)
    assert np.allclose([average for average, _ in answers], context)


def test_copying_freely_and_with_the_right_words_agree_while_the_copy_is_right():
    machine = copy_task.train(16, attention=True, seed=0, steps=60)
    read = copy_task.random_sentences(100, 2, torch.Generator().manual_seed(5))
    written = machine.copy(read)[0]
    right = (written[:, 0] == read[:, 0]).nonzero().flatten()
    assert len(right) > 10
    assert torch.equal(written[right], machine(read, read)[right].argmax(dim=-1))


def test_one_vector_is_the_same_context_at_every_step():
    machine = copy_task.Copier(8, attention=False)
    queries, keys = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
    assert torch.equal(machine.context(queries, keys), keys[:, 3:].repeat(1, 5, 1))


def test_a_measured_run_says_what_it_is_and_the_longest_budget_has_fewer_seeds():
    runs = copy_task.measure((2, 3), range(2), 1, ("vector-8", "attention-4"), longest=3)
    assert [(run["kind"], run["size"], run["steps"], run["seed"]) for run in runs] == [
        ("one vector", 8, 2, 0),
        ("one vector", 8, 2, 1),
        ("attention", 4, 2, 0),
        ("attention", 4, 2, 1),
        ("one vector", 8, 3, 0),
        ("attention", 4, 3, 0),
    ]
    assert all(run["longest"] == 3 and len(run["accuracy"]) == 20 for run in runs)
    assert copy_task.shares(runs, "one vector", 2)[8].shape == (2, 20)
    replayed = copy_sentences.measure((2, 3), range(1), ("vector-8", "attention-4"))
    state = copy_sentences.for_the_explorer(runs, replayed)
    assert (state["budgets"], state["sizes"], state["attention_size"]) == ([2, 3], [8], 4)
    assert [len(state[kind]) for kind in ("vector", "attention")] == [2, 2]
    assert len(state["curves"]["vector"][0]) == 2 and len(state["curves"]["attention"][1]) == 1
    for attention, vector in zip(state["attention"][0], state["vector"][0], strict=True):
        assert "queries" in attention and "queries" not in vector
    assert len(state["attention"][0]) == len(state["sentences"]) > 1


def test_places_are_counted_after_own_words_and_after_the_right_ones():
    machine = copy_task.train(16, attention=True, seed=0, steps=60)
    own, given = copy_places.by_place(machine, seq_len=4, count=200)
    assert own[0] == given[0]  # nothing has been written before the first word
    assert np.mean(given) > np.mean(own) + 0.02

    def always_right(read, target):
        return torch.nn.functional.one_hot(target, len(copy_task.WORDS)).float()

    machine.forward = always_right
    assert copy_places.by_place(machine, seq_len=4, count=200) == [own, [1.0] * 4]


def test_a_jump_is_a_run_of_words_from_another_place():
    read = torch.arange(12).expand(4, -1)
    ahead = torch.cat([torch.arange(4), torch.arange(6, 12), torch.tensor([0, 0])])
    back = torch.cat([torch.arange(4), torch.arange(2, 7), torch.tensor([0, 0, 0])])
    short = torch.cat([torch.arange(6), torch.arange(8, 12), torch.tensor([0, 0])])
    written = torch.stack([ahead, back, short, torch.arange(12)])
    assert copy_jumps.jumped(read, written).tolist() == [True, True, False, False]
    (run,) = copy_jumps.measure((3,), range(1), 8, count=20)
    assert 0 <= run["jumped"] <= 1 and 0 <= run["right"] < 0.5


def test_a_departure_goes_to_another_place_after_the_same_word_or_elsewhere():
    read = torch.tensor([[0, 1, 2, 0, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]])
    look = torch.tensor([[0, 4, 5, 3, 4, 5], [0, 1, 5, 3, 4, 5], [0, 0, 1, 2, 3, 4]])
    found = copy_jumps.departures(read, read.clone(), look)  # the last one stays beside its path
    assert (found["left"], found["followed"]) == (0.6667, 0.5)
    # From the first word it could go to places 3, 4, 5 and 6, of which one follows a 0; from the
    # second to the first place's successor and two more, none of which follows a 1.
    assert found["by_chance"] == pytest.approx((1 / 3 + 0) / 2, abs=1e-4)


def test_the_gate_says_how_much_of_the_old_state_stays():
    model = copy_task.new(4, False, 0)
    with torch.no_grad():
        for name in ("bias_ih_l0", "bias_hh_l0"):
            getattr(model.reader, name)[4:8] = 20.0
    assert np.allclose(copy_gates.kept(model, seq_len=3, count=5), 1)
    states, _ = model.reader(model.embedding(copy_task.random_sentences(5, 3, torch.Generator())))
    assert states.abs().max() < 1e-6  # the empty state of the start is kept
    runs = copy_gates.measure((0, 2), range(2), 4)
    assert [(run["steps"], run["seed"]) for run in runs] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert all(len(run["kept"]) == len(run["reach"]) == 10 for run in runs)


def test_an_adjective_changes_places_with_the_next_word_only():
    for read, written in (
        ("your lovely cat", "your cat lovely"),
        ("lovely cat lovely dog", "cat lovely dog lovely"),
        ("lovely lovely cat", "lovely lovely cat"),
        ("the cat is lovely", "the cat is lovely"),
    ):
        found = reordering.adjectives_last(copy_task.ids_of(read))
        assert copy_task.sentence_of(found) == written
    two = torch.cat([copy_task.ids_of("lovely cat sat"), copy_task.ids_of("a lovely cat")])
    assert reordering.places_read(two).tolist() == [[1, 0, 2], [0, 2, 1]]


def test_a_machine_that_reorders_is_judged_by_what_it_should_write():
    (run,) = reordering.measure((60,), range(1), 16)
    assert 0.1 < run["accuracy"] < 0.9 and "weights" in run
    assert np.allclose(np.sum(run["weights"], axis=1), 1, atol=1e-3)


def test_no_sentence_in_training_is_longer_than_it_may_be():
    for longest in (1, 10, 20):
        lengths = copy_task.random_lengths(500, longest)
        assert min(lengths) == 1 and max(lengths) == longest
    assert set(copy_task.random_lengths(50, 10, shortest=10)) == {10}


UNSEEN = range(100, 103)


@cache
def shares_of(kind, size, steps, seeds=UNSEEN):
    """Train with seeds that no page uses, and return accuracy, (seeds, lengths). A minute or so for
    4,000 steps, and several on a busy machine; no test asks for more than one such training that
    none before it has asked for.
    """
    models = [copy_task.new(size, kind == "attention", seed) for seed in seeds]
    copy_task.train_side_by_side(models, seeds, steps)
    return np.array([copy_task.accuracy(model, copy_task.LENGTHS) for model in models])


@pytest.mark.long
def test_what_looks_like_a_full_vector_is_a_short_training():
    short, longer = shares_of("vector", 64, 400), shares_of("vector", 64, 4000)
    assert short[:, 9].max() < 0.6
    assert longer[:, 9].min() > short[:, 9].max() + 0.2


@pytest.mark.long
@pytest.mark.parametrize("steps", [400, 4000])
def test_at_an_equal_budget_attention_copies_more_of_ten_words(steps):
    """16 numbers and attention against one vector of 64."""
    attention, vector = shares_of("attention", 16, steps), shares_of("vector", 64, steps)
    assert attention[:, 9].min() > vector[:, 9].max() + 0.03


@pytest.mark.long
def test_much_of_the_fall_beyond_ten_words_is_too_little_training():
    """No machine here has seen a sentence of more than ten words in training."""
    short, longer = shares_of("attention", 16, 400), shares_of("attention", 16, 4000)
    assert longer[:, 19].mean() > short[:, 19].mean() + 0.3


@pytest.mark.long
def test_one_vector_does_not_take_the_same_training_beyond_ten_words():
    vector, attention = shares_of("vector", 64, 4000), shares_of("attention", 16, 4000)
    assert vector[:, 9].min() > 0.85 and vector[:, 19].max() < 0.5
    assert attention[:, 19].min() > 0.7


@pytest.mark.long
def test_a_single_vector_of_64_numbers_can_hold_ten_words():
    """A lower bound on what fits, by one seed, with two fifths of the longest budget."""
    (shares,) = shares_of("vector", 64, 8000, range(100, 101))
    assert shares[9] > 0.92


@pytest.mark.long
def test_even_after_the_right_words_the_first_ones_are_copied_best():
    """One vector of 64 after a short training; attention is about as good at every place."""
    vectors = [copy_task.train(64, False, seed) for seed in UNSEEN]
    for own, given in map(copy_places.by_place, vectors):
        assert min(given[:3]) > 0.85 > 0.75 > max(given[5:])
        assert own[-1] < 0.25 and given[-1] > own[-1] + 0.3
    for seed in UNSEEN:
        own, given = copy_places.by_place(copy_task.train(16, True, seed))
        assert min(given[1:]) > max(given[1:]) - 0.2 and given[-1] > own[-1] + 0.2


@pytest.mark.long
def test_trained_on_ten_words_only_the_first_and_the_last_are_copied_equally_well():
    """After the right words, so that no mistake derails the copy."""
    models = [copy_task.new(64, False, seed) for seed in UNSEEN]
    copy_task.train_side_by_side(models, UNSEEN, 400, shortest=10)
    for own, given in map(copy_places.by_place, models):
        assert abs(given[0] - given[-1]) < 0.07 and min(given[0], given[-1]) > 0.8
        assert min(given) > 0.65 and own[0] - own[-1] > 0.25


@pytest.mark.long
def test_at_a_third_of_the_learning_rate_attention_is_behind_after_400_steps():
    """And far ahead after 4,000, which copy_rates.json records."""
    ends = []
    for size, attention in ((16, True), (64, False)):
        models = [copy_task.new(size, attention, seed) for seed in UNSEEN]
        copy_task.train_side_by_side(models, UNSEEN, 400, rate=0.005)
        ends.append([copy_task.accuracy(model, [10])[0] for model in models])
    assert max(ends[0]) < min(ends[1])


@pytest.mark.long
def test_after_400_steps_a_narrow_vector_between_wide_networks_costs_nothing():
    """And narrow networks do; at 4,000 steps both do, which copy_squeezed.json records."""
    ends = []
    for passed in (16, 64):
        models = [copy_squeezed.new_squeezed(64, passed, seed) for seed in UNSEEN]
        copy_task.train_side_by_side(models, UNSEEN, 400)
        ends.append(np.array([copy_task.accuracy(model, [10])[0] for model in models]))
    assert abs(ends[0].mean() - ends[1].mean()) < 0.04
    assert ends[0].min() > shares_of("vector", 16, 400)[:, 9].max() + 0.04


@pytest.mark.long
def test_before_training_one_vector_sends_most_gradient_to_the_last_words():
    """And attention about as much to each."""
    for seed in UNSEEN:
        one, other = (copy_task.reach(copy_task.new(32, kind, seed)) for kind in (False, True))
        assert (np.diff(one) > 0).all() and one[-1] > 50 * one[0]
        assert other.max() < 3 * other.min()


@pytest.mark.long
def test_training_opens_the_gates_and_levels_the_gradient():
    models = [copy_task.new(32, False, seed) for seed in UNSEEN]
    before = [copy_gates.kept(model) for model in models]
    copy_task.train_side_by_side(models, UNSEEN, 400)
    for closed, model in zip(before, models, strict=True):
        opened, gradient = copy_gates.kept(model), copy_task.reach(model)
        assert max(closed) < 0.52 < min(opened) and opened[-1] > 0.9
        assert gradient.max() < 4 * gradient.min() and gradient[0] > 0.6 * gradient[-1]


@pytest.mark.long
def test_where_attention_leaves_its_path_it_often_follows_the_word_just_written():
    """After a short training, in sentences of twenty words."""
    models = [copy_task.new(16, True, seed) for seed in UNSEEN]
    copy_task.train_side_by_side(models, UNSEEN, 400)
    read = copy_task.random_sentences(500, 20, torch.Generator().manual_seed(2))
    for model in models:
        written, queries, keys = model.copy(read)
        with torch.no_grad():
            look = model.weights(queries, keys).argmax(dim=-1)
        found = copy_jumps.departures(read, written, look)
        assert found["followed"] > 2 * found["by_chance"] and found["left"] > 0.7


@pytest.mark.long
def test_attention_copies_at_places_that_no_training_reached():
    """Trained on at most five words, after the right words; one vector does not."""
    far = []
    for size, attention in ((16, True), (64, False)):
        models = [copy_task.new(size, attention, seed) for seed in UNSEEN]
        copy_task.train_side_by_side(models, UNSEEN, 4000, longest=5)
        far.append([min(copy_places.by_place(model)[1][5:]) for model in models])
    assert min(far[0]) > max(far[1]) + 0.2
