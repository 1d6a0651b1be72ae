"""What chapter 10 predicts for a GPU can be put beside what a GPU does, claim by claim."""

import pytest
import torch

from book.experiments.cost import devices, gpu_predictions
from book.experiments.cost.gpu_predictions import Sizes
from solutions.translator.settings import Shape

SMALL = Sizes(
    product=64,
    words=64,
    features=16,
    launches=3,
    sentences=2,
    vocabulary=50,
    shape=Shape(16, 2, 1, 1, 32, dropout=0.1, tied="all"),
    rounds=1,
)
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
PLACES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])]


@pytest.mark.parametrize("sheet", devices.SHEETS, ids=lambda sheet: sheet["name"])
def test_each_claim_is_predicted_from_a_data_sheet(sheet):
    found = gpu_predictions.predicted(sheet)
    assert all(number > 0 for number in found.values())
    knee = max(sheet["peak"].values()) / sheet["bandwidth"]
    assert found["the roofline bends at, FLOPs per byte"] == pytest.approx(knee)


def test_the_predictions_for_an_h100_are_those_of_the_page():
    found = gpu_predictions.predicted(devices.H100)
    shown = {claim: round(number) for claim, number in found.items()}
    assert shown["the roofline bends at, FLOPs per byte"] == 295
    assert shown["an addition, in 3 passes, µs"] == 120
    assert shown["relu(x + bias) + residual, in 7 passes, µs"] == 280
    assert shown["16 bits instead of float32, times as fast"] == 15


@pytest.mark.parametrize("place", PLACES)
def test_each_claim_is_measured(place):
    found = gpu_predictions.measured(torch.device(place), "bfloat16", SMALL)
    assert list(found) == list(gpu_predictions.predicted(devices.H100, SMALL))
    memory = found.pop("its memory at the peak, GB")
    assert all(number > 0 for number in found.values()) and (memory > 0) == (place == "cuda")


def test_both_are_beside_each_other():
    claim = "a launch, µs"
    found = {claim: 7.25, "its utilization, of the data sheet's peak": 2e12}
    expected = {claim: 5.0, "its utilization, of the data sheet's peak": 0.4}
    _, launch, share = gpu_predictions.table(found, expected, 1e13).splitlines()
    assert launch.split() == ["a", "launch,", "µs", "5", "|", "7.25"]
    assert share.split()[-3:] == ["0.4", "|", "0.2"]
    _, launch, share = gpu_predictions.table(found).splitlines()
    assert launch.split()[-3:] == [gpu_predictions.NOTHING, "|", "7.25"]
    assert share.split()[-3:] == [gpu_predictions.NOTHING, "|", gpu_predictions.NOTHING]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys):
    assert gpu_predictions.main() == 0
    assert "There is no GPU here" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "sheet"),
    [
        ("NVIDIA H100 80GB HBM3", devices.H100),
        ("NVIDIA A100-SXM4-40GB", devices.A100),
        ("NVIDIA GeForce RTX 4090", devices.RTX_4090),
        ("Tesla T4", devices.T4),
        ("NVIDIA A100-SXM4-80GB", None),
        ("NVIDIA H100 PCIe", None),
    ],
)
def test_a_card_is_known_by_the_name_that_pytorch_gives_it(name, sheet):
    assert devices.sheet_of(name) is sheet
