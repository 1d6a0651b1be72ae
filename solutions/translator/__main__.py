"""Train a translator, translate with it, and measure how well: `python -m solutions.translator
train | translate | evaluate`.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import sys
from functools import partial
from pathlib import Path

import torch

from solutions.translator import corpus
from solutions.translator.checkpoints import CheckpointError
from solutions.translator.data.text import clean, cleaning_table, read_pairs
from solutions.translator.distributed import Team
from solutions.translator.measure import evaluation, records, splits
from solutions.translator.measure.attention_map import cross_attention, draw
from solutions.translator.runs import FinishedRun, RunError, prepare
from solutions.translator.settings import (
    PRESETS,
    Settings,
    Shape,
    known_precision,
    with_preset,
)
from solutions.translator.training import TrainingError

FOLDER = Path(__file__).resolve().parents[2] / "work" / "translator"
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # as malloc.h numbers what mallopt can set


def main(arguments=None):
    """Run one command. What a person can put right is a sentence on stderr and exit status 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(arguments)
    options.arguments = arguments
    try:
        options.run(options)
    except (CheckpointError, RunError, TrainingError, ValueError) as error:
        print(f"translator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "translator: stopped; the same command, run again, continues from the last checkpoint",
            file=sys.stderr,
        )
        return 130
    return 0


def parser():
    """Return the commands and their options."""
    made = argparse.ArgumentParser(prog="python -m solutions.translator", description=__doc__)
    commands = made.add_subparsers(dest="command", required=True)
    for name, run, add_options, summary in (
        ("train", train, add_training, "train a translator, or continue where it was stopped"),
        ("translate", translate, add_translating, "translate sentences, or the lines of a pipe"),
        ("evaluate", evaluate, add_evaluating, "BLEU, chrF and exact matches"),
    ):
        command = commands.add_parser(name, help=summary, description=f"{summary}.")
        command.set_defaults(run=run)
        add_options(command)
        command.add_argument(
            "--into", "--from", dest="folder", type=Path, default=FOLDER, help="folder of the run"
        )
    return made


def add_training(command):
    """Add the options of `train`."""
    command.add_argument(
        "--preset", choices=PRESETS, help="small for the course's corpus, captions with --source"
    )
    add_text(command)
    add_text(command, "validation-")
    command.add_argument(
        "--vocab", type=int, help="size of a joint byte-pair encoding; 0 for whole words"
    )
    command.add_argument("--max-words", type=int, default=80, help="leave out longer sentences")
    command.add_argument(
        "--model",
        help="a package or file with a class Transformer of your own; see `python -m autograder"
        " export`",
    )
    command.add_argument(
        "--threads",
        type=int,
        help="of this process; by default: small 1, captions as many as there are cores",
    )
    for field in (*dataclasses.fields(Shape), *dataclasses.fields(Settings)):
        values = (f"{name} {each.get(field.name, field.default)}" for name, each in PRESETS.items())
        command.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=reader_of(field),
            metavar="X",
            help=f"by default: {', '.join(values)}",
        )


def add_translating(command):
    """Add the options of `translate`."""
    command.add_argument("sentences", nargs="*")
    command.add_argument(
        "--attention",
        metavar="FILE.svg",
        help="draw where the model looked while it wrote the first translation",
    )
    add_beam(command)


def add_evaluating(command):
    """Add the options of `evaluate`."""
    add_text(command)
    command.add_argument(
        "--record",
        type=Path,
        metavar="FILE.json",
        help="keep the scores there, greedy and with a beam of 5",
    )
    command.add_argument("--name", help="with --record: of the text and its languages")
    command.add_argument(
        "--remark",
        help="with --record: what a reader must know, such as how many settings were tried",
    )
    command.add_argument(
        "--samples", action="store_true", help="with --record: a few translations too"
    )
    add_beam(command)


def add_beam(command):
    """Add the option that chooses beam search."""
    command.add_argument(
        "--beam", type=int, default=1, help="hypotheses of beam search; 1 is greedy"
    )


def add_text(command, prefix=""):
    """Add the options that name a parallel text."""
    command.add_argument(
        f"--{prefix}source",
        metavar="FILE",
        help="one sentence a line, or source, tab, target; plain or gzipped",
    )
    command.add_argument(f"--{prefix}target", metavar="FILE", help="its translations, line by line")


def reader_of(field):
    """Return what reads the value of an option."""
    if isinstance(field.default, bool) or field.name == "tied":
        return lambda text: {"true": True, "false": False}.get(text.lower(), text)
    if field.name == "minutes":
        return float
    return int if field.default is None else type(field.default)


def train(options):
    """Train, and say how good it has become."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    default = "captions" if options.source else "small"
    chosen = with_preset(options.preset or default, given)
    shape, settings = (chosen_from(chosen, kind) for kind in (Shape, Settings))
    settings = dataclasses.replace(settings, precision=known_precision(settings.precision))
    if "threads" in chosen:
        torch.set_num_threads(chosen["threads"])
    keep_memory()
    team = Team()
    say = partial(print, file=sys.stderr) if team.is_first else lambda text: None
    pairs, validation = texts(options, say)
    training = prepare(
        options.folder,
        pairs,
        validation,
        shape,
        settings,
        chosen.get("vocab") or None,
        options.model,
        team,
    )
    if team.is_first and not training.has_begun():
        records.note_command(options.folder, options.arguments)
    parameters = sum(parameter.numel() for parameter in training.model.parameters())
    say(
        f"{len(pairs):,} pairs, {parameters:,} parameters, {training.device},"
        f" {torch.get_num_threads()} threads: {options.folder}"
    )
    loss = training.run()
    team.close()
    all_steps = f" of {settings.steps:,}" if settings.steps else ""
    say(
        f"{training.step_number:,}{all_steps} steps in {training.seconds:.0f} s; validation loss"
        f" {loss:.4f}"
    )
    if team.is_first and not options.source:
        print(splits.report(FinishedRun(options.folder)))


def chosen_from(chosen, kind):
    """Return a Shape or Settings of what was chosen, and of its own defaults."""
    names = [field.name for field in dataclasses.fields(kind)]
    return kind(**{name: chosen[name] for name in names if name in chosen})


def keep_memory():
    """Have this process keep the memory that it has used for the next step, because giving it back
    and getting it again page by page costs a tenth of the time.

    Only glibc, the C library of most Linux systems, can do that; elsewhere nothing changes.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 2**25)
        library.mallopt(TRIM_THRESHOLD, 2**31 - 1)


def texts(options, say):
    """Return the pairs to train on, and those to validate on."""
    if not options.source:
        drawn = corpus.splits()
        return drawn["train"], drawn["validation"]
    pairs, dropped = clean(read_pairs(options.source, options.target), max_words=options.max_words)
    say(cleaning_table(len(pairs), dropped))
    if options.validation_source:
        return pairs, read_pairs(options.validation_source, options.validation_target)
    held_out = min(1000, len(pairs) // 20)
    if not held_out:
        raise RunError(
            f"{len(pairs)} pairs are too few to hold any out for validation; name some with"
            " --validation-source"
        )
    return pairs[held_out:], pairs[:held_out]


def translate(options):
    """Translate the sentences given, or what comes through the pipe. Only the translations go to
    stdout.
    """
    run = FinishedRun(options.folder)
    if not options.sentences and sys.stdin.isatty():
        raise RunError('say what to translate: translate "your cat is a lovely cat"')
    sentences = options.sentences or [line.rstrip("\n") for line in sys.stdin]
    for sentence in sentences:
        if unknown := run.source.unknown_words(run.as_known(sentence)):
            print(f"translator: not in its vocabulary: {', '.join(unknown)}", file=sys.stderr)
    translations = run.translate(sentences, options.beam)
    print("\n".join(translations))
    if options.attention:
        draw_attention(options.attention, run, sentences[0], translations[0])


def draw_attention(path, run, sentence, translation):
    """Draw where the model looked while it wrote a translation."""
    known = run.as_known(sentence)
    source, target = run.source.encode([known])[0], run.target.encode([translation])[0]
    weights = cross_attention(run.plain_model().to("cpu"), source, target)
    labels = [run.source.tokens(known), [*run.target.tokens(translation), "end"]]
    draw(path, weights, *labels)


def evaluate(options):
    """Measure a translator on a parallel text, or on the course's test splits."""
    run = FinishedRun(options.folder)
    if not options.source:
        print(splits.report(run))
        return
    sources, references = zip(*read_pairs(options.source, options.target), strict=True)
    if options.record:
        record(options, run, sources, references)
        return
    translations = run.translate(sources, options.beam)
    print(f"BLEU {evaluation.bleu(translations, references)}")
    print(f"chrF {evaluation.chrf(translations, references)}")


def record(options, run, sources, references):
    """Measure a translator, greedy and with a beam, and keep the scores in a file."""
    name = options.name or options.source
    entry = records.record(run, name, sources, references, options.samples)
    records.add(options.record, entry | ({"remark": options.remark} if options.remark else {}))
    greedy, beam = entry["bleu_greedy"], entry["bleu_beam_5"]
    print(f"BLEU {greedy} greedy, {beam} with a beam of 5: {options.record}")


if __name__ == "__main__":
    sys.exit(main())
