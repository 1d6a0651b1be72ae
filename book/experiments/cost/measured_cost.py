"""What a step of training costs, as measured on a CPU: its time, its memory, its calls and its
gradients.
"""

import re
import statistics
import time

import numpy
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

LOOKS = {torch.ops.aten._unsafe_view, torch.ops.aten.scalar_tensor}  # they compute nothing
SWEPT = tuple(2**power for power in range(10))  # words: 1, 2, 4 ... 512


class Launches(TorchDispatchMode):
    """Counts, while it is on, the calls that compute a tensor: each launches a kernel on a GPU, or
    more.
    """

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, call, types, args=(), kwargs=None):
        self.count += not call.is_view and call.overloadpacket not in LOOKS
        return call(*args, **(kwargs or {}))


def seconds_of(*functions, rounds=5, least=1e-3, clock=time.thread_time):
    """Time functions side by side, by the clock of this thread, which stops while other programs
    run.

    A short function is called many times in a row, so that no reading is shorter than `least`, and
    the functions take turns, so that a slow moment of the machine strikes all of them.

    Args:
        functions: what is called.
        rounds: how many readings of each are taken.
        least: seconds that a reading lasts at least.
        clock: returns the time in seconds.

    Returns:
        list of float: seconds of a call of each, the median of its readings; one odd reading does
        not move it.
    """
    calls = [calls_that_last(least, each, clock) for each in functions]
    readings = [[] for _ in functions]
    for _ in range(rounds):
        for each, count, seen in zip(functions, calls, readings, strict=True):
            seen.append(reading(each, count, clock) / count)
    return [statistics.median(seen) for seen in readings]


def reading(function, count, clock):
    """Return how many seconds some calls in a row take."""
    start = clock()
    for _ in range(count):
        function()
    return clock() - start


def calls_that_last(least, function, clock):
    """Return how many calls in a row last at least so many seconds, after one that warms up."""
    function()
    count = 1
    while reading(function, count, clock) < least:
        count *= 2
    return count


def straight_line(points):
    """Fit y = a + b x by least squares; return (a, b)."""
    x, y = zip(*points, strict=True)
    slope, start = numpy.polyfit(x, y, 1)
    return float(start), float(slope)


# The first kind that fits a name counts: by a part of the name, or by the whole name, without what
# autograd puts around it.
PARTS_OF_NAMES = {
    "attention, loss, embeddings": (
        *("attention", "Attention", "log_softmax", "LogSoftmax", "gather", "Gather", "scatter"),
        *("embedding", "Embedding", "index"),
    ),
    "matrix products": ("addmm", "Addmm", "mm", "bmm", "linear", "matmul"),
    "optimizer, clipping": ("Optimizer", "addcdiv", "addcmul", "lerp", "norm", "_foreach"),
}
WHOLE_NAMES = {
    "optimizer, clipping": "mul_ add_ div_ sqrt",
    "additions and norms": """add sub mul div neg pow sum mean var_mean rsqrt relu where clamp
        clamp_min threshold_backward masked_fill Add Sub Mul Div Neg Pow Sum Mean VarMean Rsqrt
        Relu MaskedFill""",
    "copies": "copy_ _to_copy clone cat stack contiguous fill_ zero_",
}
REST, MIXED = "views and bookkeeping", "attention, loss, embeddings"
KINDS = ("matrix products", "optimizer, clipping", "additions and norms", "copies", REST, MIXED)
WRAPPED = re.compile(r"^(autograd::engine::evaluate_function: )?(aten::)?(.*?)(Backward\d+)?$")


def profiled(step, rounds=7):
    """Run a step under the profiler.

    Args:
        rounds: how often it is run; of each call's times the shortest counts, because the profiler
            reads the clock on the wall, and other programs may be running.

    Returns:
        list of (name of the call, calls, milliseconds in it alone), the longest first; and a dict
        from a kind of call to its milliseconds.
    """
    calls, times = {}, {}
    for _ in range(rounds):
        with profile(activities=[ProfilerActivity.CPU]) as seen:
            step()
        for each in seen.key_averages():
            calls[each.key] = each.count
            times.setdefault(each.key, []).append(each.self_cpu_time_total / 1000)
    rows = [(name, calls[name], min(each)) for name, each in times.items()]
    kinds = dict.fromkeys(KINDS, 0.0)
    for name, _, milliseconds in rows:
        kinds[kind_of(name)] += milliseconds
    return sorted(rows, key=lambda row: -row[2]), kinds


def calls_within(step, name, outer):
    """Run a step under the profiler, and count the calls of that name which a call whose name
    begins with `outer` makes, by itself or through others.
    """
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step()
    calls = [each for each in seen.events() if each.name == name]
    return sum(any(by.startswith(outer) for by in callers(each)) for each in calls)


def callers(call):
    """Yield the names of the calls within which a profiled call was made, from the inside out."""
    while call := call.cpu_parent:
        yield call.name


def kind_of(name):
    """Return the kind that a call belongs to, by its name."""
    for kind, parts in PARTS_OF_NAMES.items():
        if any(part in name for part in parts):
            return kind
    inner = WRAPPED.match(name)[3]
    return next((kind for kind, names in WHOLE_NAMES.items() if inner in names.split()), REST)


MODULES = {  # how the names of modules end
    "embeddings": ("embedding",),
    "queries, first layers": ("coder.0.self_attention.w_q",),
    "keys, first layers": ("coder.0.self_attention.w_k",),
    "values, first layers": ("coder.0.self_attention.w_v",),
    "attention's outputs": ("w_o",),
    "feed-forward networks": ("linear_1", "linear_2"),
    "norms": ("norm", "norm_1", "norm_2", "norm_3"),
}


def gradients_by_kind(model, loss):
    """Collect the gradients that the backward pass makes on its way: those of the outputs of a
    model's modules, and last those of its parameters.

    Args:
        model: a Transformer of chapter 8, its old gradients cleared.
        loss: function without arguments that runs the model and returns the loss.

    Returns:
        dict from a kind to the sizes of its gradients (numbers,), none of them 0. Logits are left
        out.
    """
    found = {kind: [] for kind in (*MODULES, "parameters")}

    def keep(kind):
        def after_forward(module, given, output):
            output.register_hook(lambda gradient: found[kind].append(gradient.flatten().abs()))

        return after_forward

    handles = [
        module.register_forward_hook(keep(kind))
        for name, module in model.named_modules()
        for kind, ends in MODULES.items()
        if name.endswith(ends)
    ]
    loss().backward()
    for handle in handles:
        handle.remove()
    found["parameters"] = [each.grad.flatten().abs() for each in model.parameters()]
    return {kind: (each := torch.cat(sizes))[each > 0] for kind, sizes in found.items()}
