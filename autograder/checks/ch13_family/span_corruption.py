"""Cutting spans out of a text, each with a sentinel in its place."""

from autograder.authoring.checks import Checks
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import arguments_after
from solutions.ch13_family import span_corruption


@drawn
def text(rng, *lengths):
    """Draw a text with spans, by the lengths of what is kept (positive) or cut out (negative)."""
    token_ids, spans = [], []
    for length in lengths:
        words = rng.integers(4, 40, abs(length)).tolist()
        if length < 0:
            spans.append((len(token_ids), len(token_ids) - length))
        token_ids += words
    return {
        "token_ids": token_ids,
        "spans": spans,
        "first_sentinel": integer(rng, 60, 90),
        "eos_id": integer(rng, 1, 4),
    }


def corruption_with(
    sentinel=lambda first, index: first - index,
    begins=lambda start: start,
    ends=lambda end: end,
    last=lambda sentinels: sentinels,
    input_end=lambda eos: [eos],
    target_end=lambda eos: [eos],
    marked=lambda sentinel: [sentinel],
    announced=lambda sentinel, words: [sentinel, *words],
):
    """Make a `span_corruption` from its rules."""

    def span_corruption(token_ids, spans, first_sentinel, eos_id):
        inputs, targets, done = [], [], 0
        for index, (start, end) in enumerate(spans):
            name = sentinel(first_sentinel, index)
            start, end = begins(start), ends(end)
            inputs += [*token_ids[done:start], *marked(name)]
            targets += announced(name, token_ids[start:end])
            done = end
        final = last([sentinel(first_sentinel, len(spans))])
        return (
            [*inputs, *token_ids[done:], *input_end(eos_id)],
            [*targets, *final, *target_end(eos_id)],
        )

    return span_corruption


checks = Checks(span_corruption, family=corruption_with, returns=("inputs", "targets"))
shown, hidden, wrong, right = checks.words

shown("one span of one word", text(2, -1, 3), weight=2)
shown("one span of three words", text(2, -3, 2), weight=2)
shown("two spans", text(2, -1, 2, -2, 2), weight=3)
shown("a span at the beginning", text(-2, 3))
shown("a span at the end", text(3, -2))
shown("two spans that touch each other", text(1, -2, -1, 2), weight=2)
shown("no span at all", text(4))
shown("the arguments stay as they were", text(2, -1, 2, -2, 2), probe=arguments_after)
hidden("four spans of different lengths", text(3, -2, 1, -1, 2, -4, 1, -3, 2), weight=3)
hidden("a span at each end", text(-1, 4, -2), weight=2)
hidden("three spans that touch each other", text(2, -1, -3, -2, 1), weight=2)
hidden("the whole text", text(-5))
hidden("an empty text", text())
hidden("a text of spans alone", text(-2, -1, -3))
hidden("many spans of a long text", text(*[3, -1, 4, -2] * 6), weight=2)
hidden(
    "the arguments of a longer text stay as they were", text(-1, 4, -2, 1), probe=arguments_after
)


wrong(
    "sentinels count up",
    "The first sentinel is right, but the second is not. In which direction do they count?",
    sentinel=lambda first, index: first + index,
)


wrong(
    "one sentinel stands for every span",
    "Two of your spans have the same sentinel. How can the model tell which words belong where?",
    sentinel=lambda first, index: first,
)


wrong(
    "the sentinels count from 1",
    "Which sentinel stands for the first span? Yours is one too far.",
    sentinel=lambda first, index: first - index - 1,
)


@wrong(
    "the first span takes the last sentinel",
    "Your spans have their sentinels in the opposite order. Which span has `first_sentinel`?",
)
def from_behind(token_ids, spans, first_sentinel, eos_id):
    names = {first_sentinel - index: first_sentinel - index for index in range(len(spans))}
    flipped = dict(zip(names, reversed(names.values()), strict=True))
    sides = span_corruption(token_ids, spans, first_sentinel, eos_id)
    return tuple([flipped.get(each, each) for each in side] for side in sides)


wrong(
    "the targets end with the last span",
    """Your targets stop after the last span. How does the model say that no further span comes?""",
    last=lambda sentinels: [],
)


wrong(
    "the inputs need no end",
    "Compare the end of your inputs with the statement.",
    input_end=lambda eos: [],
)


wrong(
    "the targets need no end",
    "Compare the end of your targets with the statement.",
    target_end=lambda eos: [],
)


wrong(
    "the end of a span belongs to it",
    "Your spans take a word more than they should. Is `end` itself part of a span?",
    ends=lambda end: end + 1,
)


wrong(
    "a span begins after its start",
    "Your spans leave their first word in the inputs. Is `start` itself part of a span?",
    begins=lambda start: start + 1,
)


wrong(
    "what is cut out leaves no trace",
    "Where in your inputs can the model see that something is missing?",
    marked=lambda sentinel: [],
)


wrong(
    "the targets are the words alone",
    "In your targets, where does one span end and the next begin?",
    announced=lambda sentinel, words: list(words),
)


wrong(
    "a sentinel follows its words",
    "In your targets, does the sentinel come before the words of its span, or after them?",
    announced=lambda sentinel, words: [*words, sentinel],
)


@wrong(
    "each word that is cut out has a sentinel",
    "Your result is right for spans of one word. How many sentinels stand for a span of three?",
)
def word_by_word(token_ids, spans, first_sentinel, eos_id):
    single = [(place, place + 1) for start, end in spans for place in range(start, end)]
    return span_corruption(token_ids, single, first_sentinel, eos_id)


@wrong(
    "a sentinel repeats for each word of its span",
    "How many places does a span take in the inputs, however long it is?",
)
def as_long_as_before(token_ids, spans, first_sentinel, eos_id):
    inputs = list(token_ids)
    for index, (start, end) in enumerate(spans):
        inputs[start:end] = [first_sentinel - index] * (end - start)
    return [*inputs, eos_id], span_corruption(token_ids, spans, first_sentinel, eos_id)[1]


@wrong(
    "spans that touch are one",
    """You have joined two spans, because nothing is between them. Each span of the argument has a
    sentinel of its own.""",
)
def with_spans_joined(token_ids, spans, first_sentinel, eos_id):
    joined = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return span_corruption(token_ids, joined, first_sentinel, eos_id)


@wrong(
    "places stay the same after a cut",
    """The first span is right. You have shortened the list already when the second is cut: do its
    places still mean the same words?""",
)
def cutting_a_shrinking_list(token_ids, spans, first_sentinel, eos_id):
    inputs, targets = list(token_ids), []
    for index, (start, end) in enumerate(spans):
        targets += [first_sentinel - index, *inputs[start:end]]
        inputs[start:end] = [first_sentinel - index]
    return [*inputs, eos_id], [*targets, first_sentinel - len(spans), eos_id]


@wrong(
    "what follows the last span is forgotten",
    "Your inputs stop at the last span. What comes after it in the text?",
)
def without_the_rest(token_ids, spans, first_sentinel, eos_id):
    end = spans[-1][1] if spans else 0
    return span_corruption(token_ids[:end], spans, first_sentinel, eos_id)


@wrong(
    "the caller's list is free to be cut",
    """The result is right, but compare `token_ids` before and after the call. Which of your lines
    writes into it?""",
)
def in_place(token_ids, spans, first_sentinel, eos_id):
    result = span_corruption(token_ids, spans, first_sentinel, eos_id)
    for index in reversed(range(len(spans))):
        start, end = spans[index]
        token_ids[start:end] = [first_sentinel - index]
    return result


checks.usual("in another order")


@right
def from_the_end(token_ids, spans, first_sentinel, eos_id):
    inputs, targets = [*token_ids, eos_id], [first_sentinel - len(spans), eos_id]
    for index in reversed(range(len(spans))):
        start, end = spans[index]
        targets = [first_sentinel - index, *token_ids[start:end], *targets]
        inputs[start:end] = [first_sentinel - index]
    return inputs, targets


@right
def place_by_place(token_ids, spans, first_sentinel, eos_id):
    """Asks of each word to which span it belongs."""
    span_of = {place: i for i, span in enumerate(spans) for place in range(*span)}
    inputs, targets, seen = [], [], set()
    for place, token_id in enumerate(token_ids):
        span = span_of.get(place)
        if span is None:
            inputs.append(token_id)
            continue
        if span not in seen:
            seen.add(span)
            inputs.append(first_sentinel - span)
            targets.append(first_sentinel - span)
        targets.append(token_id)
    return [*inputs, eos_id], [*targets, first_sentinel - len(spans), eos_id]


@right
def by_boundaries(token_ids, spans, first_sentinel, eos_id):
    """Takes what lies between the spans, and what lies in them, in turn."""
    starts = [start for start, _ in spans] + [len(token_ids)]
    ends = [0] + [end for _, end in spans]
    inputs, targets, sentinel = [], [], first_sentinel
    for index, (end, start) in enumerate(zip(ends, starts, strict=True)):
        inputs.extend(token_ids[end:start])
        targets.append(sentinel)
        if index < len(spans):
            inputs.append(sentinel)
            targets.extend(token_ids[slice(*spans[index])])
        sentinel -= 1
    inputs.append(eos_id)
    targets.append(eos_id)
    return inputs, targets
