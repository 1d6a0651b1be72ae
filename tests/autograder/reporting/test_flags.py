"""Remarks for human eyes: they see what a teacher would want to see, and leave honest work
alone.
"""

import inspect
import re
import textwrap
from collections import Counter

import pytest

from autograder.authoring.loading import load_exercises, solution_sources
from autograder.course import chapters
from autograder.grading.handed_in.submission import Submission, rebuild
from autograder.reporting.flags import (
    KINDS,
    first_of_each_kind,
    flags_of_notebook,
    flags_of_record,
)
from autograder.reporting.likeness import (
    SAME_SIZE,
    flags_of_class,
    flags_of_reference,
    print_of,
    prints_of,
)
from autograder.reporting.reader import flags_of_code

STEM = "ch04_attention"
IMPORTED = {
    "F": "torch.nn.functional",
    "nn": "torch.nn",
    "np": "numpy",
    "torch": "torch",
    "math": "math",
}
SHORTCUTS = {
    stem: {name: exercise.shortcuts for name, exercise in load_exercises(stem).items()}
    for stem in chapters()
}


# Right answers of the checks that are the library's own function: these are what the remark is
# about.
def flags_of_cells(*cells, stem=STEM, **imported):
    given = tuple({**IMPORTED, "reference": f"solutions.{stem}", **imported}.items())
    return list(flags_of_code(stem, cells, given, tuple(SHORTCUTS[stem].items())))


def texts(*cells, stem=STEM, **imported):
    return [flag.text for flag in flags_of_cells(*cells, stem=stem, **imported)]


def alternatives():
    for stem in chapters():
        for name, exercise in load_exercises(stem).items():
            for right in exercise.alternatives:
                try:
                    source = textwrap.dedent(inspect.getsource(right))
                except OSError:  # a class made by `type`: the parts that it is made of have no source of their own
                    continue
                yield (
                    stem,
                    name,
                    right.__name__,
                    re.sub(r"\A(?:@.*\n)*(def|class) \w+", rf"\1 {name}", source, count=1),
                )


def graded(cells, scores=None, **record):
    """Return a graded notebook with a learner's cells; every exercise got full marks, or what
    `scores` says.
    """
    notebook = rebuild(STEM, Submission("sha of " + str(sorted(map(str, cells))), cells))
    outcomes = []
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade"):
            name = about["grade_id"].split("_", 1)[1]
            case = {"title": "t", "passed": True, "weight": 1, "message": "", "misconception": None}
            score = (scores or {}).get(name, about["points"])
            about = {
                "cell": about["grade_id"],
                "exercise": name,
                "points": about["points"],
                "score": score,
            }
            outcomes.append({**about, "cases": [case]})
    notebook.metadata["autograder"].update(
        {"cells": outcomes, "seconds": 0.5, "sandbox": "bubblewrap", **record}
    )
    return notebook


# --- one notebook
# -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", chapters())
def test_the_references_raise_no_flag(stem):
    assert flags_of_cells(*solution_sources(stem).items(), stem=stem) == []


def test_right_answers_raise_no_flag_unless_they_are_the_library_s_own_function():
    flagged, calling = [], []
    for stem, name, right, source in alternatives():
        found = flags_of_cells((name, source), stem=stem)
        assert {flag.kind for flag in found} <= {"library"}, (right, found)
        assert {flag.exercise for flag in found} <= {name}
        shortcuts = "|".join(load_exercises(stem)[name].shortcuts)
        flagged += [(name, right)] if found else []
        called = shortcuts and re.search(rf"(?<!reference)\.({shortcuts})\b", source)
        calling += [(name, right)] if called else []
    assert flagged == calling
    assert {"one_hot", "embed", "softmax", "LayerNorm"} <= {name for name, _ in flagged}


@pytest.mark.parametrize(
    "source",
    [
        "softmax = torch.softmax",
        (
            "def softmax(scores, axis=-1):\n    return"
            " torch.nn.functional.softmax(torch.tensor(scores), axis)"
        ),
        "def softmax(scores, axis=-1):\n    return F.log_softmax(torch.tensor(scores), axis).exp()",
        "def softmax(scores, axis=-1):\n    return torch.tensor(scores).softmax(axis).numpy()",
        (
            "def softmax(scores, axis=-1):\n    from scipy.special import softmax as s\n    return"
            " s(scores, axis)"
        ),
        (
            "import scipy.special as sp\ndef softmax(scores, axis=-1):\n    return"
            " sp.softmax(scores, axis)"
        ),
        (
            "def softmax(scores, axis=-1):\n    return getattr(torch,"
            " 'softmax')(torch.tensor(scores), axis)"
        ),
        (
            "from operator import attrgetter\ndef softmax(scores, axis=-1):\n    return"
            " attrgetter('nn.functional.softmax')(torch)(scores)"
        ),
        (
            "import operator\nsoft = operator.attrgetter('softmax')(torch)\ndef softmax(scores,"
            " axis=-1):\n    return next(map(soft, [scores], [axis]))"
        ),
        "match torch:\n    case object(softmax=f):\n        pass",
        (
            "class Mine:\n    def softmax(self):\n        return 1\ndef softmax(scores, axis=-1):\n"
            "    return torch.softmax(scores, axis)"
        ),
    ],
)
def test_a_library_call_is_seen_however_it_is_spelled(source):
    kinds = [flag.kind for flag in flags_of_cells(("softmax", source))]
    assert kinds == ["library"]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (
            "from transformers.models.mistral.modeling_mistral import MistralRMSNorm\n"
            "class RMSNorm(MistralRMSNorm):\n    pass",
            "imports transformers.models.mistral.modeling_mistral.MistralRMSNorm",
        ),
        ("from transformers.models import qwen2 as q\nq.x", "imports transformers.models.qwen2"),
        ("import apex.normalization as a\nRMSNorm = a.x", "imports apex.normalization"),
        ("RMSNorm = nn.modules.normalization.RMSNorm", "torch.nn.modules.normalization.RMSNorm"),
        ("def RMSNorm(x):\n    return torch._fused_rms_norm(x)", "torch._fused_rms_norm"),
    ],
)
def test_a_class_of_a_library_of_models_is_seen_by_any_name(source, seen):
    for cells in ([("RMSNorm", source)], [(None, source), ("RMSNorm", "RMSNorm = 1")]):
        assert texts(*cells, stem="ch13_family") == [seen]


@pytest.mark.parametrize(
    ("exercise", "source"),
    [
        ("scaled_dot_product_attention", "torch._scaled_dot_product_flash_attention_for_cpu(q)"),
        ("softmax", "torch._safe_softmax(x)"),
        ("softmax", "torch.ops.aten._softmax(x, 0, False)"),
    ],
)
def test_what_a_library_keeps_to_itself_is_seen(exercise, source):
    [flag] = flags_of_cells((exercise, f"def {exercise}(q):\n    return {source}"))
    assert (flag.kind, flag.exercise) == ("library", exercise)


def test_everything_imported_from_a_library_is_seen_where_it_is_used():
    source = "from torch.nn.functional import *\ndef mine(x):\n    return softmax(x, -1)"
    assert texts((None, source)) == ["softmax, from an import of everything"]


def test_a_line_keeps_its_number_in_a_cell_that_is_measured():
    for source, line in [("\n\n%%time\n\nimport dis", 5), ("1\n%time import dis", 2)]:
        assert [flag.line for flag in flags_of_cells((None, source))] == [line]


@pytest.mark.parametrize("above", ["%%time\n", "\n%%capture\n", "\n%%capture kept\n%%time\n"])
def test_a_measured_cell_is_compared_like_any_other(above):
    source = solution_sources(STEM)["softmax"]
    assert print_of(above + source).digest == print_of(source).digest


MINE = ("softmax", "def softmax(s, axis=-1):\n    return s")
THEIRS = "def theirs(x):\n    return torch.softmax(torch.tensor(x), -1).numpy()\n"
COMPARED = "np.allclose(softmax(x), theirs(x))"


@pytest.mark.parametrize(
    "cells",
    [
        [(None, f"{THEIRS}assert {COMPARED}")],
        [(None, THEIRS), (None, f"for x in xs:\n    print({COMPARED})")],
        [(None, "nn.Softmax(-1)(x) - softmax(x)")],
        [(None, f"theirs = nn.Softmax(-1)\n{COMPARED}")],
    ],
)
def test_a_comparison_with_the_library_is_nobody_s_business(cells):
    assert flags_of_cells(MINE, *cells) == []


@pytest.mark.parametrize(
    "cells",
    [
        [(None, THEIRS), ("softmax", "def softmax(s, axis=-1):\n    return theirs(s)")],
        [MINE, (None, f"{THEIRS}softmax = theirs")],
        [MINE, (None, THEIRS.replace("theirs", "softmax"))],
        [MINE, (None, f"{THEIRS}def other(x):\n    return theirs(x)\nsoftmax = other")],
        [MINE, (None, f"@keep\n{THEIRS}theirs(x)")],
        [MINE, (None, f"{THEIRS}softmax = lambda s, axis=-1: theirs(s)")],
        [
            MINE,
            (
                None,
                "def theirs():\n    global softmax\n    softmax = lambda s: F.softmax(s)\ntheirs()",
            ),
        ],
        [MINE, (None, "def theirs():\n    return lambda s: F.softmax(s)\nsoftmax = theirs()")],
        [
            MINE,
            (None, f"{THEIRS}theirs(1)\ndef theirs():\n    while 1:\n        yield F.softmax(x)"),
        ],
        [MINE, (None, "theirs = nn.Softmax(-1)\nsoftmax = theirs")],
        [(None, "theirs = nn.Softmax(-1)"), ("softmax", "def softmax(s):\n    return theirs(s)")],
        [MINE, (None, "softmax = nn.Softmax(-1)")],
    ],
)
def test_what_an_exercise_may_reach_is_no_comparison(cells):
    assert "library" in {flag.kind for flag in flags_of_cells(*cells)}


def test_a_flag_says_exercise_name_and_line():
    source = (
        "def softmax(scores, axis=-1):\n    scores = torch.tensor(scores)\n    return"
        " F.softmax(scores, axis)"
    )
    flag = flags_of_cells(("softmax", source))[0]
    assert (flag.kind, flag.text, flag.exercise, flag.line) == (
        "library",
        "torch.nn.functional.softmax",
        "softmax",
        3,
    )


@pytest.mark.parametrize(
    "cells",
    [
        [
            ("softmax", "def softmax(s, axis=-1):\n    return s"),
            ("scaled_dot_product_attention", "w = softmax(1)"),
        ],
        [("softmax_backward", "def softmax_backward(w, g):\n    return reference.softmax(w)")],
        [
            (
                None,
                (
                    "import torch\nassert torch.allclose(torch.tensor(softmax(x)),"
                    " torch.softmax(torch.tensor(x), -1))"
                ),
            )
        ],
        [
            (
                None,
                (
                    "class Head:\n    def softmax(self, x):\n        return x\nh ="
                    " Head()\nprint([h.softmax(3)])"
                ),
            )
        ],
        [(None, "%matplotlib inline\n%timeit softmax(x)"), (None, "%%time\nsoftmax(x)")],
        [(None, "import functools\nlist(map(functools.partial(softmax, axis=0), [x]))")],
        [
            (
                None,
                "dtype = torch.float64\nnp.load(f, allow_pickle=False)\nx = getattr(own, f'w_{n}')",
            )
        ],
        [(None, "match x:\n    case Point(x=a, y=b):\n        pass")],
        [(None, "\n\n%%time\nsoftmax(x)"), (None, "%%timeit -n 10 y = 3\nsoftmax(y)")],
        [(None, "%%capture kept\n%%time\nsoftmax(x)"), (None, "r = %timeit -n 10 -o softmax(x)")],
        [(None, "%prun -s cumulative softmax(x)"), (None, "%time"), (None, "time is money")],
        [(None, "%config InlineBackend.figure_formats = {'png', 'retina'}")],
        [(None, "%%time\ndef this is no Python(")],
        [(None, "model.eval()\nre.compile('a')\nx.compile()\ntorch.compile(f)")],
        [(None, "import os, sys\nprint(sys.version, os.path.join('a', 'b'))")],
        [(None, "for name in names:\n    getattr(self, name)\n    setattr(self, name, 1)")],
        [(None, "print(vars(model))\nmodel.w_q.weight.data = w\nself.rows = 3")],
        [(None, "torch.backends.cudnn.deterministic = True\nnp.random.seed(0)")],
        [(None, "import pathlib, io, asyncio, timeit\nawait asyncio.sleep(0)")],
        [(None, "import timeit\ntimeit.timeit(lambda: softmax(x, how='own'), number=3)")],
        [(None, "def this is no Python(")],
        [(None, "def compile(x):\n    return x"), (None, "compile(3)")],
        [(None, "import gc\ndel table\ngc.collect()"), (None, "from gc import collect")],
        [
            (
                None,
                (
                    "import unittest\nclass Mine(unittest.TestCase):\n    def test_softmax(self):\n"
                    "        self.assertEqual(softmax(x), y)\n"
                    "unittest.main(argv=[''], exit=False)"
                ),
            )
        ],
        [(None, "np.exp?"), (None, "np.exp??"), (None, "%pip install tqdm"), (None, "%debug")],
        [(None, "from IPython.display import Markdown, display\ndisplay(Markdown('a'))")],
        [(None, "print('\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f')")],
        [
            (
                "softmax",
                "def _my_softmax(x):\n    return x\ndef softmax(x):\n    return _my_softmax(x)",
            )
        ],
        [(None, "class Mine:\n    def _softmax(self):\n        return self._softmax()")],
        [
            (
                None,
                "model._modules['a']\nself._rows = 1\nnn.Module.__init__(self)\ntorch.ones(1)._base",
            )
        ],
        [(None, "# naïve 日本語 👩‍👩‍👧 \u00a0 é\n'\ufeff'")],
        [
            (
                None,
                (
                    "from autograder import check\nfrom solutions.ch02_positional_encoding import"
                    " order_gap"
                ),
            )
        ],
    ],
)
def test_honest_code_raises_no_flag(cells):
    assert flags_of_cells(*cells) == []


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("getattr(torch, 'soft' + 'max')", "a computed name in torch"),
        ("exec('x = 1')", "runs code from text: exec"),
        ("e = eval", "runs code from text: eval"),
        ("__import__('dis')", "runs code from text: __import__"),
        ("import timeit\ntimeit.timeit('x = 1')", "runs code from text: timeit.timeit"),
        ("from timeit import repeat as r\nr(f, 'x' + '= 1')", "runs code from text: timeit.repeat"),
        ("import cProfile as p\np.run(f'{x}')", "runs code from text: cProfile.run"),
        (
            "from torch.utils import benchmark\nbenchmark.Timer(stmt='x')",
            "runs code from text: torch.utils.benchmark.Timer",
        ),
        ("ready = locals()['soft' + 'max']", "takes the table of local names"),
        ("import dis", "imports dis"),
        ("import gc\ngc.get_objects()", "the insides of something: .get_objects"),
        ("from gc import get_referrers as r", "imports gc.get_referrers"),
        ("import gc\ngc.callbacks.append(f)", "gc.callbacks"),
        ("def f(m):\n    return m.get_referents(x)", "the insides of something: .get_referents"),
        ("from unittest import mock", "imports unittest.mock"),
        ("import unittest.mock as m", "imports unittest.mock"),
        ("from unittest.mock import patch", "imports unittest.mock.patch"),
        ("import unittest\nunittest.TestLoader().loadTestsFromName('a.b')", "unittest.TestLoader"),
        ("import numpy as np, ctypes.util", "imports ctypes.util"),
        ("from importlib import import_module", "imports importlib.import_module"),
        ("import sys\nf = sys._getframe(1)", "sys._getframe"),
        ("import sys as s\nf = s.modules", "sys.modules"),
        ("from sys import modules", "imports sys.modules"),
        ("from os import listdir as l", "imports os.listdir"),
        ("from torch import __dict__ as t", "imports torch.__dict__"),
        ("m = torch.sys.modules['a']", "torch.sys.modules"),
        ("import contextlib\nf = contextlib.sys._getframe()", "contextlib.sys._getframe"),
        (
            "from concurrent.futures import ThreadPoolExecutor",
            "imports concurrent.futures.ThreadPoolExecutor",
        ),
        ("import asyncio\nawait asyncio.to_thread(f)", "asyncio.to_thread"),
        ("vars(torch)['soft' + 'max']", "the table of names of torch"),
        ("import json\njson.dumps = print", "a change of json.dumps"),
        ("setattr(torch.nn, 'Linear', 1)", "a change of torch.nn"),
        (
            "from torch.utils._python_dispatch import _disable_current_modes",
            "imports torch.utils._python_dispatch._disable_current_modes",
        ),
        ("import torch.utils._python_dispatch as p", "imports torch.utils._python_dispatch"),
        (
            "torch.utils._python_dispatch.is_in_any_mode_without_ignore()",
            "torch.utils._python_dispatch",
        ),
        ("torch._C._len_torch_dispatch_stack()", "torch._C"),
        ("f.f_back", "the insides of something: .f_back"),
        ("softmax.__globals__", "the insides of something: .__globals__"),
        ("torch.__dict__['soft' + 'max']", "the insides of something: .__dict__"),
        (
            "from autograder.shared.probes import observe",
            "imports the grader: autograder.shared.probes.observe",
        ),
        ("from autograder.shared import wire", "imports the grader: autograder.shared.wire"),
        (
            "from solutions.ch04_attention import softmax",
            "imports the solutions: solutions.ch04_attention.softmax",
        ),
        (
            "from solutions import ch05_multi_head",
            "imports the solutions: solutions.ch05_multi_head",
        ),
        (
            "class A:\n    def __array_function__(self, *a):\n        pass",
            "answers for a library: __array_function__",
        ),
        ("open('x')", "opens a file"),
        ("!ls", "talks to IPython"),
        ("%%bash\nls", "talks to IPython"),
        ("%%time\nimport dis", "imports dis"),
        ("w = torch.nn\ngetattr(w, 'soft' + 'max')", "a computed name in w"),
        ("(w := torch)\ngetattr(w, 'soft' + 'max')", "a computed name in w"),
        ("import operator\noperator.attrgetter('a' + 'b')", "a computed name in attrgetter"),
        (
            "match f:\n    case object(__globals__=g): pass",
            "the insides of something: .__globals__",
        ),
        ("import pydoc", "imports pydoc"),
        ("import logging.config", "imports logging.config"),
        ("import string\nstring.Formatter().get_field('0.a', (f,), {})", "string.Formatter"),
        ("np.load(f, allow_pickle=True)", "unpickles what it reads: allow_pickle"),
        ("import sys\nsys.getprofile()", "sys.getprofile"),
        ("\n%%capture\nimport dis", "imports dis"),
        (" \n%%capture\n%%time\nimport dis", "imports dis"),
        ("In [1]: %%capture\n   ...: import dis", "imports dis"),
        ("%time import dis", "imports dis"),
        ("%time %time import dis", "imports dis"),
        ("%time " * 20 + "import dis", "talks to IPython"),
        ("x = %timeit -n 1 -o exec('1')", "runs code from text: exec"),
        ("%prun -l # exec('1')", "runs code from text: exec"),
        ("%%timeit import dis\n1", "imports dis"),
        ("%%timeit if 1:\n    1\n", "talks to IPython"),
        ("%config A.b = exec('1')", "runs code from text: exec"),
        ("%config A.b = {c}", "talks to IPython"),
        ("time exec('1')", "runs code from text: exec"),
        ("get_ipython().run_cell_magic('capture', '', 'import dis')", "imports dis"),
        ("get_ipython().run_cell_magic('capture', '', text)", "talks to IPython"),
        ("p = '/proc/self/maps'", "a text with '/proc/'"),
        ("def f(exec=None):\n    exec('1')", "runs code from text: exec"),
        ("if 0:\n    def exec(): 1\nexec('1')", "runs code from text: exec"),
        ("def eval(): 1\ndel eval\neval('1')", "runs code from text: eval"),
        ("g = getattr\ng(F, a + b)", "hands on getattr"),
        ("list(map(getattr, [F], [a + b]))", "hands on getattr"),
        ("class A:\n    def __reduce__(self):\n        pass", "answers for a library: __reduce__"),
        ("import typing\ntyping.get_type_hints(f)", "typing.get_type_hints"),
        ("f = torch.jit.load(archive)", "torch.jit.load"),
        ("f = torch.jit.trace(f, x)", "torch.jit.trace"),
        ("def part(t, *w):\n    return getattr(t, ''.join(w))", "a computed name in t"),
        ("getattr(f(), ''.join(w))", "a computed name in getattr"),
        ("from operator import attrgetter as ag\nag('a' + 'b')", "a computed name in attrgetter"),
        ("from operator import attrgetter as ag\nlist(map(ag, names))", "hands on ag"),
        ("import operator\nag = operator.attrgetter", "hands on attrgetter"),
        ("kept = error.__traceback__", "the insides of something: .__traceback__"),
        ("torch.overrides.get_testing_overrides()", "torch.overrides.get_testing_overrides"),
        ("match F:\n    case Any(f):\n        pass", "a computed name in a pattern of Any"),
        ("sx echo 1 > mine.py", "talks to IPython"),
        ("run mine", "talks to IPython"),
    ],
)
def test_looking_at_what_one_should_not_need_is_seen(source, seen):
    for exercise in (None, "softmax"):
        found = flags_of_cells((exercise, source))
        assert (found[0].kind, found[0].text, found[0].exercise) == ("looks", seen, exercise)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 3000,
        "-" * 100_000 + "1",
        "x" + ".a" * 50_000,
        "1" + "+1" * 20_000,
        "[" * 150 + "]" * 150,
        "\0",
    ],
)
def test_code_nested_beyond_reason_stops_nothing(source):
    assert flags_of_cells((None, source), (None, "import dis"))[-1].text == "imports dis"
    print_of(source)


@pytest.mark.parametrize("source", ["x = 1" + " + 1" * 200, "x = 1" + " + 1" * 6000])
def test_code_nested_more_deeply_than_anybody_writes_is_remarked(source):
    """Which Python runs where a cell before it has raised the limit."""
    (flag,) = flags_of_cells(("softmax", source + "\nimport dis"))
    assert (flag.kind, flag.exercise) == ("beyond", "softmax")


def test_many_remarks_of_one_kind_leave_room_for_others():
    crowd = [(None, "\n" * n + "x = 'a\u00adb'") for n in range(15)]
    flags = list(first_of_each_kind(flags_of_cells(*crowd, (None, "import dis"))))
    assert Counter(flag.kind for flag in flags) == {"characters": 13, "looks": 1}
    assert "and 3 more" in [flag.text for flag in flags]


def test_characters_that_hide_are_named_and_not_repeated():
    flag = flags_of_cells((None, "x = 1\ny = 'a\u202eb\u2066'"))[0]
    assert (flag.kind, flag.line) == ("characters", 2)
    assert (
        flag.text
        == "turns the direction of the text: U+202E RIGHT-TO-LEFT OVERRIDE, U+2066 LEFT-TO-RIGHT"
        " ISOLATE"
    )
    assert texts((None, "a\u200bb = 1\n")) == ["invisible: U+200B ZERO WIDTH SPACE"]
    assert texts((None, "print('\x1b[2J')")) == ["invisible: U+001B"]


@pytest.mark.parametrize("end", ["\f", "\v", "\x1c", "\x85", "\u2028", "\r"])
def test_what_ipython_runs_out_of_a_comment_is_read(end):
    told = texts((None, f"# a comment{end}%p{end}import dis\nx = 1\n"))
    assert "imports dis" in told
    assert end == "\r" or any("invisible: U+" in each for each in told)


def test_a_page_that_begins_hides_nothing():
    assert texts((None, "x = 1\n\fdef softmax(scores):\n    return scores\n")) == []


def test_a_long_or_strange_name_is_repeated_in_short():
    assert len(texts((None, "import " + "dis." + "a" * 5000))[0]) < 100


def test_what_the_record_tells_is_flagged():
    stopped = {"title": "t", "passed": False, "weight": 1, "misconception": None}
    notebook = graded([], notes=["handed in as a\u202eb.ipynb"], sandbox="none")
    notebook.metadata["autograder"].cells[0]["cases"] = [
        {
            **stopped,
            "message": (
                "softmax did not finish within 3 s and was stopped; is there a loop that never"
                " ends?"
            ),
        },
        {**stopped, "message": "softmax was not tried again"},
    ]
    found = {flag.kind: flag.text for flag in flags_of_record(notebook.metadata["autograder"])}
    assert found == {
        "handed in": "handed in as a\\u202eb.ipynb",
        "unsandboxed": "ran without a sandbox",
        "stopped": "did not finish within 3 s",
    }
    unread = graded([], problem="it is empty (0 bytes)")
    assert [flag.kind for flag in flags_of_record(unread.metadata["autograder"])] == ["unreadable"]
    assert set(found) | {"unreadable"} <= set(KINDS)


def test_an_added_cell_that_ended_python_is_flagged():
    notebook = graded([(None, "import os")])
    cell = next(cell for cell in notebook.cells if cell.id.startswith("extra-"))
    cell.outputs = [
        {"output_type": "stream", "name": "stdout", "text": "hello\nended the Python process"}
    ]
    assert "an added cell ended the Python process" in [
        flag.text for flag in flags_of_notebook(STEM, notebook, {})
    ]


# --- a class
# ------------------------------------------------------------------------------------------------------------

LONG = """def softmax(scores, axis=-1):
    # my own idea: take the pieces apart and put them together again, one after the other
    pieces = np.moveaxis(scores, axis, -1).reshape(-1, scores.shape[axis])
    results = []
    for piece in pieces:
        highest = max(piece.tolist())
        powers = [math.exp(number - highest) for number in piece.tolist()]
        whole = sum(powers)
        results.append([power / whole for power in powers])
    shape = np.moveaxis(scores, axis, -1).shape
    together = np.array(results, dtype=scores.dtype).reshape(shape)
    for number, power in enumerate(results):
        assert len(power) == scores.shape[axis], (number, power)
    together = together + 0 * np.ones(together.shape, dtype=scores.dtype)
    if together.shape != shape or together.dtype != scores.dtype:
        raise ValueError("shapes have changed on the way")
    return np.moveaxis(together, -1, axis)"""
RENAMED = re.sub(r"    # my own.*\n", '    """A docstring."""\n', LONG)
for old, new in {
    "pieces": "rows",
    "results": "out",
    "highest": "m",
    "powers": "e",
    "together": "r",
    "whole": "s",
}.items():
    RENAMED = re.sub(rf"\b{old}\b", new, RENAMED)
RENAMED = RENAMED.replace("shapes have changed", "no").replace(
    "(scores, axis=-1)", "(scores , axis = -1)"
)
USUAL = """def softmax(scores, axis=-1):
    e = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)"""
OTHERS = {
    "attention_scores": (
        """def attention_scores(query, key):
    d = query.shape[-1]
    return np.matmul(query, np.swapaxes(key, -1, -2)) / math.sqrt(d)"""
    ),
    "softmax_backward": (
        """def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - np.sum(weights * grad_weights, -1, keepdims=True))"""
    ),
}


def class_flags(**notebooks):
    prints = {learner: prints_of(STEM, notebook) for learner, notebook in notebooks.items()}
    files = {
        learner: notebook.metadata["autograder"]["notebook"]
        for learner, notebook in notebooks.items()
    }
    found = flags_of_class(STEM, prints, files, {learner: 0.5 for learner in notebooks})
    return {
        learner: [(flag.kind, flag.group) for flag in flags] for learner, flags in found.items()
    }


def with_softmax(source, **others):
    return graded([("softmax", source), *{**OTHERS, **others}.items()])


def test_the_long_example_is_long_and_survives_renaming():
    assert RENAMED != LONG
    assert print_of(LONG).digest == print_of(RENAMED).digest
    assert (
        print_of(LONG).size + sum(print_of(source).size for source in OTHERS.values()) >= SAME_SIZE
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- highest", "+ highest"),
        ("scores.dtype", "scores.shape"),
        ("np.ones", "np.zeros"),
        ("0 *", "1 *"),
        ("-1, axis)", "axis, -1)"),
    ],
)
def test_what_is_not_a_name_makes_a_difference(old, new):
    assert print_of(LONG).digest != print_of(LONG.replace(old, new)).digest


def test_a_copy_with_other_names_is_found_and_its_neighbours_are_not():
    found = class_flags(
        ada=with_softmax(LONG), bruno=with_softmax(RENAMED), chiara=with_softmax(USUAL)
    )
    assert found == {name: [("same", ("ada", "bruno"))] for name in ("ada", "bruno")}


def test_a_third_friend_who_changed_one_exercise_hides_nothing():
    changed = with_softmax(
        LONG, attention_scores="def attention_scores(query, key):\n    return query"
    )
    found = class_flags(ada=with_softmax(LONG), bruno=with_softmax(RENAMED), chiara=changed)
    assert set(found) == {"ada", "bruno"}


def test_the_usual_short_solutions_are_nobody_s_copies():
    notebooks = {f"learner{number}": with_softmax(USUAL + "\n" * number) for number in range(6)}
    assert class_flags(**notebooks) == {}


def test_what_many_wrote_is_a_usual_way_however_long():
    others = {f"other{n}": with_softmax(LONG + "\n" * n) for n in range(4)}
    more = {
        f"more{n}": with_softmax(
            LONG, softmax_backward=f"def softmax_backward(w, g):\n    return {n} * w"
        )
        for n in range(9)
    }
    assert class_flags(**others, **more) == {}


def test_short_solutions_with_the_same_comments_are_a_copy():
    commented = USUAL.replace(
        "\n    return",
        "  # so that exp never sees anything above 0, which my brother told me about\n    return",
    )
    found = class_flags(
        ada=with_softmax(commented),
        bruno=graded([(None, "1"), ("softmax", commented), *OTHERS.items()]),
    )
    assert set(found) == {"ada", "bruno"}


def test_the_same_file_is_found_unless_nothing_in_it_is_solved():
    one = with_softmax(USUAL)
    assert class_flags(ada=one, bruno=one) == {
        name: [("same", ("ada", "bruno"))] for name in ("ada", "bruno")
    }
    blank = graded([], scores=dict.fromkeys(SHORTCUTS[STEM], 0))
    assert class_flags(ada=blank, bruno=blank) == {}


def test_the_published_solution_is_told_from_a_copy():
    published = graded(list(solution_sources(STEM).items()))
    again = graded([(None, "1"), *solution_sources(STEM).items()])
    assert class_flags(ada=published, bruno=again) == {}
    assert [flag.kind for flag in flags_of_reference(STEM, published)] == ["reference"]
    short = graded([("attention_scores", solution_sources(STEM)["attention_scores"])])
    assert flags_of_reference(STEM, short) == []


@pytest.mark.parametrize(
    ("where", "added"),
    [
        (r"(\n    return)", r"\n    unused = 0\1"),
        (r"(\):\n)", r"\1    first = last = None\n"),
        (r"(\n    return)", r"\n    if True:\n        pass\1"),
    ],
)
def test_statements_between_those_of_the_published_solution_do_not_hide_it(where, added):
    changed = [
        (name, re.sub(where, added, source)) for name, source in solution_sources(STEM).items()
    ]
    assert dict(changed) != solution_sources(STEM)
    (flag,) = flags_of_reference(STEM, graded(changed))
    assert flag.kind == "reference"
    reversed_in_part = [(name, source.replace("return ", "return -")) for name, source in changed]
    assert flags_of_reference(STEM, graded(reversed_in_part)) == []


def test_the_slow_are_those_far_above_the_median():
    seconds = {"a": 0.5, "b": 0.6, "c": 3.0, "d": 9.0}
    assert [name for name, flags in flags_of_class(STEM, {}, {}, seconds).items() if flags] == ["d"]
    assert flags_of_class(STEM, {}, {}, {"a": 30.0, "b": 31.0, "c": 40.0}) == {}


def test_what_thousands_have_in_common_is_said_once():
    """A group is named in one remark that all of it share: a remark for each would name
    millions.
    """
    notebook = graded(list(OTHERS.items()))
    alike = {f"learner{number}": prints_of(STEM, notebook) for number in range(3000)}
    found = flags_of_class(STEM, alike, dict.fromkeys(alike, "the same"), {})
    assert len(found) == 3000
    assert len({id(flags[0]) for flags in found.values()}) == 1


def test_a_library_function_is_remarked_however_it_was_spelled():
    cell = {"exercise": "softmax", "cases": [], "used": ["torch.softmax", "torch.nn.Softmax"]}
    (flag,) = flags_of_record({"cells": [cell, cell, {"exercise": "softmax", "cases": []}]})
    assert (flag.kind, flag.text, flag.exercise) == ("library", "runs torch.softmax", "softmax")
