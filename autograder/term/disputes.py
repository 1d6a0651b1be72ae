"""Complaints about a mark, and what came of them.

`disputes.csv` lies in the class's folder, beside its gradebook:

    learner,exercise,why,points,reason
    ada,softmax,"I subtract the maximum, see line 3",2,"right: the case asks for a list"

`points` and `reason` stay empty until somebody has decided. Points with a reason are the mark of
that exercise from then on, whatever the grader says; a reason alone refuses. With a column `file`
(the first eight characters or more of what `explain` prints), a line holds for that notebook only.

As long as the table is there, it is the truth: to take a decision back, take its line away.
"""

import json
from collections import defaultdict
from dataclasses import dataclass

from autograder.course import CourseError
from autograder.term.roster import unknown
from autograder.term.tables import Table, closest, number_in
from autograder.whole_files import write_whole

FILE = "disputes.csv"


@dataclass(frozen=True)
class Dispute:
    """One complaint.

    Args:
        why: what the learner says.
        points: what the exercise counts from now on; None where that was not changed.
        reason: why, or why not; "" where nobody has decided.
        file: the beginning of the SHA-256 of the notebook that is meant; "" for any.
        line: where it stands in the table.
    """

    learner: str
    stem: str
    exercise: str
    why: str
    points: float | None = None
    reason: str = ""
    file: str = ""
    line: int = 0

    @property
    def told(self):
        """What a record says of it."""
        return {"why": self.why, "points": self.points, "reason": self.reason}


@dataclass(frozen=True)
class Disputes:
    """The complaints of a class.

    Args:
        complaints: tuple of Dispute, or None where there is no table.
    """

    complaints: tuple | None = None

    def decide(self, stem, places, scores, groups, remark=lambda text: None):
        """Bring records and gradebook to what the table says today.

        Args:
            places: where the graded notebooks lie.
            scores: the chapter's Scores.
            groups: Groups; what was decided for one member holds for all.
            remark: called with a sentence about a complaint that is about another notebook.

        Returns:
            list of the learners for whom that changed anything.
        """
        if self.complaints is None:
            return []
        asked = self.by_learner(stem, groups)
        changed = []
        for learner in sorted(scores.times()):
            path = places.graded(learner, stem)
            try:
                notebook = json.loads(path.read_text(encoding="utf-8"))
                record = notebook["metadata"]["autograder"]
                cells = record["cells"]
            except (OSError, ValueError, KeyError, TypeError):
                continue  # the report says of such a file what is wrong with it
            told = {}
            for each in asked[learner]:
                if record["notebook"].startswith(each.file):
                    told[each.exercise] = each.told
                else:
                    remark(
                        f"{FILE}: what is said of {each.exercise} of “{each.learner}” is about"
                        f" another notebook ({each.file}) than the one graded last"
                        f" ({record['notebook'][:8]}), so it changes nothing"
                    )
            before = record.get("disputes", {})
            scores.decide(learner, by_hand(cells, before), by_hand(cells, told))
            if told == before:
                continue
            record["disputes"] = told
            if not told:
                del record["disputes"]
            places.feedback(learner, stem).unlink(missing_ok=True)  # a page is there when all is
            write_whole(path, json.dumps(notebook, ensure_ascii=False, separators=(",", ":")))
            changed.append(learner)
        return changed

    def by_learner(self, stem, groups):
        """Return the complaints that hold for each learner in a chapter.

        Raises:
            CourseError: if two members of a group complain about the same exercise.
        """
        members = {each: whole for whole in groups.of(stem).values() for each in whole}
        asked = defaultdict(list)
        for dispute in self.complaints:
            if dispute.stem != stem:
                continue
            for learner in members.get(dispute.learner, [dispute.learner]):
                if other := next(
                    (each for each in asked[learner] if each.exercise == dispute.exercise), None
                ):
                    raise CourseError(
                        f"{FILE}: {other.learner} and {dispute.learner} hand in together, and both"
                        f" have a line about {dispute.exercise}; join them in one"
                    )
                asked[learner].append(dispute)
        return asked


def by_hand(cells, told):
    """Return the score of each cell of the exercises for which an instructor has set the points.

    Args:
        cells: of a record.
        told: exercise -> what the record says of the complaint.
    """
    scores = {}
    for exercise, dispute in told.items():
        own = [cell for cell in cells if cell["exercise"] == exercise]
        left = dispute["points"]
        if left is None:
            continue
        most = sum(cell["points"] for cell in own)
        for cell in own[:-1]:
            scores[cell["cell"]] = round(dispute["points"] * cell["points"] / most, 2)
            left -= scores[cell["cell"]]
        for cell in own[-1:]:
            scores[cell["cell"]] = round(left, 2)
    return scores


def read_disputes(folder, learners, exercises):
    """Return the Disputes in a class's folder; there may be none.

    Args:
        learners: called, gives the names that are known.
        exercises: called, gives name -> (chapter, points).

    Raises:
        CourseError: if the table is not clear; the message names each line.
    """
    path = folder / FILE
    if not path.exists():
        return Disputes()
    learners, exercises, found, lines = learners(), exercises(), [], {}
    columns = ("learner", "exercise", "why")
    with Table(path, columns, optional=("points", "reason", "file")) as table:
        for line, row in table.rows():
            learner, exercise = row["learner"], row["exercise"]
            points, reason = row.get("points", ""), row.get("reason", "")
            if wrong := unknown(learner, learners):
                table.fault(line, wrong)
            elif exercise not in exercises:
                table.fault(
                    line, f"there is no exercise “{exercise}”{closest(exercise, exercises)}"
                )
            elif not exercises[exercise][1]:
                table.fault(line, f"{exercise} does not count in this class")
            elif first := lines.get((learner, exercise)):
                table.fault(line, f"line {first} is about {exercise} of “{learner}” already")
            elif not row["why"]:
                table.fault(line, f"“why” is empty: what does “{learner}” say?")
            else:
                lines[learner, exercise] = line
                stem, most = exercises[exercise]
                try:
                    decided = points_in(points, most, reason)
                except ValueError as error:
                    table.fault(line, str(error))
                    continue
                file = row.get("file", "").lower()
                found.append(
                    Dispute(learner, stem, exercise, row["why"], decided, reason, file, line)
                )
    return Disputes(tuple(found))


def points_in(text, most, reason):
    """Return the points that a decision names, or None where it names none.

    Raises:
        ValueError: with a sentence, if they are no points of that exercise, or without a reason.
    """
    if not text:
        return None
    points = number_in(text)
    if not 0 <= points <= most:
        raise ValueError(f"{text} points: this exercise has from 0 to {most:g}")
    if not reason:
        raise ValueError(f"{text} points without a reason; whoever asks later will want it")
    return round(points, 2)
