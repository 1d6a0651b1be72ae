"""What a page runs is the model that was trained: the same words, the same attention."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from solutions.ch08_encoder_decoder import Transformer
from solutions.ch11_efficiency import attention_flops
from solutions.translator.data.tokenizer import BOS, EOS
from solutions.translator.decoding import translate_ids
from solutions.translator.export_onnx import START, STEP, WORDS, Start, Step, export
from solutions.translator.measure.attention_map import cross_attention
from solutions.translator.runs import FinishedRun, prepare
from solutions.translator.settings import Settings, Shape
from tests.solutions.translator.test_translator import SIZE, toy_pairs

pytestmark = pytest.mark.xdist_group("browser export")  # one model for all of its tests


class Exported:
    """The exported files, run by onnxruntime as a browser runs them.

    Args:
        folder: as `export` filled it.
    """

    def __init__(self, folder):
        folder = Path(folder)
        self.start, self.step = (
            onnxruntime.InferenceSession(folder / name) for name in (START, STEP)
        )
        self.about = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        self.computed = []  # at each step of the last translation, the positions that were new

    def gates(self):
        """Return a gate of 1 for each head, by what it belongs to: `encoder`, `self`, `cross`."""
        shape = self.about["shape"]
        layers = {"encoder": shape["num_encoder_layers"]}
        layers |= dict.fromkeys(("self", "cross"), shape["num_decoder_layers"])
        return {
            name: np.ones((count, shape["num_heads"]), dtype=np.float32)
            for name, count in layers.items()
        }

    def translate(self, source, cached=True, gates=None):
        """Translate a list of ids greedily.

        Args:
            source: list of int, without special ids.
            cached: False computes all positions again for each word.
            gates: as `gates` returns them.

        Returns:
            written: ids without special ones.
            looks: the weights of each step, a list of (decoder layers, heads, src_len).
        """
        gates = gates or self.gates()
        memory = self.start.run(None, {"src": np.array([source]), "gates": gates["encoder"]})
        fixed = dict(zip(("memory_keys", "memory_values"), memory, strict=True))
        fixed |= {f"{name}_gates": gates[name] for name in ("self", "cross")}
        nothing = [each[:, :, :0] for each in memory]
        written, looks, self.computed, cache = [BOS], [], [], nothing
        while len(written) < int(self.about["factor"] * len(source)) + self.about["extra"]:
            keys, values = cache if cached else nothing
            tgt = np.array([written[keys.shape[2] :]])
            self.computed.append(tgt.shape[1])
            logits, weights, *cache = self.step.run(
                None, {"tgt": tgt, "keys": keys, "values": values, **fixed}
            )
            looks.append(weights)
            written.append(int(logits.argmax()))
            if written[-1] == EOS:
                return written[1:-1], looks
        return written[1:], looks


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    settings = Settings(
        tokens=200, steps=120, warmup=20, learning_rate=3e-3, look_every=120, smoothing=0.0
    )
    prepare(
        folder, toy_pairs(300), toy_pairs(20, seed=1), Shape(**SIZE, dropout=0.1), settings
    ).run()
    return FinishedRun(folder, "cpu")


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    export(run, folder)
    return folder


@pytest.fixture(scope="module")
def sources(run):
    return run.source.encode([source for source, _ in toy_pairs(100, seed=2)])


@pytest.fixture(scope="module")
def expected(run, sources):
    found = [translate_ids(run.model, [ids])[0] for ids in sources]
    assert len({len(ids) for ids in found}) > 3
    return found


def test_the_exported_model_writes_the_same_words(exported, sources, expected):
    graphs = Exported(exported)
    for source, written in zip(sources, expected, strict=True):
        assert graphs.translate(source)[0] == written
        steps = len(graphs.computed)
        assert steps in (len(written), len(written) + 1)  # with the end, where there was room
        assert graphs.computed == [1] * steps


def test_without_its_cache_it_writes_the_same_words_and_computes_all_positions_each_time(
    exported, sources, expected
):
    graphs = Exported(exported)
    for source, written in zip(sources, expected, strict=True):
        found, looks = graphs.translate(source, cached=False)
        assert found == written
        assert graphs.computed == [*range(1, len(looks) + 1)]
        np.testing.assert_allclose(looks, graphs.translate(source)[1], atol=1e-5)


def test_a_cache_is_continued_in_chunks_of_any_length(run, exported):
    graphs, gates = Exported(exported), Exported(exported).gates()
    source, target = np.array([[4, 5, 6]]), [1, 7, 5, 9, 4, 6]
    memory = graphs.start.run(None, {"src": source, "gates": gates["encoder"]})
    fixed = dict(zip(("memory_keys", "memory_values"), memory, strict=True))
    fixed |= {f"{name}_gates": gates[name] for name in ("self", "cross")}
    model = run.plain_model()
    with torch.no_grad():
        expected = model(torch.from_numpy(source), torch.tensor([target]))[0, -1]
    for cuts in ([6], [1, 5], [3, 1, 2]):
        cache, start = [each[:, :, :0] for each in memory], 0
        for new in cuts:
            tgt = np.array([target[start : start + new]])
            given = {"tgt": tgt, "keys": cache[0], "values": cache[1], **fixed}
            logits, _, *cache = graphs.step.run(None, given)
            start += new
        assert cache[0].shape[2] == 6
        np.testing.assert_allclose(logits, expected, atol=1e-4)


@pytest.mark.parametrize("norm_first", [True, False])
def test_start_and_step_are_the_transformer_of_chapter_8(norm_first):
    torch.manual_seed(0)
    model = Transformer(11, 12, 8, 2, 2, 3, 16, norm_first=norm_first).eval()
    src, tgt = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 7, 5, 9]])
    ones = torch.ones(3, 2)
    with torch.no_grad():
        memory = Start(model)(src, ones[:2])
        keys = values = memory[0][:, :, :0]
        for length in range(1, 5):
            new = tgt[:, length - 1 : length]
            logits, _, keys, values = Step(model)(new, keys, values, *memory, ones, ones)
            torch.testing.assert_close(logits, model(src, tgt[:, :length])[0, -1])


def gated(attention, gates):
    """Have an attention's heads multiplied by gates before they are mixed; return what ends it."""

    def scale(module, arguments):
        heads = arguments[0].unflatten(-1, (len(gates), -1))
        return (heads * torch.from_numpy(gates)[:, None]).flatten(-2)

    return attention.w_o.register_forward_pre_hook(scale)


def test_a_gate_scales_its_head_and_no_other(run, exported, sources):
    graphs, model = Exported(exported), run.plain_model()
    attentions = {
        "encoder": [layer.self_attention for layer in model.encoder],
        "self": [layer.self_attention for layer in model.decoder],
        "cross": [layer.cross_attention for layer in model.decoder],
    }
    changed = 0
    for name, layers in attentions.items():
        for layer, attention in enumerate(layers):
            for head in range(attention.num_heads):
                gates = graphs.gates()
                gates[name][layer, head] = (-3.0, 0.0)[head % 2]
                hook = gated(attention, gates[name][layer])
                expected = [translate_ids(model, [ids])[0] for ids in sources[:10]]
                hook.remove()
                assert [graphs.translate(ids, gates=gates)[0] for ids in sources[:10]] == expected
                changed += expected != [graphs.translate(ids)[0] for ids in sources[:10]]
    assert changed > 3  # so that some of this could have failed


@pytest.mark.parametrize("new", [1, 4])
def test_the_work_of_a_step_is_what_a_page_counts(run, new):
    """The products of the decoder's layers, as the explorer of the cache counts them."""
    model, shape, length, src_len = run.plain_model(), run.shape, 3, 5
    ones = torch.ones(shape.num_decoder_layers, shape.num_heads)
    with torch.no_grad():
        memory = Start(model)(
            torch.full((1, src_len), 4), torch.ones(len(model.encoder), len(ones[0]))
        )
        keys = memory[0][:, :, :1].expand(-1, -1, length, -1)
        with FlopCounterMode(display=False) as counter:
            Step(model)(torch.full((1, new), 4), keys, keys, *memory, ones, ones)
    width = shape.d_model // shape.num_heads
    attended = (
        attention_flops(1, shape.num_heads, new, keys, width) for keys in (length + new, src_len)
    )
    projections = 2 * new * (6 * shape.d_model**2 + 2 * shape.d_model * shape.d_ff)
    layers = shape.num_decoder_layers * (projections + sum(attended))
    generator = 2 * shape.d_model * run.target.vocab_size
    assert counter.get_total_flops() == layers + generator


def test_the_exported_model_looks_where_the_model_looks(run, exported):
    source = run.source.encode(["red cat two dog"])[0]
    written, looks = Exported(exported).translate(source)
    expected = cross_attention(
        run.plain_model(), source, written
    )  # (layers, heads, written + 1, src_len)
    np.testing.assert_allclose(np.stack(looks, axis=2), expected, atol=1e-5)


def test_the_words_stand_at_their_ids(run, exported):
    words = json.loads((exported / WORDS).read_text(encoding="utf-8"))
    assert words["source"][:4] == ["<pad>", "<bos>", "<eos>", "<unk>"]
    assert [words["source"].index(word) for word in ("red", "cat")] == run.source.encode(
        ["red cat"]
    )[0]
    assert len(words["target"]) == run.target.vocab_size
    assert words["shape"] == {name: getattr(run.shape, name) for name in words["shape"]}


def test_byte_pairs_are_refused_in_a_sentence(run, tmp_path):
    pairs = toy_pairs(100)
    folder = tmp_path / "run"
    settings = Settings(tokens=200, steps=1, look_every=1)
    prepare(folder, pairs, pairs[:9], Shape(**SIZE), settings, vocab_size=280).run()
    with pytest.raises(ValueError, match="byte pairs: train with --vocab 0"):
        export(FinishedRun(folder, "cpu"), tmp_path / "page")
    assert torch.is_grad_enabled()


def test_the_files_say_nothing_about_the_machine_that_made_them(exported):
    for name in ("start.onnx", "step.onnx"):
        content = (exported / name).read_bytes()
        assert b"File " not in content and b".py" not in content
