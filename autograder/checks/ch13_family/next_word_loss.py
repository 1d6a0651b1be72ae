"""How well each position predicts the next word."""

import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal, padded
from autograder.authoring.drawn import drawn
from autograder.shared.probes import arguments_after, device_kept, gradients, returned_for_views
from solutions.ch13_family import next_word_loss


@drawn
def loss_case(rng, lengths=(4, 4), vocab_size=7, pad_id=None, dtype=torch.float64, scale=1.5):
    """Make the inputs of a case.

    Args:
        lengths: words of each sentence; the longest has no padding.
        pad_id: given by position where it is not None; then 0 is a word like others.
    """
    lengths = rng.permutation(lengths).tolist()
    token_ids = padded(rng, lengths, max(lengths), vocab_size, pad_id or 0)
    token_ids[:, 0] = 1
    if pad_id is not None and token_ids.shape[1] > 1:
        token_ids[:, 1] = torch.where(token_ids[:, 1] == pad_id, pad_id, 0)
    logits = normal(rng, *token_ids.shape, vocab_size, dtype=dtype, scale=scale)
    given = {} if pad_id is None else {"pad_id": pad_id}
    return {"logits": logits, "token_ids": token_ids, **given}


def padding_in_front(rng):
    """Draw a sentence that is padded at its beginning."""
    case = loss_case(rng, (5, 5))
    case["token_ids"][0, :2] = 0
    return case


@drawn
def huge(rng, offset, scale):
    case = loss_case(rng, (3, 2))
    return {**case, "logits": offset + scale * case["logits"]}


def loss_with(
    shifted=lambda logits, token_ids: (logits[:, :-1], token_ids[:, 1:]),
    log_probs=lambda logits: logits.log_softmax(dim=-1),
    counted=lambda targets, pad_id: targets != pad_id,
    mean=lambda losses, words: losses.sum() / words.sum().clamp(min=1),
):
    """Make a loss from its rules."""

    def next_word_loss(logits, token_ids, pad_id=0):
        logits, targets = shifted(logits, token_ids)
        losses = -log_probs(logits).gather(-1, targets[..., None])[..., 0]
        words = counted(targets, pad_id)
        return mean(losses.masked_fill(~words, 0), words)

    return next_word_loss


checks = Checks(next_word_loss, family=loss_with, shortcuts="ForCausalLMLoss")
shown, hidden, wrong, right = checks.words

shown("one sentence of two words: one is to be predicted", loss_case((2,)), weight=2)
shown("two sentences without padding", loss_case(), weight=2)
shown("sentences of different lengths", loss_case((5, 2)), weight=3)
shown("padding may have any id, and 0 may be a word", loss_case((4, 2), pad_id=3), weight=2)
shown("logits in the thousands", huge(1000, 3000))
shown("sentences of one word: nothing is to be predicted", loss_case((1, 1)), weight=2)
shown("gradients", loss_case((3, 2), 5), probe=gradients)
shown("sentences of one word have gradients of 0", loss_case((1, 1), 5), probe=gradients)
shown("the arguments stay as they were", loss_case((2, 4)), probe=arguments_after)
hidden("a larger batch", loss_case((6, 2, 4, 3), 11), weight=3)
hidden("another id of padding, among words", loss_case((4, 2, 5), 9, pad_id=5), weight=2)
hidden("the last id is padding", loss_case((2, 4), 7, pad_id=6))
hidden("a single long sentence", loss_case((12,), 6))
hidden("a padded sentence of one word beside a long one", loss_case((1, 6), 8))
hidden("padding in front counts for nothing either", padding_in_front)
hidden("three sentences of one word: nothing is to be predicted", loss_case((1, 1, 1), 5))
hidden("logits thousands apart", huge(-3000, 4000))
hidden("gradients of a batch", loss_case((4, 2, 3), 6), probe=gradients)
hidden("one word each, and gradients of 0", loss_case((1, 1, 1), 6), probe=gradients)
hidden("float32 stays float32", loss_case((3, 4), dtype=torch.float32))
hidden("tensors that do not lie in one piece", loss_case((3, 4)), probe=returned_for_views)
hidden("the loss lies where the logits lie", loss_case((3, 4)), probe=device_kept)


wrong(
    "a position predicts its own word",
    """Your loss is small for a model that repeats what it reads. Which id should the logits at
    position t be compared with?""",
    shifted=lambda logits, token_ids: (logits, token_ids),
)


wrong(
    "a position predicts the word before it",
    "You shift the wrong one of the two. Which id follows the logits at position 0?",
    shifted=lambda logits, token_ids: (logits[:, 1:], token_ids[:, :-1]),
)


wrong(
    "a position predicts the word after the next",
    "Your shift is one too far. Which id follows position 0?",
    shifted=lambda logits, token_ids: (
        (logits[:, :-2], token_ids[:, 2:])
        if token_ids.shape[1] > 2
        else (logits[:, :-1], token_ids[:, 1:])
    ),
)


wrong(
    "logits and targets lose their first position",
    """Both are cut at the same end, so a position is compared with its own word. Which id follows
    the logits at position 0?""",
    shifted=lambda logits, token_ids: (logits[:, 1:], token_ids[:, 1:]),
)


wrong(
    "logits and targets lose their last position",
    """Both are cut at the same end, so a position is compared with its own word. Which logits are
    asked for a word that nobody has, and which id is never predicted?""",
    shifted=lambda logits, token_ids: (logits[:, :-1], token_ids[:, :-1]),
)


wrong(
    "the first axis holds the positions",
    "You leave out whole sentences. Which axis of the logits counts positions?",
    shifted=lambda logits, token_ids: (logits[:-1], token_ids[1:]),
)


wrong(
    "a batch is one long text",
    """Your result is right for a single sentence. After you have put all sentences in a row, what
    does the last position of the first one predict?""",
    shifted=lambda logits, token_ids: (
        logits.flatten(0, 1)[None, :-1],
        token_ids.flatten()[None, 1:],
    ),
)


wrong(
    "the last position predicts the first word",
    "What does your last position predict? Nothing comes after it.",
    shifted=lambda logits, token_ids: (logits, token_ids.roll(-1, dims=1)),
)


wrong(
    "padding is a word like others",
    "You also ask for padding. Which argument says what padding is?",
    counted=lambda targets, pad_id: torch.ones_like(targets, dtype=torch.bool),
)


wrong(
    "padding counts as a word that was right",
    "The losses are right, and their mean is too small. By how many words do you divide?",
    mean=lambda losses, words: losses.sum() / max(words.numel(), 1),
)


wrong(
    "the first word counts, too",
    """The losses are right, and their mean is too small. How many words of a sentence are
    predicted, and how many do you count?""",
    mean=lambda losses, words: losses.sum() / (words.sum() + len(words)),
)


@wrong(
    "what counts is whether a position holds a word",
    """Your mask says which positions hold a word. The question is which ids are to be predicted:
    look at the last word of a short sentence.""",
)
def with_the_mask_of_the_inputs(logits, token_ids, pad_id=0):
    losses = functional.cross_entropy(logits[:, :-1].mT, token_ids[:, 1:], reduction="none")
    words = token_ids[:, :-1] != pad_id
    return (losses * words).sum() / words.sum().clamp(min=1)


wrong(
    "padding is 0",
    """Your result is right as long as padding is 0. Where do you use the argument that gives its
    id?""",
    pad_id=0,
)


wrong(
    "each sentence counts the same",
    """Your result is right if all sentences have the same length. Do you take the mean over words,
    or over sentences?""",
    mean=lambda losses, words: (losses.sum(-1) / words.sum(-1).clamp(min=1)).mean(),
)


wrong(
    "losses add up",
    "Twice the batch, twice your loss. What does the docstring say: sum or mean?",
    mean=lambda losses, words: losses.sum(),
)


wrong(
    "each sentence has a loss",
    "How many numbers should come back for a batch?",
    mean=lambda losses, words: losses.sum(-1) / words.sum(-1).clamp(min=1),
)


wrong(
    "each word has a loss",
    """You return a loss for each word. How many numbers should come back, and what makes one of
    many?""",
    mean=lambda losses, words: losses,
)


wrong(
    "there is always something to predict",
    "What is the mean over no words at all? 0 divided by 0 is nan.",
    mean=lambda losses, words: losses.sum() / words.sum(),
)


@wrong(
    "where nothing is to be predicted, 0 is a number",
    """The value is right where there is nothing to predict. But calling `backward` on it raises an
    error: where does your 0 come from?""",
)
def with_a_zero_of_its_own(logits, token_ids, pad_id=0):
    if not (token_ids[:, 1:] != pad_id).any():
        return torch.zeros((), dtype=logits.dtype, device=logits.device)
    return next_word_loss(logits, token_ids, pad_id)


wrong(
    "the position must be a word, too",
    """You leave out words that follow padding. The text asks about the next id alone: what must it
    not be?""",
)(
    lambda logits, token_ids, pad_id=0: next_word_loss(
        logits,
        torch.cat(
            [
                token_ids[:, :1],
                token_ids[:, 1:].masked_fill(token_ids[:, :-1] == pad_id, pad_id),
            ],
            dim=1,
        ),
        pad_id,
    )
)


wrong(
    "the first word after the beginning does not count",
    "How many words does a sentence of two ask for? You leave one out.",
    counted=lambda targets, pad_id: (
        (targets != pad_id) & (torch.arange(targets.shape[1], device=targets.device) > 0)
    ),
)


wrong(
    "padding is not in the vocabulary",
    "You forbid padding before the softmax. Do all ids of the vocabulary take part in it?",
    log_probs=lambda logits: torch.cat(
        [torch.full_like(logits[..., :1], -1e9), logits[..., 1:]], dim=-1
    ).log_softmax(-1),
)


wrong(
    "logits are probabilities already",
    "You take the logarithm of something that does not sum to 1. What are logits?",
    log_probs=lambda logits: logits.clamp(min=1e-9).log(),
)


wrong(
    "logits are log-probabilities",
    "Add 1 to all logits: the loss should not notice, and yours does.",
    log_probs=lambda logits: logits,
)


wrong(
    "a loss is computed from probabilities",
    """Your loss can never be large, however wrong the model is. What does cross_entropy do first
    with what you give it, and what have you done already?""",
    log_probs=lambda logits: logits.softmax(-1).log_softmax(-1),
)


@wrong(
    "cross_entropy takes the classes last",
    """Read in PyTorch's documentation of cross_entropy which axis holds the classes. Which one
    holds the vocabulary in yours?""",
)
def with_classes_last(logits, token_ids, pad_id=0):
    return functional.cross_entropy(logits[:, :-1], token_ids[:, 1:], ignore_index=pad_id)


wrong(
    "a reshape swaps two axes",
    """The shape that you give to cross_entropy is right, but the numbers are in the wrong places: a
    reshape or view keeps their order in memory. Which operation swaps two axes?""",
    log_probs=lambda logits: logits.reshape(logits.mT.shape).log_softmax(1).mT,
)


wrong(
    "softmax first, then the logarithm",
    """Your result is right for small logits. What is the logarithm of a probability that has
    become 0?""",
    log_probs=lambda logits: logits.softmax(-1).log(),
)


wrong(
    "a little more than a probability has a logarithm",
    """However wrong a model is, your loss stops growing at some point. What do you add before you
    take the logarithm, and which function of PyTorch needs no such help?""",
    log_probs=lambda logits: (logits.softmax(-1) + 1e-12).log(),
)


wrong(
    "a loss has two as its base",
    "Every loss is 1.44 times too large. Which base does the logarithm have?",
    then=lambda loss: loss / 0.6931471805599453,
)


wrong(
    "the loss is a perplexity",
    "Your result is the exponential of the right number.",
    then=torch.exp,
)


wrong(
    "log-probabilities are negative, and so is the loss",
    "Your loss falls when the model gets worse. Which sign has a cross-entropy?",
    then=lambda loss: -loss,
)


checks.usual("detached")
checks.usual("in float32")


@right
def by_cross_entropy(logits, token_ids, pad_id=0):
    targets = token_ids[:, 1:].reshape(-1)
    losses = functional.cross_entropy(
        logits[:, :-1].reshape(-1, logits.shape[-1]), targets, reduction="none"
    )
    words = (targets != pad_id).to(losses.dtype)
    return (losses * words).sum() / words.sum().clamp(min=1)


@right
def sentence_by_sentence(logits, token_ids, pad_id=0):
    total, count = logits.sum() * 0, 0
    for scores, ids in zip(logits, token_ids, strict=True):
        for place in range(1, len(ids)):
            if ids[place] != pad_id:
                total = total + scores[place - 1].logsumexp(0) - scores[place - 1, ids[place]]
                count += 1
    return total / max(count, 1)


@right
def by_a_module(logits, token_ids, pad_id=0):
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id, reduction="sum")
    following = torch.cat([token_ids[:, 1:], torch.full_like(token_ids[:, :1], pad_id)], dim=1)
    words = int((following != pad_id).sum())
    return criterion(logits.flatten(0, 1), following.flatten()) / max(words, 1)


@right
def by_the_words_alone(logits, token_ids, pad_id=0):
    words = token_ids[:, 1:] != pad_id
    if not words.any():
        return 0 * logits.sum()
    return functional.cross_entropy(logits[:, :-1][words], token_ids[:, 1:][words])
