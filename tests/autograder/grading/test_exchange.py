"""nbgrader's exchange: each page gets the name under which its learner looks for it, and no file that
came beside a submission does harm.
"""

import json
import os
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import notebook_hash
from traitlets.config.loader import PyFileConfigLoader

from autograder.course import ROOT, notebook_of
from autograder.grading.handed_in.folders import from_folder
from autograder.grading.nbgrader_plugin import ReleaseFeedback

STEM = "ch04_attention"
SECRET = "5ec7e7" * 21 + "00"  # as long as nbgrader's own


class Course:
    """A course in which learners have handed in, and were graded."""

    def __init__(self, folder):
        self.folder, self.exchange = folder, folder / "exchange"
        self.exchange.mkdir()
        self.exchange.chmod(0o777)

    def hand_in(self, learner, secret=SECRET):
        """Hand in and be graded; return the folder of what was handed in."""
        handed_in = self.folder / "submitted" / learner / STEM
        handed_in.mkdir(parents=True)
        (handed_in / f"{STEM}.ipynb").write_bytes(notebook_of(STEM).read_bytes())
        if secret is not None:
            (handed_in / "submission_secret.txt").write_text(secret)
        record = {"notebook": from_folder(handed_in, learner, STEM).read().sha256}
        for kind, name, text in (
            ("autograded", f"{STEM}.ipynb", json.dumps({"metadata": {"autograder": record}})),
            ("feedback", f"{STEM}.html", f"the page of {learner}"),
        ):
            place = self.folder / kind / learner / STEM
            place.mkdir(parents=True)
            (place / name).write_text(text)
        return handed_in

    def release(self, **options):
        """Release the feedback; return name -> text of each page in the exchange."""
        coursedir = CourseDirectory(
            root=str(self.folder), course_id="attention", assignment_id=STEM, **options
        )
        release = ReleaseFeedback(coursedir=coursedir, authenticator=Authenticator())
        release.root = str(self.exchange)
        release.start()
        pages = (self.exchange / "attention" / "feedback").iterdir()
        return {page.name: page.read_text() for page in pages}


def name_for(secret):
    return f"{notebook_hash(secret=secret, notebook_id=STEM)}.html"


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def test_each_page_is_where_its_learner_looks_for_it(course):
    course.hand_in("ada")
    course.hand_in("bob [2]", "another")
    assert course.release() == {
        name_for(SECRET): "the page of ada",
        name_for("another"): "the page of bob [2]",
    }


def test_who_is_left_out_gets_nothing(course):
    course.hand_in("ada")
    course.hand_in("bob", "another")
    assert list(course.release(student_id_exclude="ada")) == [name_for("another")]


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def link(path):
    path.unlink()
    path.symlink_to("/etc/hostname")


def too_long(path):
    path.write_text("x" * 10_000)


def no_text(path):
    path.write_bytes(b"\xff" * 10)


@pytest.mark.parametrize("spoil", [Path.unlink, pipe, link, too_long, no_text])
def test_a_secret_that_is_none_holds_up_nobody_else(course, spoil, caplog):
    spoil(course.hand_in("ada") / "submission_secret.txt")
    course.hand_in("bob", "another")
    assert list(course.release()) == [name_for("another")]


def test_what_was_handed_in_anew_waits_for_its_own_page(course):
    handed_in = course.hand_in("ada")
    (handed_in / "submission_secret.txt").write_text("of the second time")
    (handed_in / f"{STEM}.ipynb").write_text(notebook_of(STEM).read_text() + "\n\n")
    assert course.release() == {}


def test_the_configuration_names_it():
    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()
    module = f"{ReleaseFeedback.__module__}.{ReleaseFeedback.__name__}"
    assert config.ExchangeFactory.release_feedback == module
