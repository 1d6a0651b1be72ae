"""Inputs that are described where a case is declared, and drawn when it is prepared.

`normal(3)` describes three numbers; `normal(rng, 3)` draws them. So a case reads like a call of the
function it asks about, and a function that draws several inputs that depend on each other uses the
same names.
"""

from functools import wraps

import numpy as np


class Drawn:
    """A value to be drawn: called with a generator, it is drawn.

    Arithmetic with a number carries over to what is drawn: `1000 + normal(3)`.
    """

    __array_ufunc__ = None  # NumPy's numbers leave arithmetic with a description to it

    def __init__(self, draw):
        self.draw = draw

    def __call__(self, rng):
        return self.draw(rng)

    def then(self, change):
        """Describe what `change` makes of the value drawn."""
        return Drawn(lambda rng: change(self.draw(rng)))

    def but(self, **changes):
        """Describe the same arguments, of which those named become another value, or what a
        function makes of theirs: `sentence(3).but(bias=np.zeros_like)`.
        """

        def changed(arguments):
            new = {
                name: change(arguments[name]) if callable(change) else change
                for name, change in changes.items()
            }
            return {**arguments, **new}

        return self.then(changed)

    def __add__(self, number):
        return self.then(lambda value: value + number)

    def __sub__(self, number):
        return self.then(lambda value: value - number)

    def __mul__(self, number):
        return self.then(lambda value: value * number)

    __radd__, __rmul__ = __add__, __mul__


def drawn(function):
    """Let a function `f(rng, ...)` be called without its generator, to describe what it draws."""

    @wraps(function)
    def draw_or_describe(*arguments, **named):
        if arguments and isinstance(arguments[0], np.random.Generator):
            return function(*arguments, **named)
        return Drawn(lambda rng: function(rng, *arguments, **named))

    return draw_or_describe


def draw(value, rng):
    """Draw all descriptions within a value, in order."""
    match value:
        case Drawn():
            return value(rng)
        case dict():
            return {key: draw(each, rng) for key, each in value.items()}
        case list():
            return [draw(each, rng) for each in value]
        case tuple() if type(value) is tuple:  # not a torch.Size
            return tuple(draw(each, rng) for each in value)
        case _:
            return value


@drawn
def integer(rng, low, high):
    """Draw an int from `low` up to `high`, which is left out."""
    return int(rng.integers(low, high))


@drawn
def sizeable(rng, *shape, tenths=(2, 11), scale=1.0, dtype=np.float64):
    """Draw numbers of either sign and so many tenths in size, the last left out, times `scale`:
    none so small that it could go unseen.
    """
    numbers = rng.integers(*tenths, size=shape) * rng.choice([-1, 1], size=shape)
    return (numbers / 10 * scale).round(3).astype(dtype)
