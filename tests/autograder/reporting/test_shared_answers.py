"""Two notebooks that share several answers which few in the class wrote are listed; answers that
honest people write alike accuse nobody.
"""

import inspect
import random
import re
import textwrap
import time

import pytest

import tests.autograder.authoring.test_strangers as found_elsewhere
from autograder.authoring.loading import load_exercises, solution_sources
from autograder.course import chapters
from autograder.reporting.likeness import Print, flags_of_class, print_of
from autograder.reporting.shared_answers import circles

LONG = 60  # parts of a syntax tree, from which on nobody's answer is like another's here


def own_source(implementation, name):
    source = textwrap.dedent(inspect.getsource(implementation))
    return re.sub(r"\A(?:@.*\n)*(def|class) \w+", rf"\1 {name}", source, count=1)


def pool_of(stem):
    """Return sources by exercise, written by people who have not met: right answers of the checks,
    and what strangers wrote.
    """
    strangers = [
        each.values[1] for each in found_elsewhere.each_stranger() if each.values[0] == stem
    ]
    pool = {}
    for name, exercise in load_exercises(stem).items():
        written = [each.implementation for each in strangers if each.exercise == name]
        for each in (*exercise.alternatives, *written):
            try:
                source = own_source(each, name)
            except (OSError, TypeError):
                continue
            if print_of(source):
                pool.setdefault(name, {})[print_of(source).digest] = source
    return {name: list(sources.values()) for name, sources in pool.items()}


@pytest.fixture(scope="module")
def pools():
    found = {stem: pool_of(stem) for stem in chapters()}
    assert min(map(len, found.values())) >= 2
    return found


def of_their_own(source, number):
    """Return a source as another person might write it."""
    return f"{source.rstrip()}\n\n\nassert {number}\n"


def honest(pool, rng, number, usual=0.5, style=None):
    """Write a notebook alone: short answers are the usual ones or one of the others there are; in a
    `style`, most of them are of it.
    """
    cells = {}
    for name, sources in pool.items():
        source = sources[0] if rng.random() < usual else rng.choice(sources)
        if style is not None and rng.random() < 0.8:
            source = sources[style % len(sources)]
        if print_of(source).size >= LONG:
            source = of_their_own(source, number)
        cells[name] = source
    return cells


def listed(stem, notebooks):
    """Return the groups that are listed, of learner -> exercise -> source."""
    prints = {
        learner: {name: print_of(source) for name, source in cells.items()}
        for learner, cells in notebooks.items()
    }
    files = {learner: learner for learner in notebooks}
    flags = flags_of_class(stem, prints, files, dict.fromkeys(notebooks, 0.5))
    return {flag.group for each in flags.values() for flag in each}


CLASSES = {2: 8, 3: 8, 5: 4, 8: 4, 30: 2, 100: 1}  # learners, and how many such classes


@pytest.mark.parametrize(("people", "classes"), CLASSES.items())
def test_nobody_is_accused_of_short_answers(pools, people, classes):
    for seed in range(classes):
        rng = random.Random(seed)
        for stem, pool in pools.items():
            group = {f"l{n}": honest(pool, rng, n) for n in range(people)}
            assert listed(stem, group) == set(), (stem, seed)


@pytest.mark.parametrize(("people", "classes"), CLASSES.items())
def test_nobody_is_accused_of_a_style(pools, people, classes):
    for seed in range(classes):
        rng = random.Random(seed)
        for stem, pool in pools.items():
            group = {
                f"l{n}": honest(pool, rng, n, style=rng.choices(range(5), (50, 20, 15, 10, 5))[0])
                for n in range(people)
            }
            assert listed(stem, group) == set(), (stem, seed)


def their_own(stem):
    """Return a notebook that nobody else has anything of."""
    return {
        name: of_their_own(source, "'as nobody else has it'")
        for name, source in solution_sources(stem).items()
    }


def copy_of(cells, *rewritten, number=1):
    """Return a notebook with other names, and some exercises rewritten."""
    return {
        name: of_their_own(source, number) if name in rewritten else renamed(source)
        for name, source in cells.items()
    }


def renamed(source):
    """Return a source with another name for the first variable, and a comment."""
    [name, *_] = [*re.findall(r"^    (\w+) = ", source, re.MULTILINE), "no_name"]
    return re.sub(rf"(?<![.\w]){name}\b(?!=)", f"my_{name}", source) + "# mine\n"


@pytest.mark.parametrize(
    ("stem", "rewritten"),
    [
        ("ch08_encoder_decoder", ["greedy_decode"]),
        ("ch09_training", ["train_step"]),
        ("ch09_training", ["noam_rate", "teacher_forcing_pair"]),
        ("ch11_efficiency", ["attention_flops", "merge"]),
        ("ch13_family", ["LanguageModel", "RMSNorm"]),
    ],
)
@pytest.mark.parametrize("people", [8, 30])
def test_who_rewrote_an_exercise_or_two_is_listed(pools, stem, rewritten, people):
    pool, rng = pools[stem], random.Random(7)
    group = {f"l{n}": honest(pool, rng, n) for n in range(people)}
    group["ada"] = their_own(stem)
    group["bob"] = copy_of(group["ada"], *rewritten)
    assert listed(stem, group) == {("ada", "bob")}


def test_a_friend_s_friend_makes_nothing_usual(pools):
    stem, rng = "ch08_encoder_decoder", random.Random(1)
    group = {f"l{n}": honest(pools[stem], rng, n) for n in range(30)}
    group["ada"] = their_own(stem)
    group["bob"] = copy_of(group["ada"], "greedy_decode", number=1)
    group["eve"] = copy_of(group["ada"], "greedy_decode", number=2)
    assert listed(stem, group) == {("ada", "bob", "eve")}


def test_what_a_fifth_of_the_class_wrote_is_no_copy(pools):
    stem, rng = "ch08_encoder_decoder", random.Random(1)
    group = {f"l{n}": honest(pools[stem], rng, n) for n in range(24)}
    for number in range(8):
        group[f"reader{number}"] = copy_of(their_own(stem), "greedy_decode", number=number)
    assert listed(stem, group) == set()


def test_a_class_of_thousands_is_compared_in_seconds():
    """Each answer is written by as many as can still be rare."""
    prints = {
        f"l{n}": {f"e{k}": Print(f"{(n * (k + 7) + k) // 30 % 97}", 200, "", 0) for k in range(9)}
        for n in range(2900)
    }
    before = time.process_time()
    circles(prints, {})
    assert time.process_time() - before < 20


def test_answers_of_any_length_can_be_compared():
    long = {name: Print(name, 10**6, "", 0) for name in ("one", "two")}
    prints = {"ada": long, "bob": {**long, "three": Print("3", 1, "", 0)}, "eve": {}}
    assert circles(prints, {}) == [(("ada", "bob"), ("one", "two"))]
    assert circles({}, {}) == circles({"ada": long}, {}) == []
