"""What a GPU runs again without being told each kernel anew: a CUDA graph for each shape.

A step of a small model has some hundred kernels of a few microseconds each, and Python takes longer
to launch one than a large GPU takes to run it. A recording is launched as a whole.
"""

import contextlib

import torch

from solutions.translator.model import Translator


class Recorded:
    """A function of tensors on a GPU. The first time that it is given tensors of some shapes it
    runs as it is, and what it launches is recorded; after that, the recording runs.

    Nothing in it may ask the GPU for a number, and what it changes beside its result, such as the
    gradients, has to stay where it is in memory.

    Args:
        function: of tensors and of floats.
        changed: called after the runs that warm up; takes back what they have changed. What was
            there before them is lost: tensors of new shapes come first after it was taken back.

    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
    """

    def __init__(self, function, changed):
        self.function, self.changed = function, changed
        self.recordings, self.pool = {}, torch.cuda.graph_pool_handle()
        self.aside = torch.cuda.Stream()  # one, because libraries keep memory for each

    def __call__(self, *given):
        """Return what the function does, in memory that the next call overwrites."""
        shapes = tuple(getattr(each, "shape", ()) for each in given)
        if shapes not in self.recordings:
            self.recordings[shapes] = self.record(given)
        graph, inputs, result = self.recordings[shapes]
        fill(inputs, given)
        graph.replay()
        return result

    def record(self, given):
        """Return a recording, the memory that it reads, and the memory of its result."""
        device = torch.device("cuda", torch.cuda.current_device())
        inputs = [torch.as_tensor(each, device=device).clone() for each in given]
        drawn, before = torch.cuda.get_rng_state(), torch.cuda.current_stream()
        self.aside.wait_stream(before)
        with torch.cuda.stream(self.aside):
            # libraries choose their kernels, which can't be recorded
            for _ in range(2):
                self.function(*inputs)
        before.wait_stream(self.aside)
        self.changed()
        torch.cuda.set_rng_state(drawn)  # whatever is dropped, training continues the same
        graph = torch.cuda.CUDAGraph()
        # what other threads do meanwhile, such as the loader's with pinned memory, is not recorded
        kept = {"pool": self.pool, "stream": self.aside, "capture_error_mode": "thread_local"}
        with torch.cuda.graph(graph, **kept):
            result = self.function(*inputs)
        return graph, inputs, result


def fill(inputs, given):
    """Copy what was given to where a recording reads it, without waiting for it."""
    for each, value in zip(inputs, given, strict=True):
        if isinstance(value, float):
            each.fill_(value)
        else:
            each.copy_(value, non_blocking=True)


def require_recordable(model, team):
    """Refuse what cannot be recorded.

    Raises:
        ValueError: where the model is not the course's own, which alone is known to ask the GPU for
            nothing, or where several processes train together.
    """
    if not isinstance(model, Translator):
        raise ValueError(
            "recorded is for the course's own model, and this run has one of its own; leave out"
            " --recorded"
        )
    if team.size > 1:
        raise ValueError(
            f"recorded is for one GPU, and {team.size} processes train here; leave out --recorded"
        )


@contextlib.contextmanager
def no_plans_for_attention():
    """Have a GPU not take cuDNN's kernels for attention. On an H100 they are no faster here, and
    make a plan for each new shape, which takes nearly half a second.
    """
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
