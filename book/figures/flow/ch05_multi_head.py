"""Chapter 5: one question or two, who gets which feature, and multi-head attention in shapes."""

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture

HEADS = ("blue", "orange", "right", "key")  # a colour for each head
SHEETS = 8  # at most so many heads are drawn
BROAD, TALL = 64, 34  # of a matrix, in pixels


def one_head_or_two(words, of, value, features, together, apart, other=None):
    """Draw how two questions share one average, and how two heads keep them apart.

    Args:
        words: of the sentence.
        of: the word that asks.
        value: (seq_len, 2).
        features: what each of the two numbers of a value means.
        together: (seq_len,) the weights of a single head.
        apart: dict from the names of two heads to their weights, (seq_len,).
        other: another sentence and its (seq_len, 2) values, to which the same weights are applied.

    Returns:
        the Picture.
    """
    results = [(" ".join(words), value)] + ([other] if other else [])
    panels = (("one head", {"": together}, ["plain"]), ("two heads", apart, HEADS[:2]))

    def draw(phone):
        sheet, step = Drawing(), 68
        for panel, (title, rows, roles) in enumerate(panels):
            left, top = (0, 300 * panel) if phone else (step * len(words) * 1.35 * panel, 0)
            middle = left + step * (len(words) - 1) / 2
            sheet.words((left - 22, top - 44), title, anchor="start", bold=True)
            boxes = []
            for place, (word, numbers) in enumerate(zip(words, value, strict=True)):
                x = left + step * place
                sheet.words((x, top - 16), word, bold=word == of)
                shown = [[f"{number:.0f}" for number in numbers]]
                boxes.append(sheet.cells((x - 22, top), shown, "value", cell=(22, 22)))
            for head, ((name, weights), role) in enumerate(zip(rows.items(), roles, strict=True)):
                centre = middle + (head - (len(rows) - 1) / 2) * 92
                outs = []
                for row, (_, numbers) in enumerate(results):
                    shown = [[f"{number:.2f}" for number in weights @ numbers]]
                    corner = (centre - 46, top + 116 + 32 * row)
                    each = sheet.cells(corner, shown, role, cell=(46, 26), shares=[[0.8, 0.8]])
                    outs.append(each)
                out, lower = outs[0], 32 * (len(outs) - 1)
                for box, weight in zip(boxes, weights, strict=True):
                    if weight > 0.1:
                        end = out.at(0.5 + (box.centre[0] - centre) / 1200, 0)
                        width = 1 + 6 * weight
                        sheet.arrow(box.south, end, role=role, width=width, text=f"{weight:.2f}")
                for place, feature in enumerate(features):
                    below = (out.column(place, 2).centre[0], top + 154 + lower)
                    sheet.words(below, feature, "muted", size=SMALL)
                if name:
                    sheet.words((centre, top + 172 + lower), name, role, bold=True, size=SMALL)
            if other:
                for row, (sentence, _) in enumerate(results):
                    short = " ".join(sentence.split()[:3])
                    at = (middle - 46 * len(rows) - 8, top + 129 + 32 * row)
                    sheet.words(at, short, "muted", anchor="end", size=SMALL)
            below = (middle, top + lower + (190 if len(rows) > 1 else 172))
            sheet.words(below, f"what “{of}” gets", "muted", size=SMALL)
        return sheet

    one = _listed(together @ value)
    both = " and ".join(_listed(each @ other[1]) for each in apart.values()) if other else ""
    two = " and ".join(f"“{name}” {_listed(each @ value)}" for name, each in apart.items())
    return Picture(
        f"The sentence “{' '.join(words)}”, each word with a value of two numbers. With one head,"
        f" lines from two words meet in one average, {one}. With two heads, one line leads to"
        f" each of two averages that lie side by side, {two}."
        + (
            f" For “{other[0]}” one head gives {_listed(together @ other[1])}, and two give {both}."
            if other
            else ""
        ),
        draw,
    )


def _listed(numbers):
    return "[" + ", ".join(f"{number:.2f}" for number in numbers) + "]"


def dealt_features(words, num_heads):
    """Draw which head gets which feature of each word: blocks of every word's features, or what a
    view cuts out of memory.

    Args:
        words: one a position; each has two features for every head.
        num_heads: how many heads, at most four.

    Returns:
        the Picture.
    """
    d_model = 2 * num_heads
    total = len(words) * d_model
    by_view = np.arange(total).reshape(len(words), d_model) // (total // num_heads)
    by_block = np.tile(np.arange(d_model) // (d_model // num_heads), (len(words), 1))
    tables = {"cut, then transposed": by_block, "view alone": by_view}

    def draw(phone):
        sheet, cell = Drawing(), (28, 28)
        for place, (title, heads) in enumerate(tables.items()):
            left = place * (cell[0] * d_model + 44)
            roles = [[HEADS[head] for head in row] for row in heads]
            shares = np.full(heads.shape, 0.8)
            whole = sheet.cells((left, 0), heads.tolist(), roles, cell=cell, shares=shares)
            sheet.words((whole.centre[0], -34), title, bold=True, size=SMALL + 1)
            for feature in range(d_model):
                x = whole.column(feature, d_model).centre[0]
                sheet.words((x, -12), str(feature), "muted", size=SMALL)
            if not place:
                for row, word in enumerate(words):
                    y = whole.row(row, len(words)).west[1]
                    sheet.words((-8, y), word, anchor="end", size=SMALL)
        return sheet

    first, second = len(words) // num_heads, num_heads
    return Picture(
        f"Two tables of {len(words)} words, “{' '.join(words)}”, with {d_model} features each; in"
        " every cell the number of the head that gets it. Left, cut and then transposed: in each"
        f" row the first {d_model // second} features belong to head 0, the next to head 1."
        f" Right, view alone: all features of the first {first} words belong to head 0, all of"
        " the others to head 1.",
        draw,
    )


def split_attend_join(shapes, num_heads):
    """Draw multi-head attention with the shape of every tensor, without the axis of the batch.

    Args:
        shapes: dict from "x", "projected", "split", "weights", "found", "merged" and "output" to
            the shape of that tensor.
        num_heads: how many heads.

    Returns:
        the Picture.
    """
    said = {name: f"({', '.join(map(str, shape))})" for name, shape in shapes.items()}
    shown = min(num_heads, SHEETS)

    def draw(phone):
        sheet, pile_size = Drawing(), (20, TALL)
        x = _blocks(sheet, (138, 0) if phone else (0, 0), 1, "plain")
        if phone:
            near = (x.east[0] + 6, x.centre[1])
            sheet.words(near, f"X {said['x']}", anchor="start", size=SMALL)
        else:
            sheet.words((x.centre[0], -12), "X", bold=True)
            _below(sheet, x, said["x"])
            for across, name in (
                (88, "project"),
                (186, "split"),
                (336, "attend"),
                (572, "join, project"),
            ):
                sheet.words((across, -146), name, "muted", bold=True, size=SMALL)
        piles = []
        for place, (role, letter) in enumerate(zip(("query", "key", "value"), "QKV", strict=True)):
            at = (place * 118 + 20, 92) if phone else (106, 92 * (place - 1))
            whole = _blocks(sheet, at, shown, role)
            sheet.arrow(
                x.south if phone else x.east, whole.north if phone else whole.west, role=role
            )
            name = (whole.x - 10, whole.centre[1]) if phone else (whole.centre[0], whole.y - 11)
            sheet.words(name, letter, role, bold=True, size=SMALL)
            pile = _pile(
                sheet, (at[0] + 12, 206) if phone else (216, at[1]), pile_size, shown, role
            )
            above = (whole.centre[0], pile.y - 20)
            sheet.arrow(*((whole.south, above) if phone else (whole.east, pile.west)), role=role)
            piles.append(pile)
        if phone:
            sheet.words((111, 140), said["projected"], size=SMALL)
        else:
            _below(sheet, whole, said["projected"])
        q, k, v = piles
        _below(sheet, k if phone else v, said["split"])
        weights = _pile(sheet, (86, 318) if phone else (322, -46), (TALL, TALL), shown, "query")
        found = _pile(sheet, (93, 424) if phone else (428, 8), pile_size, shown, "value")
        if phone:
            down = weights.centre[1]
            sheet.arrow((q.centre[0], 250), (q.centre[0], down), (weights.x, down), role="query")
            sheet.arrow((k.centre[0], 266), (k.centre[0], down), (weights.x + 52, down), role="key")
            sheet.words(
                (176, down), f"weights {said['weights']}", "query", anchor="start", size=SMALL
            )
            sheet.arrow(weights.south, (weights.centre[0], 412), role="query")
            x, down = v.centre[0], found.centre[1]
            sheet.arrow((x, 250), (x, down), (found.x + 38, down), role="value")
            _below(sheet, found, said["found"])
        else:
            sheet.arrow((q.east[0] + 28, q.centre[1] - 8), weights.at(0, 0.3), role="query")
            sheet.arrow((k.east[0] + 28, k.centre[1] - 8), weights.at(0, 0.8), role="key")
            sheet.arrow(
                (weights.east[0] + 30, weights.centre[1] - 4), found.at(0.6, -0.35), role="query"
            )
            sheet.arrow((v.east[0] + 28, v.centre[1] - 8), found.at(-0.05, 0.8), role="value")
            sheet.words(
                (weights.x + 6, weights.y - 42), "weights", "query", anchor="start", size=SMALL
            )
            _below(sheet, weights, said["weights"])
            _below(sheet, found, said["found"])
        merged = _blocks(sheet, (71, 506) if phone else (516, 8), shown, "value")
        out = _blocks(sheet, (71, 584) if phone else (604, 8), 1, "plain")
        if phone:
            sheet.arrow((103, 478), merged.north)
            sheet.arrow(merged.south, out.north, text="times the matrix of the output", side=(8, 0))
            for each, name in ((merged, "merged"), (out, "output")):
                label = f"{'side by side' if each is merged else 'output'} {said[name]}"
                sheet.words((each.east[0] + 8, each.centre[1]), label, anchor="start", size=SMALL)
        else:
            sheet.arrow((found.east[0] + 18, found.centre[1]), merged.west)
            sheet.arrow(merged.east, out.west)
            _below(sheet, merged, said["merged"])
            _below(sheet, out, said["output"])
        return sheet

    return Picture(
        f"The sentence, {said['x']}, becomes queries, keys and values of the same shape. Each is"
        f" cut into {num_heads} blocks of features, one for each head: {said['split']}. Queries"
        f" and keys make {num_heads} maps of weights, {said['weights']}; with the values they"
        f" make what each head found, {said['found']}. Put side by side that is {said['merged']},"
        f" and one more matrix makes the output, {said['output']}. The first head has a stronger"
        " colour from its cut to its place beside the others.",
        draw,
    )


def _blocks(sheet, corner, count, role):
    """Draw a matrix as wide as the model, cut into blocks of features, the first in a stronger"
    " colour."""
    shares = [[0.9] + [0.3] * (count - 1)] if count > 1 else [[0.5]]
    return sheet.cells(corner, [[""] * count], role, cell=(BROAD / count, TALL), shares=shares)


def _pile(sheet, corner, size, count, role):
    """Draw one sheet for each head, the first in front and stronger; return where that one is."""
    sheet.stack(corner, count, size, role, shift=(4, -4))
    return sheet.cells(corner, [[""]], role, cell=size, shares=[[0.9]])


def _below(sheet, place, text):
    sheet.words((place.centre[0], place.y + place.height + 11), text, size=SMALL)
