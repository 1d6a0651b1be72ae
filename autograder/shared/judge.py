"""Compare what was observed of a learner's function with what is right, and say what was seen in
words that help.

One verdict a case. The comparison looks at one thing after the other and stops at the first that is
wrong: did it run, type, shape, finite, the laws it must obey, the numbers. Where the observation is
that of a known misconception, its hint says where to look. The same code judges in the learner's
notebook and in the grader, always on data, never beside the code that it judges.
"""

from dataclasses import dataclass

import numpy as np

from autograder.shared.laws import LAWS, apart
from autograder.shared.probes import article, describe
from autograder.shared.tolerances import TOLERANCES
from autograder.shared.wire import Tensor, dtype_name, numbers, printable

LONGEST_SENTENCE = 1_000  # characters; what a learner's code raises may be of any length
MOST_NAMES = 50  # of arguments, or of an exception's ancestors
ONE_LINE = str.maketrans(
    "\n\t", "  "
)  # a learner's code may name things so that a message looks like two
PATIENCE = 2  # failed cases by which a misconception may fall behind before it is given up
SHOWN_INLINE = (
    6  # arrays of at most so many numbers stand in a message; larger ones give their shape
)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one case.

    Args:
        title: what a right answer does in this case.
        passed: whether the observation is right.
        weight: the case's share of the points, relative to its neighbours.
        message: what was tried, what was seen, where to look; empty where it passed.
        misconception: index of the misconception that the observation looks like, or None.
    """

    title: str
    passed: bool
    weight: int
    message: str = ""
    misconception: int | None = None


def judge(exercise, observations, suspects=()):
    """Judge the observations of an exercise's cases.

    Args:
        exercise: a PreparedExercise.
        observations: one for each case, in order, as `autograder.shared.probes.observe` returns
            them.
        suspects: names of other exercises that this answer calls and that fail themselves; where
            there are any, the message points there.

    Returns:
        list[Verdict]: one for each case.
    """
    pairs = [(case, tidy(seen)) for case, seen in zip(exercise.cases, observations, strict=True)]
    findings = [find(exercise, case, seen) for case, seen in pairs]
    answers = any(
        found is None and is_ordinary(case)
        for found, (case, _) in zip(findings, pairs, strict=True)
    )
    lookalikes = look_alike(exercise, pairs, findings)
    verdicts = []
    for (case, seen), found, lookalike in zip(pairs, findings, lookalikes, strict=True):
        if found is None and not answers:
            found = "this counts once the function also returns a right answer elsewhere"
        if found is None:
            verdicts.append(Verdict(case.title, True, case.weight))
            continue
        subject = (
            exercise.name
            if "unfit" in seen or is_stub(seen)
            else f"{call_of(exercise.name, case)}:"
        )
        sentence = printable(f"{subject} {found}"[:LONGEST_SENTENCE]).translate(ONE_LINE)
        hint = f" {exercise.hints[lookalike]}" if lookalike is not None else ""
        if suspects:
            which = (
                "which fails a check of its own"
                if len(suspects) == 1
                else "which fail checks of their own"
            )
            hint = f" It calls {' and '.join(suspects)}, {which}: look there first."
        message = f"{sentence}{'' if sentence.endswith('?') else '.'}{hint}"
        verdicts.append(Verdict(case.title, False, case.weight, message, lookalike))
    return verdicts


def tidy(seen):
    """Bring an observation, which may come from anybody, into the form that
    `autograder.shared.probes.observe` gives it.
    """
    match seen:
        case {"unfit": str(reason)}:
            return {"unfit": reason[:400]}
        case {"raised": dict(raised)}:
            told = {key: raised.get(key) for key in ("type", "message", "source", "function")}
            texts = {key: text[:300] if isinstance(text, str) else "" for key, text in told.items()}
            flags = {key: raised.get(key) is True for key in ("stub", "deliberate")}
            bases = raised.get("bases")
            names = (
                [base for base in bases[:MOST_NAMES] if isinstance(base, str)]
                if isinstance(bases, list)
                else []
            )
            line = raised.get("line")
            return {
                "raised": {
                    **texts,
                    **flags,
                    "bases": names,
                    "line": line if isinstance(line, int) else None,
                }
            }
        case {"changed": list(names)}:
            return {
                "changed": [
                    name[:80] if isinstance(name, str) else "an argument"
                    for name in names[:MOST_NAMES]
                ]
            }
        case {"result": result, "noted": dict(noted)}:
            return {"result": result, "noted": noted}
        case {"result": result}:
            return {"result": result}
        case {"noted": dict(noted)}:
            return {"noted": noted}
        case _:
            return {}


def is_ordinary(case):
    """Return whether a case asks for a result with something in it: neither a refusal, nor an array
    of nothing or of zeros.
    """
    return has_substance(case.expected.get("result"))


def has_substance(value):
    """Return whether a plain value is more than nothing, zeros (up to rounding) or empty
    containers.
    """
    if isinstance(value, np.ndarray | Tensor):
        _, absolute = TOLERANCES.get(dtype_name(value), (0, 0))
        return not bool((np.abs(numbers(value)) <= absolute).all())
    if isinstance(value, tuple | list):
        return any(map(has_substance, value))
    return bool(value)


def share(verdicts):
    """Return the part of the points that the verdicts are worth, from 0 to 1."""
    return sum(verdict.weight for verdict in verdicts if verdict.passed) / sum(
        verdict.weight for verdict in verdicts
    )


def find(exercise, case, seen):
    """Return the first thing wrong with an observation, as a clause, or None."""
    if not seen:
        return "gave no answer"
    if "unfit" in seen:
        return seen["unfit"]
    if "raised" in seen or "raised" in case.expected:
        return find_in_exception(exercise.name, case.expected.get("raised"), seen)
    if "changed" in case.expected:
        return find_in_changed(seen.get("changed", ["an argument"]))
    leaves, found = all_leaves(exercise, case, seen)
    if found:
        return found
    for stage in (find_in_dtype, find_in_shape, find_in_finiteness):
        for name, wanted, got in leaves:
            if found := stage(name, wanted, got):
                return found
    for law, arguments in case.properties:
        inputs = case.inputs.get("forward", case.inputs)
        if found := LAWS[law](inputs, {name: got for name, _, got in leaves}, **arguments):
            return found
    return next(
        (found for leaf in leaves if (found := find_in_values(*leaf, numbers_shown=case.visible))),
        None,
    )


def find_in_exception(name, expected, seen):
    """Return what is wrong where the function or the reference raised an exception, or None if both
    raised alike.
    """
    if "raised" not in seen:
        returned = describe(seen.get("result"))
        return (
            f"it returned {returned}, but should raise a {expected['type']} that says what is wrong"
        )
    raised = seen["raised"]
    if is_stub(seen):
        stub = raised["function"].split(".")[0]  # of LayerNorm.forward, LayerNorm
        whose = "is" if stub in (name, "") else f"calls {stub}, which is"
        return f"{whose} still the stub; replace `raise NotImplementedError` with your code"
    if expected and expected["type"] in raised["bases"]:
        return None
    where = (
        f", in line {raised['line']} of its cell: `{raised['source']}`"
        if raised["line"] is not None
        else ""
    )
    should = f", but should raise a {expected['type']}" if expected else ""
    message = raised["message"].strip().rstrip(".")
    above = (
        "; is that defined in a cell above, too?"
        if raised["type"] == "NameError" and not expected
        else ""
    )
    return (
        "it raised"
        f" {article(raised['type'])}{': ' if message else ''}{message}{where}{should}{above}"
    )


def is_stub(seen):
    """Return whether an observation is that of a stub left as it was."""
    return "raised" in seen and seen["raised"]["stub"]


def find_in_changed(changed):
    """Return that the function changed its arguments, or None."""
    if not changed:
        return None
    return (
        f"it changed {' and '.join(changed)}; arguments belong to the caller, and must stay as they"
        " were"
    )


def all_leaves(exercise, case, seen):
    """Pair all parts of what was expected in a case with those of what was seen: of the result, and
    of what was noted beside it.

    Returns:
        list of (name, wanted, got), and None or a clause that says why the parts do not correspond.
    """
    leaves, found = [], None
    if "result" in case.expected:
        leaves, found = pair_up(case.expected["result"], seen.get("result"), exercise.returns)
    for name, wanted in case.expected.get("noted", {}).items():
        got = seen.get("noted", {}).get(name)
        found = found or find_in_type(name, wanted, got)
        leaves.append((name, wanted, got))
    return leaves, found


def pair_up(wanted, got, names=()):
    """Pair the parts of what was wanted with those of what was returned.

    Args:
        wanted, got: the reference's result and the learner's.
        names: of the returned values, where there are several.

    Returns:
        list of (name, wanted, got), and None or a clause that says why the parts do not correspond.
    """
    if got is None and wanted is not None:
        return [], "it returned None; is a `return` missing?"
    if isinstance(wanted, tuple) and names:
        if not isinstance(got, tuple | list) or len(got) != len(wanted):
            return [], f"it returned {describe(got)}, but should return ({', '.join(names)})"
        leaves = list(zip(names, wanted, got, strict=True))
    else:
        leaves = [("the result", wanted, got)]
    for name, one, other in leaves:
        if found := find_in_type(name, one, other):
            return [], found
    return leaves, None


def find_in_type(name, wanted, got):
    """Return that a value is of another type than it should be, or None."""
    if isinstance(wanted, np.ndarray | Tensor):
        fits = isinstance(got, type(wanted))
        should = (
            f"a {'torch tensor' if isinstance(wanted, Tensor) else 'NumPy array'} of"
            f" {dtype_name(wanted)}"
        )
    elif type(wanted) is float or type(wanted) is int:
        fits = type(got) in (int, float)
        should = "a Python number"
    else:
        fits = type(got) is type(wanted)
        should = article(type(wanted).__name__)
    return None if fits else f"{name} is {describe(got)}, but should be {should}"


def find_in_dtype(name, wanted, got):
    """Return that an array has another dtype than it should have, or None."""
    if isinstance(wanted, np.ndarray | Tensor) and dtype_name(wanted) != dtype_name(got):
        return f"{name} has dtype {dtype_name(got)}, but should have {dtype_name(wanted)}"
    return None


def find_in_shape(name, wanted, got):
    """Return that an array has another shape than it should have, or None."""
    if isinstance(wanted, np.ndarray | Tensor) and numbers(wanted).shape != numbers(got).shape:
        return f"{name} has shape {numbers(got).shape}, but should have {numbers(wanted).shape}"
    return None


def find_in_finiteness(name, wanted, got):
    """Return that there are infinities or NaNs where finite numbers should be, or None."""
    if not isinstance(wanted, np.ndarray | Tensor) or numbers(wanted).dtype.kind != "f":
        return None
    bad = np.isfinite(numbers(wanted)) & ~np.isfinite(numbers(got))
    if not bad.any():
        return None
    what = "nan" if np.isnan(numbers(got)[bad]).any() else "infinite"
    return f"{name} is {what} {in_places(bad)}"


def find_in_values(name, wanted, got, *, numbers_shown):
    """Return that numbers, words or entries differ, or None."""
    if isinstance(wanted, dict):
        return find_in_dictionary(name, wanted, got, entries_shown=numbers_shown)
    if not isinstance(wanted, np.ndarray | Tensor):
        return (
            None
            if same(wanted, got)
            else f"{name} is {value_text(got)}, but should be {value_text(wanted)}"[:300]
        )
    wrong = ~close(wanted, got)
    if not wrong.any():
        return None
    if not numbers_shown:
        return f"{name} is wrong {in_places(wrong)}"
    place = np.unravel_index(np.argmax(wrong), wrong.shape)
    spot = f"{name.removeprefix('the ')}[{', '.join(map(str, place))}]" if place else name
    shown, should = apart(numbers(got)[place], numbers(wanted)[place])
    rest = f"; {name} is wrong {in_places(wrong)}" if wrong.size > 1 else ""
    return f"{spot} is {shown}, but should be {should}{rest}"


def value_text(value):
    """Write a value that is no array; arrays within it by what they are."""
    match value:
        case list():
            return f"[{', '.join(map(value_text, value))}]"
        case np.ndarray() | Tensor():
            return describe(value)
        case _:
            return repr(value)


def find_in_dictionary(name, wanted, got, *, entries_shown):
    """Return the first entry in which two dictionaries differ, or None."""
    if same(wanted, got):
        return None
    if not entries_shown:
        right = sum(key in got and same(entry, got[key]) for key, entry in wanted.items())
        count = (
            ""
            if len(got) == len(wanted)
            else f"{name} has {len(got)} entries, but should have {len(wanted)}; "
        )
        return (
            f"{count}{right} of its entries are right"
            if count
            else f"{right} of the {len(wanted)} entries are right"
        )
    missing = [key for key in wanted if key not in got]
    if missing:
        return f"{name} has no entry for {missing[0]!r}"
    extra = [key for key in got if key not in wanted]
    if extra:
        return f"{name} has an entry for {extra[0]!r}, which should not be there"
    wrong = [key for key in wanted if not same(wanted[key], got[key])]
    if wrong:
        return (
            f"{wrong[0]!r} has {entry_text(got[wrong[0]])}, but should have"
            f" {entry_text(wanted[wrong[0]])}"
        )
    return None


def entry_text(entry):
    """Write a dictionary's entry: a number or a word as it is, anything else by what it is."""
    return repr(entry)[:60] if isinstance(entry, int | float | str) else describe(entry)


def look_alike(exercise, pairs, findings):
    """Say for each failed case which misconception gives the same observation there.

    A hint that does not fit is worse than none. So a misconception is considered only if it fails
    in no case that the learner passes, and does what the learner does in at least half of the cases
    in which it fails. Of several, the one that agrees in the most cases is meant.

    To ask a misconception takes as long as to ask the learner, and there are many of them. So each
    is asked in the failed cases first, and no further once it has differed there too often.

    Returns:
        list of int or None, one for each case.
    """
    alike = [None] * len(pairs)
    if not any(findings) or all(is_stub(seen) for _, seen in pairs):
        return alike
    failed = [index for index, found in enumerate(findings) if found]
    passed = [index for index, found in enumerate(findings) if not found]
    most = [0] * len(pairs)
    for misconception in range(len(exercise.hints)):
        agrees = where_it_agrees(exercise, pairs, failed, misconception)
        if agrees and not any(
            fails_in(exercise, pairs[index][0], misconception) for index in passed
        ):
            for index in agrees:
                if len(agrees) > most[index]:
                    alike[index], most[index] = misconception, len(agrees)
    return alike


def where_it_agrees(exercise, pairs, failed, misconception):
    """Return the failed cases in which a misconception does what the learner did; none, if they are
    too few.
    """
    agrees, others = [], 0
    for done, index in enumerate(failed, 1):
        case, seen = pairs[index]
        other = tidy(case.lookalike(misconception))
        if find(exercise, case, other) is not None:
            if same_observation(other, seen):
                agrees.append(index)
            else:
                others += 1
        if others > len(agrees) + min(PATIENCE, len(failed) - done):
            return []
    return agrees


def fails_in(exercise, case, misconception):
    """Return whether a misconception fails in a case."""
    return find(exercise, case, tidy(case.lookalike(misconception))) is not None


def same_observation(one, other):
    """Return whether two observations are equal up to rounding.

    Exceptions are alike if their types are, and either their messages too or both were raised on
    purpose, in words of one's own.
    """
    if "raised" not in one or "raised" not in other:
        return same(one, other)
    ours, theirs = one["raised"], other["raised"]
    return ours["type"] == theirs["type"] and (
        ours["message"] == theirs["message"] or (ours["deliberate"] and theirs["deliberate"])
    )


def same(one, other):
    """Return whether two plain values are equal, floating numbers up to the tolerance of their
    dtype.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | Tensor):
        alike = dtype_name(one) == dtype_name(other) and numbers(one).shape == numbers(other).shape
        return alike and bool(close(one, other).all())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return bool(close(np.asarray(one), np.asarray(other)))
    return one == other


def close(wanted, got):
    """Return, number by number, whether two arrays or tensors of one dtype agree."""
    relative, absolute = TOLERANCES.get(dtype_name(wanted), (0, 0))
    wanted, got = numbers(wanted), numbers(got)
    if wanted.dtype.kind != "f":
        return wanted == got
    with np.errstate(all="ignore"):
        return np.isclose(
            got.astype(np.float64),
            wanted.astype(np.float64),
            rtol=relative,
            atol=absolute,
            equal_nan=True,
        )


def call_of(name, case):
    """Write the call as a learner would: short arguments in full, long or hidden ones by their
    shape.
    """
    texts = arguments_text(case.inputs.get("forward", case.inputs), case.visible)
    if case.probe == "returned_for_generator":
        key, _, value = texts[0].partition("=")
        texts[0] = f"{key}=iter({value or key})"
    call = f"({', '.join(texts)})"
    if "constructor" not in case.inputs:
        return f"{name}{call}"
    made = f"{name}({', '.join(arguments_text(case.inputs['constructor'], True))})"
    if "forward" not in case.inputs:
        return made
    method = f".{case.inputs['method']}" if "method" in case.inputs else ""
    return f"{made}{'.train()' if case.inputs.get('train') else ''}{method}{call}"


def arguments_text(arguments, shown):
    """Write each argument of a call."""
    return [argument_text(key, value, shown) for key, value in arguments.items()]


def argument_text(name, value, shown):
    """Write one argument of a call."""
    if isinstance(value, np.ndarray | Tensor):
        array = numbers(value)
        usual = (
            ("float64", "int64") if isinstance(value, np.ndarray) else ("float32", "int64", "bool")
        )
        dtype = "" if dtype_name(value) in usual else f"{dtype_name(value)} "
        if shown and array.size <= SHOWN_INLINE and (array.size or array.ndim == 1):
            return f"{name}={dtype}{array_text(array)}"
        return f"{dtype}{name} of shape {array.shape}"
    if value is None or isinstance(value, int | float):
        return f"{name}={value}"
    if isinstance(value, dict) and not value.keys().isdisjoint(
        ("script", "stand_in")
    ):  # a description of a model
        return name
    text = repr(value)
    return f"{name}={text}" if shown and len(text) <= 72 else name


def array_text(array):
    """Write a short array as nested lists, with six significant digits."""
    if array.ndim and array.size:
        return f"[{', '.join(map(array_text, array))}]"
    return str(array.tolist()) if array.dtype.kind in "biu" or array.ndim else f"{array:.6g}"


def in_places(wrong):
    """Say how many of the numbers are meant: `in 2 of 6 places`."""
    return f"in {int(wrong.sum())} of {wrong.size} places" if wrong.size > 1 else "there"
