"""What an author declares of an exercise, and how it becomes cases with numbers in them.

A file `autograder/checks/chNN_x/<exercise>.py` declares one (`autograder.authoring.checks`). A
`Case` draws its inputs at random, so an exercise is a family of questions: a seed makes it into
`PreparedCase`s, with the inputs, what the reference answers, and what each known misconception
would answer. The public seed makes the cases that a learner's `check` runs; a secret one makes
those that a grade rests on.
"""

import hashlib
import hmac
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, wraps

import numpy as np

from autograder.authoring.obeyed import laws_obeyed
from autograder.shared.judge import compared
from autograder.shared.prepared import PreparedCase, PreparedExercise
from autograder.shared.probes import PROBES, observe, returned
from autograder.shared.probes.calls import defaults_of
from autograder.shared.wire import Tensor, copied, dtype_name, encode, numbers, plain

PUBLIC_SEED = b"the visible cases"
PRECISION = "dtype, shape and precision are as they should be"
DTYPE = "dtype and shape are as they should be"
MOST_DRAWS = 20  # some cases always ask the same


@dataclass(frozen=True)
class Case:
    """A family of questions to one exercise.

    Args:
        title: what a right answer does here, in the learner's words: "rows of a matrix each sum to
            1".
        inputs: `inputs(rng) -> dict` draws the arguments, named and ordered as in the signature.
        probe: how the function is observed; one of `autograder.shared.probes`.
        properties: laws that every right answer obeys, checked before its numbers, each with its
            name in `autograder.shared.laws` and its arguments; None for the exercise's laws.
        visible: whether the learner's own `check` runs it; hidden cases run only when the notebook
            is graded.
        weight: its share of the points, relative to the other cases of its cell.
        exact: whether the form of the answer counts, too: its dtype, its axes of length 1, and
            float64's precision.
        graded: `graded(rng) -> dict` draws what a visible case asks when a notebook is graded;
            None where that is what the notebook shows, with other numbers.
    """

    title: str
    inputs: Callable[[np.random.Generator], dict]
    probe: Callable = returned
    properties: tuple | None = None
    visible: bool = True
    weight: int = 1
    exact: bool = False
    graded: Callable[[np.random.Generator], dict] | None = None


@dataclass(frozen=True)
class Misconception:
    """A wrong implementation with a name and a hint.

    Args:
        belief: the thought behind it, in one line, for the instructor's report.
        implementation: what somebody who thinks so would write.
        hint: what that learner should look at; it never says what to write.
        rules: those that it replaces in the exercise's family; None where it is written out whole.
        around: makes it from the answer with these rules; None where that is it.
    """

    belief: str
    implementation: Callable
    hint: str
    rules: dict | None = None
    around: Callable | None = None


@dataclass(frozen=True, eq=False)
class Exercise:
    """One function to write, and everything that decides whether it was written.

    Args:
        reference: the right implementation; its name is the exercise's.
        cases: what is asked of it.
        misconceptions: wrong implementations; each must lose points.
        alternatives: right implementations, written differently; each must keep every point.
        returns: names of the returned values, where it returns a tuple.
        shortcuts: last names of library functions that do what it asks to write; a call of one
            keeps its points and is flagged.
        laws: hold in each case that names none, if the reference obeys them there.
        family: makes an answer from rules; None where there are none.
    """

    reference: Callable
    cases: tuple[Case, ...]
    misconceptions: tuple[Misconception, ...]
    alternatives: tuple[Callable, ...] = ()
    returns: tuple[str, ...] = ()
    shortcuts: tuple[str, ...] = ()
    laws: tuple = ()
    family: Callable | None = None

    @property
    def name(self):
        return self.reference.__name__

    @cached_property
    def combinations(self):
        """The misconceptions that one answer can have together, as pairs of indices: those that
        change different steps of a right answer.
        """
        return tuple(
            (one, other)
            for one, other in itertools.combinations(range(len(self.misconceptions)), 2)
            if can_meet(self.misconceptions[one], self.misconceptions[other])
        )

    def wrong_answer(self, index):
        """Return the implementation of a misconception, or of two: of a pair of indices."""
        if isinstance(index, int):
            return self.misconceptions[index].implementation
        if index not in self._with_both:
            one, other = (self.misconceptions[each] for each in index)
            self._with_both[index] = self._together(one, other)
        return self._with_both[index]

    @cached_property
    def _with_both(self):
        return {}

    def _together(self, one, other):
        written = [each.implementation for each in (one, other) if each.rules is None]
        if written:
            answer = written[0]
        else:
            answer = self.family(**one.rules, **other.rules) if self.family else self.reference
        for each in (one, other):
            answer = each.around(answer) if each.around else answer
        return answer

    def prepare(self, seed, visible=None):
        """Draw the cases' inputs from a seed.

        Args:
            seed: bytes; the same seed gives the same cases.
            visible: True for the visible cases, False for the hidden ones, None for both.
        """
        wanted = [case for case in self.asked if visible is None or case.visible == visible]
        hints = tuple(misconception.hint for misconception in self.misconceptions)
        beliefs = tuple(misconception.belief for misconception in self.misconceptions)
        cases = tuple(self._prepared(case, seed) for case in wanted)
        return PreparedExercise(
            self.name,
            self.returns,
            hints,
            cases,
            beliefs,
            self.shortcuts,
            self.combinations,
            defaults_of(self.reference),
        )

    @cached_property
    def asked(self):
        """All cases: those that were declared, and the one in which the form counts."""
        return (*self.cases, *self.case_of_form)

    @cached_property
    def case_of_form(self):
        """The one case in which the form of the result counts, after the others: dtype, axes of
        length 1, precision. It asks what the first case asks in which all that shows, with other
        numbers; an exercise without arrays and numbers has none.
        """
        found = ()
        for case in self.cases:
            inputs = self._public_inputs(case)
            seen = observation_of(case.probe, self._reference_for(inputs), inputs)
            form = form_of(seen.get("result"))
            if (form and not found) or form == PRECISION:
                found = (replace(case, title=form, visible=True, weight=1, exact=True),)
            # where one result is of whole numbers, all of them are
            if form == PRECISION or (form and is_whole(seen["result"])):
                break
        return found

    @cached_property
    def _shown(self):
        """What the visible cases ask in the notebook, as text, by the bytes of their first
        array.
        """
        shown = {}
        for inputs in (self._public_inputs(case) for case in self.asked if case.visible):
            shown.setdefault(first_bytes(inputs), set()).add(encode(inputs))
        return shown

    def _public_inputs(self, case):
        """Draw what a case asks in the notebook, once."""
        if id(case) not in self._drawn:
            self._drawn[id(case)] = self._inputs(case, PUBLIC_SEED, {})
        return self._drawn[id(case)]

    @cached_property
    def _drawn(self):
        return {}

    def _inputs(self, case, seed, shown):
        """Draw a case's inputs, again where they are those that the notebook shows: their answers
        may stand in a table.
        """
        digest = hmac.digest(seed, f"{self.name}/{case.title}".encode(), hashlib.sha256)
        rng = np.random.default_rng(list(digest))
        inputs_from = case.inputs if seed == PUBLIC_SEED else case.graded or case.inputs
        for _ in range(MOST_DRAWS):
            inputs = plain(inputs_from(rng))
            # Mostly none, which is quicker to see than to write all inputs out.
            alike = shown.get(first_bytes(inputs))
            if not alike or encode(inputs) not in alike:
                break
        return inputs

    @cached_property
    def _makers(self):
        """What stands for the reference in cases that give all weights of a module, by what decides
        how it is made.
        """
        return {}

    def _reference_for(self, inputs):
        """Return the reference; where it is a class and the case gives all its weights, one that
        makes equal modules only once.

        To make a module takes longer than to ask it. It is taken again only in the dtypes that it
        has: rounded buffers stay rounded.
        """
        if "constructor" not in inputs or not inputs.get("weights"):
            return self.reference
        key = encode(
            [inputs["constructor"], sorted({weight.dtype for weight in inputs["weights"].values()})]
        )
        if key not in self._makers:
            self._makers[key] = made_once(self.reference)
        return self._makers[key]

    def _prepared(self, case, seed):
        inputs = self._inputs(case, seed, {} if seed == PUBLIC_SEED else self._shown)
        expected = observation_of(case.probe, self._reference_for(inputs), inputs)
        return PreparedCase(
            title=case.title,
            probe=case.probe.__name__,
            inputs=inputs,
            expected=expected,
            lookalike=cache(
                lambda index: observation_of(case.probe, self.wrong_answer(index), inputs)
            ),
            properties=self._laws_of(case, inputs, expected),
            visible=case.visible,
            weight=case.weight,
            exact=case.exact,
        )

    def _laws_of(self, case, inputs, expected):
        """Return the laws that a case names, or those of the exercise that the reference obeys."""
        if case.properties is not None:
            return case.properties
        if case.title not in self._laws:  # found once: it is not a matter of chance
            self._laws[case.title] = laws_obeyed(self.laws, inputs, expected, self.returns)
        return self._laws[case.title]

    @cached_property
    def _laws(self):
        return {}


def can_meet(one, other):
    """Return whether an answer can be made that has both misconceptions: they replace different
    rules, or one is written out whole, and the other replaces none.
    """
    if one.rules is None or other.rules is None:
        return {} in (one.rules, other.rules)
    return not one.rules.keys() & other.rules.keys()


def made_once(kind):
    """Return what looks like a class, and makes one object at the first call, which it returns ever
    after.
    """
    made = []

    @wraps(kind, updated=())
    def make(*arguments):
        if not made:
            made.append(kind(*arguments))
        return made[0]

    return make


def form_of(result):
    """Return the title of the case in which the form of such a result counts; "" if none does."""
    match result:
        case tuple() if result:
            return max(map(form_of, result), key=len)
        case float():
            return PRECISION if np.float32(result) != result else DTYPE
        case int():
            return DTYPE
        case np.ndarray() | Tensor():
            values = numbers(result)
            wide = dtype_name(result) == "float64" and np.isfinite(values).all()
            return PRECISION if wide and (values.astype(np.float32) != values).any() else DTYPE
        case _:
            return ""


def is_whole(result):
    """Return whether a result holds whole numbers, or truth values, alone."""
    if isinstance(result, tuple):
        return all(map(is_whole, result))
    return isinstance(result, np.ndarray | Tensor) and numbers(result).dtype.kind in "biu"


def first_bytes(value):
    """Return the bytes of the first array or tensor within a plain value; b"" where there is
    none.
    """
    match value:
        case np.ndarray():
            return value.tobytes()
        case Tensor():
            return value.values.tobytes()
        case dict():
            return next(filter(None, map(first_bytes, value.values())), b"")
        case tuple() | list():
            return next(filter(None, map(first_bytes, value)), b"")
        case _:
            return b""


def observation_of(probe, implementation, inputs):
    """Observe an implementation of ours on its own copy of the inputs."""
    if probe.__name__ not in PROBES:
        raise ValueError(f"{probe.__name__} is not one of the probes in autograder/shared/probes")
    return compared(inputs, observe(probe.__name__, implementation, copied(inputs)))
