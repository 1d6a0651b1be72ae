"""Chapter 3: one vector, and looking back."""

import itertools

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture

SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


def _chain(sheet, names, centres, role, kind="box"):
    """Draw states side by side, with an arrow from each to the next."""
    boxes = [
        sheet.box(centre, name, role, width=38, height=30, kind=kind)
        for name, centre in zip(names, centres, strict=True)
    ]
    for left, right in itertools.pairwise(boxes):
        sheet.arrow(left.east, right.west)
    return boxes


def _numbered(letter, words):
    return [f"{letter}{SUBSCRIPTS[place + 1]}" for place in range(len(words))]


def one_vector_machine(read, written, d_model, d_hidden):
    """Draw an encoder that hands its last state to a decoder, with shapes at the arrows.

    Args:
        read, written: the words of the source and of the target.
        d_model, d_hidden: numbers in the vector of a word, and in a state.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 76
        states = [(apart * place, 0) for place in range(len(read))]
        encoder = _chain(sheet, _numbered("h", read), states, "encoder")
        for word, box in zip(read, encoder, strict=True):
            below = sheet.words((box.centre[0], 62), word)
            sheet.arrow(below.north, box.south)
        sheet.frame(encoder, f"encoder: states ({len(read)}, {d_hidden})", "encoder", around=12)
        middle = (states[-1][0] / 2, 86)
        sheet.words(middle, f"words ({len(read)}, {d_model})", "muted", size=SMALL)
        last = encoder[-1]
        waist = (last.centre[0], 150) if phone else (last.east[0] + 82, 0)
        said = f"({d_hidden},)\nwhatever\nthe length"
        kept = sheet.box(
            waist, _numbered("h", read)[-1], "orange", width=38, height=30, kind="solid"
        )
        first = (54, 238) if phone else (waist[0] + 94, 0)
        starts = [(first[0] + apart * place, first[1]) for place in range(len(written))]
        decoder = _chain(sheet, _numbered("s", written), starts, "decoder")
        for word, box in zip(written, decoder, strict=True):
            down = box.centre[1] + (58 if phone else -62)
            beside = sheet.words((box.centre[0], down), word)
            sheet.arrow(*((box.south, beside.north) if phone else (box.north, beside.south)))
        sheet.frame(
            decoder, "" if phone else "decoder", "decoder", around=12, above=False, anchor="end"
        )
        if phone:
            sheet.words(
                (decoder[0].x - 12, 296 + 22),
                "decoder",
                "decoder",
                anchor="start",
                size=SMALL,
                bold=True,
            )
            corner = (last.east[0] + 22, 0)
            sheet.arrow(last.east, corner, (corner[0], 150), kept.east, role="orange", width=2.6)
            sheet.words((kept.west[0] - 8, 150), said, "orange", anchor="end", size=SMALL)
            sheet.arrow(
                kept.south,
                (kept.centre[0], 194),
                (first[0], 194),
                decoder[0].north,
                role="orange",
                width=2.6,
            )
        else:
            sheet.arrow(last.east, kept.west, role="orange", width=2.6)
            sheet.words((waist[0], 42), said, "orange", size=SMALL)
            sheet.arrow(kept.east, decoder[0].west, role="orange", width=2.6)
        return sheet

    return Picture(
        f"An encoder reads “{' '.join(read)}”: each word, {d_model} numbers, leads up to one of"
        f" {len(read)} states in a chain, {d_hidden} numbers each. A thick orange arrow leads from"
        f" the last state alone, through one vector of {d_hidden} numbers whatever the length, to"
        f" the chain of {len(written)} decoder states, which write “{' '.join(written)}”.",
        draw,
    )


def looking_back_machine(read, written, weights, d_hidden):
    """Draw a decoder that looks back, at one of its steps: its query meets every key, and the
    weighted average of the keys helps to choose the word.

    Args:
        read, written: the words of the source and of the target.
        weights: (words read,) of the step that is drawn, the first one.
        d_hidden: numbers in a state.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 54 if phone else 84
        shown = written[:1] if phone else written
        states = [(apart * place, 0) for place in range(len(read))]
        encoder = _chain(sheet, _numbered("h", read), states, "encoder", "solid")
        context = sheet.box((states[-1][0] / 2, -190), "context", "key", kind="solid")
        met = []
        for word, box, weight in zip(read, encoder, weights, strict=True):
            below = sheet.words((box.centre[0], 52), word)
            sheet.arrow(below.north, box.south)
            at = (box.centre[0], -96)
            each = sheet.box(at, f"{weight:.2f}", "query", width=42, height=26, size=SMALL)
            sheet.arrow(box.north, each.south, role="key")
            sheet.arrow(each.north, context.south, role="key", width=1 + 6 * weight)
            met.append(each)
        right = states[-1][0] + (92 if phone else 120)
        centres = [(right + apart * place, 0) for place in range(len(shown))]
        decoder = _chain(sheet, _numbered("s", shown), centres, "decoder")
        sheet.arrow(encoder[-1].east, decoder[0].west)
        x = decoder[0].centre[0]
        sheet.arrow(decoder[0].north, (x, -96), met[-1].east, role="query", width=2.2)
        sheet.words((x + 7, -56), f"query\n({d_hidden},)", "query", anchor="start", size=SMALL)
        if phone:
            at, near = met[-1].east[0] + 8, {"anchor": "start", "size": SMALL}
            sheet.words((at, -122), f"weights\n({len(read)},)", "query", **near)
            sheet.words((at - 22, -48), f"keys\n({len(read)}, {d_hidden})", "key", **near)
        else:
            at, near = met[0].x - 8, {"anchor": "end", "size": SMALL}
            sheet.words((at, -96), f"weights ({len(read)},)", "query", **near)
            sheet.words((at, -46), f"keys ({len(read)}, {d_hidden})", "key", **near)
        out = sheet.words((x, -190), written[0], bold=True)
        sheet.arrow(
            context.east, (out.x - 4, -190), role="key", text=f"({d_hidden},)", side=(0, -12)
        )
        for word, box in zip(shown[1:], decoder[1:], strict=True):
            sheet.words((box.centre[0], -190), word, "muted")
            sheet.arrow(box.north, (box.centre[0], -178), dashed=True)
        sheet.arrow((x, -110), out.south)
        sheet.words(
            (states[-1][0] / 2, 74),
            "encoder: all states are kept",
            "encoder",
            size=SMALL,
            bold=True,
        )
        sheet.words((decoder[0].x, 32), "decoder", "decoder", anchor="start", size=SMALL, bold=True)
        return sheet

    shares = ", ".join(f"{word} {weight:.2f}" for word, weight in zip(read, weights, strict=True))
    return Picture(
        f"The encoder's {len(read)} states are all kept, and from each a key leads up to a weight:"
        f" {shares}. A query leads from the decoder's first state to the row of weights. Lines as"
        f" thick as the weights meet in one vector called context, {d_hidden} numbers, and from"
        f" there an arrow leads to {written[0]}, the word that the decoder writes.",
        draw,
    )


def look_back_by_hand(words, keys, sums, scores, weights, context):
    """Draw additive attention for one query as a flow from left to right, one row for each key.

    Args:
        words: the words of the keys.
        keys, sums: (key_len, 2) the keys, and the keys with the query added.
        scores, weights: (key_len,).
        context: (2,).

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, cell = Drawing(), (24, 24)
        gap = 14 if phone else 44
        columns = np.cumsum([0, 48 + gap, 48 + gap, 44 + gap, 44 + gap])
        heads = ("key", "+ query", "score", "weight")
        roles = ("key", "query", "plain", "query")
        for x, wide, name, role in zip(columns, (48, 48, 44, 44), heads, roles, strict=False):
            sheet.words((x + wide / 2, -16), name, role if role != "plain" else "muted", size=SMALL)
        ends = []
        for row, word in enumerate(words):
            y = 40 * row
            sheet.words((-8, y + 12), word, anchor="end", size=SMALL)
            shown = [
                sheet.cells((columns[0], y), [_whole(keys[row])], "key", cell=cell),
                sheet.cells((columns[1], y), [_whole(sums[row])], "query", cell=cell),
                sheet.box(
                    (columns[2] + 22, y + 12), f"{scores[row]:.3f}", width=44, height=24, size=SMALL
                ),
                sheet.cells(
                    (columns[3], y),
                    [[f"{weights[row]:.3f}"]],
                    "query",
                    cell=(44, 24),
                    shares=[[weights[row]]],
                ),
            ]
            for left, right in itertools.pairwise(shown):
                sheet.arrow(left.east, right.west)
            ends.append(shown[-1])
        last = 40 * (len(words) - 1) + 24
        two = [[f"{number:.2f}" for number in context]]
        corner = (columns[3] - 30, last + 30) if phone else (columns[4] + 46, last / 2 - 12)
        out = sheet.cells(corner, two, "key", cell=(37, 24), shares=[[0.7, 0.7]])
        for end, weight in zip(ends, weights, strict=True):
            if phone:
                x = end.east[0] + 12
                sheet.arrow(
                    end.east,
                    (x, end.east[1]),
                    (x, out.east[1]),
                    out.east,
                    role="key",
                    width=0.8 + 5 * weight,
                )
            else:
                sheet.arrow(end.east, out.west, role="key", width=0.8 + 5 * weight)
        sheet.words(
            (out.west[0] - 6, out.west[1]) if phone else (out.centre[0], out.y - 14),
            "context" if not phone else "weight × key,\nadded: context",
            "key",
            anchor="end" if phone else "middle",
            size=SMALL,
        )
        return sheet

    rows = "; ".join(
        f"{word}: key {_pair(key)}, with the query {_pair(both)}, score {score:.3f},"
        f" weight {weight:.3f}"
        for word, key, both, score, weight in zip(words, keys, sums, scores, weights, strict=True)
    )
    return Picture(
        f"One row for each word, with arrows from left to right. For {rows}. All rows lead to the"
        f" context, {_pair(context, 2)}, along lines as thick as their weights.",
        draw,
    )


def _whole(numbers):
    return [f"{number:.0f}".replace("-", "\N{MINUS SIGN}") for number in numbers]


def _pair(numbers, decimals=0):
    return "(" + ", ".join(f"{each:.{decimals}f}" for each in numbers).replace("-", "−") + ")"
