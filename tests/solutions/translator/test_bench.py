"""What `make bench` prints of training, with small models: on this machine's processor, and on its
GPU where it has one.
"""

import re

import pytest
import torch

from solutions.translator.measure import bench, ways

NUMBER = r"[\d,]+"
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
ON_A_GPU = [pytest.mark.gpu, NO_GPU]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=ON_A_GPU)])
def device(request, monkeypatch):
    """Where it is measured, with sizes that take no time."""
    small = {"VOCAB": 300, "D_MODEL": 16, "HEADS": 2, "LAYERS": 1, "D_FF": 32}
    for name, value in (small | {"BATCH": 8, "LENGTH": 8}).items():
        for module in (ways, bench):
            monkeypatch.setattr(module, name, value, raising=False)
    monkeypatch.setitem(ways.SIZE, "d_model", 16)
    monkeypatch.setitem(ways.SIZE, "num_heads", 2)
    monkeypatch.setitem(ways.SIZE, "num_encoder_layers", 1)
    monkeypatch.setitem(ways.SIZE, "num_decoder_layers", 1)
    monkeypatch.setitem(ways.SIZE, "d_ff", 32)
    monkeypatch.setattr(bench, "peak_flops", lambda device, precision: 1e9)
    monkeypatch.setattr(bench, "DECODED", (2, 3))
    return torch.device(request.param)


def test_each_way_has_a_speed_and_full_batches_a_share_of_the_peak(device, capsys):
    bench.bench_training(device, rounds=1)
    shown = capsys.readouterr().out
    full, padded = shown.split("  full\n")[1].split("  62 % filled\n")
    for table, share in ((full, r", \d+% of the peak"), (padded, "")):
        lines = table.splitlines()
        tf32 = ["tf32"] if device.type == "cuda" else []
        precisions = [each for each in ("float32", *tf32, "bfloat16") for _ in ways.MAKERS]
        for line, precision in zip(lines, precisions, strict=True):
            speed = rf"  {NUMBER} +\d+\.\d\d times nn.Transformer in float32{share}"
            assert re.fullmatch(rf" +(ours|nn.Transformer|textbook) +{precision} +{speed}", line)
    assert "1.00 times" in full.splitlines()[1]  # nn.Transformer beside itself


def test_sentences_of_one_length_are_measured_beside_mixed_ones(device, capsys):
    pairs = [(" ".join("ab" * n), " ".join("cd" * n)) for n in (1, 2, 3)] * 60
    bench.bench_batches(device, pairs, "A text", steps=1)
    title, fill, *lines = capsys.readouterr().out.strip().splitlines()
    assert title == "A text: 180 pairs, batches of at most 64 tokens"
    assert re.fullmatch(r"  by length, \d+% of a batch are words; mixed, \d+%", fill)
    assert len(lines) == 4 and "1.00 times nn.Transformer, mixed" in lines[2]


def test_decoding_is_measured_with_and_without_a_cache(device, capsys):
    bench.bench_decoding(device, rounds=1)
    shown = capsys.readouterr().out
    assert "Decoding: 2 sentences, 3 words each" in shown
    assert re.search(
        rf"with a cache {NUMBER} words a second, without {NUMBER}: [\d.]+ times", shown
    )


@pytest.mark.gpu
@NO_GPU
def test_memory_is_measured_on_a_gpu(capsys):
    bench.bench_memory(torch.device("cuda"))
    assert capsys.readouterr().out.count("MiB") == 2 * len(ways.MAKERS)


def test_two_processes_are_measured_beside_one_and_beside_what_the_machine_allows(
    monkeypatch, capsys
):
    found = iter([[100], [180], [95, 95], [50], [85], [45, 50], [10], [21], [10, 10]])
    monkeypatch.setattr(bench, "speeds", lambda *_: next(found))
    monkeypatch.setattr(bench, "SHARED", ((64, 2),))
    bench.bench_processes(rounds=3)
    table = capsys.readouterr().out.splitlines()[-3:]
    assert table[0] == "  batches of 64 tokens in 2 parts, one process 10"
    assert table[1].endswith(" 1.80 times one (1.70 to 2.10)")
    assert table[2].endswith(" 1.90 times one (1.90 to 2.00)")


@pytest.mark.long
def test_a_training_tells_the_bench_its_speed_and_a_failure_its_words(monkeypatch):
    small = ["--steps", 60, "--tokens", 128, "--d-model", 16, "--d-ff", 32]
    (alone,) = bench.speeds(1, 1, small)
    (together,) = bench.speeds(2, 1, small)
    one, other = bench.speeds(1, 2, small)
    assert min(alone, together, one, other) > 0
    with pytest.raises(RuntimeError, match="steps"):
        bench.speeds(1, 1, ["--steps", -1])
