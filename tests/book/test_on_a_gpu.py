"""What is measured on a GPU for chapters 10 and 11 can be measured, part by part, and is kept."""

import json

import pytest
import torch

from book.experiments.cost import gpu_parts, on_a_gpu
from book.experiments.cost.gpu_parts import Budget
from solutions.translator.measure import ways
from tests.book.test_gpu_predictions import NO_GPU, SMALL

BUDGET = Budget(
    SMALL,
    words=(1, 4),
    sentences=(2,),
    compiled=(2,),
    base=(1,),
    precisions=("float32", "bfloat16"),
    lengths=(8,),
    written=(1,),
    models=((SMALL.shape, 50),),
    words_held=(64,),
)
ON_A_GPU = [pytest.mark.gpu, NO_GPU]


def cases():
    for part in gpu_parts.MEASURED:
        if part != "compiled":  # a minute
            yield pytest.param(part, "cpu", id=f"{part}-cpu")
        yield pytest.param(part, "cuda", marks=ON_A_GPU, id=f"{part}-cuda")


@pytest.mark.parametrize(("part", "place"), list(cases()))
def test_each_part_is_measured_and_kept(part, place, monkeypatch):
    small = {"VOCAB": 50, "D_MODEL": 16, "HEADS": 2, "LAYERS": 1, "D_FF": 32, "LENGTH": 8}
    for name, value in small.items():
        monkeypatch.setattr(ways, name, value)
    for name, value in SMALL.shape.__dict__.items():
        if name in ways.SIZE:
            monkeypatch.setitem(ways.SIZE, name, value)
    found = gpu_parts.MEASURED[part](torch.device(place), BUDGET)
    kept = json.loads(on_a_gpu.FILE.read_text(encoding="utf-8"))[part]
    assert found and json.loads(on_a_gpu.written({part: found}))[part]
    if isinstance(found, dict):
        assert list(found) == list(kept)
    else:
        assert all(each.keys() == kept[0].keys() for each in (*found, *kept))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_measured(capsys, tmp_path):
    assert on_a_gpu.main(["--into", str(tmp_path / "gpu.json")]) == 2
    assert "no GPU here" in capsys.readouterr().err and not list(tmp_path.iterdir())
