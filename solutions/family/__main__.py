"""Load other people's weights into the course's blocks or into your own, and use them:
`python -m solutions.family load | write | translate | convert`.
"""

import sys
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional, arg

from solutions.family import checkpoint, loading, text, writing
from solutions.translator.own_model import failures_told
from solutions.translator.settings.fields import SettingsError, Switch, check, path, real, whole
from solutions.translator.settings.fields import text as words_of

PROGRAM = "python -m solutions.family"
Where = Annotated[Positional[str], words_of(), arg(metavar="FOLDER_OR_NAME")]
Text = Annotated[Positional[str], words_of(), arg(metavar="TEXT")]
File = Annotated[Path | None, path("FOLDER")]
Revision = Annotated[str | None, words_of()]
Count = Annotated[int, whole(1)]


@dataclass(frozen=True)
class Load:
    """Read a checkpoint, and say where each of its tensors went.

    Args:
        where: a folder with config.json and model.safetensors, or a model's name on the Hugging
            Face hub.
        download: fetch a model of that name, into work/models.
        revision: with --download: a branch or commit of it.
        model: a package with layers of your own; see `python -m autograder export`.
    """

    where: Where
    _: KW_ONLY
    download: Switch = False
    revision: Revision = None
    model: File = None

    def __post_init__(self):
        check(self)
        if self.revision and not self.download:
            raise SettingsError("--revision is for --download, which is not given")


@dataclass(frozen=True)
class Write(Load):
    """Let GPT-2 continue a text.

    Args:
        text: how it begins.
        words: how many tokens to add at most.
        temperature: divides the logits; 0 always takes the likeliest.
        top_k: how many of the likeliest are kept.
        top_p: the likeliest are kept until their probability reaches this.
        seed: of what is drawn; without it, another text each time.
    """

    text: Text
    _: KW_ONLY
    words: Count = 40
    temperature: Annotated[float, real(0)] = 1.0
    top_k: Annotated[int | None, whole(1)] = None
    top_p: Annotated[float | None, real(above=0)] = None
    seed: Annotated[int | None, whole(0)] = None


@dataclass(frozen=True)
class Translate(Load):
    """Let Marian translate a sentence.

    Args:
        text: the sentence.
        beam: hypotheses of beam search; 1 is greedy.
        longest: the most tokens of a translation.
    """

    text: Text
    _: KW_ONLY
    beam: Count = 1
    longest: Count = 128


@dataclass(frozen=True)
class Convert:
    """Copy the tensors of a pickle, pytorch_model.bin, into model.safetensors.

    Args:
        where: a folder, or the name of a model that was downloaded.
    """

    where: Where

    def __post_init__(self):
        check(self)


COMMANDS = {"load": Load, "write": Write, "translate": Translate, "convert": Convert}


def main(arguments=None):
    """Run one command. What a person can put right is a sentence on stderr and exit status 2."""
    options = tyro.extras.subcommand_cli_from_dict(
        COMMANDS,
        prog=PROGRAM,
        description="Load other people's weights into the blocks of this course, and use them.",
        args=arguments,
    )
    try:
        with failures_told():
            run(options)
    except ValueError as error:
        print(f"family: {error}", file=sys.stderr)
        return 2
    return 0


def run(options):
    """Do what a command is for."""
    match options:
        case Write():
            continue_text(options)
        case Translate():
            translate_sentence(options)
        case Load():
            show(loaded_by(options))
        case Convert():
            checkpoint.convert(checkpoint.folder_of(options.where))


def folder_by(options):
    """Return the folder that a command names."""
    return checkpoint.folder_of(options.where, options.download, options.revision)


def loaded_by(options):
    """Return the model that a command names."""
    return loading.load(folder_by(options), options.model)


def show(loaded):
    """Say where each tensor went, and how large the model is."""
    rows = [("theirs", "shape", "ours"), *loaded.table]
    left, middle = (max(len(row[column]) for row in rows) for column in (0, 1))
    for theirs, shape, ours in rows:
        print(f"{theirs:<{left}}  {shape:<{middle}}  {ours}")
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    print(f"\n{loaded.kind}: {parameters:,} parameters, and every one of them has been filled")


def continue_text(options):
    """Print a text and how GPT-2 continues it."""
    loaded = loaded_by(options)
    writing.require(loaded, "gpt2", "continue a text")
    tokenizer = text.tokenizer_of(folder_by(options))
    chosen = options.temperature, options.top_k, options.top_p, options.seed
    ids = tokenizer.encode(options.text).ids
    print(tokenizer.decode(ids + writing.write(loaded, ids, options.words, *chosen)))


def translate_sentence(options):
    """Print the translation of a sentence."""
    loaded = loaded_by(options)
    writing.require(loaded, "marian", "translate")
    words = text.MarianText(folder_by(options))
    ids = words.encode(options.text)
    print(words.decode(writing.translate(loaded, ids, options.beam, options.longest)))


if __name__ == "__main__":
    sys.exit(main())
