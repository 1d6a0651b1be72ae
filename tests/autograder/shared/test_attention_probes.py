"""The probes of chapter 11 see what an attention makes on its way, also where somebody looks away;
and what becomes of a cache.
"""

import builtins
import contextlib
import math
import resource
import subprocess
import sys

import numpy as np
import pytest
import torch

from autograder.authoring.loading import load_exercises
from autograder.shared.probes import observe, scaling, tensors_made
from autograder.shared.probes.attention import LEFT, little_memory
from autograder.shared.probes.calls import Unfit
from autograder.shared.probes.tensors_made import bytes_within_reach
from solutions.ch11_efficiency import cached_attention, merge, tiled_attention

IN_TILES = "blocks of the same size"
ONCE = "each score is computed once"
PLACE = "autograder.shared.probes."
NO_ROOM = "there is no room for the table of all scores"


def asked(exercise, title):
    cases = load_exercises("ch11_efficiency")[exercise].prepare(b"any").cases
    [case] = [each for each in cases if each.title == title]
    return case.probe, case.inputs


def told(implementation, title):
    probe, inputs = asked("tiled_attention", title)
    return observe(probe, implementation, inputs)


def with_the_table(query, key, value, block_size, causal=False):
    scores = query @ key.T / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


def test_a_table_of_all_scores_is_refused_before_it_is_made():
    assert "makes a floating tensor of shape (3000, 3000)" in told(with_the_table, NO_ROOM)["unfit"]


def test_what_the_probes_look_up_cannot_be_replaced():
    """By no assignment, that is, and with no new name that hides one of Python's."""
    modules = [each for name, each in sys.modules.items() if name.startswith(PLACE)]
    assert len(modules) > 10 and tensors_made in modules
    for module in modules:
        for name in [*vars(module), "max", "__class__", "new"]:
            with pytest.raises(AttributeError, match="part of the checks"):
                setattr(module, name, contextlib.nullcontext)
        with pytest.raises(AttributeError, match="part of the checks"):
            delattr(module, "__name__")
    for each in (tensors_made.NoLargeTensor, scaling.OneAtATime, scaling.Saved, scaling.Passed):
        with pytest.raises(AttributeError, match="part of the checks"):
            each.__init__ = lambda *arguments, **named: None
    assert "makes a floating tensor" in told(with_the_table, IN_TILES)["unfit"]


def test_a_refusal_can_be_caught_and_still_counts():
    def catching(*arguments):
        try:
            return with_the_table(*arguments)
        except Exception:
            return tiled_attention(*arguments)

    assert "(4, 12)" in told(catching, IN_TILES)["unfit"]


def test_a_tensor_is_large_however_it_was_made():
    def expanded(query, key, value, block_size, causal=False):
        products = query[:, None, :] * key  # (query_len, key_len, d_k)
        scores = products.sum(-1) / query.shape[-1] ** 0.5
        return scores.softmax(-1) @ value, scores.logsumexp(-1)

    def preallocated(*arguments):
        torch.empty(len(arguments[0]), len(arguments[1]))
        return tiled_attention(*arguments)

    def by_einsum(query, key, value, block_size, causal=False):
        scores = torch.einsum("qd,kd->qk", query, key) / query.shape[-1] ** 0.5
        return scores.softmax(-1) @ value, scores.logsumexp(-1)

    for large in (expanded, preallocated, by_einsum):
        assert "makes a floating tensor" in told(large, IN_TILES)["unfit"]


def test_views_and_masks_are_not_counted():
    def with_views(query, key, value, block_size, causal=False):
        query.expand(50, *query.shape), key.mT, key.view(-1)
        torch.ones(len(query), len(key), dtype=torch.bool)
        return tiled_attention(query, key, value, block_size, causal)

    assert "result" in told(with_views, IN_TILES)


def test_scores_that_are_computed_twice_are_seen():
    def twice(query, key, value, block_size, causal=False):
        for keys in key.split(block_size):
            query @ keys.mT
        return tiled_attention(query, key, value, block_size, causal)

    assert "multiplies more" in told(twice, ONCE)["unfit"]
    assert "result" in told(tiled_attention, ONCE)


UNSEEN = """
import resource, sys
import numpy as np
import torch
torch.set_num_threads(1)
from torch.utils._python_dispatch import _disable_current_modes
from autograder.shared.probes import observe
from solutions.ch11_efficiency import tiled_attention

def looked_away(query, key, value, block_size, causal=False):
    with _disable_current_modes():
        scores = (query @ key.T).div_(query.shape[-1] ** 0.5)
        return scores.softmax(-1) @ value, scores.logsumexp(-1)

def in_numpy(query, key, value, block_size, causal=False):
    query, key, value = (each.numpy().astype(np.float32) for each in (query, key, value))
    scores = query @ key.T
    scores /= query.shape[-1] ** 0.5
    most = scores.max(-1, keepdims=True)
    scores -= most
    np.exp(scores, out=scores)
    total = scores.sum(-1, keepdims=True)
    return torch.from_numpy(scores @ value / total), torch.from_numpy(np.log(total) + most)[:, 0]

drawn = torch.randn(3, 3000, 2, dtype=torch.float64)
inputs = dict(query=drawn[0], key=drawn[1], value=drawn[2], block_size=64)
tiled_attention(**inputs)
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
most = mapped + 2**30
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for implementation in (tiled_attention, looked_away, in_numpy, tiled_attention):
    seen = observe("returned_in_little_memory", implementation, dict(inputs))
    print("result" in seen, seen.get("raised", {}).get("message", "")[:200])
"""


def test_where_the_system_limits_memory_nobody_can_look_away():
    ran = subprocess.run([sys.executable, "-c", UNSEEN], capture_output=True, text=True)
    first, away, elsewhere, last = ran.stdout.splitlines() or pytest.fail(ran.stderr)
    assert first.startswith("True") and last.startswith("True")
    assert away.startswith("False") and "memory" in away
    assert elsewhere.startswith("False") and "allocate" in elsewhere


ROOM = "room = np.empty((1000, 2250), dtype=np.float32)\n"  # as many bytes as there are scores
MADE_BEFORE = {
    "by a name": "def attend(*given): return room",
    "in a function that it calls": "def helper(): return room\ndef attend(*given): return helper()",
    "in a function within it": "def attend(*given):\n    def helper(): return room\n    return helper()",
    "as a default": "def attend(*given, kept=room): return kept",
    "in a closure": "def made(kept):\n    return lambda *given: kept\nattend = made(room)",
    "as an attribute": "def attend(*given): return attend.kept\nattend.kept = room",
    "in a module": "torch.kept = room\ndef attend(*given): return torch.kept",
    "in a class": "class Kept: here = [room]\ndef attend(*given): return Kept.here",
    "by an object that is called": "class Kept:\n    def __call__(self, *given): return room\n"
    "attend = Kept()",
    "by a generator": "def kept(mine):\n    while True: yield mine\nkept = kept(room)\n"
    "next(kept)\nattend = lambda *given: next(kept)",
    "by a partial": "from functools import partial\nattend = partial(lambda kept, *given: kept, room)",
    "in a view": "few = room[:1]\ndef attend(*given): return few.base",
    "in PyTorch": "kept = torch.empty(9_000_000, dtype=torch.uint8)\n"
    "def attend(*given): return kept",
    "row by row": "kept = [row.copy() for row in room]\ndef attend(*given): return kept",
    "as bytes": "kept = bytearray(room.nbytes)\ndef attend(*given): return kept",
    "as dates": "kept = np.empty(1_125_000, dtype='M8[s]')\ndef attend(*given): return kept",
    "in a builtin": "import builtins\nbuiltins.kept = room\ndef attend(*given): return kept",
    "in an array of objects": "kept = np.empty(1, dtype=object)\nkept[0] = room\n"
    "def attend(*given): return kept[0]",
    "in an array of one's own kind": "class Mine(np.ndarray): pass\nkept = np.zeros(1).view(Mine)\n"
    "kept.room = room\ndef attend(*given): return kept.room",
    "in a class that is inherited": "class Kept: here = [room]\nclass Below(Kept): pass\n"
    "def attend(*given): return Below.here",
    "by a text": "class Kept: here = [room]\ndef attend(*given): return getattr(Kept, 'here')",
}


@pytest.mark.parametrize("where", MADE_BEFORE)
def test_a_table_that_was_made_before_the_call_is_found(where):
    notebook = {"np": np, "torch": torch, "__name__": "__main__"}
    exec(ROOM + MADE_BEFORE[where], notebook)
    try:
        assert bytes_within_reach(notebook["attend"]) >= 9_000_000
        probe, inputs = asked("tiled_attention", NO_ROOM)
        seen = observe(probe, notebook["attend"], inputs)
        assert "bytes within reach that were there before its call" in seen["unfit"]
    finally:
        for module in (torch, builtins):
            vars(module).pop("kept", None)


# Where no look from outside finds it: an object of C++ that holds a tensor.
HIDDEN = torch.futures.Future()


def by_rows(query, key, value, rows_of_scores):
    """Attend with rows of scores that lie somewhere, written into in place."""
    for start in range(0, len(query), 64):
        rows = rows_of_scores[start : start + 64, : len(key)]
        rows = rows[: len(query) - start]
        torch.mm(query[start : start + 64], key.mT, out=rows)
        rows.div_(query.shape[-1] ** 0.5).exp_()
    total = rows_of_scores.sum(-1, keepdim=True)
    return rows_of_scores @ value / total, total.log()[:, 0]


def test_a_table_that_no_look_finds_is_seen_when_it_is_written_into():
    HIDDEN.set_result(torch.empty(3000, 3000, dtype=torch.float64))

    def attend(query, key, value, block_size, causal=False):
        return by_rows(query, key, value, HIDDEN.wait())

    assert "has not made in this call" in told(attend, NO_ROOM)["unfit"]
    assert bytes_within_reach(attend) < 1_000_000  # or the test asks for something else


def test_what_is_computed_elsewhere_is_not_followed():
    def in_numpy(query, key, value, block_size, causal=False):
        parts = []
        for some in query.numpy().reshape(-1, 50, query.shape[-1]):
            scores = some @ key.numpy().T / query.shape[-1] ** 0.5
            most = scores.max(-1, keepdims=True)
            shares = np.exp(scores - most)
            total = shares.sum(-1, keepdims=True)
            parts.append((shares @ value.numpy() / total, (most + np.log(total))[:, 0]))
        return tuple(torch.from_numpy(np.concatenate(each)) for each in zip(*parts, strict=True))

    said = told(in_numpy, NO_ROOM)["unfit"]
    assert "is asked for 9,000,000 scores" in said and "in NumPy for example" in said


def test_a_tensor_made_of_plain_numbers_may_be_written_into():
    def started(query, key, value, block_size, causal=False):
        total = torch.tensor([[0.0]] * len(query), dtype=query.dtype)
        total += torch.from_numpy(np.zeros((len(query), 1)))
        return tiled_attention(query, key, value, block_size, causal)

    assert "result" in told(started, NO_ROOM)


def test_what_a_notebook_holds_is_not_within_reach_of_code_that_does_not_name_it():
    notebook = {"np": np, "torch": torch, "math": math, "__name__": "__main__"}
    exec(
        ROOM + "values = masked = room\nSMALL = np.zeros(100_000)\n"
        "def attend(query, *given):\n"
        "    room = torch.nn.functional.softmax(query, dim=-1)\n"
        "    return torch.einsum('qd->q', room).max(-1).values, math.inf, SMALL",
        notebook,
    )
    assert bytes_within_reach(notebook["attend"]) == 800_000
    for each in (tiled_attention, torch.nn.functional.multi_head_attention_forward):
        assert bytes_within_reach(each) < 1_000_000


def test_without_end_nothing_is_looked_for():
    held = [[] for _ in range(100_001)]
    with pytest.raises(Unfit, match="more than 100,000 objects"):
        bytes_within_reach(lambda: held)


def test_without_a_limit_nothing_is_taken():
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY or LEFT
    with little_memory():
        torch.zeros(LEFT // 4)


def cache_seen(implementation, title):
    probe, inputs = asked("cached_attention", title)
    return observe(probe, implementation, inputs)


def test_what_is_no_cache_is_described():
    title = "words without a cache see what came before them"

    def without(*arguments):
        return cached_attention(*arguments)[0]

    def keys_alone(*arguments):
        output, (keys, _) = cached_attention(*arguments)
        return output, keys

    assert "should return (output, (keys, values))" in cache_seen(without, title)["unfit"]
    assert "as the cache" in cache_seen(keys_alone, title)["unfit"]
    assert "result" in cache_seen(cached_attention, title)


def test_a_cache_that_is_written_into_shows_when_it_is_continued_again():
    title = "a cache can be continued in two ways"
    right = cache_seen(cached_attention, title)["noted"]

    def into_the_cache(query, key, value, cache):
        result = cached_attention(query, key, value, cache)
        if cache is not None:
            cache[0].zero_()
        return result

    seen = cache_seen(into_the_cache, title)["noted"]
    apart = [name for name in right if (right[name].values != seen[name].values).any()]
    assert "the output of another continuation of the same cache" in apart
    assert "the output of one continuation of a cache" not in apart


def test_sets_are_merged_from_either_side():
    probe, inputs = asked("merge", "four sets from the last to the first")
    right = observe(probe, merge, inputs)["noted"]
    turned = observe(probe, merge, {**inputs, "order": "from the left"})["noted"]
    for name in right:
        assert abs(right[name] - turned[name]).max() < 1e-12

    name = "the total of all sets together"
    first = observe(probe, lambda left, right: left, inputs)["noted"][name]
    assert abs(first - right[name]).max() > 0
