"""Who was late, and what that costs: worked out anew in each run from the deadlines of that day,
without running anybody's code.
"""

import json
from dataclasses import dataclass, replace
from datetime import UTC
from zoneinfo import ZoneInfo

from autograder.course import ROOT, CourseError
from autograder.term.deadlines import (
    FILE,
    Deadlines,
    LateRule,
    lateness,
    read_deadlines,
    rule_of,
)
from autograder.whole_files import write_whole

CONFIGURATION = ROOT / "nbgrader_config.py"


@dataclass(frozen=True)
class Late:
    """The deadlines of a class and its late rule.

    Args:
        file_times: the time zone in which a file's time, and that of one in a zip, is to be
            believed; "" where it is not.
    """

    deadlines: Deadlines
    rule: LateRule
    file_times: str = ""

    @classmethod
    def of(cls, folder, learners, configuration=CONFIGURATION):
        """Return what holds for the class in a folder.

        Args:
            learners: called, gives the names that are known.
            configuration: nbgrader's, with `c.LatePenalty`.

        Raises:
            CourseError: if the table or the settings are not clear.
        """
        if not (folder / FILE).exists():
            return cls(Deadlines(), LateRule())
        rule, file_times = rule_of(settings_in(configuration))
        return cls(read_deadlines(folder, learners()), rule, file_times)

    def timed(self, found, remark):
        """Return what was handed in with the times at which it is to be believed that it was.

        Args:
            found: list of HandedIn.
            remark: called with a sentence, if there are times that are not believed.
        """
        timed, doubted = [], 0
        for each in found:
            if self.deadlines.first(each.stem) is None or each.clock == "timestamp.txt":
                timed.append(each)
                continue
            doubted += not self.file_times
            timed.append(replace(each, timestamp=self.believed(each)))
        if doubted:
            remark(
                f"when {doubted} were handed in is not known, so nobody of them is late: a file's"
                " time is that of its last copy, and a zip does not name its zone."
                " c.LatePenalty.file_times in nbgrader_config.py says in which zone they may be"
                " believed"
            )
        return timed

    def believed(self, handed_in):
        """Return when something was handed in that only its file tells, in UTC without a zone."""
        when = handed_in.timestamp
        if not self.file_times or when is None:
            return None
        if handed_in.clock == "file":  # which is in UTC already
            return when
        zone = ZoneInfo(self.file_times)  # where clocks are put back, the earlier of two
        return min(
            when.replace(tzinfo=zone, fold=fold).astimezone(UTC).replace(tzinfo=None)
            for fold in (0, 1)
        )

    def charge(self, stem, places, scores):
        """Bring records and gradebook to what the deadlines say today.

        Args:
            places: where the graded notebooks lie.
            scores: the chapter's Scores.

        Returns:
            list of the learners for whom that changed anything.
        """
        changed, charged = [], scores.charged()
        if self.deadlines.first(stem) is None and not charged:
            return changed
        for learner, when in sorted(scores.times().items()):
            path = places.graded(learner, stem)
            when = when.replace(tzinfo=UTC) if when else None
            told = lateness(self.deadlines.due(stem, learner), when, self.rule)
            try:
                notebook = json.loads(path.read_text(encoding="utf-8"))
                record = notebook["metadata"]["autograder"]
            except (OSError, ValueError, KeyError, TypeError):
                continue  # the report says of such a file what is wrong with it
            before = record.pop("late", None)
            if told is None and before is None:
                continue
            kept = told["kept"] if told else 1.0
            if kept < 1 or learner in charged:  # a person may have changed the score since
                scores.charge(learner, kept)
            if told == before:
                continue
            if told:
                record["late"] = told
            places.feedback(learner, stem).unlink(missing_ok=True)  # a page is there when all is
            write_whole(path, json.dumps(notebook, ensure_ascii=False, separators=(",", ":")))
            changed.append(learner)
        return changed


def settings_in(configuration):
    """Return the settings of `c.LatePenalty` in nbgrader's configuration, a dict.

    Raises:
        CourseError: if the file cannot be run.
    """
    from traitlets.config.loader import ConfigFileNotFound, PyFileConfigLoader

    loader = PyFileConfigLoader(configuration.name, path=str(configuration.parent))
    try:
        loaded = loader.load_config()
    except ConfigFileNotFound:
        return {}
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise CourseError(f"{configuration} could not be read: {reason}") from None
    return dict(loaded.get("LatePenalty", {}))
