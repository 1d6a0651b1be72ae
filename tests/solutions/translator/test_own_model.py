"""A learner's own model: a package or one file, imported anew each time, and kept with the run."""

import re

import pytest
import torch

from solutions.translator.own_model import (
    OwnModelError,
    failures_told,
    keep_own_model,
    kept_own_model,
    own_module,
)
from solutions.translator.runs import FinishedRun, RunError, new_model, prepare
from solutions.translator.settings import Settings, Shape

SHAPE = Shape(d_model=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, d_ff=16)
PAIRS = [("one cat", "uno gatto"), ("two", "due"), ("cat", "gatto")] * 4
INIT = "from .ch08_encoder_decoder import Transformer\n"
CHAPTER = "from solutions import ch08_encoder_decoder\n"
OWN = "class Transformer(ch08_encoder_decoder.Transformer):\n    whose = '{}'\n"


def package(folder, whose):
    """Write a package as an export does, with a Transformer of somebody's."""
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "ch08_encoder_decoder.py").write_text(CHAPTER + OWN.format(whose))
    return folder


def trained(folder, path):
    torch.manual_seed(0)
    prepare(folder, PAIRS, PAIRS, SHAPE, Settings(steps=2, warmup=1), model_path=path).run()
    return FinishedRun(folder)


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_package_trains_and_its_run_keeps_a_copy(tmp_path, ending):
    source = package(tmp_path / "my_transformer", "mine")
    run = trained(tmp_path / "run", f"{source}{ending}")
    assert run.model.whose == "mine"
    assert len(run.translate(["one cat"])) == 1
    (source / "ch08_encoder_decoder.py").write_text("changed since")
    assert FinishedRun(tmp_path / "run").model.whose == "mine"


def test_two_packages_do_not_share_their_chapters(tmp_path):
    paths = [package(tmp_path / whose, whose) for whose in ("one", "another")]
    assert [new_model(SHAPE, 9, 9, path).whose for path in paths] == ["one", "another"]


def kept_in(run):
    """Return the names in a run's folder; Python may have kept there what it compiled."""
    return [each.name for each in run.iterdir() if each.name != "__pycache__"]


def test_the_copy_is_of_the_last_model_alone(tmp_path):
    run, file = tmp_path / "run", tmp_path / "mine.py"
    run.mkdir()
    file.write_text(CHAPTER + OWN.format("of one file"))
    keep_own_model(package(tmp_path / "mine", "a package"), run)
    keep_own_model(file, run)
    assert kept_in(run) == ["model.py"]
    assert own_module(kept_own_model(run)).Transformer.whose == "of one file"
    keep_own_model(tmp_path / "mine", run)
    keep_own_model(kept_own_model(run), run)  # a run's own copy, trained once more
    assert kept_in(run) == ["model"]
    assert new_model(SHAPE, 9, 9, kept_own_model(run)).whose == "a package"


def test_what_is_no_model_is_told(tmp_path):
    (tmp_path / "folder").mkdir()
    for nothing in ("nothing", "nothing.py", "folder"):
        with pytest.raises(ValueError, match=f"no Python package or file .*{nothing}; `python"):
            new_model(SHAPE, 9, 9, tmp_path / nothing)
    (tmp_path / "empty.py").touch()
    with pytest.raises(RunError, match="has no class Transformer"):
        new_model(SHAPE, 9, 9, tmp_path / "empty.py")


FAILING = """
    def {}(self, *arguments, **named):
        {}
"""
IN_OWN_CODE = {  # where, and what it does there
    "__init__": "raise AttributeError('no such thing')",
    "forward": "return arguments[0].no_such_thing",
    "encode": "return 1 / 0",
    "decode": "raise RuntimeError('shapes do not fit')",
}


@pytest.mark.parametrize("method", IN_OWN_CODE)
def test_what_fails_inside_is_told_as_that(tmp_path, method):
    source = package(tmp_path / "my_transformer", "mine")
    chapter = source / "ch08_encoder_decoder.py"
    chapter.write_text(chapter.read_text() + FAILING.format(method, IN_OWN_CODE[method]))
    with pytest.raises(OwnModelError) as told:
        new_model(SHAPE, 9, 9, source)
    said = str(told.value)
    assert f"your own model fails, in {method}, " in said
    assert f"ch08_encoder_decoder.py line 6: `{IN_OWN_CODE[method]}`" in said
    assert type(told.value.__cause__).__name__ in said  # and the rest of its traceback


AT_LENGTH_4 = "if arguments[0].shape[1] > 3:\n            raise IndexError('too long')\n        "


def test_what_fails_only_in_training_or_in_translating_is_told_too(tmp_path):
    source = package(tmp_path / "my_transformer", "mine")
    chapter = source / "ch08_encoder_decoder.py"
    right = chapter.read_text()
    chapter.write_text(
        right + FAILING.format("encode", AT_LENGTH_4 + "return super().encode(*arguments)")
    )
    run = trained(tmp_path / "run", source)
    with pytest.raises(OwnModelError, match=r"in encode, .* line 7: .*IndexError: too long"):
        run.translate(["one two cat one"])
    long = [("one two cat one", "uno")] * 4
    training = prepare(tmp_path / "other", long, long, SHAPE, Settings(steps=2), model_path=source)
    with pytest.raises(OwnModelError, match=r"in encode, .* line 7: .*IndexError: too long"):
        training.run()


@pytest.mark.parametrize(
    "method, returns, said",
    [
        ("forward", "return super().forward(*arguments)[0]", "has the shape (2, 9), not (2, 2, 9)"),
        ("forward", "return super().forward(*arguments), None", "is a tuple, not a tensor"),
        ("decode", "return super().decode(*arguments), None", "on two short sentences: TypeError"),
        (
            "encode",
            "return super().encode(*arguments)[..., :3]",
            "on two short sentences: RuntimeError",
        ),
    ],
)
def test_what_returns_no_logits_is_told_before_it_trains(tmp_path, method, returns, said):
    file = tmp_path / "mine.py"
    file.write_text(CHAPTER + OWN.format("mine") + FAILING.format(method, returns))
    with pytest.raises(OwnModelError, match=re.escape(said)):
        new_model(SHAPE, 9, 9, file)


def test_what_cannot_write_or_be_imported_is_told(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(CHAPTER + OWN.format("mine") + "    encode = None\n")
    with pytest.raises(OwnModelError, match="has no encode"):
        new_model(SHAPE, 9, 9, file)
    file.write_text("def Transformer(:\n")
    with pytest.raises(OwnModelError, match=r"mine.py cannot be imported: .*line 1"):
        new_model(SHAPE, 9, 9, file)
    file.write_text("Transformer = no_such_name\n")
    with pytest.raises(OwnModelError, match=r"mine.py line 1: .*NameError"):
        new_model(SHAPE, 9, 9, file)


def test_a_fault_of_ours_is_not_said_to_be_theirs():
    with pytest.raises(ZeroDivisionError), failures_told():
        raise ZeroDivisionError


def test_names_that_mean_something_else_in_one_s_own_model_do_no_harm(tmp_path):
    """`loss` and `advance` are methods of the course's fast model, and of no contract."""
    file = tmp_path / "mine.py"
    file.write_text(CHAPTER + OWN.format("mine") + "    loss = advance = start = None\n")
    assert len(trained(tmp_path / "run", file).translate(["one cat"], 2)) == 1
