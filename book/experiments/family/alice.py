"""A tiny GPT that learns to write from one book, letter by letter.

The text is "Alice's Adventures in Wonderland" (Lewis Carroll, 1865). Chapters I to X are for
training, XI is for validation, and XII for the test, which is asked once, at the end. Width, rate
and initialisation were chosen in six short trials with one seed, by the validation loss, and so are
the weights that a training keeps. Beside it are models that only count what followed the last 0 to
8 letters, where longer contexts are mixed with shorter ones (Witten and Bell 1991, method C).

    python -m book.experiments alice

trains three seeds. The page and its explorer run the model of seed 0, whose weights the same
command writes to `book/measured/alice.safetensors`, in 16 bits.
"""

import math
from collections import Counter, defaultdict

import torch
from safetensors.torch import load_file, save_file

from book.experiments import Experiment
from book.experiments.measurements import FOLDER
from book.experiments.undisturbed import undisturbed
from solutions.ch09_training import noam_rate
from solutions.ch13_family import LanguageModel, next_word_distribution, next_word_loss

TEXT = FOLDER.parent / "texts" / "wonderland.txt"
WEIGHTS = FOLDER / "alice.safetensors"
SHAPE = {"max_len": 64, "d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 256}
BATCH, PEAK, STEPS, WARM_UP, EVERY = 16, 6e-3, 3000, 150, 100
PAD = -1  # no letter is padding
INITIALISATION = (
    "embeddings from a normal distribution of standard deviation 1 / sqrt(d_model), else PyTorch's"
    " default"
)


def texts():
    """Return dict: "train", "validation" and "test" -> the letters of its chapters."""
    text = TEXT.read_text(encoding="utf-8")
    eleven, twelve = text.index("CHAPTER XI\n"), text.index("CHAPTER XII\n")
    return {"train": text[:eleven], "validation": text[eleven:twelve], "test": text[twelve:]}


def letters():
    """Return the letters of the book, in the order of their ids."""
    return sorted(set(TEXT.read_text(encoding="utf-8")))


def encoded(text):
    """Return (len(text),) int64."""
    ids = {letter: number for number, letter in enumerate(letters())}
    return torch.tensor([ids[letter] for letter in text])


def cut(ids, length):
    """Cut a text into pieces of a length, each of which begins with the last letter of the one
    before, so that every letter but the first is predicted once; what is left over is dropped.

    Returns:
        (pieces, length) int64.
    """
    return ids.unfold(0, length, length - 1)


def drawn(ids, length, batch, generator):
    """Draw pieces of a text that begin anywhere.

    Returns:
        (batch, length) int64.
    """
    starts = torch.randint(len(ids) - length + 1, (batch, 1), generator=generator)
    return ids[starts + torch.arange(length)]


@torch.no_grad()
def loss_on(model, pieces):
    """Return a model's mean loss on pieces of text, in nats a letter."""
    model.eval()
    total = sum(
        next_word_loss(model(batch, pad_id=PAD), batch, pad_id=PAD).item() * len(batch)
        for batch in pieces.split(64)
    )
    model.train()
    return total / len(pieces)


def train(model, ids, validation, steps, seed, batch=BATCH, peak=PEAK, decay=0.1):
    """Train a model of letters, and leave it as it was when its validation loss was smallest.

    Args:
        model: maps (batch, seq_len) ids and `pad_id` to logits; has `max_len`.
        ids, validation: the letters of two texts.
        decay: of the weights.

    Returns:
        list of dict: `step`, and the losses in nats a letter on `validation`, and on as much of the
        `training` text.
    """
    generator = torch.Generator().manual_seed(seed)
    seen, unseen = (cut(each[: len(validation)], model.max_len) for each in (ids, validation))
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=decay)
    warm_up = min(WARM_UP, steps // 2)
    scale = peak / noam_rate(warm_up, 1, warm_up)
    history, best = [], None
    for step in range(1, steps + 1):
        # up for a while, and then down to 0 along a cosine
        rate = scale * noam_rate(min(step, warm_up), 1, warm_up)
        rate *= 0.5 + 0.5 * math.cos(math.pi * max(step - warm_up, 0) / (steps - warm_up))
        for group in optimizer.param_groups:
            group["lr"] = rate
        pieces = drawn(ids, model.max_len, batch, generator)
        loss = next_word_loss(model(pieces, pad_id=PAD), pieces, pad_id=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % EVERY == 0 or step == steps:
            losses = {"training": loss_on(model, seen), "validation": loss_on(model, unseen)}
            history.append({"step": step, **losses})
            if losses["validation"] == min(each["validation"] for each in history):
                best = {name: each.clone() for name, each in model.state_dict().items()}
    model.load_state_dict(best)
    return history


class Letters(LanguageModel):
    """A LanguageModel that knows how long its pieces are.

    The rows of its tables begin with a length of about 1. With GPT-2's standard deviation of 0.02
    they are so short, at this width, that what the layers add drowns them: a trial with one seed
    and 600 steps learned more slowly.
    """

    def __init__(self, vocab_size, max_len, d_model, *sizes, **named):
        super().__init__(vocab_size, max_len, d_model, *sizes, **named)
        for embedding in self.token_embedding, self.position_embedding:
            torch.nn.init.normal_(embedding.weight, std=d_model**-0.5)

    @property
    def max_len(self):
        return self.position_embedding.num_embeddings


def trained(steps, seed):
    """Train a GPT from a seed.

    Returns:
        the model, and its history.
    """
    parts = {name: encoded(text) for name, text in texts().items()}
    with undisturbed():
        torch.manual_seed(seed)
        model = Letters(len(letters()), **SHAPE)
        history = train(model, parts["train"], parts["validation"], steps, seed)
    return model.eval(), history


class Counts:
    """A model of letters that counts what followed up to `order` letters of the training text.

    A context that was seen `total` times, before `kinds` different letters, says
    `(count + kinds * shorter) / (total + kinds)` of a letter of which the context that is a letter
    shorter says `shorter`; without any context all letters are equally likely.
    """

    def __init__(self, text, order, vocabulary):
        self.order, self.vocabulary = order, vocabulary
        self.after = defaultdict(Counter)
        for end in range(len(text)):
            for length in range(min(order, end) + 1):
                self.after[text[end - length : end]][text[end]] += 1

    def probability(self, letter, context):
        """Return the probability of a letter after a context, of which the last `order` letters
        count.
        """
        probability = 1 / len(self.vocabulary)
        for length in range(min(self.order, len(context)) + 1):
            counts = self.after.get(context[len(context) - length :])
            if counts is None:
                break
            kinds = len(counts)
            probability = (counts[letter] + kinds * probability) / (counts.total() + kinds)
        return probability

    def loss_on(self, text):
        """Return the mean loss of all letters but the first, in nats."""
        losses = [
            -math.log(self.probability(text[end], text[max(end - self.order, 0) : end]))
            for end in range(1, len(text))
        ]
        return sum(losses) / len(losses)


@torch.no_grad()
def write(model, prompt, length, seed, rows=1, **knobs):
    """Let a model go on with a text, letter by letter.

    Args:
        prompt: text to go on with.
        length: how many letters to write.
        seed: of the draws.
        rows: how many texts to write side by side.
        knobs: `temperature`, `top_k` and `top_p` of `next_word_distribution`.

    Returns:
        list of str: what was written, without the prompt.
    """
    generator = torch.Generator().manual_seed(seed)
    ids = encoded(prompt).repeat(rows, 1)
    for _ in range(length):
        # the model has max_len positions, and cannot look back any farther
        logits = model(ids[:, -model.max_len :], pad_id=PAD)[:, -1]
        drawn_ids = next_word_distribution(logits, **knobs).multinomial(1, generator=generator)
        ids = torch.cat([ids, drawn_ids], dim=1)
    known = letters()
    return ["".join(known[each] for each in row[len(prompt) :]) for row in ids.tolist()]


def measure(steps, seeds):
    """Train GPTs, and count beside them.

    The weights of seed 0 are written to `WEIGHTS`, if the budget is the recorded one.

    Returns:
        list of dict: one with `kind` "counts" for each order from 0 to 8, with its `validation` and
        `test` loss; for each seed one with `kind` "gpt", its `history`, the `step` of its smallest
        validation loss, and its losses on `validation` and `test`, all in nats a letter.
    """
    parts, rows = texts(), []
    for order in range(9):
        counts = Counts(parts["train"], order, letters())
        losses = {name: counts.loss_on(parts[name]) for name in ("validation", "test")}
        rows.append({"kind": "counts", "order": order, **losses})
    test = encoded(parts["test"])
    for seed in seeds:
        model, history = trained(steps, seed)
        if (steps, seed) == (STEPS, 0):
            save(model)
        best = min(history, key=lambda each: each["validation"])
        rows.append(
            {
                "kind": "gpt",
                "seed": seed,
                "parameters": sum(each.numel() for each in model.parameters()),
                "step": best["step"],
                "validation": best["validation"],
                "test": loss_on(model, cut(test, model.max_len)),
                "history": history,
            }
        )
    return rows


def save(model):
    """Write a model's weights to `book/measured`, without its last position: in training nobody
    asked there what comes next, so that the model would write nonsense from there on.
    """
    weights = {name: each.half() for name, each in model.state_dict().items()}
    name = "position_embedding.weight"
    save_file(weights | {name: weights[name][:-1].clone()}, WEIGHTS)


def blank():
    """Return a model of the form of that in `book/measured`, which has read nothing."""
    return Letters(len(letters()), **SHAPE | {"max_len": SHAPE["max_len"] - 1})


def loaded():
    """Return the model whose weights are in `book/measured`, in eval mode."""
    model = blank()
    model.load_state_dict({name: each.float() for name, each in load_file(WEIGHTS).items()})
    return model.eval()


EXPERIMENT = Experiment(
    page="ch13_family",
    asks="does a tiny GPT predict letters better than counting them?",
    short={"steps": 60, "seeds": 1},
    long={"steps": STEPS, "seeds": 3},
    initialisation=INITIALISATION,
    measure=measure,
)
