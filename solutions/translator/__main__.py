"""Train a translator, translate with it, and measure how well: `python -m solutions.translator
train | translate | evaluate`.
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import torch

from solutions.translator import corpus
from solutions.translator.checkpoints import CheckpointError
from solutions.translator.data.text import clean, cleaning_table, read_pairs
from solutions.translator.measure import evaluation, records
from solutions.translator.measure.attention_map import cross_attention, draw
from solutions.translator.runs import FinishedRun, RunError, Shape, prepare
from solutions.translator.training import Settings, Team, TrainingError, keep_memory

FOLDER = Path(__file__).resolve().parents[2] / "work" / "translator"
# what is known to work: sizes and settings by name; every one of them can be changed by its option
PRESETS = {
    "small": {  # the course's own corpus, on a laptop in a minute or two
        "d_model": 128, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2, "d_ff": 512, "dropout": 0.0,
        "tokens": 1024, "learning_rate": 2e-3, "warmup": 200, "smoothing": 0.0, "steps": 4000, "minutes": 2.7,
        "look_every": 500, "precision": "auto",
    },
    "captions": {  # 29,000 image captions, on two cores in three minutes; with more time, more --d-model and --dropout
        "d_model": 192, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2, "d_ff": 384, "dropout": 0.0, "tied": "all",
        "tokens": 768, "learning_rate": 2.5e-3, "warmup": 400, "smoothing": 0.1, "minutes": 3.0, "look_every": 1000,
        "precision": "auto", "vocab": 3000,
    },
}  # fmt: skip


def main(arguments=None):
    """Run one command; what a person can put right is a sentence on stderr and exit status 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(arguments)
    options.arguments = arguments
    try:
        return {"train": train, "translate": translate, "evaluate": evaluate}[options.command](
            options
        ) or 0
    except (CheckpointError, RunError, TrainingError, ValueError) as error:
        print(f"translator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "translator: stopped; run the same command again, and it goes on at the last"
            " checkpoint",
            file=sys.stderr,
        )
        return 130


def parser():
    """Return the commands and their options."""
    made = argparse.ArgumentParser(prog="python -m solutions.translator", description=__doc__)
    commands = made.add_subparsers(dest="command", required=True)
    add = commands.add_parser(
        "train", help="train a translator; run again, it goes on where it was"
    )
    add.add_argument(
        "--preset", choices=PRESETS, help="small, for the course's corpus, unless there is --source"
    )
    add_text(add, "")
    add_text(add, "validation-")
    add.add_argument(
        "--vocab", type=int, help="size of a joint byte-pair encoding; 0 for whole words"
    )
    add.add_argument("--max-words", type=int, default=80, help="longer sentences are left out")
    add.add_argument(
        "--model",
        help="a file with a class Transformer of your own; see `python -m autograder export`",
    )
    add.add_argument(
        "--threads",
        type=int,
        help="of this process; as many as there are cores, if nothing is said",
    )
    for field in (*dataclasses.fields(Shape), *dataclasses.fields(Settings)):
        add.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=reader_of(field),
            metavar="X",
            help=f"instead of {field.default}",
        )
    translating = commands.add_parser(
        "translate", help="translate sentences, or the lines of a pipe"
    )
    translating.add_argument("sentences", nargs="*")
    translating.add_argument(
        "--attention",
        metavar="FILE.svg",
        help="draw where the model looked while it wrote the first one",
    )
    evaluating = commands.add_parser("evaluate", help="BLEU, chrF and exact matches")
    add_text(evaluating, "")
    evaluating.add_argument(
        "--record",
        type=Path,
        metavar="FILE.json",
        help="keep the scores there, greedy and with a beam of 5",
    )
    evaluating.add_argument("--name", help="with --record: of the text and its languages")
    evaluating.add_argument(
        "--remark",
        help="with --record: what a reader must know, such as how many settings were tried",
    )
    evaluating.add_argument(
        "--samples", action="store_true", help="with --record: a few translations too"
    )
    for each in (translating, evaluating):
        each.add_argument(
            "--beam", type=int, default=1, help="hypotheses of beam search; 1 is greedy"
        )
    for each in (add, translating, evaluating):
        each.add_argument(
            "--into", "--from", dest="folder", type=Path, default=FOLDER, help="folder of the run"
        )
    return made


def add_text(command, prefix):
    """Add the options that name a parallel text."""
    command.add_argument(
        f"--{prefix}source",
        metavar="FILE",
        help="one sentence a line, or source, tab, target; plain or gzipped",
    )
    command.add_argument(f"--{prefix}target", metavar="FILE", help="its translations, line by line")


def reader_of(field):
    """Return what reads an option's value."""
    if isinstance(field.default, bool) or field.name == "tied":
        return lambda text: {"true": True, "false": False}.get(text.lower(), text)
    return (
        type(field.default)
        if isinstance(field.default, int | float | str)
        else float
        if field.name == "minutes"
        else int
    )


def train(options):
    """Train, and say how good it has become."""
    preset = PRESETS[options.preset or ("captions" if options.source else "small")]
    given = {name: value for name, value in vars(options).items() if value is not None}
    if "minutes" in given and "steps" not in given:
        preset = {name: value for name, value in preset.items() if name != "steps"}
    if "steps" in given and "minutes" not in given:
        preset = {name: value for name, value in preset.items() if name != "minutes"}
    chosen = preset | given
    shape, settings = (
        kind(
            **{
                field.name: chosen[field.name]
                for field in dataclasses.fields(kind)
                if field.name in chosen
            }
        )
        for kind in (Shape, Settings)
    )
    if options.threads:
        torch.set_num_threads(options.threads)
    keep_memory()
    settings = dataclasses.replace(settings, precision=known(settings.precision))
    team = Team()
    tell = print if team.rank == 0 else lambda *_, **__: None
    pairs, validation = texts(options, tell)
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
    if team.rank == 0 and not training.has_begun():
        records.note_command(options.folder, options.arguments)
    weights = sum(parameter.numel() for parameter in training.model.parameters())
    tell(
        f"{len(pairs):,} pairs, {weights:,} weights, {training.device}, {torch.get_num_threads()}"
        f" threads: {options.folder}",
        file=sys.stderr,
    )
    loss = training.run()
    team.part()
    tell(
        f"{training.step_number:,} steps in {training.seconds:.0f} s; validation loss {loss:.4f}",
        file=sys.stderr,
    )
    if team.rank == 0 and not options.source:
        report_splits(FinishedRun(options.folder))


def known(precision):
    """Return the precision of matrix products: "auto" is bfloat16 where the processor has
    instructions for it.
    """
    if precision != "auto":
        return precision
    fast = (
        torch.cuda.is_bf16_supported()
        if torch.cuda.is_available()
        else torch.cpu._is_avx512_bf16_supported()
    )
    return "bfloat16" if fast else "float32"


def texts(options, tell):
    """Return the pairs to train on and those to look at."""
    if not options.source:
        splits = corpus.splits()
        return splits["train"], splits["validation"]
    pairs, dropped = clean(read_pairs(options.source, options.target), max_words=options.max_words)
    tell(cleaning_table(len(pairs), dropped), file=sys.stderr)
    if options.validation_source:
        return pairs, read_pairs(options.validation_source, options.validation_target)
    held_out = min(1000, len(pairs) // 20)
    if not held_out:
        raise RunError(
            f"{len(pairs)} pairs are too few to hold any out for validation; name some with"
            " --validation-source"
        )
    return pairs[held_out:], pairs[:held_out]


def report_splits(run):
    """Say how many sentences of each split come out exactly right."""
    splits = corpus.splits()
    for name in ("random", "combinations", "structures", "long"):
        sources, targets = zip(*splits[name], strict=True)
        share = evaluation.exact_matches(run.translate(sources), targets)
        print(f"{name}: {share:.1%} of {len(sources)} exactly right")


def translate(options):
    """Translate what was said, or what comes through the pipe; the translations alone go to
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
        first = run.as_known(sentences[0])
        source, target = run.source.encode([first])[0], run.target.encode(translations[:1])[0]
        weights = cross_attention(run.plain_model().to("cpu"), source, target)
        labels = [run.source.tokens(first), [*run.target.tokens(translations[0]), "end"]]
        draw(options.attention, weights, *labels)


def evaluate(options):
    """Measure a translator on a parallel text, or on the course's test splits."""
    run = FinishedRun(options.folder)
    if not options.source:
        report_splits(run)
        return
    sources, references = zip(*read_pairs(options.source, options.target), strict=True)
    if options.record:
        entry = records.record(
            run, options.name or options.source, sources, references, options.samples
        )
        records.add(options.record, entry | ({"remark": options.remark} if options.remark else {}))
        print(
            f"BLEU {entry['bleu_greedy']} greedy, {entry['bleu_beam_5']} with a beam of 5:"
            f" {options.record}"
        )
        return
    translations = run.translate(sources, options.beam)
    print(
        f"BLEU {evaluation.bleu(translations, references)}\nchrF"
        f" {evaluation.chrf(translations, references)}"
    )


if __name__ == "__main__":
    sys.exit(main())
