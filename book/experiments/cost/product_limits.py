"""What limits a product of words with a square weight matrix on a GPU, estimated before it runs.

Three times that the product cannot beat: of a launch, of its bytes at the card's bandwidth, and of
its FLOPs at the card's peak. They pass side by side, so the longest is the limit. A fourth is that
of the FLOPs if each tile of the result has 128 rows and columns, and multiprocessors without a tile
wait; a library that takes smaller tiles can beat it.
"""

from math import ceil

from book.experiments.cost import budgets
from book.experiments.cost.devices import H100, SHEETS
from book.experiments.cost.training_cost import product_intensity

LIMITS = ("a launch", "memory", "arithmetic")
TILE = 128
WORDS = tuple(sorted({2**n for n in range(15)} | {3 * 2**n for n in range(13)}))
WIDTHS = tuple(2**n for n in range(8, 14))
MEASURED_WIDTH = 8192
SIZES = {"float32": 4, "tf32": 4, "bfloat16": 2}  # bytes of a number


def seconds(words, width, precision="bfloat16", sheet=H100, launch=5e-6):
    """Return a dict from each of `LIMITS` to the seconds that a product takes at least.

    Args:
        words: rows of the left factor.
        width: rows and columns of the weight matrix.
        precision: "float32", "tf32" or "bfloat16" (on a card without it, float16).
        sheet: of `devices`.
        launch: seconds of a launch.
    """
    work = 2 * words * width**2
    moved = work / product_intensity(words, width, SIZES[precision])
    took = launch, moved / sheet["bandwidth"], work / budgets.speed(sheet, precision)
    return dict(zip(LIMITS, took, strict=True))


def in_tiles(words, width, precision="bfloat16", sheet=H100):
    """Return (tiles of the result, seconds of their arithmetic if no multiprocessor takes less than
    a tile).
    """
    tiles = ceil(words / TILE) * ceil(width / TILE)
    waves = ceil(tiles / sheet["multiprocessors"])
    work = 2 * min(words, TILE) * min(width, TILE) * width
    return tiles, waves * work * sheet["multiprocessors"] / budgets.speed(sheet, precision)


def for_the_explorer(measured):
    """Return what the explorer of a product's limits knows.

    Args:
        measured: the dict in `book/measured/gpu.json`.
    """
    return {
        "devices": SHEETS,
        "allWords": WORDS,
        "widths": WIDTHS,
        "launch": measured["claims"]["a launch, µs"] / 1e6,
        "measured": {
            kind: [[words, intensity, speed] for words, intensity, speed in rows]
            for kind, rows in measured["products"].items()
        },
    }


def beside_the_measured(measured):
    """Return (precision, words, limit, what was measured by what was estimated) of each product
    that an H100 did.

    Args:
        measured: the dict in `book/measured/gpu.json`.
    """
    launch = measured["claims"]["a launch, µs"] / 1e6
    found = []
    for kind, rows in measured["products"].items():
        for words, _, speed in rows:
            least = seconds(words, MEASURED_WIDTH, kind, launch=launch)
            took = 2 * words * MEASURED_WIDTH**2 / speed
            found.append((kind, words, max(least, key=least.get), took / max(least.values())))
    return found
