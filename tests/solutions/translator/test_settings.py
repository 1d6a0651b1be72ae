"""How long a training is, how its learning rate goes, and what it says at its end."""

import math

import pytest

from solutions.translator import corpus
from solutions.translator.__main__ import chosen_from, parser
from solutions.translator.measure import splits
from solutions.translator.settings import PRESETS, Settings, with_preset


def settings_of(*arguments):
    """Return the settings that `train` with some options comes to."""
    options = vars(parser().parse_args(["train", *arguments]))
    given = {name: value for name, value in options.items() if value is not None}
    return chosen_from(with_preset("captions" if options["source"] else "small", given), Settings)


def test_no_clock_decides_what_the_course_s_corpus_comes_to():
    settings = settings_of()
    assert settings.steps == PRESETS["small"]["steps"] and settings.minutes is None
    assert settings.progress(settings.steps // 2, seconds=1e6) == 0.5
    assert PRESETS["small"]["threads"] == 1


def test_a_limit_is_for_those_who_ask_for_one():
    limited = settings_of("--minutes", "2")
    assert (limited.steps, limited.minutes) == (PRESETS["small"]["steps"], 2.0)
    assert limited.progress(10, seconds=120) == limited.progress(limited.steps, seconds=1) == 1.0


def test_real_text_takes_the_time_or_the_steps_that_it_is_given():
    assert settings_of("--source", "a.en").minutes == PRESETS["captions"]["minutes"]
    assert settings_of("--source", "a.en", "--minutes", "10").steps is None
    by_steps = settings_of("--source", "a.en", "--steps", "70")
    assert (by_steps.steps, by_steps.minutes) == (70, None)


@pytest.mark.parametrize("schedule", ["cosine", "noam", "constant"])
def test_the_rate_rises_to_its_highest_and_then_falls_or_stays(schedule):
    settings = Settings(steps=1000, warmup=100, learning_rate=0.5, schedule=schedule)
    rates = [settings.rate(step, settings.progress(step - 1, 0)) for step in range(1, 1001)]
    highest = rates.index(max(rates)) + 1
    assert 90 <= highest <= 100 and 0.48 < max(rates) <= 0.5
    assert rates[:90] == sorted(rates[:90])
    last = {"cosine": 0.0, "noam": 0.5 * math.sqrt(100 / 1000), "constant": 0.5}[schedule]
    assert math.isclose(rates[-1], last, abs_tol=1e-4)


def test_the_report_has_what_was_reached_beside_what_to_expect(monkeypatch):
    pairs = [("a", "x"), ("b", "y"), ("c", "z"), ("d", "w")]
    monkeypatch.setattr(corpus, "splits", lambda: dict.fromkeys(splits.EXPECTED, pairs))

    class Run:
        def translate(self, sentences):
            return ["x", "y", "z", "?"]

    _, *lines = splits.report(Run()).splitlines()
    assert [line.split()[0] for line in lines] == list(splits.EXPECTED)
    assert all(" 75.0% of     4 " in line for line in lines)
    assert "97 % or more" in lines[0]
