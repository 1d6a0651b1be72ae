"""Chapter 10: what is inside a GPU, a product in tiles, what fills the memory, two workers with one
gradient, and four ways to share a training out.
"""

import itertools
from operator import itemgetter

from book.figures.flow.hand import SMALL, Drawing, Picture

PARTS = {"weights, gradients, moments": "purple", "layers": "green", "loss": "orange"}


def inside_a_gpu(levels, multiprocessors):
    """Draw the multiprocessors of a GPU, what each holds, and the memories that they share.

    Args:
        levels: dict from the name of a memory to (what it holds, how fast it delivers to the level
            above it), both as text: registers, which deliver to no level, shared memory, L2 cache,
            main memory.
        multiprocessors: how many the GPU has.

    Returns:
        the Picture.
    """
    registers, shared, cache, main = (f"{name}: {size}" for name, (size, _) in levels.items())
    _, from_shared, from_cache, from_main = (speed for _, speed in levels.values())

    def draw(phone):
        sheet, wide, shown = Drawing(), 150 if phone else 196, 2 if phone else 3
        apart = wide + (16 if phone else 20)
        broad = apart * (shown - 1) + wide
        size = {"width": wide - 14, "size": SMALL}
        middle = sheet.box((broad / 2, 118), cache, "blue", width=broad, height=28, size=SMALL)
        for number in range(shown):
            x = wide / 2 + apart * number
            last = number == shown - 1
            name = f"multiprocessor {multiprocessors if last else number + 1}"
            sheet.words((x, -112), name, bold=True, size=SMALL)
            sheet.cells((x - 64, -100), [[""] * 16] * 4, "query", cell=(8, 6))  # one for each warp
            sheet.words((x, -56), "up to 64 warps,\n32 threads each", "muted", size=SMALL)
            inner = f"{registers}\nand matrix units"
            inner = sheet.box((x, -12), inner, "orange", height=38, **size)
            place = shared.replace(": ", ":\n") if phone else shared
            fast = sheet.box((x, 54), place, "green", height=36 if phone else 28, **size)
            speeds = (f"{from_shared} in all", f"{from_cache} in all") if last else ("", "")
            for begin, end, role, width, speed in (
                (fast.north, inner.south, "green", 4, speeds[0]),
                ((x, middle.y), fast.south, "blue", 2.4, speeds[1]),
            ):
                aside = (-8, 0) if phone else (8, 0)  # inwards, where there is room
                sheet.arrow(begin, end, role=role, width=width, text=speed, side=aside)
        sheet.words((wide + apart * (shown - 2) + (apart - wide) / 2, -112), "…", bold=True)
        low = sheet.box((broad / 2, 178), main, "purple", width=broad, height=28, size=SMALL)
        sheet.arrow(low.north, middle.south, role="purple", text=from_main, side=(8, 0))
        return sheet

    return Picture(
        f"A GPU has {multiprocessors} multiprocessors. Each holds up to 64 warps of 32 threads,"
        f" matrix units, registers ({registers}) and a shared memory ({shared}), which delivers"
        f" {from_shared}. Below all of them is one L2 cache ({cache}), which delivers {from_cache},"
        f" and below that the main memory ({main}), which delivers {from_main}.",
        draw,
    )


def tiled_product(tiles, inner):
    """Draw a product whose result is cut into tiles, and what one tile reads.

    Args:
        tiles: how many tiles the result has on each side.
        inner: into how many tiles the axis is cut that the product sums over.

    Returns:
        the Picture.
    """
    row, column, step = 1, 2, 1  # the tile of the result, and the step that are looked at

    def shade(rows, columns, light):
        return [[light(down, across) for across in range(columns)] for down in range(rows)]

    def draw(phone):
        sheet, cell = Drawing(), 22 if phone else 32
        size, gap = (cell, cell), cell
        left, top = cell * inner + gap, cell * inner + gap
        marks = shade(
            tiles, inner, lambda d, a: 0.9 if (d, a) == (row, step) else 0.45 * (d == row)
        )
        sheet.cells((0, top), [[""] * inner] * tiles, "query", cell=size, shares=marks)
        marks = shade(
            inner, tiles, lambda d, a: 0.9 if (d, a) == (step, column) else 0.45 * (a == column)
        )
        sheet.cells((left, 0), [[""] * tiles] * inner, "key", cell=size, shares=marks)
        marks = shade(
            tiles,
            tiles,
            lambda d, a: 0.9 if (d, a) == (row, column) else 0.3 * (d == row or a == column),
        )
        sheet.cells((left, top), [[""] * tiles] * tiles, "orange", cell=size, shares=marks)
        centre = (left + cell * (column + 0.5), top + cell * (row + 0.5))
        start = (cell * (step + 0.5), centre[1])
        sheet.arrow(start, (centre[0] - cell / 2 - 2, centre[1]), role="query", width=2.4)
        start = (centre[0], cell * (step + 0.5))
        sheet.arrow(start, (centre[0], centre[1] - cell / 2 - 2), role="key", width=2.4)
        low = top + cell * tiles + 12
        sheet.words((cell * inner / 2, low), "left factor", "query", size=SMALL)
        sheet.words((left + cell * tiles / 2, low), "result", "orange", size=SMALL)
        sheet.words((left + cell * tiles / 2, -10), "right factor", "key", size=SMALL)
        return sheet

    return Picture(
        f"A product of two matrices. The result is cut into {tiles} by {tiles} tiles. One of them"
        f" is marked: it is the sum over {inner} steps, and for each step it reads one tile of the"
        " left factor, in its row, and one of the right factor, in its column. The other tiles of"
        " its row read the same tiles of the left factor, and those of its column the same of the"
        " right factor.",
        draw,
    )


def memory_bars(rows, room):
    """Draw what fills the memory of a training as stacked boxes, drawn to scale.

    Args:
        rows: dict from a label to a dict from a part to its bytes.
        room: bytes of a device that can be used, drawn as a line.

    Returns:
        the Picture.
    """
    largest = max(sum(parts.values()) for parts in rows.values())

    def draw(phone):
        sheet, tall, apart = Drawing(), 230, 55 if phone else 86
        wide = 0.7 * apart
        for place, (label, parts) in enumerate(rows.items()):
            x, y = apart * place, 0
            for name, size in filter(itemgetter(1), parts.items()):
                high = tall * size / largest
                y -= high
                corner = (x - wide / 2, y)
                sheet.cells(corner, [[""]], PARTS[name], cell=(wide, high), shares=[[0.8]])
            total = sum(parts.values()) / 1e9
            unit = "" if phone else " GB"
            line = -tall * room / largest
            if line - 8 < y - 10 < line + 8:  # not on the line
                y = line - 2
            sheet.words((x, y - 10), f"{total:.1f}{unit}", bold=True, size=SMALL)
            sheet.words((x, 20), label, size=SMALL)
        level, left, right = -tall * room / largest, -apart / 2, apart * (len(rows) - 0.5)
        sheet.arrow((left, level), (right, level), role="wrong", dashed=True, head=False)
        said = f"{room / 1e9:.1f} GB"
        sheet.words((right, level - 10), said, "wrong", anchor="end", size=SMALL)
        for place, (name, role) in enumerate(PARTS.items()):
            x, y = apart * 1.6, 18 * place - tall
            sheet.cells((x, y - 6), [[""]], role, cell=(12, 12), shares=[[0.8]])
            sheet.words((x + 18, y), name, anchor="start", size=SMALL)
        return sheet

    told = "; ".join(
        f"{label}: ".replace("\n", " ")
        + ", ".join(f"{name} {size / 1e9:.1f}" for name, size in parts.items())
        for label, parts in rows.items()
    )
    return Picture(
        f"There are {len(rows)} stacks of boxes, drawn to scale, in gigabytes. {told}. A dashed"
        f" line marks {room / 1e9:.1f} GB.",
        draw,
    )


def two_workers(words, steps, apart):
    """Draw data parallelism: a batch in parts, a copy of the model for each, one average of their
    gradients, one step.

    Args:
        words: of each worker's part.
        steps: how many were taken.
        apart: the largest difference between their weights after these steps and those of a process
            that trained alone.

    Returns:
        the Picture.
    """
    share = [each / sum(words) for each in words]

    def draw(phone):
        sheet, gap = Drawing(), 176 if phone else 260
        middle = gap * (len(words) - 1) / 2
        size = {"width": 132, "height": 44, "size": SMALL + 1}
        batch = sheet.box((middle, 0), f"one batch:\n{sum(words)} words", "encoder", **size)
        mean = sheet.box(
            (middle, 330), "average, by words", "orange", width=160, height=34, kind="solid"
        )
        for place, (count, part) in enumerate(zip(words, share, strict=True)):
            x = gap * place
            own = sheet.box((x, 84), f"worker {place}:\n{count} words", "encoder", **size)
            copy = sheet.box((x, 160), "copy of the model", "decoder", **size)
            found = sheet.box((x, 236), "gradients", "orange", **size)
            sheet.arrow(batch.at(0.3 + 0.4 * place, 1), own.north, role="encoder", width=7 * part)
            sheet.arrow(own.south, copy.north, width=7 * part)
            sheet.arrow(
                *(copy.south, found.north),
                role="orange",
                width=7 * part,
                text="backward",
                side=(6, 0),
            )
            end = mean.at(0.3 + 0.4 * place, 0)
            sheet.arrow(found.south, end, role="orange", width=7 * part, text=f"× {part:.2f}")
            outer = x + (-80 if place == 0 else 80)
            turn = mean.west if place == 0 else mean.east
            sheet.arrow(
                turn,
                (outer, 330),
                (outer, 160),
                copy.west if place == 0 else copy.east,
                dashed=True,
            )
        said = (
            f"the same step for both copies;\nafter {steps} steps no weight is more than\n"
            f"{apart:.0e} from one that trained alone"
        )
        sheet.words((middle, 374), said, "muted", size=SMALL)
        return sheet

    told = ", ".join(f"worker {place} {count} words" for place, count in enumerate(words))
    return Picture(
        f"One batch is cut in two: {told}. Each part goes through a copy of the model and makes"
        " gradients. These meet in one average, multiplied by"
        f" {' and '.join(f'{s:.2f}' for s in share)}, and from it dashed arrows lead back to both"
        f" copies. After {steps} steps no weight is more than {apart:.0e} from one that trained"
        " alone.",
        draw,
    )


DEVICES, STAYS = 4, 0.9
# a way to share a training out: its name, how strongly a device tints a part of a layer, whether it
# works on its own part of the batch alone, and what it sends
WAYS = (
    ("data parallelism", lambda own, layer, part: STAYS, True, "gradients,\nonce a step"),
    (
        *("ZeRO, stage 3", lambda own, layer, part: STAYS if part == own else 0.7 * (layer == 1)),
        *(True, "weights, for each\nlayer, and gradients"),
    ),
    (
        *("tensor parallelism", lambda own, layer, part: STAYS * (part == own), False),
        "activations,\nin every layer",
    ),
    (
        *("pipeline parallelism", lambda own, layer, part: STAYS * (layer == own), False),
        "activations,\nat each cut",
    ),
)


def four_ways():
    """Draw what each of four devices holds of four layers, and on what part of a batch it works.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 50 if phone else 66
        left = 0 if phone else 160
        for place, (name, tint, own_part, sent) in enumerate(WAYS):
            top = place * (98 if phone else 78)
            point = (0, top - 14) if phone else (0, top + 26)
            sheet.words(point, name, bold=True, anchor="start", size=SMALL + 1)
            for own in range(DEVICES):
                x = left + apart * own
                sheet.cells((x, top), [[""]], "purple", cell=(40, 40), shares=[[0]])
                for layer, part in itertools.product(range(4), repeat=2):
                    if share := tint(own, layer, part):
                        corner = (x + 10 * part, top + 10 * layer)
                        role = "purple" if share == STAYS else "blue"
                        sheet.cells(corner, [[""]], role, cell=(10, 10), shares=[[share]])
                sheet.cells((x, top + 46), [[""]], "green", cell=(40, 8), shares=[[0]])
                begin, wide = (x + 10 * own, 10) if own_part else (x, 40)
                sheet.cells((begin, top + 46), [[""]], "green", cell=(wide, 8), shares=[[0.9]])
            end = left + apart * DEVICES
            sheet.words((end, top + 26), f"sends\n{sent}", "muted", anchor="start", size=SMALL)
        return sheet

    return Picture(
        "Four devices, each with a grid of four layers (rows) in four parts (columns) and, below, a"
        " batch in four parts. In data parallelism each device holds the whole grid and works on"
        " its own part of the batch. In ZeRO, stage 3, it holds one column, has the rest of the"
        " layer at work for a moment, and works on its own part of the batch. In tensor parallelism"
        " it holds one column and works on the whole batch. In pipeline parallelism it holds one"
        " row and works on the whole batch.",
        draw,
    )


def pipeline(schedules):
    """Draw what each device of a pipeline does from turn to turn.

    Args:
        schedules: dict from a name to (turns, held): for each turn a list with each device's
            ("forward", part), ("backward", part) or None, and of how many parts each device holds
            the activations at most.

    Returns:
        the Picture.
    """
    roles = {"forward": "blue", "backward": "orange"}

    def draw(phone):
        sheet, wide, high = Drawing(), 13 if phone else 24, 22
        top = 0
        for name, (turns, held) in schedules.items():
            sheet.words((0, top - 26), name, bold=True, anchor="start", size=SMALL + 1)
            end = wide * len(turns)
            sheet.words((end + 6, top - 9), "holds", "muted", anchor="start", size=SMALL)
            for device, tasks in enumerate(zip(*turns, strict=True)):
                y = top + (high + 4) * device
                for turn, task in enumerate(tasks):
                    way, text = (roles[task[0]], task[1] + 1) if task else ("plain", "")
                    tint = [[0.45 if task else 0]]
                    size = 11 if phone else SMALL
                    corner = (wide * turn, y)
                    sheet.cells(corner, [[text]], way, cell=(wide, high), size=size, shares=tint)
                label = (
                    f"{held[device]}" if phone else f"{held[device]} part{'s' * (held[device] > 1)}"
                )
                sheet.words((end + 8, y + high / 2), label, anchor="start", size=SMALL)
            top += (high + 4) * len(held) + 58
        x = 0
        for name, role in roles.items():
            sheet.cells((x, top - 44), [[""]], role, cell=(14, 14), shares=[[0.45]])
            sheet.words((x + 20, top - 37), name, anchor="start", size=SMALL)
            x += 96
        return sheet

    told = " ".join(
        f"{name}: {len(turns)} turns, of which each device waits in"
        f" {sum(turn[0] is None for turn in turns)}. The devices hold at most"
        f" {', '.join(map(str, held))} parts."
        for name, (turns, held) in schedules.items()
    )
    return Picture(
        "Rows of boxes, one row for each device and one box for each turn, with the number of the"
        f" part that goes forward or backward, or empty where the device waits. {told}",
        draw,
    )
