"""Dishonest submissions earn nothing, change nobody's score and see nothing; honest ones keep their
points. See `tests/attacks`.
"""

import csv
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from nbgrader.api import Gradebook

from autograder.authoring.loading import load_exercises
from autograder.course import ROOT
from autograder.reporting.flags import flags_of_notebook, flags_of_record
from autograder.reporting.likeness import flags_of_reference
from autograder.reporting.record import read_graded
from autograder.reporting.results import write_report
from tests.attacks import attacks, honest, points_of
from tests.conftest import ROOTLESS, WITH_ITS_PYTHON, hand_in, run_in_map, solved_notebook

pytestmark = [
    pytest.mark.xdist_group("attacks"),
    pytest.mark.timeout(3600),
]  # graded once, for all of its tests

NBGRADER = Path(sys.executable).parent / "nbgrader"
SHORT = {
    "cell_timeout": 4,
    "case_timeout": 3,  # seven times what the slowest right answer takes
    "exercise_timeout": 4,
    "submission_timeout": 14,
}  # torch takes seconds
SECRET = "quince-" + "marmalade-4711"  # in two parts, so that this file is not where it is found
KEY = "5eed" * 16  # of the hidden cases, so that each run has the same
CANARY = "attacks-were-here"  # what submissions write wherever they can
ASKED = (
    "asked-" + "this"
)  # what submissions print of the questions; their source has it in parts, too
COPIED = ("_config.yml", "_toc.yml", "autograder", "nbgrader_config.py", "notebooks", "solutions")
ORDER = os.environ.get("ATTACKS_ORDER", "0")  # the class is graded in an order drawn from this seed

ONLY = os.environ.get("ATTACK")  # the one to grade, instead of all
ATTACKS, HONEST = attacks(), honest()
if ONLY and ONLY not in {**ATTACKS, **HONEST}:
    raise pytest.UsageError(f"there is no tests/attacks/{ONLY}.py, nor one in tests/attacks/honest")
FLAGGED = {name: each for name, each in {**ATTACKS, **HONEST}.items() if "FLAGGED" in each.defined}
ALL = {name: each for name, each in {**ATTACKS, **HONEST}.items() if ONLY in (None, name)}
PLACES = {
    name: place for place, name in enumerate(random.Random(ORDER).sample(sorted(ALL), len(ALL)))
}
SELDOM = set((ROOT / "tests" / "attacks" / "seldom.txt").read_text(encoding="utf-8").split())
# Who grades, other than root: the owner of the files, what begins the command, the map of users.
ORDINARY_USER = 54321  # any number that nobody has
SOMEBODY = f"--reuid={ORDINARY_USER} --regid={ORDINARY_USER} --clear-groups".split()
ELSEWHERE = {
    "an ordinary user": (ORDINARY_USER, (*WITH_ITS_PYTHON, "setpriv", *SOMEBODY), ""),
    "root of a map of one user": (0, ("unshare", "--user", "--map-root-user"), ""),
    "root of a rootless container": (int(ROOTLESS.split()[1]), (), ROOTLESS),
}
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "--maxfail=5")
BESIDE = (
    "test_fuzz.py",
    "test_grade_class.py::test_a_run_that_is_killed_again_and_again_ends_with_one_score_for_each",
)
CONTROLS = ("!first", "~last")  # right solutions, graded before and after everybody


def parameters(submissions):
    """Return each submission as a parameter of a test, whose name tells what it tries."""
    return [
        pytest.param(
            name,
            id=f"{name}: {each.sentence}",
            marks=[pytest.mark.long] if name in SELDOM and not ONLY else [],
        )
        for name, each in submissions.items()
        if name in ALL
    ]


class Class:
    """A class that has been graded once, in a copy of the course, with secrets round it.

    Args:
        folder: holds everything.
        names: the files whose submissions are in it.
    """

    def __init__(self, folder, names):
        self.folder, self.course, self.names = folder, folder / "course", names
        copy_of_the_course(self.course, COPIED)
        for path in self.secrets():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{SECRET}\n")
        (self.course / "autograder" / "seed.key").write_text(KEY)
        self.learners = {name: f"{PLACES[name]:03}-{ALL[name].learner}" for name in self.names}
        self.stems = sorted({ALL[name].stem for name in self.names})
        for name, learner in self.learners.items():
            ALL[name].write(self.submitted / learner / ALL[name].stem)
        for stem in self.stems:
            for control in CONTROLS:
                hand_in(
                    self.submitted.parent,
                    control,
                    stem,
                    solved_notebook(stem),
                    below=self.submitted.name,
                )
        self.before = self.fingerprints()

    @property
    def submitted(self):
        return self.course / "autograder" / "submitted"

    def secrets(self):
        """Return the files that hold the secret: beside submissions, beside the gradebook, among
        the references, in the home folder.
        """
        places = (
            "autograder/secret.txt",
            "autograder/submitted/secret.txt",
            "solutions/secret.txt",
            "secret.txt",
        )
        return [self.course / place for place in places] + [self.folder / "home" / "secret.txt"]

    def fingerprints(self):
        """Return what each file outside of the places that grading writes to holds."""
        written = ("autograded", "feedback", "gradebook.db", "seed.key", "sittings", "reports")
        written += ("__pycache__",)
        paths = [
            path for path in sorted(self.folder.rglob("*")) if not set(written) & set(path.parts)
        ]
        return {
            path: path.read_bytes() for path in paths if is_small(path) and os.access(path, os.R_OK)
        }

    def run(self, *command):
        """Run nbgrader in the copied course."""
        environment = {
            **os.environ,
            "SECRET": SECRET,
            "HOME": str(self.folder / "home"),
            "PYTHONPATH": str(self.course),
        }
        return subprocess.run(
            [NBGRADER, *command], cwd=self.course, env=environment, capture_output=True, text=True
        )

    def grade(self):
        started = time.monotonic()
        options = [f"--GradeExercises.{name}={value}" for name, value in SHORT.items()]
        self.graded = [self.run("autograde", stem, *options) for stem in self.stems]
        self.seconds = time.monotonic() - started
        self.left = [pid for pid in psutil.pids() if sees(pid, self.course)]
        self.returned = [self.run("generate_feedback", stem) for stem in self.stems]
        started = time.monotonic()
        self.reported = {stem: self.report(stem) for stem in self.stems}
        self.seconds_of_reports = time.monotonic() - started
        with Gradebook(f"sqlite:///{self.course / 'autograder' / 'gradebook.db'}") as gradebook:
            self.scores = {
                (stem, each.student.id): each.score
                for stem in self.stems
                for each in gradebook.assignment_submissions(stem)
            }

    def report(self, stem):
        """Write the instructor's report on a chapter; return the total of each learner in it."""
        graded = read_graded(stem, self.course / "autograder" / "autograded")
        _, table, *_ = write_report(stem, graded, self.folder / "reports")
        with open(table, encoding="utf-8-sig", newline="") as file:
            return [float(row["total"]) for row in csv.DictReader(file)]

    def score(self, name):
        return self.scores.get((ALL[name].stem, self.learners[name]))

    def artefacts(self):
        """Return everything that grading wrote: autograded notebooks with their records, feedback
        pages, gradebook.
        """
        places = [
            self.course / "autograder" / name for name in ("autograded", "feedback", "gradebook.db")
        ]
        return [path for place in places for path in [place, *place.rglob("*")] if path.is_file()]

    def record(self, name):
        return json.loads(self.written("autograded", name, "ipynb"))["metadata"]["autograder"]

    def page(self, name):
        return self.written("feedback", name, "html")

    def written(self, place, name, ending):
        stem = ALL[name].stem
        path = self.course / "autograder" / place / self.learners[name] / stem / f"{stem}.{ending}"
        return path.read_text(encoding="utf-8")


def copy_of_the_course(folder, paths):
    """Copy files and folders of the course, without what grading has left there."""
    ignored = shutil.ignore_patterns(
        "submitted", "autograded", "feedback", "gradebook.db", "seed.key", "sittings", "__pycache__"
    )
    for path in paths:
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, folder / path, ignore=ignored)
        else:
            folder.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / path, folder / path)


def is_small(path):
    return stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size < 100_000_000


def sees(pid, folder):
    """Return whether a process lives in a world in which files from a folder are mounted."""
    try:
        return str(folder) in Path(f"/proc/{pid}/mountinfo").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def graded(request, tmp_path_factory, sandbox):
    """The class of those submissions whose tests were selected."""
    wanted = [
        item.callspec.params["name"]
        for item in request.session.items
        if "name" in getattr(item, "callspec", Nothing).params
    ]
    folder = tmp_path_factory.mktemp("attacked")
    folder.chmod(0o755)
    graded = Class(folder, sorted({name for name in wanted if name in ALL}))
    graded.grade()
    print(f"{len(graded.names)} submissions in {graded.seconds:.0f} s")
    return graded


class Nothing:
    """Stands in for the parameters of a test without any."""

    params = ()


@pytest.mark.parametrize("name", parameters(ATTACKS))
def test_an_attack_earns_nothing(graded, name):
    score, earns = graded.score(name), ATTACKS[name].earns()
    assert score is earns or score == pytest.approx(earns, abs=0.005), told(graded, name)


@pytest.mark.parametrize("name", parameters(HONEST))
def test_an_honest_submission_keeps_its_points(graded, name):
    assert graded.score(name) == pytest.approx(HONEST[name].earns(), abs=0.005), told(graded, name)


@pytest.mark.parametrize("name", parameters(FLAGGED))
def test_what_is_to_be_remarked_is_remarked(graded, name):
    stem = ALL[name].stem
    every = dict(read_graded(stem, graded.course / "autograder" / "autograded"))
    notebook = every[graded.learners[name]]
    shortcuts = {each: found.shortcuts for each, found in load_exercises(stem).items()}
    flags = flags_of_notebook(stem, notebook, shortcuts)
    flags += flags_of_record(notebook["metadata"]["autograder"])
    flags += flags_of_reference(stem, notebook)
    found = {flag.kind for flag in flags} & {"library", "looks", "reference"}
    assert found == set(FLAGGED[name].defined["FLAGGED"]), flags


def told(graded, name):
    record = graded.record(name)
    return [
        (cell["cell"], cell["score"], case["title"], case["message"])
        for cell in record["cells"]
        for case in cell["cases"]
    ]


def test_those_graded_seldom_are_there():
    assert {*attacks(), *honest()} >= SELDOM, "tests/attacks/seldom.txt names a file that is gone"


def test_the_run_goes_to_its_end(graded):
    for run in (*graded.graded, *graded.returned):
        assert run.returncode == 0, run.stderr[-3000:]


def test_the_report_has_everybodys_score(graded):
    for stem in graded.stems:
        scores = [score for (each, _), score in graded.scores.items() if each == stem]
        assert sorted(graded.reported[stem]) == pytest.approx(sorted(scores))
    print(f"reports in {graded.seconds_of_reports:.0f} s")
    assert graded.seconds_of_reports < 120 + len(graded.names)


def test_everybody_elses_score_is_what_it_was(graded):
    for stem in graded.stems:
        assert [graded.scores[stem, control] for control in CONTROLS] == [
            sum(points_of(stem).values())
        ] * len(CONTROLS)
    expected = [name for name in graded.names if ALL[name].earns() is not None]
    assert len(graded.scores) == len(expected) + len(CONTROLS) * len(graded.stems)


def test_no_secret_came_in(graded):
    for path in graded.artefacts():
        content = path.read_bytes()
        assert SECRET.encode() not in content, path
        assert KEY.encode() not in content, path


def test_no_page_tells_what_was_asked(graded):
    for name in graded.names:
        if "[" not in graded.learners[name] and ALL[name].earns() is not None:
            assert ASKED not in graded.page(name), name


def test_nothing_was_written_outside(graded):
    assert graded.fingerprints() == graded.before
    found = [
        path
        for place in ("/tmp", "/dev/shm", "/var/tmp", "/dev", "/run")
        for path in Path(place).glob(f"*{CANARY}*")
    ]
    assert not found
    taken_over = [
        path for path in graded.artefacts() if path.suffix not in (".ipynb", ".html", ".db")
    ]
    assert not taken_over


def test_no_process_is_left(graded):
    assert not graded.left


def test_what_a_learner_wrote_is_text_on_every_page(graded):
    for name in graded.names:
        # nbgrader takes such a name for a pattern, and writes no page for it
        if "[" in graded.learners[name] or ALL[name].earns() is None:
            continue
        page = graded.page(name).lower()
        assert "<script" not in page
        assert "<img" not in page
        assert "<iframe" not in page
        assert "<a " not in page
        assert not [
            character
            for character in page
            if ord(character) in (0x1B, 0x07, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
        ]


@pytest.mark.long
@pytest.mark.skipif(
    os.getuid() != 0 or "ATTACKS_ORDER" in os.environ,
    reason="running the tests above as somebody else takes root",
)
@pytest.mark.parametrize(
    "who", [pytest.param(who, marks=pytest.mark.xdist_group(who)) for who in ELSEWHERE]
)
def test_all_of_it_as(who):
    """Attacks, damaged notebooks and runs that are killed."""
    owner, prefix, uid_map = ELSEWHERE[who]
    copied = (*COPIED, "tests", "pyproject.toml", "_config.yml")
    with tempfile.TemporaryDirectory() as folder:
        copy_of_the_course(Path(folder) / "course", copied)
        for path in (Path(folder), *Path(folder).rglob("*")):
            os.chown(path, owner, owner)
        tests = [f"tests/autograder/grading/{name}" for name in ("test_attacks.py", *BESIDE)]
        status, said = run_in_map(
            [*prefix, *PYTEST, *tests[: 1 if ONLY else None]],
            uid_map,
            env={
                "HOME": folder,
                "PYTHONPATH": f"{folder}/course",
                "TMPDIR": folder,
                "PATH": "/usr/bin:/bin",
                "PYTHON": sys.base_prefix,
                "ATTACKS_ORDER": f"{ORDER}, as {who}",
                **({"ATTACK": ONLY} if ONLY else {}),
            },
            cwd=f"{folder}/course",
        )
    print(said[-300:])
    assert status == 0, said[-7000:]
