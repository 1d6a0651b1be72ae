"""Sees each tensor that a function makes, and how much is multiplied for it."""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from autograder.shared.probes.calls import Unfit
from autograder.shared.probes.frozen import FrozenType, freeze

# products of matrices, and which of their arguments are the two matrices
PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "mv": (0, 1)}


class NoLargeTensor(TorchDispatchMode, metaclass=FrozenType):
    """Refuses a new floating tensor that holds too many numbers, and more multiplications than
    were asked for.

    A view shares the memory of what it was made of, so it is not new. A product is refused before
    it is computed: it may be larger than the memory. Who catches the refusal is refused at the end.

    Args:
        most_numbers: of one floating tensor.
        most_operations: of all products of matrices together, at 2 for each multiplication.
    """

    def __init__(self, most_numbers, most_operations):
        super().__init__()
        self.most_numbers, self.most_operations = most_numbers, most_operations
        self.operations, self.refused = 0, None

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        if (places := PRODUCTS.get(function.overloadpacket.__name__)) is not None:
            self.see_product(*(arguments[place] for place in places))
        result = function(*arguments, **named)
        # most are single ones, and small: a learner's tiles are thousands
        for made in (result,) if isinstance(result, torch.Tensor) else tensors_in(result):
            if made.numel() > self.most_numbers and made.is_floating_point():
                before = {memory_of(each) for each in tensors_in((arguments, named))}
                if memory_of(made) not in before:
                    self.see(tuple(made.shape))
        return result

    def see_product(self, one, other):
        shape = (*one.shape[:-1], *other.shape[one.ndim - 1 :])
        self.see(shape)
        self.operations += 2 * math.prod(shape) * one.shape[-1]
        if self.operations > self.most_operations:
            self.refuse(
                "multiplies more than it takes to compute each score once, and to weigh each value"
                f" once: more than {self.most_operations:,} operations"
            )

    def see(self, shape):
        if math.prod(shape) > self.most_numbers:
            self.refuse(
                f"makes a floating tensor of shape {shape} in the forward pass. That is"
                f" {math.prod(shape):,} numbers, and none may hold more than"
                f" {self.most_numbers:,} here"
            )

    def refuse(self, reason):
        self.refused = self.refused or reason
        raise Unfit(self.refused)


def tensors_in(values):
    return [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]


def memory_of(tensor):
    return tensor.untyped_storage()._cdata


freeze(__name__)
