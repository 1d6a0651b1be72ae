"""How an author writes the checks of an exercise: each case, each wrong and each right answer in
one place, in `autograder/checks/chNN_x/<exercise>.py`.

    checks = Checks(reference.softmax, laws=(sums_to_one,))
    shown, hidden, wrong, right = checks.words

    shown("three scores become three weights", scores=normal(3), weight=2)
    hidden("an axis in the middle", scores=normal(3, 3, 3), axis=1)

    @wrong("dividing by the sum is enough", "What does the formula do to each score first?")
    def without_exponential(scores, axis=-1): ...

    @right
    def by_torch(scores, axis=-1): ...
"""

import inspect
from functools import cached_property, partial, wraps

from autograder.authoring.drawn import draw
from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.authoring.usual import USUAL, exchanging, instead_of, of_argument, of_result
from autograder.course import CourseError
from autograder.shared.laws import LAWS
from autograder.shared.probes import PROBES, returned


def subclass(base, made=None, **members):
    """Make a class like `base` but for some members, and for what `made(self)` changes in a new
    object.
    """
    if made:

        @wraps(base.__init__)
        def make(self, *arguments, **named):
            base.__init__(self, *arguments, **named)
            made(self)

        members["__init__"] = make
    return type(base.__name__, (base,), members)


def with_right(function, right):
    """Return a function of an exercise's arguments that calls another with `right` before them."""
    return wraps(right)(partial(function, right))


class Checks:
    """All that decides whether an exercise was solved.

    Args:
        reference: the right implementation; its name is the exercise's and the file's.
        laws: functions of `autograder.shared.laws`, with arguments as
            `partial(sums_to_one, of="weights")`; each is asked of every case in which the reference
            obeys it.
        returns: names of the returned values, where it returns a tuple.
        shortcuts: last names of library functions that do what it asks to write, as one text:
            "softmax Softmax"; a call of one keeps its points and is flagged.
        probe: how the cases observe it that name no other; one of `autograder.shared.probes`.
        family: `family(**rules)` makes answers from rules that can be replaced one by one; without
            any it makes a right one. Or a right class whose members are the rules; if it is not
            given, the reference, where that is a class. Such a class has one more rule:
            `made(self)` changes a new object.

    Raises:
        CourseError: here and in all methods, in a sentence that names the file, where something
            declared does not fit.
    """

    def __init__(
        self, reference, *, laws=(), returns=(), shortcuts="", probe=returned, family=None
    ):
        self.reference, self.family, self.rules = reference, family, ()
        if inspect.isclass(base := family or reference):
            self.family, self.rules = partial(subclass, base), ["made", *dir(base)]
        elif family:
            self.rules = list(inspect.signature(family).parameters)
        self.laws = tuple(map(self._law, laws))
        self.returns, self.shortcuts, self.probe = returns, tuple(shortcuts.split()), probe
        self.cases, self.misconceptions = {}, []
        self.alternatives = [self.family()] if family else []

    @property
    def words(self):
        """The four words that the rest of the file is written in."""
        return self.shown, self.hidden, self.wrong, self.right

    def shown(
        self,
        title,
        inputs=None,
        /,
        *,
        graded=None,
        probe=None,
        weight=1,
        laws=None,
        exact=False,
        **arguments,
    ):
        """Declare a case that the learner's own `check` runs.

        Args:
            title: what a right answer does here, in the learner's words: "axis=0 makes the columns
                sum to 1".
            inputs: `inputs(rng) -> dict` where inputs depend on each other.
            graded: the inputs when a notebook is graded, as a dict or `graded(rng) -> dict`, where
                those that the notebook shows are so few that their answers fit into a table.
            probe: how the answer is observed: a function of `autograder.shared.probes`, whose
                docstring says what it notes.
            weight: the case's share of its cell's points, relative to the other cases.
            laws: those of this case alone, instead of the exercise's.
            exact: whether precision, dtype and axes of length 1 count; in other cases they do not.
            arguments: the inputs, in the order of the signature; plain, or described as `normal(3)`
                and drawn in this order.
        """
        if isinstance(graded, dict):
            self._require_signature(title, list(graded))
            graded = partial(draw, graded)
        self._add(title, inputs, arguments, probe, weight, laws, exact, True, graded)

    def hidden(
        self, title, inputs=None, /, *, probe=None, weight=1, laws=None, exact=False, **arguments
    ):
        """Declare a case that runs only when a notebook is graded; arguments as of `shown`."""
        self._add(title, inputs, arguments, probe, weight, laws, exact, False)

    def wrong(self, belief, hint="", *, rule=None, then=None, around=False, **changed):
        """Declare a wrong answer: a decorator, of a function or a class, or of a class's `forward`
        alone; or called with what a function made, unless it is the right one but for what is
        `changed`, or for what is done `then`:

            wrong("the width is 512", "...", d_model=512)
            wrong("steps count from 0", "...", step=lambda step: step + 1)
            wrong("a tensor is a number", "...", then=torch.tensor)

        Args:
            belief: the thought behind it, in one line, for the instructor's report.
            hint: what that learner should look at; it never says what to write. It may run over
                several lines.
            rule: which of the family's rules the decorated function is.
            then: a function of the right result.
            around: True where the decorated function gets a right answer as its first argument, to
                call it in its own way; or a function that makes the wrong answer from a right one.
            changed: rules of the family by name; and arguments of the reference, each with what it
                is taken for, or with a function of what is given, which is not asked about None; of
                a class, those that make it or those of its `forward`.
        """
        if not hint:
            raise self._error(f"the wrong answer {belief!r} has no hint")
        if any(belief == other.belief for other in self.misconceptions):
            raise self._error(f"two wrong answers have the belief {belief!r}")

        hint = " ".join(hint.split())

        def declare(implementation, *steps):
            implementation = self._whole(implementation)
            self.misconceptions.append(Misconception(belief, implementation, hint, *steps))
            return implementation

        def declare_around(make):
            return declare(make(self.reference), {}, make)

        if callable(around):
            return declare_around(around)
        if around:
            return lambda function: declare_around(partial(with_right, function))
        if rule:
            return lambda function: declare(*self._right_but_for({**changed, rule: function}, then))
        if changed or then:
            return declare(*self._right_but_for(changed, then))
        return declare

    def right(self, implementation):
        """Declare a right answer, written differently from the reference; where that is a class, a
        function is its `forward`.
        """
        implementation = self._whole(implementation)
        self.alternatives.append(implementation)
        return implementation

    def usual(self, name, *, belief=None, hint=None):
        """Declare one of the wrong answers that most exercises have, by its name in
        `autograder.authoring.usual`; its own belief and hint are the general ones, if not given.
        """
        if name not in USUAL:
            there = ", ".join(map(repr, USUAL))
            raise self._error(f"there is no usual wrong answer {name!r}; there are: {there}")
        usual = USUAL[name]
        return self.wrong(belief or usual.belief, hint or usual.hint, around=usual.make)

    def exchanged(self, one, other):
        """Declare the wrong answer that takes two arguments of the same kind for each other."""
        return self.wrong(
            f"{one} and {other} may change places",
            f"This is right for a call in which `{one}` and `{other}` are exchanged. Which of the"
            " two goes where?",
        )(exchanging(one, other)(self.reference))

    @cached_property
    def exercise(self):
        """What was declared, as the rest of the grader knows it."""
        return Exercise(
            self.reference,
            tuple(self.cases.values()),
            tuple(self.misconceptions),
            tuple(self.alternatives),
            self.returns,
            self.shortcuts,
            self.laws,
            self.family,
        )

    @cached_property
    def _parameters(self):
        return list(inspect.signature(self.reference).parameters)

    def _add(self, title, inputs, arguments, probe, weight, laws, exact, visible, graded=None):
        probe = probe or self.probe
        if title in self.cases:
            raise self._error(f"two cases have the title {title!r}")
        if PROBES.get(probe.__name__) is not probe:
            raise self._error(f"{title!r}: {probe.__name__} is no probe of autograder.shared")
        if arguments:
            if inputs is not None:
                raise self._error(f"{title!r} gives its inputs twice")
            self._require_signature(title, list(arguments))
            inputs = partial(draw, arguments)
        laws = None if laws is None else tuple(map(self._law, laws))
        self.cases[title] = Case(title, inputs, probe, laws, visible, weight, exact, graded)

    def _whole(self, implementation):
        """Return the class that a function is the `forward` of, where the exercise is a class."""
        if inspect.isclass(self.reference) and inspect.isfunction(implementation):
            made = instead_of("forward", implementation, self.reference)
            made.__name__ = implementation.__name__
            return made
        return implementation

    def _right_but_for(self, changed, then):
        """Make the right answer with rules or arguments changed, and its result changed `then`."""
        takes = [*inspect.signature(self.reference).parameters]
        if inspect.isclass(self.reference):
            takes += inspect.signature(self.reference.forward).parameters
        rules = {name: change for name, change in changed.items() if name in self.rules}
        arguments = {name: change for name, change in changed.items() if name not in self.rules}
        if unknown := [name for name in arguments if name not in takes]:
            raise self._error(f"{unknown[0]!r} is neither a rule nor an argument")

        def around(answer):
            answer = of_argument(**arguments)(answer) if arguments else answer
            return of_result(then)(answer) if then else answer

        answer = self.family(**rules) if self.family else self.reference
        return around(answer), rules, around

    def _require_signature(self, title, given):
        """Raise a CourseError unless arguments are those of the reference, in its order."""
        if inspect.isclass(self.reference) or "forward" in given:  # see autograder.shared.probes
            return
        takes = self._parameters
        if unknown := [name for name in given if name not in takes]:
            raise self._error(f"{title!r} gives {unknown[0]!r}; the signature has {takes}")
        if given != takes[: len(given)]:
            raise self._error(
                f"{title!r} gives {given}; the signature begins {takes[: len(given)]}"
            )

    def _law(self, law):
        """Return a law as cases hold it: its name and its arguments."""
        function, named = (law.func, law.keywords) if isinstance(law, partial) else (law, {})
        name = getattr(function, "__name__", repr(function))
        if LAWS.get(name) is not function:
            raise self._error(f"{name} is no law of autograder.shared.laws")
        return name, named

    def _error(self, words):
        name = self.reference.__name__
        stem = self.reference.__module__.split(".")[-1]
        return CourseError(f"in autograder/checks/{stem}/{name}.py, {words}")
