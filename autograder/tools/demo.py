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


def demo(minutes=None):
    """Release the notebooks, train a translator, build the book with it, grade the sample class,
    and say where everything lies.

    Args:
        minutes: after which the translator's training ends, even if it is not done; None for a
            training that takes as long as it needs.

    Raises:
        CourseError: if one of these fails.
    """
    started = time.monotonic()
    step(1, "Notebooks from solutions/")
    for stem in chapters():
        print(f"      {release(stem).relative_to(ROOT)}", flush=True)
    step(2, "A translator, trained from nothing: two to six minutes")
    train_translator(minutes)
    step(3, "The book, with the translator in it: five to ten minutes on two cores")
    # the cache would not notice changes in what the pages import
    shutil.rmtree(BUILD / ".jupyter_cache", ignore_errors=True)
    run(
        [BIN / "jupyter-book", "build", "--all", "-W", "--keep-going", "."],
        show=(
            r"(executing pages|reading sources|writing output)\.\.\. (?:\x1b\[[\d;]*m)?\[ *(\d+)%\]"
        ),
    )
    step(4, f"A sample class of {len(LEARNERS)} hands in {STEM}")
    shutil.rmtree(SAMPLE, ignore_errors=True)
    write_sample_class(SAMPLE / "submitted")
    step(5, "python -m autograder grade")
    command = [sys.executable, "-m", "autograder", "grade", SAMPLE / "submitted", "--into", SAMPLE]
    run([*command, *sandbox_options()], show=r"(\d+/\d+) \[")
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


def train_translator(minutes=None):
    """Train the small translator on the course's corpus, say how good it has become, and translate
    one sentence.

    Args:
        minutes: see `demo`.
    """
    folder = BUILD / "translator"
    shutil.rmtree(folder, ignore_errors=True)
    translator = [sys.executable, "-m", "solutions.translator"]
    limit = [] if minutes is None else ["--minutes", str(minutes)]
    run([*translator, "train", "--into", folder, *limit])
    said = [*translator, "translate", "--from", folder, SENTENCE]
    translation = subprocess.run(said, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    print(f"      {SENTENCE}  ->  {translation}")
    page = BUILD / "html" / "_static" / "translator-model"
    export = [sys.executable, "-m", "solutions.translator.export_onnx"]
    run([*export, "--from", folder, "--into", page], show=r"^translator: .*")
    print("      The book's first page has it, too, and so has every book built from now on.")


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


def run(command, show=None):
    """Run a command from the root.

    Args:
        show: which parts of its output to show, as a regular expression; None for all of it, bars
            that move included. If the command fails, the end of the rest is shown as well.

    Raises:
        CourseError: if the command fails.
    """
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    hidden = {} if show is None else {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **hidden)
    lines = [] if show is None else shown_lines(process.stdout, show)
    if process.wait():
        print("".join(lines[-40:]), file=sys.stderr)
        raise CourseError(
            f"{Path(command[0]).name} {command[1]} failed; the end of its output is above"
        )


def shown_lines(output, show):
    """Show the parts of each line that match, unless they were just shown; return all lines."""
    lines, shown = [], None
    for line in output:
        lines.append(line)
        matches = re.findall(show, line)
        if matches and matches[-1] != shown:
            shown = matches[-1]
            text = " ".join(filter(None, shown)) if isinstance(shown, tuple) else shown
            print(f"      {text}", flush=True)
    return lines
