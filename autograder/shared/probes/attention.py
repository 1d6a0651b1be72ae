"""Probes of attention that must not cost too much: what it makes on its way, and how it treats a
cache.
"""

import contextlib
import ctypes
import mmap

import numpy as np

from autograder.shared.probes.calls import Unfit
from autograder.shared.probes.stand_ins import fixed_weights
from autograder.shared.wire import Opaque, is_tensor
from autograder.shared.wording import describe

SLACK = 1.5  # so many times the operations that are needed; computing scores twice takes more
# Bytes: address space is taken in pieces, and so much of it is left. A table of 3000 x 3000 scores
# takes 34 MiB even in float32; a block of 3000 x 64 in float64 takes 1.5.
PIECE, LEFT = 2**21, 24 * 2**20
# glibc's malloc: what is at least so large, in bytes, gets a mapping of its own, and gives it back.
# On the heap, small results that are kept would lie between large ones, which then leave holes.
MAPPED_FROM, USUALLY_MAPPED_FROM = 2**14, 2**17
M_MMAP_THRESHOLD = -3
LITTLE = 2**20  # bytes of arrays that a function may have kept from before, whatever is asked


def returned_in_tiles(implementation, inputs, **limits):
    """Note what an attention in tiles returns that must not make a large tensor, nor compute a
    score twice.

    Args:
        limits: further ones; see `autograder.shared.probes.tensors_made.NoLargeTensor`.
    """
    from autograder.shared.probes.tensors_made import NoLargeTensor

    query, _, value, block_size, *_ = inputs.values()
    (query_len, d_k), (key_len, d_v) = query.shape, value.shape
    rows, columns = (-(-length // block_size) * block_size for length in (query_len, key_len))
    watch = NoLargeTensor(
        most_numbers=max(query_len, block_size) * max(block_size, d_k, d_v),
        most_operations=int(SLACK * 2 * rows * columns * (d_k + d_v)),
        **limits,
    )
    with watch:
        result = implementation(*inputs.values())
    watch.end()
    return {"result": result}


def returned_in_little_memory(implementation, inputs):
    """As `returned_in_tiles`, where there is too little memory for a table of all scores: what
    keeps it away is the system, wherever it limits what a process may hold. Nor may there be room
    for it in arrays that the function made before it was called, or be computed out of sight.
    """
    import torch
    import torch._dynamo  # a process's first mode imports it; now there is room

    from autograder.shared.probes.tensors_made import bytes_within_reach

    scores = len(inputs["query"]) * len(inputs["key"])
    little = max(scores, LITTLE)
    if (held := bytes_within_reach(implementation)) >= little:
        raise Unfit(
            f"has arrays of {held:,} bytes within reach that were there before its call; all"
            f" {scores:,} scores could lie there"
        )

    # the first product of matrices takes room that stays taken
    rows = torch.ones(256, 2, dtype=torch.float64)
    (rows @ rows.T).exp_().softmax(-1), rows.numpy() @ rows.numpy().T
    limits = {"most_written": little, "least_numbers": scores}
    with contextlib.suppress(MemoryError, RuntimeError), little_memory():
        return returned_in_tiles(implementation, inputs, **limits)
    with little_memory(), without_holes():  # slower; with them, memory may end too soon
        return returned_in_tiles(implementation, inputs, **limits)


@contextlib.contextmanager
def little_memory():
    """Take the address space that a limited process has left, but for a part."""
    taken = []
    if is_limited():
        with contextlib.suppress(OSError, MemoryError, ValueError):
            while True:
                taken.append(mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ))
    for _ in range(min(len(taken), LEFT // PIECE)):
        taken.pop().close()
    try:
        yield
    finally:
        for each in taken:
            each.close()


@contextlib.contextmanager
def without_holes():
    """Let large blocks of memory be mapped one by one, so that what is kept between them leaves no
    holes in the heap, into which none of them fits.
    """
    map_from(MAPPED_FROM)
    try:
        yield
    finally:
        map_from(USUALLY_MAPPED_FROM)


def map_from(size):
    """Have malloc map what is at least so large; where there is no glibc, do nothing."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, size)


def is_limited():
    """Return whether there is a limit to the address space of this process."""
    try:
        import resource
    except ImportError:  # not a Unix
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def merged_in_turn(implementation, inputs):
    """Note what several descriptions of sets of keys make, merged one after the other, beginning
    with that of no key at all; from the left or from the right, as the inputs' part `order` says.
    """
    left, right = inputs["forward"].values()
    sets = [left, right, *inputs["more"]]
    maximum, total, average = left
    so_far = np.full_like(maximum, -np.inf), np.zeros_like(total), np.zeros_like(average)
    from_the_left = inputs["order"] == "from the left"
    for each in sets if from_the_left else reversed(sets):
        so_far = implementation(so_far, each) if from_the_left else implementation(each, so_far)
        if not isinstance(so_far, tuple | list) or len(so_far) != 3:
            raise Unfit(f"returns {describe(so_far)}, not (maximum, total, average)")
    names = ("maximum", "total", "average")
    return {
        "noted": {
            f"the {name} of all sets together": value
            for name, value in zip(names, so_far, strict=True)
        }
    }


def returned_with_cache(implementation, inputs):
    """Note the output, and the keys and values of the cache that is returned with it."""
    output, (keys, values) = cached(implementation(*inputs.values()))
    return {"result": (output, keys, values)}


def attended_in_chunks(implementation, inputs):
    """Note the output for words that come in chunks, each with the cache that the one before has
    left; the last cache beside it.
    """
    outputs, (keys, values) = in_chunks(implementation, inputs)
    return {
        "noted": {
            "the output for all chunks together": joined(outputs),
            "the last cache's keys": keys,
            "the last cache's values": values,
        }
    }


def continued_again(implementation, inputs):
    """Note what becomes of a cache that is continued in two ways, as beam search does, and of the
    first of them when it goes on after the second one.
    """
    first, one, other, rest = chunks_of(inputs)
    _, begun = cached(implementation(*first, None))
    outputs = {}
    outputs["the output of one continuation of a cache"], once = cached(implementation(*one, begun))
    outputs["the output of another continuation of the same cache"], _ = cached(
        implementation(*other, begun)
    )
    outputs["the output where the first of them goes on"], _ = cached(implementation(*rest, once))
    return {"noted": outputs}


def gradients_through_cache(implementation, inputs):
    """Note the gradients of the last chunk's output, which reach earlier words through the cache
    alone.
    """
    import torch

    forward = inputs["forward"]
    leaves = {name: forward[name].requires_grad_() for name in ("query", "key", "value")}
    outputs, _ = in_chunks(implementation, inputs)
    last = outputs[-1]
    if not last.requires_grad:
        return {"noted": dict.fromkeys(leaves, Opaque("missing: the output has no history"))}
    total = (last * fixed_weights(last)).sum()
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    missing = Opaque("missing: the output does not depend on it")
    return {
        "noted": {
            f"the gradient with respect to {name}": missing if each is None else each
            for name, each in zip(leaves, found, strict=True)
        }
    }


def in_chunks(implementation, inputs):
    """Return the outputs of all chunks, and the last cache."""
    outputs, cache = [], inputs["forward"].get("cache")
    for chunk in chunks_of(inputs):
        output, cache = cached(implementation(*chunk, cache))
        outputs.append(output)
    return outputs, cache


def chunks_of(inputs):
    """Return query, key and value of each chunk; the inputs' part `cuts` has their lengths."""
    forward = inputs["forward"]
    parts = (forward[name].split(inputs["cuts"], dim=2) for name in ("query", "key", "value"))
    return list(zip(*parts, strict=True))


def joined(outputs):
    import torch

    if len({(each.dtype, each.shape[:2], each.shape[3:]) for each in outputs}) > 1:
        shapes = " and ".join(str(tuple(each.shape)) for each in outputs)
        raise Unfit(f"returns outputs of the shapes {shapes} for chunks of one sequence")
    return torch.cat(outputs, dim=2)


def cached(result):
    """Return what is a pair of an output with four axes and of a cache, a pair itself.

    Raises:
        Unfit: if it is none.
    """
    match result:
        case [output, [keys, values]] if all(
            is_tensor(each) and each.ndim == 4 for each in (output, keys, values)
        ):
            return output, (keys, values)
        case [output, cache] if is_tensor(output):
            told = f"an output of shape {tuple(output.shape)} and, as the cache, {describe(cache)}"
        case _:
            told = describe(result)
    raise Unfit(
        f"returns {told}; it should return (output, (keys, values)), tensors with four axes each"
    )
