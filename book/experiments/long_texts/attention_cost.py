"""What attention costs by length: operations, the largest tensor that it makes, and time; on short
texts by measurement, on long ones by counting. The long run times attention in tiles over 100,000
words.
"""

import math
import time
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from book.experiments import Experiment
from solutions.ch11_efficiency import tiled_attention

HEAD_DIM, BLOCK = 64, 64
LENGTHS = (1_000, 2_000, 4_000, 8_000, 16_000, 100_000)


def untiled(query, key, value):
    """Compute attention as chapter 4 does, with the table of all scores.

    Args:
        query, key, value: (length, head_dim).
    """
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (query_len, key_len)
    return scores.softmax(dim=-1) @ value


def tiled(query, key, value, block_size=BLOCK):
    """Compute attention in tiles, and return only the output."""
    return tiled_attention(query, key, value, block_size)[0]


class LargestTensor(TorchDispatchMode):
    """Sees each tensor that is made, and remembers the shape of the largest floating one, and how
    many bytes of new tensors there were at once, at most.

    A view shares the memory of what it was made of, so it is not new.
    """

    def __init__(self):
        super().__init__()
        self.shape, self.bytes_now, self.most_bytes = (), 0, 0

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        before = {memory_of(each) for each in tensors_in((arguments, named))}
        for made in tensors_in(result):
            if memory_of(made) in before:
                continue
            self.hold(made.untyped_storage())
            if made.is_floating_point() and made.numel() > math.prod(self.shape or (0,)):
                self.shape = tuple(made.shape)
        return result

    def hold(self, memory):
        """Count the bytes of a new tensor until nobody needs it any more."""
        self.bytes_now += memory.nbytes()
        self.most_bytes = max(self.most_bytes, self.bytes_now)
        weakref.finalize(memory, self.release, memory.nbytes())

    def release(self, number):
        self.bytes_now -= number


def tensors_in(values):
    return [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]


def memory_of(tensor):
    return tensor.untyped_storage()._cdata


def counted(attend, query_len, key_len=None, head_dim=HEAD_DIM):
    """Count what attention would take, without computing it: on PyTorch's device "meta", tensors
    have shapes but no numbers.

    Returns:
        the shape of the largest tensor that it makes, and its floating-point operations.
    """
    query, key, value = (
        torch.empty(length, head_dim, device="meta")
        for length in (query_len, key_len or query_len, key_len or query_len)
    )
    with LargestTensor() as largest, FlopCounterMode(display=False) as counter:
        attend(query, key, value)
    return largest.shape, counter.get_total_flops()


def inputs(query_len, key_len=None, head_dim=HEAD_DIM, seed=0):
    """Draw queries, keys and values."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(length, head_dim, generator=generator)
        for length in (query_len, key_len or query_len, key_len or query_len)
    ]


def seconds(attend, *tensors, repeats=3):
    """Time attention by the clock of its own thread, which stops while other programs run, and
    return the shortest time.
    """
    took = []
    for _ in range(repeats):
        start = time.thread_time()
        attend(*tensors)
        took.append(time.thread_time() - start)
    return min(took)


def measure(steps, seeds):
    """Time attention in tiles at several lengths.

    Args:
        steps: how often each is timed, of which the shortest time counts; the longest text, which
            takes minutes, is timed once.

    Returns:
        list with one dict for each seed and length: `length` and `seconds`.
    """
    return [
        {
            "seed": seed,
            "length": length,
            "seconds": round(
                seconds(
                    tiled,
                    *inputs(length, seed=seed),
                    repeats=1 if length == LENGTHS[-1] else steps,
                ),
                4,
            ),
        }
        for seed in seeds
        for length in LENGTHS
    ]


EXPERIMENT = Experiment(
    page="ch11_efficiency",
    asks="how long does attention in tiles take over 100,000 words?",
    long={"steps": 5, "seeds": 3},
    measure=measure,
)
