"""`make demo`: the main job, once, on a class of five invented learners."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat

from autograder.authoring.release import release
from autograder.boundary.sandbox import Sandbox
from autograder.course import BUILD, ROOT, CourseError, chapters
from autograder.reporting.terminal import rows_of, table
from autograder.tools.sample_class import LEARNERS, STEM, write_sample_class

SAMPLE = BUILD / "sample"
SENTENCE = "your cat is a lovely cat"
BIN = Path(sys.executable).parent


def demo():
    """Release the notebooks, build the book, grade the sample class, train a translator, and say
    where everything lies.
    """
    started = time.monotonic()
    step(1, "Notebooks from solutions/")
    for stem in chapters():
        print(f"      {release(stem).relative_to(ROOT)}", flush=True)
    step(2, "The book (a minute or two)")
    shutil.rmtree(
        BUILD / ".jupyter_cache", ignore_errors=True
    )  # it would not notice changes in what the pages import
    run(
        [BIN / "jupyter-book", "build", "--all", "-W", "--keep-going", "."],
        show=r"(reading sources|writing output)\.\.\. \[ *(\d+)%\]",
    )
    step(3, f"A sample class of {len(LEARNERS)} hands in {STEM}")
    shutil.rmtree(SAMPLE, ignore_errors=True)
    write_sample_class(SAMPLE / "submitted")
    step(4, "python -m autograder grade")
    command = [sys.executable, "-m", "autograder", "grade", SAMPLE / "submitted", "--into", SAMPLE]
    run([*command, *sandbox_options()], show=r"(\d+/\d+) \[")
    step(5, "A translator, trained from nothing (two or three minutes)")
    train_translator()
    step(6, "The table of the class; below it, where the report and the pages for learners are")
    print(f"\n{table(sample_rows())}\n")
    book, feedback = (
        BUILD / "html" / "index.html",
        SAMPLE / "feedback" / "bruno" / STEM / f"{STEM}.html",
    )
    report = SAMPLE / "reports" / STEM / "report.html"
    print(
        f"Done in {time.monotonic() - started:.0f} s. Elena's code never returns: her notebook took"
        " the time limits, and only her points."
    )
    print(f"  The book:      {book.relative_to(ROOT)}\n  The report:    {report.relative_to(ROOT)}")
    print(f"  A feedback:    {feedback.relative_to(ROOT)}")
    print(
        f"Open any of them in a browser, for example with: python3 -m webbrowser -t {book.as_uri()}"
    )
    print("Next: `make lab` opens your own copies of the notebooks, `make grade` grades them.")


def train_translator():
    """Train the small translator on the course's corpus, say how good it has become, and translate
    one sentence.
    """
    folder = BUILD / "translator"
    shutil.rmtree(folder, ignore_errors=True)
    translator = [sys.executable, "-m", "solutions.translator"]
    run(
        [*translator, "train", "--into", folder],
        show=r"\b(\d0%)\||^(\w+: [\d.]+% of \d+ exactly right)",
    )
    said = [*translator, "translate", "--from", folder, SENTENCE]
    print(
        f"      {SENTENCE}  -> "
        f" {subprocess.run(said, cwd=ROOT, capture_output=True, text=True).stdout.strip()}"
    )
    page = BUILD / "html" / "_static" / "translator-model"
    run(
        [
            sys.executable,
            "-m",
            "solutions.translator.export_onnx",
            "--from",
            folder,
            "--into",
            page,
        ],
        show=r"^translator: .*",
    )
    print(
        "      It runs in the book's first page, too: `make book` and any later build take it"
        " along."
    )


def sandbox_options():
    """Return the option without which nothing would be graded on a machine that has no sandbox, and
    say so.
    """
    try:
        with Sandbox(STEM) as sandbox:
            sandbox.wait_until_ready()
            return []
    except CourseError as error:
        print(f"      Without a sandbox, and every score marked so: {error}", flush=True)
        print(
            "      This class is invented, so it is graded all the same. For people's code: apt-get"
            " install bubblewrap"
        )
        return ["--unsandboxed"]


def sample_rows():
    """Return the rows of the table, learner by learner."""
    rows = []
    for learner in LEARNERS:
        path = SAMPLE / "autograded" / learner / STEM / f"{STEM}.ipynb"
        rows += rows_of(learner, nbformat.read(path, as_version=4))
    return rows


def step(number, title):
    print(f"\n[{number}/6] {title}", flush=True)


def run(command, show):
    """Run a command from the root, showing the parts of its output that match; if it fails, show
    the rest.

    Raises:
        CourseError: if the command fails.
    """
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines, shown = [], None
    for line in process.stdout:
        lines.append(line)
        matches = re.findall(show, line)
        if matches and matches[-1] != shown:
            shown = matches[-1]
            print(
                f"      {' '.join(filter(None, shown)) if isinstance(shown, tuple) else shown}",
                flush=True,
            )
    if process.wait():
        print("".join(lines[-40:]), file=sys.stderr)
        raise CourseError(
            f"{Path(command[0]).name} {command[1]} failed; the end of its output stands above"
        )
