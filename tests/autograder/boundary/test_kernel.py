"""A learner's process: its limits hold, and after a crash it is where it was."""

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

from autograder.authoring.loading import load_exercises
from autograder.boundary import mounts
from autograder.boundary.client import MOST_OUTPUT
from autograder.boundary.kernel import PATIENCE, LearnerKernel
from autograder.boundary.process import children_of, seconds_waited
from autograder.boundary.sandbox import Bounds, Sandbox, Unsandboxed
from autograder.course import ROOT, CourseError
from autograder.grading.grade import Limits, ask_all

STEM = "ch04_attention"
SOFTMAX = load_exercises("ch04_attention")["softmax"].prepare(b"any", visible=True)
CASE = SOFTMAX.cases[0]
DID_NOT_FINISH = "did not finish within 60 s and was stopped; is there a loop that never ends?"
SHORT = Limits(case=1, exercise=8)


@pytest.fixture(scope="module", params=[Sandbox, Unsandboxed])
def boundary(request):
    if request.param is Sandbox:
        request.getfixturevalue("sandbox")
    with request.param("ch04_attention") as boundary:
        yield boundary


@pytest.fixture(scope="module")
def kernel(boundary):
    with LearnerKernel(boundary, seconds=120) as kernel:
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


LOOKED_FOR = "import autograder.shared.parts as parts\nprint(hasattr(parts, 'small_attention'))"


@pytest.mark.parametrize("stem", ["ch05_multi_head", *mounts.ASKED_WITH_PARTS])
def test_parts_of_a_transformer_are_there_only_where_they_are_no_answer(sandbox, stem):
    with Sandbox(stem) as boundary, LearnerKernel(boundary, seconds=60) as kernel:
        assert kernel.run(LOOKED_FOR, 30).text == f"{stem in mounts.ASKED_WITH_PARTS}\n"


def test_the_chapters_that_ask_with_parts_of_a_transformer_have_them():
    asking = {
        path.parent.name
        for path in (ROOT / "autograder" / "checks").glob("ch*/*.py")
        if re.search(r'"stand_in": "(attention|norm)"', path.read_text(encoding="utf-8"))
    }
    assert asking == set(mounts.ASKED_WITH_PARTS)


LATER = """
import numpy as np

def softmax(scores, axis=-1, asked=[]):
    asked.append(1)
    if len(asked) == 1:
        e = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)
    return np.linalg.norm(scores)
"""


def test_a_library_is_seen_also_where_the_first_question_does_without(kernel):
    used = set()
    for _ in range(20):
        kernel.run(LATER, 10)
        observations, _ = kernel.ask("softmax", SOFTMAX.cases, 10, ["norm"])
        told = [each["used"] for each in observations if "used" in each]
        assert len(told) == 1
        used.update(name for names in told for name in names)
    assert any("norm" in name for name in used)


USED_IN_NOTEBOOKS = [
    "import numpy as np\nprint('x', end='')\nnp.arange(3)",
    "1;",
    "None",
    "'text'",
    "import asyncio\ntask = asyncio.create_task(asyncio.sleep(0, 'slept'))",
    "await task",
    "print(asyncio.get_running_loop().is_running())",
    "display(1, {'a': 2})",
    "from IPython.display import *\ndisplay(HTML('<b>x</b>'), Markdown('*y*'))",
    "handle = display('shown', display_id=True)",
    "clear_output()",
    "import ipywidgets\nipywidgets.IntSlider(value=3)",
    "@ipywidgets.interact(x=2)\ndef f(x):\n    pass",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "plt.plot([1, 2])",
    "!echo from the shell",
    "%%bash\necho from bash",
    "%%capture kept\nprint('kept')",
    "kept.show()",
    "%nosuchmagic",
    "import sys\nprint('to stderr', file=sys.stderr)",
    "1 / 0",
    "def f(:",
    "raise KeyError('é')",
    "class Silent(Exception):\n    def __str__(self):\n        raise ValueError\nraise Silent",
    "len?",
    "_",
    "%store task",
    "%reset -f",
    "print('np' in globals())",
    "get_ipython().kernel.shell is get_ipython()",
    "exit()",
    "print('still here')",
]


def test_outputs_are_those_of_a_notebook_in_jupyter(kernel):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in USED_IN_NOTEBOOKS]
    NotebookClient(notebook, kernel_name="python3", allow_errors=True).execute()
    for cell in notebook.cells:
        ran = kernel.run(cell.source, 20)
        assert (in_words(ran.text), in_words(ran.error)) == text_and_error(cell.outputs), (
            cell.source
        )


def test_what_processes_print_is_in_its_place(kernel):
    both = "import os, subprocess\nprint('first', flush=True)\nsubprocess.run(['echo', 'second'])"
    assert kernel.run(f"{both}\nos.write(1, b'third');", 10).text == "first\nsecond\nthird"


def text_and_error(outputs):
    """Return what a cell's outputs show, as one text, and the error that is among them."""
    text, error = "", ""
    for each in outputs:
        match each.output_type:
            case "stream":
                text += each.text
            case "error":
                error = f"{each.ename}: {each.evalue}"
            case _:
                text += f"{each.data.get('text/plain', '')}\n"
    return in_words(text), in_words(error)


def in_words(text):
    """Return a text without what differs from one process to the next: places in memory and in
    files, and a remark on letters' shapes, which a sandbox does not have.
    """
    text = re.sub(r" at 0x[0-9a-f]+|\(\S+, line|Task-\d+|<Task.*?>|Fontconfig error.*", "", text)
    return " ".join(text.split())


DEAF = """
import time

def softmax(scores, axis=-1):
    while True:
        try:
            time.sleep(0.5)
        except:
            pass
"""


def test_a_function_that_swallows_every_interruption_is_ended(kernel):
    kernel.run(DEAF, 10)
    began = time.monotonic()
    observations, reason = kernel.ask("softmax", [CASE], 1)
    assert time.monotonic() - began < 30
    assert observations == [None]
    assert reason == "did not finish within 1 s and was stopped; is there a loop that never ends?"


@pytest.mark.parametrize(
    ("line", "name"), [("exit()", "SystemExit"), ("raise KeyboardInterrupt", "KeyboardInterrupt")]
)
def test_leaving_a_function_is_named_and_the_next_question_is_answered(kernel, line, name):
    kernel.run(f"def softmax(scores, axis=-1):\n    {line}", 10)
    observations, reason = kernel.ask("softmax", [CASE, CASE], 20)
    assert [each["raised"]["type"] for each in observations] == [name, name]
    assert observations[0]["raised"]["source"] == line
    assert reason is None


@pytest.mark.parametrize("command", ["%debug", "%debug 1", "%pdb on\n1 / 0"])
def test_no_debugger_runs_what_it_finds_in_a_file(kernel, command):
    there = "import pathlib\npathlib.Path.home().joinpath('.pdbrc').write_text('!print(6 * 7)')"
    kernel.run(there, 10)
    kernel.run("1 / 0", 10)
    assert "42" not in kernel.run(command, 10).text


def test_nothing_of_ours_is_in_its_environment(kernel, monkeypatch):
    ran = kernel.run("import os; print(sorted(os.environ))", 10)
    assert "PYTHONPATH" in ran.text
    assert not [name for name in ("SECRET", "TOKEN", "PASSWORD", "NBGRADER") if name in ran.text]


def test_when_the_time_of_the_submission_is_used_up_everything_ends(boundary):
    with LearnerKernel(boundary, seconds=3) as kernel:
        assert kernel.run("while True: pass", 60).status == "timeout"
        assert kernel.remaining() == 0
        started = time.monotonic()
        assert kernel.run("print(1)", 60).status == "timeout"
        assert kernel.ask("softmax", [CASE], 60) == ([None], DID_NOT_FINISH)
        assert time.monotonic() - started < 30


WORK = """
import time
began = time.process_time()
while time.process_time() - began < 0.45:
    pass
"""


@pytest.fixture
def one_core():
    """All that is started runs on one core."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    yield
    os.sched_setaffinity(0, allowed)


@contextlib.contextmanager
def busy_others():
    """Five others want the cores of this process, too."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command, start_new_session=True) for _ in range(5)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.parametrize("kind", [Sandbox, Unsandboxed])
@pytest.mark.usefixtures("sandbox", "one_core")
def test_who_waits_for_a_core_that_others_have_loses_no_time(kind):
    with kind(STEM) as boundary, LearnerKernel(boundary, seconds=60) as kernel, busy_others():
        assert kernel.run(WORK, 2).status == "ok"


def test_a_process_that_waits_for_its_own_threads_is_not_waited_for_longer_than_so(monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr("autograder.boundary.kernel.time", clock)
    kernel = LearnerKernel(None, seconds=60)
    with kernel.at_work():
        kernel.process = SimpleNamespace(waited=lambda: 30.0)
        clock.monotonic = lambda: 140.0
        assert kernel.elapsed() == 40 - 30
        kernel.process = SimpleNamespace(waited=lambda: 39.0)
        assert kernel.elapsed() == 40 / PATIENCE
        assert kernel.remaining() == 60 - 40 / PATIENCE


def test_what_a_process_waited_is_kept_when_it_is_gone(monkeypatch):
    process = SimpleNamespace(waited=lambda: 3.0, end=lambda: None)
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr("autograder.boundary.kernel.time", clock)
    kernel = LearnerKernel(None, seconds=60)
    kernel.process = process
    with kernel.at_work():
        clock.monotonic = lambda: 110.0
    before = kernel.elapsed()
    kernel.stop()
    assert kernel.elapsed() == before == 7
    assert seconds_waited("none") == 0


@pytest.mark.usefixtures("sandbox")
def test_what_the_grader_thinks_is_no_time_of_the_learners():
    with Sandbox(STEM) as boundary, LearnerKernel(boundary, seconds=60) as kernel:
        assert kernel.run("import time; time.sleep(0.3)", 10).status == "ok"
        before = kernel.elapsed()
        time.sleep(1)
        assert kernel.elapsed() == pytest.approx(before, abs=0.1)
        assert before > 0.25


@pytest.mark.usefixtures("sandbox")
def test_a_process_whose_keeper_was_killed_ends_with_its_kernel():
    deaf = "import ctypes, signal; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0); print('deaf')"
    with Sandbox(STEM) as boundary:
        with LearnerKernel(boundary, seconds=60) as kernel:
            assert kernel.run(deaf, 20).text == "deaf\n"
            [first] = kernel.process.keeper.children()
            kernel.client.send({"id": "on and on", "source": "while True: pass"})
            kernel.client.lines(1)
            kernel.process.keeper.kill()
        gone, left = psutil.wait_procs([first], timeout=10)
        assert gone and not left


def test_a_shell_starts_where_others_watch_all_that_may_be_watched(boundary):
    """The system lets a user's processes watch so many descriptors by epoll, and all learners are
    one user.
    """
    opened = "import os; print([os.path.realpath(f'/proc/self/fd/{n}') for n in range(30)])"
    with LearnerKernel(boundary, seconds=60) as kernel:
        told = kernel.run(opened, 20).text
    assert "socket" in told
    assert "eventpoll" not in told


def test_an_undefined_function_is_told(kernel):
    kernel.run("globals().pop('softmax', None)", 10)  # which another test may have defined
    assert kernel.ask("softmax", [CASE], 10) == ([{"unfit": "is not defined"}], None)


def test_after_a_large_print_the_next_answer_comes(kernel):
    kernel.run("def softmax(scores, axis=-1): return scores", 10)
    assert kernel.run("print('x' * 100_000_000)", 20).status == "ok"
    [seen], why = kernel.ask("softmax", [CASE], 10)
    assert "result" in seen
    assert why is None


def test_of_cases_asked_at_once_only_the_one_that_never_ends_is_lost(kernel):
    shape = SOFTMAX.cases[2].inputs["scores"].shape
    others = [
        index for index, case in enumerate(SOFTMAX.cases) if case.inputs["scores"].shape != shape
    ]
    kernel.run(
        f"def softmax(scores, axis=-1):\n    while scores.shape == {shape}: pass\n    return"
        " scores",
        10,
    )
    seen = ask_all(kernel, SOFTMAX, SHORT, None)
    assert not [index for index in others if "unfit" in seen[index]]
    assert "never ends" in seen[2]["unfit"]


def test_of_cases_asked_at_once_only_those_from_a_crash_on_are_lost(kernel):
    shape = SOFTMAX.cases[2].inputs["scores"].shape
    kernel.run(
        f"import os\ndef softmax(scores, axis=-1):\n    if scores.shape == {shape}: os._exit(1)\n  "
        "  return scores",
        10,
    )
    seen = ask_all(kernel, SOFTMAX, SHORT, None)
    assert ["result" in each for each in seen[:3]] == [True, True, False]
    assert "ended the Python process" in seen[2]["unfit"]
    assert "not tried again" in seen[3]["unfit"]


def test_an_answer_that_comes_when_the_time_is_over_does_not_count(kernel):
    late = (
        "def softmax(scores, axis=-1):\n    try:\n        while True: pass\n    except"
        " BaseException:\n        return scores"
    )
    kernel.run(late, 10)
    seen, why = kernel.ask("softmax", [CASE], 1)
    assert seen == [None]
    assert "did not finish" in why


WITHOUT_ITS_FIRST_THREAD = """
import ctypes, os, threading, time
def hold():
    held = bytearray(b"x" * 300_000_000)
    time.sleep(20)
if os.fork() == 0:
    threading.Thread(target=hold).start()
    ctypes.CDLL(None).pthread_exit(None)
"""
BESIDE_NAMES_THAT_ARE_NO_TEXT = """
import mmap, os
for name in (b"/tmp/\\xff", b"/tmp/\\rffffffffffff-0 rw-s 0 0 0 /dev/zero"):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb+") as file:
        file.truncate(4096)
        globals()[repr(name)] = mmap.mmap(file.fileno(), 4096)
held = mmap.mmap(-1, 300_000_000)
"""
UNDER_ANOTHER_NAME = """
import ctypes, mmap
held = mmap.mmap(-1, 300_000_000)
place = ctypes.addressof(ctypes.c_char.from_buffer(held))
ctypes.CDLL(None).prctl(0x53564D41, 0, ctypes.c_ulong(place), ctypes.c_ulong(len(held)), b"a name")
"""
IN_SMALL_PIECES = """
import mmap, os, time
for _ in range(4):
    if os.fork() == 0:
        held = mmap.mmap(-1, 100_000_000)
        time.sleep(20)
"""


IN_PLACES_THAT_TAKE_LONG_TO_LIST = """
import mmap
apart = [mmap.mmap(-1, 8192, prot=(mmap.PROT_READ, mmap.PROT_WRITE)[i % 2]) for i in range(20_000)]
held = [mmap.mmap(-1, 1_000_000) for _ in range(300)]
"""
WAITING_IN_CLOSED_SOCKETS = """
import socket
listener = socket.socket(socket.AF_UNIX)
listener.bind("/tmp/socket")
listener.listen(4096)
for _ in range(1500):
    caller = socket.socket(socket.AF_UNIX)
    caller.connect("/tmp/socket")
    caller.setblocking(False)
    try:
        while True:
            caller.send(b"x" * 30_000)
    except BlockingIOError:
        pass
"""
IN_TABLES_OF_PAGES = """
import mmap, os, time
for _ in range(40):
    if os.fork() == 0:
        # what is only read is the same page of zeros everywhere
        held = mmap.mmap(-1, 3 * 2**30, flags=mmap.MAP_PRIVATE | 0x4000)
        held.madvise(15)  # of small pages
        read = sum(held[place] for place in range(0, len(held), 2**21))
        time.sleep(20)
"""


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    "take",
    [
        WAITING_IN_CLOSED_SOCKETS,
        IN_TABLES_OF_PAGES,
        "held = bytearray(b'x' * 300_000_000)",
        "import mmap; held = mmap.mmap(-1, 300_000_000)",
        WITHOUT_ITS_FIRST_THREAD,
        BESIDE_NAMES_THAT_ARE_NO_TEXT,
        UNDER_ANOTHER_NAME,
        IN_SMALL_PIECES,
        IN_PLACES_THAT_TAKE_LONG_TO_LIST,
    ],
)
def test_memory_counts_whoever_it_belongs_to(take):
    with Sandbox("ch04_attention") as boundary:
        # what is counted is tried here; a control group may end the largest process alone before
        boundary.groups = None
        bounded = SimpleNamespace(fork=lambda: boundary.fork(Bounds(memory_in_all=200_000_000)))
        with LearnerKernel(bounded, seconds=30) as kernel:
            assert kernel.run(f"{take}\nimport time; time.sleep(20)", 20).status == "died"


def test_without_a_sandbox_too_a_kernel_ends_with_its_grader():
    grader = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from autograder.boundary.sandbox import *; around = Unsandboxed('{STEM}')\n"
            "with around: process = around.fork(); input()",
        ],
        stdin=subprocess.PIPE,
        cwd=ROOT,
    )
    until = time.monotonic() + 30
    while not (family := psutil.Process(grader.pid).children()) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(5)
    assert family[0].is_running()
    grader.kill()
    grader.wait()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


def test_what_was_handed_in_elsewhere_is_hidden(monkeypatch):
    monkeypatch.setattr(mounts, "EXCHANGE", Path("/usr/share"))
    with Sandbox("ch04_attention") as boundary, LearnerKernel(boundary, seconds=30) as kernel:
        ran = kernel.run(
            "import os; print(os.listdir('/usr/share')); open('/usr/share/written', 'w')", 10
        )
        assert ran.text == "[]\n"
        assert "Read-only" in ran.error


def test_an_environment_that_holds_the_course_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(ROOT.parent))
    with (
        pytest.raises(CourseError, match=r"would see .*; make an environment in"),
        Sandbox("ch04_attention"),
    ):
        pass


def test_a_process_has_the_children_that_psutil_finds():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        listed = children_of(psutil.Process())
        assert child.pid in {each.pid for each in listed}
        assert listed == psutil.Process().children()
        unlisted = SimpleNamespace(pid="none", children=lambda: "what psutil finds")
        assert children_of(unlisted) == "what psutil finds"
        child.communicate()
