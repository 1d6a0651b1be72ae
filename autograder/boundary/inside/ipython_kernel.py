"""The IPython kernel that a submission is, without what nobody asks for."""

import contextlib
import os
import sys

from autograder.boundary.inside.world import KERNEL

MOST_PRINTED = 100_000  # characters of one print that are passed on


@contextlib.contextmanager
def without_debugger():
    """Let ipykernel find no debugger: nobody steps through a submission, and to load one takes
    longer than any other part of a kernel.
    """
    sys.modules["debugpy"] = None
    yield
    del sys.modules["debugpy"]


def number_cells_quickly():
    """Give each cell's source its number, by which errors name it, without looking at it letter by
    letter in Python.
    """
    import zlib

    import ipykernel.compiler

    ipykernel.compiler.murmur2_x86 = lambda source, seed: zlib.crc32(
        source.encode("utf-8", "replace"), seed
    )


def shorten_what_is_printed():
    """Send at most so many characters of one print: the grader keeps fewer still, and loses too
    large a message with its neighbours.

    This is for honest notebooks; one that undoes it only harms itself.
    """
    from ipykernel.iostream import OutStream

    write = OutStream.write

    def write_some(stream, text):
        return write(stream, text[:MOST_PRINTED] if isinstance(text, str) else text)

    OutStream.write = write_some


def be_a_kernel(tell_bound):
    """Be an IPython kernel on the connection file in the kernel's folder."""
    from ipykernel.kernelapp import IPKernelApp
    from traitlets.config import Config

    class KernelWithoutCommandLine(IPKernelApp):
        def parse_command_line(self, argv=None):
            """There is none; to make a parser of all options takes a fifth of a kernel's start."""

    # process 1 must not take its absent parent for a reason to leave
    os.environ["JPY_PARENT_PID"] = "1"
    settings = Config({"HistoryManager": {"enabled": False}})
    app = KernelWithoutCommandLine.instance(
        config=settings, connection_file=f"{KERNEL}/kernel.json"
    )
    app.initialize()
    os.write(tell_bound, b"ready")
    os.close(tell_bound)
    app.start()
