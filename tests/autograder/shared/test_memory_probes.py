"""What must not be kept for a backward pass is noticed, whoever else listens to what is saved."""

import contextlib

import pytest
import torch

from autograder.shared.probes import accumulated_in_turn, decoded_without_gradients
from autograder.shared.probes.calls import Unfit

WEIGHTS = {
    "src_embedding.weight": torch.randn(9, 4, generator=torch.Generator().manual_seed(0)),
    "tgt_embedding.weight": torch.randn(9, 4, generator=torch.Generator().manual_seed(1)),
    "generator.weight": torch.randn(9, 4, generator=torch.Generator().manual_seed(2)),
    "generator.bias": torch.zeros(9),
}
SRC, TGT = torch.tensor([[3, 4]]), torch.tensor([[1, 5, 2]])
MODEL = {"stand_in": "translator", "weights": WEIGHTS}
PARTS = {
    "model": MODEL,
    "optimizer": {"stand_in": "optimizer", "name": "SGD", "lr": 0.5},
    "parts": [(SRC, TGT), (SRC + 1, TGT + 1)],
}
GREEDY = {"model": MODEL, "src": SRC}


def own_hooks():
    return torch.autograd.graph.saved_tensors_hooks(lambda each: each, lambda each: each)


around = pytest.mark.parametrize("around", [contextlib.nullcontext, own_hooks])


def loss_of(model, src, tgt):
    scores = model(src, tgt[:, :-1])
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), tgt[:, 1:].flatten())


def all_at_the_end(model, optimizer, parts):
    loss = sum(loss_of(model, *part) for part in parts)
    loss.backward()
    optimizer.step()
    return loss.item()


def in_turn(model, optimizer, parts):
    total, kept = 0.0, []
    for part in parts:
        loss = loss_of(model, *part)
        loss.backward()
        kept.append(loss)
        total += loss.item()
    optimizer.step()
    return total


@around
def test_parts_that_wait_together_are_noticed(around):
    def implementation(*arguments):
        with around():
            return all_at_the_end(*arguments)

    with pytest.raises(Unfit, match="while an earlier part still waits"):
        accumulated_in_turn(implementation, PARTS)


@around
def test_parts_in_turn_are_right(around):
    def implementation(*arguments):
        with around():
            return in_turn(*arguments)

    assert accumulated_in_turn(implementation, PARTS)["result"] > 0


@around
def test_steps_that_are_remembered_are_noticed(around):
    def implementation(model, src):
        with around():
            memory = model.encode(src)
            return model.generator(model.decode(src, memory, src)).argmax(-1)

    with pytest.raises(Unfit, match="with gradients on"):
        decoded_without_gradients(implementation, GREEDY)


@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_steps_that_nobody_remembers_are_right(without):
    def implementation(model, src):
        with without():
            return model(src, src).argmax(-1)

    assert decoded_without_gradients(implementation, GREEDY)["result"].shape == SRC.shape


def test_a_model_of_which_nothing_is_learned_remembers_nothing():
    def implementation(model, src):
        return model.requires_grad_(False)(src, src).argmax(-1)

    assert decoded_without_gradients(implementation, GREEDY)["result"].shape == SRC.shape
