"""`python -m autograder overview`: a class across all graded chapters, on one page: who falls
behind, which misconceptions return, what separates, what is too hard or says nothing.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import mean

import numpy as np

from autograder.authoring.released import exercises_by_name, solutions_in, stubs
from autograder.course import chapters
from autograder.grading.command import graded_chapters, places_from
from autograder.reporting.learner_page import environment
from autograder.reporting.record import group_in, outcomes_of, read_graded, total_of
from autograder.shared.wire import printable
from autograder.term.points import read_points
from autograder.term.roster import read_roster
from autograder.whole_files import write_whole

FEWEST = 5  # learners who answer, before anything is said of a case or an exercise
DROP = 0.25  # share of the points below one's own mean so far at which somebody falls behind
HARD, EASY = 0.4, 0.95  # mean share of an exercise, and share of the class with full marks
MOST = 12  # rows of a list


@dataclass
class Chapter:
    """What a class did in one chapter.

    Args:
        shares: learner -> share of the points, late penalties taken off.
        exercises: exercise -> learner -> share of its points.
        cases: (exercise, title, hidden) -> learner -> whether it passed, if they wrote something.
        answered: exercise -> the learners who pass one of its cases at least.
        beliefs: learner -> the misconceptions that were recognised.
    """

    stem: str
    shares: dict = field(default_factory=dict)
    exercises: dict = field(default_factory=lambda: defaultdict(dict))
    cases: dict = field(default_factory=lambda: defaultdict(dict))
    answered: dict = field(default_factory=lambda: defaultdict(set))
    beliefs: dict = field(default_factory=dict)


def overview(options):
    """Write the page `reports/overview.html` of a class.

    Raises:
        CourseError: if nothing has been graded, or a table is not clear.
    """
    print(printable(write_overview(places_from(options))))


def write_overview(places):
    """Write the page; return a sentence that says where it is."""
    points = read_points(places.folder, exercises_by_name)
    stems = [each for each in graded_chapters(places.folder) if points.has(each)]
    term = [chapter_of(stem, read_graded(stem, places.folder / "autograded")) for stem in stems]
    learners = learners_in(term, read_roster(places.folder))
    page = (
        environment()
        .get_template("overview.html.j2")
        .render(
            stems=stems,
            missing=[stem for stem in chapters() if stem not in stems and points.has(stem)],
            learners=learners,
            returning=returning(term),
            separating=separating(term),
            doubtful=doubtful(term),
            exercises=exercises_in(term),
            most=MOST,
        )
    )
    path = places.folder / "reports" / "overview.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page)
    return f"{len(stems)} chapters, {len(learners)} learners: {path}"


def chapter_of(stem, graded):
    """Reduce the graded notebooks of a chapter to what the page needs.

    Args:
        graded: iterable of (learner, notebook).
    """
    chapter = Chapter(stem)
    for learner, notebook in graded:
        record = notebook["metadata"]["autograder"]
        outcomes = outcomes_of(record)
        most = sum(each.points for each in outcomes.values())
        chapter.shares[learner] = total_of(record) / most if most else 0.0
        group = group_in(record)
        if record.get("problem") or (group and group[1] != learner):
            continue  # an unread notebook answers nothing, and a group's counts once
        chapter.beliefs[learner], sources = set(), solutions_in(notebook)
        for name, outcome in outcomes.items():
            if outcome.written and outcome.written["score"] is None:
                continue  # nobody knows yet
            chapter.exercises[name][learner] = outcome.graded / outcome.points
            if sources.get(name) == stubs(stem).get(name):
                continue
            if any(case["passed"] for case in outcome.cases):
                chapter.answered[name].add(learner)
            for case in outcome.cases:
                chapter.cases[name, case["title"], case["hidden"]][learner] = case["passed"]
                chapter.beliefs[learner] |= {case.get("misconception")} - {None}
    return chapter


def learners_in(term, roster=()):
    """Return for each learner their shares, chapter by chapter (None where nothing was handed in),
    and why they may need somebody; those who do come first.

    Args:
        roster: the names of the class, of whom some may have handed in nothing.
    """
    names = sorted({*roster, *(learner for chapter in term for learner in chapter.shares)})
    rows = []
    for name in names:
        shares = [chapter.shares.get(name) for chapter in term]
        rows.append({"name": name, "shares": shares, "why": why_behind(shares, term)})
    return sorted(rows, key=lambda row: (not row["why"], row["name"]))


def why_behind(shares, term):
    """Say in a few words why a learner seems to fall behind; "" where nothing speaks for it."""
    *before, now = shares
    if now is None:
        return f"handed in nothing for {term[-1].stem}"
    there = [share for share in before if share is not None]
    if there and now < mean(there) - DROP:
        return f"{now:.0%} in {term[-1].stem}, after {mean(there):.0%} on average"
    missed = sum(share is None for share in before)
    if missed > 1:
        return f"{missed} chapters are missing"
    return ""


def returning(term):
    """Return the misconceptions that learners met in more than one chapter: belief, how many
    learners met it in all, how many again later, and where.
    """
    where, met, again = defaultdict(list), defaultdict(set), Counter()
    for chapter in term:
        for belief in {each for beliefs in chapter.beliefs.values() for each in beliefs}:
            where[belief].append(chapter.stem)
            now = {learner for learner, found in chapter.beliefs.items() if belief in found}
            again[belief] += len(now & met[belief])
            met[belief] |= now
    rows = [
        {"belief": belief, "met": len(met[belief]), "again": count, "where": where[belief]}
        for belief, count in again.items()
        if count
    ]
    return sorted(rows, key=lambda row: (-row["again"], row["belief"]))[:MOST]


def separating(term):
    """Return the cases that separate best: whose passing goes most with the rest of the chapter's
    score (point-biserial correlation).
    """
    rows = [row for row in correlations(term) if row["with_rest"] > 0]
    return sorted(rows, key=lambda row: -row["with_rest"])[:MOST]


def doubtful(term):
    """Return the cases that may be at fault themselves: everybody fails one, or those fail it who
    are right elsewhere.
    """
    rows = []
    for chapter in term:
        for (exercise, title, hidden), passed in chapter.cases.items():
            count = len(chapter.answered[exercise])
            if count >= FEWEST and not any(passed.values()):
                why = f"nobody passes it, and {count} pass other cases of this exercise"
                rows.append(row_of(chapter, exercise, title, hidden, why=why))
    for row in correlations(term):
        if row["with_rest"] < -max(0.2, 2 / row["count"] ** 0.5):  # less may be chance
            rows.append({**row, "why": "who is right elsewhere fails it, and the other way round"})
    return rows[:MOST]


def correlations(term):
    """Yield a row for each case that some pass and some fail, with the correlation between passing
    it and the mean of the chapter's other exercises.
    """
    for chapter in term:
        for (exercise, title, hidden), passed in chapter.cases.items():
            rest = [rest_of(chapter, exercise, learner) for learner in passed]
            told = np.array([value for value in passed.values()], dtype=float)
            others = np.array(rest, dtype=float)
            known = ~np.isnan(others)
            told, others = told[known], others[known]
            if len(told) < FEWEST or told.std() == 0 or others.std() == 0:
                continue
            found = float(np.corrcoef(told, others)[0, 1])
            numbers = {"with_rest": found, "share": told.mean(), "count": len(told)}
            yield row_of(chapter, exercise, title, hidden, **numbers)


def row_of(chapter, exercise, title, hidden, **more):
    """Return what the page says of a case."""
    return {"stem": chapter.stem, "exercise": exercise, "title": title, "hidden": hidden, **more}


def rest_of(chapter, exercise, learner):
    """Return a learner's mean share of a chapter's other exercises; nan where there is none."""
    shares = [
        by_learner[learner]
        for name, by_learner in chapter.exercises.items()
        if name != exercise and learner in by_learner
    ]
    return mean(shares) if shares else float("nan")


def exercises_in(term):
    """Return the exercises that are too hard, or that almost everybody has right."""
    rows = []
    for chapter in term:
        for name, by_learner in chapter.exercises.items():
            shares = list(by_learner.values())
            if len(shares) < FEWEST:
                continue
            full = sum(share >= 1 for share in shares) / len(shares)
            why = ""
            if mean(shares) < HARD:
                why = "hard: is its statement clear, and what comes before it?"
            elif full >= EASY:
                why = "almost everybody has it right: it tells nobody apart"
            if why:
                rows.append(
                    {
                        "stem": chapter.stem,
                        "exercise": name,
                        "mean": mean(shares),
                        "full": full,
                        "why": why,
                    }
                )
    return rows
