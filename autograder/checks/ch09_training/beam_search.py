"""The best of several hypotheses that live side by side."""

import math
from itertools import pairwise

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.checks.ch09_training import BOS, EOS
from autograder.shared.probes import left_out, searched, searched_among_equals, table_reader
from autograder.shared.probes.calls import defaults_of
from solutions.ch09_training import beam_search

CLEAR = 1e-4  # hypotheses whose scores are closer than this might change places by rounding
MOST_TABLES = 3000  # tried until one is clear


def extensions_of(step_log_probs, live):
    """Return (log-probability, ids) of each live hypothesis with each word after it."""
    log_probs = step_log_probs(torch.tensor([ids for ids, _ in live])).tolist()
    return [
        (so_far + log_prob, [*ids, word])
        for (ids, so_far), row in zip(live, log_probs, strict=True)
        for word, log_prob in enumerate(row)
    ]


def looked_at(beam_size, vocab_size=None):
    """Return through how many of the best extensions a step goes."""
    return 2 * beam_size if beam_size > 1 else 1


def sorted_out(found, eos_id, room, finished=()):
    """Return those that live on, as many as there is room for, and those that ended."""
    live = [(ids, total) for total, ids in found if ids[-1] != eos_id]
    return live[:room], [(ids, total) for total, ids in found if ids[-1] == eos_id]


def until(counted):
    """Make a rule that goes on until those that count are as many as the beam is wide."""

    def share(found, eos_id, beam_size, finished):
        live, ended = [], []
        for total, ids in found:
            if counted(live, ended, finished) == beam_size:
                break
            (ended if ids[-1] == eos_id else live).append((ids, total))
        return live, ended

    return share


def penalised(total, length, length_penalty):
    return total / ((5 + length) / 6) ** length_penalty


def beam_with(
    copies=lambda beam_size: 1,
    candidates=extensions_of,
    taken=looked_at,
    share=sorted_out,
    enough=lambda finished, beam_size: False,
    pool=lambda finished, live: finished or live,
    score=penalised,
    finish=lambda ids, ended: ids[1 : len(ids) - ended],
):
    """Make a beam search from its rules."""

    def search(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
        live, finished = [([bos_id], 0.0)] * copies(beam_size), []
        while live and len(live[0][0]) < max_len and not enough(finished, beam_size):
            found = sorted(candidates(step_log_probs, live), reverse=True)
            count = taken(beam_size, len(found) // len(live))
            live, ended = share(found[:count], eos_id, beam_size, finished)
            finished += ended
        ids, _ = max(
            pool(finished, live), key=lambda each: score(each[1], len(each[0]) - 1, length_penalty)
        )
        return finish(ids, ids[-1] == eos_id)

    return search


def is_clear(step_log_probs, arguments):
    """Return whether rounding cannot change a search: no two candidates of a step, nor the best two
    results, are close.
    """
    compared, scores = [], []

    def share(found, eos_id, beam_size, finished):
        compared.append([total for total, _ in found if total > -math.inf])
        return sorted_out(found[: looked_at(beam_size)], eos_id, beam_size)

    def score(*rated):
        scores.append(penalised(*rated))
        return scores[-1]

    beam_with(taken=lambda *sizes: looked_at(*sizes) + 1, share=share, score=score)(
        step_log_probs, *arguments
    )
    compared.append(sorted(scores, reverse=True)[:2])
    return all(one - other > CLEAR for falling in compared for one, other in pairwise(falling))


def answer(search, step_log_probs, arguments):
    try:
        return search(step_log_probs, *arguments)
    except (RuntimeError, ValueError):
        return None


def arguments_of(table, ids, beam):
    """Return the inputs of a case; without a beam, its arguments are those by default."""
    names = ("bos_id", "eos_id", "beam_size", "max_len", "length_penalty")
    given = zip(names, (*ids, *beam), strict=False) if beam else ()
    return {"step_log_probs": {"stand_in": "table", "table": table}, **dict(given)}


@drawn
def search_case(
    rng,
    beam,
    *unlike,
    like=(),
    ids=(BOS, EOS),
    vocab_size=6,
    rows=11,
    end=0.0,
    first_end=0.0,
    impossible=0.0,
    dtype=torch.float64,
    scale=1.0,
):
    """Make the inputs of a case: a table of log-probabilities whose best sentence is clear.

    Args:
        beam: beam_size, max_len and perhaps length_penalty; all by default where it is empty.
        unlike: searches that answer otherwise here.
        like: searches, right or wrong, that answer as they should here.
        ids: bos_id and eos_id.
        vocab_size, rows: of the table; see `autograder.shared.probes.table_reader`.
        end: added to the logit of the end, everywhere.
        first_end: added to it after `<bos>` besides.
        impossible: the part of the words that cannot follow, in each row.
        scale: how far the logits lie apart.
    """
    bos_id, eos_id = ids
    for _ in range(MOST_TABLES):
        logits = normal(rng, 2, rows, vocab_size, dtype=torch.float64, scale=scale)
        logits[..., eos_id] += end
        logits[0, :, eos_id] += first_end
        never = torch.from_numpy(rng.random(logits.shape) < impossible)
        never[..., eos_id] = False
        table = logits.masked_fill(never, -math.inf).log_softmax(dim=-1).to(dtype)
        drawn = arguments_of(table, ids, beam)
        asked = table_reader(table, bos_id), list(drawn.values())[1:]
        best = answer(beam_search, *asked)
        if (
            all(answer(each, *asked) != best for each in unlike)  # which is the rarest
            and is_clear(*asked)
            and all(answer(each, *asked) == best for each in (without_the_impossible, *like))
        ):
            return drawn
    raise RuntimeError(f"no table tells {', '.join(each.__name__ for each in unlike)} apart")


@drawn
def a_table_alone(rng):
    table = normal(rng, 2, 3, 6, dtype=torch.float64)
    return {"forward": arguments_of(table, (), ()), "left_out": defaults_of(beam_search)}


@drawn
def equally_good(rng, lengths, beam):
    """Make the inputs of a case in which all words are equally likely, and the end is likely after
    so many words, elsewhere not.
    """
    table = torch.zeros(12, 1, 7, dtype=torch.float64)
    table[..., EOS] = -6.0
    for length in lengths:
        table[length, 0, EOS] = rng.uniform(1.5, 3)
    return arguments_of(table.log_softmax(dim=-1), (BOS, EOS), beam)


checks = Checks(
    beam_search, shortcuts="BeamSearchScorer generate", probe=searched, family=beam_with
)
shown, hidden, wrong, right = checks.words


greedy = wrong(
    "one hypothesis is enough",
    "You find what a greedy search finds. How many beginnings does your first step keep?",
    beam_size=1,
)


@wrong(
    "a beam is so many greedy searches",
    """After the first step each of your hypotheses goes its own way. May two of the best come from
    the same one?""",
    rule="candidates",
)
def side_by_side(step_log_probs, live):
    """Branches at the first step alone."""
    found = extensions_of(step_log_probs, live)
    if len(live) == 1:
        return found
    return [max(each for each in found if each[1][:-1] == ids) for ids, _ in live]


def best_of_each(found, eos_id, beam_size, finished):
    """Look at no more words after a hypothesis than the beam is wide."""
    followers = {}
    for total, ids in found:
        followers.setdefault(tuple(ids[:-1]), []).append((total, ids))
    few = sorted((each for best in followers.values() for each in best[:beam_size]), reverse=True)
    return sorted_out(few[: looked_at(beam_size)], eos_id, beam_size)


wrong(
    "each hypothesis has as many followers as the beam is wide",
    """You look at only a few of the words after each hypothesis. How many of the best extensions
    may one and the same hypothesis have?""",
    taken=lambda beam_size, vocab_size: None,
    share=best_of_each,
)


copies = wrong(
    "the beam starts with copies",
    """Your hypotheses are all the same. How many different beginnings are there before the first
    step?""",
    copies=lambda beam_size: beam_size,
)


first_end_wins = wrong(
    "the first to end wins",
    """You stop at the first sentence that ends. Could another, still alive, end with a better
    score?""",
    enough=lambda finished, beam_size: finished,
)


stops_when_enough_ended = wrong(
    "enough have ended",
    """You stop when a number of sentences have ended. Which two things end this search, according
    to the statement?""",
    enough=lambda finished, beam_size: len(finished) >= beam_size,
)


wrong(
    "twice as many as the beam is wide are enough",
    """You stop when so many sentences have ended. Could one that is still alive end with a better
    score? Which two things end this search?""",
    enough=lambda finished, beam_size: len(finished) >= 2 * beam_size,
)


@wrong(
    "what has ended takes a place",
    """After a step in which a sentence ends, fewer live on than there is room for. How many
    extensions do you go through?""",
    rule="share",
)
def best_extensions_alone(found, eos_id, beam_size, finished):
    return sorted_out(found[:beam_size], eos_id, beam_size)


shrinking = wrong(
    "each finished one makes the beam smaller",
    """Your beam gets smaller with each sentence that ends. How many may live, whatever has
    finished?""",
    share=until(lambda live, *ended: len(live) + sum(map(len, ended))),
)


stops_looking = wrong(
    "a full beam ends the step",
    """When the last place is taken, you look no further. What about an end that comes after it in
    the order?""",
    share=until(lambda live, *ended: len(live)),
)


@wrong(
    "what has ended goes on",
    "A finished sentence gets further words. What happens to a hypothesis when it ends?",
    rule="share",
)
def ends_that_live(found, eos_id, beam_size, finished):
    """Puts aside what has ended, and keeps it alive as well."""
    _, ended = sorted_out(found, eos_id, beam_size)
    return [(ids, total) for total, ids in found][:beam_size], ended


wrong(
    "every extension is looked at",
    "An end counts as finished only if it is among the best extensions. Among how many?",
    taken=lambda beam_size, vocab_size: None if beam_size > 1 else 1,
)


two_when_greedy = wrong(
    "with beam_size=1 there are two to look at",
    """With beam_size=1 the search is greedy. What does a greedy search do when the best word is the
    end?""",
    taken=lambda beam_size, vocab_size: 2 * beam_size,
)


as_many_as_words = wrong(
    "there are as many extensions as words",
    """You never look at more extensions than there are words. How many are there, when several
    hypotheses live?""",
    taken=lambda beam_size, vocab_size: min(looked_at(beam_size), vocab_size),
)


that_is_too_wide = wrong(
    "there are always enough extensions",
    """One hypothesis and a few words do not make 2 * beam_size extensions. How many are there to
    choose from?""",
    taken=lambda beam_size, vocab_size: len(torch.zeros(vocab_size).topk(looked_at(beam_size))[0]),
)


live_ones_compete = wrong(
    "what lives may win, too",
    "At the end you compare finished and unfinished ones. When does one that still lives count?",
    pool=lambda finished, live: finished + live,
)


live_ones_alone = wrong(
    "what still lives wins",
    """You return a sentence that has no end, although others have finished. When does one that
    still lives count?""",
    pool=lambda finished, live: live or finished,
)


likeliest = wrong(
    "the likeliest wins",
    """You compare log-probabilities of sentences of different lengths. Which does that favour, and
    what is `length_penalty` for?""",
    score=lambda total, *_: total,
)


always_six_tenths = wrong(
    "length_penalty is 0.6",
    "Right for the default. Where do you use the argument `length_penalty`?",
    length_penalty=0.6,
)


divided_by_length = wrong(
    "the score is divided by a power of the length",
    """Your score does not divide by what the formula divides by. Compute both for a sentence of one
    word.""",
    score=lambda total, length, penalty: total / max(length, 1) ** penalty,
)


multiplied = wrong(
    "the score is multiplied",
    """Your score makes long sentences worse. Log-probabilities are negative: what does a factor
    above 1 do to them?""",
    score=lambda total, length, penalty: total * ((5 + length) / 6) ** penalty,
)


end_not_counted = wrong(
    "the end does not count",
    "Count the length of the sentence of one word in the statement. Is `<eos>` part of it?",
    score=lambda total, length, penalty: penalised(total, length - 1, penalty),
)


beginning_counted = wrong(
    "the beginning counts",
    "Count the length of the sentence of one word in the statement. Is `<bos>` part of it?",
    score=lambda total, length, penalty: penalised(total, length + 1, penalty),
)


@wrong(
    "scores are penalised on the way",
    "The totals that you carry on are divided again at every step. When is a score needed at all?",
    rule="candidates",
)
def penalised_on_the_way(step_log_probs, live):
    """Divides by the length again at each step."""
    return [(total / len(ids) * 2, ids) for total, ids in extensions_of(step_log_probs, live)]


@wrong(
    "the last word says all",
    """You rank hypotheses by their last word alone. What do they bring with them from the steps
    before?""",
    rule="candidates",
)
def last_word_alone(step_log_probs, live):
    return extensions_of(step_log_probs, [(ids, 0.0) for ids, _ in live])


@wrong(
    "probabilities add up",
    "Probabilities are multiplied. What does that mean for their logarithms, which you are given?",
    rule="candidates",
)
def added_probabilities(step_log_probs, live):
    return [
        (so_far + math.exp(log_prob), longer)
        for ids, so_far in live
        for log_prob, longer in extensions_of(step_log_probs, [(ids, 0.0)])
    ]


one_too_long = wrong(
    "one word more fits behind max_len",
    "Count the ids of your longest prefix against max_len, `<bos>` included.",
    max_len=lambda max_len: max_len + 1,
)


wrong(
    "max_len is one id too many",
    "Your search stops one id too early. When exactly is a prefix full?",
    max_len=lambda max_len: max(1, max_len - 1),
)


ids_1_and_2 = wrong(
    "sentences begin with 1 and end with 2",
    "Right for the default ids. What has become of the arguments that hold them?",
    bos_id=1,
    eos_id=2,
)


wrong(
    "the beginning belongs to the result",
    "The words are right, but something comes before them that nobody should read. What is it?",
    finish=lambda ids, ended: ids[: len(ids) - ended],
)


with_end = wrong(
    "the end belongs to the result",
    "The words are right. Which id after them does not belong to the result?",
    finish=lambda ids, ended: ids[1:],
)


without_last_word = wrong(
    "the last id is always the end",
    """Where nothing has ended, a word is missing from your result. What is the last id of a
    hypothesis that still lives?""",
    finish=lambda ids, ended: ids[1:-1],
)


wrong(
    "the result is a tensor",
    """The words are right, but their container is not. Which method turns a tensor into a Python
    list?""",
    then=torch.LongTensor,
)


wrong(
    "the result is a list of tensors",
    """The words are right, but each of them is still a tensor. Which method turns it into a Python
    number?""",
    then=lambda found: list(torch.LongTensor(found)),
)


def possible_extensions(step_log_probs, live):
    return [each for each in extensions_of(step_log_probs, live) if each[0] > -math.inf]


without_the_impossible = right(beam_with(candidates=possible_extensions))


def best_extensions(step_log_probs, live, totals, beam_size):
    """Return the log-probabilities and ids of the extensions that a step goes through."""
    table = totals[:, None] + step_log_probs(live)
    best, places = table.flatten().topk(min(looked_at(beam_size), table.numel()))
    rows, words = places // table.shape[1], places % table.shape[1]
    return best, torch.hstack([live[rows], words[:, None]])


@right
def in_tensors(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
    """Keeps the best finished one alone."""
    live, totals, best = torch.tensor([[bos_id]]), torch.zeros(1), (-math.inf, [])
    while len(live) and live.shape[1] < max_len:
        totals, ids = best_extensions(step_log_probs, live, totals, beam_size)
        ended = ids[:, -1] == eos_id
        scores = penalised(totals[ended], live.shape[1], length_penalty).tolist()
        best = max([best, *zip(scores, ids[ended].tolist(), strict=True)])
        live, totals = ids[~ended][:beam_size], totals[~ended][:beam_size]
    return best[1][1:-1] if best[1] else live[0, 1:].tolist()


@right
def of_fixed_size(step_log_probs, bos_id=1, eos_id=2, beam_size=4, max_len=64, length_penalty=0.6):
    """Keeps beam_size rows from the start, those that do not live with a log-probability of
    -inf.
    """
    live, totals = torch.full((beam_size, 1), bos_id), torch.full((beam_size,), -math.inf)
    totals[0], finished = 0, []
    while live.shape[1] < max_len and totals.isfinite().any():
        totals, live = best_extensions(step_log_probs, live, totals, beam_size)
        for total, row in zip(totals, live.tolist(), strict=True):
            if row[-1] == eos_id and total.isfinite():
                finished.append((penalised(total, len(row) - 1, length_penalty), row[1:-1]))
        alive = totals.masked_fill(live[:, -1] == eos_id, -math.inf)
        totals, kept = alive.topk(min(beam_size, len(alive)))
        live = live[kept]
    return max(finished)[1] if finished else live[totals.argmax(), 1:].tolist()


shown(
    "a beam of two finds what a greedy search does not",
    search_case((2, 6), greedy, side_by_side, copies, with_end),
    weight=2,
)
shown(
    "a beam of three",
    search_case((3, 7), best_extensions_alone, last_word_alone, added_probabilities),
    weight=2,
)
shown("beam_size=1 is greedy", search_case((1, 8), two_when_greedy))
shown(
    "the best sentence ends after others did",
    search_case((2, 8, 1.0), stops_when_enough_ended, first_end_wins, shrinking, scale=2.0),
)
shown(
    "one that has ended leaves its place to another",
    search_case((2, 6, 4.0), best_extensions_alone, like=[stops_looking], end=1.0),
)
shown("an end that comes late in the order", search_case((2, 6), stops_looking, end=-0.5))
shown(
    "a finished one wins over a likelier one that lives",
    search_case((3, 5), live_ones_compete, live_ones_alone, end=-1.5),
)
shown("nothing ends", search_case((3, 6), without_last_word, vocab_size=8, end=-60.0))
shown(
    "a beam wider than the vocabulary",
    search_case((8, 5), that_is_too_wide, as_many_as_words, vocab_size=5, rows=7),
)
shown("length_penalty=0", search_case((3, 7, 0.0), always_six_tenths))
shown(
    "a large length_penalty",
    search_case(
        (3, 6, 2.0),
        beginning_counted,
        end_not_counted,
        divided_by_length,
        multiplied,
        likeliest,
    ),
)
shown("max_len=2 leaves room for one word", search_case((2, 2), one_too_long, end=-60.0))
shown("max_len=1 leaves room for none", search_case((2, 1), one_too_long, end=-60.0))
shown("the end is by far the best first word", search_case((3, 5), first_end=6.0))
shown(
    "the end is the best first word, and the best sentence is longer",
    search_case((3, 7, 4.0), first_end_wins, end=1.0),
)
shown(
    "words that cannot follow",
    search_case((2, 6, 1.0), greedy, multiplied, like=[likeliest], impossible=0.4),
)
shown("other ids for beginning and end", search_case((2, 6), ids_1_and_2, ids=(3, 0)))
shown("several are equally good", equally_good((3,), (3, 6, 0.6)), probe=searched_among_equals)
hidden("the arguments by default", search_case((), greedy, end=1.5), weight=2)
hidden(
    "arguments that are left out are as in the notebook",
    a_table_alone(),
    probe=left_out,
)
hidden(
    "a beam of four",
    search_case((4, 8), best_extensions_alone, last_word_alone, greedy, vocab_size=9, rows=23),
    weight=2,
)
hidden(
    "two of many words",
    search_case((2, 9), greedy, side_by_side, copies, vocab_size=12, rows=17, end=1.0),
    weight=2,
)
hidden("greedy, another table", search_case((1, 9), two_when_greedy, vocab_size=8))
hidden(
    "the best one ends late",
    search_case((3, 10, 1.2), stops_when_enough_ended, first_end_wins, shrinking, scale=2.0),
)
hidden(
    "those that have ended leave their places to others",
    search_case((3, 7, 4.0), best_extensions_alone, like=[stops_looking], end=1.0),
)
hidden(
    "an end below those that live", search_case((3, 6, 0.3), stops_looking, vocab_size=8, end=-0.5)
)
hidden(
    "what lives at the end never wins over what has finished",
    search_case((2, 6, 0.0), live_ones_compete, live_ones_alone, vocab_size=8, end=-1.5),
)
hidden("nothing ends, longer", search_case((2, 12), without_last_word, end=-70.0))
hidden(
    "room for every sentence",
    search_case((50, 4), that_is_too_wide, as_many_as_words, vocab_size=4, rows=9),
)
hidden("no length_penalty, a beam of two", search_case((2, 8, 0.0), always_six_tenths))
hidden(
    "longer is better",
    search_case(
        (2, 8, 3.0),
        beginning_counted,
        end_not_counted,
        divided_by_length,
        multiplied,
        likeliest,
        end=1.0,
    ),
)
hidden("one word alone", search_case((3, 2), one_too_long, vocab_size=9, end=-60.0))
hidden("no room for a word", search_case((4, 1), one_too_long, vocab_size=10, end=-60.0))
hidden("a sentence of no words", search_case((4, 6), first_end=7.0))
hidden(
    "half of the words cannot follow",
    search_case(
        (3, 7, 1.0),
        greedy,
        multiplied,
        like=[likeliest],
        vocab_size=9,
        impossible=0.5,
    ),
)
hidden("ids that change places", search_case((3, 6), ids_1_and_2, ids=(2, 1)))
hidden("log-probabilities in float32", search_case((3, 6), greedy, dtype=torch.float32))
hidden("many are equally good", equally_good((2, 4), (4, 8, 1.0)), probe=searched_among_equals)
hidden("equally good, and none ends", equally_good((), (3, 5, 0.6)), probe=searched_among_equals)
