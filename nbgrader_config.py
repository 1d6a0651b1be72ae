"""nbgrader's folders mapped onto this repository, and the course's grader plugged into nbgrader's
own commands.
"""

import os
import sys
import warnings
from pathlib import Path

from sqlalchemy.exc import SAWarning

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # a copy of the tree grades with its own code
# A fresh gradebook makes nbgrader run `alembic`, which it looks for on PATH: this environment's
# comes first.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

# nbgrader 0.9.6 with SQLAlchemy 2: four pages of them, none a fault.
warnings.filterwarnings("ignore", category=SAWarning)

c = get_config()  # noqa: F821  (nbgrader provides it)

c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.source_directory = "_build/source"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.submitted_directory = "autograder/submitted"
c.CourseDirectory.autograded_directory = "autograder/autograded"
c.CourseDirectory.feedback_directory = "autograder/feedback"
c.CourseDirectory.db_url = f"sqlite:///{ROOT / 'autograder' / 'gradebook.db'}"

c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}

c.Autograde.exporter_class = "autograder.grading.nbgrader_plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.CheckCellMetadata"]
c.Autograde.autograde_preprocessors = [
    "autograder.grading.nbgrader_plugin.GradeExercises",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# What being late costs, where autograder/deadlines.csv says when a chapter is due; for `python -m
# autograder grade`, too. Shares are from 0 to 1: with a_day = 0.1 and floor = 0.5, who is late by
# three days keeps 0.7 of the points, and who is late by a month 0.5.
c.AssignLatePenalties.plugin_class = "autograder.grading.nbgrader_plugin.LatePenalty"
c.LatePenalty.grace = 0.0  # minutes
c.LatePenalty.a_day = 0.0
c.LatePenalty.floor = 0.0
c.LatePenalty.file_times = ""  # "Europe/Rome": believe the times of files, and of those in a zip

c.ExportApp.plugin_class = "autograder.grading.nbgrader_plugin.ScoresAsCsv"

# For feedback alone: formgrader has templates of its own.
c.GenerateFeedback.HTMLExporter.template_name = "course_feedback"
c.GenerateFeedback.HTMLExporter.extra_template_basedirs = [str(ROOT / "autograder" / "templates")]
c.GenerateFeedback.HTMLExporter.filters = {"unmasked": "autograder.shared.wire.unmasked"}
c.GenerateFeedback.preprocessors = ["nbgrader.preprocessors.GetGrades"]

# On a hub. What nbgrader's own needs lies beside a submission, and never comes near the graded one.
c.ExchangeFactory.release_feedback = "autograder.grading.nbgrader_plugin.ReleaseFeedback"
