"""What a training step of the translator takes on a GPU, estimated before it runs.

Memory is what `solutions.translator.measure.memory` counts. Time is a sum of what its parts take.
Large products reach `REACHED` of the data sheet's peak, as an H100's did. `PASSES`, `SMALL` and
`LAUNCHING` we chose so that the sum agrees with the H100's steps in `book/measured/gpu.json`; on
other cards nothing was measured.
"""

import functools
import itertools

from book.experiments.cost.devices import H100, speed
from book.experiments.cost.gpu_predictions import Sizes, product_weights
from solutions.translator.measure import memory, ways
from solutions.translator.settings import Settings, Shape
from solutions.translator.settings.precision import DTYPES

REACHED = 0.7  # of the data sheet's peak, by large products
PASSES = 13  # how often what the forward pass makes goes to memory or comes from it in a step
UPDATE = 28  # bytes that the optimizer reads and writes for each parameter
SMALL = 0.4e-3  # seconds that the kernels of a layer take at least, forward and backward
LAUNCHING = 4e-3  # seconds in which Python launches them one by one
WIDTHS, BATCHES, LENGTH = (64, 128, 256, 512, 1024, 2048), tuple(2**n for n in range(14)), 32
VOCABULARY, LAYERS = 37_000, 6  # of the base model of 2017, in each stack
PARTS = ("products", "activations", "optimizer", "small kernels", "waiting for launches")
BENCH = Shape(**ways.SIZE)


def shape_of(width):
    """Return the shape of the base model of 2017 with another width."""
    return Shape(width, width // 64, LAYERS, LAYERS, 4 * width, dropout=0.1, tied="all")


def flops_of(shape, vocabulary, words):
    """Return the FLOPs of a step's products, attention's aside."""
    return 6 * words * product_weights(Sizes(shape=shape, vocabulary=vocabulary))


def made(shape, vocabulary, precision, words):
    """Return the bytes that the forward pass of a batch makes: what the layers keep, and the scores
    of all words.
    """
    size = DTYPES[precision].itemsize
    layers = shape.num_encoder_layers, shape.num_decoder_layers
    kept = sum(
        count * memory.kept_by_layer(shape, size, words, attentions, "cuda")
        for attentions, count in enumerate(layers, 1)
    )
    return kept + words * vocabulary * (4 if size == 4 else size + 4)


def seconds(shape, vocabulary, precision, words, sheet=H100, recorded=True):
    """Estimate the seconds of a training step.

    Args:
        shape, vocabulary: of the model.
        precision: as in Settings.
        words: of each side.
        sheet: of `devices`.
        recorded: whether the GPU replays its kernels, so that it never waits for a launch.

    Returns:
        dict from each of `PARTS` to its seconds.
    """
    layers = shape.num_encoder_layers + shape.num_decoder_layers
    parameters = memory.kept_all_the_time(shape, vocabulary) / 16
    took = [
        flops_of(shape, vocabulary, words) / (REACHED * speed(sheet, precision)),
        PASSES * made(shape, vocabulary, precision, words) / sheet["bandwidth"],
        UPDATE * parameters / sheet["bandwidth"],
        SMALL * layers,
    ]
    waiting = 0 if recorded else max(0, LAUNCHING * layers - sum(took))
    return dict(zip(PARTS, (*took, waiting), strict=True))


def for_the_explorer(measured):
    """Return what the explorer of a step's budget knows: for each width and batch what a step does
    and takes, and what was measured.

    Args:
        measured: the dict in `book/measured/gpu.json`.
    """
    batches = [LENGTH * each for each in BATCHES]
    shapes = [shape_of(width) for width in WIDTHS]

    def table(function):
        """One list for each width, with a number for each batch."""
        return [[function(shape, words) for words in batches] for shape in shapes]

    def activations(recorded, precision, shape, words):
        settings = Settings(precision=precision, tokens=words, recorded=recorded)
        needed = memory.needed(shape, VOCABULARY, settings, kind="cuda")
        return needed - memory.kept_all_the_time(shape, VOCABULARY)

    formats = ("float32", "bfloat16")
    return {
        "widths": WIDTHS,
        "batches": BATCHES,
        "always": [memory.kept_all_the_time(shape, VOCABULARY) for shape in shapes],
        "flops": table(lambda shape, words: flops_of(shape, VOCABULARY, words)),
        "activations": [
            [table(functools.partial(activations, recorded, kind)) for kind in formats]
            for recorded in (False, True)
        ],
        "made": [
            table(lambda shape, words, kind=kind: made(shape, VOCABULARY, kind, words))
            for kind in formats
        ],
        "leftFree": memory.LEFT_FREE,
        "reached": REACHED,
        "passes": PASSES,
        "update": UPDATE,
        "small": SMALL * 2 * LAYERS,
        "launching": LAUNCHING * 2 * LAYERS,
        "measured": [
            {key: row[key] for key in ("precision", "how", "sentences", "seconds", "peak")}
            for row in measured["base"]
        ],
    }


def beside_the_measured(measured):
    """Return the estimates of all steps of an H100 that were measured.

    Args:
        measured: the dict in `book/measured/gpu.json`.

    Returns:
        dict from "launched" and "recorded" to a list of (estimated, measured) seconds: of the base
        model, and of the bench's model, for which nothing was chosen.
    """
    bench = (row for row in measured["training"] if row["name"] == "ours")
    rows = itertools.chain(
        (((shape_of(512), VOCABULARY), row) for row in measured["base"]),
        (((BENCH, ways.VOCAB), row) for row in bench),
    )
    found = {"launched": [], "recorded": []}
    for (shape, vocabulary), row in rows:
        recorded = row["how"] == "recorded"
        words = LENGTH * row["sentences"]
        parts = seconds(shape, vocabulary, row["precision"], words, recorded=recorded)
        found[row["how"]].append((sum(parts.values()), row["seconds"]))
    return found
