"""`python -m autograder push canvas|moodle`: send a chapter's marks to a learning platform: only
those that have changed since they were sent, and none before one says so.
"""

import json
import os

from autograder.course import CourseError, require_chapter
from autograder.desk.platforms import PLATFORMS, Refused, require_safe
from autograder.grading.command import places_from
from autograder.reporting.record import answers_that_wait, known_on, read_graded, total_of
from autograder.shared.wire import printable
from autograder.whole_files import write_whole

MADE_IN = {
    "canvas": "under Account, Settings, New access token",
    "moodle": "from an administrator, for a web service,",
}


def push(options):
    """Say which marks would be sent; with `--send`, send them. Return the exit status.

    Raises:
        CourseError: if there is no token, or nothing has been graded.
    """
    stem, places, name = require_chapter(options.chapter), places_from(options), options.platform
    for what in ("course", "assignment"):
        if not getattr(options, what).isdigit():
            raise CourseError(f"--{what} is the number in its address, not the name")
    url = require_safe(options.url)
    variable = f"{name.upper()}_TOKEN"
    token = os.environ.get(variable, "")
    if options.send and not token:
        raise CourseError(f"there is no token in {variable}; {MADE_IN[name]} you get one")
    sent = Sent(places.folder / "pushed" / f"{name}-{options.assignment}.json", url)
    marks = {
        learner: (total_of(notebook["metadata"]["autograder"]), known_on(name, notebook))
        for learner, notebook in read_graded(stem, places.folder / "autograded")
    }
    if not marks:
        raise CourseError(f"nothing of {stem} has been graded in {places.folder}; grade first")
    changed = {each: mark for each, mark in marks.items() if sent.marks.get(each) != mark[0]}
    if waiting := answers_that_wait(stem, places.folder / "autograded"):
        print(f"{waiting} answers in words wait for a mark, and count 0 as long as they do.")
    if not options.send:
        for learner, (mark, _) in changed.items():
            print(printable(f"  {learner}: {shown(sent.marks.get(learner))} -> {mark:g}"))
        print(f"{len(changed)} of {len(marks)} would be sent; nothing was. --send sends them.")
        return 0
    platform = PLATFORMS[name](url, token, options.course, options.assignment)
    refused = 0
    for learner, (mark, number) in changed.items():
        try:
            platform.send(learner, number, mark)
        except Refused as error:
            refused += 1
            print(printable(f"  {learner}: not taken: {error}".replace(token, "…")))
            continue
        sent.note(learner, mark)
        print(printable(f"  {learner}: {mark:g}"))
    print(
        f"{len(changed) - refused} sent, {len(marks) - len(changed)} were there already"
        + (f", {refused} not taken; run this again when that is mended." if refused else ".")
    )
    return 1 if refused else 0


class Sent:
    """Which marks a platform has taken: a file, written after each of them.

    Args:
        url: of the platform; marks that another one took do not count. None for the one in the
            file.
    """

    def __init__(self, path, url=None):
        self.path, self.url, self.marks = path, url, {}
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if url in (None, told["url"]):
                self.url, self.marks = told["url"], dict(told["marks"])
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError):
            raise CourseError(
                f"{path} cannot be read; remove it, and all marks are sent again"
            ) from None

    def note(self, learner, mark):
        """Keep that a mark was taken."""
        self.marks[learner] = mark
        self.keep()

    def forget(self, learner):
        """Keep nothing of a learner's mark."""
        del self.marks[learner]
        self.keep()

    def keep(self):
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps({"url": self.url, "marks": self.marks}))


def shown(mark):
    """Write a mark that was sent before, or that there was none."""
    return "–" if mark is None else f"{mark:g}"
