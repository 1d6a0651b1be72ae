"""Translate many sentences at once: greedy or beam search, with the cache of
`solutions.translator.model` where the model has one.

A learner's own Transformer has `encode`, `decode` and `generator` only; then every further word
reads the whole target again, and the result is the same.
"""

import contextlib

import torch

from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS, EOS, PAD

ROWS = 64  # sentences that are translated at once
EXTRA, FACTOR = 10, 1.6  # a translation is at most so much longer than its source


def translate_ids(model, sources, beam_size=1, length_penalty=0.6, rows=ROWS):
    """Translate sentences of ids.

    Args:
        model: a Translator, or any contract's Transformer.
        sources: list of lists of int, without special ids.
        beam_size: 1 for greedy.

    Returns:
        list of lists of int, without special ids, in the order of the sources.
    """
    device = next(model.parameters()).device
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]), reverse=True)
    translations = [None] * len(sources)
    with evaluating(model):
        for first in range(0, len(order), rows):
            chosen = order[first : first + rows]
            src = padded([sources[index] for index in chosen]).to(device)
            max_len = int(FACTOR * src.shape[1]) + EXTRA
            if beam_size == 1:
                found = greedy(model, src, max_len)
            else:
                found = beam(model, src, beam_size, max_len, length_penalty)
            for index, ids in zip(chosen, found, strict=True):
                translations[index] = ids
    return translations


@contextlib.contextmanager
def evaluating(model):
    """Have a model in eval mode and without gradients for as long as the block lasts."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


class Uncached:
    """Says which word comes next by reading the whole target again, for a model that has no
    cache.
    """

    def __init__(self, model, src):
        self.model, self.src, self.memory = model, src, model.encode(src)
        self.written = src.new_empty((len(src), 0))

    def advance(self, ids):
        self.written = torch.cat([self.written, ids[:, None]], dim=1)
        return self.model.generator(self.model.decode(self.written, self.memory, self.src)[:, -1])

    def choose(self, rows):
        self.src, self.memory = self.src[rows], self.memory[rows]
        self.written = self.written[rows]

    choose_written = choose


class Cached:
    """Says which word comes next with the model's cache."""

    def __init__(self, model, src, max_len):
        self.model, self.cache = model, model.start(src, max_len)

    def advance(self, ids):
        return self.model.advance(ids, self.cache)

    def choose(self, rows):
        self.cache.choose(rows)

    def choose_written(self, rows):
        self.cache.choose_written(rows)


def writer(model, src, max_len):
    """Return what says which word comes next: with a cache, where the model has one."""
    return Cached(model, src, max_len) if hasattr(model, "advance") else Uncached(model, src)


def greedy(model, src, max_len):
    """Always take the likeliest word. Rows that have ended leave the batch.

    Args:
        src: (batch, src_len) int64.
        max_len: the most ids in a target, `<bos>` counted.

    Returns:
        list of lists of int, without special ids.
    """
    next_word, found = writer(model, src, max_len), [[] for _ in range(len(src))]
    rows = torch.arange(len(src), device=src.device)  # which sentence each row of the batch is
    ids = torch.full_like(rows, BOS)
    for _ in range(max_len - 1):
        ids = next_word.advance(ids).argmax(dim=-1)
        going_on = ids != EOS
        for row, word in zip(rows[going_on].tolist(), ids[going_on].tolist(), strict=True):
            found[row].append(word)
        if not going_on.all():
            if not going_on.any():
                break
            kept = going_on.nonzero().flatten()
            next_word.choose(kept)
            rows, ids = rows[kept], ids[kept]
    return found


def beam(model, src, beam_size, max_len, length_penalty=0.6):
    """Follow several hypotheses of each sentence, by the rule of `beam_search` in chapter 9, for a
    whole batch.

    It ends earlier than that rule says, but only where the result is certain: a hypothesis's
    log-probability never rises, so none that lives can overtake the best finished one once even its
    largest possible score is smaller.

    Args:
        src: (batch, src_len) int64.
        max_len: the most ids in a target, `<bos>` counted.

    Returns:
        list of lists of int, without special ids.
    """
    batch, device = len(src), src.device
    next_word = writer(model, src, max_len)
    next_word.choose(torch.arange(batch, device=device).repeat_interleave(beam_size))
    log_probs = torch.full((batch, beam_size), -torch.inf, device=device)
    log_probs[:, 0] = 0.0  # in the beginning there is one hypothesis
    ids = torch.full((batch * beam_size,), BOS, device=device)
    written = ids.new_empty((batch, beam_size, 0))
    best = [(-float("inf"), [])] * batch
    over = torch.zeros(batch, dtype=torch.bool)
    for length in range(1, max_len):  # words after this step, <eos> counted
        scores = torch.log_softmax(next_word.advance(ids).float(), dim=-1).view(
            batch, beam_size, -1
        )
        vocab_size = scores.shape[-1]
        ranked, places = (
            (log_probs[:, :, None] + scores)
            .flatten(1)
            .topk(min(2 * beam_size, beam_size * vocab_size))
        )
        parents, words = places // vocab_size, places % vocab_size  # (batch, 2 * beam_size)
        ends = (words == EOS) & ranked.isfinite()
        live_before = ((words != EOS) & ranked.isfinite()).long().cumsum(dim=1)
        reached = (
            live_before <= beam_size
        )  # further candidates are not looked at: the beam is full before them
        reached[:, 1:] &= live_before[:, :-1] < beam_size
        for row, place in (ends & reached).nonzero().tolist():
            score = float(ranked[row, place]) / normaliser(length, length_penalty)
            if not over[row] and score > best[row][0]:
                best[row] = (score, written[row, parents[row, place]].tolist())
        ranked = ranked.masked_fill(words == EOS, -torch.inf)
        log_probs, kept = (
            ranked.topk(beam_size)
            if ranked.shape[1] >= beam_size
            else padded_topk(ranked, beam_size)
        )
        parents, words = parents.gather(1, kept), words.gather(1, kept)
        written = torch.cat(
            [
                written.gather(1, parents[:, :, None].expand(-1, -1, written.shape[2])),
                words[:, :, None],
            ],
            2,
        )
        largest = log_probs[:, 0] / normaliser(max_len - 1, length_penalty)
        over |= torch.tensor([each[0] for each in best]) >= largest.cpu()
        if over.all():
            break
        next_word.choose_written(
            (parents + beam_size * torch.arange(batch, device=device)[:, None]).flatten()
        )
        ids = words.flatten()
    return [
        words if score > -float("inf") else best_living(written[row], log_probs[row])
        for row, (score, words) in enumerate(best)
    ]


def padded_topk(ranked, beam_size):
    """Return the best of fewer candidates than the beam is wide; the rest of the beam is dead."""
    missing = beam_size - ranked.shape[1]
    ranked = torch.cat([ranked, ranked.new_full((len(ranked), missing), -torch.inf)], dim=1)
    values, places = ranked.topk(beam_size)
    return values, places.clamp(max=ranked.shape[1] - missing - 1)


def best_living(written, log_probs):
    """Return the best hypothesis where none has finished: all have one length, so the likeliest."""
    return written[int(log_probs.argmax())].tolist()


def normaliser(length, length_penalty):
    """Return what a hypothesis's log-probability is divided by (Wu et al. 2016): without it, short
    ones would win.

    Args:
        length: words, `<eos>` counted.
    """
    return ((5 + length) / 6) ** length_penalty


def without_special(ids):
    """Return a row's words: from behind `<bos>` to `<eos>`."""
    ids = list(ids)
    ids = ids[: ids.index(EOS)] if EOS in ids else ids
    return [each for each in ids if each not in (PAD, BOS)]
