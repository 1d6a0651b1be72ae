"""Tensors that know on which device they would be, on a machine that has no such device, and others
that lose their numbers where they should not be.

This module imports torch, which takes a second: import it where it is used.
"""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from autograder.shared.probes.frozen import FrozenType, freeze
from autograder.shared.wire import is_tensor

# Their result lies where the first operand does.
OF_THE_FIRST = ("__getitem__", "__setitem__", "copy_")
MOVING = ("to", "type_as")  # a tensor to where a device or another tensor is


class DeviceLabels(TorchFunctionMode, metaclass=FrozenType):
    """A context in which every tensor has a label that says on which device it would be, without
    being there.

    What is made without a device has the label "cpu"; what is computed has that of its operands,
    which must agree.
    """

    def __init__(self):
        super().__init__()
        self.known = {}  # id -> (tensor, label); while a tensor is kept, no other one gets its id

    def put(self, tensor, label):
        """Label a tensor."""
        self.known[id(tensor)] = (tensor, label)

    def of(self, tensor):
        """Return a tensor's label."""
        return self.known.get(id(tensor), (tensor, "cpu"))[1]

    def __torch_function__(self, function, types, arguments=(), named=None):
        named = dict(named or {})
        name = getattr(function, "__name__", "")
        if getattr(function, "__self__", None) is torch.Tensor.device:  # x.device
            return torch.device(self.of(arguments[0]))
        device = named.pop("device", None)
        if name in MOVING:
            device = next(self.devices_among(arguments[1:]), device)
            arguments = [each for each in arguments if not is_device(each)]
        elif name == "cpu":
            device = "cpu"
        if device is None:
            label = self.common(name, arguments, named)
        else:
            label = torch.device(device).type
        if name == "to" and len(arguments) + len(named) == 1:  # to another device, and no more
            return self.labelled(arguments[0], label)
        return self.labelled(function(*arguments, **named), label)

    def devices_among(self, arguments):
        """Yield the devices that arguments of `to` name, then those of tensors among them."""
        yield from filter(is_device, arguments)
        yield from (self.of(each) for each in arguments if is_tensor(each))

    def labelled(self, result, label):
        """Label the tensors of a result; return it, or a copy of a tensor that lies elsewhere."""
        for each in result if isinstance(result, tuple | list) else [result]:
            if is_tensor(each) and self.known.get(id(each), (each, label))[1] != label:
                result = each = each.clone()
            if is_tensor(each):
                self.put(each, label)
        return result

    def common(self, name, arguments, named):
        """Return the label of the operands.

        Raises:
            RuntimeError: if they disagree. Tensors without an axis go with any device, and so do
                indices.
        """
        tensors = list(tensors_in([arguments, list(named.values())]))
        if name in OF_THE_FIRST:
            tensors = tensors[:1]
        with_axes = [each for each in tensors if each.ndim]
        labels = list(dict.fromkeys(self.of(each) for each in with_axes or tensors))
        if not with_axes and len(labels) > 1:
            labels.remove("cpu")
        if len(labels) > 1:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found {' and '.join(labels)}"
            )
        return labels[0] if labels else "cpu"


class LostByDefault(TorchFunctionMode, metaclass=FrozenType):
    """A context in which torch's default device is another: what is made there without a device has
    a shape and no numbers, until it is moved. Tensors without an axis go with any device, and so
    keep theirs.
    """

    def __init__(self):
        super().__init__()
        self.kept = {}  # id -> (tensor without numbers, the same with them)
        self.lost = {}  # id of that with numbers -> that without

    def __torch_function__(self, function, types, arguments=(), named=None):
        named = named or {}
        if getattr(function, "__name__", "") in MOVING and self.is_moved(arguments, named):
            _, numbers = self.kept[id(arguments[0])]
            return function(numbers, *arguments[1:], **named)
        if function in _device_constructors() and named.get("device") is None:
            result = function(*arguments, **named)
            return self.without_numbers(result) if result.ndim else result
        if self.of_lost_ones(arguments, named):
            # Torch computes shapes alone with its compiler, which takes seconds to import.
            numbers = function(*self.found(arguments), **self.found(named))
            if numbers is None or any(True for _ in tensors_in(numbers)):
                return self.without_numbers(numbers)
        return function(*arguments, **named)

    def is_moved(self, arguments, named):
        """Return whether `to` or `type_as` takes a lost tensor to another device."""
        first, *others = arguments
        goals = [
            each.device if is_tensor(each) else torch.device(each)
            for each in (*others, *named.values())
            if is_tensor(each) or is_device(each)
        ]
        return id(first) in self.kept and any(goal.type != "meta" for goal in goals)

    def of_lost_ones(self, arguments, named):
        """Return whether there are lost tensors, and no others with an axis."""
        tensors = [each for each in tensors_in([arguments, list(named.values())]) if each.ndim]
        return bool(tensors) and all(id(each) in self.kept for each in tensors)

    def without_numbers(self, value):
        """Return a tensor as one that has lost its numbers, and keep them, so that it can be moved;
        of nested lists and tuples, all tensors in them.
        """
        if is_tensor(value):
            if id(value) not in self.lost:
                without = value.to("meta")
                self.lost[id(value)] = without
                self.kept[id(without)] = (without, value)
            return self.lost[id(value)]
        if isinstance(value, tuple | list):
            return type(value)([self.without_numbers(each) for each in value])
        return value

    def found(self, value):
        """Return nested lists, tuples and dicts with the numbers of the lost tensors in them."""
        if isinstance(value, dict):
            return {name: self.found(each) for name, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(self.found, value))
        return self.kept[id(value)][1] if id(value) in self.kept else value


def is_device(value):
    """Return whether an argument names a device."""
    return isinstance(value, str | torch.device)


def tensors_in(value):
    """Yield the tensors in nested lists and tuples."""
    if is_tensor(value):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_in(item)


freeze(__name__)
