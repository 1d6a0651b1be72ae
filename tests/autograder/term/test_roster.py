"""The class list: who has handed in nothing is told of, and whoever is not on it is, too."""

import csv

import pytest

from autograder.__main__ import main
from autograder.course import CourseError
from autograder.grading import command, run
from autograder.grading.places import Places
from autograder.term.roster import read_roster
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("roster"), pytest.mark.timeout(600)]

STEM = "ch01_embeddings"
ROSTER = "learner,name,email\nada,Ada Rossi,ada@school.example\nbob,Bob,\ncy,Cy,\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name\nAda\n", "line 1: there is no column “learner”"),
        ("learner,login\nada,x\n", "line 1: there is a column “login”"),
        ("learner,name\nada,Ada\nbob,Bob\nada,Ada\n", "line 4: “ada” is in line 2 already"),
        ("learner,name\nada,Ada\n,Bob\n", "line 3: “learner” is empty"),
        ("learner,name\n", "line 1: it names nobody"),
        ("learner\nJörg\n".encode("latin-1"), "line 2: byte 0xf6 is not UTF-8"),
    ],
)
def test_a_line_that_is_not_clear_is_named(tmp_path, text, told):
    (tmp_path / "roster.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CourseError, match=told):
        read_roster(tmp_path)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Ada and somebody who is not on the list hand in, bob and cy do not."""
    folder = tmp_path_factory.mktemp("roster")
    hand_in(folder, "ada", STEM, solved_notebook(STEM))
    hand_in(folder, "boob", STEM, solved_notebook(STEM))
    (folder / "roster.csv").write_text(ROSTER)
    (folder / "deadlines.csv").write_text(
        f"chapter,due,learner\n{STEM},2026-11-30 23:59 UTC,cy\n"  # who is known by the list alone
    )
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    return places, run.grade_class(folder / "submitted", STEM, places, workers=1)[STEM]


def test_who_has_handed_in_nothing_and_who_is_not_on_the_list_are_told(graded):
    said = command.summary_of(STEM, graded[1])
    assert "On roster.csv, and nothing handed in: bob, cy." in said
    assert "Graded, but not on roster.csv: boob." in said
    assert graded[1].graded == 2


def test_the_tables_have_a_row_for_who_has_handed_in_nothing(graded):
    reports = graded[0].folder / "reports"
    with open(reports / STEM / "scores.csv", encoding="utf-8-sig") as file:
        rows = {row["learner"]: row for row in csv.DictReader(file)}
    assert {learner: row["total"] for learner, row in rows.items()} == {
        "ada": "8",
        "boob": "8",
        "bob": "0",
        "cy": "0",
    }
    assert rows["bob"]["note"] == "nothing handed in" and rows["ada"]["note"] == ""
    assert (rows["bob"]["points"], rows["bob"]["one_hot"]) == ("8", "0")
    assert (rows["ada"]["name"], rows["ada"]["email"]) == ("Ada Rossi", "ada@school.example")
    assert "Nothing handed in: <bdi>bob</bdi>, <bdi>cy</bdi>." in (
        reports / STEM / "report.html"
    ).read_text(encoding="utf-8")
    assert "bob" not in (reports / STEM / "canvas.csv").read_text().replace("boob", "")


def test_the_overview_and_explain_know_them(graded, capsys):
    into = ["--into", str(graded[0].folder), "--gradebook", graded[0].gradebook]
    assert main(["overview", *into]) == 0
    assert "1 chapters, 4 learners" in capsys.readouterr().out
    page = (graded[0].folder / "reports" / "overview.html").read_text(encoding="utf-8")
    assert f"handed in nothing for {STEM}" in page
    assert main(["explain", "bob", *into]) == 0
    assert capsys.readouterr().out == f"{STEM}: nothing handed in\n"
    assert main(["explain", "boobb", *into]) == 2
