"""The book, built once from clean with warnings as errors, and served over http."""

import functools
import http.server
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autograder.course import ROOT

BUILD_SECONDS = 1200  # three and a half minutes on two free cores; a busy machine takes longer


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep the tests of this folder on one worker, which builds the book once, and leave it the
    time.
    """
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for mark in (
                pytest.mark.browser,
                pytest.mark.xdist_group("book"),
                pytest.mark.timeout(BUILD_SECONDS),
            ):
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


def policy():
    """Return the Content-Security-Policy that README.md gives to those who publish the book."""
    (line,) = re.findall(
        r"^Content-Security-Policy: (.+)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    return line


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below /course/ under the documented policy, without a log."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", policy())
        super().end_headers()

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/course"))

    def log_message(self, *arguments):
        pass
