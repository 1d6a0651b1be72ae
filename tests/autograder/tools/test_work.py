"""Own copies in `work/`: made once, renewed when the course is, graded on request; what a learner
wrote is never lost.
"""

import copy
import re
import subprocess
import sys
from datetime import date

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.utils import compute_checksum

from autograder.course import ROOT, WORK, notebook_of
from autograder.tools import work
from autograder.tools.sample_class import notebook_with

STEM = "ch04_attention"
RELEASE = nbformat.read(notebook_of(STEM), as_version=4)
MINE = '''def softmax(scores, axis=-1):
    """An older docstring."""
    return np.exp(scores)  # mine'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A `work/` with one chapter."""
    monkeypatch.setattr(work, "WORK", tmp_path / "work")
    monkeypatch.setattr(work, "ROOT", tmp_path)
    monkeypatch.setattr(work, "chapters", lambda: [STEM])
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def own(folder):
    return folder / f"{STEM}.ipynb"


def cell_of(notebook, grade_id):
    return next(
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def older_copy(answers=None):
    """Return a copy of an older release: another statement and stub of softmax, with answers."""
    notebook = notebook_with(STEM, {})
    cell_of(notebook, "about_softmax").source = "## 1. Softmax\n\nAn older statement."
    stub = cell_of(notebook, "softmax")
    stub.source = 'def softmax(scores, axis=-1):\n    """An older docstring."""\n    raise NotImplementedError'
    for cell in notebook.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.checksum = compute_checksum(cell)
    for exercise, source in (answers or {}).items():
        cell_of(notebook, exercise).source = source
    return notebook


def renamed(notebook, exercise, other):
    """Give the cells of an exercise another `grade_id`, as an older release had it."""
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if grade_id.removeprefix(grade_id[: -len(exercise)]) == exercise:
            cell.metadata.nbgrader.grade_id = cell.id = grade_id.replace(exercise, other)
            cell.source = cell.source.replace(f'"{exercise}"', f'"{other}"')
    return notebook


def put(folder, capsys, notebook=None):
    """Run the command; return what it printed, and the copy that is then in `work/`."""
    if notebook is not None:
        nbformat.write(notebook, own(folder))
    work.put_copies()
    return capsys.readouterr().out, nbformat.read(own(folder), as_version=4)


def kept(folder):
    others = [path for path in folder.iterdir() if path != own(folder)]
    return [path.name for path in sorted(others, key=lambda path: len(path.name))]


def test_a_copy_is_made_once_and_left_as_it_is(folder, capsys):
    assert "ipynb: new" in put(folder, capsys)[0]
    solved = notebook_with(STEM, {"softmax": MINE.replace("An older", "My")})
    cell_of(solved, "attention_scores").source += "  # later"
    solved.cells[2].source += "\nimport random"
    solved.cells.insert(0, new_markdown_cell("my notes"))
    before = nbformat.writes(solved)
    told, after = put(folder, capsys, solved)
    assert "yours, left as it is (rename it" in told
    assert nbformat.writes(after) == before
    assert kept(folder) == []


def test_an_older_copy_is_renewed_once_and_stays(folder, capsys):
    notebook = older_copy({"softmax": MINE})
    told, fresh = put(folder, capsys, notebook)
    assert "your copy was of an older release (changed since: softmax)" in told
    assert "your answers are in it: softmax" in told
    old = f"{STEM} (before {date.today()}).ipynb"
    assert kept(folder) == [old]
    assert f"your old copy is still there: work/{old}" in told
    assert nbformat.read(folder / old, as_version=4) == notebook
    assert cell_of(fresh, "about_softmax").source == cell_of(RELEASE, "about_softmax").source
    assert "# mine" in cell_of(fresh, "softmax").source
    assert '"""Turn scores into weights' in cell_of(fresh, "softmax").source
    assert cell_of(fresh, "attention_scores") == cell_of(RELEASE, "attention_scores")
    assert "left as it is" in put(folder, capsys)[0]
    assert kept(folder) == [old]


def test_a_second_release_on_the_same_day_keeps_both_old_copies(folder, capsys):
    put(folder, capsys, older_copy({"softmax": MINE}))
    put(folder, capsys, older_copy({"softmax": MINE + " again"}))
    assert kept(folder) == [
        f"{STEM} (before {date.today()}).ipynb",
        f"{STEM} (before {date.today()}, 2).ipynb",
    ]


def test_an_interrupted_renewal_is_done_again_and_keeps_one_old_copy(folder, capsys, monkeypatch):
    def interrupt(path, text):
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "write_whole", interrupt)
    with pytest.raises(KeyboardInterrupt):
        put(folder, capsys, older_copy({"softmax": MINE}))
    monkeypatch.undo()
    monkeypatch.setattr(work, "WORK", folder)
    monkeypatch.setattr(work, "ROOT", folder.parent)
    monkeypatch.setattr(work, "chapters", lambda: [STEM])
    _, fresh = put(folder, capsys)
    assert "# mine" in cell_of(fresh, "softmax").source
    assert len(kept(folder)) == 1


def test_a_file_system_without_links_keeps_old_copies_too(folder, capsys, monkeypatch):
    def refuse(*paths):
        raise OSError

    monkeypatch.setattr("os.link", refuse)
    put(folder, capsys, older_copy({"softmax": MINE}))
    assert "# mine" in (folder / kept(folder)[0]).read_text(encoding="utf-8")


def test_an_exercise_that_is_gone_leaves_its_answer_as_a_cell(folder, capsys):
    notebook = renamed(older_copy(), "softmax", "softmin")
    cell_of(notebook, "softmin").source = "def softmin(scores):\n    return -scores  # mine"
    told, fresh = put(folder, capsys, notebook)
    assert "softmin is no longer an exercise here; your code for it is a cell of your own" in told
    assert "an exercise that your copy did not have: softmax" in told
    [mine] = [cell for cell in fresh.cells if "# mine" in cell.source]
    assert "nbgrader" not in mine.metadata
    assert "deletable" not in mine.metadata
    assert not [cell for cell in fresh.cells if 'check("softmin")' in cell.source]
    assert cell_of(fresh, "softmax") == cell_of(RELEASE, "softmax")


def test_an_exercise_that_is_gone_and_was_not_begun_leaves_nothing(folder, capsys):
    notebook = renamed(older_copy(), "softmax", "softmin")
    stub = cell_of(notebook, "softmin")
    stub.source = "def softmin(scores):\n    raise NotImplementedError"
    stub.metadata.nbgrader.checksum = compute_checksum(stub)
    told, fresh = put(folder, capsys, notebook)
    assert "no longer" not in told
    assert nbformat.writes(fresh) == nbformat.writes(RELEASE)


def test_a_new_exercise_is_there_and_said(folder, capsys):
    notebook = older_copy({"softmax": MINE})
    notebook.cells = [cell for cell in notebook.cells if "softmax_backward" not in cell.id]
    told, fresh = put(folder, capsys, notebook)
    assert "an exercise that your copy did not have: softmax_backward" in told
    assert cell_of(fresh, "softmax_backward") == cell_of(RELEASE, "softmax_backward")
    assert "# mine" in cell_of(fresh, "softmax").source


def test_an_answer_whose_cell_had_another_id_is_known_by_its_function(folder, capsys):
    notebook = renamed(older_copy({"softmax": MINE}), "softmax", "exercise_1")
    notebook.cells.insert(7, new_code_cell("softmax(np.zeros(2))"))
    told, fresh = put(folder, capsys, notebook)
    assert "your answers are in it: softmax" in told
    assert "no longer" not in told
    assert "# mine" in cell_of(fresh, "softmax").source
    sources = [cell.source for cell in fresh.cells]
    assert sources[sources.index("softmax(np.zeros(2))") - 1].startswith('check("softmax", hidden')


def test_a_copy_whose_metadata_got_lost_is_known_by_texts_and_functions(folder, capsys):
    notebook = notebook_with(STEM, {"softmax": cell_of(RELEASE, "softmax").source + "  # mine"})
    for cell in notebook.cells:
        cell.metadata = {}
        cell.id = new_code_cell().id
    assert "left as it is (rename it" in put(folder, capsys, notebook)[0]
    notebook.cells[3].source = "An older statement."
    told, fresh = put(folder, capsys, notebook)
    assert "changed since: softmax)" in told
    assert "# mine" in cell_of(fresh, "softmax").source
    assert [cell.source for cell in fresh.cells].count('check("softmax")') == 1
    assert "left as it is (rename it" in put(folder, capsys)[0]


def test_cells_of_ones_own_follow_the_same_neighbours(folder, capsys):
    notebook = older_copy({"softmax": MINE})
    helper = new_code_cell("helper = 1")
    helper.outputs = [nbformat.v4.new_output("stream", text="what it printed")]
    ids = [cell.id for cell in notebook.cells]
    a_text = ids[ids.index("about_softmax_backward") - 1]
    notes = {
        "softmax": new_markdown_cell("after softmax"),
        "check_attention_scores": helper,
        a_text: new_code_cell('check("softmax")'),
        ids[-1]: new_markdown_cell("at the end"),
    }
    for grade_id, cell in notes.items():
        place = [each.id for each in notebook.cells].index(grade_id)
        notebook.cells.insert(place + 1, cell)
    notebook.cells.insert(0, new_markdown_cell("at the top"))
    told, fresh = put(folder, capsys, notebook)
    assert "your 5 own cells are in it, after the same neighbours" in told
    ids = [cell.id for cell in fresh.cells]
    assert fresh.cells[0].source == "at the top"
    assert {ids[ids.index(cell.id) - 1]: cell.id for cell in notes.values()} == {
        name: cell.id for name, cell in notes.items()
    }
    assert fresh.cells[ids.index(helper.id)].outputs == helper.outputs
    assert "left as it is" in put(folder, capsys)[0]


def test_of_two_cells_for_one_exercise_the_last_is_the_answer(folder, capsys):
    notebook = older_copy({"softmax": MINE})
    first = copy.deepcopy(cell_of(notebook, "softmax"))
    first.id = "split"
    first.source = "def first_try(scores):\n    return scores"
    notebook.cells.insert(4, first)
    _, fresh = put(folder, capsys, notebook)
    assert "# mine" in cell_of(fresh, "softmax").source
    [tried] = [cell for cell in fresh.cells if "first_try" in cell.source]
    assert "nbgrader" not in tried.metadata
    assert len({cell.id for cell in fresh.cells}) == len(fresh.cells)


def test_what_was_added_to_the_imports_is_in_a_cell_after_them(folder, capsys):
    notebook = older_copy({"softmax": MINE})
    setup = notebook.cells[2]
    setup.source = "import math\n\nimport numpy as np\nimport random\nnp.set_printoptions(2)"
    told, fresh = put(folder, capsys, notebook)
    assert "(changed since: the cells above the exercises and softmax)" in told
    assert fresh.cells[2].source == RELEASE.cells[2].source
    assert fresh.cells[3].source == "import random\nnp.set_printoptions(2)"
    assert "left as it is" in put(folder, capsys)[0]


def test_a_changed_signature_is_said_and_the_answer_kept(folder, capsys):
    mine = 'def softmax(x):\n    """An older docstring."""\n    return x  # mine'
    told, fresh = put(folder, capsys, older_copy({"softmax": mine}))
    assert (
        "softmax takes (scores, axis=-1) now; your answer still takes (x), as you wrote it" in told
    )
    assert "return x  # mine" in cell_of(fresh, "softmax").source


def test_an_answer_that_does_not_parse_is_carried_as_it_is(folder, capsys):
    _, fresh = put(folder, capsys, older_copy({"softmax": "def softmax(scores:\n    ..."}))
    assert cell_of(fresh, "softmax").source == "def softmax(scores:\n    ..."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("mine", "because it cannot be read: its JSON breaks off or is damaged in line 1"),
        ('{"cells": [{"cell_type"', "because it cannot be read: its JSON breaks off"),
        (nbformat.writes(nbformat.v4.new_notebook()), "because it is not a copy of the course's"),
        (notebook_of("ch01_embeddings").read_text(encoding="utf-8"), "because it is not a copy"),
    ],
)
def test_what_is_not_a_copy_is_left_alone_and_said(folder, capsys, content, words):
    own(folder).write_text(content, encoding="utf-8")
    work.put_copies()
    told = capsys.readouterr().out
    assert f"yours, left as it is, {words}" in told
    assert own(folder).read_text(encoding="utf-8") == content
    assert kept(folder) == []


@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_is_left_alone_and_said(folder, capsys, dangling):
    elsewhere = folder.parent / "elsewhere.ipynb"
    if not dangling:
        nbformat.write(older_copy(), elsewhere)
    own(folder).symlink_to(elsewhere)
    work.put_copies()
    assert "because it cannot be read: it is a link or a folder" in capsys.readouterr().out
    assert own(folder).is_symlink()


def test_the_renewed_copy_is_the_one_that_is_graded(folder, capsys):
    right = {
        "softmax": MINE.replace(
            "np.exp(scores)", "np.exp(scores - scores.max(axis, keepdims=True))"
        )
    }
    put(folder, capsys, older_copy(right))
    work.grade_work()
    printed = capsys.readouterr().out
    assert printed.count("running your notebook") == 1
    assert "attention_scores is still the stub" in printed
    assert "softmax is still the stub" not in printed.replace("attention_scores is still", "")


def test_grading_ones_own_work_prints_scores_and_hints(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(work, "WORK", tmp_path)
    (tmp_path / "ch04_attention.ipynb").write_bytes(
        (ROOT / "notebooks" / "ch04_attention" / "ch04_attention.ipynb").read_bytes()
    )
    work.grade_work(["ch04_attention"])
    printed = capsys.readouterr().out
    assert re.search(r"in all +0/\d+", printed)
    assert "softmax is still the stub" in printed


def test_grading_what_is_not_there_names_the_command(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "autograder", "grade-work", "ch77_none"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 2
    assert "there is no chapter 'ch77_none'; there are: ch01_embeddings" in ran.stderr
    if not WORK.exists():
        ran = subprocess.run(
            [sys.executable, "-m", "autograder", "grade-work"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 2
        assert "`make lab`" in ran.stderr
