"""`python -m autograder grade`: one score for everybody, the same ones however the run went and
wherever it ran.
"""

import contextlib
import functools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from nbgrader.api import Gradebook
from sqlalchemy.exc import OperationalError

from autograder.authoring.loading import solution_sources
from autograder.boundary.kernel import LearnerKernel
from autograder.course import ROOT, CourseError
from autograder.grading import ctrl_c
from autograder.grading import run as grade_class
from autograder.grading.command import as_course_errors
from autograder.grading.grade import Limits
from autograder.grading.gradebook import Scores
from autograder.grading.handed_in import folders
from autograder.grading.handed_in.submission import MOST_CELLS, read_submission, rebuild
from autograder.grading.places import Places, only_writer, seed_key
from autograder.grading.regrade import handed_in_before
from autograder.grading.version import version_of_checks
from autograder.grading.workers import Cluster, Scheduler, Task, results
from autograder.grading.workers import grade as grade_task
from autograder.reporting import apart, learner_page
from autograder.reporting.learner_page import feedback_page
from autograder.tools.sample_class import NEVER_RETURNS, WRONG_AXIS
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("grade"), pytest.mark.timeout(900)]

STEM = "ch04_attention"
POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
HALF = "def attention_scores(query, key):\n    return query @ key.swapaxes(-1, -2)"
KINDS = (  # changes to the right solution; None is a file that is no notebook
    {},
    {"scaled_dot_product_attention": WRONG_AXIS},
    dict.fromkeys(
        ("softmax", "attention_scores", "scaled_dot_product_attention", "softmax_backward")
    ),
    {"attention_scores": HALF},
    None,
)


def write_class(folder, count):
    """Hand in so many submissions, of all kinds in turn."""
    for number in range(count):
        changes = KINDS[number % len(KINDS)]
        notebook = '{"cells": [' if changes is None else solved_notebook(STEM, changes)
        hand_in(folder, f"learner{number:03}", STEM, notebook)
    return folder / "submitted"


def command(*options):
    return [sys.executable, "-m", "autograder", "grade", *map(str, options)]


def same_key(folder):
    """Return a folder with the key that all of these classes share, so that their scores can be
    compared.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seed.key").write_text("5eed" * 16)
    return folder


def grade(*options):
    """Grade as a person would, from the command line."""
    ran = subprocess.run(
        command(*options), cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def url_of(folder):
    return f"sqlite:///{folder / 'gradebook.db'}"


def scores_in(url):
    """Return the score of each cell of each learner, and assert that there is one."""
    with Gradebook(url) as gradebook:
        found = [
            ((submission.student_id, grade.cell.name), grade.auto_score)
            for submission in gradebook.assignment_submissions(STEM)
            for grade in submission.notebooks[0].grades
        ]
    assert set(Counter(key for key, _ in found).values()) == {1}
    return dict(found)


@pytest.fixture(scope="module")
def a_class(tmp_path_factory, sandbox):
    """Ten submissions, graded once, undisturbed."""
    folder = same_key(tmp_path_factory.mktemp("class"))
    submitted = write_class(folder, 10)
    said = grade(submitted, "--into", folder)
    return folder, submitted, said


def test_everybody_has_a_score_and_a_page(a_class):
    folder, _, said = a_class
    assert said.startswith("ch04_attention: 10 graded, 0 had been graded before.")
    totals = Counter()
    for (learner, _), score in scores_in(url_of(folder)).items():
        totals[learner] += score
    assert [totals[f"learner00{number}"] for number in (0, 2, 4)] == [10, 0, 0]
    assert 0 < totals["learner001"] < 10
    assert 0 < totals["learner003"] < 10
    for learner in totals:
        record = json.loads((folder / "autograded" / learner / STEM / f"{STEM}.ipynb").read_text())[
            "metadata"
        ]["autograder"]
        assert totals[learner] == pytest.approx(sum(cell["score"] for cell in record["cells"]))
        assert learner in (folder / "feedback" / learner / STEM / f"{STEM}.html").read_text()
    for name in ("report.html", "scores.csv", "canvas.csv", "moodle.csv"):
        assert "learner003" in (folder / "reports" / STEM / name).read_text()


def test_a_second_run_grades_nothing(a_class):
    folder, submitted, _ = a_class
    path = folder / "autograded" / "learner000" / STEM / f"{STEM}.ipynb"
    before, scores = path.stat().st_mtime_ns, scores_in(url_of(folder))
    assert grade(submitted, "--into", folder).startswith(
        "ch04_attention: 0 graded, 10 had been graded before."
    )
    assert path.stat().st_mtime_ns == before
    assert scores_in(url_of(folder)) == scores


def test_a_lost_gradebook_is_written_again_without_grading(a_class, tmp_path):
    folder, submitted, _ = a_class
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert grade(submitted, "--into", folder, "--gradebook", other).startswith(
        "ch04_attention: 0 graded"
    )
    assert scores_in(other) == scores_in(url_of(folder))


def test_only_what_was_handed_in_anew_is_graded_again(a_class, tmp_path):
    folder, _, _ = a_class
    shutil.copytree(folder, tmp_path / "copy")
    copy = tmp_path / "copy"
    path = copy / "submitted" / "learner002" / STEM / f"{STEM}.ipynb"
    path.write_text(nbformat.writes(solved_notebook(STEM)), encoding="utf-8")
    assert grade(copy / "submitted", "--into", copy).startswith(
        "ch04_attention: 1 graded, 9 had been graded before."
    )
    before, after = scores_in(url_of(folder)), scores_in(url_of(copy))
    assert {key[0] for key in before if before[key] != after[key]} == {"learner002"}
    seeds = seeds_in(copy)
    assert seeds.pop("learner002") not in seeds.values()


def seeds_in(folder):
    """Return the seed of each learner's questions."""
    paths = folder.glob(f"autograded/*/{STEM}/{STEM}.ipynb")
    return {
        path.parents[1].name: json.loads(path.read_text())["metadata"]["autograder"]["seed"]
        for path in paths
    }


def test_all_in_one_run_are_asked_the_same_and_later_ones_something_else(a_class, tmp_path):
    folder, submitted, _ = a_class
    assert len(set(seeds_in(folder).values())) == 1
    places = Places(folder)
    assert places.seed(STEM).hex() not in seeds_in(folder).values()
    next_one = places.sitting(STEM)
    assert grade(submitted, "--into", folder).startswith("ch04_attention: 0 graded")
    assert places.sitting(STEM) == next_one  # nobody was asked
    disturbed = Places(tmp_path)
    same_key(tmp_path)
    (tmp_path / "sittings").mkdir()
    (tmp_path / "sittings" / STEM).write_text("")  # what a loss of power leaves
    assert disturbed.sitting(STEM) == 1


def test_regrading_gives_the_same_scores_and_says_which_would_change(a_class, tmp_path):
    folder, _, _ = a_class
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert "10 have the same scores to the bit" in grade("--regrade", "--into", copy)
    path = copy / "autograded" / "learner001" / STEM / f"{STEM}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    cell = next(
        each for each in notebook.metadata["autograder"]["cells"] if each["exercise"] == "softmax"
    )
    cell["score"] -= 0.5  # as if the checks had been stricter then
    nbformat.write(notebook, path)
    notebook.metadata["autograder"]["checks"] = "0" * 16
    nbformat.write(notebook, path)
    older = copy / "autograded" / "learner002" / STEM / f"{STEM}.ipynb"
    older.write_text(older.read_text().replace('"checks"', '"nothing"'))
    said = grade("--regrade", "--into", copy)
    assert "2 had been graded with other checks, or another numpy or torch, than today's" in said
    assert "1 would change" in said
    assert "learner001  softmax: 1.5 -> 2" in said
    assert nbformat.read(path, as_version=4).metadata == notebook.metadata
    again = grade(copy / "submitted", "--into", copy)
    assert "2 of those were graded with other checks, or another numpy or torch, than" in again
    grade("--regrade", "--keep", "--into", copy)
    said = grade("--regrade", "--into", copy)
    assert "10 have the same scores" in said
    assert "other checks" not in said
    assert scores_in(url_of(copy)) == scores_in(url_of(folder))


def test_a_run_that_ends_between_the_notebook_and_its_score_is_caught_up_with(
    a_class, tmp_path, monkeypatch
):
    """Also where the learner has a score of an earlier hand-in."""
    shutil.copytree(a_class[0], tmp_path / "copy")
    places = Places(tmp_path / "copy", url_of(tmp_path / "copy"))
    path = tmp_path / "copy" / "submitted" / "learner002" / STEM / f"{STEM}.ipynb"
    path.write_text(nbformat.writes(solved_notebook(STEM)), encoding="utf-8")

    def killed(*_):
        raise InterruptedError

    with monkeypatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr(Scores, "store", killed)
        grade_class.grade_class(tmp_path / "copy" / "submitted", STEM, places, workers=1)
    tally = grade_class.grade_class(tmp_path / "copy" / "submitted", STEM, places, workers=1)[STEM]
    assert (tally.graded, tally.before) == (0, 10)
    with Scores(STEM, places.gradebook) as scores:
        assert scores.stored["learner002"] == 10


def hand_in_two(folder):
    for learner in ("ada", "bruno"):
        hand_in(folder, learner, STEM, solved_notebook(STEM))
    return folder / "submitted", Places(folder, url_of(folder))


def pages_in(folder):
    return sorted(path.parents[1].name for path in folder.glob(f"feedback/*/{STEM}/*.html"))


def ended_by(monkeypatch, function, submitted, places):
    """Grade until a function of the grader is called the second time."""
    whole, calls = getattr(grade_class, function), []

    def once(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise InterruptedError
        return whole(*arguments)

    with monkeypatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr(grade_class, function, once)
        grade_class.grade_class(submitted, STEM, places, workers=1)


def test_a_run_that_ends_while_it_grades_has_shown_nobody_what_it_asked(
    sandbox, tmp_path, monkeypatch
):
    """So it may ask the others the same, and equal code gets equal points."""
    submitted, places = hand_in_two(tmp_path)
    ended_by(monkeypatch, "keep_graded", submitted, places)
    assert len(seeds_in(tmp_path)) == 1
    assert not pages_in(tmp_path)
    tally = grade_class.grade_class(submitted, STEM, places, workers=1)[STEM]
    assert (tally.graded, tally.before) == (1, 1)
    assert len(set(seeds_in(tmp_path).values())) == 1
    assert pages_in(tmp_path) == ["ada", "bruno"]
    assert places.seed(STEM).hex() not in seeds_in(tmp_path).values()


@pytest.mark.parametrize("function", ["write_page", "report"])
def test_once_somebody_has_a_page_others_are_asked_something_else(
    sandbox, tmp_path, monkeypatch, function
):
    """However the run ends."""
    submitted, places = hand_in_two(tmp_path)
    if function == "report":
        monkeypatch.setattr(grade_class, "report", None)
        with pytest.raises(TypeError):
            grade_class.grade_class(submitted, STEM, places, workers=1)
        monkeypatch.undo()
    else:
        ended_by(monkeypatch, function, submitted, places)
    assert pages_in(tmp_path) == (["ada", "bruno"] if function == "report" else ["ada"])
    asked = seeds_in(tmp_path)
    assert places.seed(STEM).hex() not in asked.values()
    hand_in(tmp_path, "chiara", STEM, solved_notebook(STEM))
    tally = grade_class.grade_class(submitted, STEM, places, workers=1)[STEM]
    assert (tally.graded, tally.before) == (1, 2)
    assert seeds_in(tmp_path)["chiara"] not in asked.values()
    assert pages_in(tmp_path) == ["ada", "bruno", "chiara"]


def test_a_submission_that_cannot_be_read_stops_nobody_else(sandbox, tmp_path, monkeypatch):
    submitted, places = hand_in_two(tmp_path)
    whole = folders.read_submission

    def read(path):
        if "ada" in path.parts:
            raise KeyError("something that nobody thought of")
        return whole(path)

    monkeypatch.setattr(folders, "read_submission", read)
    tally = grade_class.grade_class(submitted, STEM, places, workers=1)[STEM]
    assert tally.graded == 1
    assert tally.failed == [("ada", "KeyError: 'something that nobody thought of'")]
    assert pages_in(tmp_path) == ["bruno"]


def test_a_page_that_cannot_be_made_is_one_without_code(a_class, tmp_path, monkeypatch):
    def page(learner, stem, notebook):
        if any("exponentials" in cell["source"] for cell in notebook["cells"]):
            raise ValueError("no page")
        return feedback_page(learner, stem, notebook)

    shutil.copytree(a_class[0], tmp_path / "copy")
    places = Places(tmp_path / "copy", url_of(tmp_path / "copy"))
    places.feedback("learner000", STEM).unlink()
    monkeypatch.setattr(learner_page, "feedback_page", page)
    grade_class.hand_back(STEM, places, ["learner000"])
    written = places.feedback("learner000", STEM).read_text()
    assert "10 of 10 points" in written
    assert "It is not shown here: ValueError: no page." in written
    report = (places.folder / "reports" / STEM / "report.html").read_text()
    assert "their page is without their code: ValueError: no page" in report


def test_what_was_graded_with_another_release_is_graded_again(a_class, tmp_path):
    shutil.copytree(a_class[0], tmp_path / "copy")
    path = tmp_path / "copy" / "autograded" / "learner000" / STEM / f"{STEM}.ipynb"
    path.write_text(path.read_text().replace("check_softmax", "check_softmin"))
    (tmp_path / "copy" / "gradebook.db").unlink()
    said = grade(tmp_path / "copy" / "submitted", "--into", tmp_path / "copy")
    assert said.startswith("ch04_attention: 1 graded, 9 had been graded before.")


def test_a_damaged_graded_notebook_stops_no_regrading(a_class, tmp_path):
    shutil.copytree(a_class[0], tmp_path / "copy")
    (tmp_path / "copy" / "autograded" / "learner000" / STEM / f"{STEM}.ipynb").write_text("")
    ran = subprocess.run(
        command("--regrade", "--into", tmp_path / "copy"),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "9 have the same scores to the bit" in ran.stdout
    assert "learner000 could not be graded" in ran.stdout


def test_regrading_loses_no_cell(tmp_path):
    """A graded notebook has the learner's cells and the release's, and so may have more than a
    learner may hand in.
    """
    notebook = solved_notebook(STEM)
    few = MOST_CELLS - len(notebook.cells)
    path = hand_in(
        tmp_path, "ada", STEM, solved_notebook(STEM, extra_cells=[f"x = {n}" for n in range(few)])
    )
    path.write_text(path.read_text().replace('"softmax_backward"', '"gone"', 1))
    submission = read_submission(path)
    graded = rebuild(STEM, submission)
    graded.metadata["autograder"].update(seed="00", cells=[])
    nbformat.write(graded, path)
    again = rebuild(STEM, handed_in_before(path)[1])
    assert [cell.source for cell in again.cells] == [cell.source for cell in graded.cells]


def test_ctrl_c_ends_a_run_at_once(sandbox, tmp_path):
    for learner in ("ada", "bruno"):
        hand_in(tmp_path, learner, STEM, solved_notebook(STEM, {"softmax": NEVER_RETURNS}))
    run = subprocess.Popen(
        command(tmp_path / "submitted", "--into", tmp_path),
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    time.sleep(6)
    started = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert b"what is finished is kept" in said
    assert time.monotonic() - started < 10


def test_a_ctrl_c_that_a_library_swallowed_ends_the_run_all_the_same(monkeypatch):
    kept = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(ctrl_c, "heard", [])
    try:
        ctrl_c.listen()
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            next(results(None, []))
    finally:
        signal.signal(signal.SIGINT, kept)


def test_a_worker_that_cannot_grade_stops_the_run(tmp_path):
    class Pool:
        width = 2

        def submit(self, task):
            future = Future()
            future.set_exception(CourseError("other checks"))
            return future

    with pytest.raises(CourseError, match="other checks"):
        list(results(Pool(), [Task(STEM, "ada", None, b"", "")] * 2))


def test_a_task_for_other_checks_is_refused():
    task = Task(STEM, "ada", submission=None, seed=b"", checks="others")
    with pytest.raises(CourseError, match="has other checks of ch04_attention"):
        grade_task(task)


def test_a_process_that_cannot_be_started_is_tried_twice_and_is_nobodys_fault():
    tried = []

    def fork():
        tried.append(True)
        raise RuntimeError("no process could be started")

    with (
        pytest.raises(RuntimeError, match="no process"),
        LearnerKernel(SimpleNamespace(fork=fork), 1),
    ):
        pass
    assert len(tried) == 2


def test_two_runs_do_not_write_into_one_folder(tmp_path):
    with (
        only_writer(tmp_path),
        pytest.raises(CourseError, match="another run"),
        only_writer(tmp_path),
    ):
        pass


def test_a_system_without_locks_is_told_the_way(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(CourseError, match="the container way"), only_writer(tmp_path):
        pass


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nowhere"], "there is no nowhere"),
        ([".", "--chapter", "ch99"], "there is no chapter 'ch99'"),
        ([".", "--workers", "0"], "at least one"),
        ([".", "--keep"], "--keep belongs to --regrade"),
        (["--regrade"], "nothing has been graded"),
        (["submitted", "--regrade"], "leave submitted out"),
        (
            ["submitted", "--into", "submitted/learner000/ch04_attention/ch04_attention.ipynb/x"],
            "Not a directory",
        ),
        (
            ["submitted", "--gradebook", "postgresql://127.0.0.1:1/none"],
            "the gradebook could not be opened",
        ),
        (["submitted", "--gradebook", "nonsense"], "the gradebook could not be opened"),
        (["submitted", "--scheduler", "tcp://127.0.0.1:1"], "no scheduler answers"),
        (["submitted", "--scheduler", "tcp://10.0.0.1:8786"], "tasks would travel to tcp://10."),
        (["submitted", "--scheduler", "tls://127.0.0.1:1"], "needs --tls-ca-file, --tls-cert"),
        (["submitted", "--tls-key", "k"], "belong to --scheduler"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, options, words):
    write_class(tmp_path, 1)
    into = [] if "--into" in options else ["--into", tmp_path]
    ran = subprocess.run(
        command(*options, *into), cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


def test_without_bubblewrap_nothing_is_graded_unless_that_is_said(tmp_path):
    submitted = write_class(tmp_path, 2)
    without = {**environment(), "PATH": "/nowhere"}
    run = functools.partial(subprocess.run, cwd=ROOT, env=without, capture_output=True, text=True)
    refused = run(command(submitted, "--into", tmp_path))
    assert refused.returncode == 2
    assert "apt-get install bubblewrap" in refused.stderr
    assert not (tmp_path / "autograded").exists()
    graded = run(command(submitted, "--into", tmp_path, "--unsandboxed"))
    assert graded.returncode == 0, graded.stderr[-3000:]
    assert "GRADED WITHOUT A SANDBOX" in graded.stdout
    path = tmp_path / "autograded" / "learner000" / STEM / f"{STEM}.ipynb"
    assert json.loads(path.read_text())["metadata"]["autograder"]["sandbox"] == "none"
    assert "without a sandbox" in (tmp_path / "reports" / STEM / "report.html").read_text().lower()


@pytest.mark.parametrize(
    ("count", "kills"),
    [(15, 2), pytest.param(300, 5, marks=[pytest.mark.long, pytest.mark.timeout(3600)])],
)
def test_a_run_that_is_killed_again_and_again_ends_with_one_score_for_each(
    sandbox, tmp_path, count, kills
):
    """Killed without a chance to tidy up; its workers and sandboxes must end by themselves."""
    same_key(tmp_path / "undisturbed"), same_key(tmp_path / "killed")
    submitted = write_class(tmp_path, count)
    grade(submitted, "--into", tmp_path / "undisturbed")
    chance = random.Random(count)
    for kill in range(kills):
        before = {process.pid for process in psutil.process_iter()}
        run = subprocess.Popen(
            command(submitted, "--into", tmp_path / "killed"), cwd=ROOT, env=environment()
        )
        enough = 1 + count * kill // (kills + 1)
        while run.poll() is None and len(list(tmp_path.glob("killed/autograded/*/*/*"))) < enough:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.1))
        assert run.poll() is None
        family = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(signal.SIGKILL)
        run.wait()
        _, alive = psutil.wait_procs(
            [each for each in family if each.pid not in before], timeout=20
        )
        assert not alive
    grade(submitted, "--into", tmp_path / "killed")
    undisturbed, killed = (
        scores_in(url_of(tmp_path / "undisturbed")),
        scores_in(url_of(tmp_path / "killed")),
    )
    assert len({learner for learner, _ in killed}) == count
    assert killed == undisturbed
    assert not list((tmp_path / "killed").rglob("*.unfinished"))


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def started(commands):
    """Run commands as long as the block lasts; the block gets their processes."""
    running = [
        subprocess.Popen(each, cwd=ROOT, env=environment(), stderr=subprocess.DEVNULL)
        for each in commands
    ]
    try:
        yield running
    finally:
        for each in reversed(running):
            each.terminate()
        for each in running:
            each.wait(30)


HOSTILE = (
    "large = 0x" + "f" * 5_000,
    "if 0:\n" + "    %x\n" * 600,
    'x = %"""',
    "a = [0]\n" * 20_000 + "!y\n" * 450,
)


def test_no_learner_stops_a_run(sandbox, tmp_path):
    changes = {"softmax": f"{solution_sources(STEM)['softmax']}\n\n\n{HOSTILE[0]}"}
    hand_in(tmp_path, "ada", STEM, solved_notebook(STEM))
    for number, source in enumerate(HOSTILE):
        hand_in(tmp_path, f"beside{number}", STEM, solved_notebook(STEM, extra_cells=[source]))
    hand_in(tmp_path, "within", STEM, solved_notebook(STEM, changes))
    hand_in(tmp_path, "zeno", STEM, solved_notebook(STEM))
    places = Places(tmp_path, url_of(tmp_path))
    tally = grade_class.grade_class(
        tmp_path / "submitted", STEM, places, workers=2, limits=Limits(cell=3)
    )[STEM]
    assert (tally.graded, tally.failed) == (7, [])
    totals = Counter()
    for (learner, _), score in scores_in(places.gradebook).items():
        totals[learner] += score
    assert set(totals.values()) == {10}
    assert pages_in(tmp_path) == sorted(totals)
    report = (tmp_path / "reports" / STEM / "report.html").read_text()
    assert all(learner in report for learner in totals)
    assert re.search(rf"it takes more than ({apart.SECONDS}|{apart.PATIENCE}) s", report)  # if busy
    assert places.sitting(STEM) == 2


def certificates(folder):
    """Make a cluster's certificate as the page for instructors does; return the options that name
    it.
    """
    page = (ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
    [make] = re.findall(r"^openssl req .*?[^\\\\]$", page, re.MULTILINE | re.DOTALL)
    subprocess.run(make, shell=True, cwd=folder, check=True, capture_output=True)
    made = {"--tls-ca-file": "crt", "--tls-cert": "crt", "--tls-key": "key"}
    return [word for name, end in made.items() for word in (name, folder / f"cluster.{end}")]


@pytest.mark.long
def test_a_dask_cluster_gives_the_same_scores(a_class, tmp_path):
    """Encrypted, as the page for instructors has it."""
    folder, submitted, _ = a_class
    same_key(tmp_path / "cluster")
    address, encrypted = f"tls://127.0.0.1:{free_port()}", certificates(tmp_path)
    dask = Path(sys.executable).parent / "dask"
    host = ["--host", "127.0.0.1", "--protocol", "tls", "--port", address.rpartition(":")[2]]
    scheduler = [dask, "scheduler", *host, "--no-dashboard", "--no-jupyter", *encrypted]
    worker = [
        dask,
        "worker",
        address,
        "--nthreads",
        "1",
        "--nworkers",
        "2",
        "--no-dashboard",
        "--local-directory",
        tmp_path,
        *encrypted,
    ]
    with started([scheduler, worker]):
        until = time.monotonic() + 60
        while True:
            ran = subprocess.run(
                command(
                    submitted, "--into", tmp_path / "cluster", "--scheduler", address, *encrypted
                ),
                cwd=ROOT,
                env=environment(),
                capture_output=True,
                text=True,
            )
            # Its workers take a while to be there.
            if ran.returncode == 0 or time.monotonic() > until:
                break
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert scores_in(url_of(tmp_path / "cluster")) == scores_in(url_of(folder))


def test_an_error_from_far_down_a_clusters_worker_arrives(monkeypatch):
    """A traceback that is too deep for pickle would leave the run waiting for ever."""
    import distributed

    def too_deep(*about):
        return too_deep(*about)

    monkeypatch.setattr("autograder.grading.workers.rebuild", too_deep)
    task = Task(STEM, "ada", None, b"", version_of_checks(STEM))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as there,
        Cluster(Scheduler(there.scheduler_address), STEM) as cluster,
    ):
        error = cluster.submit(task).exception(timeout=60)
    assert isinstance(error, RecursionError)


@pytest.fixture
def postgres(tmp_path):
    """URL of a PostgreSQL server of our own, which refuses to run as root and so runs as somebody
    else.
    """
    if POSTGRES is None:
        assert "CI" not in os.environ, "no PostgreSQL found; on Debian: apt-get install postgresql"
        pytest.skip("no PostgreSQL found; on Debian: apt-get install postgresql")
    as_somebody = (
        ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        if os.getuid() == 0
        else []
    )
    data = Path("/tmp") / f"postgres-{os.getpid()}-{tmp_path.name}"
    data.mkdir()
    if as_somebody:
        shutil.chown(data, "nobody", "nogroup")
    port = free_port()
    run = {"check": True, "cwd": "/", "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    initialise = [
        POSTGRES / "initdb",
        "-D",
        data / "db",
        "-U",
        "teacher",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
    ]
    subprocess.run([*as_somebody, *initialise], **run)
    control = [*as_somebody, POSTGRES / "pg_ctl", "-D", data / "db", "-w"]
    subprocess.run(
        [*control, "-l", data / "log", "-o", f"-p {port} -k {data} -h 127.0.0.1 -F", "start"], **run
    )
    subprocess.run(
        [POSTGRES / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "teacher", "grades"],
        **run,
    )
    yield f"postgresql://teacher@127.0.0.1:{port}/grades"
    subprocess.run([*control, "-m", "immediate", "stop"], **run)
    shutil.rmtree(data)


@pytest.fixture
def worker_at(monkeypatch):
    """Let a cluster have one worker at an address, which has other checks."""

    def there(address):
        class Client:
            def __init__(self, *_, **__):
                pass

            def scheduler_info(self, **_):
                return {"workers": {address: {"nthreads": 1}}}

            def run(self, *_, **__):
                return {address: "others"}

        monkeypatch.setattr("distributed.Client", Client)

    return there


OTHERS = "has other checks of ch04_attention"


@pytest.mark.parametrize(
    ("scheduler", "worker", "words"),
    [
        ("tcp://127.0.0.1:1", "tcp://127.0.0.1:2", OTHERS),
        ("tcp://[::1]:1", "tcp://localhost:2", OTHERS),
        ("127.0.0.1:1", "tls://10.0.0.2:2", OTHERS),
        ("tcp://127.0.0.1:1", "tcp://10.0.0.2:2", "would travel to tcp://10.0.0.2:2 so that"),
        ("tcp://10.0.0.1:1", "tls://10.0.0.2:2", "would travel to tcp://10.0.0.1:1 so that"),
        ("tcp://head:1", "tls://10.0.0.2:2", "would travel to tcp://head:1 so that"),
        ("127.0.0.1.example.com:1", "tls://10.0.0.2:2", "would travel to 127.0.0.1.example"),
        ("0.0.0.0:1", "tls://10.0.0.2:2", "would travel to 0.0.0.0:1"),
    ],
)
def test_no_task_travels_unencrypted_to_another_machine(worker_at, scheduler, worker, words):
    worker_at(worker)
    with pytest.raises(CourseError, match=words):
        Cluster(Scheduler(scheduler), STEM)
    with pytest.raises(CourseError, match=OTHERS):  # so far a task could go
        Cluster(Scheduler(scheduler, unencrypted=True), STEM)


@pytest.mark.parametrize(
    ("address", "names", "words"),
    [
        ("tls://head:1", ("crt", "crt", ""), "give all of --tls-ca-file, --tls-cert and --tls-key"),
        ("tcp://127.0.0.1:1", ("crt", "crt", "key"), "for a scheduler at tls://"),
        ("tls://head:1", ("crt", "crt", "pem"), "there is no file .*cluster.pem"),
        ("tls://head:1", ("key", "crt", "key"), "name no such certificates"),
        ("tls://head:1", ("", "", ""), "the scheduler at tls://head:1 needs --tls-ca-file"),
    ],
)
def test_certificates_that_do_not_fit_are_one_sentence(tmp_path, address, names, words):
    certificates(tmp_path)
    given = [name and str(tmp_path / f"cluster.{name}") for name in names]
    with pytest.raises(CourseError, match=words):
        Cluster(Scheduler(address, *given), STEM)


def test_what_a_clusters_logs_show_of_a_task_is_not_its_seed():
    assert "secret" not in repr(Task(STEM, "ada", None, b"secret", "checks"))


def test_what_the_machine_refuses_is_a_sentence():
    kept = "No space left on device: '/full'; what is finished is kept"
    with pytest.raises(CourseError, match=kept), as_course_errors():
        raise OSError(28, "No space left on device", "/full")
    with (
        pytest.raises(CourseError, match="the gradebook says: locked"),
        as_course_errors(),
    ):
        raise OperationalError("select", {}, ValueError("locked"))


def test_postgresql_holds_the_same_scores(a_class, tmp_path, postgres):
    folder, submitted, _ = a_class
    grade(submitted, "--into", same_key(tmp_path), "--gradebook", postgres)
    assert scores_in(postgres) == scores_in(url_of(folder))
    assert grade(submitted, "--into", tmp_path, "--gradebook", postgres).startswith(
        "ch04_attention: 0 graded"
    )


def test_the_key_of_the_seeds_is_made_once_and_the_owners_alone(tmp_path):
    made = {seed_key(tmp_path / "seed.key") for _ in range(2)}
    assert len(made) == 1
    assert len(made.pop()) == 32
    assert (tmp_path / "seed.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["seed.key"]


@pytest.mark.parametrize("text", ["", "5eed", "not a key"])
def test_a_key_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "seed.key").write_text(text)
    with pytest.raises(CourseError, match="holds no key"):
        seed_key(tmp_path / "seed.key")


def test_a_learners_two_chapters_in_one_zip_are_graded_each_by_itself(sandbox, tmp_path):
    members = {
        f"lovelaceada_101_900{number}_homework.ipynb": nbformat.writes(solved_notebook(stem))
        for number, stem in enumerate((STEM, "ch05_multi_head"))
    }
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    ran = subprocess.run(
        command(tmp_path / "all.zip", "--chapter", STEM, "--into", tmp_path),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "lovelaceada_101_9001_homework.ipynb (ch05_multi_head)" in ran.stderr
    assert sum(scores_in(url_of(tmp_path)).values()) == 10


def test_a_file_system_without_hard_links_gets_a_key_all_the_same(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    made = {seed_key(tmp_path / "seed.key") for _ in range(2)}
    assert len(made) == 1
    assert (tmp_path / "seed.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["seed.key"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_key_that_somebody_else_makes_at_the_same_time_is_the_one(
    tmp_path, monkeypatch, has_links
):
    """Also somebody in another container, whose process has this one's number."""
    link, path, theirs = os.link, tmp_path / "seed.key", []

    def overtaken(*about):
        if not theirs:
            theirs.append("on the way")
            theirs.append(seed_key(path))
        if not has_links:
            raise PermissionError(1, "Operation not permitted")
        link(*about)

    monkeypatch.setattr("os.link", overtaken)
    assert seed_key(path) == theirs[1]
    assert [each.name for each in tmp_path.iterdir()] == ["seed.key"]
