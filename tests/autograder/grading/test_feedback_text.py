"""What a learner reads below a graded cell."""

from types import SimpleNamespace

import pytest

from autograder.grading.outcomes import write_outcome


def case(title, message, misconception=None):
    return {
        "title": title,
        "passed": not message,
        "message": message,
        "misconception": misconception,
    }


@pytest.fixture
def text():
    cell = SimpleNamespace()
    cases = [
        case("one row", "result[0] is wrong. Which axis?", "the axis is always the last one"),
        case("two rows", "result[1] is wrong. Which axis?", "the axis is always the last one"),
        case("three rows", ""),
        case("no rows", "was not tried again"),
        case("many rows", "was not tried again"),
        case("other rows", "result[7] is wrong"),
    ]
    write_outcome(cell, {"cells": []}, {"cases": cases, "score": 0.5})
    return cell.outputs[0]["text"]


def test_what_several_cases_have_in_common_is_said_once(text):
    assert text.splitlines() == [
        "✗ one row",
        "    result[0] is wrong. Which axis?",
        "✗ two rows",
        "    the same as in “one row”",
        "✓ three rows",
        "✗ no rows",
        "    was not tried again",
        "✗ many rows",
        "    the same as in “no rows”",
        "✗ other rows",
        "    result[7] is wrong",
    ]
