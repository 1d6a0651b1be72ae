"""Translate many sentences at once: greedy or beam search, with the cache of
`solutions.translator.model` where the model has one.

A learner's own Transformer has only `encode`, `decode` and `generator`. Then each further word
means reading the whole target again, and the result is the same.
"""

import contextlib
import math

import torch
from torch.nn import functional

from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS, EOS

ROWS = 64  # sentences that are translated at once
EXTRA, FACTOR = 10, 1.6  # a translation has at most FACTOR times its source's words, plus EXTRA


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

    Args:
        src: (batch, src_len) int64.
        max_len: the most ids in a target, `<bos>` counted.

    Returns:
        list of lists of int, without special ids.
    """
    sentences = torch.arange(len(src), device=src.device)
    next_word = writer(model, src, max_len)
    next_word.choose(sentences.repeat_interleave(beam_size))
    beams = Beams(len(src), beam_size, max_len, length_penalty, src.device)
    ids = torch.full((len(src) * beam_size,), BOS, device=src.device)
    for _ in range(max_len - 1):
        log_probs = torch.log_softmax(next_word.advance(ids).float(), dim=-1)
        parents = beams.extend(log_probs.view(len(src), beam_size, -1))
        if beams.over.all():
            break
        next_word.choose_written((parents + beam_size * sentences[:, None]).flatten())
        ids = beams.written[:, :, -1].flatten()
    return beams.best()


class Beams:
    """The hypotheses of a batch of sentences, and the best finished one of each.

    Args:
        batch: how many sentences.
        beam_size: hypotheses of each.
        max_len: the most ids in a target, `<bos>` counted.
        length_penalty: see `normaliser`.
    """

    def __init__(self, batch, beam_size, max_len, length_penalty, device):
        self.beam_size, self.max_len, self.length_penalty = beam_size, max_len, length_penalty
        self.log_probs = torch.full((batch, beam_size), -torch.inf, device=device)
        self.log_probs[:, 0] = 0.0  # in the beginning there is one hypothesis
        self.written = torch.empty((batch, beam_size, 0), dtype=torch.int64, device=device)
        self.finished = [(-math.inf, [])] * batch  # (score, words)
        self.over = torch.zeros(batch, dtype=torch.bool)  # the sentences that are decided

    def extend(self, log_probs):
        """Extend every hypothesis by a word, and keep the best.

        Args:
            log_probs: (batch, beam_size, vocab_size) of the next words.

        Returns:
            (batch, beam_size): the hypothesis that each new one extends.
        """
        vocab_size = log_probs.shape[-1]
        candidates = (self.log_probs[:, :, None] + log_probs).flatten(1)
        # each hypothesis can end in only one way, so at least half of these go on
        ranked, places = candidates.topk(min(2 * self.beam_size, candidates.shape[1]))
        parents, words = places // vocab_size, places % vocab_size  # (batch, 2 * beam_size)
        self.keep_finished(ranked, parents, words)
        self.log_probs, kept = topk(ranked.masked_fill(words == EOS, -torch.inf), self.beam_size)
        parents, words = parents.gather(1, kept), words.gather(1, kept)  # (batch, beam_size)
        rows = torch.arange(len(parents), device=parents.device)[:, None]
        self.written = torch.cat([self.written[rows, parents], words[:, :, None]], dim=2)
        self.decide()
        return parents

    def keep_finished(self, ranked, parents, words):
        """Keep a hypothesis that ends with this word, where it is the best finished one so far.

        Args:
            ranked: (batch, candidates) log-probabilities, the largest first.
            parents, words: (batch, candidates): which hypothesis each extends, and by what.
        """
        ends, possible = words == EOS, ranked.isfinite()
        living_before = (~ends & possible).cumsum(dim=1)
        # once living ones fill the beam, no further candidate counts
        reached = ends & possible & (living_before < self.beam_size)
        divisor = normaliser(self.written.shape[2] + 1, self.length_penalty)
        for row, place in reached.nonzero().tolist():
            score = float(ranked[row, place]) / divisor
            if not self.over[row] and score > self.finished[row][0]:
                self.finished[row] = (score, self.written[row, parents[row, place]].tolist())

    def decide(self):
        """Note which sentences are decided.

        `beam_search` would go on, but the result is certain: a hypothesis's log-probability never
        rises, so no living one can overtake the best finished one once even its largest possible
        score is smaller.
        """
        largest = self.log_probs[:, 0] / normaliser(self.max_len - 1, self.length_penalty)
        self.over |= torch.tensor([score for score, _ in self.finished]) >= largest.cpu()

    def best(self):
        """Return the best hypothesis of each sentence; where none has finished, the likeliest
        living one, because all of those have one length.
        """
        likeliest = self.log_probs.argmax(dim=1)
        return [
            words if score > -math.inf else self.written[row, likeliest[row]].tolist()
            for row, (score, words) in enumerate(self.finished)
        ]


def topk(ranked, count):
    """Return the best candidates and their places. If there are too few, the rest of the beam is
    dead: its log-probability is -inf.
    """
    width = ranked.shape[1]
    ranked = functional.pad(ranked, (0, max(0, count - width)), value=-torch.inf)
    values, places = ranked.topk(count)
    return values, places.clamp(max=width - 1)


def normaliser(length, length_penalty):
    """Return what a hypothesis's log-probability is divided by (Wu et al. 2016): without it, short
    ones would win.

    Args:
        length: words, `<eos>` counted.
    """
    return ((5 + length) / 6) ** length_penalty
