"""The best of several hypotheses that live side by side."""

import heapq
import math
from itertools import pairwise

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.checks.ch09_training import BOS, EOS
from autograder.shared.probes import searched, searched_among_equals, table_reader
from solutions import ch09_training as reference

CLEAR = 1e-4  # hypotheses whose scores are closer than this might change places by rounding
MOST_TABLES = 3000  # tried until one is clear


@drawn
def search_case(
    rng,
    *wrong,
    right=(),
    vocab_size=6,
    rows=11,
    end=0.0,
    first_end=None,
    impossible=0.0,
    dtype=torch.float64,
    scale=1.0,
    **arguments,
):
    """Make the inputs of a case: a table of log-probabilities whose best sentence is clear.

    Args:
        wrong: searches that answer otherwise here.
        right: searches, right or wrong, that answer as they should here.
        vocab_size, rows: of the table; see `autograder.shared.probes.table_reader`.
        end: added to the logit of the end, everywhere.
        first_end: added to it after `<bos>` instead, where it is not None.
        impossible: the part of the words that cannot follow, in each row.
        scale: how far the logits lie apart.
        arguments: those of `beam_search`, in order, without gaps.
    """
    bos_id, eos_id = arguments.get("bos_id", BOS), arguments.get("eos_id", EOS)

    def draw(rng):
        logits = normal(rng, 2, rows, vocab_size, dtype=torch.float64, scale=scale)
        logits[1:, :, eos_id] += end
        logits[0, :, eos_id] += end if first_end is None else first_end
        never = torch.from_numpy(rng.random(logits.shape) < impossible)
        never[..., eos_id] = False
        table = logits.masked_fill(never, -math.inf).log_softmax(dim=-1).to(dtype)
        return {"step_log_probs": {"stand_in": "table", "table": table}, **arguments}

    def answer(search, inputs):
        try:
            return search(
                table_reader(inputs["step_log_probs"]["table"], bos_id), *list(inputs.values())[1:]
            )
        except (RuntimeError, ValueError):
            return None

    for _ in range(MOST_TABLES):
        drawn = draw(rng)
        table = drawn["step_log_probs"]["table"]
        if not is_clear(table_reader(table, bos_id), **arguments):
            continue
        best = answer(reference.beam_search, drawn)
        if all(answer(each, drawn) == best for each in (without_the_impossible, *right)) and all(
            answer(each, drawn) != best for each in wrong
        ):
            return drawn
    raise RuntimeError(f"no table tells {', '.join(each.__name__ for each in wrong)} apart")


def is_clear(step_log_probs, bos_id=BOS, eos_id=EOS, beam_size=4, max_len=64, length_penalty=0.6):
    """Return whether rounding cannot change a search: no two candidates of a step, nor the best two
    results, are close.
    """
    live, finished = [([bos_id], 0.0)], []
    count = 2 * beam_size if beam_size > 1 else 1
    while live and len(live[0][0]) < max_len:
        candidates = sorted(extensions_of(step_log_probs, live), reverse=True)
        possible = [total for total, _ in candidates[: count + 1] if total > -math.inf]
        if not all_apart(possible):
            return False
        live, ended = sorted_out(candidates[:count], eos_id, beam_size)
        finished += ended
    scores = [penalised(total, len(ids) - 1, length_penalty) for ids, total in finished or live]
    return all_apart(sorted(scores, reverse=True)[:2])


def all_apart(falling):
    return all(one - other > CLEAR for one, other in pairwise(falling))


def extensions_of(step_log_probs, live):
    """Return (log-probability, ids) of each live hypothesis with each word after it."""
    log_probs = step_log_probs(torch.tensor([ids for ids, _ in live])).tolist()
    return [
        (so_far + log_prob, [*ids, word])
        for (ids, so_far), row in zip(live, log_probs, strict=True)
        for word, log_prob in enumerate(row)
    ]


def sorted_out(candidates, eos_id, room):
    """Return those that live on, as many as there is room for, and those that ended."""
    live = [(ids, total) for total, ids in candidates if ids[-1] != eos_id]
    return live[:room], [(ids, total) for total, ids in candidates if ids[-1] == eos_id]


def penalised(log_prob, length, length_penalty):
    return log_prob / ((5 + length) / 6) ** length_penalty


@drawn
def equally_good(rng, lengths, vocab_size=7, **arguments):
    """Make the inputs of a case in which all words are equally likely, and the end is likely after
    so many words, elsewhere not.
    """
    table = torch.full((12, 1, vocab_size), 0.0, dtype=torch.float64)
    table[:, 0, arguments.get("eos_id", EOS)] = -6.0
    for length in lengths:
        table[length, 0, arguments.get("eos_id", EOS)] = float(rng.uniform(1.5, 3))
    return {
        "step_log_probs": {"stand_in": "table", "table": table.log_softmax(dim=-1)},
        **arguments,
    }


def beam_with(
    start=lambda bos_id, beam_size: [([bos_id], 0.0)],
    candidates=extensions_of,
    taken=lambda beam_size, vocab_size: 2 * beam_size if beam_size > 1 else 1,
    share=lambda found, eos_id, beam_size, finished: sorted_out(found, eos_id, beam_size),
    limit=lambda max_len: max_len,
    enough=lambda finished, beam_size: False,
    pool=lambda finished, live: finished or live,
    score=lambda total, length, length_penalty: penalised(total, length, length_penalty),
    width=lambda beam_size: beam_size,
    special=lambda bos_id, eos_id: (bos_id, eos_id),
    finish=lambda ids, eos_id: ids[1:-1] if ids[-1] == eos_id else ids[1:],
):
    """Make a beam search from its rules."""

    def beam_search(
        step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
    ):
        bos_id, eos_id = special(bos_id, eos_id)
        beam_size = width(beam_size)
        live, finished = start(bos_id, beam_size), []
        while live and len(live[0][0]) < limit(max_len) and not enough(finished, beam_size):
            found = sorted(candidates(step_log_probs, live), reverse=True)
            vocab_size = len(found) // len(live)
            live, ended = share(found[: taken(beam_size, vocab_size)], eos_id, beam_size, finished)
            finished += ended
        ids, _ = max(
            pool(finished, live), key=lambda each: score(each[1], len(each[0]) - 1, length_penalty)
        )
        return finish(ids, eos_id)

    return beam_search


def until_enough_live(found, eos_id, beam_size, finished):
    live, ended = [], []
    for total, ids in found:
        if len(live) == beam_size:
            break
        (ended if ids[-1] == eos_id else live).append((ids, total))
    return live, ended


def less_room_for_each_finished(found, eos_id, beam_size, finished):
    live, ended = [], []
    for total, ids in found:
        if len(live) + len(ended) + len(finished) == beam_size:
            break
        (ended if ids[-1] == eos_id else live).append((ids, total))
    return live, ended


def finished_ones_take_places(found, eos_id, beam_size, finished):
    return sorted_out(found[:beam_size], eos_id, beam_size)


def the_end_is_a_word(found, eos_id, beam_size, finished):
    """What has ended is put aside, and lives on as well."""
    ended = [(ids, total) for total, ids in found if ids[-1] == eos_id]
    return [(ids, total) for total, ids in found][:beam_size], ended


def each_by_its_best_word(step_log_probs, live):
    """Branches at the first step alone."""
    every = extensions_of(step_log_probs, live)
    if len(live) == 1:
        return every
    return [max(each for each in every if each[1][:-1] == ids) for ids, _ in live]


def by_the_last_word_alone(step_log_probs, live):
    return extensions_of(step_log_probs, [(ids, 0.0) for ids, _ in live])


def by_added_probabilities(step_log_probs, live):
    return [
        (so_far + math.exp(log_prob), longer)
        for ids, so_far in live
        for log_prob, longer in extensions_of(step_log_probs, [(ids, 0.0)])
    ]


def by_penalised_words(step_log_probs, live):
    """Divides by the length again at each step."""
    return [(total / len(ids) * 2, ids) for total, ids in extensions_of(step_log_probs, live)]


def start_with_copies(bos_id, beam_size):
    return [([bos_id], 0.0)] * beam_size


def that_is_too_wide(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    if max_len > 1:
        step_log_probs(torch.tensor([[bos_id]])).flatten().topk(
            2 * beam_size if beam_size > 1 else 1
        )
    return reference.beam_search(step_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty)


def penalty_by_length(total, length, length_penalty):
    return total / max(length, 1) ** length_penalty


def penalty_multiplied(total, length, length_penalty):
    return total * ((5 + length) / 6) ** length_penalty


greedy = beam_with(width=lambda beam_size: 1)
first_end_wins = beam_with(enough=lambda finished, beam_size: bool(finished))
stops_when_enough_ended = beam_with(enough=lambda finished, beam_size: len(finished) >= beam_size)
best_extensions_alone = beam_with(share=finished_ones_take_places)
shrinking = beam_with(share=less_room_for_each_finished)
stops_looking = beam_with(share=until_enough_live)
ends_that_live = beam_with(share=the_end_is_a_word)
two_when_greedy = beam_with(taken=lambda beam_size, vocab_size: 2 * beam_size)
as_many_as_words = beam_with(
    taken=lambda beam_size, vocab_size: min(2 * beam_size, vocab_size) if beam_size > 1 else 1
)
everything_is_looked_at = beam_with(
    taken=lambda beam_size, vocab_size: None if beam_size > 1 else 1
)
live_ones_compete = beam_with(pool=lambda finished, live: finished + live)
live_ones_alone = beam_with(pool=lambda finished, live: live or finished)
likeliest = beam_with(score=lambda total, length, length_penalty: total)
divided_by_length = beam_with(score=penalty_by_length)
multiplied = beam_with(score=penalty_multiplied)
end_not_counted = beam_with(
    score=lambda total, length, length_penalty: penalised(total, length - 1, length_penalty)
)
beginning_counted = beam_with(
    score=lambda total, length, length_penalty: penalised(total, length + 1, length_penalty)
)
always_six_tenths = beam_with(
    score=lambda total, length, length_penalty: penalised(total, length, 0.6)
)
one_too_long = beam_with(limit=lambda max_len: max_len + 1)
one_too_short = beam_with(limit=lambda max_len: max(1, max_len - 1))
ids_1_and_2 = beam_with(special=lambda bos_id, eos_id: (1, 2))
last_word_alone = beam_with(candidates=by_the_last_word_alone)
added_probabilities = beam_with(candidates=by_added_probabilities)
penalised_on_the_way = beam_with(candidates=by_penalised_words)
side_by_side = beam_with(candidates=each_by_its_best_word)
copies = beam_with(start=start_with_copies)
with_beginning = beam_with(finish=lambda ids, eos_id: ids[:-1] if ids[-1] == eos_id else ids)
with_end = beam_with(finish=lambda ids, eos_id: ids[1:])
without_last_word = beam_with(finish=lambda ids, eos_id: ids[1:-1])


def possible_extensions(step_log_probs, live):
    return [each for each in extensions_of(step_log_probs, live) if each[0] > -math.inf]


def greedy_by_argmax(step_log_probs, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        ids.append(step_log_probs(torch.tensor([ids]))[0].argmax().item())
        if ids[-1] == eos_id:
            return ids[1:-1]
    return ids[1:]


def penalty(length_penalty, beam_size=3, max_len=7):
    """Return arguments up to the last."""
    return {
        "bos_id": BOS,
        "eos_id": EOS,
        "beam_size": beam_size,
        "max_len": max_len,
        "length_penalty": length_penalty,
    }


def sizes(beam_size, max_len):
    return {"bos_id": BOS, "eos_id": EOS, "beam_size": beam_size, "max_len": max_len}


def equal(length_penalty, beam_size, max_len):
    return penalty(length_penalty, beam_size, max_len)


checks = Checks(reference.beam_search, shortcuts=("BeamSearchScorer", "generate"), probe=searched)
shown, hidden, wrong, right = checks.words

shown(
    "a beam of two finds what a greedy search does not",
    search_case(greedy, side_by_side, copies, with_end, **sizes(2, 6)),
    weight=2,
)
shown(
    "a beam of three",
    search_case(best_extensions_alone, last_word_alone, added_probabilities, **sizes(3, 7)),
    weight=2,
)
shown("beam_size=1 is greedy", search_case(two_when_greedy, **sizes(1, 8)))
shown(
    "the best sentence ends after others did",
    search_case(
        stops_when_enough_ended, first_end_wins, shrinking, scale=2.0, **penalty(1.0, 2, 8)
    ),
)
shown(
    "one that has ended leaves its place to another",
    search_case(best_extensions_alone, right=[stops_looking], end=1.0, **penalty(4.0, 2, 6)),
)
shown("an end that comes late in the order", search_case(stops_looking, end=-0.5, **sizes(2, 6)))
shown(
    "a finished one wins over a likelier one that lives",
    search_case(live_ones_compete, live_ones_alone, end=-1.5, **sizes(3, 5)),
)
shown("nothing ends", search_case(without_last_word, vocab_size=8, end=-60.0, **sizes(3, 6)))
shown(
    "a beam wider than the vocabulary",
    search_case(that_is_too_wide, as_many_as_words, vocab_size=5, rows=7, **sizes(8, 5)),
)
shown("length_penalty=0", search_case(always_six_tenths, **penalty(0.0)))
shown(
    "a large length_penalty",
    search_case(
        beginning_counted,
        end_not_counted,
        divided_by_length,
        multiplied,
        likeliest,
        **penalty(2.0, 3, 6),
    ),
)
shown("max_len=2 leaves room for one word", search_case(one_too_long, end=-60.0, **sizes(2, 2)))
shown("max_len=1 leaves room for none", search_case(one_too_long, end=-60.0, **sizes(2, 1)))
shown("the end is by far the best first word", search_case(first_end=6.0, **sizes(3, 5)))
shown(
    "the end is the best first word, and the best sentence is longer",
    search_case(first_end_wins, end=1.0, **penalty(4.0, 3, 7)),
)
shown(
    "words that cannot follow",
    search_case(greedy, multiplied, right=[likeliest], impossible=0.4, **penalty(1.0, 2, 6)),
)
shown(
    "other ids for beginning and end",
    search_case(ids_1_and_2, bos_id=3, eos_id=0, beam_size=2, max_len=6),
)
shown(
    "several are equally good", equally_good((3,), **equal(0.6, 3, 6)), probe=searched_among_equals
)
hidden("the arguments by default", search_case(greedy, end=1.5), weight=2)
hidden(
    "a beam of four",
    search_case(
        best_extensions_alone, last_word_alone, greedy, vocab_size=9, rows=23, **sizes(4, 8)
    ),
    weight=2,
)
hidden(
    "two of many words",
    search_case(greedy, side_by_side, copies, vocab_size=12, rows=17, end=1.0, **sizes(2, 9)),
    weight=2,
)
hidden("greedy, another table", search_case(two_when_greedy, vocab_size=8, **sizes(1, 9)))
hidden(
    "the best one ends late",
    search_case(
        stops_when_enough_ended, first_end_wins, shrinking, scale=2.0, **penalty(1.2, 3, 10)
    ),
)
hidden(
    "those that have ended leave their places to others",
    search_case(best_extensions_alone, right=[stops_looking], end=1.0, **penalty(4.0, 3, 7)),
)
hidden(
    "an end below those that live",
    search_case(stops_looking, vocab_size=8, end=-0.5, **penalty(0.3, 3, 6)),
)
hidden(
    "what lives at the end never wins over what has finished",
    search_case(live_ones_compete, live_ones_alone, vocab_size=8, end=-1.5, **penalty(0.0, 2, 6)),
)
hidden("nothing ends, longer", search_case(without_last_word, end=-70.0, **sizes(2, 12)))
hidden(
    "room for every sentence",
    search_case(that_is_too_wide, as_many_as_words, vocab_size=4, rows=9, **sizes(50, 4)),
)
hidden("no length_penalty, a beam of two", search_case(always_six_tenths, **penalty(0.0, 2, 8)))
hidden(
    "longer is better",
    search_case(
        beginning_counted,
        end_not_counted,
        divided_by_length,
        multiplied,
        likeliest,
        end=1.0,
        **penalty(3.0, 2, 8),
    ),
)
hidden("one word alone", search_case(one_too_long, vocab_size=9, end=-60.0, **sizes(3, 2)))
hidden("no room for a word", search_case(one_too_long, vocab_size=10, end=-60.0, **sizes(4, 1)))
hidden("a sentence of no words", search_case(first_end=7.0, **sizes(4, 6)))
hidden(
    "half of the words cannot follow",
    search_case(
        greedy,
        multiplied,
        right=[likeliest],
        vocab_size=9,
        impossible=0.5,
        **penalty(1.0, 3, 7),
    ),
)
hidden(
    "ids that change places", search_case(ids_1_and_2, bos_id=2, eos_id=1, beam_size=3, max_len=6)
)
hidden("log-probabilities in float32", search_case(greedy, dtype=torch.float32, **sizes(3, 6)))
hidden(
    "many are equally good", equally_good((2, 4), **equal(1.0, 4, 8)), probe=searched_among_equals
)
hidden(
    "equally good, and none ends", equally_good((), **equal(0.6, 3, 5)), probe=searched_among_equals
)


wrong(
    "one hypothesis is enough",
    hint="You find what a greedy search finds. How many beginnings live after your first step?",
)(greedy)


wrong(
    "a beam is so many greedy searches",
    hint="After the first step each of your hypotheses goes its own way. May two of the best come from"
    " the same one?",
)(side_by_side)


wrong(
    "the beam starts with copies",
    hint="Your hypotheses are all the same. How many different beginnings are there before the first"
    " step?",
)(copies)


wrong(
    "the first to end wins",
    hint="You stop at the first sentence that ends. Could another, still alive, end with a better"
    " score?",
)(first_end_wins)


wrong(
    "enough have ended",
    hint="You stop when a number of sentences have ended. Which two things end this search, according"
    " to the statement?",
)(stops_when_enough_ended)


wrong(
    "what has ended takes a place",
    hint="After a step in which one ends, fewer live than there is room for. Through how many"
    " extensions do you go?",
)(best_extensions_alone)


wrong(
    "each finished one makes the beam smaller",
    hint="Your beam gets smaller with each sentence that ends. How many may live, whatever has"
    " finished?",
)(shrinking)


wrong(
    "a full beam ends the step",
    hint="When the last place is taken, you look no further. What about an end that comes after it in"
    " the order?",
)(stops_looking)


wrong(
    "what has ended goes on",
    hint="A finished sentence gets further words. What happens to a hypothesis when it ends?",
)(ends_that_live)


wrong(
    "every extension is looked at",
    hint="An end counts as finished only if it is among the best extensions. Among how many?",
)(everything_is_looked_at)


wrong(
    "with beam_size=1 there are two to look at",
    hint="With beam_size=1 the search is greedy. What does a greedy search do when the best word is"
    " the end?",
)(two_when_greedy)


wrong(
    "there are as many extensions as words",
    hint="You never look at more extensions than there are words. How many are there, when several"
    " hypotheses live?",
)(as_many_as_words)


wrong(
    "there are always enough extensions",
    hint="One hypothesis and a few words do not make 2 * beam_size extensions. How many are there to"
    " choose from?",
)(that_is_too_wide)


wrong(
    "what lives may win, too",
    hint="At the end you compare finished and unfinished ones. When does one that still lives count?",
)(live_ones_compete)


wrong(
    "what still lives wins",
    hint="You return a sentence that has no end, although others have finished. When does one that"
    " still lives count?",
)(live_ones_alone)


wrong(
    "the likeliest wins",
    hint="You compare log-probabilities of sentences of different lengths. Which does that favour, and"
    " what is `length_penalty` for?",
)(likeliest)


wrong(
    "length_penalty is 0.6",
    hint="Right for the default. What has become of the argument `length_penalty`?",
)(always_six_tenths)


wrong(
    "the score is divided by a power of the length",
    hint="Your score divides by a power of something else than the formula does. Compute it for a"
    " sentence of one word.",
)(divided_by_length)


wrong(
    "the score is multiplied",
    hint="Your score makes long sentences worse. Log-probabilities are negative: what does a factor"
    " above 1 do to them?",
)(multiplied)


wrong(
    "the end does not count",
    hint="Count the length of the sentence of one word in the statement. Is `<eos>` part of it?",
)(end_not_counted)


wrong(
    "the beginning counts",
    hint="Count the length of the sentence of one word in the statement. Is `<bos>` part of it?",
)(beginning_counted)


wrong(
    "scores are penalised on the way",
    hint="The totals that you carry on are divided again at every step. When is a score needed at all?",
)(penalised_on_the_way)


wrong(
    "the last word says all",
    hint="You rank hypotheses by their last word. What have they brought with them?",
)(last_word_alone)


wrong(
    "probabilities add up",
    hint="Probabilities are multiplied. What does that mean for their logarithms, which you are given?",
)(added_probabilities)


wrong(
    "one word more fits behind max_len",
    hint="Count the ids of your longest prefix against max_len, `<bos>` included.",
)(one_too_long)


wrong(
    "max_len is one id too many",
    hint="Your search stops one id too early. When exactly is a prefix full?",
)(one_too_short)


wrong(
    "sentences begin with 1 and end with 2",
    hint="Right for the default ids. What has become of the arguments that hold them?",
)(ids_1_and_2)


wrong(
    "the beginning belongs to the result",
    hint="The words are right. What should not stand in front of them?",
)(with_beginning)


wrong(
    "the end belongs to the result", hint="The words are right. What should not stand behind them?"
)(with_end)


wrong(
    "the last id is always the end",
    hint="Where nothing has ended, a word is missing from your result. What is the last id of a"
    " hypothesis that still lives?",
)(without_last_word)


@wrong(
    "the result is a tensor",
    hint="The words are right, and their container is not. Which method makes a Python list of a"
    " tensor?",
)
def of_tensors(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
    found = reference.beam_search(
        step_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty
    )
    return torch.tensor(found, dtype=torch.int64)


@wrong(
    "the result is a list of tensors",
    hint="The words are right, and each of them is still a tensor. Which method makes a Python number"
    " of it?",
)
def of_small_tensors(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    found = reference.beam_search(
        step_log_probs, bos_id, eos_id, beam_size, max_len, length_penalty
    )
    return list(torch.tensor(found, dtype=torch.int64))


right(beam_with())


@right
def without_the_impossible(
    step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6
):
    """Lists; an extension that cannot be is none."""
    live, finished = [([bos_id], 0.0)], []
    for _ in range(max_len - 1):
        found = heapq.nlargest(
            2 * beam_size if beam_size > 1 else 1, possible_extensions(step_log_probs, live)
        )
        last = live
        live, ended = sorted_out(found, eos_id, beam_size)
        finished += ended
        if not live:
            break
    best = max(
        finished or live or last,
        key=lambda each: penalised(each[1], len(each[0]) - 1, length_penalty),
    )
    return [each for each in best[0][1:] if each != eos_id]


@right
def in_tensors(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
    """Keeps the best finished one alone, and ranks by score instead of log-probability: within a
    step all have one length.
    """
    prefixes, totals = torch.tensor([[bos_id]]), torch.zeros(1)
    best, best_score = None, -math.inf
    for length in range(1, max_len):
        log_probs = step_log_probs(prefixes)
        divisor = ((length + 5) / 6) ** length_penalty
        scores = (totals.to(log_probs)[:, None] + log_probs).flatten() / divisor
        order = scores.argsort(descending=True)[: 2 * beam_size if beam_size > 1 else 1]
        rows, ids = order // log_probs.size(1), order % log_probs.size(1)
        ended = ids == eos_id
        for place, row in zip(order[ended], rows[ended], strict=True):
            if scores[place] > best_score:
                best, best_score = prefixes[row, 1:].tolist(), scores[place]
        rows, ids = rows[~ended][:beam_size], ids[~ended][:beam_size]
        if len(ids) == 0:
            break
        totals = scores[order[~ended][:beam_size]] * divisor
        prefixes = torch.cat([prefixes[rows], ids[:, None]], dim=1)
    return prefixes[0, 1:].tolist() if best is None else best


@right
def of_fixed_size(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
    """Keeps beam_size rows from the start, those that do not live with a log-probability of
    -inf.
    """
    if beam_size == 1:
        return greedy_by_argmax(step_log_probs, bos_id, eos_id, max_len)
    prefixes = torch.full((beam_size, 1), bos_id)
    totals = torch.full((beam_size,), -torch.inf)
    totals[0] = 0
    finished = []
    while prefixes.shape[1] < max_len:
        table = totals[:, None] + step_log_probs(prefixes)
        values, places = table.reshape(-1).sort(descending=True)
        values, places = values[: 2 * beam_size], places[: 2 * beam_size]
        rows, ids = (
            places.div(table.shape[1], rounding_mode="floor"),
            places.remainder(table.shape[1]),
        )
        for value, row, each in zip(values, rows, ids, strict=True):
            if each == eos_id and value.isfinite():
                score = value / ((5 + prefixes.shape[1]) / 6) ** length_penalty
                finished.append((score.item(), prefixes[row].tolist()[1:]))
        values = values.masked_fill(ids == eos_id, -torch.inf)
        totals, kept = values.topk(min(beam_size, len(values)))
        prefixes = torch.cat([prefixes[rows[kept]], ids[kept, None]], dim=1)
        if totals.isinf().all():
            break
    return max(finished)[1] if finished else prefixes[totals.argmax(), 1:].tolist()
