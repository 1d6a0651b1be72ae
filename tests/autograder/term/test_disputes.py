"""Complaints: a page on which somebody can decide, and a decision that no regrade loses."""

import csv
import json

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.course import CourseError
from autograder.grading import run
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class
from autograder.reporting.record import outcomes_of, read_graded
from autograder.term.disputes import read_disputes
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("disputes"), pytest.mark.timeout(600)]

STEM = "ch01_embeddings"
HEAD = "learner,exercise,why,points,reason\n"
BACKWARDS = """
def one_hot(ids, vocab_size):
    out = np.zeros((len(ids), vocab_size))
    out[np.arange(len(ids)), -1 - np.asarray(ids)] = 1
    return out
"""


def read(folder, text):
    (folder / "disputes.csv").write_text(text)
    exercises = {"one_hot": (STEM, 2.0), "embed": (STEM, 2.0)}
    return read_disputes(folder, lambda: {"ada", "bob"}, lambda: exercises)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("adda,one_hot,why,,", "nobody called “adda” .*did you mean ada"),
        ("ada,onehot,why,,", "there is no exercise “onehot”; did you mean one_hot"),
        ("ada,one_hot,,,", "“why” is empty"),
        ("ada,one_hot,why,two,because", "“two” is no number of points"),
        ("ada,one_hot,why,3,because", "3 points: this exercise has from 0 to 2"),
        ("ada,one_hot,why,nan,because", "“nan” is no number of points"),
        ("ada,one_hot,why,0_2,because", "“0_2” is no number of points"),
        ("ada,one_hot,why,-1,because", "-1 points: this exercise has from 0 to 2"),
        ("ada,one_hot,why,1,", "1 points without a reason"),
    ],
)
def test_a_line_that_is_not_clear_is_named(tmp_path, line, told):
    with pytest.raises(CourseError, match=f"line 3: {told}"):
        read(tmp_path, f"{HEAD}bob,embed,why,,\n{line}\n")


def test_two_lines_about_the_same_are_one_too_many(tmp_path):
    with pytest.raises(CourseError, match="line 3: line 2 is about one_hot of “ada” already"):
        read(tmp_path, f"{HEAD}ada,one_hot,a,,\nada,one_hot,b,,\n")


def test_a_table_without_the_last_columns_holds_open_complaints(tmp_path):
    [found] = read(tmp_path, "learner;exercise;why\nada;one_hot;it is right\n").complaints
    assert (found.points, found.reason, found.stem) == (None, "", STEM)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Ada counts from the end, and bob has nothing in one_hot; dot and eve are a group."""
    folder = tmp_path_factory.mktemp("disputes")
    hand_in(folder, "ada", STEM, solved_notebook(STEM, {"one_hot": BACKWARDS}))
    hand_in(folder, "bob", STEM, solved_notebook(STEM, {"one_hot": None}))
    hand_in(folder, "dot", STEM, solved_notebook(STEM, {"one_hot": None}))
    (folder / "groups.csv").write_text("group,learner\nA,dot\nA,eve\n")
    (folder / "roster.csv").write_text("learner\neve\n")
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    run.grade_class(folder / "submitted", STEM, places, workers=2)
    return folder, places


def complain(graded, *lines, remark=lambda text: None):
    folder, places = graded
    (folder / "disputes.csv").write_text(HEAD + "".join(f"{line}\n" for line in lines))
    return run.grade_class(folder / "submitted", STEM, places, workers=1, remark=remark)[STEM]


def rows(graded):
    with open(graded[0] / "reports" / STEM / "scores.csv", encoding="utf-8-sig") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def in_gradebook(graded, learner):
    with Gradebook(graded[1].gradebook) as gradebook:
        return gradebook.find_submission(STEM, learner).score


def test_an_open_complaint_changes_no_mark_and_is_in_the_report(graded):
    before = rows(graded)["ada"]["total"]
    tally = complain(graded, "ada,one_hot,it is a one in each row,,")
    assert (tally.graded, tally.settled.decided) == (0, ["ada"])
    assert rows(graded)["ada"]["total"] == before
    assert "it is a one in each row" in (graded[0] / "reports" / STEM / "report.html").read_text()
    assert "Nobody has decided yet" in graded[1].feedback("ada", STEM).read_text()


def test_the_page_shows_the_cases_and_what_others_do_there(graded, capsys):
    folder, places = graded
    complain(graded, "ada,one_hot,it is a one in each row,,")
    assert main(["disputes", "--into", str(folder), "--gradebook", places.gradebook]) == 0
    said = capsys.readouterr().out
    page = (folder / "disputes" / "ada" / "one_hot.html").read_text()
    assert "ada  one_hot: open" in said and str(folder / "disputes") in said
    outcome = graded_outcome(graded, "ada")
    assert any(case["title"] in page for case in outcome.cases if not case["passed"])
    first, second = page.split("Asked again with other numbers")
    assert "What right answers do" in first and "What right answers do" in second
    assert "int64, shape" in first and "the reference" in first
    assert "it is a one in each row" in page and "-1 - np.asarray(ids)" in page


def test_a_complaint_that_fails_stops_no_other(graded, capsys):
    folder, places = graded
    complain(graded, "ada,one_hot,it is right,,", "bob,one_hot,why,,")
    path = places.graded("ada", STEM)
    whole = path.read_text()
    notebook = json.loads(whole)
    record = notebook["metadata"]["autograder"]
    record["cells"] = [cell for cell in record["cells"] if cell["exercise"] != "one_hot"]
    path.write_text(json.dumps(notebook))
    try:
        status = main(["disputes", "--into", str(folder), "--gradebook", places.gradebook])
    finally:
        path.write_text(whole)
    said = capsys.readouterr()
    assert status == 1
    assert "line 2: no page about one_hot of “ada”" in said.err and "KeyError" in said.err
    assert "bob  one_hot: open" in said.out


def graded_outcome(graded, learner):
    notebooks = dict(read_graded(STEM, graded[0] / "autograded"))
    return outcomes_of(notebooks[learner]["metadata"]["autograder"])["one_hot"]


def test_a_decision_counts_and_survives_a_regrade(graded):
    before = graded_outcome(graded, "ada").graded
    complain(graded, "ada,one_hot,why,1.5,the text did not say from where")
    assert graded_outcome(graded, "ada").score == 1.5
    total = rows(graded)["ada"]["total"]
    assert in_gradebook(graded, "ada") == float(total)
    page = graded[1].feedback("ada", STEM).read_text()
    assert f"1.5 instead of {before:g} points" in page and "did not say from where" in page
    count, changes, *_ = regrade_class(STEM, graded[1], workers=1, keep=True)
    assert (count, changes) == (4, [])
    assert graded_outcome(graded, "ada").score == 1.5
    assert rows(graded)["ada"]["total"] == total and in_gradebook(graded, "ada") == float(total)


def test_a_refusal_keeps_the_mark_and_its_reason(graded):
    complain(graded, "bob,one_hot,I had no time,,then hand in what you have")
    assert graded_outcome(graded, "bob").score == 0
    page = graded[1].feedback("bob", STEM).read_text()
    assert "The mark stays." in page and "then hand in what you have" in page


def test_a_line_taken_away_takes_the_decision_back(graded):
    before = rows(graded)["ada"]["total"]
    complain(graded, "ada,one_hot,why,2,because")
    assert float(rows(graded)["ada"]["total"]) > float(before)
    complain(graded)
    assert graded_outcome(graded, "ada").dispute is None
    assert in_gradebook(graded, "ada") == float(rows(graded)["ada"]["total"]) <= float(before)


def test_without_the_table_decisions_stay(graded):
    complain(graded, "ada,one_hot,why,2,because")
    (graded[0] / "disputes.csv").unlink()
    run.grade_class(graded[0] / "submitted", STEM, graded[1], workers=1)
    assert graded_outcome(graded, "ada").score == 2


def test_what_is_decided_for_one_of_a_group_holds_for_all(graded):
    complain(graded, "eve,one_hot,why,1,because")
    assert graded_outcome(graded, "dot").score == graded_outcome(graded, "eve").score == 1
    both = ("eve,one_hot,why,1,because", "dot,one_hot,why,2,because")
    with pytest.raises(CourseError, match="join them in one"):
        complain(graded, *both)
    complain(graded)


def test_a_line_about_another_notebook_changes_nothing(graded):
    folder, places = graded
    told = []
    (folder / "disputes.csv").write_text(
        "learner,exercise,why,points,reason,file\nada,one_hot,why,2,because,ffffffff\n"
    )
    run.grade_class(folder / "submitted", STEM, places, workers=1, remark=told.append)
    assert graded_outcome(graded, "ada").dispute is None
    assert any("about another notebook (ffffffff)" in each for each in told)


def test_explain_tells_of_a_decision(graded, capsys):
    complain(graded, "ada,one_hot,why not,2,because")
    main(["explain", "ada", "--into", str(graded[0]), "--gradebook", graded[1].gradebook])
    said = capsys.readouterr().out
    assert "disputed: why not" in said and "decided: because" in said
    assert "written by hand; the grader gave" in said
