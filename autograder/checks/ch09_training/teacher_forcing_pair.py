"""What the decoder reads, and what it should say next."""

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import padded
from autograder.authoring.drawn import drawn
from autograder.authoring.usual import each
from autograder.checks.ch09_training import BOS, EOS
from autograder.shared.probes import arguments_after, device_kept, returned_for_views
from solutions.ch09_training import teacher_forcing_pair


def targets(rng, lengths, vocab_size=12):
    """Draw targets between `<bos>` and `<eos>`, with so many words each.

    Returns:
        (batch, longest + 2) int64.
    """
    seq_len = max(lengths) + 2
    token_ids = padded(rng, [length + 2 for length in lengths], seq_len, vocab_size)
    token_ids[:, 0] = BOS
    for row, length in enumerate(lengths):
        token_ids[row, length + 1] = EOS
    return token_ids


@drawn
def batch_of(rng, lengths, dtype=torch.int64):
    """Draw a batch of targets, in any order."""
    return {"target_ids": targets(rng, rng.permutation(lengths).tolist()).to(dtype)}


def two_columns(rng):
    """Sentences that are cut off after their first word."""
    return {"target_ids": targets(rng, [3, 1, 2, 4])[:, :2].clone()}


def pair_with(reads=slice(-1), says=slice(1, None)):
    """Make a pair from what the decoder reads of a sentence and what it says."""

    def pair(target_ids):
        return target_ids[:, reads], target_ids[:, says]

    return pair


checks = Checks(teacher_forcing_pair, family=pair_with, returns=("decoder_input", "expected"))
shown, hidden, wrong, right = checks.words

shown("one sentence", batch_of([3]), weight=2)
shown("two sentences, one with padding", batch_of([2, 4]), weight=2)
shown("as many sentences as ids", batch_of([3, 1, 4, 2, 3, 2]))
shown("ids of 32 bits stay ids of 32 bits", batch_of([2, 1], torch.int32))
shown("the target ids stay as they were", batch_of([1, 2]), probe=arguments_after)
hidden("many sentences", batch_of([5, 7, 1, 3, 6]), weight=2)
hidden("two ids in each row", two_columns)
hidden("one long sentence", batch_of([17]))
hidden("small ids of 32 bits", batch_of([4, 1, 2], torch.int32))
hidden("ids that are not contiguous in memory", batch_of([4, 2]), probe=returned_for_views)
hidden("the result lies where the ids lie", batch_of([2, 3]), probe=device_kept)
hidden("a batch of target ids stays as it was", batch_of([3, 2, 4]), probe=arguments_after)


swapped = checks.usual(
    "in another order",
    belief="the decoder reads what comes and says what was",
    hint="You return the right two tensors in the wrong order. Which of them begins with `<bos>`?",
)


of_the_same = wrong(
    "the decoder should say what it reads",
    """At each position your decoder reads the very word that it is asked for. What should it say
    after `<bos>`?""",
    says=slice(-1),
)


wrong(
    "the decoder reads the whole sentence",
    """Your two results differ in length. After the last word there is nothing left to predict: who
    needs to read it?""",
    reads=slice(None),
)


whole = wrong(
    "nothing need be cut",
    """Both of your results are the whole sentence. Which question does each position ask, and what
    is the answer?""",
    reads=slice(None),
    says=slice(None),
)


wrong(
    "rows are positions",
    "You cut off a sentence of the batch. Which axis holds the words of a sentence?",
    target_ids=torch.t,
    then=each(torch.t),
)


@wrong(
    "what leaves at the front comes back at the end",
    """In your second result the first word comes after the last one. How many questions does a
    sentence of `seq_len` ids ask?""",
)
def rolled(target_ids):
    return target_ids, target_ids.roll(-1, dims=1)


wrong(
    "the end need not be said",
    "The second result lost its last column, too. How should a decoder learn when to stop?",
    says=slice(1, -1),
)


wrong(
    "the word after the next one is asked for",
    """You skip a word between what your decoder reads and what it should say. How many columns
    does each result lose?""",
    reads=slice(-2),
    says=slice(2, None),
)


@wrong(
    "the decoder must not read the end",
    """You replaced the end of the shorter sentences. The loss ignores what follows it, so the ids
    may stay as they are.""",
    around=True,
)
def without_the_end(right, target_ids):
    decoder_input, expected = right(target_ids)
    return decoder_input.masked_fill(decoder_input == EOS, 0), expected


wrong(
    "tensors hold floating numbers",
    "Ids are looked up in a table. Which dtype did they come in?",
    then=each(torch.Tensor.float),
)


wrong(
    "ids have 64 bits",
    "This is right for 64-bit ids. Which dtype did these come in?",
    then=each(torch.Tensor.long),
)


@wrong(
    "the caller's ids are free to be worked in",
    "Compare `target_ids` before and after the call. Which line writes into it?",
)
def in_place(target_ids):
    decoder_input = target_ids[:, :-1].clone()
    return decoder_input, target_ids.copy_(target_ids.roll(-1, dims=1))[:, :-1]


@right
def by_narrow(target_ids):
    length = target_ids.size(1) - 1
    return tuple(target_ids.narrow(1, start, length).contiguous() for start in (0, 1))


@right
def by_index(target_ids):
    places = torch.arange(target_ids.shape[-1] - 1, device=target_ids.device)
    return [target_ids[..., places], target_ids[..., places + 1]]


@right
def by_rows(target_ids):
    rows = target_ids.tolist()
    return tuple(
        target_ids.new_tensor([row[cut] for row in rows]) for cut in (slice(-1), slice(1, None))
    )
