"""How much a head attends to what came after the same word before."""

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.probes import arguments_after, device_kept, gradients
from solutions.ch12_interpretation import induction_score


@drawn
def weights_of(rng, batch, heads, seq_len, dtype=torch.float64, causal=True):
    """Draw attention weights."""
    scores = normal(rng, batch, heads, seq_len, seq_len, scale=1.5, dtype=torch.float64)
    if causal:
        later = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(-1).to(dtype)


def reading(rng, token_ids, heads, **parts):
    """Return the weights of some heads that read these sentences, and the sentences."""
    return {
        "weights": weights_of(rng, *token_ids.shape[:1], heads, token_ids.shape[1], **parts),
        "token_ids": token_ids,
    }


def ids(rng, count):
    """Draw different ids."""
    return torch.from_numpy(4 + rng.permutation(40)[:count])


@drawn
def patterned(rng, *patterns, heads=2, **parts):
    """Draw sentences by their patterns: equal letters stand for equal ids."""
    rows = []
    for pattern in patterns:
        drawn = dict(zip(sorted(set(pattern)), ids(rng, len(set(pattern))), strict=True))
        rows.append(torch.stack([drawn[letter] for letter in pattern]))
    return reading(rng, torch.stack(rows), heads, **parts)


@drawn
def of_few_words(rng, batch, heads, seq_len, vocab=5, **parts):
    """Draw sentences of so few different words that each comes several times."""
    choice = ids(rng, vocab)
    token_ids = choice[torch.from_numpy(rng.integers(0, vocab, (batch, seq_len)))]
    return reading(rng, token_ids, heads, **parts)


@drawn
def said_twice(rng, batch, heads, length, **parts):
    """Draw texts that are repeated once, as is common in tests of induction heads."""
    rows = torch.stack([ids(rng, length) for _ in range(batch)])
    return reading(rng, torch.cat([rows, rows], dim=1), heads, **parts)


def same_id(token_ids):
    return token_ids[:, :, None] == token_ids[:, None]


def earlier_ones(pairs):
    return pairs.tril(-1)


def latest(earlier):
    """Return the last True of each row, or 0."""
    return (earlier * torch.arange(earlier.shape[-1], device=earlier.device)).amax(-1)


def first(earlier):
    return earlier.int().argmax(-1)


def mean_of_each(given, repeats):
    kept = (given * repeats[:, None]).sum(-1)
    return kept / repeats.sum(-1, keepdim=True).clamp(min=1)


def score_with(
    earlier=earlier_ones,
    occurrence=latest,
    offset=1,
    counted=lambda repeats, target: repeats,
    read=lambda weights: weights,
    averaged=mean_of_each,
):
    """Make a score from its rules."""

    def induction_score(weights, token_ids):
        pairs = earlier(same_id(token_ids))
        repeats = pairs.any(-1)
        target = torch.where(repeats, occurrence(pairs) + offset, 0)
        target = target.clamp(0, token_ids.shape[1] - 1)
        place = target[:, None, :, None].expand(-1, weights.shape[1], -1, 1)
        given = read(weights).gather(-1, place).squeeze(-1)
        return averaged(given, counted(repeats, target))

    return induction_score


checks = Checks(induction_score, family=score_with)
shown, hidden, wrong, right = checks.words

shown("two words come again", patterned("abcab"), weight=3)
shown("two sentences with repeats of their own", patterned("abcabd", "abacdb"), weight=2)
shown("the latest of several occurrences counts", patterned("abacad"))
shown("a word twice in a row", patterned("abbc"))
shown("a sentence without repeats scores 0", patterned("abcd", "abca"))
shown("gradients flow to the weights", patterned("abcabc", "aabbab"), probe=gradients)
shown("the arguments stay as they were", patterned("abcab"), probe=arguments_after)
hidden("a text that is said twice", said_twice(2, 4, 6), weight=3)
hidden("words that come twice each", patterned("abcdbadc", "abccdbaa", heads=3), weight=2)
hidden("few words, many repeats", of_few_words(2, 2, 12), weight=2)
hidden("one head, one sentence", patterned("abcdcab", heads=1))
hidden("the same word all the time", patterned("aaaa", "abab"))
hidden("none of three sentences has a repeat", patterned("abcde", "abcde", "abcda"))
hidden("a sentence of one word", lambda rng: with_one_word(rng))
hidden("weights that look ahead, too", of_few_words(2, 2, 8, causal=False))
hidden("in float32", patterned("abcabcab", heads=3, dtype=torch.float32))
hidden("gradients where a sentence has no repeat", patterned("abcd", "abab"), probe=gradients)
hidden("the result lies where the arguments lie", patterned("abcabc"), probe=device_kept)


def with_one_word(rng):
    return reading(rng, ids(rng, 2)[:, None], 2)


wrong(
    "a head attends to the same word",
    """You read the weight that a position gives to the earlier occurrence itself. Which place does
    an induction head look at?""",
    offset=0,
)


wrong(
    "a head attends to what came before the same word",
    "Yours looks one place before the earlier occurrence. What does the head want to predict?",
    offset=-1,
)


wrong(
    "the first occurrence counts",
    "Right where no id comes three times. Which of several earlier occurrences is meant?",
    occurrence=first,
)


@wrong(
    "every earlier occurrence counts",
    """Right where no id comes three times. You collect the weights after all earlier occurrences.
    Which one does the statement name?""",
)
def after_all_of_them(weights, token_ids):
    earlier = same_id(token_ids).tril(-1)
    after = torch.nn.functional.pad(earlier, (1, 0))[..., :-1]
    given = (weights * after[:, None]).sum(-1)
    return mean_of_each(given, earlier.any(-1))


@wrong(
    "the mean runs over all pairs of equal ids",
    """Right where no id comes three times. An id that comes often has many pairs, and yours counts
    each of them. How many weights does the statement take from each position?""",
)
def of_all_pairs(weights, token_ids):
    earlier = same_id(token_ids).tril(-1)
    after = torch.nn.functional.pad(earlier, (1, 0))[..., :-1]
    given = (weights * after[:, None]).sum((-2, -1))
    return given / earlier.sum((-2, -1))[:, None].clamp(min=1)


wrong(
    "a repeat at once is none",
    """Right where no word comes twice in a row. There, the place right after the earlier occurrence
    is the position itself. Does the statement leave it out?""",
    counted=lambda repeats, target: (
        repeats & (target < torch.arange(target.shape[-1], device=target.device))
    ),
)


wrong(
    "a mean without numbers is nan",
    "What do you divide by in a sentence without repeats? The statement says what its score is.",
    averaged=lambda given, repeats: (
        (given * repeats[:, None]).sum(-1) / repeats.sum(-1, keepdim=True)
    ),
)


wrong(
    "a nan can be removed at the end",
    """The numbers are right, but the gradient for a sentence without repeats is nan. You remove a
    nan after it has been made. Where does a backward pass meet it?""",
    averaged=lambda given, repeats: (
        (given * repeats[:, None]).sum(-1) / repeats.sum(-1, keepdim=True)
    ).nan_to_num(),
)


@wrong(
    "there is always something to take the mean of",
    """In a sentence without repeats you take the mean of nothing. The statement says what its score
    is.""",
)
def mean_of_a_selection(weights, token_ids):
    earlier = same_id(token_ids).tril(-1)
    scores = []
    for sentence, pairs in zip(weights, earlier, strict=True):
        queries = pairs.any(-1).nonzero().flatten()
        scores.append(sentence[:, queries, latest(pairs)[queries] + 1].mean(-1))
    return torch.stack(scores)


wrong(
    "a position without an earlier occurrence counts as 0",
    "You divide by the number of all positions. Which of them does the statement leave out?",
    averaged=lambda given, repeats: (given * repeats[:, None]).mean(-1),
)


wrong(
    "all positions have a place to look at",
    """Your mean includes the weights of positions whose id has not occurred before. What does the
    statement do with those?""",
    averaged=lambda given, repeats: given.mean(-1),
)


wrong(
    "a score is a sum",
    "Your scores grow with the number of repeats. What do you divide by?",
    averaged=lambda given, repeats: (given * repeats[:, None]).sum(-1),
)


wrong(
    "sentences share a score",
    """All of your sentences have the same scores. Each one has repeats of its own, and a mean of
    its own.""",
    then=lambda scores: scores.mean(0, keepdim=True).expand_as(scores),
)


wrong(
    "the batch is one text",
    """You have put the repeats of all sentences into one mean. How many axes should the result
    have?""",
    then=lambda scores: scores.mean(0),
)


wrong(
    "heads share a score",
    "Your result has no axis of heads. Each head has a score of its own.",
    then=lambda scores: scores.mean(1),
)


wrong(
    "rows are keys",
    """You read the weight that the earlier place gives to the later one. Which axis of the weights
    belongs to the position that attends?""",
    read=lambda weights: weights.mT,
)


wrong(
    "nothing is repeated",
    "All of your scores are 0. Does your code ever find a position whose id has occurred before?",
    earlier=lambda pairs: pairs & False,
)


wrong(
    "a position repeats itself",
    "Every position holds the same id as itself. Is that an earlier occurrence?",
    earlier=lambda pairs: pairs.tril(),
)


wrong(
    "later occurrences count, too",
    """You find pairs in both directions. May a position look at what comes after an occurrence that
    is still to come?""",
    earlier=lambda pairs: (
        pairs & ~torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)
    ),
)


@wrong(
    "a text is said twice",
    """You read along one diagonal, whatever the ids are. That fits a text that is said twice, where
    the same word is always the same distance away. Where does your code look at the ids?""",
)
def along_a_diagonal(weights, token_ids):
    half = weights.shape[-1] // 2
    return weights.diagonal(offset=1 - half, dim1=-2, dim2=-1).mean(-1)


@wrong(
    "the share of all weight is meant",
    """You divide by the weight that a head gives to anything at all. The statement asks for a mean
    over positions, and only over those that repeat something.""",
)
def of_all_weight(weights, token_ids):
    pattern = torch.nn.functional.pad(same_id(token_ids).tril(-1), (1, 0))[..., :-1]
    kept = (weights * pattern.tril()[:, None]).sum((-2, -1))
    return kept / weights.sum((-2, -1))


wrong(
    "a head looks one place back",
    """You read the weight of the place right before each position. That is what a previous-token
    head does. What does an induction head look for?""",
    occurrence=lambda pairs: (
        torch.arange(pairs.shape[-1], device=pairs.device).expand(pairs.shape[:2]) - 2
    ),
)


checks.usual("in float32")
checks.usual("detached")


@wrong(
    "positions are counted on the CPU",
    """A new tensor is made on the default device unless you say otherwise. Which of yours should be
    where the ids are?""",
    rule="occurrence",
)
def counted_elsewhere(earlier):
    return (earlier * torch.arange(earlier.shape[-1])).amax(-1)


@right
def by_a_dictionary(weights, token_ids):
    """Goes through each sentence once, and remembers where each id was last."""
    sentences = []
    for sentence, row in zip(weights, token_ids.tolist(), strict=True):
        last, total, count = {}, sentence[:, 0, 0] * 0, 0
        for place, token in enumerate(row):
            if token in last:
                total, count = total + sentence[:, place, last[token] + 1], count + 1
            last[token] = place
        sentences.append(total / max(count, 1))
    return torch.stack(sentences)


@right
def by_flipping(weights, token_ids):
    """Finds the latest occurrence as the first one of the reversed sentence."""
    n = token_ids.shape[1]
    earlier = torch.tril(token_ids.unsqueeze(2) == token_ids.unsqueeze(1), diagonal=-1)
    after = n - earlier.flip(-1).to(weights.dtype).argmax(-1)  # right after the latest one
    chosen = torch.nn.functional.one_hot(after.clamp(max=n - 1), n) * earlier.any(-1, keepdim=True)
    count = earlier.any(-1).sum(-1).clamp(min=1)
    return torch.einsum("bhqk,bqk->bh", weights, chosen.to(weights.dtype)) / count[:, None]


@right
def by_distances(weights, token_ids):
    """Looks back one distance after the other, and lets each position answer once."""
    waiting = torch.ones_like(token_ids, dtype=torch.bool)
    total, count = weights.sum((-2, -1)) * 0, torch.zeros_like(token_ids[:, :1])
    for back in range(1, token_ids.shape[1]):
        met = waiting[:, back:] & (token_ids[:, back:] == token_ids[:, :-back])
        found = weights.diagonal(offset=1 - back, dim1=-2, dim2=-1)[..., -met.shape[1] :]
        total = total + (found * met[:, None]).sum(-1)
        count = count + met.sum(-1, keepdim=True)
        waiting[:, back:] &= ~met
    return total / count.clamp(min=1)
