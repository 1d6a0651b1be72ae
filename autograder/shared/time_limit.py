"""Stops a learner's function in a notebook when its time is up, whatever it catches."""

import contextlib
import signal
import threading
from _thread import interrupt_main
from functools import partial
from inspect import currentframe
from random import Random

from autograder.shared.probes.library_code import GRADER

AGAIN = 0.2  # seconds, after which what goes on is stopped anew
IMPORTING = "<frozen importlib._bootstrap>"


class OutOfTime(BaseException):
    """Raised inside a learner's function when its time is up; not an Exception, so that a broad
    `except` does not swallow it.
    """


@contextlib.contextmanager
def time_limit(seconds):
    """Stop what the block calls after so many seconds, and leave the block, where the platform has
    timers and this is the main thread; elsewhere without a limit.

    A bare `except` swallows even a BaseException. What goes on after the first one gets more of
    them where Python looks for signals, until one arises outside of every `try`. An import is never
    interrupted, because the module would stay half imported, and the seconds count anew after it.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    stopper = Stopper(seconds, block=currentframe().f_back.f_back)
    before = signal.signal(signal.SIGALRM, stopper)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    except OutOfTime:
        pass
    finally:
        stopper.is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)  # after a call, Python looks for the last signal
        signal.signal(signal.SIGALRM, before)


class Stopper:
    """Hears the alarms of one `time_limit`.

    Args:
        seconds: of the limit.
        block: the frame that has it.
    """

    def __init__(self, seconds, block):
        self.seconds, self.block = seconds, block
        self.is_over = self.has_imported = self.has_raised = False
        # Python 3.12 may take what is raised where a loop jumps back for a part of the `try` above,
        # again and again. So now and then nothing is raised, and the next place has its turn.
        self.chance = Random().random
        # Each step raises the signal anew. After a call Python would hear it at once, while this
        # one is being heard; after a step of a loop it does not look.
        self.once_more = iter(partial(interrupt_main, signal.SIGALRM), "never")

    def __call__(self, number, frame):
        """Raise OutOfTime in the frame that runs, if it is not the course's own."""
        if self.is_over:
            return
        if self.is_importing(frame):
            self.has_imported = True
        elif self.has_imported:
            self.has_imported = False
            signal.setitimer(signal.ITIMER_REAL, self.seconds, AGAIN)
        elif self.is_between(frame) or (self.has_raised and self.chance() < 0.25):
            for _ in self.once_more:
                return
        elif self.has_raised:
            for _ in self.once_more:
                raise OutOfTime
        else:
            self.has_raised = True
            raise OutOfTime

    def is_importing(self, frame):
        """Return whether a module is being imported in a frame."""
        while frame not in (self.block, None) and frame.f_code.co_filename != IMPORTING:
            frame = frame.f_back
        return frame not in (self.block, None)

    def is_between(self, frame):
        """Return whether a frame is the block's or the course's own, or enters or leaves one of
        their contexts, which would otherwise stay half open.
        """
        called = None
        while frame not in (self.block, None) and not in_the_course(frame):
            called, frame = frame, frame.f_back
        return called is None or called.f_code.co_name in ("__enter__", "__exit__")


def in_the_course(frame):
    return frame.f_code.co_filename.startswith(GRADER)
