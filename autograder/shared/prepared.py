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
        lookalike: called with a misconception's index, gives what the probe observes of it; called
            with one of the exercise's combinations, what it observes of an answer that has both.
    """

    title: str
    probe: str
    inputs: dict
    expected: dict
    lookalike: Callable[[int | tuple[int, int]], dict] = field(compare=False)
    properties: tuple
    visible: bool
    weight: int
    exact: bool = False
    # What misconceptions, or two at once, do in it, as far as anybody asked: to find that out takes
    # as long as to ask a learner. None for one that is right here.
    wrong_answers: dict = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def question(self):
        """The inputs as text, written once for all who are asked."""
        return encode(self.inputs)


@dataclass(frozen=True)
class PreparedExercise:
    """An exercise's cases with their numbers, and what its misconceptions are called and hint at:
    data, without any implementation. Its shortcuts are names of library functions that do what it
    asks to write.

    Its defaults are those of its arguments, by name: some cases leave these to the answer.

    Its combinations are pairs of misconceptions, by index, that one answer can have; the learner's
    side has none, because for each pair and case a notebook would have to carry an answer.
    """

    name: str
    returns: tuple[str, ...]
    hints: tuple[str, ...]
    cases: tuple[PreparedCase, ...]
    beliefs: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()
    combinations: tuple[tuple[int, int], ...] = ()
    defaults: dict = field(default_factory=dict)
