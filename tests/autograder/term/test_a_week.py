"""A week of a term as it happens: later and earlier files, new names, cells that stop, and tables
that change while nothing is handed in.
"""

import csv
import os
import shutil
import zipfile
from types import SimpleNamespace

import pytest

from autograder.course import CourseError
from autograder.desk.explain import explain, lines_of, why_not_more
from autograder.grading import command, run
from autograder.grading.handed_in.intake import find_submissions
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class
from autograder.reporting.record import Outcome
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("week"), pytest.mark.timeout(600)]

STEM = "ch01_embeddings"


def zipped(folder, name, year, **notebooks):
    """Write a zip of notebooks that were all handed in on the first of March."""
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        for learner, notebook in notebooks.items():
            member = zipfile.ZipInfo(f"{learner}_{STEM}.ipynb", (year, 3, 1, 12, 0, 0))
            archive.writestr(member, notebook_text(notebook))
    return folder / f"{name}.zip"


def notebook_text(notebook):
    import nbformat

    return nbformat.writes(notebook)


def rows(folder):
    with open(folder / "reports" / STEM / "scores.csv", encoding="utf-8-sig") as file:
        return {row["learner"]: float(row["total"]) for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """A class whose first zip was graded, then a later one of Ada's, then the first one again."""
    folder = tmp_path_factory.mktemp("week")
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    stopped = solved_notebook(STEM, {"embed": "def embed(token_ids, table)\n    return 1"})
    first = zipped(folder, "first", 2025, ada=solved_notebook(STEM), bob=stopped)
    second = zipped(folder, "second", 2026, ada=solved_notebook(STEM, {"one_hot": None}))
    third = zipped(folder, "third", 2026, boob=solved_notebook(STEM))
    tallies = [
        run.grade_class(each, None, places, workers=1)[STEM]
        for each in (first, second, first, third)
    ]
    return SimpleNamespace(folder=folder, places=places, tallies=tallies)


def test_what_was_handed_in_later_stays_when_an_earlier_zip_is_graded_again(week):
    graded = [(tally.graded, tally.older) for tally in week.tallies]
    assert graded == [(2, []), (1, []), (0, ["ada"]), (1, [])]
    assert rows(week.folder)["ada"] == 6
    said = command.summary_of(STEM, week.tallies[2])
    assert "Not graded, because what was handed in later has been: ada." in said


def test_a_later_file_stays_where_deadlines_believe_no_files_time(tmp_path):
    """Two times by one clock say which is earlier, though not whether anybody was late."""
    (tmp_path / "deadlines.csv").write_text(f"chapter,due\n{STEM},2026-11-30 23:59 UTC\n")
    places = Places(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    first = zipped(tmp_path, "first", 2025, ada=solved_notebook(STEM))
    second = zipped(tmp_path, "second", 2026, ada=solved_notebook(STEM, {"one_hot": None}))
    run.grade_class(first, None, places, workers=1)
    run.grade_class(second, None, places, workers=1)
    regrade_class(STEM, places, workers=1, keep=True)  # which forgets no file's time
    assert run.grade_class(first, None, places, workers=1)[STEM].older == ["ada"]
    assert rows(tmp_path)["ada"] == 6
    shutil.rmtree(tmp_path / "autograded" / "ada")  # as the summary says: the earlier one, please
    run.grade_class(first, None, places, workers=1)
    assert rows(tmp_path)["ada"] == 8


def test_who_cannot_be_read_is_named_with_the_reason_each_time(tmp_path):
    places = Places(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    hand_in(tmp_path, "ada", STEM, "{")
    for learner, name in (("bob", "answers.pdf"), ("cy", f"{STEM}.ipynb")):
        hand_in(tmp_path, learner, STEM, solved_notebook(STEM), name=name)
    for _ in range(2):
        said = command.summary_of(STEM, run.grade_class(tmp_path / "submitted", None, places)[STEM])
        assert "\nNothing to grade, so 0 points (2):\n" in said
        assert f"\n  ada: {STEM}.ipynb is not a notebook: its JSON breaks off" in said
        assert (
            f"\n  bob: there was no {STEM}.ipynb in what was handed in, only answers.pdf;" in said
        )
    with open(tmp_path / "reports" / STEM / "scores.csv", encoding="utf-8-sig") as file:
        notes = {row["learner"]: row["note"] for row in csv.DictReader(file)}
    assert notes == {"ada": "nothing to grade", "bob": "nothing to grade", "cy": ""}


def test_a_name_that_the_class_did_not_have_is_told(week):
    assert [tally.new for tally in week.tallies] == [[], [], [], ["boob"]]
    said = command.summary_of(STEM, week.tallies[3])
    assert "Names that this class did not have before: boob." in said


def test_in_the_first_run_nobody_is_new_in_a_second_chapter(tmp_path):
    places = Places(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    for learner, stems in {"ada": (STEM, "ch04_attention"), "bob": ("ch04_attention",)}.items():
        for stem in stems:
            hand_in(tmp_path, learner, stem, "{")
    tallies = run.grade_class(tmp_path / "submitted", None, places, workers=1)
    assert [tally.new for tally in tallies.values()] == [[], []]


def test_in_a_folder_an_older_file_is_left_out_as_in_a_zip(tmp_path):
    places = Places(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    path = hand_in(tmp_path, "ada", STEM, solved_notebook(STEM))
    run.grade_class(tmp_path / "submitted", None, places, workers=1)
    path.write_text(notebook_text(solved_notebook(STEM, {"one_hot": None})))
    os.utime(path, (10**9, 10**9))
    tally = run.grade_class(tmp_path / "submitted", None, places, workers=1)[STEM]
    assert (tally.graded, tally.older) == (0, ["ada"])


def test_a_cell_that_stops_is_one_line_and_the_report_counts_it(week, capsys):
    options = {"learner": "bob", "chapter": "ch01", "into": str(week.folder), "gradebook": None}
    explain(SimpleNamespace(**options))
    said = capsys.readouterr().out
    [line] = [each for each in said.splitlines() if "SyntaxError" in each]
    assert line.strip().startswith("−1  embed is not defined, because its cell stopped with")
    page = (week.folder / "reports" / STEM / "report.html").read_text(encoding="utf-8")
    assert "of 1 the cell defines nothing" in page


def test_a_function_that_never_answers_right_is_told_by_its_first_case():
    cases = [
        {"title": title, "weight": 1, "passed": False, "hidden": False, "message": message}
        for title, message in (("one", "f never ends."), ("two", "f was not tried again."))
    ]
    assert why_not_more(Outcome(points=4, cases=tuple(cases))) == [
        "f never ends.",
        "−1  one",
        "−1  two",
    ]


def test_what_could_not_be_read_is_not_said_to_be_left_as_it_came():
    case = {"title": "it can be read", "weight": 1, "passed": False, "message": "damaged"}
    cell = {"cell": "check_embed", "exercise": "embed", "points": 1, "score": 0.0, "cases": [case]}
    told = lines_of(STEM, {"problem": "it is damaged", "cells": [cell]}, {}, {"embed"})
    assert "  nothing could be graded: it is damaged" in told
    assert not any("left as it came" in line for line in told)


def test_without_a_folder_what_lies_in_the_class_s_own_is_graded(tmp_path):
    """And in no other class's, such as the course's own."""
    hand_in(tmp_path, "ada", STEM, solved_notebook(STEM))
    places = Places(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    options = SimpleNamespace(folder=None)
    command.grade(options, STEM, places, {"workers": 1})
    assert rows(tmp_path) == {"ada": 8}
    with pytest.raises(CourseError, match=f"there is no {tmp_path / 'new' / 'submitted'}"):
        command.grade(options, STEM, Places(tmp_path / "new"), {"workers": 1})


def test_a_table_is_applied_without_a_folder_of_submissions(week):
    table = week.folder / "course.csv"
    table.write_text(f"chapter,exercise,points\n{STEM},embed,6\n")
    options = SimpleNamespace(folder=None)
    [said], all_graded = command.grade(options, None, week.places, {})
    assert all_graded and "Points: 3 now count as course.csv says." in said
    assert rows(week.folder)["ada"] == 6 - 1 + 6
    table.unlink()
    command.grade(options, None, week.places, {})
    assert rows(week.folder)["ada"] == 6


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        (f"carol_{STEM} (1).ipynb", "carol"),
        (f"{STEM}_carol(12).ipynb", "carol"),
        ("carol (2).ipynb", "carol"),
        ("carol.ipynb", "carol"),
    ],
)
def test_what_a_browser_adds_is_no_part_of_a_name(tmp_path, name, learner):
    (tmp_path / name).write_text(notebook_text(solved_notebook(STEM)))
    assert [each.learner for each in find_submissions(tmp_path, STEM)] == [learner]


def test_what_a_program_left_and_what_tells_nobody_is_no_learner(tmp_path):
    for name in ("ada.ipynb", "__MACOSX/._ada.ipynb", "._ada.ipynb", f"{STEM}.ipynb"):
        path = tmp_path / name
        os.makedirs(path.parent, exist_ok=True)
        path.write_text(notebook_text(solved_notebook(STEM)))
    remarks = []
    assert [each.learner for each in find_submissions(tmp_path, None, remarks.append)] == ["ada"]
    assert remarks == [
        f"not graded, because their names do not say whose they are: {STEM}.ipynb; call them"
        " <learner>.ipynb"
    ]


def test_a_file_of_one_time_is_graded_anew(tmp_path):
    """Nobody can say which is older, so the one that is named counts, as it always did."""
    places = Places(tmp_path, f"sqlite:///{tmp_path / 'gradebook.db'}")
    for notebook in (solved_notebook(STEM), solved_notebook(STEM, {"one_hot": None})):
        zipped(tmp_path, "class", 2026, ada=notebook)
        run.grade_class(tmp_path / "class.zip", None, places, workers=1)
    assert rows(tmp_path)["ada"] == 6
