"""`check(...)` on the learner's machine: at once, without the reference, and without a traceback of
ours.
"""

import subprocess
import sys

from autograder.course import ROOT
from autograder.shared.learner import read_all_exercises

# What a learner's machine may lack: the references, and the checks that hold them.
WITHOUT_ANSWERS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "solutions" or name.startswith("autograder.checks"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import numpy as np
from autograder import check
"""


def output_of(code):
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_ANSWERS + code], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran.stdout


RIGHT = """
def softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""


def test_a_right_answer_is_one_green_line():
    text = output_of(RIGHT + "assert check('softmax') is None")
    assert text.splitlines() == ["\x1b[32m✓ softmax: all 10 cases pass.\x1b[0m"]


def test_a_wrong_answer_is_one_message_with_its_hint():
    text = output_of(
        RIGHT.replace("scores - scores.max(axis=axis, keepdims=True)", "scores")
        + "print(repr(check('softmax')))"
    )
    assert "✗ scores around 1000 do not overflow" in text
    assert "softmax(scores=[1" in text
    assert "How large may a number be" in " ".join(text.split())
    assert text.splitlines()[-1] == "0.0"


def test_a_failure_in_a_function_that_it_calls_is_named_first():
    wrong = RIGHT.replace("scores - scores.max(axis=axis, keepdims=True)", "scores")
    calls = """
def attention_scores(query, key):
    return query @ key.swapaxes(-2, -1) / query.shape[-1] ** 0.5
def scaled_dot_product_attention(query, key, value):
    weights = softmax(attention_scores(query, key), axis=-2)
    return weights @ value, weights
check('scaled_dot_product_attention')
"""
    assert "look there first" in " ".join(output_of(wrong + calls).split())
    assert "Take one query: over which axis" in " ".join(output_of(RIGHT + calls).split())


def test_a_loop_that_never_ends_is_stopped_and_told():
    text = output_of(
        "def softmax(scores, axis=-1):\n    while True:\n        pass\ncheck('softmax')"
    )
    assert "did not finish within 3 s" in text


def test_the_arguments_of_a_failed_case_can_be_had():
    text = output_of(
        "def softmax(scores, axis=-1):\n    return scores\nprint(check('softmax').inputs)"
    )
    assert "{'scores': array([" in text


def test_a_stub_an_absent_function_and_an_unknown_name_are_told_apart():
    stub = "def softmax(scores, axis=-1):\n    raise NotImplementedError\n"
    assert "softmax is still the stub" in output_of(stub + "check('softmax')")
    assert "softmax is not defined yet" in output_of("check('softmax')")
    assert "there is no exercise 'sofmax'; there are: build_vocabulary" in output_of(
        "check('sofmax')"
    )


def test_the_hidden_cell_runs_nothing_and_earns_nothing():
    text = output_of("outcome = check('softmax', hidden=True)\nprint(outcome._repr_mimebundle_())")
    assert "when you hand in" in text
    assert "'text/plain': '0.0'" in text


def test_the_visible_cases_hold_no_hidden_one():
    assert {case.visible for case in read_all_exercises()["softmax"].cases} == {True}


# An import of torch's compiler, which an optimizer causes, on a slow machine.
SLOW_COMPILER = """
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "torch._dynamo":
            time.sleep(2)

sys.meta_path.insert(0, Slow())
from autograder import check
from autograder.shared import learner
from solutions.ch09_training import *
learner.CASE_SECONDS = 1.5
check("train_step")
"""


def test_what_an_optimizer_loads_takes_none_of_a_cases_time():
    ran = subprocess.run(
        [sys.executable, "-c", SLOW_COMPILER], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "✓ train_step: all" in ran.stdout, ran.stdout


def test_a_function_is_no_suspect_of_itself():
    text = output_of(
        "import torch\n"
        "def softmax(scores, axis=-1):\n"
        "    return 2 * torch.softmax(torch.from_numpy(scores), dim=axis).numpy()\n"
        "check('softmax')"
    )
    assert "every number is 2 times what it should be" in text
    assert "It calls softmax" not in text
