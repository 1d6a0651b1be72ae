"""Implementations as people write them who have never seen this course: right but for a slip, or
plain where the finer points are asked for. Each says which share of its points it should keep.

    @keeps(0.9, "it differs in precision alone")
    class Transformer(reference.Transformer): ...

The name is the exercise's. One that keeps too little has found checks that are out of proportion.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stranger:
    """An implementation, the range of shares that is fair, from 0 to 1, and why."""

    implementation: object
    least: float
    most: float
    reason: str

    @property
    def exercise(self):
        return self.implementation.__name__


STRANGERS = []


def keeps(least, reason, most=1.0, of=None):
    """Declare that an implementation should keep at least, and at most, such a share; `of` names
    the exercise where the implementation does not.
    """

    def declare(implementation):
        implementation.__name__ = of or implementation.__name__
        STRANGERS.append(Stranger(implementation, least, most, reason))
        return implementation

    return declare
