"""How long a training is, how its learning rate goes, and what it says at its end; a setting that
is none is told, in Python and on the command line.
"""

import json
import math
import re
import shlex
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import torch

from autograder.course import ROOT
from solutions.translator import corpus
from solutions.translator.__main__ import main
from solutions.translator.data.tokenizer import Tokenizer
from solutions.translator.measure import splits
from solutions.translator.runs import prepare, shape_of
from solutions.translator.settings import PRESETS, Settings, SettingsError, Shape
from solutions.translator.settings.command_line import FOLDER, Evaluate, Train, Translate, read
from solutions.translator.training import TrainingError


def settings_of(*arguments):
    """Return the settings that `train` with some options comes to."""
    return read(["train", *arguments]).settings


def flat(shown):
    """Return in one line what tyro shows in boxes."""
    return " ".join(re.sub("[╭─╮│╰╯]|-{3,}", " ", shown).split())


def complaint(capsys, *arguments):
    """Return in one line what the command line says where it cannot be read."""
    with pytest.raises(SystemExit) as ended:
        read(list(arguments))
    assert ended.value.code == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    return flat(seen.err)


def test_no_clock_decides_what_the_course_s_corpus_comes_to():
    settings = settings_of()
    assert settings.steps == PRESETS["small"]["steps"] and settings.minutes is None
    assert settings.progress(settings.steps // 2, seconds=1e6) == 0.5
    assert read(["train"]).threads == PRESETS["small"]["threads"] == 1


def test_a_limit_is_for_those_who_ask_for_one():
    limited = settings_of("--minutes", "2")
    assert (limited.steps, limited.minutes) == (PRESETS["small"]["steps"], 2.0)
    assert limited.progress(10, seconds=120) == limited.progress(limited.steps, seconds=1) == 1.0


def test_real_text_takes_the_time_or_the_steps_that_it_is_given():
    assert settings_of("--source", "a.en").minutes == PRESETS["captions"]["minutes"]
    assert settings_of("--source", "a.en", "--minutes", "10").steps is None
    by_steps = settings_of("--source", "a.en", "--steps", "70")
    assert (by_steps.steps, by_steps.minutes) == (70, None)
    both = settings_of("--source=a.en", "--steps=70", "--minutes", "1")
    assert (both.steps, both.minutes) == (70, 1.0)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_what_its_options_are_where_none_are_given(name):
    for source in ([], ["--source", "a.en"]):
        options = read(["train", "--preset", name, *source])
        came_to = asdict(options.shape) | asdict(options.settings) | vars(options)
        assert {key: came_to[key] for key in PRESETS[name]} == PRESETS[name]
        rest = {key: value for key, value in asdict(Settings()).items() if key not in PRESETS[name]}
        assert {key: came_to[key] for key in rest} == rest


def test_each_setting_can_be_given_and_arrives():
    other = {
        Shape: dict(
            d_model=24,
            num_heads=3,
            num_encoder_layers=0,
            num_decoder_layers=5,
            d_ff=7,
            dropout=0.25,
            norm_first=False,
            tied=True,
        ),
        Settings: dict(
            tokens=77,
            accumulate=2,
            steps=9,
            minutes=0.5,
            learning_rate=1e-4,
            warmup=0,
            schedule="noam",
            smoothing=0.3,
            max_norm=math.inf,
            weight_decay=0.01,
            precision="bfloat16",
            bucketed=False,
            shapes=5,
            workers=1,
            compiled=True,
            recomputed=True,
            sharded=True,
            look_every=3,
            patience=4,
            average=6,
            seed=8,
        ),
    }
    for kind, values in other.items():
        # no two averages at once, and no recording of what is compiled: see the tests below
        assert values.keys() == {each.name for each in fields(kind)} - {"ema", "recorded"}
        assert all(getattr(kind(), name) != value for name, value in values.items())
    everything = {**other[Shape], **other[Settings]}
    written = []
    for name, value in everything.items():
        word = ("no", "yes")[value] if isinstance(value, bool) else value
        written += [f"--{name.replace('_', '-')}", str(word)]
    options = read(["train", *written])
    assert options.shape == Shape(**other[Shape])
    assert options.settings == Settings(**other[Settings])


def test_what_is_recorded_is_not_compiled_too(capsys):
    assert settings_of("--recorded").recorded and not settings_of().recorded
    said = complaint(capsys, "train", "--recorded", "--compiled")
    assert "recorded and compiled are both yes" in said


def test_weights_are_averaged_in_one_way_or_the_other(capsys):
    assert settings_of("--ema", "0.99").ema == 0.99 != Settings().ema
    said = complaint(capsys, "train", "--ema", "0.99", "--average", "5")
    assert "ema is 0.99 and average is 5, and both average weights; give one of them" in said


def test_an_average_is_of_whole_weights(capsys):
    said = complaint(capsys, "train", "--ema", "0.99", "--sharded")
    assert "ema is 0.99 and sharded is yes, but the average is of whole weights" in said


def test_workers_are_a_number_or_auto():
    assert [settings_of("--workers", word).workers for word in ("0", "3", "auto")] == [0, 3, "auto"]


@pytest.mark.parametrize(
    "written, switched",
    [("--compiled", True), ("--compiled yes", True), ("--compiled=true", True)]
    + [(f"--compiled{sign}{no}", False) for sign in " =" for no in ("no", "false")]
    + [("", False), ("--compiled --steps 5", True)],
)
def test_a_switch_is_on_or_off(written, switched):
    assert settings_of(*written.split()).compiled is switched


def test_what_two_embeddings_share_is_one_of_three():
    read_as = {word: read(["train", "--tied", word]).shape.tied for word in ("no", "yes", "all")}
    assert read_as == {"no": False, "yes": True, "all": "all"}


WRONG = {  # what is written, and what is said of it
    "--precision bf16": "--precision: 'bf16' is not one of auto, float32, tf32, bfloat16, float16",
    "--schedule linear": "--schedule: 'linear' is not one of cosine, noam, constant",
    "--preset big": "--preset: 'big' is not one of small, captions",
    "--tied both": "--tied: 'both' is not one of no, yes, all",
    "--compiled maybe": "--compiled: 'maybe' is not yes or no",
    "--norm-first 1": "--norm-first: '1' is not yes or no",
    "--steps 0": "--steps: '0' is not a whole number of at least 1",
    "--steps 1e3": "--steps: '1e3' is not a whole number of at least 1",
    "--steps none": "--steps: 'none' is not a whole number of at least 1",
    "--workers many": "--workers: 'many' is not a whole number of at least 0 or auto",
    "--shapes 0": "--shapes: '0' is not a whole number of at least 1",
    "--ema 1": "--ema: '1' is not a number of at least 0 and below 1",
    "--seed -1": "--seed: '-1' is not a whole number of at least 0",
    "--minutes 0": "--minutes: '0' is not a number above 0",
    "--learning-rate nan": "--learning-rate: 'nan' is not a number above 0",
    "--learning-rate inf": "--learning-rate: 'inf' is not a number above 0",
    "--smoothing 1": "--smoothing: '1' is not a number of at least 0 and below 1",
    "--dropout -0.1": "--dropout: '-0.1' is not a number of at least 0 and below",
    "--dropout 0,1": "--dropout: '0,1' is not a number of at least 0 and below",
    "--threads 0": "--threads: '0' is not a whole number of at least 1",
    "--d-model 100 --num-heads 3": "d_model is 100, which 3 heads cannot share equally",
    "--d-model 9 --num-heads 3": "d_model is 9, which is odd",
    "--target b.it": "--target is for --source, which is not given",
    "--max-words 30": "--max-words is for --source, which is not given",
    "--validation-source b": "--validation-source is for --source, which is not given",
    "--source a --validation-target b": "--validation-target is for --validation-source, which",
    "--steps": "Missing value for argument '--steps'",
    "--stepz 5": "Unrecognized options: --stepz, 5 Perhaps you meant: --steps",
    "--step 5": "Unrecognized options: --step, 5",  # no abbreviations
    "--no-compiled": "Unrecognized options: --no-compiled Perhaps you meant: --compiled [{yes,no}]",
    "cosine": "Unrecognized options: cosine",
}


@pytest.mark.parametrize("written", WRONG)
def test_what_train_cannot_be_told_is_told(capsys, written):
    said = complaint(capsys, "train", *written.split())
    assert WRONG[written] in said
    assert "__" not in said  # nothing of how it is made


@pytest.mark.parametrize(
    "written, said",
    [
        ("", "Expected one of {train, translate, evaluate}"),
        ("learn", "Unrecognized options: learn"),
        ("translate x --beam 0", "--beam: '0' is not a whole number of at least 1"),
        ("evaluate --beam 5", "--beam is for --source, which is not given"),
        ("evaluate --target b", "--target is for --source, which is not given"),
        ("evaluate --record a.json", "--record is for --source, which is not given"),
        ("evaluate --source a --samples", "--samples is for --record, which is not given"),
        ("evaluate --source a --name b", "--name is for --record, which is not given"),
        ("evaluate --source a --record b --beam 5", "leave out --beam"),
        ("evaluate --steps 5", "Unrecognized options: --steps, 5"),
    ],
)
def test_what_no_command_can_be_told_is_told(capsys, written, said):
    assert said in complaint(capsys, *written.split())


@pytest.mark.parametrize(
    "wrong, said",
    [
        (
            {"precision": "bf16"},
            "precision is 'bf16', which is not one of auto, float32, tf32, bfloat16, float16",
        ),
        ({"compiled": "no"}, "compiled is 'no', which is not yes or no"),
        ({"bucketed": 1}, "bucketed is 1, which is not yes or no"),
        ({"steps": 2.0}, "steps is 2.0, which is not a whole number"),
        ({"steps": True}, "steps is True, which is not a whole number"),
        ({"warmup": None}, "warmup is None, which is not a whole number"),
        ({"learning_rate": "1e-3"}, "learning_rate is '1e-3', which is not a number above 0"),
        ({"max_norm": math.nan}, "max_norm is nan, which is not a number above 0"),
    ],
)
def test_python_is_told_the_same(wrong, said):
    with pytest.raises(SettingsError, match=re.escape(said)):
        Settings(**wrong)


def test_the_shape_is_checked_too():
    for tied in (1, 0, "yes", "source", None):
        with pytest.raises(SettingsError, match=r"tied is .* not one of no, yes, all"):
            Shape(tied=tied)
    assert Settings(learning_rate=1, max_norm=math.inf).learning_rate == 1


def test_help_says_what_each_option_does(capsys):
    for command, kinds in {
        "train": (Train, Shape, Settings),
        "translate": (Translate,),
        "evaluate": (Evaluate,),
    }.items():
        with pytest.raises(SystemExit) as ended:
            read([command, "--help"])
        assert ended.value.code == 0
        said = capsys.readouterr().out
        for each in (each for kind in kinds for each in fields(kind)):
            if each.name in ("shape", "settings", "sentences"):
                continue
            name = "into" if each.name == "folder" else each.name.replace("_", "-")
            # after its name and what stands for its value comes what it does
            says = re.search(rf" --{name} \S+ (.*?) ?\(default: ", flat(said))
            assert says and len(says[1]) > 7 and not says[1].startswith("-"), each.name
    assert "d_model" not in said and "Args" not in said


def test_help_shows_the_values_of_the_preset(capsys):
    for options, steps, width in (([], 1500, 128), (["--source", "a"], "none", 192)):
        with pytest.raises(SystemExit):
            read(["train", *options, "--help"])
        said = flat(capsys.readouterr().out)
        assert re.search(rf"--steps N [^(]*\(default: {steps}\)", said)
        assert re.search(rf"--d-model N [^(]*\(default: {width}\)", said)


def documented():
    """Return the command lines of the translator that pages and records show."""
    pages = [ROOT / "README.md", *sorted((ROOT / "book").glob("*.md"))]
    shown = "\n".join(page.read_text(encoding="utf-8") for page in pages).replace("\\\n", " ")
    shown += json.dumps(
        [each.get("command") for each in json.loads((ROOT / "book/measured/runs.json").read_text())]
    ).replace('", "', '"\n"')
    found = re.findall(r"solutions\.translator ((?:train|translate|evaluate)\b[^\n#`]*)", shown)
    return [line.rstrip('"] ').replace("...", "") for line in found]


def test_every_command_that_is_shown_can_be_read():
    lines = documented()
    assert len(lines) >= 10
    for line in lines:
        line = f'{line}"' if line.count('"') % 2 else line
        assert isinstance(read(shlex.split(line)), Train | Translate | Evaluate), line


def test_the_folder_of_a_run_has_two_names():
    assert read(["train"]).folder == FOLDER == ROOT / "work" / "translator"
    assert read(["train", "--into", "a"]).folder == Path("a")
    for name in ("--from", "--into"):
        asked = read(["translate", name, "a", "--beam", "3", "one cat", "two"])
        assert asked == Translate(("one cat", "two"), Path("a"), 3)


def test_a_whole_run_by_its_commands(tmp_path, capsys):
    words = [("one", "uno"), ("two", "due"), ("cat", "gatto"), ("dog", "cane")]
    pairs = [(f"{a} {b}", f"{x} {y}") for a, x in words for b, y in words]
    for side, name in enumerate(("text.en", "text.it")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs * 3))
    text = ["--source", tmp_path / "text.en", "--target", tmp_path / "text.it"]
    validation = ["--validation-source", text[1], "--validation-target", text[3]]
    small = "--d-model 8 --num-heads 2 --d-ff 8 --num-encoder-layers 1 --num-decoder-layers 1"
    rest = "--vocab 270 --steps 4 --precision float32 --compiled no --threads 1"
    threads = torch.get_num_threads()
    try:
        trained = main(
            ["train", *text, *validation, "--into", tmp_path / "run", *f"{small} {rest}".split()]
        )
    finally:
        torch.set_num_threads(threads)
    assert trained == 0
    assert "4 of 4 steps" in capsys.readouterr().err
    made_by = json.loads((tmp_path / "run" / "made_by.json").read_text())["command"]
    again = read(shlex.split(made_by.partition("solutions.translator ")[2]))
    assert again.settings.steps == 4 and again.shape.d_model == 8
    assert main(["translate", "--from", tmp_path / "run", "one cat", "two"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["evaluate", "--from", tmp_path / "run", *text, "--beam", "2"]) == 0
    assert capsys.readouterr().out.startswith("BLEU ")
    record = ["--record", tmp_path / "runs.json", "--samples"]
    assert main(["evaluate", "--from", tmp_path / "run", *text, *record]) == 0
    (entry,) = json.loads((tmp_path / "runs.json").read_text())
    assert entry["text"] == str(text[1]) and len(entry["samples"]) == 6
    capsys.readouterr()
    assert main(["translate", "--from", tmp_path / "nothing", "one"]) == 2
    assert capsys.readouterr().err.startswith("translator: there is no checkpoint")


def test_the_program_ends_with_status_2_and_a_sentence():
    command = [sys.executable, "-m", "solutions.translator", "train", "--precision", "half"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'half' is not one of" in done.stderr and "Traceback" not in done.stderr


def test_runs_of_earlier_versions_still_load():
    kept = {"d_model": 8, "num_heads": 2, "norm_first": "no", "tied": "yes"}
    # a word other than "false" was True
    assert shape_of(kept) == Shape(d_model=8, num_heads=2, norm_first=True, tied=True)
    for tied in (False, True, "all"):
        assert shape_of({"tied": tied}) == Shape(tied=tied)


def test_a_training_has_an_end_and_a_precision(tmp_path):
    pairs = [("one cat", "uno gatto"), ("two", "due")] * 4
    shape = Shape(d_model=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, d_ff=8)
    with pytest.raises(TrainingError, match="neither steps nor minutes"):
        prepare(tmp_path, pairs, pairs, shape, Settings()).run()
    training = prepare(tmp_path, pairs, pairs, shape, Settings(steps=1, precision="auto"))
    assert training.settings.precision in ("float32", "bfloat16")
    assert Tokenizer.load(tmp_path / "source.json").vocab_size > 4


@pytest.mark.parametrize("schedule", ["cosine", "noam", "constant"])
def test_the_rate_rises_to_its_highest_and_then_falls_or_stays(schedule):
    settings = Settings(steps=1000, warmup=100, learning_rate=0.5, schedule=schedule)
    rates = [settings.rate(step, settings.progress(step - 1, 0)) for step in range(1, 1001)]
    highest = rates.index(max(rates)) + 1
    assert 90 <= highest <= 100 and 0.48 < max(rates) <= 0.5
    assert rates[:90] == sorted(rates[:90])
    last = {"cosine": 0.0, "noam": 0.5 * math.sqrt(100 / 1000), "constant": 0.5}[schedule]
    assert math.isclose(rates[-1], last, abs_tol=1e-4)


def test_the_report_has_what_was_reached_beside_what_to_expect(monkeypatch):
    pairs = [("a", "x"), ("b", "y"), ("c", "z"), ("d", "w")]
    monkeypatch.setattr(corpus, "splits", lambda: dict.fromkeys(splits.EXPECTED, pairs))

    class Run:
        def translate(self, sentences):
            return ["x", "y", "z", "?"]

    _, *lines = splits.report(Run()).splitlines()
    assert [line.split()[0] for line in lines] == list(splits.EXPECTED)
    assert all(" 75.0% of     4 " in line for line in lines)
    assert "97 % or more" in lines[0]
