"""How a large model is cut among many GPUs, as chapter 10 counts it."""

import itertools

import pytest

from book.experiments.cost import cuts
from book.experiments.cost.cuts import MODELS

SMALL, MIDDLE, LARGE = MODELS


def test_the_models_have_the_parameters_of_their_names():
    found = [each.parameters / 1e9 for each in MODELS]
    assert found == pytest.approx([8.03, 70.6, 405.8], rel=2e-3)


@pytest.mark.parametrize("devices", cuts.REPORTED)
def test_meta_s_cut_fits_and_reaches_what_their_paper_reports(devices):
    of_table = cuts.REPORTED_CUT
    found = cuts.cut(LARGE, devices, **of_table, stage=1, keeps=1, interleaved=True)
    assert sum(found["bytes"]) < 0.9 * 80e9
    assert found["utilization"] == pytest.approx(cuts.REPORTED[devices], rel=0.04)
    assert found["parts"] == 2048 * 128 // devices


def test_without_a_cut_it_is_the_page_s_bytes_and_half_of_the_peak():
    found = cuts.cut(SMALL, 1, sentences=4)
    assert [each / SMALL.parameters for each in found["bytes"][:3]] == [2, 2, 12]
    assert found["spans"][1:] == [0, 0, 0]
    assert found["utilization"] == pytest.approx(cuts.REACHED)


@pytest.mark.parametrize(("stage", "expected"), [(0, 16), (1, 5.5), (2, 3.75), (3, 2)])
def test_zero_has_the_bytes_of_the_page_s_table(stage, expected):
    found = cuts.cut(SMALL, 8, stage=stage)
    layer = {2: 2, 3: 4}.get(stage, 0) * SMALL.layer  # is whole while it is at work
    assert sum(found["bytes"][:3]) == pytest.approx(expected * SMALL.parameters + layer)


def test_tensor_parallelism_divides_all_and_a_pipeline_holds_as_much_as_no_pipeline():
    whole, wide, deep = (
        cuts.cut(MIDDLE, 64, tensor, pipeline, sentences=1024)
        for tensor, pipeline in ((1, 1), (8, 1), (1, 8))
    )
    assert [8 * each for each in wide["bytes"]] == pytest.approx(whole["bytes"])
    assert [8 * each for each in deep["bytes"][:3]] == pytest.approx(whole["bytes"][:3])
    layers = 8192 * MIDDLE.kept[0] * MIDDLE.layers  # eight parts, an eighth of the layers
    assert deep["bytes"][3] == pytest.approx(layers)


@pytest.mark.parametrize(("pipeline", "sentences"), [(4, 512), (16, 1024)])
def test_a_bubble_is_as_large_as_its_formula_says(pipeline, sentences):
    for interleaved, runs in ((False, 1), (True, 80 // pipeline)):
        found = cuts.cut(MIDDLE, 64, 1, pipeline, sentences=sentences, interleaved=interleaved)
        parts = sentences * pipeline / 64
        share = (pipeline - 1) / (parts * runs)
        assert found["spans"][2] == pytest.approx(share * sum(found["spans"][:2]))


def test_a_higher_stage_of_zero_never_holds_more_and_too_many_copies_do_not_work():
    for tensor, pipeline, keeps in itertools.product((1, 4), (1, 4), range(3)):
        held = [
            sum(cuts.cut(MIDDLE, 64, tensor, pipeline, stage, keeps=keeps)["bytes"])
            for stage in range(4)
        ]
        assert held == sorted(held, reverse=True)
    assert cuts.cut(SMALL, 256, sentences=128) is None
    assert cuts.cut(SMALL, 8, 8, 2) is None
