"""The command lines beside `train`: what is given arrives, and what is wrong has a sentence."""

import json
from pathlib import Path

import pytest
import torch

from solutions.translator import export_onnx
from solutions.translator.measure import bench
from tests.solutions.translator.test_settings import flat

PROGRAMS = {"export_onnx": export_onnx, "bench": bench}


@pytest.fixture
def done(monkeypatch):
    """What the programs would do, by the names of the functions."""
    seen = {}

    def noted(name, result=None):
        return lambda *given: seen.setdefault(name, given) and result

    monkeypatch.setattr(export_onnx, "FinishedRun", lambda *given: given)
    monkeypatch.setattr(export_onnx, "export", noted("export"))
    monkeypatch.setattr(export_onnx, "example", noted("example", {"written": ["è"]}))
    for name in ("training", "batches", "decoding", "memory", "processes"):
        name = f"bench_{name}"
        monkeypatch.setattr(bench, name, noted(name))
    monkeypatch.setattr(bench, "read_pairs", lambda *files: [(str(each),) * 2 for each in files])
    monkeypatch.setattr(bench.corpus, "splits", lambda: {"train": [("one", "uno")]})
    return seen


def test_a_run_is_exported_from_one_folder_into_another(done, capsys):
    run = (Path("some/run"), "cpu")
    given = ["--from", "some/run", "--into", "there", "--example", "a cat"]
    assert export_onnx.main(given) == 0
    assert done == {"export": (run, Path("there")), "example": (run, "a cat")}
    assert json.loads(capsys.readouterr().out) == {"written": ["è"]}


def test_a_run_that_cannot_be_exported_is_told(tmp_path, capsys):
    assert export_onnx.main(["--from", str(tmp_path), "--into", str(tmp_path / "there")]) == 2
    assert capsys.readouterr().err.startswith("translator: there is no checkpoint")


def test_the_bench_takes_the_course_s_corpus_or_real_text(done, capsys):
    threads = torch.get_num_threads()
    bench.main([])
    assert done["bench_training"][1] == bench.ROUNDS and torch.get_num_threads() == threads
    assert done["bench_batches"][1:] == ([("one", "uno")], "The course's corpus")
    done.clear()
    try:
        bench.main(["--threads", "1", "--rounds", "2", "--source", "a.en", "--target", "a.it"])
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
    assert done["bench_training"][1] == 2
    assert done["bench_batches"][1:] == ([("a.en", "a.en"), ("a.it", "a.it")], Path("a.en"))


WRONG = {  # what is written, and what is said of it
    "export_onnx --into there": "--from",
    "export_onnx --from run": "nothing is asked for; give --into, --example, or both",
    "bench --rounds 0": "--rounds: '0' is not a whole number of at least 1",
    "bench --threads all": "--threads: 'all' is not a whole number of at least 1",
    "bench --target a.it": "--target is for --source, which is not given",
    "bench --round 3": "--round",
}


@pytest.mark.parametrize("written", WRONG)
def test_what_is_wrong_has_a_sentence(written, done, capsys):
    program, *arguments = written.split()
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[program].main(arguments)
    seen = capsys.readouterr()
    assert ended.value.code == 2 and seen.out == "" and not done
    assert WRONG[written] in flat(seen.err)


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_says_what_each_option_does(program, capsys):
    with pytest.raises(SystemExit) as ended:
        PROGRAMS[program].main(["--help"])
    shown = flat(capsys.readouterr().out)
    assert ended.value.code == 0
    assert (
        f"python -m solutions.translator.{'measure.' * (program != 'export_onnx')}{program}"
        in shown
    )
    for line in {
        "export_onnx": ["--from FOLDER folder of a finished run", "--into", "--example"],
        "bench": ["--rounds N of steps, of which the middle one counts", "(default: 7)"],
    }[program]:
        assert line in shown
