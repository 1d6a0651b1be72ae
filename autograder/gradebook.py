"""The one writer into nbgrader's gradebook: scores of graded notebooks, as `nbgrader autograde` would store them.

nbgrader's own functions look a whole class up for each score; here a submission is one transaction of a few rows, so that the last of
30,000 takes no longer than the first. Whatever a person wrote into the gradebook, such as a manual score, stays.
"""

import warnings
from pathlib import Path

import nbformat
import nbgrader.api
from alembic.config import Config
from alembic.script import ScriptDirectory
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.api import Notebook as ReleasedNotebook
from nbgrader.preprocessors import SaveCells
from nbgrader.utils import compute_checksum
from sqlalchemy import insert, select, update
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError, SAWarning

from autograder.course import CourseError, chapters, notebook_of
from autograder.feedback import NO_RESPONSE


class Scores:
    """The scores of one chapter in a gradebook. Use it in a `with` statement.

    Args:
        stem: the chapter; its released cells are registered first.
        db_url: SQLAlchemy's URL of the gradebook, "sqlite:///..." or "postgresql://...".

    Raises:
        CourseError: if the gradebook cannot be opened, or does not fit the release.
    """

    def __init__(self, stem, db_url):
        self.stem, self.db_url = stem, db_url

    def __enter__(self):
        open_quietly()
        try:
            register_release(self.stem, self.db_url)
            self.gradebook = Gradebook(self.db_url)
        except (OperationalError, ArgumentError, NoSuchModuleError, ImportError) as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise CourseError(f"the gradebook could not be opened: {reason}") from None
        find = select(Assignment.id, ReleasedNotebook.id).join(ReleasedNotebook).where(Assignment.name == self.stem)
        self.assignment, self.notebook = self.session.execute(find).one()
        cells = select(BaseCell.id, BaseCell.type, BaseCell.name).where(BaseCell.notebook_id == self.notebook)
        self.cells = {(kind, name): cell for cell, kind, name in self.session.execute(cells)}
        return self

    def __exit__(self, *exception):
        self.gradebook.close()

    @property
    def session(self):
        return self.gradebook.db

    def stored(self):
        """Return the score of each learner who has one.

        Returns:
            dict[str, float].
        """
        rows = select(SubmittedAssignment.student_id, Grade.auto_score).select_from(SubmittedAssignment)
        rows = rows.join(SubmittedNotebook).join(Grade).where(SubmittedAssignment.assignment_id == self.assignment)
        scores = {}
        for learner, score in self.session.execute(rows):
            scores[learner] = scores.get(learner, 0.0) + (score or 0.0)
        return scores

    def store(self, learner, notebook, timestamp=None):
        """Store the scores of a graded notebook, all of them or, if this is interrupted, none.

        Args:
            notebook: as `autograder.grade.grade_notebook` leaves it.
            timestamp: when it was handed in, in UTC without a zone; None leaves what is there.
        """
        scores = {cell["cell"]: cell["score"] for cell in notebook.metadata["autograder"]["cells"]}
        sheet = self.sheet_of(learner, timestamp)
        for cell in notebook.cells:
            about = cell.metadata.get("nbgrader", {})
            if about.get("grade"):
                where = (Grade.notebook_id == sheet) & (Grade.cell_id == self.cells["GradeCell", about["grade_id"]])
                manual = Grade.manual_score.is_not(None)
                values = {"auto_score": scores[about["grade_id"]], "needs_manual_grade": manual}
                self.session.execute(update(Grade).where(where).values(values))
            elif about.get("solution"):
                where = (Comment.notebook_id == sheet) & (
                    Comment.cell_id == self.cells["SolutionCell", about["grade_id"]]
                )
                remark = NO_RESPONSE if about.get("checksum") == compute_checksum(cell) else None
                self.session.execute(update(Comment).where(where).values(auto_comment=remark))
        self.session.commit()

    def sheet_of(self, learner, timestamp):
        """Return the id of a learner's notebook in the gradebook; where there is none, make it, with empty grades and comments."""
        mine = (SubmittedAssignment.assignment_id == self.assignment) & (SubmittedAssignment.student_id == learner)
        found = select(SubmittedNotebook.id).join(SubmittedAssignment).where(mine)
        sheet = self.session.execute(found).scalar()
        if sheet is not None:
            if timestamp is not None:
                self.session.execute(update(SubmittedAssignment).where(mine).values(timestamp=timestamp))
            return sheet
        if self.session.execute(select(Student.id).where(Student.id == learner)).scalar() is None:
            self.session.execute(insert(Student).values(id=learner))
        submitted = self.add(
            SubmittedAssignment, assignment_id=self.assignment, student_id=learner, timestamp=timestamp
        )
        sheet = self.add(SubmittedNotebook, notebook_id=self.notebook, assignment_id=submitted)
        for (kind, _), cell in self.cells.items():
            self.add({"GradeCell": Grade, "SolutionCell": Comment}[kind], cell_id=cell, notebook_id=sheet)
        return sheet

    def add(self, table, **values):
        """Insert a row and return its id."""
        return self.session.execute(insert(table).values(**values)).inserted_primary_key[0]


def register_release(stem, db_url):
    """Tell the gradebook of an assignment's cells and points, as the released notebook has them.

    Raises:
        CourseError: if there is no such chapter, or the gradebook holds submissions to a release with other cells.
    """
    if stem not in chapters() or not notebook_of(stem).exists():
        raise CourseError(f"there is no released notebook for {stem!r}; `make notebooks` makes it")
    with Gradebook(db_url) as gradebook:
        gradebook.update_or_create_assignment(stem)
    resources = {"nbgrader": {"notebook": stem, "assignment": stem, "db_url": db_url}}
    saver = SaveCells()
    try:
        saver.preprocess(nbformat.read(notebook_of(stem), as_version=4), resources)
    except RuntimeError:
        raise CourseError(
            f"the gradebook holds submissions to an earlier release of {stem}, with other exercises; "
            "move autograder/gradebook.db aside and grade again"
        ) from None


def open_quietly():
    """Keep nbgrader's warnings, of which none is a fault, to itself, and spare it a program that takes two seconds."""
    warnings.filterwarnings("ignore", category=SAWarning)
    nbgrader.api.get_alembic_version = version_of_tables


def version_of_tables():
    """Return the version that nbgrader notes in a fresh gradebook, as the program `alembic heads` prints it."""
    config = Config()
    config.set_main_option("script_location", str(Path(nbgrader.__file__).parent / "alembic"))
    return ScriptDirectory.from_config(config).get_current_head()
