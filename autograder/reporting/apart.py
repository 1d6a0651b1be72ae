"""A process of its own for what reads a learner's text: however long that takes, whatever it needs
and however it ends, it concerns that learner, and the run goes on.
"""

import math
import multiprocessing
import pickle
import signal
import time

import psutil

from autograder.shared.wire import unmasked

SECONDS = 5  # of processor time; a long notebook that somebody wrote takes hundredths
PATIENCE = 60  # seconds by the clock, on a machine that is busy with something else
MEMORY = 2**30  # bytes beyond what the process begins with
LARGEST_RESULT = 2**26  # bytes; a page is the largest, with all that a learner wrote
LONGEST_REASON = 200  # characters


class NotRead(Exception):
    """What a learner wrote could not be read within the limits; the message says why."""


class Apart:
    """Calls a function in a process of its own, within limits. Use it in a `with` statement.

    One process serves many calls; where a call ends it, the next one starts another.

    Args:
        function: what is called; arguments and results travel as pickles.
        seconds: of processor time for each call.
        memory: bytes that a call may take.
    """

    def __init__(self, function, seconds=SECONDS, memory=MEMORY):
        self.function, self.seconds, self.memory = function, seconds, memory
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()

    def __call__(self, *arguments):
        """Return what the function returns.

        Raises:
            NotRead: if it raises anything, or goes beyond a limit.
        """
        if self.process is None:
            self.start()
        try:
            self.line.send(arguments)
            if not self.line.poll(PATIENCE):
                raise TimeoutError
            done, result = pickle.loads(self.line.recv_bytes(LARGEST_RESULT))
        except (EOFError, OSError) as error:
            raise NotRead(self.why_it_ended(error)) from None
        if not done:
            raise NotRead(result)
        return result

    def start(self):
        """Start the process; it is forked, and so has everything that is loaded here."""
        context = multiprocessing.get_context("fork")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=self.serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self):
        """End the process, if there is one; return its exit status."""
        if self.process is None:
            return None
        self.line.close()
        self.process.kill()
        self.process.join()
        status, self.process = self.process.exitcode, None
        return status

    def why_it_ended(self, error):
        """End the process, and say why it gave no answer."""
        if isinstance(error, EOFError | ConnectionError):
            self.process.join(PATIENCE)  # it has ended, or does so now
        if self.stop() == -signal.SIGXCPU:
            return f"it takes more than {self.seconds} s"
        if isinstance(error, TimeoutError):
            return f"it takes more than {PATIENCE} s"
        return "it ended the process that read it"

    def serve(self, line):
        """Be the process: answer calls until the other end of the line is closed."""
        import resource

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and closes the line
        self.line.close()
        limit(resource.RLIMIT_CORE, 0)
        limit(resource.RLIMIT_AS, psutil.Process().memory_info().vms + self.memory)
        while True:
            try:
                arguments = line.recv()
            except EOFError:
                return
            limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + self.seconds)
            line.send_bytes(self.answer(arguments))

    def answer(self, arguments):
        """Return the pickle of (whether it went well, what the function returned or why not)."""
        try:
            content = pickle.dumps((True, self.function(*arguments)))
            if len(content) <= LARGEST_RESULT:
                return content
            reason = f"what comes of it is larger than {LARGEST_RESULT // 2**20} MiB"
        except MemoryError:
            reason = f"it takes more than {self.memory // 2**20} MiB of memory"
        except Exception as error:
            reason = unmasked(f"{type(error).__name__}: {error}"[:LONGEST_REASON])
        return pickle.dumps((False, reason))


def limit(kind, most):
    """Let this process have no more of something, or less where it has less."""
    import resource

    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))
