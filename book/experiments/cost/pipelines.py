"""In which order the devices of a pipeline work through the parts of a batch."""

import itertools


def schedule(devices, parts, early):
    """Let each device take one part forward or backward in each turn, as soon as it can.

    Args:
        devices: each of which has some layers, the first the lowest.
        parts: of the batch.
        early: whether each part goes backward as soon as it can (1F1B), or all go forward first.

    Returns:
        list of turns, each a list with what each device does in it: ("forward", part),
        ("backward", part), or None where it waits.
    """
    left = [order(device, devices, parts, early) for device in range(devices)]
    done, turns = set(), []
    while any(left):
        turn = [tasks[0] if tasks else None for tasks in left]
        for device, task in enumerate(turn):
            if task and not can(task, device, devices, done):
                turn[device] = None
        for device, task in enumerate(turn):
            if task:
                left[device].pop(0)
                done.add((device, *task))
        turns.append(turn)
    return turns


def order(device, devices, parts, early):
    """Return the tasks of a device in their order."""
    forward, backward = ([(way, part) for part in range(parts)] for way in ("forward", "backward"))
    if not early:
        return forward + backward
    ahead = min(parts, devices - 1 - device)  # so many are on their way below it
    pairs = itertools.zip_longest(forward[ahead:], backward)
    return forward[:ahead] + [task for pair in pairs for task in pair if task]


def can(task, device, devices, done):
    """Return whether a part has arrived at a device."""
    way, part = task
    if way == "forward":
        return device == 0 or (device - 1, way, part) in done
    if device == devices - 1:
        return (device, "forward", part) in done
    return (device + 1, way, part) in done


def held(turns):
    """Return of how many parts each device holds the activations at most at the same time."""
    more = {"forward": 1, "backward": -1}
    return [
        max(itertools.accumulate(more[task[0]] for task in tasks if task))
        for tasks in zip(*turns, strict=True)
    ]
