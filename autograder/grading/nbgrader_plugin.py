"""The parts that `nbgrader_config.py` plugs into nbgrader, so that plain `nbgrader autograde` is
already the careful one.
"""

import glob
import json
from datetime import timedelta
from functools import cache
from pathlib import Path

from nbconvert.exporters import NotebookExporter
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeReleaseFeedback
from nbgrader.plugins import CsvExportPlugin, LateSubmissionPlugin
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import notebook_hash
from traitlets import Bool, Float, Unicode

from autograder.boundary.sandbox import boundary
from autograder.grading.grade import Limits, grade_notebook
from autograder.grading.gradebook import register_release, students_in
from autograder.grading.handed_in.folders import from_folder, short_text
from autograder.grading.handed_in.submission import rebuild
from autograder.reporting.csv_files import written
from autograder.term.deadlines import Deadlines, LateRule, read_deadlines, rule_of
from autograder.term.late import Late
from autograder.term.roster import read_roster
from autograder.whole_files import write_whole

# The columns of `nbgrader export`.
EXPORTED = ["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"]
EXPORTED += ["raw_score", "late_submission_penalty", "score", "max_score"]


class SubmittedFolders(CourseDirectory):
    """nbgrader's view of the course while it grades: of a learner's folder it takes the notebook
    and the time, and nothing else.

    nbgrader copies whatever lies beside a notebook, and follows links: a link to a file of the
    grader's would come back with the feedback, and a pipe would stop the run, as does a timestamp
    that is none.
    """

    def __init__(self, coursedir):
        given = {
            name: getattr(coursedir, name)
            for name in CourseDirectory.class_trait_names(config=True)
        }
        super().__init__(parent=coursedir.parent, **given)
        self.ignore = [*self.ignore, self.format_path(self.submitted_directory, "*", "*")]

    def get_existing_timestamp(self, dest_path):
        """Return when a submission was handed in: as its timestamp says, or as its file does where
        there is none that can be read and files' times are believed; else None.
        """
        folder = Path(dest_path)
        found = from_folder(folder, folder.parent.name, folder.name, self.log.warning)
        if found.clock == "timestamp.txt":
            return found.timestamp
        file_times = LatePenalty(parent=self.parent).file_times
        return Late(Deadlines(), LateRule(), file_times).believed(found.clock, found.timestamp)


class SubmissionExporter(NotebookExporter):
    """Reads what learners handed in, for `nbgrader autograde`.

    nbgrader opens a submission before any preprocessor runs, and gives up on one that it cannot
    parse; here every submission becomes a notebook with the release's structure, and one that
    cannot be read becomes a blank one with the reason.
    """

    def __init__(self, **options):
        super().__init__(**options)
        coursedir = self.parent.coursedir
        stem = coursedir.assignment_id
        register_release(stem, coursedir.db_url)
        deadlines = deadlines_of(class_folder(coursedir), coursedir.db_url)
        if first := deadlines.first(stem):
            register_release(stem, coursedir.db_url, due=first)
        boundary(coursedir.assignment_id, GradeExercises(parent=self.parent).unsandboxed)
        self.parent.coursedir = SubmittedFolders(coursedir)
        expect_every_notebook(self.parent.assignments, self.parent.coursedir)

    def from_filename(self, filename, resources=None, **options):
        if not self.parent._sanitizing:  # the second pass reads what the first one wrote
            return super().from_filename(filename, resources=resources, **options)
        path = Path(filename)
        resources = {**(resources or {}), "metadata": {"name": path.stem, "path": str(path.parent)}}
        submission = from_folder(path.parent, path.parents[1].name, path.stem).read()
        return self.from_notebook_node(
            rebuild(path.stem, submission), resources=resources, **options
        )


class GradeExercises(NbGraderPreprocessor):
    """Stands in for nbgrader's `Execute`: runs a submission and writes verdicts and scores into its
    graded cells.
    """

    cell_timeout = Float(Limits.cell, help="Seconds that one cell may run").tag(config=True)
    case_timeout = Float(Limits.case, help="Seconds that one question to a function may take").tag(
        config=True
    )
    exercise_timeout = Float(
        Limits.exercise, help="Seconds for all questions of one check or hidden cell"
    ).tag(config=True)
    submission_timeout = Float(Limits.submission, help="Seconds for a whole submission").tag(
        config=True
    )

    unsandboxed = Bool(
        False, help="Run learners' code as this user, without bubblewrap, and mark every score"
    ).tag(config=True)

    def preprocess(self, nb, resources):
        about = resources["nbgrader"]
        limits = Limits(
            self.cell_timeout, self.case_timeout, self.exercise_timeout, self.submission_timeout
        )
        grade_notebook(nb, about["notebook"], about["student"], limits, self.unsandboxed)
        for sentence in nb.metadata["autograder"].get("missing", ()):
            warn_once(self.log, sentence)
        return nb, resources


class LatePenalty(LateSubmissionPlugin):
    """Says for `nbgrader autograde` what being late costs, by the deadlines and the rule of
    `python -m autograder grade`.
    """

    grace = Float(0.0, help="Minutes after a deadline that cost nothing").tag(config=True)
    a_day = Float(
        0.0, help="Share of the points, 0 to 1, that each day costs which has begun after that"
    ).tag(config=True)
    floor = Float(0.0, help="Share of the points, 0 to 1, that is kept however late").tag(
        config=True
    )
    file_times = Unicode(
        "",
        help="Time zone in which the times of files and zips may be believed, such as Europe/Rome",
    ).tag(config=True)

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        """Return the points that are taken off, or None.

        Args:
            total_seconds_late: after the first time at which the chapter is due for anybody, which
                is what the gradebook calls due.
        """
        stem = self.parent.assignment_id
        coursedir = (
            self.parent.parent.parent.coursedir
        )  # of the preprocessor's exporter's converter
        deadlines = deadlines_of(class_folder(coursedir), self.parent.db_url)
        due, first = deadlines.due(stem, student_id), deadlines.first(stem)
        if due is None:
            return None
        rule, _ = rule_of({"grace": self.grace, "a_day": self.a_day, "floor": self.floor})
        kept = rule.kept(first + timedelta(seconds=total_seconds_late) - due)
        return round(score * (1 - kept), 2) if kept < 1 else None


def class_folder(coursedir):
    """Return the folder in which a class's graded notebooks lie, and its deadlines."""
    return Path(coursedir.root, coursedir.autograded_directory).parent


@cache
def deadlines_of(folder, db_url):
    """Return the Deadlines of a class."""
    return read_deadlines(folder, students_in(db_url) | read_roster(folder).keys())


class ScoresAsCsv(CsvExportPlugin):
    """Writes the table of `nbgrader export`, in which a learner's name is a name and no more:
    nbgrader's own has it without quotation marks, and a spreadsheet runs one that is a formula.
    """

    def export(self, gradebook):
        rows = [EXPORTED]
        for assignment in gradebook.assignments:
            if not self.assignment or assignment.name in self.assignment:
                rows += self.rows_of(assignment, gradebook)
        write_whole(Path(self.to or "grades.csv"), written(rows))

    def rows_of(self, assignment, gradebook):
        """Yield a row for each student who was asked for, zeros for who handed nothing in."""
        handed_in = {each.student_id: each for each in assignment.submissions}
        for student in gradebook.students:
            if self.student and student.id not in map(str, self.student):
                continue
            names = (student.id, student.last_name, student.first_name, student.email)
            when, score, penalty = "", 0.0, 0.0
            if submission := handed_in.get(student.id):
                when, score = submission.timestamp, submission.score
                penalty = submission.late_submission_penalty or 0.0
            earned = (score, penalty, max(0.0, score - penalty), assignment.max_score)
            yield [assignment.name, assignment.duedate, when, *names, *earned]


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Puts pages where learners fetch theirs, each under a name that only its learner can know: it
    comes from a secret that nbgrader's *Submit* has put beside the submission.

    nbgrader's own looks for that secret beside the page, because it copies whatever was handed in
    from step to step; this course's grader takes the notebook and nothing else.
    """

    def copy_files(self):
        """Release every page of the chapter, but for those of the learners who are excluded; say
        which are not released, and why.
        """
        excluded = set((self.coursedir.student_id_exclude or "").split(","))
        stem = self.coursedir.assignment_id
        for page in map(Path, sorted(glob.glob(f"{self.src_path}/{stem}.html"))):
            learner = page.parents[1].name
            if learner in excluded:
                continue
            try:
                name = self.name_of(learner, stem)
            except (OSError, ValueError) as error:
                self.log.warning("not released for %a: %s", learner, error)
                continue
            write_whole(Path(self.dest_path, f"{name}.html"), page.read_text(encoding="utf-8"))
            self.log.info("released for %a", learner)

    def name_of(self, learner, stem):
        """Return the name under which a learner looks for their page.

        Raises:
            ValueError: if what was handed in last is not what was graded, or has no secret.
        """
        place = self.coursedir.format_path
        folder = Path(place(self.coursedir.submitted_directory, learner, stem))
        graded = Path(place(self.coursedir.autograded_directory, learner, stem), f"{stem}.ipynb")
        record = json.loads(graded.read_text(encoding="utf-8"))["metadata"]["autograder"]
        if from_folder(folder, learner, stem).read().sha256 != record["notebook"]:
            raise ValueError("what was collected last is not graded yet; grade, and release again")
        try:
            secret = short_text(folder / "submission_secret.txt")
        except FileNotFoundError:
            raise ValueError(
                "it did not come by the exchange; give the page back by hand"
            ) from None
        return notebook_hash(secret=secret, notebook_id=stem)


@cache
def warn_once(log, sentence):
    """Log a warning, unless this process has logged it before: each submission has a preprocessor
    of its own.
    """
    log.warning("%s", sentence)


def expect_every_notebook(assignments, coursedir):
    """Let each submission have exactly the assignment's notebook, also where it was handed in under
    another name, or not at all.

    Args:
        assignments: nbgrader's dictionary from a submission's folder to the notebooks found in it;
            changed in place. Folders whose names look like a pattern ("ada [2]") are not in it, and
            are added; those whose names no gradebook can hold are taken out.
    """
    folders = glob.glob(
        coursedir.format_path(
            coursedir.submitted_directory, coursedir.student_id, coursedir.assignment_id
        )
    )
    for folder in {*assignments, *folders}:
        assignments[folder] = [str(Path(folder) / f"{coursedir.assignment_id}.ipynb")]
        if not can_be_a_name(Path(folder).parent.name):
            del assignments[folder]
            coursedir.log.warning(
                "no learner can be called %a: rename that folder, and grade again",
                Path(folder).parent.name,
            )


def can_be_a_name(text):
    """Return whether a folder's name can be a learner's: nbgrader stops at one of two lines, and
    databases at what is no text.
    """
    return "\n" not in text and text.encode("utf-8", "ignore").decode() == text
