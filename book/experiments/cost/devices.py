"""GPUs as their data sheets describe them, and what by these limits a product on them: what chapter
10 calculates with.

Peaks are those without sparsity; the one of float32 is that of the ordinary units, and "tf32" that
of the matrix units, which multiply float32 numbers rounded to TF32.

A product of words with a square weight matrix cannot beat three times: that of a launch, of its
bytes at the card's bandwidth, and of its FLOPs at the card's peak. They pass side by side, so the
longest is the limit. A fourth is that of the FLOPs if each tile of the result has 128 rows and
columns, and multiprocessors without a tile wait; a library that takes smaller tiles can beat it.
"""

from math import ceil

from book.experiments.cost.training_cost import product_intensity

H100 = {
    "name": "H100, 80 GB (data sheet)",
    "multiprocessors": 132,
    "bandwidth": 3.35e12,  # bytes a second
    "memory": 80e9,  # bytes
    "peak": {"float32": 67e12, "bfloat16": 989e12},  # FLOPs a second
    "tf32": 495e12,
}
A100 = {
    "name": "A100, 40 GB (data sheet)",
    "multiprocessors": 108,
    "bandwidth": 1.555e12,
    "memory": 40e9,
    "peak": {"float32": 19.5e12, "bfloat16": 312e12},
    "tf32": 156e12,
}
RTX_4090 = {
    "name": "RTX 4090, 24 GB (data sheet)",
    "multiprocessors": 128,
    "bandwidth": 1.008e12,
    "memory": 24e9,
    "peak": {"float32": 82.6e12, "bfloat16": 165.2e12},
    "tf32": 82.6e12,
}
T4 = {  # its matrix units know float16, and not bfloat16
    "name": "T4, 16 GB (data sheet)",
    "multiprocessors": 40,
    "bandwidth": 0.32e12,
    "memory": 16e9,
    "peak": {"float32": 8.1e12, "float16": 65e12},
}
SHEETS = (H100, A100, RTX_4090, T4)


def sixteen_bits(sheet):
    """Return the format of 16 bits that a device's matrix units multiply."""
    return next(name for name in sheet["peak"] if name != "float32")


def sheet_of(name):
    """Return the data sheet of a GPU by the name that PyTorch gives it, or None where it is none of
    these: an A100 with 80 GB or an H100 for PCIe has other speeds.
    """
    names = {"H100 80GB HBM3": H100, "A100-SXM4-40GB": A100, "RTX 4090": RTX_4090, "Tesla T4": T4}
    return next((sheet for known, sheet in names.items() if name.endswith(known)), None)


def speed(sheet, precision):
    """Return the peak of a device's data sheet in FLOPs a second, for "float32", "tf32" or
    "bfloat16" (float16 on a card without it).
    """
    if precision == "tf32":
        return sheet.get("tf32", sheet["peak"]["float32"])
    return sheet["peak"]["float32" if precision == "float32" else sixteen_bits(sheet)]


LIMITS = ("a launch", "memory", "arithmetic")
TILE = 128
WORDS = tuple(sorted({2**n for n in range(15)} | {3 * 2**n for n in range(13)}))
WIDTHS = tuple(2**n for n in range(8, 14))
MEASURED_WIDTH = 8192
SIZES = {"float32": 4, "tf32": 4, "bfloat16": 2}  # bytes of a number


def product_limits(words, width, precision="bfloat16", sheet=H100, launch=5e-6):
    """Return a dict from each of `LIMITS` to the seconds that a product takes at least.

    Args:
        words: rows of the left factor.
        width: rows and columns of the weight matrix.
        precision: as in `speed`.
        sheet: of a device.
        launch: seconds of a launch.
    """
    work = 2 * words * width**2
    moved = work / product_intensity(words, width, SIZES[precision])
    took = launch, moved / sheet["bandwidth"], work / speed(sheet, precision)
    return dict(zip(LIMITS, took, strict=True))


def product_in_tiles(words, width, precision="bfloat16", sheet=H100):
    """Return (tiles of the result, seconds of their arithmetic if no multiprocessor takes less than
    a tile).
    """
    tiles = ceil(words / TILE) * ceil(width / TILE)
    waves = ceil(tiles / sheet["multiprocessors"])
    work = 2 * min(words, TILE) * min(width, TILE) * width
    return tiles, waves * work * sheet["multiprocessors"] / speed(sheet, precision)


def products_for_the_explorer(measured):
    """Return what the explorer of a product's limits knows.

    Args:
        measured: the dict in `book/measured/gpu.json`.
    """
    return {
        "devices": SHEETS,
        "allWords": WORDS,
        "widths": WIDTHS,
        "launch": measured["claims"]["a launch, µs"] / 1e6,
        "measured": measured["products"],
    }


def products_beside_the_measured(measured):
    """Return (precision, words, limit, what was measured by what was estimated) of each product
    that an H100 did.

    Args:
        measured: the dict in `book/measured/gpu.json`.
    """
    launch = measured["claims"]["a launch, µs"] / 1e6
    found = []
    for kind, rows in measured["products"].items():
        for words, _, reached in rows:
            least = product_limits(words, MEASURED_WIDTH, kind, launch=launch)
            took = 2 * words * MEASURED_WIDTH**2 / reached
            found.append((kind, words, max(least, key=least.get), took / max(least.values())))
    return found
