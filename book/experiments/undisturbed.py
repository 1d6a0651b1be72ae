"""Train and ask a small model without leaving a trace in the numbers that come after it."""

from contextlib import contextmanager

import torch


@contextmanager
def undisturbed():
    """Compute on one thread, and leave the random numbers and the number of threads as they
    were.
    """
    with torch.random.fork_rng(), one_thread():
        yield


@contextmanager
def one_thread():
    """Compute on one thread: small models are slower on several."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
