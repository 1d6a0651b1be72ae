"""`make bench`, training part: ours beside `torch.nn.Transformer` and beside the textbook's way, at
equal size and batch, in one run.

All take the same steps in turn, so that a slow minute of the machine strikes all; the figures that
matter are ratios.
"""

import json
import multiprocessing
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import tyro

from solutions.translator import corpus
from solutions.translator.data.batches import Batches
from solutions.translator.data.shares import places_with_words
from solutions.translator.data.text import clean, read_pairs
from solutions.translator.data.tokenizer import BOS, PAD, Tokenizer
from solutions.translator.decoding import Cached, Uncached
from solutions.translator.measure.ways import (
    BATCH,
    D_FF,
    D_MODEL,
    LAYERS,
    LENGTH,
    MAKERS,
    SIZE,
    VOCAB,
    Runner,
    batch,
)
from solutions.translator.model import Translator
from solutions.translator.settings.command_line import File, needs
from solutions.translator.settings.fields import check, whole
from solutions.translator.settings.precision import DTYPES, float32_products_in

FILLS = {"full": 1.0, "62 % filled": 0.62}
ROUNDS = 7
STEPS = 24  # on real text
DECODED = (32, 128)  # sentences, words of each
SHARED = ((1024, 1), (4096, 1), (8192, 8))  # tokens of a batch, its parts
SHARED_STEPS = 40


def synchronised(device):
    """Return the time once everything that was asked of the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def timed(device, function, *arguments):
    """Return how many seconds a call takes."""
    started = synchronised(device)
    function(*arguments)
    return synchronised(device) - started


def bench_training(device, rounds=ROUNDS):
    """Measure tokens a second of all ways, and print the table."""
    precisions = (*(("tf32",) if device.type == "cuda" else ()), "bfloat16")
    peak = {name: peak_flops(device, name) for name in ("float32", *precisions)}
    print(
        "\nTraining: batch 64, length 32, d_model 256, 3+3 layers, vocabulary 8,000, dropout 0.1;"
        " words of both sides a second"
    )
    print(
        "  one matrix product reaches "
        + ", ".join(f"{value / 1e9:,.0f} GFLOP/s in {name}" for name, value in peak.items())
    )
    ways = [(name, precision) for precision in peak for name in MAKERS]
    runners = {way: Runner(*way, device) for way in ways}
    for label, fill in FILLS.items():
        src, target, places = batch(fill, device)
        words = int((src != PAD).sum() + (target[:, 1:] != PAD).sum())
        seconds = {way: [] for way in ways}
        for number in range(rounds + 1):
            for way, runner in runners.items():
                taken = timed(device, runner.step, src, target, places)
                if number:  # the first one warms up
                    seconds[way].append(taken)
        print(f"  {label}")
        for way in ways:
            middle = statistics.median(seconds[way])
            base = seconds["nn.Transformer", "float32"]
            ratio = statistics.median(
                one / other for one, other in zip(base, seconds[way], strict=True)
            )
            part = flops() / middle / peak[way[1]] if fill == 1 else None
            share = f", {part:.0%} of the peak" if part else ""
            print(
                f"    {way[0]:15} {way[1]:8}  {words / middle:>10,.0f}   {ratio:5.2f} times"
                f" nn.Transformer in float32{share}"
            )


def bench_batches(device, pairs, label, steps=STEPS):
    """Measure ours with sentences of one length together beside nn.Transformer with mixed ones, as
    many tokens a batch, and print it.

    Args:
        pairs: of real sentences.
        label: what they are.
    """
    tokenizer = Tokenizer.byte_pairs([sentence for pair in pairs for sentence in pair], VOCAB)
    ids = [tokenizer.encode([pair[side] for pair in pairs]) for side in (0, 1)]
    batches = {
        bucketed: Batches(*ids, BATCH * LENGTH, bucketed=bucketed, rows_to=8)
        for bucketed in (True, False)
    }
    print(f"\n{label}: {len(pairs):,} pairs, batches of at most {BATCH * LENGTH:,} tokens")
    print(
        f"  by length, {batches[True].fill():.0%} of a batch are words; mixed,"
        f" {batches[False].fill():.0%}"
    )
    ways = {
        "ours, by length": (Runner("ours", "float32", device), True),
        "ours, by length, bfloat16": (Runner("ours", "bfloat16", device), True),
        "nn.Transformer, mixed": (Runner("nn.Transformer", "float32", device), False),
        "nn.Transformer, by length": (Runner("nn.Transformer", "float32", device), True),
    }
    seconds, words = ({name: [] for name in ways} for _ in range(2))
    for number in range(steps + 2):
        for name, (runner, bucketed) in ways.items():
            indices = batches[bucketed].epoch(0)[number]
            shape = batches[bucketed].shape(indices)
            tensors = batches[bucketed].tensors(indices, shape)
            places = places_with_words(tensors[1][:, 1:].flatten())
            src, target, places = (each.to(device) for each in (*tensors, places))
            taken = timed(device, runner.step, src, target, places)
            if number > 1:  # the first ones warm up
                seconds[name].append(taken)
                words[name].append(int((src != PAD).sum() + (target[:, 1:] != PAD).sum()))
    rates = {name: sum(words[name]) / sum(seconds[name]) for name in ways}
    for name, rate in rates.items():
        print(
            f"    {name:26}{rate:>10,.0f}   {rate / rates['nn.Transformer, mixed']:5.2f} times"
            " nn.Transformer, mixed"
        )


def flops():
    """Return the multiplications and additions of one training step on a full batch: three times
    those of the forward pass.
    """
    tokens = BATCH * LENGTH
    encoder = LAYERS * (4 * D_MODEL**2 + 2 * D_MODEL * D_FF + 2 * LENGTH * D_MODEL)
    decoder = LAYERS * (8 * D_MODEL**2 + 2 * D_MODEL * D_FF + 4 * LENGTH * D_MODEL)
    return 3 * 2 * tokens * (encoder + decoder + D_MODEL * VOCAB)


def peak_flops(device, precision, size=4096, rounds=4):
    """Return the multiplications and additions a second of one large matrix product."""
    size, dtype = size if device.type == "cuda" else size // 2, DTYPES[precision]
    one, other = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    with float32_products_in(precision, device):
        one @ other
        return 2 * size**3 / min(timed(device, torch.matmul, one, other) for _ in range(rounds))


def bench_decoding(device, rounds=3):
    """Measure greedy decoding of fixed length with and without a cache, and print it."""
    sentences, words = DECODED
    torch.manual_seed(0)
    model = Translator(VOCAB, VOCAB, **SIZE).to(device).eval()
    src = torch.randint(4, VOCAB, (sentences, LENGTH), device=device)

    def write(writer):
        with torch.no_grad():
            next_word, ids = writer(), torch.full((sentences,), BOS, device=device)
            for _ in range(words):
                ids = next_word.advance(ids).argmax(dim=-1)

    ways = {
        "with": partial(Cached, model, src, words + 1),
        "without": partial(Uncached, model, src),
    }
    seconds = {
        name: [timed(device, write, way) for _ in range(rounds)] for name, way in ways.items()
    }
    with_cache, without = (statistics.median(seconds[name]) for name in ways)
    print(f"\nDecoding: {sentences} sentences, {words} words each")
    rates = [f"{sentences * words / each:,.0f}" for each in (with_cache, without)]
    print(
        f"  with a cache {rates[0]} words a second, without {rates[1]}: {without / with_cache:.1f}"
        " times as fast"
    )


def memory_of(name, precision):
    """Return the bytes that a process takes at its largest while it makes three steps, beyond what
    it took before.
    """
    device = torch.device("cpu")
    before = held("VmRSS")
    runner, given = Runner(name, precision, device), batch(1.0, device)
    for _ in range(3):
        runner.step(*given)
    return held("VmHWM") - before


def held(what):
    """Return the bytes that this process holds now ("VmRSS") or has held at its largest ("VmHWM");
    on Linux.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{what}:\s+(\d+)", status)[1])


def bench_memory(device):
    """Measure the peak of memory of three steps, each way in a process of its own, and print it."""
    print("\nMemory of three training steps at its peak, model and optimiser included")
    for precision in ("float32", "bfloat16"):
        found = []
        for name in MAKERS:
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
                runner = Runner(name, precision, device)
                for _ in range(3):
                    runner.step(*batch(1.0, device))
                found.append((name, torch.cuda.max_memory_allocated()))
                del runner
            else:
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    found.append((name, pool.apply(memory_of, (name, precision))))
        print(
            f"  {precision:8}  "
            + ", ".join(f"{name} {size / 2**20:,.0f} MiB" for name, size in found)
        )


def bench_processes(rounds=2, steps=SHARED_STEPS, sizes=()):
    """Measure the training command on one process and on two with a thread each, which share every
    batch, and print it. Two trainings that know nothing of each other are what the machine allows.
    Those that divide a batch into parts exchange gradients once for all of them.

    Args:
        rounds: in each of which all take their turn.
        steps: of each training.
        sizes: options of the model beyond its width.
    """
    print("\nTwo processes, d_model 256, the course's corpus: words a second")
    for tokens, parts in SHARED:
        options = ["--steps", steps, "--tokens", tokens, "--d-model", D_MODEL, *sizes]
        all_of_it, half = ([*options, "--accumulate", each] for each in (parts, -(-parts // 2)))
        ratios = {"two that share each batch": [], "two that know nothing of each other": []}
        for _ in range(rounds):
            (alone,) = speeds(1, 1, all_of_it)
            together = speeds(2, 1, half), speeds(1, 2, all_of_it)
            for found, each in zip(ratios.values(), together, strict=True):
                found.append(sum(each) / alone)
        divided = f" in {parts} parts" if parts > 1 else ""
        print(f"  batches of {tokens:,} tokens{divided}, one process {alone:,.0f}")
        for name, found in ratios.items():
            spread = f"{min(found):.2f} to {max(found):.2f}"
            print(f"    {name:36}{statistics.median(found):5.2f} times one ({spread})")


def speeds(processes, trainings, options):
    """Return the words a second of trainings that run at once.

    Args:
        processes: of each training.
        trainings: how many there are.
        options: of the training command.
    """
    launch = ["torch.distributed.run", "--standalone", "--nproc-per-node", processes, "-m"]
    command = [*(launch if processes > 1 else []), "solutions.translator", "train", "--threads", 1]
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder, str(number)) for number in range(trainings)]
        running = [
            subprocess.Popen(
                list(map(str, [sys.executable, "-m", *command, *options, "--into", into])),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for into in folders
        ]
        said = [process.communicate()[1] for process in running]
        for process, words in zip(running, said, strict=True):
            if process.returncode:
                raise RuntimeError(f"a training for the bench failed: {words[-500:]}")
        return [speed(into) for into in folders]


def speed(folder):
    """Return the words a second of a training, without its first line, in which it warms up."""
    lines = map(json.loads, (folder / "history.jsonl").read_text().splitlines())
    return statistics.median([each["words_per_second"] for each in lines if "rate" in each][1:])


@dataclass(frozen=True)
class Bench:
    """Measure what training costs, ours beside `torch.nn.Transformer` and the textbook's way.

    Args:
        threads: of this process; where none are given, as many as there are cores.
        rounds: of steps, of which the middle one counts.
        source: real text, one sentence a line, or source, tab, target; without it, the course's
            corpus.
        target: its translations, line by line.
    """

    threads: Annotated[int | None, whole(1)] = None
    rounds: Annotated[int, whole(1)] = ROUNDS
    source: File = None
    target: File = None

    def __post_init__(self):
        check(self)
        needs(self, "source", "target")


def main(arguments=None):
    """Measure everything and print tables."""
    program = "python -m solutions.translator.measure.bench"
    options = tyro.cli(Bench, prog=program, args=arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = (
        torch.cuda.get_device_name()
        if device.type == "cuda"
        else f"CPU, {torch.get_num_threads()} threads"
    )
    print(f"PyTorch {torch.__version__}, {name}")
    bench_training(device, options.rounds)
    if options.source:
        bench_batches(device, clean(read_pairs(options.source, options.target))[0], options.source)
    else:
        bench_batches(device, corpus.splits()["train"][:20_000], "The course's corpus")
    bench_decoding(device)
    bench_memory(device)
    if device.type == "cpu":
        bench_processes()


if __name__ == "__main__":
    sys.exit(main())
