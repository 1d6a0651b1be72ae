"""What a step of training costs, by arithmetic and as measured: operations, bytes and time.

The arithmetic is that of the Transformer of chapter 8 without dropout, whose attention never holds
its table of weights. It counts what the forward pass leaves for the backward pass, tensor by
tensor.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

ROOT = Path(__file__).resolve().parents[2]

# Bytes that a layer keeps for the backward pass, per position: for each feature of d_model in an
# encoder layer, in a decoder layer, and of the memory in a decoder layer; for each feature of d_ff.
# In float32 an encoder layer keeps 12 tensors: the inputs of its two sublayers, query, key, value
# and output of the attention, and three for each norm. Under autocast those of the norms stay in
# float32, and the input of each product is kept as a copy in 16 bits: three copies for query, key
# and value.
KEPT = {"float32": (12 * 4, 18 * 4, 2 * 4, 4), "bfloat16": (40, 58, 8, 2)}
LOGITS_HELD = 3  # float32 tables of logits that the loss and its backward pass hold at once


@dataclass(frozen=True)
class Run:
    """The sizes of a model and of its batches; `seq_len` is that of sources and of targets."""

    d_model: int
    layers: int
    d_ff: int
    vocab_size: int
    batch: int
    seq_len: int
    heads: int = 4

    @property
    def words(self):
        """Positions in a batch, on each side."""
        return self.batch * self.seq_len


def activation_bytes(run, precision="float32"):
    """Count the bytes that are in use when the backward pass begins, beyond those that training
    keeps all the time.

    Args:
        run: a Run.
        precision: "float32", or "bfloat16" for autocast.
    """
    encoder, decoder, memory, inner = KEPT[precision]
    layers = run.layers * ((encoder + decoder + memory) * run.d_model + 2 * inner * run.d_ff)
    copies = 2 * sum(product_parameters(run)) if precision == "bfloat16" else 0
    return run.words * (layers + 4 * LOGITS_HELD * run.vocab_size) + copies


def product_parameters(run):
    """Count the parameters that a word of the source, and one of the target, is multiplied with.

    Returns:
        (source, target): the first includes the keys and values that the decoder makes of it.
    """
    square, inner = run.d_model**2, 2 * run.d_model * run.d_ff
    source = run.layers * (4 * square + inner + 2 * square)
    target = run.layers * (4 * square + inner + 2 * square) + run.d_model * run.vocab_size
    return source, target


def step_flops(run):
    """Count the floating-point operations of a training step: products with parameters, and the two
    products of each attention.
    """
    attention = 3 * run.layers * 4 * run.words * run.seq_len * run.d_model
    return 6 * run.words * sum(product_parameters(run)) + 3 * attention


def measured_peak(step):
    """Run a function and return the most bytes that were allocated in it at once, beyond what was
    there before, on a CPU.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    events = seen.profiler.kineto_results.events()
    allocated = sorted(
        (event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"
    )
    peak = now = 0
    for _, size in allocated:
        now += size
        peak = max(peak, now)
    return peak


def best_seconds(function, budget=0.04):
    """Time a function by the clock of its own thread, which stops while other programs run.

    Args:
        function: what is called, as often as fits into `budget` seconds, and at least three times.

    Returns:
        float: seconds of the shortest call.
    """
    function()
    times, began = [], time.thread_time()
    while len(times) < 3 or time.thread_time() - began < budget:
        start = time.thread_time()
        function()
        times.append(time.thread_time() - start)
    return min(times)


def measured_roofline(sizes=(4, 16, 64, 256, 512), numbers=2**22):
    """Measure products of square matrices, and the speed of memory, on this machine.

    Returns:
        bytes a second, and a list of (size, operations per byte, operations a second).
    """
    vector, other, result = torch.ones(3, numbers)
    seconds = best_seconds(lambda: torch.add(vector, other, out=result))
    bandwidth = 12 * numbers / seconds  # two numbers of 4 bytes are read and one is written
    points = []
    for size in sizes:
        one, other = torch.ones(size, size), torch.ones(size, size)
        seconds = best_seconds(lambda one=one, other=other: one @ other)
        points.append((size, 2 * size**3 / (3 * 4 * size**2), 2 * size**3 / seconds))
    return bandwidth, points


KINDS = {
    "matrix products": ("addmm", "mm", "bmm", "linear", "matmul"),
    "attention": ("attention",),
    "loss": ("log_softmax", "gather", "scatter"),
    "optimizer": ("Optimizer", "addcdiv", "addcmul", "lerp", "adam", "sqrt"),
    "embeddings": ("embedding", "index"),
}


def profiled(step):
    """Run a step under the profiler.

    Returns:
        list of (name of the operation, calls, microseconds in it alone), the longest first; and a
        dict from a kind of operation to its share of the time.
    """
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step()
    rows = sorted(
        ((each.key, each.count, each.self_cpu_time_total) for each in seen.key_averages()),
        key=lambda row: -row[2],
    )
    whole, shares = sum(row[2] for row in rows), dict.fromkeys([*KINDS, "everything else"], 0.0)
    for name, _, microseconds in rows:
        shares[kind_of(name)] += microseconds / whole
    return rows, dict(sorted(shares.items(), key=lambda item: -item[1]))


def kind_of(name):
    """Return the kind that an operation belongs to, by its name."""
    fitting = [kind for kind, parts in KINDS.items() if any(part in name for part in parts)]
    return next((kind for kind in ("attention", *fitting) if kind in fitting), "everything else")
