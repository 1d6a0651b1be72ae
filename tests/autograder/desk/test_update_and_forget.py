"""In the middle of a term: a release with other exercises, and a learner who is to be forgotten."""

import copy
from types import SimpleNamespace

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.authoring.released import released
from autograder.course import ROOT, CourseError
from autograder.desk.forget import FOLDERS, TABLES, forget
from autograder.desk.update import renew
from autograder.grading import gradebook as gradebooks
from autograder.grading import run
from autograder.grading.gradebook import Scores
from autograder.grading.places import Places
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("update"), pytest.mark.timeout(600)]

STEM = "ch01_embeddings"


@pytest.fixture
def graded(tmp_path):
    for learner, changes in {"ada": {}, "bob": {"embed": None}}.items():
        hand_in(tmp_path, learner, STEM, solved_notebook(STEM, changes))
    places = Places(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    run.grade_class(tmp_path / "submitted", STEM, places, workers=1)
    return places


def into(places):
    return ["--into", str(places.folder), "--gradebook", places.gradebook]


def score_of(places, learner):
    with Gradebook(places.gradebook) as gradebook:
        return gradebook.find_submission(STEM, learner).score


def test_a_gradebook_of_an_earlier_release_is_brought_up_to_date(graded, monkeypatch, tmp_path):
    """What a person wrote stays, and the score of an exercise that was not there comes."""
    earlier = copy.deepcopy(released(STEM))
    earlier.cells = [
        cell
        for cell in earlier.cells
        if not cell.metadata.get("nbgrader", {}).get("grade_id", "").endswith("one_hot")
    ]
    url = f"sqlite:///{tmp_path / 'earlier.db'}"
    with monkeypatch.context() as patch:
        patch.setattr(gradebooks, "released", lambda stem: earlier)
        with Scores(STEM, url) as scores:
            scores.sheet_of("bob", None)
            scores.session.commit()
            sheet = scores.gradebook.find_submission_notebook(STEM, STEM, "bob")
            [grade] = [each for each in sheet.grades if each.name == "check_embed"]
            [comment] = [each for each in sheet.comments if each.name == "embed"]
            grade.manual_score, comment.manual_comment = 0.5, "see me"
            scores.session.commit()
    wanted = pytest.raises(CourseError, match="python -m autograder update")
    with Scores(STEM, url) as scores, wanted:
        scores.times()
    table = graded.folder / "groups.csv"
    table.write_text("group,learner\nA,ada\nA,nobody\n")
    assert main(["update", "--keep", *into(Places(graded.folder, url))]) == 2
    with Gradebook(url) as gradebook:  # a table that is not clear changes nothing
        sheet = gradebook.find_submission_notebook(STEM, STEM, "bob")
        assert "check_one_hot" not in {each.name for each in sheet.grades}
    table.unlink()
    assert main(["update", "--keep", *into(Places(graded.folder, url))]) == 0
    with Gradebook(url) as gradebook:
        sheet = gradebook.find_submission_notebook(STEM, STEM, "bob")
        scores = {each.name: each.score for each in sheet.grades}
        remarks = {each.name: each.manual_comment for each in sheet.comments}
    assert scores["check_embed"] == 0.5 and remarks["embed"] == "see me"
    assert scores["check_one_hot"] == 1


def test_a_gradebook_of_this_release_is_left_as_it_is(graded):
    before = score_of(graded, "ada")
    renew(STEM, graded.gradebook)
    assert score_of(graded, "ada") == before


def test_what_would_change_is_said_before_it_does(graded, capsys):
    (graded.folder / "course.csv").write_text(f"chapter,exercise,points\n{STEM},embed,6\n")
    before = score_of(graded, "bob")
    assert main(["update", *into(graded)]) == 0
    said = capsys.readouterr().out
    assert "bob  7 of 8 -> 7 of 13, by the points of course.csv" in said
    assert "ada  8 of 8 -> 13 of 13" in said and "Nothing was changed" in said
    assert score_of(graded, "ada") == 8
    assert main(["update", "--keep", *into(graded)]) == 0
    assert (score_of(graded, "ada"), score_of(graded, "bob")) == (13, before)


def test_a_learner_is_forgotten_when_one_is_sure(graded, capsys):
    folder = graded.folder
    (folder / "deadlines.csv").write_text(
        f"chapter,due,learner\n{STEM},2030-01-01 12:00 UTC,\n{STEM},2030-02-01 12:00 UTC,bob\n"
    )
    (folder / "disputes.csv").write_text(
        'learner,exercise,why\nbob,embed,"two\nlines, and\u2028more\x0bof\x0cthem"\nada,embed,because\n'
    )
    (folder / "pushed").mkdir()
    (folder / "pushed" / "canvas-567.json").write_text(
        '{"url": "https://school.example", "marks": {"ada": 8, "bob": 7}}'
    )
    run.grade_class(folder / "submitted", STEM, graded, workers=1)
    main(["forget", "bob", *into(graded)])
    told = capsys.readouterr().out
    assert "There is: 1 rows of deadlines.csv" in told
    assert "There is: the mark that was sent, in " in told and "canvas-567.json" in told
    assert score_of(graded, "bob") > 0
    main(["forget", "bob", "--sure", *into(graded)])
    left = [
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".grading" and b"bob" in path.read_bytes()
    ]
    assert left == []
    assert (folder / "disputes.csv").read_text() == "learner,exercise,why\nada,embed,because\n"
    with Gradebook(graded.gradebook) as gradebook:
        assert [each.id for each in gradebook.students] == ["ada"]
    assert main(["forget", "bob", *into(graded)]) == 2
    assert "there is nothing about “bob”" in capsys.readouterr().err
    assert run.grade_class(folder / "submitted", STEM, graded, workers=1)[STEM].before == 1


@pytest.mark.parametrize("name", ["..", ".", "", "bob/../ada", "absolute"])
def test_what_is_no_learner_s_name_takes_nothing_away(tmp_path, monkeypatch, name):
    """Nothing can be taken away here, whatever the code does: what would do it is not called."""
    (tmp_path / "submitted" / "ada").mkdir(parents=True)
    (tmp_path / "submitted" / "bob").mkdir()
    taken = []
    monkeypatch.setattr("autograder.desk.forget.take_away", lambda *found: taken.append(found))
    monkeypatch.setattr("autograder.desk.forget.students_in", lambda *about: set())
    learner = str(tmp_path / "submitted" / "ada") if name == "absolute" else name
    options = SimpleNamespace(learner=learner, into=str(tmp_path), gradebook=None, sure=True)
    with pytest.raises(CourseError, match="there is nothing about"):
        forget(options)
    assert not taken


def test_points_of_a_table_that_holds_already_change_nothing(graded, capsys):
    (graded.folder / "course.csv").write_text(
        f"chapter,exercise,points\n{STEM},embed,6\n{STEM},one_hot,0\n"
    )
    run.grade_class(graded.folder / "submitted", STEM, graded, workers=1)
    for command in (["update"], ["grade", "--regrade"]):
        assert main([*command, *into(graded)]) == 0
        said = capsys.readouterr().out
        assert "2 have the same scores to the bit" in said and "would change" not in said


def test_what_a_class_keeps_comes_neither_into_git_nor_into_an_image():
    ignored, left_out = (
        {line.rstrip("/") for line in (ROOT / name).read_text().splitlines()}
        for name in (".gitignore", ".dockerignore")
    )
    of_a_class = {f"autograder/{name}" for name in (*FOLDERS, *TABLES, "pushed", "defence")}
    assert of_a_class <= ignored
    assert {each for each in ignored if each.startswith("autograder/")} <= left_out


@pytest.mark.parametrize("gone", ["ada", "bob"])
def test_who_is_left_of_a_group_of_two_works_alone(graded, capsys, gone):
    """Ada handed in for both; the other keeps the mark, whoever of them is forgotten."""
    folder = graded.folder
    (folder / "groups.csv").write_text("group,learner\nA,ada\nB,cyd\nA,bob\nB,dan\n")
    (folder / "roster.csv").write_text("learner,name\nada,Ada\nbob,Bob\ncyd,Cyd\ndan,Dan\n")
    hand_in(folder, "cyd", STEM, solved_notebook(STEM))
    for path in folder.glob("*/bob/*/*.ipynb"):
        path.unlink()
    (folder / "submitted" / "bob" / STEM).rmdir()
    run.grade_class(folder / "submitted", None, graded, workers=1)
    main(["overview", *into(graded)])
    (left,) = {"ada", "bob"} - {gone}
    mark = score_of(graded, left)
    capsys.readouterr()
    main(["forget", gone, "--sure", *into(graded)])
    assert f"“{left}” is a group of one then" in capsys.readouterr().out
    assert (folder / "groups.csv").read_text() == "group,learner\nB,cyd\nB,dan\n"
    assert f"{gone}," not in (folder / "roster.csv").read_text()
    assert mark == score_of(graded, left) == 8
    page = (folder / "feedback" / left / STEM / f"{STEM}.html").read_text(encoding="utf-8")
    assert gone not in page
    overview = (folder / "reports" / "overview.html").read_text(encoding="utf-8")
    assert left in overview and gone not in overview
    run.grade_class(folder / "submitted", None, graded, workers=1)
    assert score_of(graded, left) == 8
