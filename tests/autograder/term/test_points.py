"""A course of one's own choice: chapters and points, changed while marks are in the gradebook."""

import csv

import pytest
from nbgrader.api import Gradebook

from autograder.course import CourseError
from autograder.grading import run
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class
from autograder.term.points import read_points
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("points"), pytest.mark.timeout(600)]

STEM, OTHER = "ch01_embeddings", "ch02_positional_encoding"
HEAD = "chapter,exercise,points\n"
EXERCISES = {"one_hot": (STEM, 2.0), "embed": (STEM, 2.0), "order_gap": (OTHER, 3.0)}


def read(folder, text):
    (folder / "course.csv").write_text(text)
    return read_points(folder, lambda: EXERCISES)


def test_a_chapter_that_is_named_keeps_its_points_but_for_those_that_are_given(tmp_path):
    found = read(tmp_path, f"{HEAD}{STEM},,\n{STEM},one_hot,5\n")
    assert found.chapters == {STEM}
    assert found.exercises() == EXERCISES | {"one_hot": (STEM, 5.0)}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ch01,,", "there is no chapter “ch01”"),
        (f"{STEM},order_gap,1", f"{STEM} has no exercise “order_gap”"),
        (f"{STEM},onehot,1", "did you mean one_hot"),
        (f"{STEM},embed,", "points belong to an exercise"),
        (f"{STEM},,4", "points belong to an exercise"),
        (f"{STEM},embed,-1", "“-1” points: 0, or from 0.01 to 10,000"),
        (f"{STEM},embed,many", "“many” is no number of points"),
        (f"{STEM},embed,1_000", "“1_000” is no number of points"),
        (f"{STEM},embed,1e308", "“1e308” is no number of points"),
        (f"{STEM},embed,1e-320", "“1e-320” is no number of points"),
        (f"{STEM},embed,inf", "“inf” is no number of points"),
        (f"{STEM},embed,nan", "“nan” is no number of points"),
        (f"{STEM},embed,٣", "“٣” is no number of points"),
        (f"{STEM},embed,{'9' * 400}", "“999.*” is no number of points"),
        (f"{STEM},embed,10001", "“10001” points: 0, or from 0.01 to 10,000"),
        (f"{STEM},embed,0.001", "“0.001” points: 0, or from 0.01 to 10,000"),
        (f"{STEM},one_hot,2", "line 2 says so of one_hot already"),
    ],
)
def test_a_line_that_is_not_clear_is_named(tmp_path, line, told):
    with pytest.raises(CourseError, match=f"line 3: .*{told}"):
        read(tmp_path, f"{HEAD}{STEM},one_hot,5\n{line}\n")


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("3", 3),
        ("2.5", 2.5),
        ('"2,5"', 2.5),
        ("0", 0),
        ("0.01", 0.01),
        ("10000", 10000),
        (".5", 0.5),
    ],
)
def test_points_are_written_as_a_plain_decimal(tmp_path, text, points):
    assert read(tmp_path, f"{HEAD}{STEM},one_hot,{text}\n").given == {"one_hot": (STEM, points)}


def test_an_empty_table_is_no_course(tmp_path):
    with pytest.raises(CourseError, match="line 1: it names no chapter"):
        read(tmp_path, HEAD)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("points")
    hand_in(folder, "ada", STEM, solved_notebook(STEM))
    hand_in(folder, "bob", STEM, solved_notebook(STEM, {"one_hot": None}))
    hand_in(folder, "ada", OTHER, solved_notebook(OTHER))
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    run.grade_class(folder / "submitted", STEM, places, workers=2)
    return folder, places


def choose(graded, *lines, stem=None, remark=lambda text: None):
    folder, places = graded
    (folder / "course.csv").write_text(HEAD + "".join(f"{line}\n" for line in lines))
    return run.grade_class(folder / "submitted", stem, places, workers=1, remark=remark)


def rows(graded):
    with open(graded[0] / "reports" / STEM / "scores.csv", encoding="utf-8-sig") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def in_gradebook(graded, learner):
    with Gradebook(graded[1].gradebook) as gradebook:
        submission = gradebook.find_submission(STEM, learner)
        return submission.score, submission.max_score


def test_other_points_change_marks_without_running_anybodys_code(graded):
    before = rows(graded)
    tally = choose(graded, f"{STEM},one_hot,6", f"{STEM},embed,0")[STEM]
    assert (tally.graded, tally.settled.weighed) == (0, ["ada", "bob"])
    after = rows(graded)
    assert (after["ada"]["one_hot"], after["bob"]["one_hot"]) == ("6", "0")
    assert "embed" not in after["ada"]
    points = float(before["ada"]["points"]) + 4 - float(before["ada"]["embed"])
    assert float(after["ada"]["points"]) == float(after["ada"]["total"]) == points
    assert in_gradebook(graded, "ada") == (points, points)
    assert in_gradebook(graded, "bob")[0] == float(after["bob"]["total"])
    assert "does not count" in graded[1].feedback("ada", STEM).read_text()


def test_a_regrade_keeps_them(graded):
    choose(graded, f"{STEM},one_hot,6")
    before = rows(graded)
    regrade_class(STEM, graded[1], workers=1, keep=True)
    assert rows(graded) == before
    assert in_gradebook(graded, "ada")[0] == float(before["ada"]["total"])


def test_chapters_that_are_not_named_are_not_graded(graded):
    told = []
    assert list(choose(graded, f"{STEM},,", remark=told.append)) == [STEM]
    assert told == [f"1 for {OTHER} are passed over: course.csv does not name them"]
    with pytest.raises(CourseError, match=f"{OTHER} is not in course.csv"):
        choose(graded, f"{STEM},,", stem=OTHER)


def test_without_the_table_all_is_as_it_was(graded):
    choose(graded, f"{STEM},one_hot,6")
    (graded[0] / "course.csv").unlink()
    run.grade_class(graded[0] / "submitted", STEM, graded[1], workers=1)
    assert rows(graded)["ada"]["one_hot"] == "2"
    assert in_gradebook(graded, "ada")[0] == float(rows(graded)["ada"]["total"])
