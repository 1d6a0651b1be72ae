"""Train a translator, translate with it, and measure how well: `python -m solutions.translator
train | translate | evaluate`.
"""

import contextlib
import ctypes
import hashlib
import json
import sys
from collections import Counter
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from solutions.translator import corpus
from solutions.translator.checkpoints import CHECKPOINT, CheckpointError
from solutions.translator.data.text import (
    REASONS,
    OnDisk,
    Part,
    cleaned,
    cleaning_table,
    pairs_in,
    read_pairs,
)
from solutions.translator.distributed import Team, TeamError
from solutions.translator.measure import evaluation, memory, records, splits
from solutions.translator.measure.attention_map import cross_attention, draw
from solutions.translator.runs import FinishedRun, RunError, Text, training_on
from solutions.translator.settings.command_line import Evaluate, Train, Translate, read
from solutions.translator.trouble import TrainingError

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # as malloc.h numbers what mallopt can set


def main(arguments=None):
    """Run one command. What a person can put right is a sentence on stderr and exit status 2."""
    arguments = sys.argv[1:] if arguments is None else list(map(str, arguments))
    options = read(arguments)
    try:
        match options:
            case Train():
                train(options, arguments)
            case Translate():
                translate(options)
            case Evaluate():
                evaluate(options)
    except (CheckpointError, RunError, TeamError, TrainingError, ValueError) as error:
        print(f"translator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "translator: stopped; the same command, run again, continues from the last checkpoint",
            file=sys.stderr,
        )
        return 130
    return 0


def train(options, arguments):
    """Train, and say how good it has become.

    Args:
        options: Train.
        arguments: the command line, which the run keeps.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    keep_memory()
    team = Team()
    say = partial(print, file=sys.stderr) if team.is_first else lambda text: None
    training = training_on(
        text_of(options, say),
        options.folder,
        options.shape,
        options.settings,
        options.vocab or None,
        options.model,
        team,
    )
    if team.is_first:
        if not (options.folder / CHECKPOINT).exists():
            (options.folder / records.MADE_BY).unlink(missing_ok=True)
        records.note_command(options.folder, arguments)
    parameters = sum(parameter.numel() for parameter in training.model.parameters())
    say(
        f"{len(training.batches.lengths):,} pairs, {parameters:,} parameters, {training.device},"
        f" {torch.get_num_threads()} threads{memory_of(training, options)}: {options.folder}"
    )
    loss = training.run()
    team.close()
    all_steps = f" of {options.settings.steps:,}" if options.settings.steps else ""
    say(
        f"{training.step_number:,}{all_steps} steps in {training.seconds:.0f} s; validation loss"
        f" {loss:.4f}"
    )
    if team.is_first and not options.source:
        print(splits.report(FinishedRun(options.folder)))


def memory_of(training, options):
    """Say how much memory a training will take; nothing of a model of somebody's own."""
    if options.model:
        return ""
    embeddings = training.model.src_embedding, training.model.tgt_embedding
    size = memory.needed(
        options.shape,
        max(each.num_embeddings for each in embeddings),
        training.settings,
        training.team.size,
        training.device.type,
    )
    return f", about {size / 1e9:.2f} GB at the largest batch"


def keep_memory():
    """Have this process keep the memory that it has used for the next step, because giving it back
    and getting it again page by page costs a tenth of the time.

    Only glibc, the C library of most Linux systems, can do that; elsewhere nothing changes.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_THRESHOLD, 2**25)
        library.mallopt(TRIM_THRESHOLD, 2**31 - 1)


def text_of(options, say):
    """Return the Text to train on and to validate on."""
    if not options.source:
        sources = sorted(Path(corpus.__file__).parent.glob("*.py"))  # what draws it

        def drawn():
            splits = corpus.splits()
            return splits["train"], splits["validation"]

        return Text(digest(each.read_bytes() for each in sources), drawn)
    names = ("source", "target", "validation_source", "validation_target")
    files = [getattr(options, name) for name in names]
    said = [options.max_words, *(seen(path) if path else None for path in files)]
    return Text(digest([json.dumps(said).encode()]), partial(texts, options, say))


def seen(path):
    """Return what changes where a file does, without reading it."""
    with contextlib.suppress(OSError):  # whoever reads it says what is wrong
        about = path.stat()
        return [str(path.resolve()), about.st_size, about.st_mtime_ns]


def digest(parts):
    """Return a short hash of some bytes."""
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def texts(options, say):
    """Return the pairs to train on, which stay on the disk, and those to validate on."""
    options.folder.mkdir(parents=True, exist_ok=True)
    dropped = Counter(dict.fromkeys(REASONS, 0))
    read = pairs_in(options.source, options.target)
    pairs = OnDisk(cleaned(read, dropped, max_words=options.max_words), options.folder)
    say(cleaning_table(len(pairs), dropped))
    if options.validation_source:
        return pairs, read_pairs(options.validation_source, options.validation_target)
    held_out = min(1000, len(pairs) // 20)
    if not held_out:
        raise RunError(
            f"{len(pairs)} pairs are too few to hold any out for validation; name some with"
            " --validation-source"
        )
    return Part(pairs, held_out), list(islice(pairs, held_out))


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
    name = options.name or str(options.source)
    entry = records.record(run, name, sources, references, options.samples)
    records.add(options.record, entry | ({"remark": options.remark} if options.remark else {}))
    greedy, beam = entry["bleu_greedy"], entry["bleu_beam_5"]
    print(f"BLEU {greedy} greedy, {beam} with a beam of 5: {options.record}")


if __name__ == "__main__":
    sys.exit(main())
