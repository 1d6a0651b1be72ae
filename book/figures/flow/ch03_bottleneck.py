"""Chapter 3: one vector, and looking back."""

import itertools

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture

SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
SUBSCRIPT_T, SUBSCRIPT_BEFORE = "ₜ", "ₜ₋₁"


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
    """Draw an encoder and a decoder that starts from its last state, and sees it again at each
    step, with shapes at the arrows.

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
        again = first[1] + (46 if phone else -46)  # where the vector meets each state once more
        thick, corner = {"role": "orange", "width": 2.6}, (last.east[0] + 22, 0)
        if phone:
            sheet.arrow(last.east, corner, (corner[0], 150), kept.east, **thick)
            sheet.words((kept.west[0] - 8, 150), said, "orange", anchor="end", size=SMALL)
            turn, right = (kept.centre[0], 194), corner[0] + 4
            sheet.arrow(kept.south, turn, (first[0], 194), decoder[0].north, **thick)
            past = (turn, (right, 194), (right, again), (first[0], again))
        else:
            sheet.arrow(last.east, kept.west, **thick)
            sheet.words((waist[0], 42), said, "orange", size=SMALL)
            sheet.arrow(kept.east, decoder[0].west, **thick)
            past = (kept.north, (waist[0], again), (starts[-1][0], again))
        sheet.arrow(*past, role="orange", head=False)
        for place, (word, box) in enumerate(zip(written, decoder, strict=True)):
            x = box.centre[0]
            joint = sheet.circle((x, again), 5, role="orange")
            beside = sheet.words((x, again + (40 if phone else -40)), word)
            if phone:
                sheet.arrow(box.south, joint.north)
                sheet.arrow(joint.south, beside.north)
            else:
                sheet.arrow(box.north, joint.south)
                sheet.arrow(joint.north, beside.south)
            if place + 1 < len(decoder):  # what was written is taken in at the next step
                start, turn = (beside.east[0] + 2, beside.centre[1]), x + apart / 2
                end = decoder[place + 1].at(0.15, 1 if phone else 0)
                sheet.arrow(start, (turn, start[1]), end, role="muted", dashed=True)
        down = 1 if phone else -1  # the side on which the words are
        begin = sheet.words((decoder[0].x - 21, again + 40 * down), "begin", "muted", size=SMALL)
        start = (begin.centre[0], again + (28 if phone else -28))
        sheet.arrow(start, decoder[0].at(0.15, 1 if phone else 0), role="muted", dashed=True)
        sheet.frame(decoder, "", "decoder", around=12)
        at = (decoder[0].x - 12, again + 62 if phone else 40)
        sheet.words(at, "decoder", "decoder", anchor="start", size=SMALL, bold=True)
        return sheet

    return Picture(
        f"An encoder reads “{' '.join(read)}”: each word, {d_model} numbers, leads up to one of"
        f" {len(read)} states in a chain, {d_hidden} numbers each. A thick orange arrow leads from"
        f" the last state alone, through one vector of {d_hidden} numbers whatever the length, to"
        f" the chain of {len(written)} decoder states, which write “{' '.join(written)}”. A thin"
        " line leads from the same vector past the states, and joins each where it chooses a word."
        " From each written word a dashed arrow leads to the next state, and to the first from a"
        " mark that says begin.",
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
        context = sheet.box((states[-1][0] / 2, -226), "context", "key", kind="solid")
        compared = sheet.box(
            (states[-1][0] / 2, -72),
            "score, then softmax" if phone else "score each key with the query, then softmax",
            "query",
            width=states[-1][0] + 42,
            height=26,
            size=SMALL,
        )
        for word, box, weight in zip(read, encoder, weights, strict=True):
            below = sheet.words((box.centre[0], 52), word)
            sheet.arrow(below.north, box.south)
            at = (box.centre[0], -126)
            each = sheet.box(at, f"{weight:.2f}", "query", width=42, height=26, size=SMALL)
            sheet.arrow(box.north, (at[0], compared.south[1]), role="key")
            sheet.arrow((at[0], compared.north[1]), each.south, role="query")
            sheet.arrow(each.north, context.south, role="key", width=1 + 6 * weight)
        right = states[-1][0] + (92 if phone else 120)
        centres = [(right + apart * place, 0) for place in range(len(shown))]
        decoder = _chain(sheet, _numbered("s", shown), centres, "decoder")
        sheet.arrow(encoder[-1].east, decoder[0].west)
        x = decoder[0].centre[0]
        sheet.arrow(decoder[0].north, (x, -72), compared.east, role="query", width=2.2)
        sheet.words((x + 7, -44), f"query\n({d_hidden},)", "query", anchor="start", size=SMALL)
        if phone:
            at, near = compared.east[0] + 4, {"anchor": "start", "size": SMALL}
            sheet.words((at, -126), f"weights\n({len(read)},)", "query", **near)
            sheet.words((at - 18, -38), f"keys\n({len(read)}, {d_hidden})", "key", **near)
        else:
            at, near = compared.x - 8, {"anchor": "end", "size": SMALL}
            sheet.words((at, -126), f"weights ({len(read)},)", "query", **near)
            sheet.words((at, -38), f"keys ({len(read)}, {d_hidden})", "key", **near)
        out = sheet.words((x, -226), written[0], bold=True)
        sheet.arrow(
            context.east, (out.x - 4, -226), role="key", text=f"({d_hidden},)", side=(0, -12)
        )
        said = [out]
        for word, box in zip(shown[1:], decoder[1:], strict=True):
            said.append(sheet.words((box.centre[0], -226), word, "muted"))
            sheet.arrow(box.north, (box.centre[0], -214), dashed=True)
        for one, box in zip(said, decoder[1:], strict=False):  # taken in at the next step
            turn = box.centre[0] - 0.3 * apart
            path = (one.east[0] + 2, -226), (turn, -226), (turn, -44), box.at(0.15, 0)
            sheet.arrow(*path, role="muted", dashed=True)
        sheet.arrow((x, -86), out.south)
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
        f"The encoder's {len(read)} states are all kept, and from each a key leads up to a bar"
        " where it is scored with the query, which comes from the decoder's first state. A softmax"
        " turns"
        f" the scores into weights: {shares}. Lines as thick as the weights meet in one vector"
        f" called context, {d_hidden} numbers, and from there an arrow leads to {written[0]}, the"
        " word that the decoder writes.",
        draw,
    )


def look_back_by_hand(words, keys, sums, bent, scores, weights, context):
    """Draw additive attention for one query as a flow from left to right, one row for each key.

    Args:
        words: the words of the keys.
        keys, sums, bent: (key_len, 2) the keys, the keys with the projected query added, and the
            tanh of these.
        scores, weights: (key_len,).
        context: (2,).

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, cell = Drawing(), (19, 24) if phone else (24, 24)
        gap, two = 11 if phone else 34, 2 * cell[0]
        widths = (two, two, 74 if phone else 80, 39 if phone else 44, 39 if phone else 44)
        columns = np.cumsum([0, *(wide + gap for wide in widths)])
        query = f"+ q′\n{_pair(np.subtract(sums[0], keys[0]))}"
        heads = ("key", query, "tanh", "· v = score" if not phone else "· v", "weight")
        roles = ("key", "query", "query", "muted", "query")
        for x, wide, name, role in zip(columns, widths, heads, roles, strict=False):
            high = -16 - 7.5 * name.count("\n")
            sheet.words((x + wide / 2, high), name, role, size=SMALL)
        ends = []
        for row, word in enumerate(words):
            y, side = 40 * row, (columns[3] + widths[3] / 2, 40 * row + 12)
            sheet.words((-8, y + 12), word, anchor="end", size=SMALL)
            key, both = ([[_text(each) for each in one[row]]] for one in (keys, sums))
            shown = [
                sheet.cells((columns[0], y), key, "key", cell=cell),
                sheet.cells((columns[1], y), both, "query", cell=cell),
                sheet.cells(
                    (columns[2], y),
                    [[_text(number, 2) for number in bent[row]]],
                    "query",
                    cell=(widths[2] / 2, 24),
                    shares=[abs(np.asarray(bent[row]))],
                ),
                sheet.box(side, f"{scores[row]:.3f}", width=widths[3], height=24, size=SMALL),
                sheet.cells(
                    (columns[4], y),
                    [[f"{weights[row]:.3f}"]],
                    "query",
                    cell=(widths[4], 24),
                    shares=[[weights[row]]],
                ),
            ]
            for left, right in itertools.pairwise(shown):
                sheet.arrow(left.east, right.west)
            ends.append(shown[-1])
        last = 40 * (len(words) - 1) + 24
        shown = [[f"{number:.2f}" for number in context]]
        look = {"cell": (37, 24), "shares": [[0.7, 0.7]]}
        if phone:  # the weights come down on the right, the keys on the left
            out = sheet.cells((columns[2], last + 30), shown, "key", **look)
            for end, weight in zip(ends, weights, strict=True):
                x = end.east[0] + 12
                rail = end.east, (x, end.east[1]), (x, out.east[1]), out.east
                sheet.arrow(*rail, role="query", width=0.8 + 5 * weight)
            left = columns[0] + cell[0]
            sheet.arrow((left, last + 2), (left, out.west[1]), out.west, role="key")
            sheet.words((left + 6, out.west[1] - 12), "keys", "key", anchor="start", size=SMALL)
            at = (out.east[0] + 10, out.east[1] - 14)
            sheet.words(at, "weights", "query", anchor="start", size=SMALL)
            said = (out.centre[0], out.south[1] + 14)
            sheet.words(said, "context: weight × key, added", "key", size=SMALL)
            return sheet
        x = columns[5]
        sheet.words((x + 40, -23.5), "weight × key\n(the key again)", "key", size=SMALL)
        out = sheet.cells((x + 114, last / 2 - 12), shown, "key", **look)
        for row, end in enumerate(ends):
            found = [[_text(number, 2) for number in weights[row] * np.asarray(keys[row])]]
            shares = [abs(weights[row] * np.asarray(keys[row]))]
            part = sheet.cells((x, 40 * row), found, "key", cell=(40, 24), shares=shares)
            sheet.arrow(end.east, part.west, role="query")
            sheet.arrow(part.east, out.west, role="key", width=0.8 + 5 * weights[row])
        sheet.words((out.centre[0], out.y - 14), "sum: context", "key", size=SMALL)
        return sheet

    rows = "; ".join(
        f"{word}: key {_pair(key)}, with the projected query {_pair(both)}, tanh"
        f" {_pair(curved, 2)}, score {score:.3f}, weight {weight:.3f}"
        for word, key, both, curved, score, weight in zip(
            words, keys, sums, bent, scores, weights, strict=True
        )
    )
    return Picture(
        f"One row for each word, with arrows from left to right. For {rows}. Each weight is"
        " multiplied by its key, and all rows lead to their sum, the context,"
        f" {_pair(context, 2)}, along lines as thick as the weights.",
        draw,
    )


def lstm_cell():
    """Draw one step of an LSTM: the cell goes straight through, and gates say what is kept, added
    and shown.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, radius, gates = Drawing(), 11, []
        keep, add, both, show = (
            sheet.circle(centre, radius, sign, "blue")
            for centre, sign in (
                ((66, 0), "×"),
                ((146, 0), "+"),
                ((146, 54), "×"),
                ((228, 92), "×"),
            )
        )
        bent = sheet.box((228, 46), "tanh", width=42, height=24, size=SMALL)
        for x, text in ((66, "f\nkeep"), (120, "i\nadd"), (172, "g\nnew"), (228, "o\nshow")):
            role = "plain" if text.startswith("g") else "purple"
            gates.append(sheet.box((x, 148), text, role, width=44, height=40, size=SMALL))
            sheet.arrow((x, 196), gates[-1].south, head=True)
        sheet.words(
            (147, 208),
            f"from the word and the old state: x{SUBSCRIPT_T}, h{SUBSCRIPT_BEFORE}",
            size=SMALL,
        )
        old = sheet.words((0, 0), f"c{SUBSCRIPT_BEFORE}", "blue", bold=True)
        new = sheet.words((292, 0), f"c{SUBSCRIPT_T}", "blue", bold=True)
        for start, end in ((old.east, keep.west), (keep.east, add.west), (add.east, new.west)):
            sheet.arrow(start, end, role="blue", width=3)
        sheet.arrow(gates[0].north, keep.south, role="purple")
        sheet.arrow(gates[1].north, (120, 54), both.west, role="purple")
        sheet.arrow(gates[2].north, (172, 54), both.east)
        sheet.arrow(both.north, add.south)
        sheet.arrow((228, 0), bent.north, role="blue")
        sheet.arrow(bent.south, show.north)
        sheet.arrow(gates[3].north, show.south, role="purple")
        state = sheet.words((292, 92), f"h{SUBSCRIPT_T}", bold=True)
        sheet.arrow(show.east, state.west)
        return sheet

    return Picture(
        "One step of an LSTM. A thick line leads from the old cell to the new one through a"
        " multiplication by the forget gate f and an addition; no matrix lies on it. What is added"
        " is the candidate g times the input gate i. Below the line, the tanh of the new cell times"
        " the output gate o is the new state. The three gates and the candidate are all made from"
        " the word and the old state.",
        draw,
    )


def _pair(numbers, decimals=0):
    return "(" + ", ".join(_text(each, decimals) for each in numbers) + ")"


def _text(number, decimals=0):
    rounded = round(float(number), decimals) + 0.0
    return f"{rounded:.{decimals}f}".replace("-", "\N{MINUS SIGN}")
