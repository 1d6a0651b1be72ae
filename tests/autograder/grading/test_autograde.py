"""Plain `nbgrader autograde`, with this repository's configuration: every submission gets its own
score, and nobody else's.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from autograder.course import ROOT, notebook_of
from autograder.grading.gradebook import open_quietly
from tests.conftest import hand_in, solved_notebook

# Its submissions are graded once, for all of its tests.
pytestmark = pytest.mark.xdist_group("autograde")

STEM = "ch04_attention"
NBGRADER = Path(sys.executable).parent / "nbgrader"
SHORT = [
    "--GradeExercises.case_timeout=1",
    "--GradeExercises.exercise_timeout=2",
    "--GradeExercises.cell_timeout=4",
]

ENDLESS = "def softmax(scores, axis=-1):\n    while True:\n        pass"
STUBBORN = (
    "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n     "
    "   pass"
)
LEAVING = "import os\n\n\ndef softmax(scores, axis=-1):\n    os._exit(0)"
UNENDING_SYNTAX = "def softmax(scores, axis=-1)\n    return scores"
STARTUP_TRAP = """import os, pathlib
startup = pathlib.Path.home() / ".ipython" / "profile_default" / "startup"
startup.mkdir(parents=True, exist_ok=True)
(startup / "00.py").write_text("import os; os._exit(0)")
os._exit(0)"""
NO_MESSAGES = """kernel = get_ipython().kernel
for content in ([1], None, {"data": [2]}, {"text": {}}):
    for kind in ("stream", "display_data", "error", "status"):
        kernel.session.send(kernel.iopub_socket, kind, content=content, parent=kernel.get_parent())
kernel.iopub_socket.send_multipart([b"<IDS|MSG>", b"", b"{", b"{", b"{", b"{"])"""
MARKUP = "print('<script>alert(1)</script><img src=x onerror=alert(2)>')"
ATTENTION_OVER_QUERIES = """def scaled_dot_product_attention(query, key, value):
    weights = softmax(attention_scores(query, key), axis=-2)
    return weights @ value, weights"""


def large_output():
    notebook = solved_notebook(STEM)
    notebook.cells[4].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="x" * 50_000_000)
    ]
    return notebook


def without_graded_cells():
    notebook = solved_notebook(STEM)
    notebook.cells = [
        cell for cell in notebook.cells if not cell.metadata.get("nbgrader", {}).get("grade")
    ]
    return notebook


POINTS = {}
for cell in nbformat.read(notebook_of(STEM), as_version=4).cells:
    kind, _, exercise = cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("_")
    if cell.metadata.get("nbgrader", {}).get("grade"):
        POINTS[exercise] = POINTS.get(exercise, 0) + cell.metadata.nbgrader.points
ALL, NONE, TOTAL = set(POINTS), set(), sum(POINTS.values())

# learner -> (what they hand in, the exercises that earn nothing, words of the first message)
SUBMISSIONS = {
    "right": (lambda: solved_notebook(STEM), NONE, ""),
    "blank": (
        lambda: nbformat.read(notebook_of(STEM), as_version=4),
        ALL,
        "softmax is still the stub",
    ),
    "wrong_axis": (
        lambda: solved_notebook(STEM, {"scaled_dot_product_attention": ATTENTION_OVER_QUERIES}),
        {"scaled_dot_product_attention"},
        "Take one query",
    ),
    "not_json": (lambda: '{"cells": [', ALL, "breaks off or is damaged"),
    "not_a_notebook": (lambda: "[1, 2, 3]", ALL, "no list of cells"),
    "large_output_stored": (large_output, NONE, ""),
    "large_output_printed": (
        lambda: solved_notebook(STEM, extra_cells=["print('x' * 50_000_000)"]),
        NONE,
        "",
    ),
    "endless_function": (
        lambda: solved_notebook(STEM, {"softmax": ENDLESS}),
        {"softmax"},
        "softmax did not finish within 1 s",
    ),
    "endless_cell": (lambda: solved_notebook(STEM, extra_cells=[STUBBORN]), NONE, ""),
    "flood": (
        lambda: solved_notebook(STEM, extra_cells=["while True:\n    print('flood' * 100)"]),
        NONE,
        "",
    ),
    "leaving_function": (
        lambda: solved_notebook(STEM, {"softmax": LEAVING}),
        {"softmax"},
        "softmax ended the Python process",
    ),
    "leaving_cell": (
        lambda: solved_notebook(STEM, extra_cells=["import os\nos._exit(1)"]),
        NONE,
        "",
    ),
    "stderr": (
        lambda: solved_notebook(
            STEM,
            extra_cells=["import sys, warnings\nwarnings.warn('hm')\nprint(1, file=sys.stderr)"],
        ),
        NONE,
        "",
    ),
    "syntax": (
        lambda: solved_notebook(STEM, {"softmax": UNENDING_SYNTAX}),
        {"softmax"},
        "its cell stopped with SyntaxError: expected ':' (line 1)",
    ),
    "without_graded_cells": (without_graded_cells, NONE, ""),
    "markup": (lambda: solved_notebook(STEM, extra_cells=[MARKUP]), NONE, ""),
}


def options(folder):
    folders = [
        f"--CourseDirectory.{name}_directory={folder / name}"
        for name in ("submitted", "autograded", "feedback")
    ]
    return [STEM, *folders, f"--CourseDirectory.db_url=sqlite:///{folder / 'gradebook.db'}", *SHORT]


def nbgrader(command, folder, *more):
    ran = subprocess.run(
        [NBGRADER, command, *options(folder), *more], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran


def scores(folder):
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        return {each.student.id: each.score for each in gradebook.assignment_submissions(STEM)}


def record(folder, learner):
    return nbformat.read(
        folder / "autograded" / learner / STEM / f"{STEM}.ipynb", as_version=4
    ).metadata["autograder"]


def first_message(folder, learner):
    cases = [case for cell in record(folder, learner)["cells"] for case in cell["cases"]]
    return next((case["message"] for case in cases if not case["passed"]), "")


@pytest.fixture(scope="module")
def graded(tmp_path_factory, sandbox):
    folder = tmp_path_factory.mktemp("class")
    for learner, (notebook, _, _) in SUBMISSIONS.items():
        hand_in(folder, learner, STEM, notebook())
    hand_in(folder, "folder", STEM, "").unlink()
    (folder / "submitted" / "folder" / STEM / f"{STEM}.ipynb").mkdir()
    hand_in(folder, "renamed", STEM, solved_notebook(STEM), name="ch04_attention(2).ipynb")
    nbgrader("autograde", folder)
    return folder


def test_every_submission_has_its_own_score(graded):
    expected = {
        learner: TOTAL - sum(POINTS[name] for name in lost)
        for learner, (_, lost, _) in SUBMISSIONS.items()
    }
    assert scores(graded) == {**expected, "folder": 0, "renamed": TOTAL}


@pytest.mark.parametrize("learner", SUBMISSIONS)
def test_the_first_message_says_what_was_wrong(graded, learner):
    words = SUBMISSIONS[learner][2]
    message = first_message(graded, learner)
    assert words in message if words else message == ""


def test_what_decides_a_score_is_kept_with_it(graded):
    one, other = record(graded, "right"), record(graded, "wrong_axis")
    assert one["seed"] != other["seed"]
    assert len(bytes.fromhex(one["seed"])) == 32
    assert one["checks"] == other["checks"]
    case = next(case for cell in other["cells"] for case in cell["cases"] if not case["passed"])
    assert case["misconception"] == "the softmax runs over the queries"


def test_a_regrade_gives_the_same_verdicts(graded):
    before = [record(graded, learner)["cells"] for learner in ("right", "wrong_axis")]
    nbgrader("autograde", graded, "--force", "--student=right")
    nbgrader("autograde", graded, "--force", "--student=wrong_axis")
    assert [record(graded, learner)["cells"] for learner in ("right", "wrong_axis")] == before


def test_feedback_is_text_that_holds_no_markup_of_a_learner_and_no_seed(graded):
    nbgrader("generate_feedback", graded)
    page = (graded / "feedback" / "markup" / STEM / f"{STEM}.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<img" not in page
    assert record(graded, "markup")["seed"] not in page
    wrong = (graded / "feedback" / "wrong_axis" / STEM / f"{STEM}.html").read_text(encoding="utf-8")
    assert "Take one query: over which axis" in wrong
    assert f"{TOTAL - POINTS['scaled_dot_product_attention']:g} of {TOTAL:g} points" in wrong
    assert "http" not in wrong.replace("http-equiv", "")
    unread = (graded / "feedback" / "not_json" / STEM / f"{STEM}.html").read_text(encoding="utf-8")
    assert "Nothing could be graded: " in unread


@pytest.mark.usefixtures("graded")
def test_nothing_of_a_submission_is_left_running():
    # A bwrap whose parent was killed before it said that it may begin waits for ever, and has no
    # child: nobody's code has run in it. Another test kills graders at any moment.
    abandoned = [
        each
        for each in psutil.process_iter(["name", "ppid", "cmdline"])
        if each.info["ppid"] == 1 and not (each.info["name"] == "bwrap" and not each.children())
    ]
    assert not [
        each for each in abandoned if "autograder.boundary" in " ".join(each.info["cmdline"] or ())
    ]


def test_a_copy_of_the_tree_without_git_grades_with_its_own_code(tmp_path):
    import shutil

    copied = shutil.copytree(
        ROOT,
        tmp_path / "copy",
        ignore=shutil.ignore_patterns(
            ".git", ".venv", "_build", "work", "gradebook.db", "submitted"
        ),
    )
    path = copied / "autograder" / "submitted" / "ada" / STEM / f"{STEM}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(solved_notebook(STEM), path)
    checks = copied / "autograder" / "shared" / "judge.py"
    checks.write_text(
        checks.read_text().replace(
            "return sum(verdict.weight * verdict.earned for verdict in verdicts)", "return 0.5 *"
        )
    )
    checks.write_text(
        checks.read_text().replace("0.5 * /", "0.5 * sum(verdict.weight for verdict in verdicts) /")
    )
    subprocess.run(
        [NBGRADER, "autograde", STEM, "--force"],
        cwd=copied,
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
    )
    with Gradebook(f"sqlite:///{copied / 'autograder' / 'gradebook.db'}") as gradebook:
        # The copy's judge gives half.
        assert gradebook.find_submission(STEM, "ada").score == TOTAL / 2


@pytest.mark.long  # four kernels of nbgrader's own; what it tests is in each released hidden cell
def test_an_nbgrader_without_our_settings_gives_nothing_for_hidden_cells(tmp_path):
    source = tmp_path / "source" / STEM / f"{STEM}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_bytes(notebook_of(STEM).read_bytes())
    (tmp_path / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.CourseDirectory.root = {str(tmp_path)!r}\n"
    )
    for learner, notebook in {
        "right": solved_notebook(STEM),
        "blank": nbformat.read(notebook_of(STEM), as_version=4),
    }.items():
        hand_in(tmp_path, learner, STEM, notebook)
    path = os.pathsep.join([str(NBGRADER.parent), os.environ["PATH"]])
    for command in ("generate_assignment", "autograde"):
        ran = subprocess.run(
            [NBGRADER, command, STEM],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        earned = {
            (s.student.id, g.name): g.score
            for s in gradebook.assignment_submissions(STEM)
            for n in s.notebooks
            for g in n.grades
        }
    assert all(score == 0 for (_, cell), score in earned.items() if cell.startswith("hidden_"))
    assert all(score == 0 for (learner, _), score in earned.items() if learner == "blank")
    assert all(
        score > 0
        for (learner, cell), score in earned.items()
        if learner == "right" and cell.startswith("check_")
    )


def test_autograding_an_unknown_assignment_says_which_exist(tmp_path):
    hand_in(tmp_path, "someone", "ch99_nothing", solved_notebook(STEM))
    command = [NBGRADER, "autograde", "ch99_nothing", *options(tmp_path)[1:]]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode != 0
    assert "there is no released notebook for 'ch99_nothing'" in ran.stderr


def test_every_submission_keeps_only_its_own_folder(graded):
    for path in (graded / "autograded").glob("*/*/*.ipynb"):
        assert json.loads(path.read_text())["nbformat"] == 4


def test_formgraders_button_grades_one_learner(graded, tmp_path):
    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    config.CourseDirectory.db_url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    for name, folder in {"submitted": graded, "autograded": tmp_path}.items():
        setattr(config.CourseDirectory, f"{name}_directory", str(folder / name))
    outcome = NbGraderAPI(CourseDirectory(config=config), config=config).autograde(
        STEM, "wrong_axis"
    )
    assert outcome["success"], outcome
    assert scores(tmp_path) == {"wrong_axis": scores(graded)["wrong_axis"]}


def test_the_table_that_nbgrader_exports_holds_names_that_are_only_names(tmp_path):
    open_quietly()
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        gradebook.add_assignment(STEM)
        for learner in ("ada", "=1+1", "x;@SUM(1)", 'Ricci, "Bruno"'):
            gradebook.add_student(learner)
        gradebook.add_submission(STEM, "ada")
    ran = nbgrader("export", tmp_path, "--to", tmp_path / "grades.csv")
    assert ran.returncode == 0, ran.stderr
    with open(tmp_path / "grades.csv", newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head[:4] == ["assignment", "duedate", "timestamp", "student_id"]
    assert head[-4:] == ["raw_score", "late_submission_penalty", "score", "max_score"]
    names = {row[3] for row in rows}
    assert names == {"ada", "'=1+1", "x;'@SUM(1)", 'Ricci, "Bruno"'}
    assert {(row[0], len(row)) for row in rows} == {(STEM, len(head))}
