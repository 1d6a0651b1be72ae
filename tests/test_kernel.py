"""A learner's process: its limits hold, and after a crash it is where it was."""

import time

import pytest

from autograder.exercise import load_exercises
from autograder.kernel import MOST_OUTPUT, LearnerKernel

CASE = load_exercises("ch04_attention")["softmax"].prepare(b"any", visible=True).cases[0]


@pytest.fixture(scope="module")
def kernel():
    with LearnerKernel(seconds=120) as kernel:
        yield kernel


def test_output_is_kept_up_to_a_limit(kernel):
    ran = kernel.run("print('x' * 1_000_000)", 10)
    assert ran.status == "ok"
    assert ran.text == "x" * MOST_OUTPUT


def test_an_exception_is_an_error_and_the_next_cell_runs(kernel):
    assert kernel.run("1 / 0", 10).error == "ZeroDivisionError: division by zero"
    assert kernel.run("print(6 * 7)", 10).text == "42\n"


def test_a_cell_that_takes_too_long_is_stopped_and_the_names_before_it_remain(kernel):
    kernel.run("kept = 'kept'", 10)
    assert kernel.run("while True: pass", 1).status == "timeout"
    assert kernel.run("print(kept)", 10).text == "kept\n"


def test_after_a_crash_the_cells_before_it_are_run_again(kernel):
    kernel.run("kept = 'kept again'", 10)
    assert kernel.run("import os; os._exit(3)", 10).status == "died"
    assert kernel.run("print(kept)", 10).text == "kept again\n"


def test_nothing_of_ours_is_in_its_environment(kernel, monkeypatch):
    ran = kernel.run("import os; print(sorted(os.environ))", 10)
    assert "PYTHONPATH" in ran.text
    assert not [name for name in ("SECRET", "TOKEN", "PASSWORD", "NBGRADER") if name in ran.text]


def test_when_the_time_of_the_submission_is_used_up_everything_ends():
    with LearnerKernel(seconds=3) as kernel:
        assert kernel.run("while True: pass", 60).status == "timeout"
        assert kernel.remaining() == 0
        started = time.monotonic()
        assert kernel.run("print(1)", 60).status == "timeout"
        assert "did not finish" in kernel.ask("softmax", CASE, 60)["unfit"]
        assert time.monotonic() - started < 30


def test_an_undefined_function_is_told(kernel):
    assert kernel.ask("softmax", CASE, 10) == {"unfit": "is not defined"}
