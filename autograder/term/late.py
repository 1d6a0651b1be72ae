"""Who was late, and what that costs: worked out anew in each run from the deadlines of that day,
without running anybody's code.
"""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from autograder.course import ROOT, CourseError
from autograder.term.deadlines import (
    FILE,
    Deadlines,
    LateRule,
    is_sensible,
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

    def timed(self, found):
        """Return what was handed in with the times at which it is to be believed that it was.

        Args:
            found: list of HandedIn.
        """
        return [
            each
            if self.deadlines.first(each.stem) is None or each.clock == "timestamp.txt"
            else replace(each, timestamp=self.believed(each.clock, each.timestamp))
            for each in found
        ]

    def believed(self, clock, when):
        """Return when something was handed in that only its file tells, in UTC without a zone, or
        None where that is not to be believed.

        Args:
            clock, when: see HandedIn.
        """
        if not self.file_times or when is None:
            return None
        if clock == "file":  # which is in UTC already
            return when
        zone = ZoneInfo(self.file_times)  # where clocks are put back, the earlier of two
        return min(
            when.replace(tzinfo=zone, fold=fold).astimezone(UTC).replace(tzinfo=None)
            for fold in (0, 1)
        )

    def handed_in(self, record, when):
        """Return when what a record is about was handed in, in UTC, or None where nobody knows.

        Args:
            when: as the gradebook has it, in UTC without a zone; it counts where the record does
                not say that only a file's time is known.
        """
        clock, _, told = record.get("file_time", "").partition(" ")
        when = self.believed(clock, datetime.fromisoformat(told)) if told else when
        return when.replace(tzinfo=UTC) if when and is_sensible(when) else None

    def charge(self, stem, places, scores, remark=lambda text: None):
        """Bring records and gradebook to what the deadlines say today.

        Args:
            places: where the graded notebooks lie.
            scores: the chapter's Scores.
            remark: called with a sentence, if nobody knows when some were handed in.

        Returns:
            list of the learners for whom that changed anything.
        """
        changed, unknown, charged = [], 0, scores.charged()
        for learner, when in sorted(scores.times().items()):
            path, due = places.graded(learner, stem), self.deadlines.due(stem, learner)
            try:
                text = path.read_text(encoding="utf-8")
                if due is None and learner not in charged and '"late"' not in text:
                    continue  # to look for a word is quicker than to parse
                notebook = json.loads(text)
                record = notebook["metadata"]["autograder"]
            except (OSError, ValueError, KeyError, TypeError):
                continue  # the report says of such a file what is wrong with it
            told = lateness(due, self.handed_in(record, when), self.rule)
            unknown += told is not None and told["handed_in"] is None
            before = record.pop("late", None)
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
        if unknown:
            were = "was" if unknown == 1 else "were"
            remark(f"{stem}: when {unknown} {were} handed in is not known, so {self.doubt()}")
        return changed

    def doubt(self):
        """Say what follows from not knowing when something was handed in, and what helps."""
        if self.file_times:
            return "nobody of them is late"
        return (
            "nobody of them is late: a file's time is that of its last copy, and a zip does not"
            " name its zone. c.LatePenalty.file_times in nbgrader_config.py says in which zone they"
            " may be believed"
        )


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
