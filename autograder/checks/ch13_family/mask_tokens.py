"""Words hidden for a model to guess, and what it is to guess."""

import numpy as np
import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import words
from autograder.authoring.drawn import drawn
from autograder.shared.probes import (
    arguments_after,
    device_kept,
    returned_for_views,
    returned_without_chance,
)
from solutions.ch13_family import mask_tokens

MASK, VOCAB_SIZE = 40, 30
SPECIALS = [0, 1, 2]


@drawn
def sentences(rng, *shape, special=2, special_ids=SPECIALS, probability=0.6, **given):
    """Draw sentences in which about `probability` of all words are chosen, and of the chosen as
    many become a mask, become another word, and stay.

    Args:
        special: how many places of each sentence hold an id of `SPECIALS`.
    """
    token_ids = words(rng, *shape, vocab_size=VOCAB_SIZE)
    for row in token_ids:
        places = rng.permutation(len(row))[:special]
        row[places] = torch.from_numpy(rng.choice(SPECIALS, len(places)))
    count = token_ids.numel()
    thirds = np.array([0.4, 0.85, 0.95])[rng.permutation(np.arange(count) % 3)]
    change = thirds + rng.uniform(-0.04, 0.04, count)
    chosen = np.arange(count) < round(probability * count)
    choose = np.where(chosen, probability * rng.uniform(0.1, 0.9, count), 0.99)
    choose = rng.permutation(choose)
    if probability < 0.99:
        choose = np.where(choose > 0.98, probability + (1 - probability) * 0.5, choose)
    return {
        "token_ids": token_ids,
        "mask_id": MASK,
        "special_ids": list(special_ids),
        "choose": torch.from_numpy(choose.reshape(shape)).round(decimals=3),
        "change": torch.from_numpy(change.reshape(shape)).round(decimals=3),
        "replacement": words(rng, *shape, vocab_size=VOCAB_SIZE) + VOCAB_SIZE - 4,
        "probability": probability,
        **given,
    }


@drawn
def with_change(rng, low, high, **given):
    """Draw sentences of which every chosen word has the same fate."""
    case = sentences(rng, 2, 6, **given)
    case["change"] = torch.from_numpy(rng.uniform(low, high, (2, 6))).round(decimals=3)
    return case


def with_the_usual_probability(rng):
    case = sentences(rng, 2, 12, probability=0.15)
    del case["probability"]
    others = case["choose"] > 0.5
    near = torch.from_numpy(rng.uniform(0.16, 0.2, (2, 12))).round(decimals=3)
    case["choose"] = torch.where(others, near, case["choose"])
    return case


def just_at_the_probability(rng):
    case = sentences(rng, 1, 6, special=0, probability=0.5)
    case["choose"] = torch.from_numpy(rng.choice([0.25, 0.5, 0.75], (1, 6)))
    case["choose"][0, :2] = torch.tensor([0.25, 0.5])
    return case


def every_word_is_chosen(rng):
    """Draw sentences in which `choose` would give two words another fate than the mask."""
    case = sentences(rng, 2, 9, probability=1.0)
    known = (~torch.isin(case["token_ids"], torch.tensor(SPECIALS))).nonzero()
    for place, drawn_as in zip(rng.choice(known, 2, replace=False), (0.85, 0.95), strict=True):
        case["choose"][tuple(place)] = drawn_as
    return case


def the_mask_is_special(rng):
    case = sentences(rng, 2, 6, special=1, special_ids=[*SPECIALS, MASK])
    case["token_ids"][:, 3] = MASK
    case["choose"][:, 3] = 0.1
    return case


def masking_with(
    chosen=lambda choose, probability: choose < probability,
    unspecial=lambda token_ids, special_ids: (
        ~torch.isin(token_ids, token_ids.new_tensor(special_ids))
    ),
    masked=lambda change: change < 0.8,
    replaced=lambda change: change < 0.9,
    asked=lambda chosen, masked, replaced: chosen,
    fate=lambda chosen: chosen,
    ignored=-100,
    label=lambda token_ids, inputs: token_ids,
):
    """Make a `mask_tokens` from its rules."""

    def mask_tokens(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
        of_all = chosen(choose, probability) & unspecial(token_ids, special_ids)
        hidden, swapped = masked(change), replaced(change) & ~masked(change)
        fated = fate(of_all)
        inputs = torch.where(fated & swapped, replacement, token_ids)
        inputs = torch.where(fated & hidden, torch.full_like(token_ids, mask_id), inputs)
        labels = torch.where(
            asked(of_all, hidden, swapped),
            label(token_ids, inputs),
            torch.full_like(token_ids, ignored),
        )
        return inputs, labels

    return mask_tokens


checks = Checks(
    mask_tokens,
    family=masking_with,
    returns=("inputs", "labels"),
    shortcuts="DataCollatorForLanguageModeling",
    probe=returned_without_chance,
)
shown, hidden, wrong, right = checks.words

shown("a sentence of six words", sentences(1, 6, special=0), weight=2)
shown("special words are never chosen", sentences(2, 6, special=3), weight=2)
shown("chosen words that become the mask", with_change(0.1, 0.75))
shown("chosen words that become another one", with_change(0.81, 0.89))
shown("chosen words that stay are to be guessed, too", with_change(0.91, 0.99), weight=2)
shown("a draw that equals the probability does not choose", just_at_the_probability)
shown("no special ids", sentences(1, 6, special_ids=()))
shown("the probability is 0.15 if nobody says otherwise", with_the_usual_probability)
shown("the arguments stay as they were", sentences(2, 5), probe=arguments_after)
hidden("a larger batch", sentences(4, 9), weight=3)
hidden("a batch that is half special", sentences(3, 8, special=4), weight=2)
hidden("every word is chosen", every_word_is_chosen)
hidden("no word is chosen", sentences(2, 6, probability=0.0))
hidden("the mask is special, too", the_mask_is_special)
hidden("nothing is special in a larger batch", sentences(3, 6, special_ids=()))
hidden("one id is special", sentences(3, 7, special=3, special_ids=(1,)))
hidden("all chosen words stay", with_change(0.91, 0.99, special=1))
hidden("another probability", sentences(2, 12, probability=0.25))
hidden("the usual probability, again", with_the_usual_probability)
hidden("tensors that do not lie in one piece", sentences(3, 6), probe=returned_for_views)
hidden("the results lie where the ids lie", sentences(2, 6), probe=device_kept)
hidden("the arguments of a larger batch stay as they were", sentences(3, 6), probe=arguments_after)


wrong(
    "any word may be chosen",
    "You have hidden a special word. What is the argument `special_ids` for?",
    unspecial=lambda token_ids, special_ids: torch.ones_like(token_ids, dtype=torch.bool),
)


wrong(
    "special words are the first few ids",
    "Which ids are special is an argument. Does it reach your function?",
    unspecial=lambda token_ids, special_ids: token_ids > 3,
)


wrong(
    "only padding is special",
    "You choose among special words that are no padding. What else is in `special_ids`?",
    unspecial=lambda token_ids, special_ids: token_ids != 0,
)


wrong(
    "special ids are places",
    "`special_ids` are ids, and you read them as places in a sentence.",
    unspecial=lambda token_ids, special_ids: (
        ~torch.isin(
            torch.arange(token_ids.shape[1], device=token_ids.device).expand_as(token_ids),
            token_ids.new_tensor(special_ids),
        )
    ),
)


wrong(
    "every word is to be guessed",
    """Your labels hold words that nobody has hidden. Which places count in the loss, and what do
    the others hold?""",
    asked=lambda chosen, masked, replaced: torch.ones_like(chosen),
)


wrong(
    "only what is masked is to be guessed",
    """A chosen word has a label whatever became of it. What would the model learn about words that
    look right, if it were never asked about them?""",
    asked=lambda chosen, masked, replaced: chosen & masked,
)


wrong(
    "a word that stays is not to be guessed",
    "Of the chosen words some stay as they are. Do they have a label?",
    asked=lambda chosen, masked, replaced: chosen & (masked | replaced),
)


wrong(
    "the labels are what the model reads",
    """Your labels hold the mask. What is the model to guess: what is there now, or what was there
    before?""",
    label=lambda token_ids, inputs: inputs,
)


wrong(
    "labels and inputs are the same but for the chosen",
    "Your labels are the words that were not chosen. Which are to be guessed?",
    asked=lambda chosen, masked, replaced: ~chosen,
)


wrong(
    "places without a label hold 0",
    "What do labels hold where there is nothing to guess? 0 is the id of a word.",
    ignored=0,
)


wrong(
    "places without a label hold -1",
    "Which number do labels hold where there is nothing to guess? Look it up in the docstring.",
    ignored=-1,
)


wrong(
    "every chosen word becomes the mask",
    """Your result is right for eight of ten chosen words. What happens to the others, and which
    argument says so?""",
    masked=lambda change: torch.ones_like(change, dtype=torch.bool),
)


wrong(
    "what is not masked becomes another word",
    "Of ten chosen words eight are masked and one is replaced. What becomes of the tenth?",
    replaced=lambda change: torch.ones_like(change, dtype=torch.bool),
)


wrong(
    "what is not masked stays",
    "Of ten chosen words eight are masked and one stays. What becomes of the other?",
    replaced=lambda change: change < 0,
)


wrong(
    "whatever is below 0.9 becomes another word",
    """None of your words becomes the mask. A draw below 0.8 is also below 0.9: which of your lines
    has the last word?""",
    masked=lambda change: change < 0,
)


wrong(
    "words that stay and words that are replaced change places",
    "You replace the words that should stay. On which side of 0.9 does a word keep its place?",
    replaced=lambda change: (change < 0.8) | (change >= 0.9),
)


wrong(
    "change is drawn for all words",
    """You change words that nobody has chosen: the shares of 80, 10 and 10 % are shares of
    which words?""",
    fate=lambda chosen: torch.ones_like(chosen),
)


wrong(
    "a large draw chooses",
    "About how many words do you choose at a probability of 0.15? Which draws lie below it?",
    chosen=lambda choose, probability: choose > probability,
)


wrong(
    "a draw that equals the probability chooses",
    "Your result is right unless a draw is exactly the probability: is it below it?",
    chosen=lambda choose, probability: choose <= probability,
)


wrong(
    "the probability is always 0.15",
    """Your result is right as long as the caller names no probability. Does the argument reach
    your comparison?""",
    chosen=lambda choose, probability: choose < 0.15,
)


wrong(
    "the probability is shared by all",
    """Yours is the product of all three shares. The chosen are found first; what becomes of them is
    decided by a second draw.""",
    chosen=lambda choose, probability: choose < probability * 0.8,
)


@wrong(
    "one draw decides both questions",
    """Your labels are right, but `change` has no effect on what becomes of a chosen word. Which of
    the draws decides whether a word is chosen, and which decides its fate?""",
    around=True,
)
def with_choose_for_both(right, token_ids, mask_id, special_ids, choose, change, *others):
    return right(token_ids, mask_id, special_ids, choose, choose, *others)


@wrong(
    "one draw decides both questions, in shares of the probability",
    """You cut the chosen words into shares by the draw that has chosen them. There is a second draw
    for each place: which argument has no effect on your result?""",
    around=True,
)
def with_shares_of_choose(
    right, token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15
):
    share = choose / max(probability, 1e-9)
    return right(token_ids, mask_id, special_ids, choose, share, replacement, probability)


@wrong(
    "change says which words are chosen",
    """You ask the same draw twice: whether a word is chosen, and what becomes of it. Which argument
    has no effect on your result?""",
    around=True,
)
def with_change_for_both(right, token_ids, mask_id, special_ids, choose, change, *others):
    return right(token_ids, mask_id, special_ids, change, change, *others)


@wrong(
    "chance is the function's own",
    """All chance comes in as arguments, so that the same arguments give the same result. Which
    three of them hold draws?""",
    around=True,
)
def with_draws_of_its_own(right, token_ids, mask_id, special_ids, choose, change, *others):
    draws = torch.rand(2, *token_ids.shape, device=token_ids.device)
    return right(token_ids, mask_id, special_ids, *draws, *others)


@wrong(
    "a comparison comes before &",
    """Python evaluates `&` before `<`. Which two things does it combine first in your line, and
    what would make it compare first?""",
)
def with_precedence(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    special = torch.isin(token_ids, token_ids.new_tensor(special_ids))
    return choose < probability & ~special


@wrong(
    "replacements find their own places",
    """On the left of your assignment are the chosen places alone. How many numbers are on its
    right?""",
)
def with_all_replacements(
    token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15
):
    special = torch.isin(token_ids, token_ids.new_tensor(special_ids))
    inputs = token_ids.clone()
    inputs[(choose < probability) & ~special & (change >= 0.8) & (change < 0.9)] = replacement
    return inputs, token_ids


@wrong(
    "a second name is a copy",
    """Your inputs hold -100, which belongs to the labels. Does `=` copy a tensor, or give the same
    one a second name?""",
)
def with_labels_in_token_ids(token_ids, *others):
    inputs, labels = mask_tokens(token_ids, *others)
    token_ids[...] = labels
    return torch.where(labels == -100, labels, inputs), token_ids


@wrong(
    "inputs, labels and token_ids may be one tensor",
    """Inputs and labels are one and the same tensor in your function. Does `=` copy a tensor, or
    give it a second name?""",
)
def with_one_tensor(token_ids, *others):
    inputs, labels = mask_tokens(token_ids, *others)
    token_ids[...] = torch.where(labels == -100, labels, inputs)
    return token_ids, token_ids


@wrong(
    "the caller's ids are free to be written into",
    """Compare `token_ids` before and after the call. Which line of yours writes into it instead of
    making a new tensor?""",
)
def into_token_ids(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    inputs, labels = mask_tokens(
        token_ids, mask_id, special_ids, choose, change, replacement, probability
    )
    token_ids[...] = inputs
    return token_ids, labels


checks.usual("in another order")


@right
def place_by_place(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    inputs, labels = token_ids.clone(), torch.full_like(token_ids, -100)
    for row in range(token_ids.shape[0]):
        for place in range(token_ids.shape[1]):
            old = token_ids[row, place].item()
            if old in special_ids or choose[row, place] >= probability:
                continue
            labels[row, place] = old
            if change[row, place] < 0.8:
                inputs[row, place] = mask_id
            elif change[row, place] < 0.9:
                inputs[row, place] = replacement[row, place]
    return inputs, labels


@right
def by_indexing(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    chosen = choose < probability
    for special in special_ids:
        chosen &= token_ids != special
    labels = token_ids.clone()
    labels[~chosen] = -100
    inputs = token_ids.clone()
    masked = chosen & (change < 0.8)
    swapped = chosen & (change >= 0.8) & (change < 0.9)
    inputs[masked] = mask_id
    inputs[swapped] = replacement[swapped]
    return inputs, labels


@right
def by_broadcasting(token_ids, mask_id, special_ids, choose, change, replacement, probability=0.15):
    special = (token_ids[..., None] == token_ids.new_tensor(special_ids)).any(dim=-1)
    chosen = (choose < probability).logical_and(special.logical_not())
    changed = torch.where(change < 0.8, mask_id, torch.where(change < 0.9, replacement, token_ids))
    return torch.where(chosen, changed, token_ids), torch.where(chosen, token_ids, -100)
