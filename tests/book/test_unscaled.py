"""The recorded training without the division takes the steps that PyTorch takes."""

import numpy as np
import pytest
import torch

from book.experiments import unscaled


def by_torch(seed, optimizer, steps, rate, divisor):
    """Train with PyTorch's gradients and optimizer; return the share of right answers."""
    w = [torch.nn.Parameter(torch.from_numpy(each)) for each in unscaled.begin(seed)]
    ids, test = (torch.from_numpy(unscaled.draw_sentences(each)) for each in (seed, 99))
    groups = [{"params": w[:2], "lr": rate}, {"params": w[2:], "lr": unscaled.VALUE_RATE}]
    its = torch.optim.Adam(w, lr=rate) if optimizer == "Adam" else torch.optim.SGD(groups)

    def logits(sentences):
        query, key, value = (each[sentences] for each in w)
        return torch.softmax(query @ key.mT / divisor, dim=-1) @ value

    for _ in range(steps):
        wanted = ids[:, unscaled.ANSWERS].flatten()
        loss = torch.nn.functional.cross_entropy(logits(ids).flatten(0, 1), wanted)
        its.zero_grad()
        loss.backward()
        its.step()
    right = logits(test).argmax(dim=-1) == test[:, unscaled.ANSWERS]
    return right.double().mean().item()


@pytest.mark.parametrize(
    ("divided", "optimizer", "rate"), [(False, "SGD", 5.0), (True, "Adam", 0.03)]
)
def test_the_recorded_training_takes_the_steps_of_pytorch(monkeypatch, divided, optimizer, rate):
    monkeypatch.setattr(unscaled, "SETTINGS", ((divided, optimizer, (rate,)),))
    runs = unscaled.measure(steps=(0, 20), seeds=range(1, 3))
    assert [run["seed"] for run in runs] == [1, 2]
    for run in runs:
        divisor = 8 if divided else 1
        wanted = [by_torch(run["seed"], optimizer, steps, rate, divisor) for steps in (0, 20)]
        assert np.allclose(run["right"], wanted, atol=1e-4)
        assert run["right"][1] > run["right"][0]
