"""How a large model is cut among many GPUs: what each of them holds, how long a step takes, and in
which order the devices of a pipeline work through the parts of a batch.

The models are Llama 3's, in the table `MODELS`, on H100s, eight in a machine, as their data sheets
describe them. Weights and gradients have 16 bits, and master weights and moments 12 bytes for each
parameter. Layers and parameters are divided evenly. A device takes one sentence at a time, and of
what is sent, only what cannot hide behind computing counts; what a pipeline sends is left out, as
it is little. `REACHED` was chosen by two steps of which the paper of Llama 3 says how long they
took (`REPORTED`).
"""

import itertools
from dataclasses import dataclass

from book.experiments.cost.devices import H100

LENGTH = 8192  # words of a sentence
LINK, NETWORK = 450e9, 50e9  # bytes a second that a GPU sends: in its machine, and out of it
IN_A_MACHINE = 8
REACHED = 0.5  # of the data sheet's peak, while a device computes
TRAINED_ON = 15.6e12  # words of Llama 3's training
VOCABULARY, KEYS_AND_VALUES = 128_256, 1024  # of all three models
LEFT_FREE = 0.1  # of a device's memory
KEEPS = ("everything", "what products make", "the input of each layer")
# devices -> share of the peak that the paper reports for its 405B, cut like this
REPORTED = {8192: 0.43, 16_384: 0.41}
REPORTED_CUT = {"tensor": 8, "pipeline": 16, "sentences": 2048}


@dataclass(frozen=True)
class Model:
    """A decoder-only model with gated feed-forward networks and grouped queries."""

    name: str
    layers: int
    d_model: int
    d_ff: int

    @property
    def layer(self):
        """Parameters of a layer; those of its norms are few."""
        attention = 2 * self.d_model**2 + 2 * self.d_model * KEYS_AND_VALUES
        return attention + 3 * self.d_model * self.d_ff

    @property
    def parameters(self):
        return self.layers * self.layer + 2 * self.d_model * VOCABULARY

    @property
    def kept(self):
        """Bytes that a layer keeps for each word, for each of `KEEPS`, and its input last: inputs
        of the norms, queries, keys, values, the attention's output, the gate's two factors; where
        everything is kept, what norms and gates make of them, too.
        """
        dear = 4 * self.d_model + 2 * KEYS_AND_VALUES + 2 * self.d_ff
        return [2 * (dear + 2 * self.d_model + 2 * self.d_ff), 2 * dear, 2 * self.d_model]


MODELS = (
    Model("Llama 3, 8B", 32, 4096, 14_336),
    Model("Llama 3, 70B", 80, 8192, 28_672),
    Model("Llama 3, 405B", 126, 16_384, 53_248),
)


def cut(model, devices, tensor=1, pipeline=1, stage=0, sentences=2048, keeps=0, interleaved=False):
    """Estimate the memory of each device and the seconds of a step.

    Args:
        model: a Model.
        devices: H100s.
        tensor: how many share each matrix, with sequence parallelism beside it; at most 8.
        pipeline: how many share the layers.
        stage: of ZeRO, 0 to 3, among the copies that this leaves.
        sentences: in the batch.
        keeps: a place in `KEEPS`.
        interleaved: whether a device has single layers of the pipeline instead of a run of layers.

    Returns:
        dict of `copies`, `parts` (sentences of each copy), `bytes` (weights, gradients, moments,
        activations), `spans` (seconds: computing, sums inside layers, bubble, waiting for weights
        and gradients), `utilization`; or None where there are too few devices or sentences.
    """
    copies = devices // (tensor * pipeline)
    if copies < 1 or copies > sentences:
        return None
    parts = sentences // copies
    own = model.parameters / (tensor * pipeline)
    a_layer = model.layer / tensor
    here = model.layers / pipeline  # layers of a device
    runs = max(1, model.layers // pipeline) if interleaved else 1

    collected = 2 * a_layer * (stage == 3 and copies > 1)  # of the layer at work
    weights = 2 * own / (copies if stage == 3 else 1) + collected
    gradients = 2 * own / (copies if stage >= 2 else 1)
    gradients += 2 * a_layer * (stage >= 2 and copies > 1)
    moments = 12 * own / (copies if stage >= 1 else 1)

    whole, kept = (LENGTH * model.kept[each] / tensor for each in (0, keeps))
    again = whole if keeps else 0  # of the layer that goes backward
    ahead = min(parts, pipeline)
    in_the_first = kept * here * ahead + again
    if interleaved:
        in_the_first *= 1 + (pipeline - 1) / (pipeline * runs)
    in_the_last = kept * here + LENGTH * VOCABULARY * 6 / tensor  # logits in 16 and in 32 bits
    activations = max(in_the_first, in_the_last)

    met = model.parameters - model.d_model * VOCABULARY  # an embedding is looked up
    passes = 4 / 3 if keeps == 2 else 1
    work = 6 * met * LENGTH / (tensor * pipeline) / (REACHED * H100["peak"]["bfloat16"])
    forward, backward = work / 3, work * (passes - 1 / 3)
    ring = 2 * (tensor - 1) / tensor
    sums = here * (4 + 2 * (keeps == 2)) * ring * 2 * LENGTH * model.d_model / LINK
    bubble = (pipeline - 1) / runs  # of one part's time

    lanes = max(1, IN_A_MACHINE // tensor)  # that share the way out of a machine
    speed = LINK if devices <= IN_A_MACHINE else min(LINK, NETWORK * lanes)
    half = (copies - 1) / copies * 2 * own / speed  # of an all-reduce
    late = [
        max(0, 2 * half - backward),
        max(0, half - backward) + max(0, half - forward),
        parts * max(0, half - backward) + max(0, half - forward),
        parts * (max(0, half - forward) + max(0, 2 * half - backward)),
    ][stage]

    a_part = forward + backward + sums
    spans = [parts * (forward + backward), parts * sums, bubble * a_part, late]
    flops = 6 * met * LENGTH * sentences
    return {
        "copies": copies,
        "parts": parts,
        "bytes": [weights, gradients, moments, activations],
        "spans": spans,
        "utilization": flops / (devices * H100["peak"]["bfloat16"] * sum(spans)),
    }


def for_the_explorer():
    """Return what the explorer of cuts knows."""
    return {
        "models": [
            {
                "name": each.name,
                "layers": each.layers,
                "width": each.d_model,
                "layer": each.layer,
                "parameters": each.parameters,
                "kept": each.kept,
            }
            for each in MODELS
        ],
        "vocabulary": VOCABULARY,
        "length": LENGTH,
        "link": LINK,
        "network": NETWORK,
        "peak": H100["peak"]["bfloat16"],
        "reached": REACHED,
        "room": (1 - LEFT_FREE) * H100["memory"],
        "size": H100["memory"],
        "trainedOn": TRAINED_ON,
        "reported": REPORTED,
        "reportedCut": REPORTED_CUT,
    }


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
