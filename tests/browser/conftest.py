"""The book, built once from clean with warnings as errors, served over http, and a browser to open it in."""

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from autograder.course import ROOT

BUILD_SECONDS = 1200  # three and a half minutes on two free cores; a busy machine takes longer
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep the tests of this folder on one worker, which builds the book once, and leave it the time."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for mark in (pytest.mark.browser, pytest.mark.xdist_group("book"), pytest.mark.timeout(BUILD_SECONDS)):
                item.add_marker(mark)


@pytest.fixture(scope="session")
def book_folder(tmp_path_factory):
    """The built HTML, from clean; a warning fails the build."""
    folder = tmp_path_factory.mktemp("book")
    command = [
        Path(sys.executable).parent / "jupyter-book",
        "build",
        "--all",
        "-W",
        "--keep-going",
        "--path-output",
        folder,
        ".",
    ]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-4000:]
    return folder / "_build" / "html"


@pytest.fixture(scope="session")
def built_book(book_folder):
    """The URL of the book, served from a sub-path, as a project page would be."""
    handler = functools.partial(Quiet, directory=book_folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/course/"
    server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below /course/, without a log."""

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/course"))

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.fail("no Chromium found; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page that notes its console errors in `errors_seen`, and what it asks other hosts for in `requests_abroad`."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.errors_seen, page.requests_abroad = [], []
    page.on("pageerror", lambda error: page.errors_seen.append(str(error)))
    page.on("console", lambda message: page.errors_seen.append(message.text) if message.type == "error" else None)
    page.on(
        "request",
        lambda request: page.requests_abroad.append(request.url) if "127.0.0.1" not in request.url[:20] else None,
    )
    yield page
    page.close()
