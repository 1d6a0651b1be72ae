"""Chapter 10: the life of one step, what fills the memory, and two workers with one gradient."""

from book.figures.flow.hand import SMALL, Drawing, Picture

PARTS = {"weights": "blue", "gradients": "orange", "moments": "purple", "activations": "green"}

STAIRS = 8  # in which activations grow and shrink


def life_of_a_step(seconds, sizes):
    """Draw the phases of a training step as long as they take, and what is in memory meanwhile.

    Args:
        seconds: dict from "forward", "backward" and "step" to what they take.
        sizes: dict from "weights", "moments", "activations" and "gradients" to their bytes.

    Returns:
        the Picture.
    """
    whole = sum(seconds.values())
    ways = {"forward": "encoder", "backward": "orange", "step": "key"}

    def draw(phone):
        sheet, long, left = Drawing(), 250 if phone else 520, 0
        ends = [0]
        for name, role in ways.items():
            wide = max(long * seconds[name] / whole, 8)
            sheet.box(
                (left + wide / 2, 0),
                name if wide > 60 else "",
                role,
                width=wide,
                height=32,
                kind="solid",
            )
            ms = f"{1000 * seconds[name]:.1f} ms"
            said = ms if wide > 60 else f"{name}\n{ms}"
            sheet.words((left + wide / 2, -28 if wide > 60 else -36), said, "muted", size=SMALL)
            left += wide
            ends.append(left)
        rows = (("weights", 0, 3), ("moments", 0, 3), ("activations", 0, 2), ("gradients", 1, 3))
        for place, (name, first, last) in enumerate(rows):
            y, role = 46 + 34 * place, PARTS[name]
            size = f"{sizes[name] / 1e6:.1f} MB"
            if name == "activations":
                for start, end, grows in ((0, ends[1], True), (ends[1], ends[2], False)):
                    broad = (end - start) / STAIRS
                    for stair in range(STAIRS):
                        high = 22 * (stair + 1 if grows else STAIRS - stair) / STAIRS
                        corner = (start + broad * stair, y + 11 - high)
                        sheet.cells(corner, [[""]], role, cell=(broad, high), shares=[[0.5]])
            else:
                corner, broad = (ends[first], y - 11), ends[last] - ends[first]
                sheet.cells(corner, [[""]], role, cell=(broad, 22), shares=[[0.5]])
            sheet.words((left + 8, y), f"{name}\n{size}", role, anchor="start", size=SMALL)
        return sheet

    times = ", ".join(f"{name} {1000 * each:.1f} milliseconds" for name, each in seconds.items())
    held = ", ".join(f"{name} {size / 1e6:.1f} megabytes" for name, size in sizes.items())
    return Picture(
        f"Three boxes in a row, as long as the phases of a training step: {times}. Below them,"
        " what is in memory: weights and moments all the time, activations growing in the"
        " forward pass and shrinking in the backward pass, gradients from the backward pass to"
        f" the end. At most {held}.",
        draw,
    )


def memory_bars(rows):
    """Draw what fills the memory of a training as stacked boxes, drawn to scale.

    Args:
        rows: dict from a label to a dict from a part to its bytes.

    Returns:
        the Picture.
    """
    largest = max(sum(parts.values()) for parts in rows.values())

    def draw(phone):
        sheet, tall, apart = Drawing(), 230, 92 if phone else 150
        for place, (label, parts) in enumerate(rows.items()):
            x, y = apart * place, 0
            for name, size in parts.items():
                high = tall * size / largest
                y -= high
                sheet.cells((x - 29, y), [[""]], PARTS[name], cell=(58, high), shares=[[0.8]])
            total = sum(parts.values()) / 1e6
            sheet.words((x, y - 12), f"{total:.0f} MB", bold=True, size=SMALL + 1)
            sheet.words((x, 16), label, size=SMALL)
        x, y, last = apart * (len(rows) - 1) + 36, 0, 9
        for name, size in next(reversed(rows.values())).items():
            high = tall * size / largest
            low = min(y - high / 2, last - 17)
            sheet.words((x + 8, low), name, PARTS[name], anchor="start", size=SMALL)
            last, y = low, y - high
        return sheet

    told = "; ".join(
        f"{label}: " + ", ".join(f"{name} {size / 1e6:.1f}" for name, size in parts.items())
        for label, parts in rows.items()
    )
    return Picture(
        f"There are {len(rows)} stacks of boxes, drawn to scale, in megabytes. {told}. Only the"
        " activations grow from stack to stack.",
        draw,
    )


def two_workers(words, away):
    """Draw data parallelism: a batch in parts, a copy of the model for each, one average of their
    gradients, one step.

    Args:
        words: of each worker's part.
        away: dict from a way to average to how far it is from the gradient of the whole batch, as a
            share of its length.

    Returns:
        the Picture.
    """
    share = [each / sum(words) for each in words]

    def draw(phone):
        sheet, apart = Drawing(), 176 if phone else 260
        middle = apart * (len(words) - 1) / 2
        size = {"width": 132, "height": 44, "size": SMALL + 1}
        batch = sheet.box((middle, 0), f"one batch:\n{sum(words)} words", "encoder", **size)
        mean = sheet.box(
            (middle, 330), "average, by words", "orange", width=160, height=34, kind="solid"
        )
        for place, (count, part) in enumerate(zip(words, share, strict=True)):
            x = apart * place
            own = sheet.box((x, 84), f"worker {place}:\n{count} words", "encoder", **size)
            copy = sheet.box((x, 160), "copy of the model", "decoder", **size)
            found = sheet.box((x, 236), "gradients", "orange", **size)
            sheet.arrow(
                batch.at(0.3 + 0.4 * place, 1), own.north, role="encoder", width=1 + 5 * part
            )
            sheet.arrow(own.south, copy.north)
            sheet.arrow(copy.south, found.north, role="orange", text="backward", side=(6, 0))
            end = mean.at(0.3 + 0.4 * place, 0)
            sheet.arrow(found.south, end, role="orange", width=1 + 5 * part, text=f"× {part:.2f}")
            outer = x + (-80 if place == 0 else 80)
            turn = mean.west if place == 0 else mean.east
            sheet.arrow(
                turn,
                (outer, 330),
                (outer, 160),
                copy.west if place == 0 else copy.east,
                dashed=True,
            )
        sheet.words((middle, 358), "the same step for both copies", "muted", size=SMALL)
        return sheet

    told = ", ".join(f"worker {place} {count} words" for place, count in enumerate(words))
    ways = ", ".join(f"{way} {distance:.1e}" for way, distance in away.items())
    return Picture(
        f"One batch is cut in two: {told}. Each part goes through a copy of the model and makes"
        " gradients. These meet in one average, multiplied by"
        f" {' and '.join(f'{s:.2f}' for s in share)}, and from it dashed arrows lead back to both"
        f" copies. Distance from the gradient of the whole batch: {ways}.",
        draw,
    )
