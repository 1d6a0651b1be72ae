"""`python -m autograder explain LEARNER`: where each of a learner's points comes from."""

from autograder.authoring.released import WRITTEN
from autograder.course import CourseError, chapters, require_chapter
from autograder.desk.update import new_and_gone
from autograder.grading.command import places_from
from autograder.reporting.record import (
    group_in,
    late_in,
    outcomes_of,
    points_lost,
    read_graded,
)
from autograder.reporting.results import untouched_in
from autograder.shared.wire import printable
from autograder.term.groups import Groups, read_groups
from autograder.term.names import why_no_name
from autograder.term.roster import read_roster
from autograder.term.tables import closest


def explain(options):
    """Print of each graded chapter what a learner, or a group, has earned, and why not more.

    Raises:
        CourseError: if nothing of theirs has been graded.
    """
    places, name = places_from(options), options.learner
    stems = [require_chapter(options.chapter)] if options.chapter else chapters()
    own = [] if why_no_name(name) else [name]  # a group may be called as nobody can be
    is_learner = any(places.graded(each, stem).exists() for each in own for stem in stems)
    groups = Groups() if is_learner else read_groups(places.folder)
    listed, found = name in read_roster(places.folder), False
    for stem in stems:
        members = groups.of(stem).get(name, own)
        told = explanations(stem, members, places)
        for lines, who in told.items():
            if members != [name]:
                print(printable(f"{' and '.join(who)}, of the group “{name}”:"))
            print(*map(printable, lines), sep="\n")
        absent = listed and not told and any(places.folder.glob(f"autograded/*/{stem}/*"))
        if absent:
            print(f"{stem}: nothing handed in")
        found = found or bool(told) or absent
    if not found:
        raise CourseError(printable(nothing_of(name, places)))


def explanations(stem, members, places):
    """Return for whom in a group what is to be said of a chapter: the learners by tuple of
    lines.
    """
    told = {}
    if any(places.graded(each, stem).exists() for each in members):
        for learner, notebook in read_graded(stem, places.folder / "autograded"):
            if learner in members:
                record, manual = notebook["metadata"]["autograder"], by_hand(learner, stem, places)
                lines = lines_of(stem, record, manual, untouched_in(stem, notebook))
                told.setdefault((*lines, *since_then(stem, record)), []).append(learner)
    return told


def since_then(stem, record):
    """Return lines about what the release asks and a record does not know, or the other way
    round.
    """
    new, gone = new_and_gone(stem, [record])
    told = [f"new in the release since: {', '.join(new)}"] * bool(new)
    told += [f"no longer in the release: {', '.join(gone)}"] * bool(gone)
    return [f"{'':17}{each}; `python -m autograder update` says what changes" for each in told]


def nothing_of(name, places):
    """Say that nothing of somebody has been graded, and who may be meant."""
    known = [each.name for each in places.folder.glob("autograded/*")]
    return f"nothing of “{name}” has been graded in {places.folder}{closest(name, known)}"


def lines_of(stem, record, manual, untouched):
    """Return the lines about one chapter.

    Args:
        manual: exercise -> the score that a person wrote into the gradebook instead.
        untouched: the exercises that were left as they came; their cases say nothing.
    """
    lines, total, most = [], 0.0, 0.0
    if record.get("problem"):
        lines.append(f"  nothing could be graded: {record['problem']}")
    for name, outcome in outcomes_of(record).items():
        decided = outcome.dispute or {}
        score = manual.get(name, outcome.score)
        total, most = total + score, most + outcome.points
        lines.append(f"  {score:>6g} of {outcome.points:<4g} {name}")
        if decided:
            lines.append(f"{'':17}disputed: {decided['why']}")
            how = "decided" if decided["points"] is not None else "refused"
            told = f"{how}: {decided['reason']}" if decided["reason"] else "not yet decided"
            lines.append(f"{'':17}{told}")
        if outcome.written:
            lines.append(f"{'':17}{about_answer(outcome.written)}")
        elif score != outcome.graded:
            lines.append(f"{'':17}written by hand; the grader gave {outcome.graded:g}")
        if record.get("problem"):
            continue  # which is said above, and is true of all exercises
        if name in untouched and not outcome.graded:
            lines.append(f"{'':17}−{outcome.points:.3g}  left as it came")
            continue
        lines += [f"{'':17}{told}" for told in why_not_more(outcome)]
    late, group = late_in(record), group_in(record)
    if late and late.by:
        penalty = round(total * (1 - late.kept), 2)
        total -= penalty
        lines.append(
            f"  {-penalty:>6g}         {late.by} late: due {late.due}, handed in"
            f" {late.handed_in}; {late.kept:.0%} stays"
        )
    elif late:
        when = f"handed in {late.handed_in}" if late.handed_in else "nobody knows when"
        lines.append(f"{'':17}due {late.due}, {when}: nothing is taken off")
    if group:
        lines.append(f"{'':17}for the group “{group[0]}”, handed in by {group[1]}")
    lines.append(
        f"{'':17}graded {record.get('graded', '')[:16].replace('T', ' ')} UTC, seed"
        f" {record.get('seed', '')[:8]}, file {record.get('notebook', '')[:8]}"
    )
    return [f"{stem}: {round(total, 2):g} of {most:g}", *lines]


def why_not_more(outcome):
    """Return a line for each case that cost points; one for all where all failed for one reason,
    such as a cell that stopped. Where all failed for several, the first one is told.
    """
    lost = points_lost(outcome)
    failed = [case for case in outcome.cases if not case["passed"]]
    reasons = {case["message"] for case in failed}
    all_failed = len(failed) == len(outcome.cases) > 1
    if all_failed and len(reasons) == 1:
        return [f"−{sum(lost.values()):.3g}  {' '.join(reasons)}"]
    lines = [case["message"] for case in failed[:1] if all_failed]
    lines += [
        f"−{points:.3g}  {'hidden: ' if hidden else ''}{title}"
        for (hidden, title), points in lost.items()
    ]
    if outcome.followed:
        names = " and ".join(outcome.followed)
        lines.append(f"asked again with the course's own {names}, whose mistakes count there alone")
    return lines


def about_answer(answer):
    """Say how an answer in words came to its points."""
    if answer["blank"] and not answer["score"]:
        return "left as it was"
    if answer["score"] is None:
        return "in words; nobody has marked it yet"
    return "in words; marked by a person" + (f": {answer['comment']}" if answer["comment"] else "")


def by_hand(learner, stem, places):
    """Return the scores that a person wrote into the gradebook, by exercise."""
    from nbgrader.api import MissingEntry

    from autograder.grading.gradebook import opened

    with opened(places.gradebook) as gradebook:
        try:
            sheet = gradebook.find_submission_notebook(stem, stem, learner)
        except MissingEntry:
            return {}
        found = {}
        for grade in sheet.grades:
            if grade.cell.name.startswith(WRITTEN):
                continue  # the record has it
            exercise = grade.cell.name.split("_", 1)[1]
            found.setdefault(exercise, []).append(grade)
        return {
            exercise: sum(grade.score for grade in grades)
            for exercise, grades in found.items()
            if any(grade.manual_score is not None for grade in grades)
        }
