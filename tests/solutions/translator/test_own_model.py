"""A learner's own model: a package or one file, imported anew each time, and kept with the run."""

import pytest
import torch

from solutions.translator.own_model import keep_own_model, kept_own_model, own_module
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


def test_the_copy_is_of_the_last_model_alone(tmp_path):
    run, file = tmp_path / "run", tmp_path / "mine.py"
    run.mkdir()
    file.write_text(CHAPTER + OWN.format("of one file"))
    keep_own_model(package(tmp_path / "mine", "a package"), run)
    keep_own_model(file, run)
    assert [each.name for each in run.iterdir()] == ["model.py"]
    assert own_module(kept_own_model(run)).Transformer.whose == "of one file"
    keep_own_model(tmp_path / "mine", run)
    keep_own_model(kept_own_model(run), run)  # a run's own copy, trained once more
    assert [each.name for each in run.iterdir()] == ["model"]
    assert new_model(SHAPE, 9, 9, kept_own_model(run)).whose == "a package"


def test_what_is_no_model_is_told(tmp_path):
    (tmp_path / "folder").mkdir()
    for nothing in ("nothing", "nothing.py", "folder"):
        with pytest.raises(ValueError, match=f"no Python package or file .*{nothing}; `python"):
            new_model(SHAPE, 9, 9, tmp_path / nothing)
    (tmp_path / "empty.py").touch()
    with pytest.raises(RunError, match="has no class Transformer"):
        new_model(SHAPE, 9, 9, tmp_path / "empty.py")
