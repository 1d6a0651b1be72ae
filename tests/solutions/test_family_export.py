"""Chapter 13's models as files for a browser: they say what PyTorch says, and hold nothing else."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from solutions.ch13_family import LanguageModel
from solutions.family.export_onnx import export

LONGEST = 12
WORDS = [f"word {number}" for number in range(30)]


def drawn(causal):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return LanguageModel(len(WORDS), LONGEST, 16, 2, 2, 32, dropout=0.3, causal=causal)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((True, -1), id="gpt"),
        pytest.param((False, 0), id="bidirectional", marks=pytest.mark.long),
    ],
)
def exported(request, tmp_path_factory):
    """A model with numbers of 16 bits, its padding's id, and the files."""
    causal, pad_id = request.param
    model, folder = drawn(causal).half().float(), tmp_path_factory.mktemp("model")
    export(model, WORDS, pad_id, folder, "tiny")
    return model, pad_id, folder


def test_it_scores_every_length_as_pytorch_does(exported):
    model, pad_id, folder = exported
    session = onnxruntime.InferenceSession(folder / "tiny.onnx")
    rng = np.random.default_rng(0)
    for length in (1, 2, 7, LONGEST):
        ids = rng.integers(0 if pad_id < 0 else 1, len(WORDS), (1, length))
        (logits,) = session.run(None, {"token_ids": ids})
        with torch.no_grad():
            expected = model(torch.from_numpy(ids), pad_id)[0]
        np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_the_words_come_in_the_order_of_their_ids(exported):
    *_, folder = exported
    about = json.loads((folder / "tiny.json").read_text(encoding="utf-8"))
    assert about == {"words": WORDS, "max_len": LONGEST}


def test_parameters_take_16_bits_where_these_suffice_and_32_elsewhere(exported, tmp_path):
    model, pad_id, folder = exported
    stored = {each.data_type for each in large_ones(folder / "tiny.onnx")}
    assert stored == {onnx.TensorProto.FLOAT16}
    export(drawn(model.causal), WORDS, pad_id, tmp_path, "wide")
    assert {each.data_type for each in large_ones(tmp_path / "wide.onnx")} == {
        onnx.TensorProto.FLOAT
    }


def large_ones(path):
    parameters = onnx.load(path).graph.initializer
    return [each for each in parameters if np.prod(each.dims) > 100]


def test_the_file_says_nothing_about_the_machine_that_made_it(exported):
    *_, folder = exported
    content = (folder / "tiny.onnx").read_bytes()
    assert b"File " not in content and b".py" not in content
