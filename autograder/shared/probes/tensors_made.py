"""Sees each tensor that a function makes, how much is multiplied for it, and which arrays were
there before it was called.
"""

import builtins
import contextlib
import dis
import math
import sys
from gc import get_referents
from types import CodeType, FunctionType, ModuleType

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from autograder.shared.probes.calls import Unfit
from autograder.shared.probes.frozen import FrozenType, freeze

# products of matrices, and which of their arguments are the two matrices
PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "mv": (0, 1)}
MOST_OBJECTS = 100_000  # within reach of a function; an honest one has a few hundred


class NoLargeTensor(TorchDispatchMode, metaclass=FrozenType):
    """Refuses a new floating tensor that holds too many numbers, and more multiplications than
    were asked for.

    A view shares the memory of what it was made of, so it is not new. A product is refused before
    it is computed: it may be larger than the memory. Who catches the refusal is refused at the end.

    Args:
        most_numbers: of one floating tensor.
        most_operations: of all products of matrices together, at 2 for each multiplication.
        most_written: bytes of the memory that it may write into and has not made itself.
        least_numbers: that it makes in all, of floating ones: a function which makes fewer, in
            sight, computes elsewhere.
    """

    def __init__(self, most_numbers, most_operations, most_written=math.inf, least_numbers=0):
        super().__init__()
        self.most_numbers, self.most_operations = most_numbers, most_operations
        self.most_written, self.least_numbers = most_written, least_numbers
        self.operations, self.numbers, self.refused = 0, 0, None
        self.made, self.written = set(), {}  # places in memory; their bytes

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        if (places := PRODUCTS.get(function.overloadpacket.__name__)) is not None:
            self.see_product(*(arguments[place] for place in places))
        result = function(*arguments, **named)
        # most are single ones, and small: a learner's tiles are thousands
        results = (result,) if isinstance(result, torch.Tensor) else tensors_in(result)
        before = {memory_of(each) for each in tensors_in((arguments, named))}
        for each in results:
            if each.is_floating_point():
                self.see_tensor(each, before, function.is_view)
        if function._schema.is_mutable:
            for each in results or tensors_in((arguments, named)):
                self.see_written(each)
        return result

    def see_tensor(self, tensor, before, is_view):
        """See a floating tensor that was made, or changed, where these places in memory were."""
        if memory_of(tensor) not in before:
            self.made.add(memory_of(tensor))
            if tensor.numel() > self.most_numbers:
                self.see(tuple(tensor.shape))
        if not is_view:
            self.numbers += tensor.numel()

    def see_written(self, tensor):
        """See a tensor that was written into."""
        if memory_of(tensor) not in self.made:
            self.written[memory_of(tensor)] = tensor.untyped_storage().nbytes()
        if (written := sum(self.written.values())) > self.most_written:
            self.refuse(
                f"writes into tensors of {written:,} bytes that it has not made in this call; all"
                " scores could lie there"
            )

    def end(self):
        """Raise what was refused, caught or not, and whether too little was to be seen."""
        if self.refused:
            raise Unfit(self.refused)
        if self.numbers < self.least_numbers:
            raise Unfit(
                f"is asked for {self.least_numbers:,} scores, and makes only {self.numbers:,}"
                " numbers in tensors of PyTorch; what it computes elsewhere, in NumPy for example,"
                " nobody can follow here. Compute all of it with the tensors"
            )

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


def bytes_within_reach(function):
    """Return how many bytes the arrays and tensors hold that a function finds without being given
    them: by what its code names, in its defaults or its closure, or in whatever lies in those.
    """
    waiting, seen, held = [(function, frozenset())], {}, {}
    while waiting:
        value, names = waiting.pop()
        if (id(value), names) not in seen:
            seen[id(value), names] = value  # which keeps its id from being another's
            held.update(memory_held(value))
            waiting += ((part, names_of(value, names)) for part in parts_of(value, names))
        if len(seen) > MOST_OBJECTS:
            raise Unfit(f"reaches more than {MOST_OBJECTS:,} objects from before its call")
    return sum(held.values())


def names_of(value, names):
    """Return the names by which code has what it finds in a value: its own, if that is code."""
    return names_in(value.__code__)[1] if issubclass(type(value), FunctionType) else names


def parts_of(value, names):
    """Return what code that has a value can have of it, by these names of attributes."""
    kind = type(value)  # and no isinstance, which would ask the value
    if issubclass(kind, FunctionType):
        parts = [value.__defaults__, value.__kwdefaults__, value.__closure__, value.__dict__]
        if not is_of_a_library(value):
            loaded, _ = names_in(value.__code__)
            for scope in (value.__globals__, vars(builtins)):
                parts += (scope[name] for name in loaded & scope.keys())
        return parts
    if issubclass(kind, ModuleType | type):
        lines = type.__dict__["__mro__"].__get__(value) if issubclass(kind, type) else [value]
        own = {name: each for line in reversed(lines) for name, each in vars(line).items()}
        parts = [own[name] for name in names & own.keys()]
        if issubclass(kind, type):  # a call of one of its objects names no method
            parts += (each for each in own.values() if type(each) is FunctionType)
        return [each for each in parts if not is_of_a_library(each)]
    if issubclass(kind, np.ndarray):
        objects = np.ndarray.tolist(value) if np.ndarray.dtype.__get__(value).hasobject else None
        return [np.ndarray.base.__get__(value), objects, getattr(value, "__dict__", None)]
    return [value.obj] if kind is memoryview else get_referents(value)


def names_in(code):
    """Return the global names that code loads, and all that it names, attributes and texts
    included; with those of the functions that are defined in it.
    """
    steps = dis.get_instructions(code)
    loaded = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = [names_in(each) for each in code.co_consts if isinstance(each, CodeType)]
    return (
        frozenset(loaded.union(*(each for each, _ in inner))),
        frozenset(code.co_names).union(
            (each for each in code.co_consts if type(each) is str), *(each for _, each in inner)
        ),
    )


def is_of_a_library(value):
    """Return whether this is a function of an imported module, and not of a notebook."""
    if type(value) is not FunctionType:
        return False
    name = value.__globals__.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) and name != "__main__" else None
    return module is not None and vars(module) is value.__globals__


def memory_held(value):
    """Return the bytes that a value holds for code to write in, by what tells them from others';
    those of a view are its base's.
    """
    kind = type(value)
    with contextlib.suppress(Exception):  # most have no buffer, and some tensors no storage
        if issubclass(kind, torch.Tensor):
            storage = value.untyped_storage()
            return {("tensor", storage.data_ptr()): storage.nbytes()}
        if issubclass(kind, np.ndarray):
            own = np.ndarray.base.__get__(value) is None
            return {id(value): np.ndarray.nbytes.__get__(value)} if own else {}
        if kind is not memoryview:
            return {id(value): memoryview(value).nbytes}
    return {}


freeze(__name__)
