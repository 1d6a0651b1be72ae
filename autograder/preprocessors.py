"""The parts that `nbgrader_config.py` plugs into nbgrader, so that plain `nbgrader autograde` is already the careful one."""

from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.preprocessors import NbGraderPreprocessor, SaveCells
from traitlets import Float

from autograder.course import CourseError, chapters, notebook_of
from autograder.grade import Limits, grade_notebook
from autograder.submission import read_submission, rebuild


class SubmissionExporter(NotebookExporter):
    """Reads what learners handed in, for `nbgrader autograde`.

    nbgrader opens a submission before any preprocessor runs, and gives up on one that it cannot parse; here every submission becomes a
    notebook with the release's structure, and one that cannot be read becomes a blank one with the reason.
    """

    def __init__(self, **options):
        super().__init__(**options)
        coursedir = self.parent.coursedir
        register_release(coursedir.assignment_id, coursedir.db_url)
        expect_every_notebook(self.parent.assignments, coursedir.assignment_id)

    def from_filename(self, filename, resources=None, **options):
        if not self.parent._sanitizing:  # the second pass reads what the first one wrote
            return super().from_filename(filename, resources=resources, **options)
        path = Path(filename)
        resources = {**(resources or {}), "metadata": {"name": path.stem, "path": str(path.parent)}}
        return self.from_notebook_node(rebuild(path.stem, read_submission(path)), resources=resources, **options)


class GradeExercises(NbGraderPreprocessor):
    """Stands in for nbgrader's `Execute`: runs a submission and writes verdicts and scores into its graded cells."""

    cell_timeout = Float(Limits.cell, help="Seconds that one cell may run").tag(config=True)
    case_timeout = Float(Limits.case, help="Seconds that one question to a function may take").tag(config=True)
    exercise_timeout = Float(Limits.exercise, help="Seconds for all questions of one check or hidden cell").tag(
        config=True
    )
    submission_timeout = Float(Limits.submission, help="Seconds for a whole submission").tag(config=True)

    def preprocess(self, nb, resources):
        about = resources["nbgrader"]
        limits = Limits(self.cell_timeout, self.case_timeout, self.exercise_timeout, self.submission_timeout)
        grade_notebook(nb, about["notebook"], about["student"], limits)
        return nb, resources


def register_release(stem, db_url):
    """Tell the gradebook of an assignment's cells and points, as the released notebook has them.

    Raises:
        CourseError: if there is no such chapter, or the gradebook holds submissions to a release with other cells.
    """
    from nbgrader.api import Gradebook

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


def expect_every_notebook(assignments, stem):
    """Let each submission have exactly the assignment's notebook, also where it was handed in under another name.

    Args:
        assignments: nbgrader's dictionary from a submission's folder to the notebooks found in it; changed in place.
    """
    for folder in assignments:
        assignments[folder] = [str(Path(folder) / f"{stem}.ipynb")]
