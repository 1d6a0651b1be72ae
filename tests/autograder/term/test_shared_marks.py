"""Groups: one notebook, the same mark for its members, and no remark that they are alike."""

import csv
import json
import shutil

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.course import CourseError
from autograder.grading import run
from autograder.grading.gradebook import opened
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class
from autograder.term.groups import read_groups, shared_with
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("late"), pytest.mark.timeout(600)]

STEM = "ch01_embeddings"
HEAD = "group,learner\n"


def read(folder, text):
    (folder / "groups.csv").write_text(text)
    return read_groups(folder)


def test_a_chapters_row_replaces_the_general_one(tmp_path):
    found = read(
        tmp_path,
        f"group,learner,chapter\nA,ada,\nA,bob,\nA,cy,\nB,bob,{STEM}\nB,eve,{STEM}\n",
    )
    assert found.of("ch04_attention") == {"A": ["ada", "bob", "cy"]}
    assert found.of(STEM) == {"A": ["ada", "cy"], "B": ["bob", "eve"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("learner\nada\n", "line 1: there is no column “group”"),
        (f"{HEAD}A,ada\nA,bob\nB,ada\nB,cy\n", "line 4: “ada” is in the group “A” too, by line 2"),
        (f"{HEAD}A,ada\nA,bob\nA,ada\n", "line 4: “ada” is there twice, by line 2"),
        (f"{HEAD}A,ada\nA,bob\nB,adda\n", "line 4: the group “B” has one member"),
        (f"{HEAD}A,ada\nA,\n", "line 3: a row has a group and a learner"),
        (f"{HEAD}ada,ada\nada,bob\n", "line 2: “ada” is a group and a learner"),
        (f"group,learner,chapter\nA,ada,ch1\nA,bob,{STEM}\n", "line 2: there is no chapter “ch1”"),
    ],
)
def test_a_line_that_is_not_clear_is_named(tmp_path, text, told):
    with pytest.raises(CourseError, match=told):
        read(tmp_path, text)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Ada hands in for A, which has another notebook's equal in eve's; B has handed in nothing."""
    folder = tmp_path_factory.mktemp("groups")
    half = {"one_hot": None}
    for learner in ("ada", "dot"):
        hand_in(folder, learner, STEM, solved_notebook(STEM, half))
    hand_in(folder, "eve", STEM, solved_notebook(STEM))
    (folder / "groups.csv").write_text(f"{HEAD}A,bob\nA,ada\nA,cy\nB,gil\nB,hal\n")
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    with opened(places.gradebook) as gradebook:  # as `nbgrader db student add` does
        for learner in ("bob", "cy", "gil", "hal", "ivy"):
            gradebook.add_student(learner)
    run.grade_class(folder / "submitted", STEM, places, workers=2)
    return folder, places


def again(graded, remark=lambda text: None):
    folder, places = graded
    return run.grade_class(folder / "submitted", STEM, places, workers=1, remark=remark)[STEM]


def rows(graded):
    with open(graded[0] / "reports" / STEM / "scores.csv", encoding="utf-8-sig") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def test_whom_nobody_knows_is_named_and_nothing_is_graded(graded):
    """A misspelt name would get the mark, and its owner none."""
    folder, places = graded
    text = (folder / "groups.csv").read_text()
    before = places.graded("cy", STEM).read_bytes()
    try:
        (folder / "groups.csv").write_text(text.replace("A,cy", "A,cyy"))
        told = "groups.csv is not clear.*\n  line 4: nobody called “cyy” has handed in.*mean cy"
        with pytest.raises(CourseError, match=told):
            again(graded)
        assert not places.graded("cyy", STEM).exists()
        assert places.graded("cy", STEM).read_bytes() == before
    finally:
        (folder / "groups.csv").write_text(text)


@pytest.mark.parametrize("name", ["../../PWNED", "../autograded/carol"])
def test_a_path_for_a_name_writes_nothing_anywhere(graded, name):
    """Neither for somebody on the roster: nothing outside of the class's folder, nor in it."""
    folder, places = graded
    text = (folder / "groups.csv").read_text()
    before = {path: path.stat().st_mtime_ns for path in everything_in(folder.parent)}
    try:
        (folder / "groups.csv").write_text(f"{text}A,{name}\n")
        told = f"groups.csv is not clear.*\n  line 7: “{name}” leads to another folder"
        with pytest.raises(CourseError, match=told):
            again(graded)
        (folder / "groups.csv").write_text(text)
        (folder / "roster.csv").write_text(f"learner\nada\n{name}\n")
        with pytest.raises(CourseError, match=r"roster.csv is not clear.*\n  line 3: “"):
            again(graded)
        with pytest.raises(CourseError, match=r"roster.csv is not clear.*\n  line 3: “"):
            regrade_class(STEM, places, workers=1, keep=True)
    finally:
        (folder / "groups.csv").write_text(text)
        (folder / "roster.csv").unlink(missing_ok=True)
    after = {path: path.stat().st_mtime_ns for path in everything_in(folder.parent)}
    assert after.keys() == before.keys()
    assert {path.name for path in after if after[path] != before[path]} <= {
        "groups.csv",
        ".grading",
        "gradebook.db",
    }


def everything_in(folder):
    """Return the paths of the files in a folder, and in those within it."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_all_members_have_the_mark_of_the_one_notebook(graded):
    places = graded[1]
    table = rows(graded)
    assert set(table) == {"ada", "bob", "cy", "dot", "eve"}
    assert {table[each]["total"] for each in ("ada", "bob", "cy", "dot")} == {table["dot"]["total"]}
    assert [table[each]["group"] for each in ("ada", "bob", "cy", "dot")] == ["A", "A", "A", ""]
    with Gradebook(places.gradebook) as gradebook:
        scores = {each.student_id: each.score for each in gradebook.assignment_submissions(STEM)}
    assert scores["ada"] == scores["bob"] == scores["cy"] == scores["dot"] < scores["eve"]
    page = places.feedback("bob", STEM).read_text()
    assert "For the group “A”, handed in by ada" in page


def test_the_group_is_not_like_itself_but_like_others(graded):
    flags = {learner: int(row["flags"]) for learner, row in rows(graded).items()}
    report = (graded[0] / "reports" / STEM / "report.html").read_text()
    assert flags["bob"] == flags["cy"] <= flags["ada"]
    assert "bob and" not in report and "cy and" not in report


def test_a_learning_platforms_number_is_a_members_own():
    """Without it, no mark could be sent to them, nor a whole class's table be imported."""
    record = {"cells": [], "known_as": "moodle 101"}
    graded = {"Ada Rossi_101": {"metadata": {"autograder": record}}}
    told = {
        each: shared_with(each, graded, "Ada Rossi_101", "A")["metadata"]["autograder"]
        for each in ("Ada Rossi_101", "Bob_2 Bianchi_102", "cy")
    }
    assert [each.get("known_as") for each in told.values()] == ["moodle 101", "moodle 102", None]


def test_a_group_is_explained_to_all_its_members(graded, capsys):
    folder, places = graded
    into = ["--into", str(folder), "--gradebook", places.gradebook]
    assert main(["explain", "A", *into]) == 0
    whole = capsys.readouterr().out
    assert main(["explain", "bob", *into]) == 0
    assert whole == f"ada and bob and cy, of the group “A”:\n{capsys.readouterr().out}"
    assert main(["explain", "B", *into]) == 2  # which has handed in nothing
    assert "nothing of “B” has been graded" in capsys.readouterr().err


def test_run_again_nothing_changes(graded):
    places = graded[1]
    before = {each: places.graded(each, STEM).read_bytes() for each in ("ada", "bob", "cy")}
    tally = again(graded)
    assert (tally.graded, tally.before) == (0, 3)
    assert before == {each: places.graded(each, STEM).read_bytes() for each in before}


def test_who_joins_later_gets_the_mark_too(graded):
    folder = graded[0]
    text = (folder / "groups.csv").read_text()
    (folder / "groups.csv").write_text(f"{text}A,ivy\n")
    again(graded)
    assert rows(graded)["ivy"]["total"] == rows(graded)["ada"]["total"]


def test_who_leaves_a_group_leaves_its_mark(graded):
    folder, places = graded
    text = (folder / "groups.csv").read_text()
    told = []
    try:
        (folder / "groups.csv").write_text(text.replace("A,cy\n", ""))
        again(graded, told.append)
        assert "cy" not in rows(graded) and "bob" in rows(graded)
        assert any("“cy” has left the group “A”" in each for each in told)
        assert not places.graded("cy", STEM).exists() and not places.feedback("cy", STEM).exists()
        with Gradebook(places.gradebook) as gradebook:
            known = {each.student_id for each in gradebook.assignment_submissions(STEM)}
        assert "cy" not in known
    finally:
        (folder / "groups.csv").write_text(text)
        again(graded)
    assert rows(graded)["cy"]["total"] == rows(graded)["ada"]["total"]


def test_who_handed_in_for_a_group_that_is_no_more_keeps_the_mark_without_it(graded):
    folder, places = graded
    text = (folder / "groups.csv").read_text()
    before = rows(graded)
    try:
        for table in (f"{HEAD}B,gil\nB,hal\n", None):
            (folder / "groups.csv").write_text(table or "")
            if table is None:
                (folder / "groups.csv").unlink()
            told = []
            again(graded, told.append)
            assert set(rows(graded)) == {"ada", "dot", "eve"}
            assert rows(graded)["ada"]["total"] == before["ada"]["total"]
            assert "group" not in rows(graded)["ada"]
            assert "For the group" not in places.feedback("ada", STEM).read_text()
            assert [each for each in told if "“bob” has left the group “A”" in each]
            (folder / "groups.csv").write_text(text)
            again(graded)
            assert rows(graded) == before
    finally:
        (folder / "groups.csv").write_text(text)
        again(graded)


def test_each_member_may_have_a_deadline_of_their_own(graded):
    folder, places = graded
    (folder / "submitted" / "ada" / STEM / "timestamp.txt").write_text("2026-12-02 10:00:00 UTC")
    (folder / "deadlines.csv").write_text(
        f"chapter,due,learner\n{STEM},2026-11-30 23:59 UTC,\n{STEM},2026-12-07 23:59 UTC,cy\n"
    )
    again(graded)
    late = {
        each: json.loads(places.graded(each, STEM).read_text())["metadata"]["autograder"]["late"]
        for each in ("ada", "bob", "cy")
    }
    assert [bool(late[each]["late"]) for each in late] == [True, True, False]
    again(graded)
    assert "late" in places.feedback("bob", STEM).read_text()
    (folder / "deadlines.csv").unlink()
    again(graded)


def test_graded_again_the_group_stays(graded):
    before = {each: row["total"] for each, row in rows(graded).items()}
    regrade_class(STEM, graded[1], workers=2, keep=True)
    assert {each: row["total"] for each, row in rows(graded).items()} == before
    assert rows(graded)["bob"]["group"] == "A"


def test_who_hands_in_beside_the_group_is_named_and_nothing_is_graded(graded):
    folder, places = graded
    before = places.graded("bob", STEM).read_bytes()
    path = hand_in(folder, "bob", STEM, solved_notebook(STEM))
    try:
        with pytest.raises(CourseError, match=f"ada and bob have each handed in {STEM}"):
            again(graded)
    finally:
        shutil.rmtree(path.parents[1])
    assert places.graded("bob", STEM).read_bytes() == before


def test_a_notebook_may_bear_the_groups_name(graded):
    folder = graded[0]
    path = hand_in(folder, "B", STEM, solved_notebook(STEM))
    try:
        again(graded)
    finally:
        shutil.rmtree(path.parents[1])
    table = rows(graded)
    assert table["gil"]["total"] == table["hal"]["total"] == table["eve"]["total"]
    assert "B" not in table
