"""`python -m autograder disputes`: for each complaint in `disputes.csv` a page on which somebody
can decide: the failed cases in full, the same asked again with other numbers, and what the nearest
right and wrong answers do there.
"""

import sys
from dataclasses import dataclass
from functools import partial

from autograder.authoring.exercise import observation_of
from autograder.authoring.loading import load_exercises, questions_of
from autograder.authoring.released import exercises_by_name, solutions_in
from autograder.boundary.sandbox import end_boundary
from autograder.course import CourseError, require_chapter
from autograder.desk.values import distance, in_full, observation_in_full
from autograder.grading.command import places_from
from autograder.grading.grade import Limits, observations_of
from autograder.grading.handed_in.submission import rebuild
from autograder.grading.places import seed_of
from autograder.grading.regrade import handed_in_before
from autograder.reporting.learner_page import environment
from autograder.reporting.record import outcomes_of, points_lost
from autograder.shared.judge import compared, fitted, judge, same_observation, wrong_answer
from autograder.shared.probes import PROBES
from autograder.shared.wire import printable
from autograder.shared.wording import call_of
from autograder.term.disputes import FILE, read_disputes
from autograder.term.points import read_points
from autograder.term.roster import read_roster
from autograder.whole_files import write_whole

MOST_WRONG = 3  # known wrong answers that are shown in a case


@dataclass(frozen=True)
class Answer:
    """What an implementation of ours does in a case.

    Args:
        name: whose it is: "the reference", or a wrong answer's belief.
        text: what was observed of it.
        same: whether the learner's does the same.
        apart: by how much their numbers differ at most, or None.
    """

    name: str
    text: str
    same: bool
    apart: float | None


@dataclass(frozen=True)
class Failed:
    """A failed case in full.

    Args:
        lost: points that it cost when it was graded; None where it was asked anew.
        arguments: what was asked, as text.
        seen: what the learner's function did, as text.
        right, wrong: lists of Answer, the nearest first.
    """

    title: str
    hidden: bool
    lost: float | None
    message: str
    call: str
    arguments: str
    seen: str
    right: list
    wrong: list


def disputes(options):
    """Write a page for each complaint, and say what is open.

    Returns:
        int: exit status, 1 where a complaint has no page because something about it failed.

    Raises:
        CourseError: if there is no table, or it is not clear.
    """
    places = places_from(options)
    complaints = complaints_in(places)
    stems, failed = set(), 0
    try:
        for each in complaints:
            stems.add(each.stem)
            try:
                print(printable(answered(each, places, options.unsandboxed)))
            except Exception as error:  # whatever a learner's work brings about is theirs alone
                failed += 1
                print(printable(without_a_page(each, error)), file=sys.stderr)
    finally:
        for stem in stems:
            end_boundary(stem, options.unsandboxed)
    return int(failed > 0)


def without_a_page(dispute, error):
    """Say why there is no page about a complaint."""
    why = str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
    return (
        f"{FILE}, line {dispute.line}: no page about {dispute.exercise} of “{dispute.learner}”; to"
        f" make it stopped with: {why[:300]}"
    )


def complaints_in(places):
    """Return the complaints of a class.

    Raises:
        CourseError: if there is no table, or it is not clear.
    """
    from autograder.grading.gradebook import students_in

    def known():
        return students_in(places.gradebook) | read_roster(places.folder).keys()

    points = read_points(places.folder, exercises_by_name)
    complaints = read_disputes(places.folder, known, points.exercises).complaints
    if complaints is None:
        raise CourseError(
            f"there is no {places.folder / FILE}; a line in it has a learner, an exercise, and why"
            " they complain, under the names learner,exercise,why"
        )
    return complaints


def answered(dispute, places, unsandboxed):
    """Write the page about one complaint; return a line that says where, and what stands."""
    name = f"{dispute.learner}  {dispute.exercise}"
    graded = places.graded(dispute.learner, dispute.stem)
    try:
        record, submission, seed = handed_in_before(graded)
    except (OSError, ValueError, KeyError, TypeError):
        return f"{name}: nothing of theirs has been graded in {require_chapter(dispute.stem)}"
    outcome = outcomes_of(record)[dispute.exercise]
    notebook = rebuild(dispute.stem, submission)
    show = partial(failed_in, dispute, notebook, unsandboxed=unsandboxed)
    fresh = seed_of(dispute.stem, f"dispute {dispute.learner} {dispute.exercise}", places.key)
    page = (
        environment()
        .get_template("dispute.html.j2")
        .render(
            dispute=dispute,
            outcome=outcome,
            record=record,
            source=solutions_in(notebook)[dispute.exercise],
            followed=" and ".join(followed_in(record, dispute.exercise)),
            as_graded=show(seed, outcome) if not record["problem"] else [],
            again=show(fresh, None) if not record["problem"] else [],
        )
    )
    path = places.folder / "disputes" / dispute.learner / f"{dispute.exercise}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)
    return f"{name}: {standing(dispute, outcome)}; {path}"


def followed_in(record, exercise):
    """Return the names of the exercises that an exercise calls and that were taken from the
    course when it was asked a second time.
    """
    cells = [cell for cell in record["cells"] if cell["exercise"] == exercise]
    return sorted({name for cell in cells for name in cell.get("followed", ())})


def standing(dispute, outcome):
    """Say in a few words how things are."""
    if dispute.points is not None:
        return f"{dispute.points:g} instead of {outcome.graded:g} of {outcome.points:g} points"
    if dispute.reason:
        return f"refused, {outcome.score:g} of {outcome.points:g} points stay"
    return f"open, {outcome.score:g} of {outcome.points:g} points"


def failed_in(dispute, notebook, seed, outcome, unsandboxed):
    """Ask a learner's notebook the questions of a seed; return the cases of the exercise that fail,
    list of Failed.

    Args:
        outcome: what the exercise earned with this seed; None where it was never graded with it.
    """
    stem, name = dispute.stem, dispute.exercise
    questions = questions_of(stem, seed)
    observations = observations_of(notebook, stem, questions, Limits(), unsandboxed)
    exercise = load_exercises(stem)[name]
    lost = points_lost(outcome) if outcome else {}
    found = []
    for kind in ("check", "hidden"):
        prepared = questions[kind, name]
        seen = observations[kind, name]
        for case, each, verdict in zip(prepared.cases, seen, judge(prepared, seen), strict=True):
            if verdict.passed:
                continue
            shown = fitted(case, compared(case.inputs, each))
            found.append(
                Failed(
                    title=case.title,
                    hidden=kind == "hidden",
                    lost=lost.get((kind == "hidden", case.title)),
                    message=verdict.message,
                    call=call_of(name, case),
                    arguments=in_full(case.inputs),
                    seen=observation_in_full(shown),
                    right=right_answers(exercise, case, shown),
                    wrong=wrong_answers(prepared, case, shown),
                )
            )
    return found


def right_answers(exercise, case, seen):
    """Return what the reference does in a case, and the nearest of the other right answers."""
    others = [
        fitted(case, observation_of(PROBES[case.probe], each, case.inputs))
        for each in exercise.alternatives
    ]
    found = [answer("the reference", case.expected, case, seen)]
    return (
        found
        + sorted(
            (answer("another right answer", each, case, seen) for each in others), key=nearness
        )[:1]
    )


def wrong_answers(prepared, case, seen):
    """Return what the known wrong answers do in a case that fail there, the nearest first."""
    found = []
    for index, belief in enumerate(prepared.beliefs):
        theirs = wrong_answer(prepared, case, index)
        if theirs is not None:
            found.append(answer(belief, theirs, case, seen))
    return sorted(found, key=nearness)[:MOST_WRONG]


def nearness(each):
    """Return by what Answers are ordered: first what does the same, then by their numbers."""
    return not each.same, float("inf") if each.apart is None else each.apart


def answer(name, theirs, case, seen):
    """Return an Answer, compared with what was seen of the learner's."""
    same = same_observation(theirs, seen, case.exact)
    return Answer(name, observation_in_full(theirs), same, distance(theirs, seen))
