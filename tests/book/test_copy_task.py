"""The copying machines of chapter 3: made by their seed, and attending as the reference does."""

import numpy as np
import pytest
import torch

from book.experiments import copy_task
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
    assert torch.equal(written[right], machine(read)[right].argmax(dim=-1))


def test_one_vector_is_the_same_context_at_every_step():
    machine = copy_task.Copier(8, attention=False)
    queries, keys = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
    assert torch.equal(machine.context(queries, keys), keys[:, 3:].repeat(1, 5, 1))
