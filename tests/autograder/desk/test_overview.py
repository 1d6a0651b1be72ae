"""The page about a class over time says what a teacher would want to hear, and no more."""

from autograder.desk.overview import (
    Chapter,
    doubtful,
    exercises_in,
    learners_in,
    returning,
    separating,
)

CLASS = [f"learner {number}" for number in range(8)]


def chapter(stem, **more):
    found = Chapter(stem)
    for name, value in more.items():
        getattr(found, name).update(value)
    return found


def test_who_falls_behind_is_first_with_the_reason():
    term = [
        chapter("one", shares=dict.fromkeys(CLASS, 0.9)),
        chapter("two", shares={each: 0.9 for each in CLASS[1:]} | {CLASS[3]: 0.5}),
    ]
    rows = learners_in(term)
    assert [(row["name"], bool(row["why"])) for row in rows[:3]] == [
        (CLASS[0], True),
        (CLASS[3], True),
        (CLASS[1], False),
    ]
    assert rows[0]["why"] == "handed in nothing for two"
    assert rows[1]["why"] == "50% in two, after 90% on average"


def test_a_misconception_returns_if_the_same_learner_meets_it_again():
    term = [
        chapter("one", beliefs={CLASS[0]: {"by rows"}, CLASS[1]: {"once"}}),
        chapter("two", beliefs={CLASS[0]: {"by rows"}, CLASS[2]: {"by rows", "once"}}),
    ]
    assert returning(term) == [{"belief": "by rows", "met": 2, "again": 1, "where": ["one", "two"]}]


def test_a_case_separates_if_those_who_pass_it_have_the_rest_right():
    good, weak = CLASS[:4], CLASS[4:]
    rest = {each: 1.0 for each in good} | {each: 0.2 for each in weak}
    told = {("f", "tells", False): {each: each in good for each in CLASS}}
    told |= {("f", "upside down", True): {each: each in weak for each in CLASS}}
    term = [chapter("one", exercises={"f": dict(rest), "g": rest}, cases=told)]
    [row] = separating(term)
    assert (row["title"], round(row["with_rest"], 2), row["share"]) == ("tells", 1.0, 0.5)
    [row] = doubtful(term)
    assert row["title"] == "upside down" and "right elsewhere" in row["why"]


def test_a_case_that_everybody_fails_is_doubted_and_not_where_nobody_answers():
    nobody = {("f", "odd", True): dict.fromkeys(CLASS, False)}
    assert not doubtful([chapter("one", cases=nobody)])
    [row] = doubtful([chapter("one", cases=nobody, answered={"f": set(CLASS)})])
    assert row["why"] == "nobody passes it, and 8 pass other cases of this exercise"


def test_exercises_that_are_hard_or_say_nothing():
    term = [
        chapter(
            "one",
            exercises={
                "hard": dict.fromkeys(CLASS, 0.1),
                "easy": dict.fromkeys(CLASS, 1.0),
                "fine": {each: index / 7 for index, each in enumerate(CLASS)},
                "few": {CLASS[0]: 0.0},
            },
        )
    ]
    assert [row["exercise"] for row in exercises_in(term)] == ["hard", "easy"]
