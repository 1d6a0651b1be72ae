"""`check(...)` on the learner's machine: at once, without the reference, and without a traceback of
ours.
"""

import contextlib
import io
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from autograder.course import ROOT
from autograder.shared.learner import check, names_here
from autograder.shared.time_limit import time_limit
from autograder.shared.visible import VisibleExercises

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


def printed_by(code):
    """Return what code prints in this process, which starts no other one."""
    namespace = {"__name__": "notebook", "check": check, "np": np, "sys": sys}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue()


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
    assert "there is no exercise 'sofmax'. Did you mean softmax?" in output_of("check('sofmax')")


def test_a_misspelt_name_lists_the_exercises_of_this_notebook_alone():
    text = printed_by(
        RIGHT + "check('attention_scroes')\ncheck('causal_maks')\ncheck()\ncheck(softmax)"
    )
    here = "This notebook's exercises: softmax, attention_scores, scaled_dot_product_attention,"
    assert text.count(here) == 4
    assert "Did you mean attention_scores?" in text
    assert "Did you mean causal_mask?" in text
    assert text.count('name the exercise in quotes, as in check("softmax")') == 2
    assert "build_vocabulary" not in text


def test_a_notebook_is_also_known_by_its_files_name(monkeypatch):
    assert names_here({}) == []
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ada/work/ch06_masking (before 2026-11-22).ipynb")
    assert "causal_mask" in names_here({})


def test_the_hidden_cell_runs_nothing_and_earns_nothing():
    text = output_of("outcome = check('softmax', hidden=True)\nprint(outcome._repr_mimebundle_())")
    assert "when you hand in" in text
    assert "'text/plain': '0.0'" in text


def test_the_visible_cases_hold_no_hidden_one():
    assert {case.visible for case in VisibleExercises()["softmax"].cases} == {True}


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
    assert ran.stdout.startswith("One moment: this check needs a part of PyTorch"), ran.stdout
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


def test_a_mask_on_another_device_loads_no_compiler():
    text = output_of(
        "import torch\n"
        "def causal_mask(seq_len, device=None):\n"
        "    ones = torch.ones(1, 1, seq_len, seq_len, dtype=torch.bool, device=device)\n"
        "    places = torch.arange(seq_len, device=device)\n"
        "    return ones.tril() & (places >= places[:, None]).mT\n"
        "check('causal_mask')\n"
        "print({'sympy', 'torch._dynamo'} & set(sys.modules))"
    )
    assert "✓ causal_mask" in text
    assert text.endswith("set()\n")


def swallows_all():
    while True:
        try:  # noqa: SIM105
            time.sleep(0.5)
        except:  # noqa: E722
            pass


def swallows_all_in_a_second_loop():
    while True:
        try:
            swallows_all()
        except:  # noqa: E722
            continue


def computes_for_ever():
    while True:
        with contextlib.suppress(BaseException):
            sum(range(100))


def begins_anew_in_the_end():
    while True:
        try:
            time.sleep(0.5)
        finally:
            continue  # noqa: B012


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(
    "endless",
    [
        swallows_all,
        swallows_all_in_a_second_loop,
        computes_for_ever,
        begins_anew_in_the_end,
    ],
)
def test_a_loop_that_swallows_every_exception_is_stopped(endless):
    began = time.monotonic()
    with time_limit(0.3):
        endless()
    assert time.monotonic() - began < 10


def test_a_context_of_the_course_is_left_whole_however_often_it_is_stopped():
    left = []

    class Context:
        def __enter__(self):
            pass

        def __exit__(self, *_):
            for _ in range(100):
                left.append(len(left))

    for _ in range(20):
        with time_limit(0.01), Context():
            swallows_all()
    assert len(left) == 2000


def test_an_import_is_never_stopped_in_the_middle(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(1)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    told = []

    def importing():
        import slow_module

        told.append(slow_module.whole)

    with time_limit(0.3):
        importing()
    assert told == [True]


def test_an_argument_of_another_name_is_told_before_a_later_cell_fails_because_of_it():
    renamed = (
        RIGHT.replace("scores", "x").replace("axis=-1", "dim=-1").replace("axis=axis", "axis=dim")
    )
    later = """
def attention_scores(query, key):
    return query @ key.swapaxes(-2, -1) / query.shape[-1] ** 0.5
def scaled_dot_product_attention(query, key, value):
    weights = softmax(attention_scores(query, key), axis=-1)
    return weights @ value, weights
check('scaled_dot_product_attention')
"""
    told = (
        "softmax has other names for its arguments than the notebook: `x` for `scores`, `dim` for"
    )
    first, second = " ".join(printed_by(renamed + "check('softmax')" + later).split()).split("✗")
    assert "✓ softmax: all 10 cases pass" in first
    assert told in first
    assert told in second
    assert "what are the arguments of softmax called?" in second
    assert "other names" not in printed_by(RIGHT + "check('softmax')")


def test_another_default_is_told_before_it_costs_a_case_that_is_hidden():
    told = " ".join(printed_by(RIGHT.replace("axis=-1", "axis=1") + "check('softmax')").split())
    assert "softmax has other defaults than the notebook: `axis=1` for `axis=-1`" in told
    assert "other defaults" not in printed_by(RIGHT + "check('softmax')")


@pytest.mark.parametrize("line", ["sys.exit()", "exit()", "quit()", "raise SystemExit"])
def test_leaving_is_no_answer(line):
    text = printed_by(f"def softmax(scores, axis=-1):\n    {line}\ncheck('softmax')")
    assert "it raised a SystemExit; that ends the whole program" in " ".join(text.split())


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "GeneratorExit", "BaseException"])
def test_what_is_no_exception_of_a_program_is_named_too(name):
    text = printed_by(f"def softmax(scores, axis=-1):\n    raise {name}\ncheck('softmax')")
    assert f"it raised a {name}." in text


def test_what_a_function_prints_is_shown_for_one_case():
    printing = RIGHT.replace("    return", "    print(scores.shape)\n    return")
    lines = printed_by(printing + "check('softmax')").splitlines()
    assert lines[1:] == [
        "  What it printed in this case:",
        "    (3,)",
        "  Lines that are left out: 9 in the other cases.",
    ]
    wrong = RIGHT.replace("scores - ", "print('one\\n' * 20) or scores - 2 * ")
    text = printed_by(wrong + "check('softmax')")
    assert text.index("✗") < text.index("one")
    assert text.count("one\n") == 8
    assert "left out: 13 more here and 189 in the other cases." in text


def test_a_stub_that_is_called_is_named_once():
    text = printed_by(
        RIGHT
        + "def attention_scores(query, key):\n    raise NotImplementedError\n"
        + "def scaled_dot_product_attention(query, key, value):\n"
        + "    return softmax(attention_scores(query, key)) @ value\n"
        + "check('scaled_dot_product_attention')"
    )
    assert text.count("attention_scores") == 1, text


@pytest.fixture
def cells(capsys):
    """Return a function that runs cells as a notebook does, and returns what they print."""
    shell = InteractiveShell()

    def run(*sources):
        for source in sources:
            shell.run_cell(source, store_history=True)
        return capsys.readouterr().out

    shell.push({"check": check})
    shell.run_cell("import numpy as np")
    yield run
    shell.history_manager.end_session()


def test_an_older_function_is_not_judged_for_its_broken_cell(cells):
    assert "✓ softmax" in cells(RIGHT, "check('softmax')")
    broken = RIGHT.replace("axis=-1):", "axis=-1")
    told = cells(broken, "check('softmax')").split("✗")[1]
    assert (
        "softmax: Python could not read line 1 of the last cell that you ran to define it" in told
    )
    assert "✓ softmax" in cells(RIGHT, "1 +", "check('softmax')")


def test_the_sample_in_the_readme_is_what_a_learner_sees():
    sample = re.search(r"```text\n(✗ .*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[
        1
    ]
    text = printed_by(
        RIGHT.replace("scores - scores.max(axis=axis, keepdims=True)", "scores")
        + "check('softmax')"
    )
    assert re.sub(r"\x1b\[\d+m", "", text) == sample
