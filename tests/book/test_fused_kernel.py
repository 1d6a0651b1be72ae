"""The kernels in Triton on the page of chapter 10, run by a stand-in: no GPU, and no Triton, is here."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest


class Tensor:
    """What a kernel gets for a tensor: an address, to which places are added."""

    def __init__(self, numbers):
        self.numbers, self.shape = numbers.flatten(), numbers.shape
        self.moved = 0

    def numel(self):
        return self.numbers.size

    def __add__(self, index):
        return self, index


class Kernel:
    """A function that runs once for each block."""

    def __init__(self, function, language):
        self.function, self.language = function, language

    def __getitem__(self, blocks):
        def launch(*args, **options):
            for block in range(*blocks):
                self.language.program_id = lambda axis, block=block: block
                self.function(*args, **options)

        return launch


def load(address, mask, other=np.nan):
    tensor, index = address
    assert index[mask].max() < tensor.numel()
    tensor.moved += mask.sum()
    return np.where(mask, tensor.numbers[np.where(mask, index, 0)], other)


def store(address, values, mask):
    tensor, index = address
    tensor.moved += mask.sum()
    tensor.numbers[index[mask]] = values[mask]


@pytest.fixture
def stand_in(monkeypatch):
    language = types.ModuleType("triton.language")
    language.load, language.store, language.constexpr = load, store, int
    language.arange, language.maximum = np.arange, np.maximum
    language.exp, language.max, language.sum = np.exp, np.max, np.sum
    triton = types.ModuleType("triton")
    triton.jit = lambda function: Kernel(function, language)
    triton.cdiv = lambda count, size: -(-count // size)
    triton.next_power_of_2 = lambda count: 1 << (count - 1).bit_length()
    triton.language = language
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", language)


def listings():
    """Return the page's two kernels with their launches: the second leans on the first's imports."""
    page = Path("book/ch10_gpu.md").read_text(encoding="utf-8")
    pattern = r"~~~python\n((?:import triton\n|@triton.jit\n).*?)~~~"
    first, second = re.findall(pattern, page, flags=re.DOTALL)
    imports = "".join(line for line in first.splitlines(True) if line.startswith("import"))
    return first, imports + second


@pytest.mark.parametrize("shape", [(37, 50), (32, 64), (1, 3)])
def test_the_kernel_of_the_page_does_all_in_one_pass(stand_in, shape):
    code, _ = listings()
    rng = np.random.default_rng(0)
    x, residual = rng.normal(size=(2, *shape))
    bias = rng.normal(size=shape[-1])
    given = {name: Tensor(each) for name, each in (("x", x), ("bias", bias))}
    given |= {"residual": Tensor(residual), "result": Tensor(np.full(shape, np.nan))}
    exec(code, dict(given))
    expected = np.maximum(x + bias, 0) + residual
    assert np.allclose(given["result"].numbers.reshape(shape), expected)
    assert all(given[name].moved == x.size for name in ("x", "residual", "result"))


@pytest.mark.parametrize("shape", [(37, 50), (32, 64), (1, 3), (5, 1)])
def test_the_softmax_of_the_page_reads_and_writes_each_row_once(stand_in, shape):
    _, code = listings()
    numbers = 1000 * np.random.default_rng(0).normal(size=shape)  # exp of the largest overflows
    given = {"scores": Tensor(numbers), "result": Tensor(np.full(shape, np.nan))}
    exec(code, dict(given))
    expected = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.allclose(given["result"].numbers.reshape(shape), expected)
    assert given["scores"].moved == given["result"].moved == numbers.size
