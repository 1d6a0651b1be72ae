"""Deadlines in a class: who is late loses what the rule says, today's, and nobody's code is run for
it again.
"""

import csv
import json
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.course import ROOT, CourseError
from autograder.grading import run
from autograder.grading.gradebook import Scores
from autograder.grading.places import Places
from autograder.grading.regrade import regrade_class, settle_class
from autograder.term import late as late_module
from tests.conftest import hand_in, solved_notebook

pytestmark = [pytest.mark.xdist_group("late"), pytest.mark.timeout(600)]

STEM = "ch01_embeddings"
CLASS = {  # learner -> when they handed in
    "ada": "2026-11-30 22:58:00 UTC",
    "bob": "2026-12-02 10:00:00 UTC",
    "cy": "2026-12-02 10:00:00 UTC",
    "dot": None,
}
DEADLINES = f"""chapter,due,learner
{STEM},2026-11-30 23:59 Europe/Rome,
{STEM},2026-12-07 23:59 Europe/Rome,cy
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of four that was graded before anybody thought of deadlines."""
    folder = tmp_path_factory.mktemp("late")
    for learner, when in CLASS.items():
        path = hand_in(folder, learner, STEM, solved_notebook(STEM))
        if when:
            (path.parent / "timestamp.txt").write_text(when)
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    run.grade_class(folder / "submitted", STEM, places, workers=2)
    return folder, places


@pytest.fixture
def again(graded, monkeypatch, tmp_path):
    """Grade the class again with deadlines and settings; nothing may be graded."""
    folder, places = graded

    def grade(deadlines, settings, place=None, remark=lambda text: None):
        path = folder / "deadlines.csv"
        if deadlines is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(deadlines)
        configuration = tmp_path / "nbgrader_config.py"
        configuration.write_text(
            "c = get_config()\n"
            + "".join(f"c.LatePenalty.{name} = {value!r}\n" for name, value in settings.items())
        )
        monkeypatch.setattr(late_module.Late.of.__func__, "__defaults__", (configuration,))
        return run.grade_class(
            place or folder / "submitted", STEM, places, workers=1, remark=remark
        )[STEM]

    return grade


def told(graded):
    """Return of each learner what record, table and gradebook say."""
    folder, places = graded
    with open(folder / "reports" / STEM / "scores.csv", encoding="utf-8-sig") as file:
        totals = {row["learner"]: float(row["total"]) for row in csv.DictReader(file)}
    with Gradebook(places.gradebook) as gradebook:
        penalties = {
            each.student_id: each.late_submission_penalty or 0.0
            for each in gradebook.assignment_submissions(STEM)
        }
    kept = {}
    for learner in CLASS:
        record = json.loads(places.graded(learner, STEM).read_text())["metadata"]["autograder"]
        kept[learner] = record.get("late", {}).get("kept")
    return kept, totals, penalties


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("written", ["0001-01-01 00:00:00 UTC", "9999-12-31 23:59:59 UTC"])
def test_a_timestamp_at_an_end_of_time_is_its_learners_matter(graded, again, zone, written):
    """In another zone there is no such moment, and everybody waits for the class's tables."""
    folder, places = graded
    path = folder / "submitted" / "bob" / STEM / "timestamp.txt"
    usual, said = path.read_text(), []
    deadlines = f"chapter,due,learner\n{STEM},2026-11-30 23:59 {zone},\n"
    try:
        path.write_text(written)
        again(deadlines, {"a_day": 0.1}, remark=said.append)
        kept = told(graded)[0]
        assert set(kept) == set(CLASS) and kept["bob"] == 1.0
        assert any("timestamp" in each and "bob" in each and "year" in each for each in said)
        # what an earlier grader, or nbgrader, has taken into the gradebook
        with Scores(STEM, places.gradebook) as scores:
            scores.set_time("bob", datetime.fromisoformat(written[:19]))
        settle_class([STEM], places)
        assert told(graded)[0] == kept
    finally:
        path.write_text(usual)
        again(None, {})


def page(graded, learner):
    return graded[1].feedback(learner, STEM).read_text()


def test_a_deadline_costs_what_the_rule_says_and_no_code_runs_for_it(graded, again):
    full = told(graded)[1]["ada"]
    tally = again(DEADLINES, {"grace": 15, "a_day": 0.1, "floor": 0.5})
    assert (tally.graded, tally.before, len(tally.settled.charged)) == (0, 4, 4)
    kept, totals, penalties = told(graded)
    assert kept == {"ada": 1.0, "bob": 0.8, "cy": 1.0, "dot": 1.0}
    assert totals == pytest.approx({"ada": full, "bob": 0.8 * full, "cy": full, "dot": full})
    assert penalties == pytest.approx({"ada": 0, "bob": 0.2 * full, "cy": 0, "dot": 0})
    handed_in = "Handed in 1 day 11 hours late, on 2026-12-02 11:00 Europe/Rome"
    assert handed_in in page(graded, "bob")
    assert "it was due on 2026-11-30 23:59 Europe/Rome" in page(graded, "bob")
    assert "80 % of what you earned stays" in page(graded, "bob")
    assert "late" not in page(graded, "cy").split("<header>")[1].split("</header>")[0]
    report = (graded[0] / "reports" / STEM / "report.html").read_text()
    assert "1 day 11 hours late" in report


def test_what_is_late_is_worked_out_anew_and_never_twice(graded, again):
    full = told(graded)[1]["ada"]
    for _ in range(2):
        again(DEADLINES, {"a_day": 0.1})
        assert told(graded)[1]["bob"] == pytest.approx(0.8 * full)
    tally = again(DEADLINES, {"a_day": 0.25, "floor": 0.6})
    assert len(tally.settled.charged) == 1
    assert told(graded)[1]["bob"] == pytest.approx(0.6 * full)
    again(f"{DEADLINES}{STEM},2026-12-03 00:00 UTC,bob\n", {"a_day": 0.25})
    assert told(graded)[1]["bob"] == told(graded)[2]["bob"] + full == full


def test_without_the_table_everything_is_as_before(graded, again):
    again(DEADLINES, {"a_day": 0.1})
    again(None, {"a_day": 0.1})
    kept, totals, penalties = told(graded)
    assert len(set(totals.values())) == 1 and not any(penalties.values())
    assert set(kept.values()) == {None}


def test_a_score_that_a_person_wrote_loses_the_same_share(graded, again):
    again(DEADLINES, {"a_day": 0.1})
    with Gradebook(graded[1].gradebook) as gradebook:
        sheet = gradebook.find_submission_notebook(STEM, STEM, "bob")
        sheet.grades[0].manual_score = 0.0
        gradebook.db.commit()
        score = sheet.score
    again(DEADLINES, {"a_day": 0.1})
    with Gradebook(graded[1].gradebook) as gradebook:
        sheet = gradebook.find_submission_notebook(STEM, STEM, "bob")
        assert sheet.late_submission_penalty == pytest.approx(0.2 * score, abs=0.005)
        sheet.grades[0].manual_score = None
        gradebook.db.commit()


def test_graded_again_the_penalty_stays(graded, again):
    again(DEADLINES, {"a_day": 0.1})
    before = told(graded)
    regrade_class(STEM, graded[1], workers=2, keep=True)
    assert told(graded) == before
    assert "late" in page(graded, "bob")


def test_a_table_that_is_not_clear_changes_nothing(graded, again):
    again(DEADLINES, {"a_day": 0.1})
    before = told(graded)
    with pytest.raises(CourseError, match="line 2: nobody called “eve”"):
        again(f"chapter,due,learner\n{STEM},2026-10-30 23:59 UTC,eve\n", {"a_day": 0.5})
    with pytest.raises(CourseError, match="a_day is 5"):
        again(DEADLINES, {"a_day": 5})
    assert told(graded) == before


def test_the_time_in_a_zip_counts_only_where_its_zone_is_said(graded, again, tmp_path):
    remarks, archive = [], tmp_path / "collected.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for learner in CLASS:
            about = zipfile.ZipInfo(f"{learner}/{STEM}/{STEM}.ipynb", (2026, 12, 1, 0, 30, 0))
            content = (graded[0] / "submitted" / learner / STEM / f"{STEM}.ipynb").read_bytes()
            file.writestr(about, content)
    again(DEADLINES, {"a_day": 0.1}, archive, remarks.append)
    assert set(told(graded)[0].values()) == {1.0}
    assert "when 4 were handed in is not known" in remarks[-1]
    again(DEADLINES, {"a_day": 0.1, "file_times": "Europe/Rome"}, archive, remarks.append)
    assert told(graded)[0] == {"ada": 0.9, "bob": 0.9, "cy": 1.0, "dot": 0.9}
    assert len(remarks) == 1
    again(DEADLINES, {"a_day": 0.1, "file_times": "America/New_York"}, archive)
    assert told(graded)[0]["ada"] == 0.9  # 05:30 in UTC


def test_a_files_time_counts_only_where_it_is_believed(graded, again, tmp_path):
    flat = tmp_path / "flat"
    flat.mkdir()
    moment = datetime(2026, 12, 1, 22, 0, tzinfo=UTC).timestamp()
    for learner in CLASS:
        path = flat / f"{learner}.ipynb"
        path.write_bytes((graded[0] / "submitted" / learner / STEM / f"{STEM}.ipynb").read_bytes())
        os.utime(path, (moment, moment))
    again(DEADLINES, {"a_day": 0.1}, flat)
    assert set(told(graded)[0].values()) == {1.0}
    again(DEADLINES, {"a_day": 0.1, "file_times": "UTC"}, flat)
    assert told(graded)[0] == {"ada": 0.9, "bob": 0.9, "cy": 1.0, "dot": 0.9}


def test_without_a_timestamp_a_folders_file_tells_the_time_and_counts_where_it_is_believed(
    graded, again
):
    """The page's first arrangement, and learners who could write the timestamp themselves."""
    remarks = []
    submitted = graded[0] / "submitted"
    stamps = {path: path.read_text() for path in submitted.rglob("timestamp.txt")}
    moment = datetime(2026, 12, 1, 22, 0, tzinfo=UTC).timestamp()
    times = {path: path.stat().st_mtime for path in submitted.rglob("*.ipynb")}
    try:
        for path in stamps:
            path.unlink()
        for path in times:
            os.utime(path, (moment, moment))
        again(DEADLINES, {"a_day": 0.1}, remark=remarks.append)
        assert set(told(graded)[0].values()) == {1.0}
        assert (
            f"{STEM}: when 4 were handed in is not known, so nobody of them is late" in remarks[0]
        )
        again(DEADLINES, {"a_day": 0.1, "file_times": "UTC"}, remark=remarks.append)
        assert told(graded)[0] == {"ada": 0.9, "bob": 0.9, "cy": 1.0, "dot": 0.9}
        assert len(remarks) == 1
    finally:
        for path, text in stamps.items():
            path.write_text(text)
        for path, when in times.items():
            os.utime(path, (when, when))
    again(DEADLINES, {"a_day": 0.1}, remark=remarks.append)
    assert told(graded)[0] == {"ada": 1.0, "bob": 0.8, "cy": 1.0, "dot": 1.0}
    assert "when 1 was handed in" in remarks[1]


def test_without_a_folder_a_files_time_counts_as_little(graded, again, monkeypatch, tmp_path):
    """What was graded before there was a deadline has left a file's time in the gradebook."""
    folder, places = tmp_path / "own", Places(tmp_path / "own", f"sqlite:///{tmp_path / 'own.db'}")
    (folder / "flat").mkdir(parents=True)
    path = folder / "flat" / "ada.ipynb"
    path.write_bytes((graded[0] / "submitted" / "ada" / STEM / f"{STEM}.ipynb").read_bytes())
    moment = datetime(2026, 12, 1, 22, 0, tzinfo=UTC).timestamp()
    os.utime(path, (moment, moment))
    run.grade_class(folder / "flat", STEM, places, workers=1)
    (folder / "deadlines.csv").write_text(f"chapter,due\n{STEM},2026-11-30 23:59 UTC\n")
    remarks = []

    def late(**settings):
        again(DEADLINES, settings)  # writes the configuration
        settle_class([STEM], places, remarks.append)
        record = json.loads(places.graded("ada", STEM).read_text())["metadata"]["autograder"]
        return record["late"]["kept"]

    assert late(a_day=0.1) == 1.0
    assert len(remarks) == 1 and "when 1 was handed in is not known" in remarks[0]
    assert late(a_day=0.1, file_times="UTC") == 0.9
    assert late(a_day=0.1) == 1.0


def test_a_deadline_that_is_taken_away_is_said_nowhere_any_more(graded, again):
    """Also where it cost nobody anything."""
    for rows in (None, "chapter,due,learner\n"):
        again(DEADLINES, {})
        assert set(told(graded)[0].values()) == {1.0}
        tally = again(rows, {})
        assert len(tally.settled.charged) == 4
        assert set(told(graded)[0].values()) == {None}
        assert "due" not in page(graded, "bob").split("<header>")[1].split("</header>")[0]


def test_the_command_says_what_deadlines_changed(graded, again):
    again(None, {})
    (graded[0] / "deadlines.csv").write_text(DEADLINES)
    words = ["grade", str(graded[0] / "submitted"), "--into", str(graded[0]), "--workers", "1"]
    said = subprocess.run(
        [sys.executable, "-m", "autograder", *words], capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
    assert "Deadlines: what is said about the time of 4 has changed." in said.stdout


def test_nbgrader_takes_off_the_same_and_no_more(graded, tmp_path):
    """`nbgrader autograde`, then `grade` over it, then `nbgrader autograde` again."""
    for learner in ("ada", "bob", "cy", "dot"):
        path = hand_in(tmp_path, learner, STEM, solved_notebook(STEM))
        (path.parent / "timestamp.txt").write_text(CLASS[learner] or "")
    (path.parent / "timestamp.txt").unlink()  # dot's, whose file is bob's age
    moment = datetime(2026, 12, 2, 10, 0, tzinfo=UTC).timestamp()
    os.utime(path, (moment, moment))
    gradebook = f"sqlite:///{tmp_path / 'gradebook.db'}"
    autograde = [Path(sys.executable).parent / "nbgrader", "autograde", STEM, "--force"]
    autograde += [
        f"--CourseDirectory.{name}_directory={tmp_path / name}"
        for name in ("submitted", "autograded", "feedback")
    ]
    autograde += [f"--CourseDirectory.db_url={gradebook}", "--LatePenalty.a_day=0.1"]
    autograde += ["--LatePenalty.file_times=UTC"]

    def penalties():
        with Gradebook(gradebook) as opened:
            return {
                each.student_id: each.late_submission_penalty or 0.0
                for each in opened.assignment_submissions(STEM)
            }

    def graded_by_nbgrader():
        ran = subprocess.run(autograde, cwd=ROOT, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-2000:]
        return penalties()

    assert not any(graded_by_nbgrader().values())  # nothing is due; and now they are known
    (tmp_path / "deadlines.csv").write_text(DEADLINES)
    full = told(graded)[1]["ada"]
    lost = 0.2 * full
    expected = pytest.approx({"ada": 0, "bob": lost, "cy": 0, "dot": lost}, abs=0.005)
    assert graded_by_nbgrader() == expected
    configuration = tmp_path / "nbgrader_config.py"
    configuration.write_text(
        "c = get_config()\nc.LatePenalty.a_day = 0.1\nc.LatePenalty.file_times = 'UTC'\n"
    )
    late = late_module.Late.of(tmp_path, lambda: set(CLASS), configuration)
    places = Places(tmp_path, gradebook)
    with Scores(STEM, gradebook) as scores:
        late.charge(STEM, places, scores)
    assert penalties() == expected
    assert graded_by_nbgrader() == expected


def test_every_number_of_the_table_is_explained(graded, again, capsys):
    again(DEADLINES, {"a_day": 0.1})
    with Gradebook(graded[1].gradebook) as gradebook:
        sheet = gradebook.find_submission_notebook(STEM, STEM, "bob")
        by_hand = next(each for each in sheet.grades if each.cell.name == "check_one_hot")
        by_hand.manual_score = 0.0
        gradebook.db.commit()
    again(DEADLINES, {"a_day": 0.1})
    where = ["--into", str(graded[0]), "--gradebook", graded[1].gradebook]
    assert main(["explain", "bob", *where]) == 0
    told = capsys.readouterr().out
    with Gradebook(graded[1].gradebook) as gradebook:
        submission = gradebook.find_submission(STEM, "bob")
        final = submission.score - submission.late_submission_penalty
    first = told.splitlines()[0]
    assert float(first.split()[1]) == pytest.approx(final, abs=0.01)
    assert "written by hand" in told and "1 day 11 hours late" in told and "80% stays" in told
    for wrong in ("bobb", "Bob", "o"):
        assert main(["explain", wrong, *where]) == 2
        assert "did you mean bob?" in capsys.readouterr().err
    with Gradebook(graded[1].gradebook) as gradebook:
        sheet = gradebook.find_submission_notebook(STEM, STEM, "bob")
        for each in sheet.grades:
            each.manual_score = None
        gradebook.db.commit()


def test_lost_points_are_explained_case_by_case(graded, again, capsys, tmp_path):
    folder = tmp_path
    wrong = {"one_hot": "def one_hot(ids, vocab_size):\n    return None", "embed": None}
    hand_in(folder, "eve", STEM, solved_notebook(STEM, wrong))
    places = Places(folder, f"sqlite:///{folder / 'gradebook.db'}")
    run.grade_class(folder / "submitted", STEM, places, workers=1)
    assert main(["explain", "eve", "--into", str(folder), "--chapter", STEM]) == 0
    lines = capsys.readouterr().out.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.endswith(" one_hot"))
    assert lines[begin + 1].strip().startswith("one_hot(")  # what it does in the first case
    lost = []
    for line in lines[begin + 2 :]:
        if not line.strip().startswith("−"):
            break
        lost.append(float(line.split()[0].replace("−", "-")))
    points = float(lines[begin].split()[2])
    assert -sum(lost) == pytest.approx(points, rel=0.05)
    begin = next(i for i, line in enumerate(lines) if line.endswith(" embed"))
    assert lines[begin + 1].strip() == "−1  left as it came"  # and no list of all that it fails
    assert not lines[begin + 2].strip().startswith("−")


def test_whoever_reads_on_may_stop_reading(graded):
    where = ["--into", str(graded[0]), "--gradebook", graded[1].gradebook]
    command = [sys.executable, "-u", "-m", "autograder", "explain", "bob", *where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as explains:
        explains.stdout.close()
        assert explains.stderr.read() == b""
