"""The tiny GPT of `alice` learns what is preferred, from pairs of its own texts, by DPO.

It goes on with pieces of the book, twice with each. A rule is the judge: of the two texts it
prefers the one whose words are shorter on average. The model is then trained on these pairs by
direct preference optimisation (Rafailov et al. 2023), with several strengths `beta` of the pull
towards the model as it was. Afterwards it is asked three things: how often is its text preferred to
one of the model as it was, how far has it moved, and what does it still know of the book? One loss
is on the book's short words alone, because a taste for these is no reason to predict them worse.
Beside that is written how far the texts of the training pairs have moved, on either side.

Prompts for training come from the chapters that the model has read, those for asking from the last
chapter.
"""

import copy
import re

import torch
from torch.nn import functional

from book.experiments import Experiment
from book.experiments.family import alice
from book.experiments.undisturbed import undisturbed

PROMPT, LENGTH = 12, 32  # letters
PROMPTS, ASKED = 240, 120  # of the training, and of the questions afterwards
BATCH, RATE = 16, 1e-3
SHORT = 3  # letters of a short word, at most


@torch.no_grad()
def continued(model, prompts, generator):
    """Let a model go on with prompts.

    Args:
        prompts: (batch, PROMPT) int64.

    Returns:
        (batch, PROMPT + LENGTH) int64.
    """
    model.eval()
    ids = prompts
    for _ in range(LENGTH):
        shares = model(ids, pad_id=alice.PAD)[:, -1].softmax(dim=-1)
        ids = torch.cat([ids, shares.multinomial(1, generator=generator)], dim=1)
    return ids


def written(ids):
    """Return what was written after each prompt, as text."""
    known = alice.letters()
    return ["".join(known[each] for each in row) for row in ids[:, PROMPT:].tolist()]


def word_length(text):
    """Return the mean length of the words of a text; a text without any has the length of one
    word.
    """
    words = text.split()
    return sum(map(len, words)) / len(words) if words else float(len(text))


def log_probability(model, ids):
    """Return how likely a model finds what comes after each prompt: (batch,), in nats."""
    logits = model(ids, pad_id=alice.PAD)[:, PROMPT - 1 : -1]
    return -functional.cross_entropy(logits.mT, ids[:, PROMPT:], reduction="none").sum(dim=1)


@torch.no_grad()
def loss_on_short_words(model, text):
    """Return a model's mean loss on the letters of the words of a text that have at most `SHORT`
    letters, in nats a letter.
    """
    inside = torch.zeros(len(text), dtype=torch.bool)
    for word in re.finditer("[A-Za-z]+", text):
        inside[word.start() : word.end()] = len(word[0]) <= SHORT
    pieces, asked = (alice.cut(each, model.max_len) for each in (alice.encoded(text), inside))
    logits = model(pieces, pad_id=alice.PAD)[:, :-1]
    losses = functional.cross_entropy(logits.mT, pieces[:, 1:], reduction="none")
    return losses[asked[:, 1:]].mean().item()


@torch.no_grad()
def moved(model, reference, chosen, rejected):
    """Return dict: `won` and `lost`, how much likelier a model finds the texts of each side of the
    pairs than the model as it was, on average, in nats a text; and the share of winners that
    `fell`, which it finds less likely.
    """
    won, lost = (
        log_probability(model, each) - log_probability(reference, each)
        for each in (chosen, rejected)
    )
    return {
        "won": won.mean().item(),
        "lost": lost.mean().item(),
        "fell": (won < 0).float().mean().item(),
    }


def dpo_loss(chosen, rejected, beta):
    """Compare how much likelier both texts of each pair have become.

    Args:
        chosen, rejected: (batch,), the log-probability of a text minus the one that the model as it
            was gives it.
        beta: strength of the pull towards the model as it was.

    Returns:
        Scalar.

    Source: Rafailov et al. 2023, equation 7.
    """
    return -functional.logsigmoid(beta * (chosen - rejected)).mean()


def judged(first, second):
    """Return whether the judge prefers the first of two texts: 1, 0, or 0.5 if they are equal."""
    one, other = word_length(first), word_length(second)
    return 0.5 if one == other else float(one < other)


def pairs(model, ids, generator):
    """Let a model write pairs of texts, and let the judge choose.

    Args:
        ids: the text from which prompts are drawn.

    Returns:
        (chosen, rejected), each (pairs, PROMPT + LENGTH) int64; undecided pairs are left out.
    """
    prompts = alice.drawn(ids, PROMPT, PROMPTS, generator)
    both = [continued(model, prompts, generator) for _ in range(2)]
    wins = torch.tensor([judged(*texts) for texts in zip(*map(written, both), strict=True)])
    first, second = (each[wins != 0.5] for each in both)
    won = (wins[wins != 0.5] == 1)[:, None]
    return torch.where(won, first, second), torch.where(won, second, first)


def prefer(model, reference, chosen, rejected, beta, steps, generator, rate=RATE):
    """Train a model by DPO.

    Args:
        reference: the model as it was.
        chosen, rejected: as `pairs` returns them.
    """
    with torch.no_grad():
        before = [log_probability(reference, each) for each in (chosen, rejected)]
    optimizer = torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.98), fused=True)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * min((step + 1) / 20, 1 - step / steps)
        rows = torch.randint(len(chosen), (BATCH,), generator=generator)
        both = log_probability(model, torch.cat([chosen[rows], rejected[rows]]))
        gains = both - torch.cat([each[rows] for each in before])
        loss = dpo_loss(*gains.split(len(rows)), beta)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def asked(model, reference, prompts, rivals, pieces, seed):
    """See what a model does now.

    Args:
        reference: the model as it was.
        prompts: (batch, PROMPT) int64.
        rivals: texts of the model as it was, to these prompts.
        pieces: of the book, to be predicted.

    Returns:
        dict: `wins`, how often its text is preferred to the rival; `letters` of a word on average;
        `known`, the share of words, without the first and the last of a text, that the book has,
        too; `different`, the share of different words in a text; `kl`, how much likelier its texts
        are to itself than to the model as it was, in nats a text; `old`, the loss on the pieces;
        and a `text`.
    """
    ids = continued(model, prompts, torch.Generator().manual_seed(seed))
    texts = written(ids)
    likelier = log_probability(model, ids) - log_probability(reference, ids)
    words = [text.split() for text in texts]
    book = {*re.findall("[a-z]+", alice.texts()["train"].lower())}
    whole = [word for text in texts for word in re.findall("[a-z]+", text.lower())[1:-1]]
    return {
        "wins": sum(map(judged, texts, rivals)) / len(texts),
        "letters": sum(map(word_length, texts)) / len(texts),
        "known": sum(word in book for word in whole) / len(whole),
        "different": sum(len(set(each)) / max(len(each), 1) for each in words) / len(words),
        "kl": likelier.mean().item(),
        "old": alice.loss_on(model, pieces),
        "text": texts[0],
    }


def measure(steps, betas, seeds, part="test", rate=RATE):
    """Train with each strength and seed.

    Args:
        steps: of each training.
        betas: several strengths.
        part: the chapter from which it is asked.

    Returns:
        list of dict: `seed`, `beta` (null for the model as it was), `pairs`, what `asked` and
        `moved` find, and `short`, the loss on the short words of the part.
    """
    book = {name: alice.encoded(text) for name, text in alice.texts().items()}
    reference, rows = alice.loaded(), []
    pieces = alice.cut(book[part], reference.max_len)
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        with undisturbed():
            chosen, rejected = pairs(reference, book["train"], generator)
            prompts = alice.drawn(book[part], PROMPT, ASKED, generator)
            rivals = written(continued(reference, prompts, generator))
            for beta in (None, *betas):
                model = copy.deepcopy(reference)
                if beta is not None:
                    order = torch.Generator().manual_seed(seed)
                    prefer(model, reference, chosen, rejected, beta, steps, order, rate)
                row = {"seed": seed, "beta": beta, "pairs": len(chosen)}
                row |= asked(model, reference, prompts, rivals, pieces, seed)
                row |= moved(model.eval(), reference.eval(), chosen, rejected)
                rows.append(row | {"short": loss_on_short_words(model, alice.texts()[part])})
    return rows


EXPERIMENT = Experiment(
    page="ch13_since_2017",
    asks="what does training on preferred texts change, and what does it cost?",
    short={"steps": 5, "betas": (0.3,), "seeds": 1},
    long={"steps": 80, "betas": (0.1, 0.3, 1.0, 3.0), "seeds": 3},
    initialisation="the weights of alice.safetensors",
    measure=measure,
)
