"""The book, built once from clean with warnings as errors, and served over http."""

import contextlib
import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup
from filelock import FileLock

from autograder.course import ROOT
from solutions.translator import corpus
from solutions.translator.export_onnx import export
from solutions.translator.runs import FinishedRun, prepare
from solutions.translator.settings import Settings, Shape

# Seven minutes on two free cores; beside other tests it takes up to half an hour.
BUILD_SECONDS = 2400


@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(items):
    """Run one test of this folder first, which builds the book while other workers run other tests,
    and the rest last, on whichever worker is free. Of these, tests that keep together come before
    single ones, so that all workers end at about the same time.
    """
    folder = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(BUILD_SECONDS))
    yield  # to what deselects tests
    ours = [item for item in items if item.path.is_relative_to(folder)]
    others = [item for item in items if not item.path.is_relative_to(folder)]
    rest = sorted(ours[1:], key=lambda item: item.get_closest_marker("xdist_group") is None)
    items[:] = [*ours[:1], *others, *rest]


@pytest.fixture(scope="session")
def book_folder(tmp_path_factory, worker_id):
    """The built HTML, from clean, once for all workers; a warning fails the build. Where the
    variable BOOK names a folder, such as one of `make page`, that one is taken as it is.
    """
    if built := os.environ.get("BOOK"):
        return Path(built)
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent  # which the workers share
    outcome = folder / "book.txt"
    with FileLock(folder / "book.lock"):
        if not outcome.exists():
            outcome.write_text(build_book(folder), encoding="utf-8")
    assert outcome.read_text(encoding="utf-8") == ""
    return folder / "_build" / "html"


def build_book(folder):
    """Build the book into a folder; return the end of what was said if that failed, or nothing."""
    jupyter_book = Path(sys.executable).parent / "jupyter-book"
    options = ["--all", "-W", "--keep-going", "--path-output", folder]
    with subprocess.Popen(
        [jupyter_book, "build", *options, "."],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # whose share of the cores Linux sets against that of all workers
    ) as build:
        # A larger one, where that is allowed: all workers wait for the book in the end.
        with contextlib.suppress(OSError):
            Path(f"/proc/{build.pid}/autogroup").write_text("-8")
        said, errors = build.communicate()
    if not build.returncode:
        return ""
    failed = [path.read_text()[-2000:] for path in folder.glob("_build/html/reports/**/*.err.log")]
    return "\n".join([*failed, said[-2000:], errors[-4000:]])


@pytest.fixture(scope="session")
def built_book(book_folder):
    """The URL of the book, served from a sub-path, as a project page would be."""
    handler = functools.partial(Quiet, directory=book_folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/course/"
    server.shutdown()


@pytest.fixture(scope="session")
def bare_book(built_book):
    """The URL of the same book without its text, for tests that look at pictures and explorers
    alone: a page takes a quarter of the time to load.
    """
    return built_book.replace("/course/", "/bare/")


@functools.cache
def bare(path):
    """Return a built page whose article holds its headings, pictures and explorers alone, and which
    draws no formulas.
    """
    page = BeautifulSoup(Path(path).read_bytes(), "lxml")
    article = page.select_one("article")
    boxes = article.select(".explorer, figure")
    kept = {id(each) for box in boxes for each in (box, *box.parents, *box.descendants)}
    kept |= {id(each) for each in article.select("section, h1, h2, h3, link, script")}
    for each in article.find_all(True):
        if not each.decomposed and id(each) not in kept:
            each.decompose()
    for script in page.select("script[src*=mathjax]"):
        script.decompose()
    return page.encode()


@pytest.fixture(scope="session")
def without_scripts(chromium):
    """A page in which no script runs, for tests that read what the book says: one for all, which
    draws no formulas.
    """
    page = chromium.new_page(java_script_enabled=False)
    yield page
    page.close()


def policy():
    """Return the Content-Security-Policy that README.md gives to those who publish the book."""
    (line,) = re.findall(
        r"^Content-Security-Policy: (.+)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    return line


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below /course/ under the documented policy, and bare pages below /bare/,
    without a log.
    """

    def do_GET(self):
        if not self.path.startswith("/bare/") or not self.path.endswith(".html"):
            super().do_GET()
            return
        page = bare(self.translate_path(self.path))
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def end_headers(self):
        self.send_header("Content-Security-Policy", policy())
        super().end_headers()

    def translate_path(self, path):
        return super().translate_path(path.removeprefix("/course").removeprefix("/bare"))

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def small_translator(tmp_path_factory):
    """A small translator that a moment's training has made: what it says need not be right, but
    must be the same everywhere.
    """
    folder = tmp_path_factory.mktemp("run")
    splits = corpus.splits()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    settings = Settings(
        tokens=512, steps=150, warmup=50, learning_rate=5e-3, smoothing=0.0, look_every=150
    )
    pairs = splits["train"][:20_000]  # more than it sees in these steps, and all of the words
    prepare(folder, pairs, splits["validation"][:20], Shape(32, 4, 2, 2, 64, 0.0), settings).run()
    torch.set_num_threads(threads)
    return FinishedRun(folder, "cpu")


@pytest.fixture(scope="session")
def model_files(small_translator, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    export(small_translator, folder)
    return folder
