"""What probes look up while they run stays as it was written, whatever a learner's code assigns.

This stops an assignment, also by `setattr`. Whoever goes around it has to name what they do, such
as `__dict__`, and that is remarked.
"""

import sys
from types import ModuleType


class FrozenModule(ModuleType):
    """A module whose names keep what they stand for; only modules within it may be added."""

    def __setattr__(self, name, value):
        own = sys.modules.get(f"{self.__name__}.{name}")
        if own is None or value is not own:
            refuse(self)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        refuse(self)


class FrozenType(type):
    """The type of classes whose attributes stay as they are once their module is frozen."""

    def __setattr__(cls, name, value):
        if isinstance(sys.modules.get(cls.__module__), FrozenModule):
            refuse(cls)
        super().__setattr__(name, value)

    def __delattr__(cls, name):
        refuse(cls)


def refuse(changed):
    raise AttributeError(f"{changed.__name__} is part of the checks, and cannot be changed")


def freeze(package):
    """Let a module, and all that lie in it, stay as they are."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            module.__class__ = FrozenModule
