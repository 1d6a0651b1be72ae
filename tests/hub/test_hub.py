"""A week of the course on a JupyterHub, by the recipe on the book's page `hub`: its commands are
taken from the page, and a learner and an instructor each have a browser.
"""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from autograder.authoring.loading import solution_sources
from autograder.course import ROOT
from tests.conftest import CHROMIUM, PYTHON_FOR_EVERYBODY, WIDE

INSTRUCTOR, LEARNER, CHAPTER = "instructor", "ada", "ch04_attention"
MACHINE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh"]
SECONDS = 120  # for whatever a browser waits for

pytestmark = pytest.mark.long


def commands():
    """Return the recipe's commands: who types them, and when -> what, in the order of the page."""
    page = (ROOT / "book" / "hub.md").read_text(encoding="utf-8")
    page = page.replace("/opt/tljh/user", "/srv/env").replace("<this repository>", str(ROOT))
    typed = {}
    for who, lines in re.findall(r"```sh\n# as the ([^\n]*)\n(.*?)```", page, re.DOTALL):
        typed[who] = typed.get(who, "") + lines
    return typed


def chromium(playwright):
    """Return a browser."""
    expect.set_options(timeout=1000 * SECONDS)
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def answers(address):
    """Return whether a server answers there."""
    try:
        return urllib.request.urlopen(address, timeout=5).status == 200
    except OSError:
        return False


def free_ports(count):
    """Return ports that nobody listens to now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Hub:
    """A JupyterHub on a machine of its own.

    Args:
        place: a folder for all that the machine writes; its homes are in `place/home`.
    """

    def __init__(self, place):
        self.place = place
        ports = free_ports(3)
        self.address = f"http://127.0.0.1:{ports[0]}"
        (place / "administrator.sh").write_text(commands()["administrator"])
        self.log = place / "log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [*MACHINE, str(ROOT / "tests" / "hub" / "machine.sh")],
                env={
                    **os.environ,
                    "PLACE": str(place),
                    "COURSE": str(ROOT),
                    "ACCOUNTS": f"{INSTRUCTOR} {LEARNER}",
                    "PORTS": " ".join(map(str, ports)),
                    "PYTHON": sys.base_prefix,
                    "PYTHON_FOR_EVERYBODY": PYTHON_FOR_EVERYBODY,
                },
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait(self):
        """Wait until somebody can log in."""
        while not answers(f"{self.address}/hub/login"):
            assert self.process.poll() is None, self.log.read_text()[-5000:]
            time.sleep(1)

    def log_in(self, browser, name):
        """Return a browser's page with somebody's JupyterLab."""
        page = browser.new_context(viewport=WIDE).new_page()
        page.set_default_timeout(1000 * SECONDS)
        page.goto(self.address)
        page.fill("#username_input", name)
        page.fill("#password_input", "attention")
        page.click("#login_submit")
        page.locator(".jp-Launcher:visible").wait_for()
        return page

    def type(self, page, text):
        """Type commands into a new terminal of the instructor's, and wait for their end."""
        home = self.place / "home" / INSTRUCTOR
        (home / "typed.sh").write_text(text)
        page.goto(f"{self.address}/user/{INSTRUCTOR}/lab?reset")
        page.locator(".jp-LauncherCard:visible", has_text="Terminal").click()
        page.locator(".jp-Terminal:visible .xterm-helper-textarea").focus()
        page.wait_for_timeout(2000)  # it draws its prompt on a canvas
        page.keyboard.type("sh -e typed.sh > said 2>&1; echo $? > status\n")
        status, ends = home / "status", time.monotonic() + 3 * SECONDS
        while not (status.exists() and status.read_text()):
            assert time.monotonic() < ends, (home / "said").read_text()
            time.sleep(1)
        assert status.read_text() == "0\n", (home / "said").read_text()
        status.unlink()
        return (home / "said").read_text()


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    hub = Hub(tmp_path_factory.mktemp("hub"))
    try:
        hub.wait()
        yield hub
    finally:
        hub.process.kill()
        hub.process.wait()


def panels(page):
    """Return what the menu called Nbgrader offers."""
    page.get_by_role("menuitem", name="Nbgrader").click()
    offered = page.locator(".lm-Menu:visible .lm-Menu-itemLabel").all_inner_texts()
    page.keyboard.press("Escape")
    return [each for each in offered if each]


def assignments(page):
    """Open the list in which learners fetch and submit."""
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_role("menuitem", name="Assignment List").click()
    page.get_by_text("Downloaded assignments", exact=True).wait_for()


@pytest.mark.skipif(os.geteuid() != 0, reason="a hub with accounts of its own needs root")
def test_a_week_on_a_hub(hub):
    """From the release of a chapter to the page that a learner reads."""
    recipe = commands()
    with sync_playwright() as playwright:
        browser = chromium(playwright)
        instructor, learner = hub.log_in(browser, INSTRUCTOR), hub.log_in(browser, LEARNER)
        hub.type(instructor, recipe["instructor"])
        assert oct((hub.place / "home" / INSTRUCTOR / "attention").stat().st_mode)[-3:] == "700"
        assert "Released as" in hub.type(instructor, recipe["instructor, to hand out"])

        assert panels(learner) == ["Assignment List"]
        assignments(learner)
        learner.get_by_role("button", name="Fetch", exact=True).click()
        learner.get_by_role("button", name="Submit").wait_for()
        learner.goto(f"{hub.address}/user/{LEARNER}/lab/tree/{CHAPTER}/{CHAPTER}.ipynb")
        cells = learner.locator(".jp-CodeCell:visible")
        cells.filter(has_text="def softmax(").locator(".cm-content").click()
        learner.keyboard.press("Control+A")
        learner.keyboard.insert_text(solution_sources(CHAPTER)["softmax"])
        learner.get_by_role("menuitem", name="Run", exact=True).click()
        learner.get_by_text("Run All Cells", exact=True).click()
        last = cells.filter(has_text='check("softmax_backward", hidden=True)')
        expect(last).to_contain_text("More cases, with fresh numbers")
        backward = cells.filter(has_text='check("softmax_backward")')
        expect(backward).to_contain_text("is still the stub")
        checked = cells.filter(has_text='check("softmax")')
        checked.scroll_into_view_if_needed()
        expect(checked).to_contain_text("softmax: all")
        learner.keyboard.press("Control+S")
        expect(learner.get_by_text("Saving completed")).to_be_visible()
        assignments(learner)
        learner.get_by_role("button", name="Submit").click()
        learner.get_by_role("button", name="Fetch Feedback").wait_for()

        said = hub.type(instructor, recipe["instructor, to give back"])
        assert "1 graded" in said and f"released for '{LEARNER}'" in said
        assert "unsandboxed" not in said and "sandbox lacks" not in said

        learner.get_by_role("button", name="Fetch Feedback").click()
        learner.get_by_text("view feedback").click()
        learner.locator(".jp-DirListing-item", has_text=".html").dblclick()
        feedback = learner.frame_locator(".jp-HTMLViewer iframe").locator("body")
        expect(feedback).to_contain_text("2 of 10 points")
        expect(feedback).to_contain_text("attention_scores is still the stub")

        instructor.goto(f"{hub.address}/hub/home")
        instructor.click("#stop")
        instructor.get_by_text("Start My Server").click()
        instructor.locator("#jp-MainMenu").wait_for()
        instructor.goto(f"{hub.address}/user/{INSTRUCTOR}/formgrader/manage_students")
        expect(instructor.get_by_role("row", name=LEARNER)).to_contain_text("2 / 10")


def test_a_learners_own_jupyterlab_has_no_panels_of_nbgraders(tmp_path):
    """`make lab`: no Create Assignment, no Formgrader, and no list of what a hub would hand out."""
    (port,) = free_ports(1)
    options = (
        f"--allow-root --no-browser --port={port} --ServerApp.token= --notebook-dir={tmp_path}"
    )
    lab = [str(Path(sys.executable).with_name("jupyter")), "lab", *options.split()]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(lab, stdout=log, stderr=log) as server,
    ):
        try:
            while not answers(f"http://127.0.0.1:{port}/api"):
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(1)
            with sync_playwright() as playwright:
                page = chromium(playwright).new_page(viewport=WIDE)
                page.goto(f"http://127.0.0.1:{port}/lab")
                page.locator(".jp-Launcher:visible").wait_for()
                menus = page.locator("#jp-MainMenu").inner_text().split()
                assert "Run" in menus and "Nbgrader" not in menus
        finally:
            server.terminate()
