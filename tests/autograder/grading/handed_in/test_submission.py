"""The notebook that is graded has the release's structure, whatever was handed in, and all of the
learner's code.
"""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.release import course_cell
from autograder.course import ROOT, notebook_of
from autograder.grading.handed_in.intake import find_submissions
from autograder.grading.handed_in.submission import MISSING, read_submission, rebuild
from tests.conftest import hand_in, solved_notebook

STEM = "ch04_attention"
LONG_CELL = b'{"cell_type": "code", "source": "' + b"x" * 199_000 + b'"}'
READ_AND_MEASURE = """
import re, sys
from autograder.grading.handed_in.submission import read_submission

def highest():
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]) // 1024

before = highest()
read_submission(sys.argv[1])
print(highest() - before)
"""


def rebuilt(tmp_path, notebook, **options):
    return rebuild(STEM, read_submission(hand_in(tmp_path, "someone", STEM, notebook, **options)))


def source_of_cell(notebook, grade_id):
    return next(
        cell.source
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def structure(notebook):
    return [
        (c.cell_type, c.metadata.get("nbgrader"))
        for c in notebook.cells
        if not c.id.startswith("extra-")
    ]


def test_structure_is_the_releases_and_sources_are_the_learners(tmp_path):
    handed_in = solved_notebook(STEM)
    for cell in handed_in.cells:
        cell.metadata["tags"] = ["skip-execution"]
        if "points" in cell.metadata.get("nbgrader", {}):
            cell.metadata.nbgrader.points = 1000
            cell.source = "1000"
    graded = rebuilt(tmp_path, handed_in)
    assert structure(graded) == structure(nbformat.read(notebook_of(STEM), as_version=4))
    assert not [cell for cell in graded.cells if "tags" in cell.metadata]
    assert "exponentials" in source_of_cell(graded, "softmax")
    assert source_of_cell(graded, "check_softmax") == 'check("softmax")'


def test_added_cells_stay_between_the_cells_where_they_stood(tmp_path):
    handed_in = solved_notebook(STEM, extra_cells=["helper = 1"])
    handed_in.cells.insert(0, nbformat.v4.new_code_cell("first = 0"))
    handed_in.cells.append(nbformat.v4.new_code_cell("last = 9"))
    sources = [
        cell.source for cell in rebuilt(tmp_path, handed_in).cells if cell.cell_type == "code"
    ]
    assert sources[0] == "first = 0"
    assert "find_spec" in sources[1]
    assert sources[2].startswith("import math")
    assert sources[3] == "helper = 1"
    assert sources[4].startswith("def softmax")
    assert sources[-1] == "last = 9"


def test_an_edited_setup_cell_runs_beside_the_released_one(tmp_path):
    handed_in = solved_notebook(STEM)
    handed_in.cells[2].source += "\nimport statistics"
    sources = [
        cell.source for cell in rebuilt(tmp_path, handed_in).cells if cell.cell_type == "code"
    ]
    assert sum(source.startswith("import math") for source in sources) == 2


def test_a_notebook_released_before_the_cell_for_the_course_is_graded_like_one_of_today(tmp_path):
    today, earlier = (
        solved_notebook(STEM, extra_cells=["helper = 1"]),
        solved_notebook(STEM, extra_cells=["helper = 1"]),
    )
    earlier.cells = [cell for cell in earlier.cells if cell.id != "course"]
    assert len(earlier.cells) == len(today.cells) - 1
    graded = [
        rebuilt(tmp_path / name, notebook).cells
        for name, notebook in (("a", today), ("b", earlier))
    ]
    assert [cell.source for cell in graded[0]] == [cell.source for cell in graded[1]]


def test_another_releases_cell_for_the_course_does_no_harm(tmp_path):
    handed_in = solved_notebook(STEM)
    published = course_cell("import numpy as np", ("https://github.com/someone/attention", "main"))
    handed_in.cells[1].source = published.source
    graded = rebuilt(tmp_path, handed_in)
    assert structure(graded) == structure(nbformat.read(notebook_of(STEM), as_version=4))
    assert [cell.source for cell in graded.cells if cell.id.startswith("extra-")] == [
        published.source
    ]
    # IPython's own `get_ipython` is not asked for: nothing is missing here.
    exec(published.source, {})


def test_of_two_cells_with_one_id_the_last_counts_and_both_run(tmp_path):
    handed_in = solved_notebook(STEM)
    index = next(i for i, c in enumerate(handed_in.cells) if c.id == "softmax")
    copy = nbformat.from_dict(
        dict(
            handed_in.cells[index],
            id="copy",
            source="def softmax(scores, axis=-1): return 'second'",
        )
    )
    handed_in.cells.insert(index + 1, copy)
    graded = rebuilt(tmp_path, handed_in)
    assert "second" in source_of_cell(graded, "softmax")
    assert any(
        "exponentials" in cell.source for cell in graded.cells if cell.id.startswith("extra-")
    )


def test_a_deleted_solution_cell_does_not_bring_the_stub_back(tmp_path):
    handed_in = solved_notebook(STEM)
    for cell in handed_in.cells:
        if cell.id == "softmax":
            cell.metadata = nbformat.from_dict({})
    graded = rebuilt(tmp_path, handed_in)
    assert source_of_cell(graded, "softmax") == MISSING
    assert any(
        "exponentials" in cell.source for cell in graded.cells if cell.id.startswith("extra-")
    )


def test_a_solution_turned_into_text_is_code_again(tmp_path):
    handed_in = json.loads(nbformat.writes(solved_notebook(STEM)))
    for cell in handed_in["cells"]:
        if cell["id"] == "softmax":
            cell["cell_type"] = "markdown"
    assert "exponentials" in source_of_cell(rebuilt(tmp_path, json.dumps(handed_in)), "softmax")


def test_a_lone_notebook_under_another_name_is_read_and_noted(tmp_path):
    path = hand_in(
        tmp_path, "someone", STEM, solved_notebook(STEM), name="ch04_attention (1).ipynb"
    )
    submission = read_submission(path.parent / f"{STEM}.ipynb")
    assert submission.problem is None
    assert submission.notes == ("handed in as ch04_attention (1).ipynb",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("{", "breaks off or is damaged in line 1"),
        ("[1, 2]", "no list of cells"),
        ('{"worksheets": []}', "no list of cells"),
        ('{"cells": {}}', "no list of cells"),
        ('{"cells":[' + "[" * 100_000, "nested too deeply"),
        ('{\n "cells": [],\n "nbformat" 4}', "is damaged in line 3, column 13"),
        ('{"cells": [{"source": "\\x"}]}', "is damaged"),
    ],
    ids=range(8),  # contents of megabytes are no names for tests
)
def test_what_is_not_a_notebook_becomes_a_blank_one_with_the_reason(tmp_path, content, reason):
    graded = rebuilt(tmp_path, content)
    assert reason in graded.metadata.autograder.problem
    assert structure(graded) == structure(nbformat.read(notebook_of(STEM), as_version=4))


def test_numbers_that_only_python_writes_are_read_and_code_that_names_them_stays(tmp_path):
    notebook = solved_notebook(STEM)
    cell = next(
        each for each in notebook.cells if each.metadata.get("nbgrader", {}).get("solution")
    )
    cell.source += '\n# "NaN, -Infinity": NaN\n'
    cell.outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {"application/json": [1]}}
    ]
    text = json.dumps(notebook).replace(
        '{"application/json": [1]}', '{"application/json": [NaN,-Infinity, Infinity,\nNaN]}'
    )
    assert "[NaN,-Inf" in text
    graded = rebuilt(tmp_path, text)
    assert graded.metadata.autograder.problem is None
    assert source_of_cell(graded, cell.metadata.nbgrader.grade_id) == cell.source


@pytest.mark.parametrize("damaged", ["1NaN", "NaN1", "nan", "-NaN", "Infinitys", "NaN NaN"])
def test_what_python_does_not_read_either_is_damaged(tmp_path, damaged):
    graded = rebuilt(tmp_path, f'{{"cells": [{damaged}]}}')
    assert "is damaged in line 1" in graded.metadata.autograder.problem


@pytest.mark.parametrize(
    ("beginning", "repeated", "times", "end"),
    [
        (b'{"cells":[', b"1.5,", 45_000_000, b"1]}"),
        (b'{"cells":[', b'{"a":1},', 20_000_000, b"{}]}"),
        (b'{"cells":[{"cell_type":"code","source":[', b'"ab",', 35_000_000, b'"x"]}]}'),
        (b'{"cells":[{"outputs":["\xf0\x9f\x98\x80', b"a", 180_000_000, b'"]}]}'),
        (b'{"cells":[', LONG_CELL + b",", 900, LONG_CELL + b"]}"),
        (b'{"cells":[', b'{"grade_id":"xy"},', 10_000_000, b"{}]}"),
        (b'{"cells":[', b"NaN,", 4_900_000, b"1]}"),
        (b'{"cells":[NaN,"', b'\\"', 20_000_000, b'"]}'),
    ],
    ids=["numbers", "cells", "lines", "letters", "code", "ids", "nan", "quotes"],
)
def test_the_largest_notebook_takes_little_more_memory_than_its_file(
    tmp_path, beginning, repeated, times, end
):
    path = tmp_path / "x.ipynb"
    path.write_bytes(beginning + repeated * times + end)
    said = subprocess.run(
        [sys.executable, "-c", READ_AND_MEASURE, path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(said.stdout) < path.stat().st_size / 2**20 + 100


def test_what_lies_in_a_folder_that_may_not_be_entered_becomes_a_blank_one(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr("os.open", refuse)
    assert "could not be opened" in read_submission(tmp_path / f"{STEM}.ipynb").problem


@pytest.mark.parametrize("kind", ["folder", "link", "fifo", "nothing", "bytes"])
def test_what_is_not_a_readable_file_becomes_a_blank_one(tmp_path, kind):
    import os

    path = tmp_path / f"{STEM}.ipynb"
    match kind:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to("/etc/passwd")
        case "fifo":
            os.mkfifo(path)
        case "bytes":
            path.write_bytes(b"\xff\xfe\x00garbage")
    assert read_submission(path).problem


@pytest.mark.parametrize(
    "cell",
    [
        None,
        3,
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": 7},
        {"metadata": []},
        {"source": [1, None]},
    ],
)
def test_malformed_cells_are_passed_over(tmp_path, cell):
    handed_in = json.loads(nbformat.writes(solved_notebook(STEM)))
    handed_in["cells"].insert(3, cell)
    assert "exponentials" in source_of_cell(rebuilt(tmp_path, json.dumps(handed_in)), "softmax")


def test_half_a_surrogate_pair_in_a_source_is_no_reason_to_stop(tmp_path):
    handed_in = json.loads(nbformat.writes(solved_notebook(STEM)))
    handed_in["cells"].insert(3, {"cell_type": "code", "source": "x = '\ud800'", "metadata": {}})
    nbformat.writes(rebuilt(tmp_path, json.dumps(handed_in))).encode("utf-8")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_what_windows_calls_unicode_is_read(tmp_path, encoding):
    text = nbformat.writes(solved_notebook(STEM, {"softmax": "# più\nsoftmax = 1"}))
    path = hand_in(tmp_path, "ada", STEM, "")
    path.write_bytes(text.encode(encoding))
    submission = read_submission(path)
    assert submission.problem is None
    assert ("softmax", "# più\nsoftmax = 1") in submission.cells
    [flat] = find_submissions(flat_copy(tmp_path, path))
    assert flat.stem == STEM and flat.read().problem is None


def flat_copy(folder, path):
    (folder / "flat").mkdir()
    (folder / "flat" / "ada.ipynb").write_bytes(path.read_bytes())
    return folder / "flat"


def test_a_damaged_notebook_in_another_encoding_is_told_which_one_it_is(tmp_path, monkeypatch):
    path = hand_in(tmp_path, "ada", STEM, "")
    whole = nbformat.writes(solved_notebook(STEM)).encode("utf-16")
    path.write_bytes(whole[:5001])
    told = f"{STEM}.ipynb is not a notebook: it is in UTF-16 and not in UTF-8"
    assert read_submission(path).problem.startswith(f"{told}, and damaged; take a fresh copy")
    monkeypatch.setattr("autograder.grading.handed_in.files.LARGEST_TO_CONVERT", 1000)
    path.write_bytes(whole)
    assert read_submission(path).problem.startswith(f"{told}, as which an editor saves it; take")
