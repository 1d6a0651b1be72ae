"""A released notebook as a learner meets it: opened in JupyterLab, run, completed by keyboard, and
told that it is right.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from autograder.authoring.loading import load_exercises
from autograder.course import notebook_of

STEM = "ch04_attention"
STUB = "raise NotImplementedError"
SOFTMAX = (
    "exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))",
    "return exponentials / exponentials.sum(axis=axis, keepdims=True)",
)
SECONDS = 90  # for one thing to happen, on a machine that is busy


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab of its own, with settings, kernels' files and a copy of the
    notebook in an empty home.
    """
    shutil.copy(notebook_of(STEM), tmp_path)
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--notebook-dir",
        tmp_path,
    ]
    # A port of Jupyter's own range: it looks for a free one long before it listens there, and one of
    # those that the system hands out may be given to another program in between.
    options = ["--ServerApp.ip=127.0.0.1", "--IdentityProvider.token="]
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "IPYTHON"))
    }
    environment = {**kept, "HOME": str(tmp_path / "home")}
    server = subprocess.Popen(
        [*command, *options], stderr=subprocess.PIPE, text=True, env=environment
    )
    told = []
    for line in server.stderr:
        told.append(line)
        if address := re.search(r"http://127\.0\.0\.1:\d+/lab", line):
            break
    else:
        pytest.fail("".join(told))
    # A full pipe would stop the server.
    threading.Thread(target=server.stderr.read, daemon=True).start()
    until = time.monotonic() + SECONDS
    while not listens(address[0]):  # it tells its address before it listens
        assert server.poll() is None and time.monotonic() < until, "".join(told)
        time.sleep(0.1)
    yield address[0]
    server.terminate()  # it ends its kernels
    server.wait(SECONDS)


def listens(address):
    """Say whether a server answers at an address."""
    try:
        return urlopen(address, timeout=SECONDS).status == 200
    except URLError:
        return False


def cell(page, text):
    """Return the cell of code that holds a text."""
    return page.locator(".jp-CodeCell", has=page.locator(".cm-content", has_text=text))


def test_a_learner_runs_completes_and_checks_the_first_exercise(lab, page):
    patience = {"timeout": 1000 * SECONDS}
    page.set_default_timeout(1000 * SECONDS)
    page.goto(f"{lab}/tree/{STEM}.ipynb")
    kernel = page.locator(".jp-Toolbar-kernelName")  # says "No Kernel" before, and idle, too
    expect(kernel).to_have_text("Python 3 (ipykernel)", **patience)
    idle = page.locator(
        ".jp-NotebookPanel-toolbar .jp-Notebook-ExecutionIndicator[data-status=idle]"
    )
    idle.wait_for()

    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    solution, check = cell(page, "def softmax("), cell(page, 'check("softmax")').first
    outputs = check.locator(".jp-OutputArea-output")
    expect(outputs.first).to_contain_text("✗", **patience)
    expect(outputs.first).to_contain_text("NotImplementedError", **patience)
    idle.wait_for()

    # what has run may take the focus away once more, on a machine that is busy
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        solution.locator(".cm-line", has_text=STUB).click()
        page.wait_for_timeout(500)
        if page.get_by_text("Mode: Edit").count():
            break
    page.keyboard.press("End")
    page.keyboard.press("Shift+Home")
    for index, line in enumerate(SOFTMAX):
        if index:
            page.keyboard.press("Enter")
        page.keyboard.type(line)
    expect(solution.locator(".cm-content")).not_to_contain_text(STUB)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    count = sum(case.visible for case in load_exercises(STEM)["softmax"].asked)
    expect(outputs.first).to_have_text(
        re.compile(rf"^✓ softmax: all {count} cases pass\.\s*$"), **patience
    )
    expect(outputs).to_have_count(1)
    assert page.requests_abroad == []
    assert page.get_by_text("Jupyter news").count() == 0  # `make setup` answers that question
    assert page.get_by_text(re.compile("nbgrader|Formgrader|Create Assignment", re.I)).count() == 0
