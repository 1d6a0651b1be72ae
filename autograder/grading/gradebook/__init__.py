"""The one writer into nbgrader's gradebook: scores of graded notebooks, as `nbgrader autograde`
would store them.

nbgrader's own functions look a whole class up for each score; here a submission is one transaction
of a few rows, so that the last of 30,000 takes no longer than the first. Whatever a person wrote
into the gradebook, such as a manual score, stays.
"""

import contextlib
import copy
import importlib.util
import sys
import warnings
from functools import cached_property
from pathlib import Path

# nbgrader's own __init__ loads its web server's extensions, which takes longer than all that is
# needed here. Its other modules do without it.
if "nbgrader" not in sys.modules:
    sys.modules["nbgrader"] = importlib.util.module_from_spec(importlib.util.find_spec("nbgrader"))

import nbgrader.api
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.api import Notebook as ReleasedNotebook
from nbgrader.preprocessors import SaveCells
from nbgrader.utils import compute_checksum
from sqlalchemy import Boolean, and_, bindparam, insert, select, update
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SAWarning

from autograder.authoring.released import WRITTEN, is_written, released
from autograder.course import CourseError, chapters, notebook_of
from autograder.grading.gradebook.by_hand import ByHand
from autograder.reporting.learner_page import NO_RESPONSE

# made once: to put a statement together takes longer than to run it
MINE = (SubmittedAssignment.assignment_id == bindparam("assignment")) & (
    SubmittedAssignment.student_id == bindparam("learner")
)
FIND_SHEET = select(SubmittedNotebook.id).join(SubmittedAssignment).where(MINE)
FIND_STUDENT = select(Student.id).where(Student.id == bindparam("learner"))
SET_TIMESTAMP = update(SubmittedAssignment).where(MINE).values(timestamp=bindparam("timestamp"))
SET_GRADE = (
    update(Grade)
    .where((Grade.notebook_id == bindparam("sheet")) & (Grade.cell_id == bindparam("of")))
    .values(auto_score=bindparam("score"), needs_manual_grade=Grade.manual_score.is_not(None))
)
SET_WRITTEN = (
    update(Grade)
    .where((Grade.notebook_id == bindparam("sheet")) & (Grade.cell_id == bindparam("of")))
    .values(
        auto_score=bindparam("score"),
        needs_manual_grade=and_(Grade.manual_score.is_(None), bindparam("waits", type_=Boolean)),
    )
)
SET_COMMENT = (
    update(Comment)
    .where((Comment.notebook_id == bindparam("sheet")) & (Comment.cell_id == bindparam("of")))
    .values(auto_comment=bindparam("remark"))
)


class Scores(ByHand):
    """The scores of one chapter in a gradebook. Use it in a `with` statement.

    Args:
        stem: the chapter; its released cells are registered first.
        db_url: SQLAlchemy's URL of the gradebook, "sqlite:///..." or "postgresql://...".

    Raises:
        CourseError: at the first use, if the gradebook cannot be opened, or does not fit the
            release.
    """

    def __init__(self, stem, db_url):
        self.stem, self.db_url = stem, db_url

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if "gradebook" in self.__dict__:
            self.gradebook.close()

    @cached_property
    def gradebook(self):
        """The gradebook, opened when it is first needed: by then the first submissions are being
        graded.
        """
        with opening():
            register_release(self.stem, self.db_url)
            return Gradebook(self.db_url)

    @property
    def session(self):
        return self.gradebook.db

    @cached_property
    def release(self):
        """The ids of the assignment and of its notebook."""
        find = (
            select(Assignment.id, ReleasedNotebook.id)
            .join(ReleasedNotebook)
            .where(Assignment.name == self.stem)
        )
        return self.session.execute(find).one()

    @cached_property
    def cells(self):
        """The ids of the cells that carry points or ask for a solution, by kind and name."""
        find = select(BaseCell.id, BaseCell.type, BaseCell.name).where(
            BaseCell.notebook_id == self.release[1]
        )
        return {(kind, name): cell for cell, kind, name in self.session.execute(find)}

    @cached_property
    def stored(self):
        """The score of each learner who had one at the first look, dict[str, float]."""
        rows = select(SubmittedAssignment.student_id, Grade.auto_score).select_from(
            SubmittedAssignment
        )
        rows = (
            rows.join(SubmittedNotebook)
            .join(Grade)
            .where(SubmittedAssignment.assignment_id == self.release[0])
        )
        scores = {}
        for learner, score in self.session.execute(rows):
            scores[learner] = scores.get(learner, 0.0) + (score or 0.0)
        return scores

    @property
    def students(self):
        """The names of all learners that the gradebook knows."""
        return set(self.session.execute(select(Student.id)).scalars())

    def times(self):
        """Return when each learner handed in, in UTC without a zone, or None: dict by learner."""
        find = select(SubmittedAssignment.student_id, SubmittedAssignment.timestamp).where(
            SubmittedAssignment.assignment_id == self.release[0]
        )
        return {learner: when for learner, when in self.session.execute(find)}

    def set_time(self, learner, timestamp):
        """Say when a learner handed in; None where that is not known."""
        mine = {"assignment": self.release[0], "learner": learner}
        self.run(SET_TIMESTAMP, [{**mine, "timestamp": timestamp}])
        self.session.commit()

    def charged(self):
        """Return the names of those from whom something is taken off."""
        find = (
            select(SubmittedAssignment.student_id)
            .join(SubmittedNotebook)
            .where(SubmittedAssignment.assignment_id == self.release[0])
            .where(SubmittedNotebook.late_submission_penalty.is_not(None))
        )
        return set(self.session.execute(find).scalars())

    def charge(self, learner, kept):
        """Take off what a learner's being late costs, in place of what was taken off before.

        Args:
            kept: the share of the points that is kept.
        """
        sheet = self.sheet(learner)
        penalty = round(sheet.score * (1 - kept), 2) if kept < 1 else None
        if sheet.late_submission_penalty != penalty:
            sheet.late_submission_penalty = penalty
        self.session.commit()

    def take_away(self, learner):
        """Remove what there is of a learner in this chapter."""
        self.gradebook.remove_submission(self.stem, learner)

    def weigh(self, points):
        """Say what each graded cell counts; return what `times` does.

        Args:
            points: name of a cell -> points.
        """
        cells = self.session.query(GradeCell).filter(GradeCell.notebook_id == self.release[1])
        for cell in cells:
            if cell.max_score != points.get(cell.name, cell.max_score):
                cell.max_score = points[cell.name]
        self.session.commit()
        return self.times()

    def store(self, learner, notebook, timestamp=None):
        """Store the scores of a graded notebook, all of them or, if this is interrupted, none.

        Args:
            notebook: as `autograder.grading.grade.grade_notebook` leaves it.
            timestamp: when it was handed in, in UTC without a zone; None leaves what is there.
        """
        grades, comments, answers = [], [], []
        written = notebook.metadata["autograder"].get("written", {})
        scores = {cell["cell"]: cell["score"] for cell in notebook.metadata["autograder"]["cells"]}
        for cell in notebook.cells:
            about = cell.metadata.get("nbgrader", {})
            if is_written(cell):
                blank = written[about["grade_id"].removeprefix(WRITTEN)]["blank"]
                answers.append(
                    {
                        "of": self.cells["GradeCell", about["grade_id"]],
                        "score": 0.0 if blank else None,
                        "waits": not blank,
                    }
                )
            elif about.get("grade"):
                grades.append(
                    {
                        "of": self.cells["GradeCell", about["grade_id"]],
                        "score": scores[about["grade_id"]],
                    }
                )
            elif about.get("solution"):
                remark = NO_RESPONSE if about.get("checksum") == compute_checksum(cell) else None
                comments.append(
                    {"of": self.cells["SolutionCell", about["grade_id"]], "remark": remark}
                )
        sheet = self.sheet_of(learner, timestamp)
        self.run(SET_GRADE, [{"sheet": sheet, **grade} for grade in grades])
        self.run(SET_WRITTEN, [{"sheet": sheet, **answer} for answer in answers])
        self.run(SET_COMMENT, [{"sheet": sheet, **comment} for comment in comments])
        self.session.commit()

    def sheet_of(self, learner, timestamp):
        """Return the id of a learner's notebook in the gradebook; where there is none, make it,
        with empty grades and comments.
        """
        assignment, notebook = self.release
        mine = {"assignment": assignment, "learner": learner}
        sheet = self.session.execute(FIND_SHEET, mine).scalar()
        if sheet is not None:
            if timestamp is not None:
                self.run(SET_TIMESTAMP, [{**mine, "timestamp": timestamp}])
            return sheet
        if self.session.execute(FIND_STUDENT, mine).scalar() is None:
            self.run(insert(Student), [{"id": learner}])
        submitted = new_uuid()
        about = {
            "id": submitted,
            "assignment_id": assignment,
            "student_id": learner,
            "timestamp": timestamp,
        }
        self.run(insert(SubmittedAssignment), [about])
        sheet = new_uuid()
        about = {"id": sheet, "notebook_id": notebook, "assignment_id": submitted}
        self.run(insert(SubmittedNotebook), [about])
        for kind, table in (("GradeCell", Grade), ("SolutionCell", Comment)):
            of = [cell for (each, _), cell in self.cells.items() if each == kind]
            self.run(
                insert(table),
                [{"id": new_uuid(), "cell_id": cell, "notebook_id": sheet} for cell in of],
            )
        return sheet

    def run(self, statement, rows):
        """Run a statement for each of some rows, as one; there may be none."""
        if rows:
            self.session.connection().execute(statement, rows)


def register_release(stem, db_url, due=None):
    """Tell the gradebook of an assignment's cells and points, as the released notebook has them.

    Args:
        due: the first time at which it is due for anybody; None leaves what is there.

    Raises:
        CourseError: if there is no such chapter, or the gradebook holds submissions to a release
            with other cells.
    """
    if stem not in chapters() or not notebook_of(stem).exists():
        raise CourseError(f"there is no released notebook for {stem!r}; `make notebooks` makes it")
    with Gradebook(db_url) as gradebook:
        given = {} if due is None else {"duedate": due.replace(tzinfo=None)}
        gradebook.update_or_create_assignment(stem, **given)
    resources = {"nbgrader": {"notebook": stem, "assignment": stem, "db_url": db_url}}
    saver = SaveCells()
    try:
        saver.preprocess(copy.deepcopy(released(stem)), resources)
    except RuntimeError:
        raise CourseError(
            f"the gradebook holds submissions to an earlier release of {stem}, with other"
            " exercises; `python -m autograder update` says what changes for whom, and brings it up"
            " to date"
        ) from None


@contextlib.contextmanager
def opening():
    """Say why a gradebook that is opened in the block could not be.

    Raises:
        CourseError: instead of what the database raises.
    """
    open_quietly()
    try:
        yield
    except (OperationalError, ArgumentError, NoSuchModuleError, ImportError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise CourseError(f"the gradebook could not be opened: {reason}") from None


def opened(db_url):
    """Return a gradebook as it is, whatever release it holds."""
    with opening():
        return Gradebook(db_url)


def students_in(db_url):
    """Return the names of all learners that a gradebook knows."""
    with opened(db_url) as gradebook:
        return set(gradebook.db.execute(select(Student.id)).scalars())


def open_quietly():
    """Keep nbgrader's warnings, of which none is a fault, to itself, and spare it a program that
    takes two seconds.
    """
    warnings.filterwarnings("ignore", category=SAWarning)
    nbgrader.api.get_alembic_version = version_of_tables


def version_of_tables():
    """Return the version that nbgrader notes in a fresh gradebook, as the program `alembic heads`
    prints it.
    """
    from alembic.config import Config  # which only a fresh gradebook needs
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(nbgrader.__file__).parent / "alembic"))
    return ScriptDirectory.from_config(config).get_current_head()
