"""A toy of translation, small enough to train while a page is built: English to Italian, with
agreement and another word order.

"the small cat sees a house" becomes "il gatto piccolo vede una casa". Some words have two
translations, used equally often, so that no honest model can be sure of the next word, and its loss
has a floor. `train` fits the course's own Transformer to such pairs, or one of two variants that
cheat: `OpenTransformer` has no causal mask, `LateTransformer` applies it after the softmax.

A recorded run is a dict with `mask` ("before the softmax", "after it", "none"), `steps` and `seed`;
`loss` on held-out sentences; `cut`, the same loss where all later words are cut off; `right`, how
many of 100 translations say the right thing, and `empty`, how many say nothing.
"""

import itertools
import math

import numpy as np
import torch
from torch import nn

from book.experiments import Experiment
from book.experiments.measurements import spread, table
from solutions.ch01_embeddings import build_vocabulary, encode
from solutions.ch05_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch06_masking import padding_mask
from solutions.ch08_encoder_decoder import Transformer, greedy_decode

NOUNS = {
    "cat": ("gatto", "m"),
    "dog": ("cane", "m"),
    "book": ("libro", "m"),
    "garden": ("giardino", "m"),
    "house": ("casa", "f"),
    "girl": ("ragazza", "f"),
    "moon": ("luna", "f"),
    "rose": ("rosa", "f"),
}
ADJECTIVES = {  # stems; the ending agrees with the noun
    "black": ("ner",),
    "white": ("bianc",),
    "red": ("ross",),
    "new": ("nuov",),
    "small": ("piccol", "minuscol"),
    "dear": ("car", "amat"),
}
VERBS = {
    "seeks": ("cerca",),
    "sees": ("vede", "guarda"),
    "finds": ("trova", "scopre"),
    "remembers": ("ricorda", "rammenta"),
}
ARTICLES = {"the": {"m": "il", "f": "la"}, "a": {"m": "un", "f": "una"}}
CHOICES = {word for table in (ADJECTIVES, VERBS) for word, stems in table.items() if len(stems) > 1}
# an adjective or a verb -> the first of those that mean the same
SAME = {
    stem + end: stems[0] + end for stems in ADJECTIVES.values() for stem in stems for end in "oa"
}
SAME |= {verb: verbs[0] for verbs in VERBS.values() for verb in verbs}


class OpenTransformer(Transformer):
    """A Transformer whose decoder may look ahead."""

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.tgt_embedding)
        for layer in self.decoder:
            # the honest model has decoder_mask(tgt) here
            x = layer(x, memory, padding_mask(tgt), padding_mask(src))
        return x


class LateMask(MultiHeadAttention):
    """Multi-head attention that applies its mask after the softmax."""

    def forward(self, query, key, value, mask, need_weights=True):
        query, key, value = (
            split_heads(layer(x), self.num_heads)
            for layer, x in ((self.w_q, query), (self.w_k, key), (self.w_v, value))
        )
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores, dim=-1) * mask
        return self.w_o(merge_heads(weights @ value)), weights if need_weights else None


class LateTransformer(Transformer):
    """A Transformer whose decoder applies its own mask after the softmax."""

    def __init__(self, *sizes, **named):
        super().__init__(*sizes, **named)
        for layer in self.decoder:
            layer.self_attention.__class__ = LateMask  # the same parameters, but a late mask


MASKS = {"before the softmax": Transformer, "after it": LateTransformer, "none": OpenTransformer}


def draw_pairs(count, seed=0):
    """Draw different English sentences, each with one of its right translations.

    Returns:
        list of (english, italian).
    """
    rng = np.random.default_rng(seed)
    pairs = {}
    while len(pairs) < count:
        (subject, soggetto), (target, oggetto) = draw_phrase(rng), draw_phrase(rng)
        verb = rng.choice(list(VERBS))
        pairs.setdefault(
            f"{subject} {verb} {target}", f"{soggetto} {rng.choice(VERBS[verb])} {oggetto}"
        )
    return list(pairs.items())


def draw_phrase(rng):
    """Draw a noun with its article and perhaps an adjective, in both languages: "a red rose", "una
    rosa rossa".
    """
    article, adjective, noun = (
        rng.choice(list(words)) for words in (ARTICLES, ["", *ADJECTIVES], NOUNS)
    )
    nome, gender = NOUNS[noun]
    articolo = ARTICLES[article][gender]
    if not adjective:
        return f"{article} {noun}", f"{articolo} {nome}"
    aggettivo = rng.choice(ADJECTIVES[adjective]) + ("o" if gender == "m" else "a")
    return f"{article} {adjective} {noun}", f"{articolo} {nome} {aggettivo}"


PAIRS = draw_pairs(3900)
HELD_OUT, LEARNED = PAIRS[:100], PAIRS[100:]
ENGLISH, ITALIAN = (build_vocabulary([pair[side] for pair in PAIRS]) for side in (0, 1))
SIZES = {
    "d_model": 32,
    "num_heads": 2,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "d_ff": 64,
    "dropout": 0.0,
}


def tensors(pairs):
    """Return the ids of both sides, padded: src (batch, src_len), and tgt (batch, tgt_len) with its
    `<bos>` and `<eos>`.
    """
    src = [torch.tensor(encode(english, ENGLISH)) for english, _ in pairs]
    tgt = [torch.tensor([1, *encode(italian, ITALIAN), 2]) for _, italian in pairs]
    return tuple(nn.utils.rnn.pad_sequence(rows, batch_first=True) for rows in (src, tgt))


def loss_of(model, src, tgt):
    """Return the mean cross-entropy of every next word, all positions at once; padding does not
    count.
    """
    logits = model(src, tgt[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0)


def train(model_class, steps=300, seed=0):
    """Train a model from a seed, on one thread.

    Args:
        model_class: `Transformer`, or a variant of it.

    Returns:
        model, in eval mode, and the list of its training losses.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = model_class(len(ENGLISH), len(ITALIAN), **SIZES)
    with torch.no_grad():
        for embedding in (model.src_embedding, model.tgt_embedding):
            # About as long as the positions that are added.
            embedding.weight.mul_(SIZES["d_model"] ** -0.5)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    src, tgt = tensors(LEARNED)
    losses = []
    for _ in range(steps):
        rows = torch.randint(len(src), (64,))
        loss = loss_of(model, src[rows], tgt[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return model.eval(), losses


@torch.no_grad()
def held_out_loss(model):
    """Return the loss on sentences that no model was trained on, with the right translation as
    input, as in training.
    """
    return loss_of(model, *tensors(HELD_OUT)).item()


@torch.no_grad()
def cut_loss(model, others=None):
    """Return the same loss where the decoder reads each beginning of a translation by itself, so
    that no later word is there to be seen.

    Args:
        others: (batch, tgt_len + 1), other translations, whose later words are there instead.
    """
    src, tgt = tensors(HELD_OUT)
    others = tgt[:, :0] if others is None else others
    last = [
        model(src, torch.cat([tgt[:, :length], others[:, length:-1]], dim=1))[:, length - 1]
        for length in range(1, tgt.shape[1])
    ]
    logits = torch.stack(last, dim=1)  # (batch, tgt_len, vocab_size)
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0
    ).item()


def other_future_loss(model):
    """Return the same loss where each beginning goes on as the translation of another sentence."""
    return cut_loss(model, tensors(HELD_OUT)[1].roll(1, dims=0))


def loss_floor(pairs=HELD_OUT):
    """Return the mean loss of a model that knows everything except which of two equal words the
    translator chose: log 2 for each such choice.
    """
    choices = sum(word in CHOICES for english, _ in pairs for word in english.split())
    words = sum(len(italian.split()) + 1 for _, italian in pairs)  # and <eos>
    return choices * math.log(2) / words


def translate(model, pairs=HELD_OUT):
    """Translate the English sides, word by word, from nothing but the English."""
    words = {index: word for word, index in ITALIAN.items()}
    rows = greedy_decode(model, tensors(pairs)[0], max_len=12).tolist()
    return [" ".join(words[index] for index in row[1:] if index not in (0, 2)) for row in rows]


def count_right(translations, pairs=HELD_OUT):
    """Count the translations that say the same as the given one; either of two equal words is
    right.
    """
    return sum(
        meaning(said) == meaning(right)
        for said, (_, right) in zip(translations, pairs, strict=True)
    )


def meaning(italian):
    """Return a sentence with each free choice made in the same way."""
    return " ".join(SAME.get(word, word) for word in italian.split())


def influence(model, pair):
    """Measure which words of the decoder's input move each of its predictions.

    Returns:
        shares: (tgt_len, tgt_len), each row summing to 1: how strongly the score of the right next
            word, at a row's position, reacts to the embedding at each column's.
        inputs: the words at the columns.
    """
    src, tgt = tensors([pair])
    seen = []
    handle = model.tgt_embedding.register_forward_hook(
        lambda _, inputs, output: seen.append(output)
    )
    logits = model(src, tgt[:, :-1])[0]  # (tgt_len, vocab_size)
    handle.remove()
    right = logits.gather(1, tgt[0, 1:, None])[:, 0]
    rows = [
        torch.autograd.grad(score, seen[0], retain_graph=True)[0][0].norm(dim=-1) for score in right
    ]
    sizes = torch.stack(rows)
    return (sizes / sizes.sum(dim=1, keepdim=True)).numpy(), ["<bos>", *pair[1].split()]


def measure(masks, steps, seeds):
    """Train a translator with each mask, budget and seed; return the runs, as described above."""
    runs = []
    for mask, budget, seed in itertools.product(masks, steps, seeds):
        model, _ = train(MASKS[mask], budget, seed)
        said = translate(model)
        runs.append({"mask": mask, "steps": budget, "seed": seed})
        runs[-1] |= {"loss": held_out_loss(model), "cut": cut_loss(model)}
        runs[-1] |= {"right": count_right(said), "empty": said.count("")}
    return runs


def measure_futures(masks, steps, seeds):
    """Train a translator with each mask, budget and seed, and take its future away in two ways.

    Returns:
        list of dict: `mask`, `steps`, `seed`; the loss on held-out sentences with their own later
        words (`loss`), with none (`cut`), and with another sentence's (`other`).
    """
    runs = []
    for mask, budget, seed in itertools.product(masks, steps, seeds):
        model, _ = train(MASKS[mask], budget, seed)
        runs.append({"mask": mask, "steps": budget, "seed": seed, "loss": held_out_loss(model)})
        runs[-1] |= {"cut": cut_loss(model), "other": other_future_loss(model)}
    return runs


def recorded(runs, mask, steps, what):
    """Return one number of all recorded runs with a mask and a budget, (seeds,)."""
    chosen = [run[what] for run in runs if (run["mask"], run["steps"]) == (mask, steps)]
    return np.array(chosen)


def losses_by_steps(runs, mask):
    """Return dict: number of steps -> the recorded losses with a mask, (seeds,)."""
    budgets = sorted({run["steps"] for run in runs})
    return {steps: recorded(runs, mask, steps, "loss") for steps in budgets}


def masks_table(runs):
    """Return the table of the recorded runs: mean, and range over the seeds. It has all budgets of
    the late mask, and the first and the last of the others, which start out right or wrong.
    """
    budgets = sorted({run["steps"] for run in runs})
    rows = []
    for mask in MASKS:
        for steps in budgets if mask == "after it" else (budgets[0], budgets[-1]):
            loss, cut, right = (
                recorded(runs, mask, steps, what) for what in ("loss", "cut", "right")
            )
            rows.append(
                (mask, f"{steps:,}", spread(loss, 1, 4), spread(cut, 1, 2), spread(right, 1, 0))
            )
    return table(("mask", "steps", "loss", "later words cut off", "right of 100"), rows)


EXPERIMENT = Experiment(
    page="ch06_masking",
    asks="what does a decoder learn that sees the words it should predict, or is masked too late?",
    short={"steps": 300, "seeds": 1},
    long={"masks": tuple(MASKS), "steps": (300, 600, 1200, 2400), "seeds": 4},
    initialisation="PyTorch's default, embeddings divided by sqrt(d_model)",
    measure=measure,
)

MORE_EXPERIMENTS = {
    "two_futures": Experiment(
        page="ch06_masking",
        asks="what breaks a late mask: a future that is missing, or the sum of its rows?",
        long={"masks": ("before the softmax", "after it"), "steps": (300, 1200), "seeds": 4},
        initialisation=EXPERIMENT.initialisation,
        measure=measure_futures,
    )
}
