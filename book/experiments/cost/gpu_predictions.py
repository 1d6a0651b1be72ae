"""What chapter 10 predicts for a GPU, beside what your GPU does:

    python -m book.experiments.cost.gpu_predictions

Prints one line a claim: predicted | measured. Predictions come from the data sheet of the card, so
they need one that `book.experiments.cost.devices` knows; on another GPU, only the measurements are
printed. Without a GPU it says so, and measures nothing.
"""

import statistics
import sys
import time
from dataclasses import dataclass

import torch

from book.experiments.cost import devices
from book.experiments.cost.measured_cost import SWEPT
from book.experiments.cost.training_cost import product_intensity
from solutions.translator.data.tokenizer import PAD
from solutions.translator.measure import memory
from solutions.translator.model import Translator
from solutions.translator.objective import Objective
from solutions.translator.recorded import Recorded
from solutions.translator.settings import Settings, Shape
from solutions.translator.settings.precision import (
    DTYPES,
    float32_products_in,
    products_in,
)

LAUNCH = 5e-6  # seconds: what chapter 10 assumes for a launch
REACHED = 0.4  # of the peak: what it assumes for a step
BASE = Shape(512, 8, 6, 6, 2048, dropout=0.1, tied="all")
NOTHING = "–"


@dataclass(frozen=True)
class Sizes:
    """How large the things are that are measured; small ones are for trying the program.

    Args:
        product: rows and columns of the largest product, and of the weights that are swept.
        words, features: of the tensors that are added.
        launches: kernels that are launched in a row.
        sentences, vocabulary: of the step, with 32 words in each sentence.
        rounds: readings, of which the middle one counts.
    """

    product: int = 8192
    words: int = 131_072  # so that a tensor of them is larger than an H100's L2 cache
    features: int = 512
    launches: int = 2000
    sentences: int = 256
    vocabulary: int = 37_000
    shape: Shape = BASE
    rounds: int = 7


def seconds(device, function, rounds, least=0.02):
    """Return how long a call takes, its work on the device included: the median of some readings.

    The device has to be idle at both ends of a reading, so it is synchronized there, and a reading
    is of as many calls in a row as last `least` seconds.
    """
    count = 1
    reading(device, function, count)  # warms up
    while reading(device, function, count) < least:
        count *= 2
    return statistics.median(reading(device, function, count) for _ in range(rounds)) / count


def reading(device, function, count):
    """Return how many seconds some calls in a row take, and the device's work on them."""
    wait(device)
    began = time.perf_counter()
    for _ in range(count):
        function()
    wait(device)
    return time.perf_counter() - began


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def products(device, dtype, sizes, words=None):
    """Return the FLOPs a second of words times square weights."""
    words = words or sizes.product
    x = torch.randn(words, sizes.product, device=device).to(dtype)
    weights = torch.randn(sizes.product, sizes.product, device=device).to(dtype)
    took = seconds(device, lambda: x @ weights, sizes.rounds)
    return 2 * words * sizes.product**2 / took


def knee(device, dtype, sizes):
    """Return the FLOPs per byte at which the level of the roofline meets its slope: the level is
    the best speed of the sweep, and the slope that of the fewest words.
    """
    speeds = {words: products(device, dtype, sizes, words) for words in (*SWEPT, sizes.product)}
    few = SWEPT[0]
    return max(speeds.values()) / (speeds[few] / product_intensity(few, sizes.product))


def passes(device, dtype, sizes):
    """Return the seconds of `relu(x + bias) + residual` as three kernels, and of one kernel that
    reads and writes as much as a fused one would.
    """
    x, residual = torch.randn(2, sizes.words, sizes.features, device=device).to(dtype)
    bias, result = torch.randn_like(x[0]), torch.empty_like(x)
    return (
        seconds(device, lambda: (x + bias).relu() + residual, sizes.rounds),
        seconds(device, lambda: torch.add(x, residual, out=result), sizes.rounds),
    )


def launches(device, sizes):
    """Return the seconds of a launch, and of one after which the CPU asks for the number."""
    number = torch.zeros((), device=device)

    def launch():
        for _ in range(sizes.launches):
            number.add_(1)

    def launch_and_ask():
        for _ in range(sizes.launches):
            number.add_(1).item()

    return tuple(
        seconds(device, each, sizes.rounds) / sizes.launches for each in (launch, launch_and_ask)
    )


def step(device, precision, sizes, recorded=False):
    """Return the seconds of a training step of the base model, the bytes at its peak (0 on a CPU),
    and the FLOPs of the products in it.

    Args:
        recorded: whether the GPU replays the forward and the backward pass.
    """
    model = Translator(sizes.vocabulary, sizes.vocabulary, **sizes.shape.__dict__).to(device)
    objective = Objective(model.train(), 0.1)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    src, target = (
        torch.randint(4, sizes.vocabulary, (sizes.sentences, 32 + n), device=device) for n in (0, 1)
    )
    words = (target[:, 1:] != PAD).flatten().nonzero().squeeze(1)
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "float16")

    def clear():
        optimizer.zero_grad(set_to_none=not recorded)

    def forward_and_backward(*batch):
        with products_in(precision, device):
            loss = objective(*batch) / len(words)
        scaler.scale(loss).backward()
        return loss.detach()

    passes = Recorded(forward_and_backward, clear) if recorded else forward_and_backward

    def train():
        clear()
        passes(src, target, words)
        scaler.step(optimizer)
        scaler.update()

    with float32_products_in(precision, device):
        train()
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        took = seconds(device, train, sizes.rounds)
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else 0
    return took, peak, 6 * len(words) * product_weights(sizes)


def product_weights(sizes):
    """Return the weights that a source word and a target word are multiplied with, added up."""
    shape, square = sizes.shape, sizes.shape.d_model**2
    layers = shape.num_encoder_layers + shape.num_decoder_layers
    attentions = shape.num_encoder_layers + 2 * shape.num_decoder_layers
    inner = 2 * shape.d_model * shape.d_ff
    return layers * inner + attentions * 4 * square + sizes.vocabulary * shape.d_model


def measured(device, half, sizes=None):
    """Measure what the chapter predicts.

    Args:
        half: the format of 16 bits, "bfloat16" or "float16".
        sizes: Sizes.

    Returns:
        dict from a claim to a number: see `predicted`.
    """
    sizes, dtype = sizes or Sizes(), DTYPES[half]
    apart, fused = passes(device, dtype, sizes)
    launch, asked = launches(device, sizes)
    took, peak, flops = step(device, half, sizes)
    fast = products(device, dtype, sizes)
    return {
        "the roofline bends at, FLOPs per byte": knee(device, dtype, sizes),
        "an addition, in 3 passes, µs": 1e6 * fused,
        "relu(x + bias) + residual, in 7 passes, µs": 1e6 * apart,
        "a launch, µs": 1e6 * launch,
        "a launch and .item(), µs": 1e6 * asked,
        "16 bits instead of float32, times as fast": fast / products(device, torch.float32, sizes),
        "a step of the base model, ms": 1e3 * took,
        "its memory at the peak, GB": peak / 1e9,
        "its utilization, of the data sheet's peak": flops / took,  # divided when it is printed
    }


def predicted(sheet, sizes=None):
    """Predict the same from a data sheet, as the pages of chapter 10 do.

    Args:
        sheet: of `devices`.

    Returns:
        dict with the keys of `measured`.
    """
    sizes = sizes or Sizes()
    half = devices.sixteen_bits(sheet)
    peak, bandwidth = sheet["peak"][half], sheet["bandwidth"]
    tensor = 2 * sizes.words * sizes.features
    settings = Settings(precision=half, tokens=32 * sizes.sentences)
    flops = 6 * settings.tokens * product_weights(sizes)
    needed = memory.needed(sizes.shape, sizes.vocabulary, settings, kind="cuda")
    return {
        "the roofline bends at, FLOPs per byte": peak / bandwidth,
        "an addition, in 3 passes, µs": 1e6 * 3 * tensor / bandwidth,
        "relu(x + bias) + residual, in 7 passes, µs": 1e6 * 7 * tensor / bandwidth,
        "a launch, µs": 1e6 * LAUNCH,
        "a launch and .item(), µs": 2e6 * LAUNCH,
        "16 bits instead of float32, times as fast": peak / sheet["peak"]["float32"],
        "a step of the base model, ms": 1e3 * flops / (REACHED * peak),
        "its memory at the peak, GB": needed / 1e9,
        "its utilization, of the data sheet's peak": REACHED,
    }


def table(found, expected=None, peak=None):
    """Write both in columns.

    Args:
        found: of `measured`.
        expected: of `predicted`, or None where the card is not known.
        peak: FLOPs a second, for the utilization.
    """
    lines = [f"{'':44}{'predicted':>11} | {'measured':>9}"]
    for claim, number in found.items():
        if claim.startswith("its utilization"):
            number = number / peak if peak else None
        prediction = expected[claim] if expected else None
        both = (NOTHING if each is None else f"{each:,.3g}" for each in (prediction, number))
        lines.append("{:44}{:>11} | {:>9}".format(claim, *both))
    return "\n".join(lines)


def main():
    """Print the table, or why there is none."""
    if not torch.cuda.is_available():
        print(
            "There is no GPU here, so none of chapter 10's predictions for GPUs can be tested on"
            " this machine."
        )
        return 0
    name = torch.cuda.get_device_name()
    sheet = devices.sheet_of(name)
    half = devices.sixteen_bits(sheet) if sheet else "float16"
    print(f"{name}, PyTorch {torch.__version__}, {half}")
    if sheet is None:
        print("No data sheet in book/experiments/cost/devices.py, so nothing was predicted.")
    found = measured(torch.device("cuda"), half)
    if sheet is None:
        print(table(found))
    else:
        print(table(found, predicted(sheet), sheet["peak"][half]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
