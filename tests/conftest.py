"""What several tests share."""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

# Before torch is imported: the workers share the cores, and sums depend on the number of threads.
os.environ["OMP_NUM_THREADS"] = "1"

import nbformat
import pytest

from autograder.authoring.loading import solution_sources
from autograder.boundary.sandbox import Sandbox
from autograder.course import CourseError
from autograder.shared.judge import judge, share
from autograder.shared.probes import observe
from autograder.shared.wire import decode, encode
from autograder.tools.sample_class import notebook_with

# without its windows Chromium takes two thirds of the time
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
WIDE = {"width": 1280, "height": 900}
PLAYWRIGHTS_SECONDS = 30  # for what a page does, on a machine that is busy
LONG_SECONDS = 1800  # a training of minutes, on a machine that is busy with something else

# A shell's lines: where Python lies in root's home, that is made to look like a folder that
# everybody may enter, for this one process and its children
PYTHON_FOR_EVERYBODY = """
case "$PYTHON" in /root/*)
    mount -t tmpfs tmpfs /mnt && mkdir /mnt/python && mount --bind "$PYTHON" /mnt/python &&
    mount -t tmpfs -o mode=755 tmpfs /root && mkdir -p "$PYTHON" && mount --bind /mnt/python "$PYTHON" || exit
esac
"""

# Enters a namespace of users, waits until somebody has written its map, and is its root.
IN_A_MAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000):
    sys.exit(os.strerror(ctypes.get_errno()))
print(os.getpid(), flush=True)
sys.stdin.readline()
os.setresgid(0, 0, 0)
os.setresuid(0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
WITH_ITS_PYTHON = ("unshare", "--mount", "sh", "-c", f'{PYTHON_FOR_EVERYBODY}exec "$@"', "sh")
# Rootless containers have such a map: their root is an ordinary user outside.
ROOTLESS = "0 1000 1\n1 100000 65536\n"


def pytest_collection_modifyitems(items):
    """Give long tests the time that they need; the limit of all others ends what hangs. A whole term
    comes first: one worker has it for itself, and all others would wait for its end.
    """
    items.sort(key=lambda item: item.path.name != "test_term.py")
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG_SECONDS))


def run_in_map(command, uid_map="", **options):
    """Run a command as the root of a namespace of users with a map of its own, or without a map
    just so; return its exit status and all that it said.
    """
    prefix = [*WITH_ITS_PYTHON, sys.executable, "-c", IN_A_MAP] if uid_map else []
    with subprocess.Popen(
        [*prefix, *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    ) as process:
        if uid_map and (pid := process.stdout.readline().strip()).isdigit():
            for kind in ("uid_map", "gid_map"):
                Path(f"/proc/{pid}/{kind}").write_text(uid_map)
        said, _ = process.communicate("\n" if uid_map else "")
    return process.returncode, said


def prepared(exercise, seed, visible=None):
    """Draw an exercise's cases, once for all of its tests, which run in one worker: what its
    misconceptions answer takes seconds. See `Exercise.prepare`.
    """
    whole = drawn(exercise, seed)
    if visible is None:
        return whole
    asked = zip(exercise.asked, whole.cases, strict=True)
    return replace(whole, cases=tuple(case for one, case in asked if one.visible == visible))


@functools.lru_cache(maxsize=64)
def drawn(exercise, seed):
    return exercise.prepare(seed)


def kept(prepared, implementation):
    """Return the part of the points that an implementation keeps on prepared cases, and what each
    loss is told. No hint is looked for: that takes longer than all else, and earns no points.
    """
    verdicts = judged(replace(prepared, hints=(), combinations=()), implementation)
    return share(verdicts), [f"{each.title}: {each.message}" for each in verdicts if each.message]


def judged(prepared, implementation):
    """Judge an implementation on prepared cases, as the grader would, without a kernel."""
    return judge(
        prepared,
        [
            observe(case.probe, implementation, decode(encode(case.inputs)))
            for case in prepared.cases
        ],
    )


def solved_notebook(stem, changes=None, extra_cells=()):
    """Return a chapter's notebook as a learner hands it in.

    Args:
        changes: source by exercise, instead of the right one; None leaves the stub.
        extra_cells: sources of code cells added after the setup cell.
    """
    notebook = notebook_with(stem, {**solution_sources(stem), **(changes or {})})
    notebook.cells[3:3] = [nbformat.v4.new_code_cell(source) for source in extra_cells]
    return notebook


def hand_in(folder, learner, stem, notebook, name=None, below="submitted"):
    """Write a notebook, or any text, where nbgrader looks for submissions; return its path."""
    path = folder / below / learner / stem / (name or f"{stem}.ipynb")
    path.parent.mkdir(parents=True)
    path.write_text(
        notebook if isinstance(notebook, str) else nbformat.writes(notebook), encoding="utf-8"
    )
    return path


@pytest.fixture(scope="session")
def course_folder(tmp_path_factory):
    """A folder for submissions, grades and a gradebook of their own."""
    return tmp_path_factory.mktemp("class")


@functools.cache
def why_no_sandbox():
    """Return why there is no sandbox on this machine, or None where there is one."""
    try:
        with Sandbox("ch01_embeddings") as sandbox:
            sandbox.wait_until_ready()
    except CourseError as error:
        return str(error)


@pytest.fixture(scope="session")
def sandbox():
    """Skip what cannot be tried without a sandbox, and say why there is none."""
    if why_no_sandbox():
        pytest.skip(why_no_sandbox())


@pytest.fixture(scope="session")
def chromium():
    """A browser, one for all tests of a process: Playwright takes no second."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PLAYWRIGHTS_SECONDS * 1000)
    if CHROMIUM is None:
        pytest.fail("no Chromium found; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tab(chromium):
    """One tab for all tests of a process: it has compiled the book's scripts once, and then loads a
    page in a third of the time.
    """
    return chromium.new_page()


@pytest.fixture
def page(tab):
    """The process's tab as if it was new; for what cannot be taken back, there is `own_page`."""
    tab.set_viewport_size(WIDE)
    tab.emulate_media(media="null", reduced_motion="null", forced_colors="null")
    tab.emulate_media(color_scheme="light")
    tab.set_default_timeout(PLAYWRIGHTS_SECONDS * 1000)
    with noted(tab):
        yield tab
        tab.mouse.up()
        tab.mouse.move(-1, -1)
        if tab.url.startswith("http"):
            tab.evaluate("localStorage.clear(), sessionStorage.clear()")
        tab.context.clear_cookies()
        tab.unroute_all()
        tab.goto("about:blank")


@pytest.fixture
def own_page(chromium):
    """A page that is closed after its test."""
    page = chromium.new_page(viewport=WIDE)
    with noted(page):
        yield page
    page.close()


def settled(page):
    """Wait until a page that was loaded has drawn its formulas, and has asked for what its scripts
    ask for by themselves.
    """
    page.evaluate("Promise.all([document.fonts.ready, globalThis.MathJax?.startup?.promise])")
    page.wait_for_timeout(500)


@contextlib.contextmanager
def noted(page):
    """Note a page's console errors in its `errors_seen`, and what it asks other hosts for in its
    `requests_abroad`.
    """
    page.errors_seen, page.requests_abroad = [], []

    def error(problem):
        page.errors_seen.append(str(problem))

    def said(message):
        if message.type == "error":
            page.errors_seen.append(message.text)

    def asked(request):
        if "127.0.0.1" not in request.url[:20]:
            page.requests_abroad.append(request.url)

    listeners = {"pageerror": error, "console": said, "request": asked}
    for event, listener in listeners.items():
        page.on(event, listener)
    yield
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
