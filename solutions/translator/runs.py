"""A run is a folder: the tokenizers, the checkpoints, the finished model and the history of its
training. Here it is made, and read again.
"""

import hashlib
from functools import partial
from pathlib import Path

import torch
from torch import nn

from solutions.ch08_encoder_decoder import Transformer
from solutions.translator import checkpoints
from solutions.translator.checkpoints import WEIGHTS
from solutions.translator.data.batches import make_batches
from solutions.translator.data.tokenizer import Tokenizer
from solutions.translator.data.typed import as_in_the_corpus
from solutions.translator.decoding import translate_ids
from solutions.translator.model import Translator
from solutions.translator.own_model import keep_own_model, kept_own_model, own_module
from solutions.translator.settings import Shape
from solutions.translator.training import Training

SHOWN = 3  # validation sentences that are translated at each evaluation


class RunError(ValueError):
    """A run cannot be made or read as it was asked for; the message says what to do."""


def new_model(shape, src_vocab_size, tgt_vocab_size, path=None):
    """Make a model.

    Args:
        shape: Shape.
        path: of a package or a module with a class `Transformer` as chapter 8 asks for it; None for
            the course's own.

    Raises:
        RunError: if there is no such class, or it makes no module.
    """
    arguments = dict(shape.__dict__)
    tied = arguments.pop("tied")
    if path is None:
        return Translator(src_vocab_size, tgt_vocab_size, **arguments, tied=tied)
    model = own_model(path, src_vocab_size, tgt_vocab_size, **arguments)
    for module in model.modules():
        # PyTorch's embeddings are large, and sqrt(d_model) times as large they learn badly
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=shape.d_model**-0.5)
    return model


def own_model(path, *sizes, **arguments):
    """Make a learner's own model.

    Args:
        path: of a package or a module with a class `Transformer`.
        sizes, arguments: of the class.

    Raises:
        RunError: if there is no such class, or it makes no module.
        ValueError: if there is nothing at that path.
    """
    try:
        model = own_module(path).Transformer(*sizes, **arguments)
    except AttributeError as error:
        raise RunError(f"{path} has no class Transformer ({error})") from error
    if not isinstance(model, nn.Module):
        raise RunError(f"Transformer in {path} makes {type(model).__name__}, not an nn.Module")
    return model


def prepare(
    folder, pairs, validation, shape, settings, vocab_size=None, model_path=None, team=None
):
    """Make a Training from pairs of sentences.

    Args:
        folder: of the run.
        pairs, validation: lists of (source, target).
        shape, settings: Shape, Settings.
        vocab_size: of a joint byte-pair encoding; None for whole words, for each language its own.
        model_path: of a learner's package or module.
        team: see Training.

    Returns:
        Training; `run()` it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizers = tokenizers_of(folder, pairs, vocab_size)
    torch.manual_seed(settings.seed)
    model = new_model(shape, *(each.vocab_size for each in tokenizers), model_path)
    if model_path is not None and (team is None or team.is_first):
        keep_own_model(model_path, folder)
    batches, validation_batches = (
        make_batches(*encoded(some, tokenizers), settings) for some in (pairs, validation)
    )
    about = {
        "shape": shape.__dict__,
        "own_model": model_path is not None,
        "text": fingerprint(pairs, vocab_size),
    }
    samples = partial(translations, model, tokenizers, validation[:SHOWN])
    return Training(model, batches, validation_batches, settings, folder, samples, about, team)


def encoded(pairs, tokenizers):
    """Return the ids of all sources and of all targets."""
    return [
        tokenizer.encode([pair[side] for pair in pairs])
        for side, tokenizer in enumerate(tokenizers)
    ]


def translations(model, tokenizers, pairs):
    """Translate a few sentences, for the history of a training."""
    found = translate_ids(model, encoded(pairs, tokenizers)[0])
    return {
        "translations": [
            {"source": source, "reference": target, "translation": tokenizers[1].decode(ids)}
            for (source, target), ids in zip(pairs, found, strict=True)
        ]
    }


def fingerprint(pairs, vocab_size):
    """Return a short hash of what a run is trained on: a training does not continue with another
    text.
    """
    lines = "\n".join(map("\t".join, pairs))
    return hashlib.sha256(f"{vocab_size}\n{lines}".encode()).hexdigest()[:16]


def tokenizers_of(folder, pairs, vocab_size):
    """Return the tokenizers of a run: those that are there, or new ones."""
    paths = folder / "source.json", folder / "target.json"
    if all(path.exists() for path in paths):
        return [Tokenizer.load(path) for path in paths]
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    if vocab_size is None:
        made = [Tokenizer.words(side) for side in sides]
    else:
        made = [Tokenizer.byte_pairs(sides[0] + sides[1], vocab_size)] * 2
    for path, tokenizer in zip(paths, made, strict=True):
        tokenizer.save(path)
    return made


class FinishedRun:
    """A trained translator.

    Args:
        folder: of the run.

    Raises:
        checkpoints.CheckpointError: if there is none, or it is damaged.
    """

    def __init__(self, folder, device=None):
        self.folder = Path(folder)
        path = self.folder / WEIGHTS
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        tensors, self.about = checkpoints.load(path, self.device)
        self.source, self.target = (
            Tokenizer.load(self.folder / f"{side}.json") for side in ("source", "target")
        )
        self.shape = Shape(**self.about["shape"])
        own = kept_own_model(self.folder) if self.about["own_model"] else None
        self.model = (
            new_model(self.shape, self.source.vocab_size, self.target.vocab_size, own)
            .to(self.device)
            .eval()
        )
        checkpoints.put_weights(self.model, tensors, path)

    def translate(self, sentences, beam_size=1):
        """Translate sentences, in the same order. An empty sentence translates to an empty
        sentence.
        """
        sources = self.source.encode([self.as_known(sentence) for sentence in sentences])
        found = iter(translate_ids(self.model, [ids for ids in sources if ids], beam_size))
        return [self.target.decode(next(found)) if ids else "" for ids in sources]

    def as_known(self, sentence):
        """Return a sentence as the course's corpus would write it, where more of its words are
        known then.
        """
        plain = as_in_the_corpus(sentence)
        unknown, left = (len(self.source.unknown_words(each)) for each in (sentence, plain))
        return plain if left < unknown else sentence

    def plain_model(self):
        """Return the same model as chapter 8 builds it, which returns its attention weights."""
        if self.about["own_model"]:
            raise RunError(
                "attention is shown for the course's own model, and this run has one of its own"
            )
        arguments = {name: value for name, value in self.about["shape"].items() if name != "tied"}
        plain = Transformer(self.source.vocab_size, self.target.vocab_size, **arguments).eval()
        plain.load_state_dict(self.model.state_dict())
        return plain
