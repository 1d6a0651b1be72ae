"""Until when each chapter is due, for the class and for single learners, and what being late costs.

`deadlines.csv` lies in the class's folder, beside its gradebook:

    chapter,due,learner
    ch04_attention,2026-11-30 23:59 Europe/Rome,
    ch04_attention,2026-12-07 23:59 Europe/Rome,ada

A row without a learner is for all; one with a learner replaces it for that learner. A time says its
zone, as a name, as `UTC`, or as a difference such as `+01:00`.
"""

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from autograder.course import CourseError, chapters
from autograder.term.roster import unknown
from autograder.term.tables import Table, closest

FILE = "deadlines.csv"
DAY = timedelta(days=1)
MOST_GRACE = 525_600  # minutes, which are a year
TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:[ T]+(?P<time>\d\d?:\d\d(?::\d\d)?))?\s*(?P<zone>\S.*)?"
)
OFFSET = re.compile(r"[+-](?:[01]\d|2[0-3]):?[0-5]\d", re.ASCII)
YEARS = range(1970, 2201)  # what lies outside is a slip, or leaves the calendar in another zone
EXAMPLE = "write it as in 2026-11-30 23:59 Europe/Rome"


@dataclass(frozen=True)
class LateRule:
    """What being late costs.

    Args:
        grace: minutes that cost nothing.
        a_day: the share of the points that each day costs which has begun after that.
        floor: the share that is kept however late it is.
    """

    grace: float = 0.0
    a_day: float = 0.0
    floor: float = 0.0

    def kept(self, late):
        """Return the share of the points, from 0 to 1, that is kept by who is late by a
        timedelta.
        """
        beyond = late - timedelta(minutes=self.grace)
        if beyond <= timedelta(0):
            return 1.0
        return round(max(self.floor, 1 - self.a_day * math.ceil(beyond / DAY), 0.0), 6)


@dataclass(frozen=True)
class Deadlines:
    """When each chapter is due.

    Args:
        of_all: chapter -> time, in the zone in which it was written.
        of_learner: (chapter, learner) -> time, likewise.
    """

    of_all: dict = field(default_factory=dict)
    of_learner: dict = field(default_factory=dict)

    def due(self, stem, learner):
        """Return when a chapter is due for a learner, in the zone in which that was written, or
        None.
        """
        return self.of_learner.get((stem, learner), self.of_all.get(stem))

    def first(self, stem):
        """Return the first time at which a chapter is due for anybody, in UTC, or None."""
        times = [when for (each, _), when in self.of_learner.items() if each == stem]
        times += [self.of_all[stem]] if stem in self.of_all else []
        return min((when.astimezone(UTC) for when in times), default=None)


def read_deadlines(folder, learners):
    """Return the Deadlines in a class's folder; there may be none.

    Args:
        learners: the names that are known.

    Raises:
        CourseError: if the table is not clear; the message names each line.
    """
    path = folder / FILE
    found = Deadlines()
    if not path.exists():
        return found
    with Table(path, ("chapter", "due"), optional=("learner",)) as table:
        lines = {}
        for line, row in table.rows():
            stem, learner = row["chapter"], row.get("learner", "")
            if stem not in chapters():
                table.fault(line, f"there is no chapter “{stem}”{closest(stem, chapters())}")
                continue
            if wrong := learner and unknown(learner, learners):
                table.fault(line, wrong)
                continue
            if first := lines.get((stem, learner)):
                whom = learner or "all"
                table.fault(line, f"line {first} has a time for {whom} in {stem} already")
                continue
            lines[stem, learner] = line
            try:
                when = time_in(row["due"])
            except ValueError as error:
                table.fault(line, str(error))
                continue
            if learner:
                found.of_learner[stem, learner] = when
            else:
                found.of_all[stem] = when
    return found


def time_in(text):
    """Return the moment that a text names, in the zone that it names.

    Raises:
        ValueError: with a sentence, if it names none, two, or no zone.
    """
    match = TIME.fullmatch(text.strip())
    if not match:
        raise ValueError(f"“{text}” is no time; {EXAMPLE}")
    if not match["time"]:
        raise ValueError(f"“{text}” has no time of day; {EXAMPLE}")
    try:
        local = datetime.fromisoformat(f"{match['date']} {match['time'].rjust(5, '0')}")
    except ValueError:
        raise ValueError(f"there is no {match['date']} {match['time']}") from None
    if not is_sensible(local):
        raise ValueError(
            f"“{text}”: write a year from {YEARS[0]} to {YEARS[-1]}; what is never due has no row"
        )
    if not match["zone"]:
        raise ValueError(f"“{text}” does not say in which time zone; {EXAMPLE}")
    return in_zone(local, match["zone"])


def is_sensible(when):
    """Return whether a datetime can be one at which something is due or was handed in."""
    return when.year in YEARS


def in_zone(local, zone):
    """Return a local time with its zone.

    Raises:
        ValueError: with a sentence, if there is no such zone, or no such time in it, or two.
    """
    if OFFSET.fullmatch(zone):
        return datetime.fromisoformat(f"{local.isoformat()}{zone}")
    try:
        there = ZoneInfo("UTC" if zone == "Z" else zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"no time zone is called “{zone}”; {EXAMPLE}") from None
    early, late = (local.replace(tzinfo=there, fold=fold).astimezone(UTC) for fold in (0, 1))
    back = early.astimezone(there).replace(tzinfo=None)
    if back != local:
        raise ValueError(f"on that day {zone} has no {local:%H:%M}: clocks are put forward")
    if early != late:
        raise ValueError(f"on that day {zone} has {local:%H:%M} twice: add an offset instead")
    return local.replace(tzinfo=there)


def lateness(due, when, rule):
    """Return what a record says of the time at which something was handed in.

    Args:
        due: None where there is no deadline; else in the zone in which the record tells times.
        when: when it was handed in, in UTC, or None where nobody knows.
        rule: LateRule.

    Returns:
        None without a deadline; else a dict with `due`, `handed_in` (ISO times, or None), `zone`
        (its name), `late` (seconds, 0 where in time) and `kept` (the share of the points).
    """
    if due is None:
        return None
    told = {"due": due.isoformat(), "zone": str(due.tzinfo)}
    if when is None:
        return {**told, "handed_in": None, "late": 0, "kept": 1.0}
    late = max(when - due, timedelta(0))
    return {
        **told,
        "handed_in": when.astimezone(due.tzinfo).isoformat(timespec="seconds"),
        "late": math.ceil(late.total_seconds()),
        "kept": rule.kept(late),
    }


def rule_of(settings):
    """Return the LateRule of the settings `LatePenalty` in nbgrader's configuration, and the zone
    of `file_times`, or "".

    Raises:
        CourseError: if a setting is unknown, no such number, or no such zone.
    """
    settings = dict(settings)
    zone = settings.pop("file_times", "")
    bounds = {"grace": (0, MOST_GRACE), "a_day": (0, 1), "floor": (0, 1)}
    for name, value in settings.items():
        setting = f"c.LatePenalty.{name}"
        if name not in bounds:
            raise CourseError(
                f"{setting} is no setting{closest(name, bounds)}; there are"
                f" {', '.join(bounds)} and file_times"
            )
        low, high = bounds[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            raise CourseError(f"{setting} is {value!r}; it is a number from {low} to {high:,}")
    try:
        if zone:
            ZoneInfo(zone)
    except (KeyError, ValueError, OSError, TypeError):
        raise CourseError(
            f"c.LatePenalty.file_times is {zone!r}; it is a time zone such as 'Europe/Rome'"
        ) from None
    return LateRule(**settings), zone
