"""How much memory a step of training holds from one moment to the next, as recorded on a CPU."""

import contextlib
import itertools
import statistics
import time
from functools import partial

import numpy as np
from torch.profiler import ProfilerActivity, profile, record_function


def measured_peak(step):
    """Run a function and return the most bytes that were allocated in it at once, beyond what was
    there before, on a CPU.
    """
    return max((size for _, size in memory_timeline(step)[0]), default=0)


def memory_timeline(step):
    """Run a function and note, on a CPU, how much memory it holds from one moment to the next.

    Args:
        step: may mark its phases with `torch.profiler.record_function`.

    Returns:
        a list of (seconds, bytes in use beyond what was there before), and a dict from the name of
        each phase to its (first second, last second).
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    events = seen.profiler.kineto_results.events()
    began = min((event.start_ns() for event in events), default=0)

    def seconds(nanoseconds):
        return (nanoseconds - began) / 1e9

    changes = sorted(
        (seconds(event.start_ns()), event.nbytes())
        for event in events
        if event.name() == "[memory]"
    )
    moments, sizes = zip(*changes, strict=True) if changes else ((), ())
    line = list(zip(moments, itertools.accumulate(sizes), strict=True))
    phases = {
        event.name(): (seconds(event.start_ns()), seconds(event.start_ns() + event.duration_ns()))
        for event in events
        if event.is_user_annotation()
    }
    return line, phases


def ends_of_phases(*steps, rounds=15):
    """Time the phases of training steps side by side, by the clock of this thread.

    Args:
        steps: functions that are given what marks a phase, a context manager with its name.
        rounds: in each of which all steps take their turn, after one that warms up.

    Returns:
        a dict for each step, from a phase's name to the second in which it ends, the median.
    """
    found = [[] for _ in steps]
    for _ in range(rounds + 1):
        for step, seen in zip(steps, found, strict=True):
            seen.append(ends_in_a_run(step))
    return [
        {name: statistics.median(ends[name] for ends in seen[1:]) for name in seen[0]}
        for seen in found
    ]


def ends_in_a_run(step):
    """Run a step once, and return when each phase ends."""
    ends, began = {}, time.thread_time()

    @contextlib.contextmanager
    def phase(name):
        yield
        ends[name] = time.thread_time() - began

    step(phase)
    return ends


def memory_of_training(model, step, ends, rounds=5):
    """Follow the memory of a training step as `memory_timeline` does, and note when the gradients
    of the parameters are there.

    A step takes longer while it is recorded, some phases more than others, so each phase is drawn
    as long as it takes otherwise.

    Args:
        model: whose gradients are cleared before each round.
        step: marks its phases.
        ends: dict from a phase's name to the second in which it ends when nothing is recorded, in
            their order.
        rounds: how often it is recorded; the shortest one counts.

    Returns:
        the results of `memory_timeline`, with these phases alone, and a list of (seconds, bytes of
        all gradients so far).
    """
    sizes = [each.numel() * each.element_size() for each in model.parameters()]

    def mark(number, gradient):
        with record_function(f"gradient {number}"):
            pass

    handles = [
        each.register_post_accumulate_grad_hook(partial(mark, number))
        for number, each in enumerate(model.parameters())
    ]
    found = []
    for _ in range(rounds):
        model.zero_grad(set_to_none=True)
        found.append(memory_timeline(step))
    for handle in handles:
        handle.remove()
    line, phases = min(found, key=lambda each: each[0][-1][0])
    made = sorted((phases.pop(f"gradient {number}")[0], size) for number, size in enumerate(sizes))
    recorded = [0.0, *(phases[name][1] for name in ends)]
    unrecorded = partial(np.interp, xp=recorded, fp=[0.0, *ends.values()])
    moments, sizes = zip(*made, strict=True)
    held = zip(map(float, unrecorded(moments)), itertools.accumulate(sizes), strict=True)
    phases = {name: tuple(map(float, unrecorded(phases[name]))) for name in ends}
    return [(float(unrecorded(each)), size) for each, size in line], phases, list(held)
