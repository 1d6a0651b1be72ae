"""An exercise's questions with their numbers: what a grader asks and a learner's `check` reads,
without any implementation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from autograder.shared.wire import encode


@dataclass(frozen=True)
class PreparedCase:
    """One question with its numbers.

    Args:
        inputs: the arguments by name, as plain values.
        expected: what the probe observes of the reference.
        exact: whether its form counts, too: dtype, all axes, float64's precision.
        lookalike: called with a misconception's index, gives what the probe observes of it.
    """

    title: str
    probe: str
    inputs: dict
    expected: dict
    lookalike: Callable[[int], dict] = field(compare=False)
    properties: tuple
    visible: bool
    weight: int
    exact: bool = False

    @cached_property
    def question(self):
        """The inputs as text, written once for all who are asked."""
        return encode(self.inputs)


@dataclass(frozen=True)
class PreparedExercise:
    """An exercise's cases with their numbers, and what its misconceptions are called and hint at:
    data, without any implementation. Its shortcuts are names of library functions that do what it
    asks to write.
    """

    name: str
    returns: tuple[str, ...]
    hints: tuple[str, ...]
    cases: tuple[PreparedCase, ...]
    beliefs: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()
