"""Which of the libraries' functions a learner's function runs, told by the code that runs, however
it was reached or spelled.
"""

import sys
import threading
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COURSE, GRADER = f"{ROOT}/solutions/", f"{ROOT}/autograder/"
MOST_NAMES = 300
LONGEST_NAME = 120  # characters


class LibraryCode:
    """A context that notes the names of what runs in it: of libraries' functions, but not of those
    that the course's own solutions call.
    """

    def __init__(self):
        self.names = {}

    def __enter__(self):
        threading.setprofile(self.note)  # of those that begin from now on
        sys.setprofile(self.note)
        return self

    def __exit__(self, *exception):
        sys.setprofile(None)
        threading.setprofile(None)

    def note(self, frame, event, called):
        """Note one call; see `sys.setprofile`."""
        if event == "c_call":
            module, name, caller = called.__module__, called.__qualname__, frame
        elif event == "call" and whose(frame) == "a library's":
            module, name = frame.f_globals.get("__name__"), frame.f_code.co_qualname
            caller = frame.f_back
        else:
            return
        whole = (f"{module}.{name}" if type(module) is str else name)[:LONGEST_NAME]
        if whole in self.names or len(self.names) >= MOST_NAMES or for_the_course(caller):
            return
        self.names[whole] = None


def for_the_course(frame):
    """Return whether a call is made, directly or through a library, by the course's solutions."""
    while frame is not None and (owner := whose(frame)) == "a library's":
        frame = frame.f_back
    return frame is not None and owner == "the course's"


def whose(frame):
    """Return whose code runs in a frame."""
    path = frame.f_code.co_filename
    if path.startswith("<") and frame.f_globals.get("__name__") == "__main__":
        return "a learner's"  # of a cell that IPython measures: `<timed exec>`, `<string>`
    return owner_of(path)


@lru_cache(2000)
def owner_of(path):
    """Return whose code a file holds."""
    if path.startswith(COURSE):
        return "the course's"
    return "a learner's" if is_notebook_cell(path) or path.startswith(GRADER) else "a library's"


def is_notebook_cell(path):
    return "ipykernel_" in path or path.startswith("<ipython-input")
