"""Which of the libraries' functions a learner's function runs, told by the code that runs, however
it was reached or spelled.
"""

import os
import re
import sys
import threading
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from sys import _current_frames

ROOT = Path(__file__).resolve().parents[3]
COURSE, GRADER = f"{ROOT}/solutions/", f"{ROOT}/autograder/"
MOST_NAMES = 20
LONGEST_NAME = 120  # characters
# Told in place of a name: nobody saw what was called there.
UNSEEN = PROFILER, THREAD, PROCESS = (
    "a profiler of its own",
    "a thread of its own",
    "a process of its own",
)
WAIT = getattr(os, "waitid", None)  # macOS and Windows have none
BEGINS = {  # functions of Python's own that begin what nobody sees
    "_thread.start_new_thread": THREAD,
    "posix.fork": PROCESS,
    "posix.forkpty": PROCESS,
    "posix.posix_spawn": PROCESS,
    "posix.posix_spawnp": PROCESS,
    "_posixsubprocess.fork_exec": PROCESS,
}
# Libraries of finished models and of parts of them, whatever each of these is called.
READY_MADE = re.compile(
    "transformers|x_transformers|adapters|apex|diffusers|fairscale|fairseq|fairseq2|flash_attn|"
    "keras_hub|keras_nlp|labml_nn|liger_kernel|litgpt|local_attention|positional_encodings|"
    "rotary_embedding_torch|sentence_transformers|timm|torchtune|transformer_lens|vit_pytorch|xformers"
)


class LibraryCode:
    """A context that notes the names of those of libraries' functions that do what an exercise asks
    to write, or belong to a library of finished models, and run in it; but not of those that the
    course's own solutions call.

    Python itself tells of what is called in Python. What is called from C, by `map` or a
    `functools.partial`, torch tells. Nobody tells of what a thread calls that an earlier cell has
    begun, or another process: that there is one is noted instead.

    Args:
        shortcuts: last names of functions that do what the exercise asks to write.
    """

    def __init__(self, shortcuts):
        self.shortcuts = frozenset(shortcuts)
        self.names, self.others = {}, set()
        self.watch = watch_of_torch(self.take) if "torch" in sys.modules else nullcontext()

    def __enter__(self):
        self.watch.__enter__()
        self.names |= dict.fromkeys(begun_before())
        threading.setprofile(self.note)  # of those that begin from now on
        sys.setprofile(self.note)
        return self

    def __exit__(self, *exception):
        if sys.getprofile() != self.note:
            self.names[PROFILER] = None
        sys.setprofile(None)
        threading.setprofile(None)
        self.watch.__exit__(*exception)

    def note(self, frame, event, called):
        """Note one call; see `sys.setprofile`."""
        if event == "c_call":
            self.take(called.__module__, called.__qualname__, frame)
        elif event == "call" and whose(frame) == "a library's":
            self.take(frame.f_globals.get("__name__"), frame.f_code.co_qualname, frame.f_back)

    def take(self, module, name, caller):
        """Note a function's name, if it is one that an answer is not to use."""
        whole = f"{module}.{name}" if type(module) is str else name
        if whole in self.others or whole in self.names:
            return
        if whole in BEGINS and not is_watched(caller):
            self.names[BEGINS[whole]] = None
            return
        if not is_ready_made(whole.split("."), self.shortcuts):
            self.others.add(whole)
        elif len(self.names) < MOST_NAMES and not for_the_course(caller, name):
            self.names[whole[:LONGEST_NAME]] = None


def begun_before():
    """Yield what is at work beside the thread that asks."""
    for thread, frame in _current_frames().items():
        if thread != threading.get_ident() and not is_of_a_progress_bar(frame):
            yield THREAD
    if WAIT:
        try:
            WAIT(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        yield PROCESS


def is_of_a_progress_bar(frame):
    """Return whether a thread is the one that looks after the bars of tqdm."""
    while frame.f_back is not None:
        if frame.f_globals.get("__name__") == "tqdm._monitor":
            return True
        frame = frame.f_back
    return False


def is_watched(caller):
    """Return whether a function that begins a thread does so for `threading`, which watches it."""
    return caller.f_globals is vars(threading)


def watch_of_torch(take):
    """Return a context in which torch tells of each of its functions that is called.

    Args:
        take: called with the function's module, its name and the frame that called it.
    """
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
            if type(name) is str:
                take(getattr(function, "__module__", None), name, sys._getframe(1))
            return function(*args, **(kwargs or {}))

    return Watch()


def is_ready_made(parts, shortcuts):
    """Return whether a function, by the parts of its name, is one that an answer is not to use."""
    return READY_MADE.fullmatch(parts[0]) or any(does_what(part, shortcuts) for part in parts)


def does_what(name, shortcuts):
    """Return whether a function of a library is one of those that do what an exercise asks to
    write, or a variant of one that the library keeps to itself: `_fused_rms_norm` of `rms_norm`.
    """
    if name in shortcuts:
        return True
    words = name.split("_")
    return name.startswith("_") and any(is_within(each.split("_"), words) for each in shortcuts)


def is_within(few, many):
    """Return whether words occur in others, in their order."""
    rest = iter(many)
    return all(word in rest for word in few)


def for_the_course(caller, name):
    """Return whether a call is made, directly or through a library, by the course's solutions: one
    made directly only where the solution names the function, which may be a learner's argument.
    """
    frame = caller
    while frame is not None and (owner := whose(frame)) == "a library's":
        frame = frame.f_back
    if frame is None or owner != "the course's":
        return False
    return frame is not caller or name.rpartition(".")[2] in frame.f_code.co_names


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
    of_grader = path.startswith(GRADER) and path != __file__  # here, others' calls are passed on
    return "a learner's" if is_notebook_cell(path) or of_grader else "a library's"


def is_notebook_cell(path):
    return "ipykernel_" in path or path.startswith("<ipython-input")
