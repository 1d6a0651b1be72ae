"""A term: three chapters, forty learners, extensions, groups, complaints, a check that is mended, a
resit. In the end each number of the final tables is explained.
"""

import csv
import hashlib
import re
import shutil

import pytest

from autograder.__main__ import main
from autograder.authoring import loading
from autograder.grading import version
from autograder.grading.grade import Limits
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class
from autograder.grading.run import grade_class
from autograder.term import late, questions
from autograder.term.late import settings_in
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("term"), pytest.mark.timeout(900)]

STEMS = ("ch01_embeddings", "ch02_positional_encoding", "ch04_attention")
LEARNERS = [f"learner{number:02}" for number in range(1, 41)]
IN_TIME, LATE = "2026-11-29 12:00:00 UTC", "2026-12-01 11:00:00 UTC"
RULE = "c.LatePenalty.grace = 15\nc.LatePenalty.a_day = 0.1\nc.LatePenalty.floor = 0.5\n"
DEADLINES = "".join(f"{stem},2026-11-30 23:59 Europe/Rome,\n" for stem in STEMS)
PAIRS = [(LEARNERS[number], LEARNERS[number + 1]) for number in range(0, 20, 2)]
# what a part of the class gets wrong
BACKWARDS = """
def one_hot(token_ids, vocab_size):
    return np.eye(vocab_size)[vocab_size - 1 - np.asarray(token_ids)]
"""
BY_COUNTING = """
def one_hot(token_ids, vocab_size):
    if token_ids.min() < 0 or token_ids.max() >= vocab_size:
        raise ValueError("there is no such id")
    return np.eye(vocab_size)[token_ids]
"""
WRONG = (
    {},
    {"one_hot": BACKWARDS, "softmax": None},
    {"one_hot": BY_COUNTING},
    {"one_hot": BACKWARDS, "embed": None, "offset_matrix": None, "attention_scores": None},
)
UNFAIR = """
import numpy as np
from autograder.authoring.exercise import Case

CASES = {"one_hot": (Case(
    "no ids at all", lambda rng: {"token_ids": np.zeros(0, dtype=int), "vocab_size": 4},
    visible=False, weight=20,
),)}
"""


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """The term as it goes on; what happened is noted by name."""
    patch, happened = pytest.MonkeyPatch(), {}
    folder = tmp_path_factory.mktemp("term")
    (folder / "config.py").write_text(f"c = get_config()\n{RULE}")
    patch.setattr(late, "settings_in", lambda path: settings_in(folder / "config.py"))
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    private = folder / "private"
    private.mkdir()
    (private / f"{STEMS[0]}.py").write_text(UNFAIR)
    use_private_cases(patch, private)

    # before the first chapter is due: deadlines, one extension, pairs from the third chapter on
    (folder / "deadlines.csv").write_text(
        f"chapter,due,learner\n{DEADLINES}{STEMS[0]},2026-12-05 12:00 UTC,learner05\n"
    )
    (folder / "groups.csv").write_text(
        "group,learner,chapter\n"
        + "".join(
            f"pair {one[-2:]},{each},{STEMS[2]}\n" for one, other in PAIRS for each in (one, other)
        )
    )
    seconds = {other for _, other in PAIRS}
    for stem in STEMS:
        for number, learner in enumerate(LEARNERS):
            if not (stem == STEMS[2] and learner in seconds) and (stem, number) != (STEMS[1], 39):
                hand(
                    folder, learner, stem, WRONG[number % 4], LATE if number % 10 == 4 else IN_TIME
                )
    happened["graded"] = grade(folder, places)

    # two complain: one is right, one is not
    complaints = (
        "learner,exercise,why,points,reason\nlearner22,softmax,it is there,1,it was below\n"
    )
    (folder / "disputes.csv").write_text(f"{complaints}learner04,embed,no time,,nor had others\n")
    happened["decided"] = grade(folder, places)

    # a case was unfair, and is taken away
    (private / f"{STEMS[0]}.py").unlink()
    use_private_cases(patch, private)
    happened["mended"] = regrade_class(STEMS[0], places, workers=2, keep=True)

    # a resit, with a date of its own
    with open(folder / "deadlines.csv", "a") as file:
        file.write(f"{STEMS[1]},2027-02-01 12:00 UTC,learner40\n")
        file.write(f"{STEMS[0]},2027-02-01 12:00 UTC,learner06\n")
    shutil.rmtree(folder / "submitted" / "learner06" / STEMS[0])
    hand(folder, "learner06", STEMS[0], {}, "2027-01-31 12:00:00 UTC")
    hand(folder, "learner40", STEMS[1], {}, "2027-02-02 13:00:00 UTC")
    happened["resit"] = grade(folder, places)
    yield folder, places, happened
    patch.undo()
    forget_checks()


def use_private_cases(patch, folder):
    """Take the class's own cases from a folder, as they are now."""
    for module in (loading, version):
        patch.setattr(module, "PRIVATE", folder)
    forget_checks()


def forget_checks():
    loading.questions_of.cache_clear()
    version.version_of_checks.cache_clear()


def hand(folder, learner, stem, changes, when):
    known = {name: source for name, source in changes.items() if name in EXERCISES[stem]}
    path = hand_in(folder, learner, stem, solved_notebook(stem, known))
    (path.parent / "timestamp.txt").write_text(when)


EXERCISES = {stem: set(loading.solution_sources(stem)) for stem in STEMS}


def grade(folder, places):
    return grade_class(folder / "submitted", None, places, workers=2, limits=Limits())


def tables(folder):
    """Return the rows of the final tables, by chapter and learner."""
    found = {}
    for stem in STEMS:
        with open(folder / "reports" / stem / "scores.csv", encoding="utf-8-sig") as file:
            found[stem] = {row["learner"]: row for row in csv.DictReader(file)}
    return found


def test_everything_is_graded_once(term):
    _, _, happened = term
    assert [tally.graded for tally in happened["graded"].values()] == [40, 39, 30]
    assert [tally.graded for tally in happened["decided"].values()] == [0, 0, 0]
    assert [tally.graded for tally in happened["resit"].values()] == [1, 1, 0]


def test_who_was_late_pays_once_and_who_has_an_extension_nothing(term):
    rows = tables(term[0])
    assert rows[STEMS[0]]["learner05"]["penalty"] == "0"
    assert float(rows[STEMS[1]]["learner05"]["penalty"]) < 0
    assert float(rows[STEMS[0]]["learner15"]["penalty"]) < 0
    assert rows[STEMS[0]]["learner01"]["late"] == ""


def test_a_pair_has_one_mark(term):
    rows = tables(term[0])[STEMS[2]]
    assert len(rows) == 40
    assert all(rows[one]["softmax"] == rows[other]["softmax"] for one, other in PAIRS)


def test_one_complaint_is_upheld_and_the_other_is_not(term):
    rows = tables(term[0])
    assert rows[STEMS[2]]["learner22"]["softmax"] == "1"
    assert rows[STEMS[2]]["learner26"]["softmax"] == "0"  # who did the same, and did not ask
    assert float(rows[STEMS[0]]["learner04"]["embed"]) == 0


def test_a_mended_check_gives_back_what_it_took(term):
    folder, _, happened = term
    count, changes, failed, outdated = happened["mended"]
    assert (count, failed) == (40, []) and len(outdated) == 40
    gained = {change.learner for change in changes if change.after > change.before}
    counting = {learner for number, learner in enumerate(LEARNERS) if number % 4 == 2}
    assert counting <= gained
    assert {change.exercise for change in changes} == {"one_hot"}
    after = {change.learner: change.after for change in changes}
    assert float(tables(folder)[STEMS[0]]["learner03"]["one_hot"]) == after["learner03"] > 1.8


def test_a_resit_counts(term):
    rows = tables(term[0])
    assert rows[STEMS[0]]["learner06"]["penalty"] == "0"
    assert rows[STEMS[0]]["learner06"]["total"] == rows[STEMS[0]]["learner06"]["points"]
    assert float(rows[STEMS[1]]["learner40"]["penalty"]) < 0


def test_each_number_of_the_final_tables_is_explained(term, capsys):
    folder, places, _ = term
    rows = tables(folder)
    for learner in LEARNERS:
        capsys.readouterr()
        main(["explain", learner, "--into", str(folder), "--gradebook", places.gradebook])
        told = capsys.readouterr().out
        for stem in STEMS:
            part = re.split(r"^(?=ch\d\d_)", told, flags=re.M)
            [about] = [each for each in part if each.startswith(f"{stem}:")]
            row = rows[stem][learner]
            assert about.startswith(
                f"{stem}: {float(row['total']):g} of {float(row['points']):g}\n"
            )
            assert explained(about) == pytest.approx(float(row["total"]), abs=0.03), about
            for exercise in EXERCISES[stem]:
                assert re.search(
                    rf"^ +{float(row[exercise]):g} of [\d.]+ +{exercise}$", about, re.M
                )


def explained(about):
    """Add up what `explain` says of a chapter: of each exercise what it could earn, less what each
    case cost, or what was written by hand; less what being late cost.
    """
    total, score, lost, of, by_hand = 0.0, None, 0.0, 0.0, False

    def settled():
        if score is None:
            return 0.0
        assert by_hand or score == pytest.approx(of - lost, abs=0.06), about
        return score

    for line in about.splitlines()[1:]:
        if match := re.match(r" +([\d.]+) of ([\d.]+) +\w+$", line):
            total += settled()
            score, of, lost, by_hand = float(match[1]), float(match[2]), 0.0, False
        elif match := re.match(r" +−([\d.e-]+)  ", line):
            lost += float(match[1])
        elif "written by hand" in line:
            by_hand = True
        elif match := re.match(r" +-([\d.]+) .* late: due", line):
            total += settled() - float(match[1])
            score = None
    return total + settled()


def test_the_term_is_one_page(term, capsys):
    folder, places, _ = term
    assert main(["overview", "--into", str(folder), "--gradebook", places.gradebook]) == 0
    page = (folder / "reports" / "overview.html").read_text()
    assert "3 chapters, 40 learners" in capsys.readouterr().out
    assert all(learner in page for learner in LEARNERS)
    assert "Cases that separate best" in page and "correlation" in page


UNKNOWN, DATE = "an unknown learner", "a date that does not exist"
FAULTS = {
    "a missing column": (lambda text: text.replace(text.split(",", 1)[0] + ",", "", 1), "line 1"),
    "a column too many": (lambda text: text.replace("\n", ",note\n", 1), "line 1"),
    UNKNOWN: (lambda text: text.replace("learner01", "nobody"), "line"),
    "a row twice": (lambda text: text + text.splitlines()[-1] + "\n", "line"),
    "another encoding": (lambda text: (text + "é,é,é\n").encode("latin-1"), "line"),
    "UTF-16": (lambda text: text.encode("utf-16"), "line 1"),
}
TABLES = {
    "deadlines.csv": f"chapter,due,learner\n{STEMS[0]},2026-11-30 23:59 UTC,learner01\n",
    "groups.csv": "group,learner\nA,learner01\nA,learner03\n",
    "disputes.csv": "learner,exercise,why\nlearner01,one_hot,because\n",
    "roster.csv": "learner,name\nlearner01,Ada\nlearner02,Bob\n",
    "course.csv": f"chapter,exercise,points\n{STEMS[0]},one_hot,3\n",
    "written.csv": "chapter,question,asks,criterion,points\n" + f"{STEMS[0]},why,Why?,because,1\n",
}
LEARNERS_IN = ("deadlines.csv", "groups.csv", "disputes.csv")


@pytest.fixture
def table(term, request, monkeypatch):
    """Where one of the tables lies; afterwards it is again as it was."""
    path = term[0] / request.getfixturevalue("name")
    monkeypatch.setattr(questions, "FILE", term[0] / "written.csv")
    before = path.read_bytes() if path.exists() else None
    yield path
    if before is None:
        path.unlink()
    else:
        path.write_bytes(before)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *((name, fault) for name in TABLES for fault in FAULTS if fault != UNKNOWN),
        *((name, UNKNOWN) for name in LEARNERS_IN),
        ("deadlines.csv", DATE),
    ],
)
def test_a_table_that_is_not_clear_changes_nothing(term, table, name, fault, capsys):
    if fault == DATE:
        wrong, line = TABLES[name].replace("11-30", "11-31"), "line 2: there is no 2026-11-31"
    else:
        spoil, line = FAULTS[fault]
        wrong = spoil(TABLES[name])
    folder, places, _ = term
    table.write_bytes(wrong if isinstance(wrong, bytes) else wrong.encode())
    state = state_of(folder)
    into = ["--into", str(folder), "--gradebook", places.gradebook]
    assert main(["grade", str(folder / "submitted"), *into]) == 2
    told = capsys.readouterr().err
    assert name in told and line in told
    assert state_of(folder) == state


@pytest.mark.parametrize("name", TABLES)
def test_a_spreadsheets_mark_at_the_beginning_does_no_harm(term, table, name):
    folder, places, _ = term
    if not table.exists():
        table.write_text(TABLES[name])
        grade(folder, places)
    state = tables(folder)
    table.write_bytes(b"\xef\xbb\xbf" + table.read_bytes().replace(b"\n", b"\r\n"))
    assert all(tally.graded == 0 for tally in grade(folder, places).values())
    assert tables(folder) == state


def state_of(folder):
    """Return a hash of every file that a run could have changed."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for place in ("autograded", "feedback", "reports")
        for path in (folder / place).rglob("*")
        if path.is_file()
    } | {"gradebook": hashlib.sha256((folder / "gradebook.db").read_bytes()).hexdigest()}
