"""The course's translator with several seeds, sentences whose truth the grammar knows, and a look
at all of a model's heads at once.
"""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from solutions.translator import corpus
from solutions.translator.checkpoints import WEIGHTS
from solutions.translator.data.batches import padded
from solutions.translator.data.tokenizer import BOS, EOS, PAD
from solutions.translator.runs import FinishedRun

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "work" / "heads"  # where trained translators are kept: they are 6 MB each
GROUPS = ("encoder", "decoder", "cross")
ARTICLES = {"il", "lo", "la", "l'", "i", "gli", "le", "un", "uno", "una", "un'"}


def trained(steps, seed):
    """Return the translator that `python -m solutions.translator train` makes of the course's
    corpus, as chapter 8 builds it; train it if that was not done before.

    Returns:
        FinishedRun, and its Transformer in eval mode.
    """
    folder = FOLDER / f"{steps}-steps-seed-{seed}"
    if not (folder / WEIGHTS).exists():
        command = [sys.executable, "-m", "solutions.translator", "train", "--into", folder]
        command += ["--steps", str(steps), "--seed", str(seed)]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(list(map(str, command)), check=True, cwd=ROOT, env=one_thread)
    run = FinishedRun(folder, "cpu")
    return run, run.plain_model()


@dataclass(frozen=True)
class Sentences:
    """Sentences as a model reads them in training, and what the grammar knows of them.

    Args:
        known: list of corpus.Annotation.
        src: (batch, src_len) int64.
        tgt: (batch, tgt_len) int64, beginning with `<bos>`.
        expected: (batch, tgt_len) int64, what each position should say, ending with `<eos>`.
    """

    known: list
    src: torch.Tensor
    tgt: torch.Tensor
    expected: torch.Tensor

    @property
    def words(self):
        """(batch, tgt_len) bool: where there is something to say."""
        return self.expected != PAD

    def only(self, row):
        """Return one of them."""
        rows = slice(row, row + 1)
        return Sentences(self.known[rows], self.src[rows], self.tgt[rows], self.expected[rows])

    def is_article(self):
        """Return (batch, tgt_len) bool: where an Italian article is written."""
        found = torch.zeros_like(self.expected, dtype=torch.bool)
        for row, known in zip(found, self.known, strict=True):
            for place in range(len(known.italian)):
                row[place] = article_at(known, place)
        return found


def article_at(known, place):
    """Return whether an Italian word is an article, and not a pronoun that looks like one."""
    nouns = {link for link in known.agreement if link[1] == place}
    return known.italian[place] in ARTICLES and not nouns <= known.sure


def read(run, known):
    """Return annotated sentences as Sentences.

    Raises:
        ValueError: where a tokenizer splits a sentence otherwise than the corpus does.
    """
    sides = [
        [corpus.sentence(words) for words in side]
        for side in zip(*map(words_of, known), strict=True)
    ]
    sources, targets = run.source.encode(sides[0]), run.target.encode(sides[1])
    for one, source, target in zip(known, sources, targets, strict=True):
        if (len(one.english), len(one.italian)) != (len(source), len(target)):
            raise ValueError(f"the tokenizer splits {one.english} in another way")
    return Sentences(
        list(known),
        padded(sources),
        padded([[BOS, *ids] for ids in targets]),
        padded([[*ids, EOS] for ids in targets]),
    )


def words_of(known):
    return known.english, known.italian


def attentions(model):
    """Return dict: group of `GROUPS` -> its attention modules, one a layer."""
    return {
        "encoder": [layer.self_attention for layer in model.encoder],
        "decoder": [layer.self_attention for layer in model.decoder],
        "cross": [layer.cross_attention for layer in model.decoder],
    }


class Seen:
    """What a model's heads do, as long as a `with` block lasts.

    Attributes:
        weights: dict from (group, layer) to (batch, heads, query_len, key_len).
        outputs: dict from (group, layer) to (batch, query_len, d_model), the heads side by side, as
            they go into `w_o`.
        values: dict from (group, layer) to (batch, key_len, d_model), as `w_v` makes them.
        hidden: list of (batch, tgt_len, d_model), after each layer of the decoder.
    """

    def __init__(self, model):
        self.model, self.hooks = model, contextlib.ExitStack()
        self.weights, self.outputs, self.values, self.hidden = {}, {}, {}, []

    def __enter__(self):
        def ask(module, arguments, named):
            return arguments, {**named, "need_weights": True}

        for group, modules in attentions(self.model).items():
            for layer, module in enumerate(modules):
                self.hook(module.register_forward_pre_hook(ask, with_kwargs=True))
                place = group, layer
                self.hook(module.register_forward_hook(keeper(self.weights, place, weights_of)))
                self.hook(module.w_v.register_forward_hook(keeper(self.values, place)))
                self.hook(module.w_o.register_forward_pre_hook(fed(self.outputs, place)))
        for layer in self.model.decoder:
            self.hook(layer.register_forward_hook(lambda _, given, out: self.hidden.append(out)))
        return self

    def hook(self, handle):
        self.hooks.callback(handle.remove)

    def __exit__(self, *failure):
        self.hooks.close()


def weights_of(result):
    return result[1]


def keeper(kept, place, part=lambda result: result):
    """Return a hook that keeps a part of what a module returns."""

    def keep(module, given, result):
        kept[place] = part(result)

    return keep


def fed(kept, place):
    """Return a hook that keeps what a module is given."""

    def keep(module, given):
        kept[place] = given[0]

    return keep


def block_of(head, attention):
    """Return the features that belong to a head, before `w_o`."""
    width = attention.w_o.in_features // attention.num_heads
    return slice(head * width, (head + 1) * width)


@contextlib.contextmanager
def head_replaced(attention, head, by, where=(...,)):
    """Replace what a head finds, as long as the block lasts.

    Args:
        by: (head_dim,), or anything that broadcasts to what is replaced.
        where: index of sentences and rows; everywhere, unless something else is said.
    """

    def put(module, given):
        outputs = given[0].clone()
        outputs[(*where, block_of(head, attention))] = by
        return (outputs,)

    handle = attention.w_o.register_forward_pre_hook(put)
    try:
        yield
    finally:
        handle.remove()


def all_heads(model):
    """Yield (group, layer, head, module) for each head."""
    for group, modules in attentions(model).items():
        for layer, module in enumerate(modules):
            for head in range(module.num_heads):
                yield group, layer, head, module
