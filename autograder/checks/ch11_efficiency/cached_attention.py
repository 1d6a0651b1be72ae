"""Attention of new words to all words so far, with a cache of keys and values."""

import math

import torch

from autograder.authoring.checks import Checks
from autograder.authoring.draw import normal
from autograder.authoring.drawn import drawn
from autograder.shared.probes import (
    arguments_after,
    attended_in_chunks,
    continued_again,
    device_kept,
    gradients_through_cache,
    returned_with_cache,
)
from solutions.ch06_masking import masked_attention
from solutions.ch11_efficiency import cached_attention


@drawn
def new_words(rng, new, length=None, batch=2, heads=2, head_dim=3, dtype=torch.float64, **scale):
    """Draw what a call gets: new words, and a cache of `length` words, or none."""

    def tensor(words):
        return normal(rng, batch, heads, words, head_dim, dtype=dtype, **scale)

    inputs = {name: tensor(new) for name in ("query", "key", "value")}
    return {**inputs, "cache": None if length is None else (tensor(length), tensor(length))}


@drawn
def chunks(rng, *cuts, **given):
    """Draw a sequence that comes in chunks of these lengths."""
    forward = new_words(rng, sum(cuts), **given)
    return {"forward": forward, "cuts": list(cuts)}


def places_of(new, length, device):
    """Return the position of each new word among all words so far."""
    return torch.arange(length - new, length, device=device)[:, None]


def attend_with(
    joined=lambda old, new: torch.cat([old, new], dim=2),
    seen=lambda places, keys, old: keys <= places,
    places=places_of,
    scaled=lambda query: query,
    rows=lambda output, new: output,
    kept=lambda key, value, new: (key, value),
    joined_values=None,
):
    """Make an attention with a cache from its rules."""

    def attend(query, key, value, cache):
        new, old = query.shape[2], 0 if cache is None else cache[0].shape[2]
        if cache is not None:
            key, value = joined(cache[0], key), (joined_values or joined)(cache[1], value)
        length = key.shape[2]
        keys = torch.arange(length, device=query.device)
        mask = seen(places(new, length, query.device), keys, old)
        output, _ = masked_attention(scaled(query), key, value, mask)
        return rows(output, new), kept(key, value, new)

    return attend


checks = Checks(
    cached_attention,
    returns=("output", "keys", "values"),
    family=attend_with,
    probe=returned_with_cache,
    shortcuts="scaled_dot_product_attention causal_lower_right",
)
shown, hidden, wrong, right = checks.words

shown("words without a cache see what came before them", new_words(4), weight=2)
shown("one new word sees the whole cache and itself", new_words(1, 3), weight=2)
shown("two new words, of which the first does not see the second", new_words(2, 3), weight=2)
shown("word after word", chunks(1, 1, 1, 1, 1), probe=attended_in_chunks, weight=3)
shown("chunks of different lengths", chunks(3, 1, 4), probe=attended_in_chunks, weight=2)
shown("a cache can be continued in two ways", chunks(3, 2, 2, 1), probe=continued_again)
shown("gradients flow through the cache", chunks(2, 1, 2), probe=gradients_through_cache)
shown(
    'the result is on the device of the arguments, here "meta"',
    new_words(2, 3),
    probe=device_kept,
)
shown("the cache stays as it was", new_words(2, 3), probe=arguments_after)
hidden("a single word without a cache", new_words(1))
hidden("many words without a cache", new_words(9, heads=3), weight=2)
hidden("one new word after many", new_words(1, 12, batch=3), weight=2)
hidden("more new words than there are in the cache", new_words(5, 2), weight=2)
hidden("as many new words as in the cache", new_words(3, 3))
hidden("one word in the cache", new_words(2, 1, 1, 1, 4))
hidden("more chunks", chunks(2, 5, 1, 1, 3), probe=attended_in_chunks, weight=2)
hidden(
    "word after word, after a longer text",
    chunks(6, 1, 1, 1),
    probe=attended_in_chunks,
    weight=3,
)
hidden("large scores", new_words(3, 4, scale=15.0))
hidden("in float32", new_words(3, 5, dtype=torch.float32))
hidden("a cache is continued again, word by word", chunks(2, 1, 1, 1), probe=continued_again)
hidden("gradients flow through a longer cache", chunks(3, 3, 1), probe=gradients_through_cache)
hidden("arguments stay as they were", new_words(1, 4), probe=arguments_after)


wrong(
    "positions are counted on the CPU",
    """You count positions in a new tensor, and PyTorch makes it on the default device. With which
    tensors does it meet?""",
    places=lambda new, length, device: places_of(new, length, None),
)


wrong(
    "causal begins at the first word of the cache",
    """Right without a cache. With one, your first new word sees only the first key. How many words
    came before it?""",
    places=lambda new, length, device: torch.arange(new, device=device)[:, None],
)


wrong(
    "new words see all that is there",
    "Right for one new word. When several come at once, may the first of them see the others?",
    seen=lambda places, keys, old: keys >= 0,
)


wrong(
    "with a cache there is nothing to mask",
    """Right for one new word, and without a cache. When several come after a cache, may the first
    of them see the others?""",
    seen=lambda places, keys, old: (keys <= places) | (old > 0),
)


wrong(
    "new words see the cache alone",
    "Which of the new keys does a new word see? At least its own.",
    seen=lambda places, keys, old: (keys < old) | ((old == 0) & (keys <= places)),
)


wrong(
    "a word does not see itself",
    "How many keys does the very first word see? Its own key is among them.",
    seen=lambda places, keys, old: keys < places.clamp(min=1),
)


wrong(
    "a word sees the next one",
    "Each of your words sees one key too many. Which one is it, and when is it written?",
    seen=lambda places, keys, old: keys <= places + 1,
)


wrong(
    "new words see new words alone",
    "Right without a cache. With one, your new words see none of its keys. What is it for?",
    seen=lambda places, keys, old: (keys <= places) & (keys >= old),
)


wrong(
    "the cache comes after the new words",
    "In which order are the keys in your new cache? The oldest word should come first.",
    joined=lambda old, new: torch.cat([new, old], dim=2),
)


wrong(
    "the cache holds what is new",
    "Your output is right, but your cache holds only the new words. What will the next call need?",
    kept=lambda key, value, new: (key[:, :, -new:], value[:, :, -new:]),
)


@wrong(
    "the cache is what it was",
    """Your output is right, but the cache that you return has no new word in it. What will the next
    call need?""",
    around=True,
)
def old_cache(right, query, key, value, cache):
    output, new = right(query, key, value, cache)
    return output, new if cache is None else cache


wrong(
    "keys alone have to be kept",
    "Compare the lengths of your keys and of your values.",
    kept=lambda key, value, new: (key, value[:, :, -new:]),
)


wrong(
    "values and keys may change places",
    "Your cache is a pair in the wrong order: keys come first.",
    kept=lambda key, value, new: (value, key),
)


@wrong(
    "a cache is there to be written into",
    """The numbers are right, but the cache that was passed in has changed. Somebody may want to
    continue it in another way: which line of yours writes into it?""",
    around=True,
)
def written_into(right, query, key, value, cache):
    result = right(query, key, value, cache)
    if cache is not None:
        for old, new in zip(cache, (key, value), strict=True):
            old.data[:, :, -1] = new.data[:, :, -1]
    return result


@wrong(
    "there is one sequence, and one memory for it",
    """Your cache has room for words to come, and two continuations share that room. What does the
    second one do to the words of the first?""",
)
def with_room(query, key, value, cache):
    new, old = query.shape[2], 0 if cache is None else cache[0].shape[2]
    rooms = []
    for place, fresh in enumerate((key, value)):
        if cache is None:
            room = fresh.new_zeros(*fresh.shape[:2], 64, fresh.shape[3])
        elif getattr(cache[place], "_base", None) is not None and cache[place]._base.shape[2] == 64:
            room = cache[place]._base
        else:
            room = fresh.new_zeros(*fresh.shape[:2], 64, fresh.shape[3])
            room[:, :, :old] = cache[place]
        room[:, :, old : old + new] = fresh
        rooms.append(room[:, :, : old + new])
    places = places_of(new, old + new, query.device)
    mask = torch.arange(old + new, device=query.device) <= places
    return masked_attention(query, *rooms, mask)[0], tuple(rooms)


@wrong(
    "nobody learns from what is in a cache",
    """The numbers are right. But the output depends on the keys and values of earlier words, and no
    gradient reaches them.""",
    around=True,
)
def detached(right, query, key, value, cache):
    output, new = right(query, key, value, cache)
    return output, tuple(each.detach() for each in new)


wrong(
    "one word is new",
    "How many rows does your output have? It should have one for each new word.",
    rows=lambda output, new: output[:, :, -1:],
)


wrong(
    "words are joined along the heads",
    "Which axis counts the words? Look at the shape of your cache.",
    joined=lambda old, new: torch.cat([old, new[..., -1:, :].expand_as(old)], dim=1)[
        :, : new.shape[1]
    ],
)


wrong(
    "the dot products are the scores",
    "The weights are sharper than they should be. What happens to dot products before the softmax?",
    scaled=lambda query: query * math.sqrt(query.shape[-1]),
)


wrong(
    "the output is all that is asked for",
    "What do you return besides the output? The next call needs something from this one.",
    then=lambda result: result[0],
)


@right
def by_the_last_rows(query, key, value, cache):
    if cache:
        key = torch.cat((cache[0], key), -2)
        value = torch.cat((cache[1], value), -2)
    length = key.shape[-2]
    mask = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
    mask = mask[-query.shape[-2] :]
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights @ value, (key, value)


@right
def by_the_fused_kernel(query, key, value, cache):
    old = 0
    if cache is not None:
        old = cache[0].size(2)
        key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
    ones = torch.ones(query.size(2), key.size(2), dtype=torch.bool, device=query.device)
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=ones.tril(diagonal=old)
    )
    return output, [key, value]


@right
def word_by_word(query, key, value, cache):
    """Lets each new word look at a cache that ends with it, so that nothing is masked."""
    keys, values = (None, None) if cache is None else cache
    outputs = []
    for place in range(query.shape[2]):
        here = slice(place, place + 1)
        keys = key[:, :, here] if keys is None else torch.cat([keys, key[:, :, here]], dim=2)
        values = (
            value[:, :, here] if values is None else torch.cat([values, value[:, :, here]], dim=2)
        )
        outputs.append(masked_attention(query[:, :, here], keys, values)[0])
    return torch.cat(outputs, dim=2), (keys, values)


@right
def with_an_empty_cache(query, key, value, cache):
    """Takes None for a cache of no word."""
    if cache is None:
        cache = (key[:, :, :0], value[:, :, :0])
    old = cache[0].shape[2]
    key, value = (torch.cat(pair, dim=2) for pair in zip(cache, (key, value), strict=True))
    later = torch.full((query.shape[2], key.shape[2]), -math.inf, dtype=query.dtype)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * query.shape[-1] ** -0.5
    return (scores + later.triu(old + 1).to(query.device)).softmax(-1) @ value, (key, value)
