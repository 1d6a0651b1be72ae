"""What attention costs: tensors and operations are counted as they are made, and nothing else is."""

import torch

from book.experiments.long_texts.attention_cost import (
    LargestTensor,
    counted,
    inputs,
    measure,
    tiled,
    untiled,
)
from solutions.ch11_efficiency import attention_flops


def test_the_largest_tensor_is_the_table_or_a_tile():
    for attend, shape in ((untiled, (60, 90)), (tiled, (60, 64))):
        with LargestTensor() as largest:
            attend(*inputs(60, 90, head_dim=8))
        assert largest.shape == shape


def test_views_masks_and_arguments_are_not_counted():
    query, *_ = inputs(5)
    with LargestTensor() as largest:
        query.mT, query.expand(9, 5, 64), torch.ones(50, 50, dtype=torch.bool)
        query.add_(1)
    assert largest.shape == ()


def test_what_is_held_at_once_is_counted_until_it_is_gone():
    for device in ("cpu", "meta"):
        start = torch.ones(10, device=device)
        with LargestTensor() as made:
            kept = start + 1
            for _ in range(5):
                kept = kept + 1  # the old one goes when the new one is there
            kept = kept[:3]
        assert (made.most_bytes, made.bytes_now) == (80, 40)
        del kept
        assert made.bytes_now == 0


def test_with_the_table_there_are_two_tables_at_once():
    with LargestTensor() as made:
        untiled(*inputs(500, head_dim=1))
    assert 2 * 4 * 500**2 <= made.most_bytes < 2.1 * 4 * 500**2


def test_operations_are_counted_without_numbers():
    for attend in (untiled, tiled):
        shape, flops = counted(attend, 200, 300, head_dim=16)
        assert flops == attention_flops(1, 1, 200, 300, 16)
    assert shape == (200, 64)


def test_both_ways_agree_on_what_is_timed():
    drawn = inputs(70, 130)
    assert torch.allclose(untiled(*drawn), tiled(*drawn), atol=1e-5)


def test_a_run_has_a_time_for_each_length(monkeypatch):
    monkeypatch.setattr("book.experiments.long_texts.attention_cost.LENGTHS", (10, 20))
    runs = measure(steps=1, seeds=range(2))
    assert [(run["seed"], run["length"]) for run in runs] == [(0, 10), (0, 20), (1, 10), (1, 20)]
    assert all(run["seconds"] >= 0 for run in runs)
