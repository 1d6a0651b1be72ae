"""`deadlines.csv` and the late rule: times with their zones, and no line that is read on a guess."""

from datetime import UTC, datetime, timedelta

import pytest

from autograder.course import CourseError
from autograder.reporting.record import late_in
from autograder.term.deadlines import (
    Deadlines,
    LateRule,
    lateness,
    read_deadlines,
    rule_of,
    time_in,
)

STEM = "ch01_embeddings"
LEARNERS = {"ada", "bob", "zoë"}
HEAD = "chapter,due,learner\n"
ENDS = ("0001-01-01 00:00", "9999-12-31 23:59")  # of time, as Python has it
ZONES = (" UTC", " America/New_York", " Europe/Rome", " -05:00", "+01:00")


def written(folder, text):
    content = text if isinstance(text, bytes) else text.encode()
    (folder / "deadlines.csv").write_bytes(content)
    return folder


def complaint(folder, text):
    with pytest.raises(CourseError) as told:
        read_deadlines(written(folder, text), LEARNERS)
    return str(told.value)


def utc(*when):
    return datetime(*when, tzinfo=UTC)


def test_without_a_table_nothing_is_due(tmp_path):
    assert read_deadlines(tmp_path, LEARNERS) == Deadlines()
    assert read_deadlines(tmp_path, LEARNERS).due(STEM, "ada") is None


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}{STEM},2026-11-30 23:59 Europe/Rome,\n{STEM},2026-12-07T23:59+01:00,zoë\n",
        f"\ufeffDue;Learner;Chapter\r\n2026-11-30 22:59 UTC;;{STEM}\r\n\r\n2026-12-07 22:59 Z;zoë;{STEM}",
        f"chapter\tdue\tlearner\n{STEM}\t2026-11-30 22:59:00 UTC\n{STEM}\t2026-12-07 22:59Z\tzoë\n",
    ],
    ids=["commas", "a spreadsheet's, with a mark", "tabs"],
)
def test_a_row_for_all_and_one_for_a_learner(tmp_path, text):
    found = read_deadlines(written(tmp_path, text), LEARNERS)
    assert found.due(STEM, "ada") == utc(2026, 11, 30, 22, 59)
    assert found.due(STEM, "zoë") == utc(2026, 12, 7, 22, 59)
    assert found.due("ch02_positional_encoding", "ada") is None
    assert found.first(STEM) == utc(2026, 11, 30, 22, 59)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-07-01 23:59 Europe/Rome", (2026, 7, 1, 21, 59)),
        ("2026-12-01 23:59 Europe/Rome", (2026, 12, 1, 22, 59)),
        ("2026-12-01 9:30 America/New_York", (2026, 12, 1, 14, 30)),
        ("2026-12-01T23:59:59-0330", (2026, 12, 2, 3, 29, 59)),
    ],
)
def test_a_time_is_that_of_its_zone(text, moment):
    assert time_in(text) == utc(*moment)


@pytest.mark.parametrize(
    ("text", "due", "handed_in"),
    [
        # summer time has ended in between
        (
            "2026-10-24 23:59 Europe/Rome",
            "2026-10-24 23:59 Europe/Rome",
            "2026-10-25 12:00 Europe/Rome",
        ),
        ("2026-10-24 23:59+05:30", "2026-10-24 23:59 UTC+05:30", "2026-10-25 16:30 UTC+05:30"),
        ("2026-10-24 23:59Z", "2026-10-24 23:59 UTC", "2026-10-25 11:00 UTC"),
    ],
)
def test_times_are_told_in_the_zone_of_their_deadline(text, due, handed_in):
    told = lateness(time_in(text), utc(2026, 10, 25, 11), RULE)
    late = late_in({"late": told, "cells": []})
    assert (late.due, late.handed_in) == (due, handed_in)
    assert told["late"] == (utc(2026, 10, 25, 11) - time_in(text)).total_seconds()


def test_the_first_of_several_deadlines_is_told_in_utc():
    rows = {STEM: time_in("2026-11-30 23:59 Europe/Rome")}
    ada = {(STEM, "ada"): time_in("2026-11-30 23:30 UTC")}
    assert Deadlines(rows, ada).first(STEM).isoformat() == "2026-11-30T22:59:00+00:00"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-11-30 23:59", "in which time zone"),
        ("2026-11-30", "no time of day"),
        ("2026-11-31 23:59 UTC", "there is no 2026-11-31"),
        ("2026-11-30 25:00 UTC", "there is no 2026-11-30 25:00"),
        ("30.11.2026 23:59 UTC", "is no time"),
        ("2026-11-30 23:59 Europe/Rom", "no time zone is called “Europe/Rom”"),
        ("2026-11-30 23:59 ../../etc/passwd", "no time zone is called"),
        ("2026-03-29 02:30 Europe/Rome", "has no 02:30: clocks are put forward"),
        ("2026-10-25 02:30 Europe/Rome", "has 02:30 twice"),
        ("", "is no time"),
        *((f"{end}{zone}", "a year from 1970 to 2200") for end in ENDS for zone in ZONES),
        ("1969-12-31 23:59 UTC", "a year from 1970 to 2200"),
        ("2201-01-01 00:00 UTC", "a year from 1970 to 2200"),
        ("2026-11-30 23:59 +99:99", "no time zone is called “.99:99”"),
        ("2026-11-30 23:59 +24:00", "no time zone is called “.24:00”"),
        ("2026-11-30 23:59 +01:60", "no time zone is called “.01:60”"),
    ],
)
def test_what_is_no_moment_is_named(text, told):
    with pytest.raises(ValueError, match=told):
        time_in(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"chapter,learner\n{STEM},\n", "line 1: there is no column “due”"),
        (f"chapter,due,who\n{STEM},x,\n", "a column “who”"),
        (f"chapter,due,due\n{STEM},x,\n", "“due” twice"),
        ("", "no column “chapter”"),
        (f"{HEAD}{STEM},2026-11-31 23:59 UTC,\n", "line 2: there is no 2026-11-31"),
        (f"{HEAD}ch01_embedings,2026-11-30 23:59 UTC,\n", "did you mean ch01_embeddings?"),
        (f"{HEAD}{STEM},2026-11-30 23:59 UTC,adda\n", "did you mean ada?"),
        (
            f"{HEAD}{STEM},2026-11-30 23:59 UTC,\n\n{STEM},2026-12-01 23:59 UTC,\n",
            "line 4: line 2 has a time for all",
        ),
        (f"{HEAD}{STEM},2026-11-30 23:59 UTC,ada,bob\n", "line 2: 4 cells under 3 columns"),
        (f'{HEAD}{STEM},"2026-11-30 23:59 UTC,ada\n', "line 2"),
        (f"{HEAD}{STEM},2026-11-30 23:59 UTC,zoë\n".encode("latin-1"), "line 2: byte 0xeb"),
        (f"{HEAD}{STEM},2026-11-30 23:59 UTC,\n".encode("utf-16"), "line 1: this is UTF-16"),
    ],
)
def test_a_line_that_is_not_clear_is_named(tmp_path, text, told):
    assert told in complaint(tmp_path, text)


def test_all_lines_that_are_not_clear_are_named_at_once(tmp_path):
    told = complaint(tmp_path, f"{HEAD}{STEM},soon,\n{STEM},2026-11-30 23:59 UTC,eve\nch99,x,\n")
    assert [f"line {line}:" in told for line in (2, 3, 4)] == [True] * 3
    assert "so nothing was changed" in told


RULE = LateRule(grace=10, a_day=0.1, floor=0.5)


@pytest.mark.parametrize(
    ("late", "kept"),
    [
        (timedelta(0), 1),
        (timedelta(minutes=10), 1),
        (timedelta(minutes=10, seconds=1), 0.9),
        (timedelta(days=1, minutes=10), 0.9),
        (timedelta(days=1, minutes=11), 0.8),
        (timedelta(days=3), 0.7),
        (timedelta(days=300), 0.5),
    ],
)
def test_each_day_that_has_begun_costs_a_share_down_to_the_floor(late, kept):
    assert RULE.kept(late) == kept


def test_without_a_rule_nobody_loses_anything():
    assert LateRule().kept(timedelta(days=300)) == 1


def test_lateness_says_what_is_known():
    due = utc(2026, 11, 30, 22, 59)
    assert lateness(None, due, RULE) is None
    assert lateness(due, None, RULE)["kept"] == 1
    told = lateness(due, due + timedelta(days=2), RULE)
    assert (told["late"], told["kept"]) == (172800, 0.8)
    assert lateness(due, due - timedelta(days=2), RULE)["late"] == 0


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"a_day": 10}, "a_day is 10; it is a number from 0 to 1"),
        ({"grace": -1}, "from 0 to 525,600"),
        ({"grace": float("inf")}, "grace is inf; it is a number from 0 to 525,600"),
        ({"grace": 1e300}, "grace is 1e"),
        ({"floor": "0.5"}, "floor is '0.5'"),
        ({"floor": True}, "floor is True"),
        ({"per_day": 0.1}, "per_day is no setting"),
        ({"gracee": 1}, "did you mean grace?"),
        ({"file_times": "Rome"}, "time zone such as"),
    ],
)
def test_a_setting_that_is_none_is_named(settings, told):
    with pytest.raises(CourseError, match=told.replace("?", r"\?")):
        rule_of(settings)


def test_settings_are_numbers():
    assert rule_of({"grace": 5, "a_day": 0.1, "file_times": "Europe/Rome"}) == (
        LateRule(5, 0.1, 0.0),
        "Europe/Rome",
    )
