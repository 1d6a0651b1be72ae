"""What a person writes into the gradebook: a mark for an answer in words, or another score than the
grader's.
"""

from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import select

from autograder.authoring.released import WRITTEN


class ByHand:
    """The part of Scores that has to do with it."""

    def decide(self, learner, before, after):
        """Write by hand the scores that an instructor has decided on, in place of those that were
        decided before; what somebody else wrote stays.

        Args:
            before, after: name of a cell -> its score.
        """
        if not before and not after:
            return
        for grade in self.sheet(learner).grades:
            wanted = after.get(grade.cell.name)
            ours = grade.manual_score in (None, before.get(grade.cell.name))
            if grade.cell.name in {**before, **after} and (ours or wanted is not None):
                grade.manual_score, grade.needs_manual_grade = wanted, False
        self.session.commit()

    def marks(self):
        """Return what formgrader says of answers in words: learner -> name of the question ->
        (score, or None where nobody has marked this answer, comment, points).
        """
        if not any(name.startswith(WRITTEN) for kind, name in self.cells if kind == "GradeCell"):
            return {}
        columns = (Grade.score, Grade.needs_manual_grade, GradeCell.max_score)
        said = {
            (learner, name): comment or ""
            for learner, name, comment in self.told(Comment, BaseCell, Comment.manual_comment)
        }
        found = {}
        for learner, name, score, waits, points in self.told(Grade, GradeCell, *columns):
            mark = None if waits else score, said.get((learner, name), ""), points
            found.setdefault(learner, {})[name.removeprefix(WRITTEN)] = mark
        return found

    def told(self, table, cell, *columns):
        """Return (learner, name of the cell, ...) of each answer in words of the chapter, with some
        columns of a table that tells of it.
        """
        find = (
            select(SubmittedAssignment.student_id, cell.name, *columns)
            .select_from(SubmittedAssignment)
            .join(SubmittedNotebook)
            .join(table)
            .join(cell, table.cell_id == cell.id)
            .where(SubmittedAssignment.assignment_id == self.release[0])
            .where(cell.name.startswith(WRITTEN, autoescape=True))
        )
        return self.session.execute(find)

    def mark(self, learner, marks):
        """Give a learner the marks of somebody of the same group.

        Args:
            marks: as `marks` returns them of one learner.
        """
        marks = {f"{WRITTEN}{name}": mark for name, mark in marks.items()}
        sheet = self.sheet(learner)
        for grade in sheet.grades:
            if grade.name in marks:
                grade.manual_score, grade.extra_credit = marks[grade.name][0], None
                grade.needs_manual_grade = grade.manual_score is None
        for comment in sheet.comments:
            if comment.name in marks:
                comment.manual_comment = marks[comment.name][1]
        self.session.commit()

    def unmark(self, learner, names):
        """Take back the marks of questions that a learner has answered anew; comments stay.

        Args:
            names: of the questions.
        """
        for grade in self.sheet(learner).grades if names else ():
            if grade.name.removeprefix(WRITTEN) in names:
                grade.manual_score = grade.extra_credit = None
        self.session.commit()

    def sheet(self, learner):
        """Return a learner's notebook in the gradebook."""
        return self.gradebook.find_submission_notebook(self.stem, self.stem, learner)
