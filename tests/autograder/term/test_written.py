"""Questions that are answered in words: from a table to a notebook, to a person's mark, to every
place that tells a mark.
"""

import csv
import json

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.authoring import released as release_module
from autograder.authoring.release import ANSWER, release
from autograder.authoring.released import written_in
from autograder.course import CourseError, notebook_of
from autograder.grading import run
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class
from autograder.reporting.record import outcomes_of
from autograder.term import questions
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("written"), pytest.mark.timeout(600)]

STEM = "ch01_embeddings"
HEAD = "chapter,question,asks,criterion,points\n"
TABLE = f"""{HEAD}{STEM},why_one_hot,"Why not the numbers 0, 1, 2, …?",no word is nearer than others,2
{STEM},why_one_hot,,no word is larger,1
{STEM},your_words,Which words did you try?,names two,1
"""
RIGHT = (
    "No two words are nearer than others.\n\n<script>alert(1)</script> $\\href{javascript:x}{y}$"
)


def use(patch, folder, table=TABLE):
    """Release the chapter with the questions of a table, for this process and its workers."""
    (folder / "private").mkdir(exist_ok=True)
    (folder / "private" / "written.csv").write_text(table)
    patch.setattr(questions, "FILE", folder / "private" / "written.csv")
    patch.setattr("autograder.course.NOTEBOOKS", folder / "notebooks")
    patch.setattr("autograder.desk.assist.HOOK", folder / "private" / "assist.py")
    release(STEM, folder / "notebooks", folder / "visible")
    forget_release()


def forget_release():
    for each in ("released", "stubs", "exercises_by_name", "grade_ids", "ids_by_chapter"):
        getattr(release_module, each).cache_clear()


def answered(**answers):
    """Return a notebook whose code is right, with some answers in words."""
    notebook = solved_notebook(STEM)
    for name, cell in written_in(notebook).items():
        cell.source = answers.get(name, cell.source)
    return notebook


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Ada answers one of two questions, bob none; dot and eve are a group; fay's file is broken."""
    folder, patch = tmp_path_factory.mktemp("written"), pytest.MonkeyPatch()
    use(patch, folder)
    hand_in(folder, "ada", STEM, answered(why_one_hot=RIGHT))
    hand_in(folder, "bob", STEM, answered(your_words="  \n"))
    hand_in(folder, "dot", STEM, answered(why_one_hot="Because.", your_words="cat, dog"))
    (folder / "groups.csv").write_text("group,learner\nA,dot\nA,eve\n")
    (folder / "roster.csv").write_text("learner\neve\n")
    broken = hand_in(folder, "fay", STEM, answered())
    broken.write_text(broken.read_text()[:500])
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    run.grade_class(folder / "submitted", STEM, places, workers=2)
    yield folder, places
    patch.undo()
    forget_release()


def hand_in_anew(folder, **answers):
    """Hand in for ada once more."""
    path = folder / "submitted" / "ada" / STEM / f"{STEM}.ipynb"
    nbformat.write(answered(**answers), path)


def mark(places, learner, question, points, comment=None):
    """Enter a mark as formgrader does."""
    with Gradebook(places.gradebook) as gradebook:
        sheet = gradebook.find_submission_notebook(STEM, STEM, learner)
        grade = sheet_cell(sheet.grades, question)
        grade.manual_score, grade.needs_manual_grade = points, points is None
        sheet_cell(sheet.comments, question).manual_comment = comment
        gradebook.db.commit()


def sheet_cell(cells, question):
    return next(each for each in cells if each.name == f"written_{question}")


def waiting(places, learner):
    """Return the questions that formgrader lists as not marked."""
    with Gradebook(places.gradebook) as gradebook:
        sheet = gradebook.find_submission_notebook(STEM, STEM, learner)
        return {each.name for each in sheet.grades if each.needs_manual_grade}


def again(graded):
    folder, places = graded
    return run.grade_class(folder / "submitted", STEM, places, workers=1)[STEM]


def record(places, learner):
    return json.loads(places.graded(learner, STEM).read_text())["metadata"]["autograder"]


def total(folder, learner):
    with open(folder / "reports" / STEM / "scores.csv", encoding="utf-8-sig") as file:
        row = next(row for row in csv.DictReader(file) if row["learner"] == learner)
    return float(row["total"]), float(row["of"]) if "of" in row else float(row["points"])


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("ch1,why,Why?,because,1", "there is no chapter “ch1”"),
        (f"{STEM},Why not,Why?,because,1", "“Why not” is no name"),
        (f"{STEM},one_hot,Why?,because,1", "one_hot is an exercise"),
        (f"{STEM},why,,because,1", "“asks” is empty"),
        (f"{STEM},why,Why?,,1", "“criterion” is empty"),
        (f"{STEM},why,Why?,because,0", "0 points"),
        (f"{STEM},known,,because,2", "an answer to known should say that already"),
        (f"{STEM},why,Why?,because,two", "“two” is no number of points"),
        (f"{STEM},known,When?,because,1", "line 2 asks something else under known"),
        ("ch04_attention,known,,because,1", f"line 2 asks known in {STEM}"),
    ],
)
def test_a_row_that_is_not_clear_is_named(tmp_path, monkeypatch, row, told):
    monkeypatch.setattr(questions, "FILE", tmp_path / "written.csv")
    (tmp_path / "written.csv").write_text(f"{HEAD}{STEM},known,Why?,because,1\n{row}\n")
    with pytest.raises(CourseError, match=f"line 3: {told}"):
        questions.read_questions([STEM, "ch04_attention"], ["one_hot"])


def test_a_notebook_asks_and_does_not_tell_what_it_wants_to_read(graded):
    text = notebook_of(STEM).read_text()
    cells = written_in(nbformat.read(notebook_of(STEM), as_version=4))
    assert [cell.metadata.nbgrader.points for cell in cells.values()] == [3, 1]
    assert {cell.source for cell in cells.values()} == {ANSWER}
    assert "Why not the numbers 0, 1, 2" in text and "nearer" not in text.split("In words")[1]


def test_only_what_was_answered_waits_and_nothing_counts_before_it_is_marked(graded):
    folder, places = graded
    assert waiting(places, "ada") == {"written_why_one_hot"}
    assert waiting(places, "bob") == waiting(places, "fay") == set()
    assert waiting(places, "dot") == {"written_why_one_hot", "written_your_words"}
    full = sum(each.points for each in outcomes_of(record(places, "ada")).values())
    assert total(folder, "ada") == total(folder, "bob") == (full - 4, full)
    page = places.feedback("ada", STEM).read_text()
    assert "not marked yet" in page and "You handed this one in as it was" in page
    assert "wait for a mark" in (folder / "reports" / STEM / "report.html").read_text()


def test_an_answer_is_text_wherever_it_is_shown(graded):
    """A person who marks reads it in a browser that may do more than a learner's."""
    from nbconvert import HTMLExporter

    _, places = graded
    html, _ = HTMLExporter().from_filename(str(places.graded("ada", STEM)))
    for page in (html, places.feedback("ada", STEM).read_text()):
        assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    shown = written_in(nbformat.read(places.graded("ada", STEM), as_version=4))["why_one_hot"]
    assert shown.source.startswith("```text\n")


def test_the_rubric_is_for_who_marks_alone(graded):
    _, places = graded
    assert "no word is larger: 1" in places.graded("ada", STEM).read_text()
    assert "no word is larger" not in places.feedback("ada", STEM).read_text()


def test_a_mark_is_in_every_place_that_tells_one(graded, capsys):
    folder, places = graded
    before, full = total(folder, "ada")
    mark(places, "ada", "why_one_hot", 2.5, "Say more of <order>.")
    tally = again(graded)
    assert tally.graded == 0 and tally.settled.learners == ["ada"]
    assert total(folder, "ada") == (before + 2.5, full)
    page = places.feedback("ada", STEM).read_text()
    assert "2.5 of 3" in page and "Say more of &lt;order&gt;." in page
    capsys.readouterr()
    main(["explain", "ada", "--into", str(folder), "--gradebook", places.gradebook])
    said = capsys.readouterr().out
    assert f"{STEM}: {before + 2.5:g} of {full:g}" in said
    assert "2.5 of 3    why_one_hot" in said and "marked by a person: Say more of <order>." in said
    for name in ("canvas.csv", "moodle.csv"):
        assert f"{before + 2.5:g}" in (folder / "reports" / STEM / name).read_text()
    with Gradebook(places.gradebook) as gradebook:
        assert gradebook.find_submission(STEM, "ada").score == before + 2.5


def test_a_mark_for_one_member_is_everybodys(graded):
    folder, places = graded
    mark(places, "dot", "your_words", 1.0, "two animals")
    again(graded)
    assert total(folder, "dot") == total(folder, "eve")
    assert record(places, "eve")["written"]["your_words"]["comment"] == "two animals"
    assert waiting(places, "eve") == waiting(places, "dot") == {"written_why_one_hot"}
    assert again(graded).settled.learners == []


def test_a_regrade_keeps_marks_and_another_answer_takes_them_back(graded):
    folder, places = graded
    mark(places, "ada", "why_one_hot", 2.0)
    again(graded)
    before = total(folder, "ada")
    _, changes, failed, _ = regrade_class(STEM, places, workers=1, keep=True)
    assert (changes, failed) == ([], []) and total(folder, "ada") == before
    assert waiting(places, "ada") == set()
    assert record(places, "ada")["written"]["why_one_hot"]["answer"] == RIGHT
    hand_in_anew(folder, why_one_hot="Something else.", your_words="a, b")
    again(graded)
    assert total(folder, "ada")[0] == before[0] - 2
    assert waiting(places, "ada") == {"written_why_one_hot", "written_your_words"}
    hand_in_anew(folder, why_one_hot=RIGHT)
    again(graded)


def test_a_table_of_questions_that_is_not_clear_changes_nothing(graded, monkeypatch):
    """Also where it has been clear when the notebook was released."""
    folder, places = graded
    (folder / "unclear.csv").write_text(f"{HEAD}{STEM},why,Why?,because,two\n")
    monkeypatch.setattr(questions, "FILE", folder / "unclear.csv")
    hand_in_anew(folder, why_one_hot="Something else.")
    files = places.graded("ada", STEM), places.feedback("ada", STEM)
    before = [path.read_bytes() for path in files]
    try:
        with pytest.raises(CourseError, match="is not clear, so nothing was changed"):
            again(graded)
        assert [path.read_bytes() for path in files] == before
    finally:
        hand_in_anew(folder, why_one_hot=RIGHT)


def test_what_a_program_proposes_counts_when_a_person_has_entered_it(graded, capsys):
    folder, places = graded
    options = [STEM, "--into", str(folder), "--gradebook", places.gradebook]
    assert main(["assist", *options]) == 2
    assert "there is no autograder/private/assist.py" in capsys.readouterr().err
    (folder / "private" / "assist.py").write_text(
        "def propose(asks, rubric, answer):\n"
        "    assert answer != 'Because.', 'not this one'\n"
        "    return sum(points for _, points in rubric) - 0.5, f'{asks} <b>{answer}</b>'\n"
    )
    before = total(folder, "ada"), total(folder, "dot")
    assert main(["assist", *options]) == 1
    said = capsys.readouterr().out
    assert "dot  why_one_hot: AssertionError: not this one" in said and "1 failed" in said
    notebook = places.graded("ada", STEM).read_text()
    assert "Proposed by `assist.py`: 2.5 of 3" in notebook
    again(graded)
    assert (total(folder, "ada"), total(folder, "dot")) == before
    assert "Proposed" not in places.feedback("ada", STEM).read_text()
    assert main(["assist", *options]) == 1  # those that have a proposal are not asked again
    assert "0 proposed" in capsys.readouterr().out
    mark(places, "ada", "why_one_hot", 2.5)
    again(graded)
    assert total(folder, "ada")[0] == before[0][0] + 2.5
    mark(places, "ada", "why_one_hot", None)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 5, 'much'", "proposed 5; why_one_hot has from 0 to 3"),
        ("return 1", "propose should return points and a reason"),
        ("return float('nan'), ''", "proposed nan"),
    ],
)
def test_a_program_that_proposes_what_cannot_be_is_told(body, told):
    from autograder.desk.assist import proposal

    space = {}
    exec(f"def propose(asks, rubric, answer):\n    {body}", space)
    question = questions.Question(STEM, "why_one_hot", "Why?", (("a", 2.0), ("b", 1.0)))
    with pytest.raises(ValueError, match=told):
        proposal(space["propose"], question, "because")


def test_a_question_that_comes_in_the_middle_of_a_term(graded, monkeypatch, capsys):
    """`grade` says what to do, and `update` does it: marks stay, and nobody has answered it."""
    folder, places = graded
    again(graded)
    before, full = total(folder, "dot")
    with monkeypatch.context() as patch:
        use(patch, folder, f"{TABLE}{STEM},and_now,And now?,anything,2\n")
        with pytest.raises(CourseError, match="python -m autograder update"):
            again(graded)
        capsys.readouterr()
        assert main(["explain", "dot", "--into", str(folder)]) == 0
        said = capsys.readouterr().out
        assert f"{STEM}: {before:g} of {full:g}\n" in said
        assert "new in the release since: and_now (2 points); `python -m autograder update`" in said
        assert (
            main(["update", "--keep", "--into", str(folder), "--gradebook", places.gradebook]) == 0
        )
        again(graded)
        assert total(folder, "dot") == (before, full + 2)
    forget_release()
