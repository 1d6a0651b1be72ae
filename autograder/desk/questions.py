"""Questions about a learner's own code, each with a key that comes from running it, changed."""

from dataclasses import dataclass

import numpy as np

from autograder.desk.changes import deletions, replacements, stops
from autograder.desk.values import arrays_in, in_full
from autograder.shared.judge import tidy
from autograder.shared.wire import Tensor, dtype_name, encode, numbers
from autograder.shared.wording import call_of

MOST_CHANGES = 24  # of one exercise that are tried
MOST_SHOWN = 12  # numbers of a result that are written out
MOST_ASKED = 60  # numbers of a case's arguments, so that the sheet can hold them
ALIKE = 1e-9  # numbers nearer than that, and yet not equal, are no question
FEWEST_LINES = 3  # from which one is to be found
TRIED = 6  # changes, of which one is asked about
WAYS = (
    "the same",
    "other numbers of the same shape and dtype",
    "another shape, dtype or kind of result (which?)",
    "an exception (of which type?)",
)
RAISES = 3


@dataclass(frozen=True)
class Question:
    """One question about a learner's code.

    Args:
        listing: the cell, whose lines are counted from 1.
        call, arguments: what is called.
        before: what the call gives.
        text: what is asked.
        choices: ways to answer, where there are some.
        key: the answer.
        same: whether the answer is that nothing changes.
    """

    exercise: str
    listing: str
    call: str
    arguments: str
    before: str
    text: str
    key: str
    choices: tuple = ()
    same: bool = False


class Trial:
    """A learner's exercise in their process, in which its cell can be changed.

    Args:
        kernel: LearnerKernel, in which the notebook has run.
    """

    def __init__(self, kernel, name, source, limits):
        self.kernel, self.name, self.limits = kernel, name, limits
        self.source = source.replace("\r\n", "\n").replace("\r", "\n")
        self.case = self.before = None

    def find_case(self, cases):
        """Choose the smallest case in which the function gives a result, twice the same; return
        whether there is one.
        """
        fit = [
            case
            for case in cases
            if case.probe == "returned"
            and "result" in case.expected
            and 1 < size_of(case.inputs) <= MOST_ASKED
        ]
        for case in sorted(fit, key=lambda each: size_of(each.inputs)):
            self.case = case
            first = self.seen(self.source)
            if first is None:
                return False  # it does not end, and would not in another case
            if "result" in first and not differs(first, self.seen(self.source) or {}):
                self.before = first
                return True
        return False

    def seen(self, source):
        """Return what is observed with another source of the cell; None where it does not run, or
        gives no answer.
        """
        if self.kernel.run(source, self.limits.cell).status != "ok":
            return None
        [seen], _ = self.kernel.ask(self.name, [self.case], self.limits.case)
        seen = tidy(seen)  # it may come from anybody
        return seen if "result" in seen or "raised" in seen else None

    def restore(self):
        """Bring the learner's own function back."""
        self.kernel.run(self.source, self.limits.cell)

    def question(self, text, key, **more):
        """Return a Question about the case."""
        return Question(
            exercise=self.name,
            listing=self.source,
            call=call_of(self.name, self.case),
            arguments=in_full(self.case.inputs),
            before=told(self.before),
            text=text,
            key=key,
            **more,
        )


def which_line(trial, rng):
    """Ask which of several lines was deleted, or return None."""
    outcomes, plain = {}, set()
    for change in deletions(trial.source, trial.name)[:MOST_CHANGES]:
        if change.returns:
            plain.add(change.line)
        if (seen := trial.seen(change.source)) is not None:
            outcomes[change.line] = seen
    texts = {line: told(seen) for line, seen in outcomes.items()}
    unique = [
        line
        for line, seen in outcomes.items()
        if list(texts.values()).count(texts[line]) == 1
        and differs(trial.before, seen)
        and line not in plain
    ]
    if len(outcomes) < FEWEST_LINES or not unique:
        return None
    telling = [line for line in unique if "raised" not in outcomes[line]] or unique
    line = rng.choice(telling)
    among = ", ".join(map(str, sorted(outcomes)))
    return trial.question(
        f"Exactly one of the lines {among} was deleted. Now the same call gives: {texts[line]}."
        " Which line was it?",
        f"line {line}: {trial.source.split(chr(10))[line - 1].strip()}",
    )


def what_then(trial, rng):
    """Ask what a call does after one change, or return None."""
    changes = deletions(trial.source, trial.name) + replacements(trial.source, trial.name)
    changes = [each for each in changes if not each.returns]
    rng.shuffle(changes)
    tried = [(trial.seen(each.source), each) for each in changes[:TRIED]]
    tried = [
        (way_of(trial.before, seen), seen, change)
        for seen, change in tried
        if seen is not None and not is_close_call(trial.before, seen)
    ]
    if not tried:
        return None
    way, seen, change = min(tried, key=lambda each: each[0] == RAISES)  # of the others, the first
    done = f"becomes `{change.new}`" if change.new else "is deleted"
    return trial.question(
        f"Line {change.line} {done}. What does the same call give now?",
        WAYS[way].split(" (")[0] + (f": {told(seen)}" if way else ""),
        choices=WAYS,
        same=way == 0,
    )


def what_is_there(trial, rng):
    """Ask for the shape and dtype of a variable, or for its value if that is a whole number."""
    places = stops(trial.source, trial.name)
    rng.shuffle(places)
    for place in places[:MOST_CHANGES]:
        seen = trial.seen(place.source)
        value = (seen or {}).get("result")
        match value:
            case np.ndarray() | Tensor():
                asked = "Which shape and which dtype has"
                key = f"shape {numbers(value).shape}, {dtype_name(value)}"
            case bool() | int():
                asked, key = "Which value has", repr(value)
            case _:
                continue
        return trial.question(
            f"{asked} `{place.name}` in this call, right after line {place.line}?", key
        )
    return None


def size_of(value):
    """Return how many numbers a plain value holds."""
    return sum(array.size for array in arrays_in(value))


def told(seen):
    """Write down what a call gave, short enough for a sheet."""
    if "raised" in seen:
        return f"an exception of type {seen['raised']['type']}"
    return result_text(seen.get("result"))


def result_text(value):
    """Write down a result: small arrays with their numbers, others by shape and dtype."""
    match value:
        case np.ndarray() | Tensor():
            array = numbers(value)
            kind = f"{dtype_name(value)} of shape {array.shape}"
            if array.size > MOST_SHOWN:
                return kind
            text = np.array2string(array, precision=4, separator=", ", max_line_width=10_000)
            return f"{' '.join(text.split())}, {kind}"
        case tuple() | list():
            inner = "; ".join(map(result_text, value))
            return f"a {type(value).__name__} of {len(value)}: {inner}" if value else repr(value)
        case float():
            return f"{value:.4g}"
        case _:
            return repr(value)[:200]


def differs(one, other):
    """Return whether two observations are not the same to the bit."""
    return encode(one) != encode(other)


def is_close_call(one, other):
    """Return whether two results differ by so little that nobody could be asked about it."""
    if not differs(one, other) or way_of(one, other) != 1:
        return False
    ours, theirs = arrays_in(one.get("result")), arrays_in(other.get("result"))
    return all(
        np.allclose(a, b, rtol=ALIKE, atol=ALIKE, equal_nan=True)
        for a, b in zip(ours, theirs, strict=True)
    )


def way_of(before, after):
    """Return which of WAYS leads from one observation to another, as an index."""
    if "raised" in after:
        return RAISES
    if not differs(before.get("result"), after.get("result")):
        return 0
    return 1 if form_of(before.get("result")) == form_of(after.get("result")) else 2


def form_of(value):
    """Return a result's shapes, dtypes and kinds, without its numbers."""
    match value:
        case np.ndarray() | Tensor():
            return type(value).__name__, numbers(value).shape, dtype_name(value)
        case tuple() | list():
            return type(value).__name__, *map(form_of, value)
        case dict():
            return "dict", *((key, form_of(each)) for key, each in value.items())
        case _:
            return type(value).__name__
