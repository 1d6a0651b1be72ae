"""Judge what was observed of a learner's function: one verdict a case, in words that help.

The comparison (`autograder.shared.findings`) looks at one thing after the other and stops at the
first that is wrong. Where the observation is that of a known misconception, its hint says where to
look. The same code judges in the learner's notebook and in the grader, always on data, never beside
the code that it judges.
"""

from dataclasses import dataclass

from autograder.shared.findings import find, meaning, parts_that_are_right, stub_in, wrong_numbers
from autograder.shared.resemblance import resemblances
from autograder.shared.substance import has_substance, in_the_form_of, is_ordinary
from autograder.shared.tolerances import same
from autograder.shared.wire import encode, printable
from autograder.shared.wording import call_of

LONGEST_CALL = 96  # characters; a longer one comes after what was found
LONGEST_SENTENCE = 1_000  # characters; what a learner's code raises may be of any length
MOST_NAMES = 50  # of arguments, or of an exception's ancestors
# A learner's code may name things so that a message looks like two.
ONE_LINE = str.maketrans("\n\t", "  ")
ONE_IN = 20  # failed cases in which two misconceptions at once may do otherwise than the learner
PATIENCE = 2  # failed cases by which a misconception may fall behind before it is given up


@dataclass(frozen=True)
class Verdict:
    """The outcome of one case.

    Args:
        title: what a right answer does in this case.
        passed: whether the observation is right.
        weight: the case's share of the points, relative to its neighbours.
        message: what was tried, what was seen, where to look; empty where it passed.
        misconception: index of the misconception that the observation looks like, or None.
        earned: the part of its weight that it earns, from 0 to 1.
    """

    title: str
    passed: bool
    weight: int
    message: str = ""
    misconception: int | None = None
    earned: float = 0.0


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
    pairs = [
        (case, fitted(case, compared(case.inputs, seen)))
        for case, seen in zip(exercise.cases, observations, strict=True)
    ]
    findings = [find(exercise, case, seen) for case, seen in pairs]
    parts = [
        parts_that_are_right(exercise, case, seen) if found else []
        for found, (case, seen) in zip(findings, pairs, strict=True)
    ]
    answers = any(
        (found is None or right) and is_ordinary(case)
        for found, right, (case, _) in zip(findings, parts, pairs, strict=True)
    )
    lookalikes = look_alike(exercise, pairs, findings)
    relations = related(exercise, pairs, findings)
    verdicts = []
    for (case, seen), found, right, lookalike, relation in zip(
        pairs, findings, parts, lookalikes, relations, strict=True
    ):
        if found is None and not answers:
            found = "this counts once the function also returns a right answer elsewhere"
        if found is None:
            verdicts.append(Verdict(case.title, True, case.weight, earned=1.0))
            continue
        if lookalike is None and (more := relation or meaning(case.expected, seen)):
            found = f"{found}; {more}"
        if right:
            found = f"{found}; what it returns as {' and '.join(right)} is right, and counts"
        earned = len(right) / max(1, len(exercise.returns))
        told = stub_in(seen)[:1]  # the sentence names it already
        hint = hint_for(exercise, lookalike, [each for each in suspects if each not in told])
        message = message_about(exercise, case, seen, found, hint)
        verdicts.append(Verdict(case.title, False, case.weight, message, lookalike, earned))
    return verdicts


def related(exercise, pairs, findings):
    """Say for each case how its wrong numbers are related to the right ones; "" where there is
    nothing to say.
    """
    clauses = [""] * len(pairs)
    compared = {
        index: (case.inputs.get("forward", case.inputs), wrong)
        for index, (case, seen) in enumerate(pairs)
        if findings[index] and (wrong := wrong_numbers(exercise, case, seen))
    }
    for index, clause in zip(compared, resemblances(list(compared.values())), strict=True):
        clauses[index] = clause
    return clauses


def message_about(exercise, case, seen, found, hint):
    """Return what was tried, what was found and the hint, on one line; a long call comes last."""
    if "unfit" in seen or stub_in(seen):
        return f"{sentence(f'{exercise.name} {found}')}{hint}"
    call = call_of(exercise.name, case)
    if len(call) <= LONGEST_CALL:
        return f"{sentence(f'{call}: {found}')}{hint}"
    return f"{sentence(f'{exercise.name}: {found}')}{hint} {sentence(f'The call was {call}')}"


def sentence(text):
    """Return a text of any length as one sentence on one line."""
    text = printable(text[:LONGEST_SENTENCE]).translate(ONE_LINE)
    return text if text.endswith("?") else f"{text}."


def hint_for(exercise, lookalike, suspects):
    """Return where to look, with a space before it, or "" where nothing is known.

    Args:
        lookalike: index of the misconception that was recognised, or None.
        suspects: see `judge`; they come first.
    """
    if len(suspects) == 1:
        return f" It calls {suspects[0]}, which fails a check of its own: look there first."
    if suspects:
        names = " and ".join(suspects)
        return f" It calls {names}, which fail checks of their own: look there first."
    return "" if lookalike is None else f" {exercise.hints[lookalike]}"


def compared(inputs, seen):
    """Say of arguments that came back from a call which are no longer what was sent; that nothing
    has changed is not to be taken from anybody.

    Args:
        inputs: of the case.
        seen: an observation; that of any other probe stays as it is.
    """
    match seen:
        case {"after": dict(after)}:
            sent = inputs.get("forward", inputs)
            stayed = {name for name in sent if name in after and equal(after[name], sent[name])}
            return {"changed": [name for name in sent if name not in stayed]}
        case {"changed": _}:
            return {}
        case _:
            return seen


def equal(one, other):
    """Return whether two plain values are the same to the bit."""
    return encode(one) == encode(other)


def fitted(case, seen):
    """Tidy an observation, and bring it into the form that is wanted unless the form counts."""
    seen = tidy(seen)
    return seen if case.exact else in_the_form_of(case.expected, seen)


def tidy(seen):
    """Bring an observation, which may come from anybody, into the form that
    `autograder.shared.probes.observe` gives it.
    """
    match seen:
        case {"unfit": str(reason)}:
            return {"unfit": reason[:400]}
        case {"raised": dict(raised)}:
            return {"raised": tidy_exception(raised)}
        case {"changed": list(names)}:
            names = names[:MOST_NAMES]  # what comes from anybody may have a million
            return {"changed": [n[:80] if isinstance(n, str) else "an argument" for n in names]}
        case {"result": result, "noted": dict(noted)}:
            return {"result": result, "noted": noted}
        case {"result": result}:
            return {"result": result}
        case {"noted": dict(noted)}:
            return {"noted": noted}
        case _:
            return {}


def tidy_exception(raised):
    """Bring the note of an exception into the form that
    `autograder.shared.probes.note_of_exception` gives it.
    """
    keys = ("type", "message", "source", "function", "meant")
    texts = {key: raised.get(key) for key in keys}
    bases, line = raised.get("bases"), raised.get("line")
    return {
        **{key: text[:300] if isinstance(text, str) else "" for key, text in texts.items()},
        **{key: raised.get(key) is True for key in ("stub", "deliberate")},
        "bases": [base for base in bases[:MOST_NAMES] if isinstance(base, str)]
        if isinstance(bases, list)
        else [],
        "line": line if isinstance(line, int) else None,
    }


def share(verdicts):
    """Return the part of the points that the verdicts are worth, from 0 to 1."""
    return sum(verdict.weight * verdict.earned for verdict in verdicts) / sum(
        verdict.weight for verdict in verdicts
    )


def look_alike(exercise, pairs, findings):
    """Say for each failed case which misconception gives the same observation there.

    A hint that does not fit is worse than none. So a misconception is considered only if it fails
    in no case that the learner passes, and does what the learner does in at least half of the cases
    in which it fails. Of several, the one that agrees in the most cases is meant.

    Where none agrees in all failed cases, two at once may (see `two_at_once`); of these, the one is
    meant that fails in the case by itself, where both together do what the learner does.

    To ask a misconception takes as long as to ask the learner, and there are many of them. So each
    is asked in the failed cases first, and no further once it has differed there too often.

    Returns:
        list of int or None, one for each case.
    """
    alike = [None] * len(pairs)
    if not any(findings) or all(stub_in(seen) for _, seen in pairs):
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
    if max(most) < len(failed) and (both := two_at_once(exercise, pairs, failed, passed)):
        for index in failed:
            case, seen = pairs[index]
            if same_observation(answer_of_two(case, both), seen, case.exact):
                alike[index] = next((b for b in both if fails_in(exercise, case, b)), both[0])
    return alike


def two_at_once(exercise, pairs, failed, passed):
    """Return two misconceptions that do together what the learner did, or None.

    Neither may fail in a case that the learner passes. Together they must do the same as the
    learner in the first failed case, and in nineteen of twenty: what nan or an infinity becomes
    depends on how a formula is written. Who returns nothing anywhere has not thought two things,
    and of an answer that cannot be asked no more is seen than that.
    """
    if "unfit" in pairs[failed[0]][1]:
        return None
    if not any(has_substance(pairs[index][1].get("result")) for index in failed):
        return None
    possible = {
        misconception
        for misconception in range(len(exercise.hints))
        if not any(fails_in(exercise, pairs[index][0], misconception) for index in passed)
    }
    best, room = None, len(failed) // ONE_IN
    for both in exercise.combinations:
        if possible.issuperset(both):
            apart = how_often_apart([pairs[index] for index in failed], both, room)
            if apart is not None:
                best, room = both, apart - 1
        if room < 0:
            break
    return best


def how_often_apart(pairs, both, room):
    """Return in how many failed cases an answer with two misconceptions does otherwise than the
    learner; None if these are more than there is room for, or the first case is one of them.
    """
    apart = 0
    for case, seen in pairs:
        if not same_observation(answer_of_two(case, both), seen, case.exact):
            apart += 1
            if apart > room or case is pairs[0][0]:
                return None
    return apart


def answer_of_two(case, both):
    """Return what an answer with two misconceptions does in a case."""
    if both not in case.wrong_answers:
        case.wrong_answers[both] = fitted(case, case.lookalike(both))
    return case.wrong_answers[both]


def where_it_agrees(exercise, pairs, failed, misconception):
    """Return the failed cases in which a misconception does what the learner did; none, if they are
    too few, or if it raises the same exceptions but returns something else: sizes that do not fit
    sound alike, whatever the mistake is.
    """
    agrees, others = [], 0
    for done, index in enumerate(failed, 1):
        case, seen = pairs[index]
        other = wrong_answer(exercise, case, misconception)
        if other is not None:
            if same_observation(other, seen, case.exact):
                agrees.append(index)
            else:
                others += 1
        if others > len(agrees) + min(PATIENCE, len(failed) - done):
            return []
    returned = any("raised" not in pairs[index][1] for index in agrees)
    return agrees if returned or not others else []


def fails_in(exercise, case, misconception):
    """Return whether a misconception fails in a case."""
    return wrong_answer(exercise, case, misconception) is not None


def wrong_answer(exercise, case, misconception):
    """Return what a misconception answers in a case, or None where that is right."""
    if misconception not in case.wrong_answers:
        other = fitted(case, case.lookalike(misconception))
        fails = find(exercise, case, other) is not None
        case.wrong_answers[misconception] = other if fails else None
    return case.wrong_answers[misconception]


def same_observation(one, other, exact):
    """Return whether two observations are equal up to rounding.

    Exceptions are alike if their types are, and either their messages too or both were raised on
    purpose, in words of one's own.
    """
    if "raised" not in one or "raised" not in other:
        return same(one, other, exact)
    ours, theirs = one["raised"], other["raised"]
    return ours["type"] == theirs["type"] and (
        ours["message"] == theirs["message"] or (ours["deliberate"] and theirs["deliberate"])
    )
