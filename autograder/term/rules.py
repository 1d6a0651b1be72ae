"""What holds for a class besides its checks: what counts, who hands in together, what was decided
by hand, and what being late costs, in the order in which a mark comes about.
"""

from dataclasses import dataclass
from functools import cache

from autograder.course import chapters
from autograder.term.disputes import Disputes, read_disputes
from autograder.term.groups import Groups
from autograder.term.late import Late
from autograder.term.marks import take_marks
from autograder.term.points import Points
from autograder.term.questions import read_questions
from autograder.term.roster import read_roster


@dataclass(frozen=True)
class Rules:
    """The tables of a class, as they are today."""

    points: Points
    groups: Groups
    disputes: Disputes
    late: Late

    @classmethod
    def of(cls, folder, points, groups, learners):
        """Read the tables in a class's folder.

        Args:
            points: Points, which say what counts.
            groups: Groups, which say who hands in for whom.
            learners: called, gives the names that are known.

        Raises:
            CourseError: if a table is not clear.
        """
        read_questions(chapters())
        roster = read_roster(folder)
        known = cache(lambda: learners() | roster.keys())
        groups.require(folder, known)
        late = Late.of(folder, known)
        return cls(points, groups, read_disputes(folder, known, points.exercises), late)

    def settle(self, stem, places, scores, remark=lambda text: None):
        """Bring records and gradebook to what the tables say, without running anybody's code.

        Args:
            places: where the graded notebooks lie.
            scores: the chapter's Scores.
            remark: called with a sentence about what a person should look at.

        Returns:
            Settled.
        """
        weighed = self.points.weigh(stem, places, scores)
        shared = self.groups.share(stem, places, scores, remark)
        decided = self.disputes.decide(stem, places, scores, self.groups, remark)
        marked = take_marks(stem, places, scores)
        charged = self.late.charge(stem, places, scores, remark)
        return Settled(weighed, shared, decided, marked, charged)


@dataclass(frozen=True)
class Settled:
    """The learners for whom points, a group, a decision, a mark or a deadline have changed
    something.
    """

    weighed: list
    shared: list
    decided: list
    marked: list
    charged: list

    @property
    def learners(self):
        """All of them, each once."""
        lists = (self.weighed, self.shared, self.decided, self.marked, self.charged)
        return list(dict.fromkeys(learner for learners in lists for learner in learners))
