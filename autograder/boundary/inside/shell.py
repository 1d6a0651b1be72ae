"""The process that a submission is: IPython's shell, which runs the notebook's cells and puts the
grader's questions to what they defined.

It takes one request after the other from a socket, each a line of JSON: the `source` of a cell, or
`questions`. What it answers is lines, too: an id, a blank, and a value as `autograder.shared.wire`
writes it; the last one has the request's own id, and says with which error a cell ended, or None.
Whatever is printed or displayed is plain text on the standard output.
"""

import asyncio
import builtins
import contextlib
import getpass
import io
import json
import os
import selectors
import signal
import socket
import sys
from zlib import crc32

from IPython.core import page
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from autograder.boundary.inside.world import SET_PARENT_DEATH_SIGNAL, libc
from autograder.shared.probes import observe
from autograder.shared.probes.calls import exit_raises
from autograder.shared.probes.library_code import LibraryCode
from autograder.shared.wire import decode, encode

SETTINGS = Config({"HistoryManager": {"enabled": False}})


def show(data):
    """Print what is displayed, as text."""
    sys.stdout.write(f"{data.get('text/plain', '')}\n")


class TextHook(DisplayHook):
    """Shows a cell's last value."""

    def write_output_prompt(self):
        """Write no number before it."""

    def write_format_data(self, format_dict, md_dict=None):
        """Write it as text."""
        show(format_dict)


class TextPublisher(DisplayPublisher):
    """Shows what a cell displays."""

    def publish(self, data, metadata=None, *, update=False, **others):
        """Show it as text, once."""
        if not update:
            show(data)

    def clear_output(self, wait=False):
        """Leave all as it is: this is no screen."""


class Kernel:
    """What notebooks and widgets ask of a notebook's kernel, where there is none.

    Args:
        shell: that runs the cells.
    """

    implementation = banner = "IPython"

    def __init__(self, shell):
        self.shell = shell

    def get_parent(self, channel=None):
        """Return the message that asked for the cell: none did."""
        return {}


class Shell(InteractiveShell):
    """IPython's shell without a person in front of it."""

    displayhook_class = Type(TextHook)
    display_pub_class = Type(TextPublisher)
    error = None  # that was shown last

    def init_hooks(self):
        """Let `softmax?` open no pager."""
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(lambda *_, **__: None), 99)

    def init_magics(self):
        """Know what notebooks say to JupyterLab, too, and open no debugger: nobody answers it, and
        it would run what it finds in a file.
        """
        super().init_magics()
        for name in ("autosave", "debug", "pdb"):
            self.register_magic_function(lambda line: None, magic_name=name)

    def init_display_formatter(self):
        """Make text alone of what is displayed; nobody sees pictures."""
        super().init_display_formatter()
        self.display_formatter.active_types = ["text/plain"]

    def enable_gui(self, gui=None):
        """Open no windows."""

    def ask_exit(self):
        """Stay after `exit()`: the notebook goes on, and so do the questions."""

    def _showtraceback(self, etype, evalue, stb):
        try:
            said = str(evalue)
        except Exception:
            said = ""
        self.error = f"{etype.__name__}: {said}"


def make_shell():
    """Return the shell, before there is anything to run."""
    shell = Shell.instance(config=SETTINGS)
    shell.extension_manager.load_extension("storemagic")
    shell.kernel = Kernel(shell)
    return shell


def be_a_shell(talk, printed):
    """Serve requests until there are none. Never returns.

    Args:
        talk: descriptor of the socket on which requests come and answers go.
        printed: descriptor that takes what is printed.
    """
    for standard in (1, 2):
        os.dup2(printed, standard)
    os.close(printed)
    out = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(out, "utf-8", "backslashreplace", write_through=True) for _ in range(2)
    )
    builtins.input = getpass.getpass = refuse_input
    shell, owner = make_shell(), os.getpid()
    # not epoll: what all learners together may watch with it, one of them can use up
    loop = asyncio.SelectorEventLoop(selectors.PollSelector())
    asyncio.set_event_loop(loop)
    with socket.socket(fileno=talk) as talk, talk.makefile("rb") as requests:
        talk.set_inheritable(False)
        for line in requests:
            request = json.loads(line)
            shell.error = None
            if "source" in request:
                work = run_cell(shell, request["source"])
            else:
                work = answer(shell.user_ns, request, talk)
            carry_out(loop, work)
            if os.getpid() != owner:
                os._exit(0)  # a cell has forked, and both of them go on
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            send(talk, request["id"], shell.error)
    os._exit(0)


def refuse_input(prompt="", *others, **named):
    """Say why nothing can be asked of a person."""
    raise StdinNotImplementedError("nobody can answer input() while a notebook is graded")


def carry_out(loop, work):
    """Run a coroutine to its end, or until the grader interrupts it."""
    task = loop.create_task(work)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        loop.run_until_complete(task)
    except KeyboardInterrupt:
        if task.cancel():  # it waits for something; otherwise it has ended with this exception
            with contextlib.suppress(BaseException):
                loop.run_until_complete(task)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


async def run_cell(shell, source):
    """Run a cell, which may await at its top level."""
    broken = None
    try:
        transformed = shell.transform_cell(source)
    except Exception:
        transformed, broken = source, sys.exc_info()
    ran = None
    try:
        ran = await shell.run_cell_async(
            source,
            store_history=True,
            transformed_cell=transformed,
            preprocessing_exc_tuple=broken,
        )
    except Exception as error:  # of an exception that cannot be shown
        shell.error = f"{type(error).__name__}: "
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", ran)


async def answer(namespace, request, talk):
    """Observe the learner's functions, one question after the other; each observation is sent as
    soon as it is there.

    Args:
        namespace: of the notebook.
        request: `questions`, (id, exercise, probe, text of the inputs) of each, and `shortcuts`,
            the names of library functions that do what the exercise asks to write. One
            observation, which the grader's ids choose anew each time, also tells which of these
            were `used`: a question that is watched takes several times as long.
    """
    questions = request["questions"]
    looked_at = {crc32(each[0].encode()) % len(questions) for each in questions[-1:]}
    for place, (each, exercise, probe, inputs) in enumerate(questions):
        library = LibraryCode(request["shortcuts"]) if place in looked_at else None
        implementation = namespace.get(exercise)
        if implementation is None:
            observation = {"unfit": "is not defined"}
        else:
            with exit_raises(namespace), library or contextlib.nullcontext():
                observation = observe(probe, implementation, decode(inputs))
            if library:
                observation["used"] = list(library.names)
        send(talk, each, observation)


def send(talk, its_id, value):
    """Send a value. It begins with the end of a line, because what was sent before may have been
    interrupted in the middle of one.
    """
    talk.sendall(f"\n{its_id} {encode(value)}\n".encode())


def main():
    """Be the shell of somebody who is trusted: requests come on the standard input. It ends with
    whoever started it.
    """
    with contextlib.suppress(AttributeError):  # other systems have no such call
        libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    talk, printed = os.dup(0), os.dup(1)
    silence = os.open(os.devnull, os.O_RDONLY)
    os.dup2(silence, 0)
    be_a_shell(talk, printed)


if __name__ == "__main__":
    main()
