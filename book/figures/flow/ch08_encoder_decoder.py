"""Chapter 8: the whole Transformer with its shapes, the loop that writes a sentence, and the one
pass that trains on it.
"""

from book.figures.flow.hand import LINE, SMALL, Drawing, Picture, Place, width_of

ENCODER, DECODER = 76, 252  # where the two columns are
WIDE, PAD = 144, 12  # of a box: its width, and what its height has beyond its lines
SELF, CROSS, NETWORK = -148, -236, -324  # heights of the parts of a layer
LINEAR, SOFTMAX, OUT = -404, -456, -508  # and of what is above them
WORD, ROW, NEXT = (46, 26), 44, 24  # a word's cell, from row to row, from a row to its next word
NORM = "add & norm"

STATIONS = (
    "source ids",
    "embedded",
    "memory",
    "target ids",
    "target embedded",
    "decoder",
    "logits",
    "cross-attention",
)


def transformer_diagram(shapes=None, height=None):
    """Draw the whole Transformer from bottom to top: the encoder on the left, the decoder on the
    right, and the memory between them.

    Without shapes it shows decoding, and with shapes training, where the decoder reads the whole
    target without its last word.

    Args:
        shapes: dict from each of `STATIONS` to the shape of that tensor; None for a drawing without
            shapes.
        height: how many layers each stack has; None for N.

    Returns:
        the Picture.
    """
    said = {
        name: f"({', '.join(map(str, shapes[name]))})" for name in STATIONS if shapes is not None
    }

    below_all = "the target without\nits last word" if said else "the target so far"
    above_all = "next word,\nat each position" if said else "next word"
    across = f"cross-attention\n{NORM}"
    if said:
        across = across.replace("\n", f"\nweights {said['cross-attention']}\n")

    many, layers = height or "N", "layer" if height == 1 else "layers"

    def draw(phone):
        sheet = Drawing()

        def column(x, role, ends, parts, names):
            start = sheet.words((x, 0), ends, bold=True, size=SMALL + 1)
            last = start.north
            for y, text, kind in parts:
                box = sheet.box((x, y), text, kind, width=WIDE, height=_tall(text), size=SMALL)
                shape = said.get(names.get(y), "")
                sheet.arrow(last, box.south, role=role, text=shape, side=(8, 0))
                last = box.north
            return last

        embedding = (-58, "embed + positions", "plain")
        layer = (
            (SELF, f"self-attention\n{NORM}", "encoder"),
            (NETWORK, f"feed-forward\n{NORM}", "encoder"),
        )
        names = {-58: "source ids", SELF: "embedded", NETWORK: "memory"}
        top = column(ENCODER, "encoder", "source", (embedding, *layer), names)
        memory = sheet.box(
            (ENCODER, LINEAR), "memory", "encoder", width=90, height=26, kind="solid"
        )
        sheet.arrow(top, memory.south, role="encoder")
        if said:
            sheet.words((ENCODER, LINEAR - 26), said["memory"], "encoder", size=SMALL)
        middle = (ENCODER + DECODER) / 2
        into = (DECODER - WIDE / 2, CROSS)
        sheet.arrow(memory.east, (middle, LINEAR), (middle, CROSS), into, role="encoder", width=2.6)
        sheet.words(
            (memory.east[0] + 4, LINEAR - 28),
            "keys,\nvalues",
            "encoder",
            anchor="start",
            size=SMALL,
        )
        layer = (
            (SELF, f"masked self-attention\n{NORM}", "decoder"),
            (CROSS, across, "decoder"),
            (NETWORK, f"feed-forward\n{NORM}", "decoder"),
        )
        ends = ((LINEAR, "linear", "plain"), (SOFTMAX, "softmax", "plain"))
        below = {-58: "target ids", SELF: "target embedded"}
        names = below | dict.fromkeys((NETWORK, LINEAR), "decoder") | {SOFTMAX: "logits"}
        top = column(DECODER, "decoder", below_all, (embedding, *layer, *ends), names)
        out = sheet.words((DECODER, OUT), above_all, bold=True, size=SMALL + 1)
        sheet.arrow(top, out.south, role="decoder")
        near = (DECODER + 8, (_around(DECODER, SELF).y + CROSS + _tall(across) / 2) / 2)
        queries = "queries\n" + said["target embedded"] if said else "queries"
        sheet.words(near, queries, "decoder", anchor="start", size=SMALL)
        for x, role, low in ((ENCODER, "encoder", SELF), (DECODER, "decoder", SELF)):
            corners = [_around(x, low), _around(x, NETWORK)]
            sheet.frame(corners, "", role, around=8)
            left = (x - WIDE / 2 - 8, low + 46)
            sheet.words(left, f"{many} {role}\n{layers}", role, anchor="start", size=SMALL)
        return sheet

    shown = "; ".join(f"{name} {shape}" for name, shape in said.items())
    return Picture(
        "Two columns, from bottom to top. On the left the source goes through embedding and"
        f" positions into {many} encoder {layers} of self-attention and feed-forward, and becomes"
        f" the memory. On the right {' '.join(below_all.split())} goes through embedding and"
        f" positions into {many} decoder {layers} of masked self-attention, cross-attention and"
        f" feed-forward, then through a linear layer and a softmax to the"
        f" {' '.join(above_all.split())}. Each part of a layer ends in add and norm. One thick"
        " arrow leads keys and values from the memory to the cross-attention, where the queries"
        f" come from below.{f' Shapes: {shown}.' if said else ''}",
        draw,
    )


def _around(x, y):
    tall = _tall(f"\n{NORM}")
    return Place(x - WIDE / 2, y - tall / 2, WIDE, tall)


def _tall(text):
    return PAD + LINE * SMALL * len(text.split("\n"))


def two_stacks(layers):
    """Draw both stacks layer by layer: each layer of the decoder reads the same memory, which is
    what the last layer of the encoder returns.

    Args:
        layers: how many each stack has.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, (left, right), up = Drawing(), (60, 270), -52
        tops = {}
        for x, role, end in ((left, "encoder", "source"), (right, "decoder", "the target so far")):
            below = sheet.words((x, 44), end, bold=True, size=SMALL + 1).north
            for layer in range(layers):
                text = f"{role} layer {layer + 1}"
                box = sheet.box((x, up * layer), text, role, width=120, height=30, size=SMALL)
                sheet.arrow(below, box.south, role=role)
                below = box.north
                tops[role, layer] = box
        memory = sheet.box(
            (left, up * layers), "memory", "encoder", width=90, height=26, kind="solid", size=SMALL
        )
        sheet.arrow(tops["encoder", layers - 1].north, memory.south, role="encoder")
        bus = (left + right) / 2
        for layer in range(layers):
            into = tops["decoder", layer].west
            path = ((bus, memory.east[1]), (bus, into[1]), into)
            sheet.arrow(memory.east, *path, role="encoder", width=2.6)
        sheet.words((bus + 6, memory.east[1] - 14), "keys, values", "encoder", size=SMALL)
        out = sheet.words((right, up * layers), "linear, softmax", "muted", size=SMALL)
        sheet.arrow(tops["decoder", layers - 1].north, out.south, role="decoder")
        return sheet

    return Picture(
        f"Two stacks of {layers} layers side by side. The source goes up through all encoder layers"
        " and becomes the memory at the top. From the memory one line goes down between the stacks,"
        f" and an arrow leads from it into each of the {layers} decoder layers. No arrow leads from"
        " an encoder layer below the last to the decoder.",
        draw,
    )


def generation_loop(source, written, chosen, probabilities, memory_shape):
    """Draw how a sentence is written: the source is read once, and each word that the decoder
    chooses is read by it at the next step.

    Args:
        source: the words that are read.
        written: the words that the decoder reads at the last step.
        chosen: the word that it writes at each step.
        probabilities: of the chosen words.
        memory_shape: of what the encoder makes of the source.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, left, step = Drawing(), 46, 64
        shape = f"({', '.join(map(str, memory_shape))})"
        rows = len(chosen)
        memory = sheet.box(
            (11, step * (rows - 1) / 2 + 4),
            "",
            "encoder",
            width=22,
            height=step * (rows - 1) + 44,
            kind="solid",
        )
        said = sheet.words(
            (0, -62),
            f"the encoder reads once: “{' '.join(source)}”",
            "encoder",
            anchor="start",
            size=SMALL,
        )
        sheet.words((18, -40), f"memory {shape}", "encoder", anchor="start", size=SMALL)
        sheet.arrow((11, said.y + said.height + 2), memory.north, role="encoder")
        last = None
        for row, (word, probability) in enumerate(zip(chosen, probabilities, strict=True)):
            y, text = step * row, " ".join(written[: row + 1])
            with sheet.step(row + 1):
                wide = width_of(text, SMALL) + 10
                box = sheet.box(
                    (left + wide / 2, y), text, "decoder", width=wide, height=26, size=SMALL
                )
                if last:
                    end = (box.east[0] - width_of(written[row], SMALL) / 2 - 6, box.y)
                    sheet.arrow(
                        (last.centre[0], last.y + last.height), end, role="decoder", dashed=True
                    )
                sheet.arrow((memory.east[0], y), box.west, role="encoder")
                chip = width_of(word, SMALL) + 16
                out = sheet.box(
                    (box.east[0] + 26 + chip / 2, y),
                    word,
                    "decoder",
                    width=chip,
                    height=26,
                    size=SMALL,
                    kind="solid",
                )
                sheet.arrow(box.east, out.west, role="decoder")
                sheet.words((out.centre[0], y - 20), f"{probability:.3f}", "muted", size=SMALL)
                last = out
        below = (left, step * (rows - 1) + 36)
        said = "what the decoder reads,\nand the word that it chooses"
        sheet.words(below, said, "muted", anchor="start", size=SMALL)
        return sheet

    steps = "; ".join(
        f"after “{' '.join(written[: place + 1])}” it chooses {word}, with {p:.3f}"
        for place, (word, p) in enumerate(zip(chosen, probabilities, strict=True))
    )
    return Picture(
        f"The encoder reads “{' '.join(source)}” once and makes the memory, a bar from which an"
        f" arrow leads to every step of the decoder: {steps}. From each chosen word a dashed"
        " arrow leads to what the decoder reads at the next step.",
        draw,
        steps=(
            f"The decoder reads “{' '.join(written[: place + 1])}” and chooses “{word}”."
            for place, word in enumerate(chosen)
        ),
    )


def all_at_once(reads, says):
    """Draw the questions that a sentence asks of the decoder: in training all in one pass, where
    the mask hides the words to come, and in decoding one pass after the other.

    Args:
        reads: the words that the decoder reads, one a position.
        says: the word that it should say at each position: those that it reads, shifted by one.

    Returns:
        the Picture.
    """
    count, (wide, tall) = len(reads), WORD

    def draw(phone):
        sheet = Drawing()
        for panel, title in enumerate(("training: one pass", f"decoding: {count} passes")):
            left, top = (0, (ROW * count + 108) * panel) if phone else (356 * panel, 0)
            out = left + wide * count + NEXT + wide / 2
            sheet.words((left, top - 46), title, anchor="start", bold=True)
            sheet.words((left, top - 20), "may see", "muted", anchor="start", size=SMALL)
            said = "should say" if not panel else "writes"
            sheet.words((out, top - 20), said, "muted", size=SMALL)
            rows, before = [], None
            for row, word in enumerate(says):
                y = top + ROW * row
                middle, hidden = (out, y + tall / 2), [] if panel else reads[row + 1 :]
                past, strong = [reads[: row + 1]], [[0.6] * (row + 1)]
                seen = sheet.cells((left, y), past, "decoder", cell=WORD, shares=strong)
                start = seen.east
                if hidden:
                    blank, none = [[""] * len(hidden)], [[0] * len(hidden)]
                    grey = sheet.cells(seen.at(1, 0), blank, "masked", cell=WORD, shares=none)
                    for place, each in enumerate(hidden):
                        centre = grey.column(place, len(hidden)).centre
                        sheet.words(centre, each, "masked", size=SMALL)
                    start = grey.east
                chosen = sheet.box(
                    middle, word, "decoder", width=wide, height=tall, size=SMALL, kind="solid"
                )
                sheet.arrow(start, chosen.west, role="decoder")
                if before:
                    turn = before.y + tall + (ROW - tall) / 2
                    cell = (left + wide * (row + 0.5), y)
                    corner, down = (before.centre[0], turn), (cell[0], turn)
                    sheet.arrow(before.south, corner, down, cell, role="decoder", dashed=True)
                before = chosen if panel else None
                rows += [seen, chosen]
            if not panel:
                sheet.frame(rows, "", "decoder", around=6)
            notes = (
                "the mask hides the words\nin cells without colour",
                "a row begins when the word\nbefore it is written",
            )
            below = (left, top + ROW * count + 14)
            sheet.words(below, notes[panel], "muted", anchor="start", size=SMALL)
        return sheet

    questions = "; ".join(
        f"from “{' '.join(reads[: place + 1])}” to {word}" for place, word in enumerate(says)
    )
    return Picture(
        f"The same {count} questions twice: {questions}. On the left, in training, one frame is"
        f" around all {count} rows: each holds all the words that are read, and those that its"
        " position must not see are in cells without colour; the first is the word that it should"
        " say. On the right, in decoding, each row holds only the words written so far, and a"
        " dashed arrow leads from the word that a row writes to its place in the next row.",
        draw,
    )
