"""What grading a class found, for its instructor: a page, a table, and the forms that Canvas and
Moodle import.

Everything is made of the graded notebooks, each of which is read once and then let go: a class of
thousands needs no more memory than its scores.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from autograder.authoring.loading import load_exercises
from autograder.authoring.released import solutions_in, stubs
from autograder.course import AUTOGRADED, FEEDBACK
from autograder.reporting.apart import Apart, NotRead
from autograder.reporting.csv_files import canvas_csv, moodle_csv, scores_csv
from autograder.reporting.flags import flags_of_notebook, flags_of_record
from autograder.reporting.instructor_page import report_page
from autograder.reporting.likeness import flags_of_class, flags_of_reference, prints_of
from autograder.reporting.reader import Flag
from autograder.reporting.record import Late, group_in, late_in, outcomes_of
from autograder.whole_files import write_whole


@dataclass
class Result:
    """One learner's graded notebook, reduced to what a report needs.

    Args:
        learner: the name of their folder.
        scores, points_by_exercise: by exercise.
        seconds: how long grading took.
        sandbox: "bubblewrap", "none", or "" where nothing was run.
        file: SHA-256 of what was handed in.
        graded: when, as an ISO time, or "".
        beliefs: exercise -> the misconceptions that were recognised.
        missed: exercise -> (title, hidden) of the cases that failed, where others passed.
        untouched: the exercises that were left as they came.
        undefined: the exercises of whose name nothing was there to be asked.
        prints: exercise -> `autograder.reporting.likeness.Print`.
        flags: remarks for human eyes.
        known_as: see `autograder.grading.handed_in.submission.Submission`.
        late: see `autograder.reporting.record.late_in`.
        group: the name of the group that handed this in, and who did so for it; or None.
    """

    learner: str
    scores: dict
    points_by_exercise: dict
    seconds: float
    sandbox: str
    file: str
    graded: str
    unread: bool
    beliefs: dict
    missed: dict
    untouched: set
    undefined: set
    prints: dict
    flags: list[Flag] = field(default_factory=list)
    known_as: str = ""
    late: Late | None = None
    group: tuple[str, str] | None = None

    @property
    def handed_in(self):
        """Whether there was anything to grade; else the class list alone knows the learner."""
        return bool(self.file)

    @property
    def note(self):
        """Why there are no points where nothing was graded, or ""."""
        if not self.handed_in:
            return "nothing handed in"
        return "nothing to grade" if self.unread else ""

    @property
    def is_copy(self):
        """Whether another member of the group has handed this in."""
        return self.group is not None and self.group[1] != self.learner

    def number_on(self, platform):
        """Return a learning platform's own number for the learner, or "" where it is not known."""
        return (
            self.known_as.removeprefix(f"{platform} ") if self.known_as.startswith(platform) else ""
        )

    @property
    def penalty(self):
        """The points that being late costs."""
        return self.late.penalty if self.late else 0.0

    @property
    def total(self):
        return round(sum(self.scores.values()) - self.penalty, 2)

    @property
    def points(self):
        return sum(self.points_by_exercise.values())

    @property
    def remarks(self):
        """How many flags there are, but for the missing sandbox, which has a column of its own."""
        return sum(flag.kind != "unsandboxed" for flag in self.flags)


def result_of(learner, notebook, reading):
    """Reduce a graded notebook to what a report needs.

    Args:
        reading: what there is to say about the learner's code, a Reading.
    """
    record = notebook["metadata"]["autograder"]
    outcomes = outcomes_of(record)
    return Result(
        learner=learner,
        scores={name: each.score for name, each in outcomes.items()},
        points_by_exercise={name: each.points for name, each in outcomes.items()},
        seconds=float(record.get("seconds", 0)),
        sandbox=str(record.get("sandbox", "")),
        file=str(record.get("notebook", "")),
        graded=str(record.get("graded", "")),
        unread=bool(record.get("problem")),
        beliefs={name: found for name, each in outcomes.items() if (found := beliefs_in(each))},
        missed={name: missed_in(each) for name, each in outcomes.items() if answers(each)},
        untouched=reading.untouched,
        undefined={name for name, each in outcomes.items() if is_undefined(name, each)},
        prints=reading.prints,
        flags=[*flags_of_record(record), *reading.flags],
        known_as=str(record.get("known_as", "")),
        late=late_in(record),
        group=group_in(record),
    )


@dataclass(frozen=True)
class Reading:
    """What there is to say about the code in a graded notebook; see Result."""

    untouched: set = field(default_factory=set)
    prints: dict = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()


def read_code(stem, notebook, shortcuts):
    """Read the code in a graded notebook. It may be anything: call this apart.

    Args:
        shortcuts: exercise -> names of library functions that do what it asks to write.

    Returns:
        Reading.
    """
    if notebook["metadata"]["autograder"].get("problem"):
        return Reading()
    flags = (*flags_of_notebook(stem, notebook, shortcuts), *flags_of_reference(stem, notebook))
    return Reading(untouched_in(stem, notebook), prints_of(stem, notebook), flags)


def beliefs_in(outcome):
    """Return the misconceptions that were recognised in an exercise."""
    return {case["misconception"] for case in outcome.cases if case.get("misconception")}


def answers(outcome):
    """Return whether an exercise passes any case."""
    return any(case["passed"] for case in outcome.cases)


def is_undefined(name, outcome):
    """Return whether no case could be asked, because there is nothing of the exercise's name."""
    beginning = f"{name} is not defined"
    return bool(outcome.cases) and all(
        case["message"].startswith(beginning) for case in outcome.cases
    )


def missed_in(outcome):
    """Return (title, hidden) of an exercise's cases that failed."""
    return [(case["title"], case["hidden"]) for case in outcome.cases if not case["passed"]]


def untouched_in(stem, notebook):
    """Return the exercises that are as they were released."""
    as_released = stubs(stem).items()
    return {
        name for name, source in solutions_in(notebook).items() if (name, source) in as_released
    }


def results_of(stem, graded, pages_without_code=None):
    """Reduce a class to its results, with the remarks that only a comparison gives.

    Args:
        graded: iterable of (learner, notebook).
        pages_without_code: learner -> why their page shows nothing that they wrote.
    """
    shortcuts = {name: exercise.shortcuts for name, exercise in load_exercises(stem).items()}
    results = []
    with Apart(read_code) as read_apart:
        for learner, notebook in graded:
            try:
                reading = read_apart(stem, notebook, shortcuts)
            except NotRead as error:
                reading = Reading(flags=(Flag("beyond", str(error)),))
            results.append(result_of(learner, notebook, reading))
    handed_in = [each for each in results if not each.is_copy]  # a group is like itself
    more = flags_of_class(
        stem,
        prints={each.learner: each.prints for each in handed_in},
        files={each.learner: each.file for each in handed_in},
        seconds={each.learner: each.seconds for each in handed_in if not each.unread},
    )
    for each in results:
        each.flags += more.get(each.learner, [])
        if why_not := (pages_without_code or {}).get(each.learner):
            each.flags.append(Flag("beyond", f"their page is without their code: {why_not}"))
    return results


def write_report(
    stem,
    graded,
    folder,
    autograded=AUTOGRADED,
    feedback=FEEDBACK,
    pages_without_code=None,
    roster=None,
):
    """Write an instructor's report about a chapter.

    Args:
        stem: the chapter.
        graded: iterable of (learner, notebook), as `read_graded` yields them.
        folder: gets `<stem>/report.html`, `scores.csv`, `canvas.csv` and `moodle.csv`.
        autograded, feedback: where the page's links lead: `<learner>/<stem>/<stem>.ipynb` and
            `.html` below these.
        pages_without_code: learner -> why their page shows nothing that they wrote.
        roster: what `autograder.term.roster.read_roster` returns. The tables for Canvas and Moodle
            leave out who has handed in nothing, because those two know them.

    Returns:
        list[Path]: the four files.
    """
    roster = roster or {}
    results = results_of(stem, graded, pages_without_code)
    exercises = points_of(results)
    absent = absent_in(results, roster, exercises)
    place = Path(folder) / stem
    texts = {
        "report.html": report_page(
            stem,
            results,
            exercises,
            links_from(place, stem, autograded, feedback),
            [each.learner for each in absent],
        ),
        "scores.csv": scores_csv([*results, *absent], exercises, roster),
        "canvas.csv": canvas_csv(results, exercises, stem),
        "moodle.csv": moodle_csv(results, exercises, stem),
    }
    place.mkdir(parents=True, exist_ok=True)
    return [write_whole(place / name, text) for name, text in texts.items()]


def absent_in(results, roster, exercises):
    """Return a Result with no points for each learner on a roster who has handed in nothing.

    Args:
        exercises: exercise -> points.
    """
    there = {result.learner for result in results}
    nothing = dict.fromkeys(exercises, 0.0), exercises, 0.0, "", "", "", False, {}, {}, set(), set()
    return [Result(learner, *nothing, {}) for learner in roster if learner not in there]


def points_of(results):
    """Return the points of each exercise, in the notebook's order."""
    points = {}
    for result in results:
        points.update(result.points_by_exercise)
    return points


def links_from(place, stem, autograded, feedback):
    """Return a function from a learner to the addresses of their page and notebook, relative to the
    report.
    """

    def beginning(folder):
        relative = Path(os.path.relpath(folder, place)).as_posix()
        return quote(relative if relative.startswith(".") else f"./{relative}")

    to_feedback, to_notebook = beginning(feedback), beginning(autograded)

    def links(learner):
        name = quote(os.fsencode(learner), safe="")
        return (
            f"{to_feedback}/{name}/{stem}/{stem}.html",
            f"{to_notebook}/{name}/{stem}/{stem}.ipynb",
        )

    return links
