"""Chapter 4: attention by hand, one word in two sentences, and a whole sentence as matrices."""

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture


def attention_by_hand(words, query, key, value, scores, weights, output, of):
    """Draw attention for one query from top to bottom: scores, softmax, weighted sum.

    Args:
        words: the words of the keys, from left to right.
        query: (d_k,) the one that asks.
        key: (key_len, d_k).
        value: (key_len, d_v).
        scores, weights: (key_len,), of this query.
        output: (d_v,).
        of: the word whose query it is.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 108 if phone else 196
        cell, size = ((25, 24), SMALL) if phone else ((34, 26), 14)
        middle = apart * (len(words) - 1) / 2

        def row(centre, y, numbers, role, decimals=0, wide=0, share=0.5):
            wide = wide or cell[0]
            corner = (centre - wide * len(numbers) / 2, y)
            shown = [
                [f"{number:.{decimals}f}".replace("-", "\N{MINUS SIGN}") for number in numbers]
            ]
            shares = [[share] * len(numbers)]
            return sheet.cells(corner, shown, role, cell=(wide, cell[1]), size=size, shares=shares)

        centres = [apart * place for place in range(len(words))]
        with sheet.step(1):
            asks = row(middle, 0, query, "query", share=0.8)
            sheet.words((middle, -14), f"the query of “{of}”", "query", bold=True)
            keys = [row(x, 88, each, "key") for x, each in zip(centres, key, strict=True)]
            for word, box, score in zip(words, keys, scores, strict=True):
                sheet.arrow(asks.south, box.north, role="query")
                name = f"“{word}”" if phone else f"key of “{word}”"
                sheet.words((box.centre[0] - 8, 138), name, "key", anchor="end", size=SMALL)
                dot = f"{query @ key[words.index(word)]:.0f} ÷ {len(query) ** 0.5:.0f}"
                x = box.centre[0]
                sheet.arrow(box.south, (x, 164), role="plain", text=dot, side=(8, 0))
                sheet.box((x, 177), f"{score:.0f}", width=44, height=26)
            sheet.words((centres[-1] + 28, 177), "score", "muted", anchor="start", size=SMALL)
        with sheet.step(2):
            wide = centres[-1] + (100 if phone else 150)
            softmax = sheet.box(
                (middle, 232), "softmax: all positive, sum 1", width=wide, height=30
            )
            for x in centres:
                sheet.arrow((x, 190), (x, softmax.y))
                sheet.arrow((x, 247), (x, 272))
            shares = [
                sheet.cells(
                    (x - 27, 272), [[f"{weight:.3f}"]], "query", cell=(54, 26), shares=[[weight]]
                )
                for x, weight in zip(centres, weights, strict=True)
            ]
            sheet.words((centres[-1] + 31, 285), "weight", "query", anchor="start", size=SMALL)
        with sheet.step(3):
            for word, share, each, x in zip(words, shares, value, centres, strict=True):
                times = "× value" if phone else f"× value of “{word}”"
                sheet.arrow(share.south, (x, 342), role="value", text=times, side=(8, 0))
                row(x, 342, each, "value")
            out = row(middle, 436, output, "value", 3, 48 if phone else 56, 0.9)
            for x, weight in zip(centres, weights, strict=True):
                sheet.arrow(
                    (x, 342 + cell[1]),
                    out.at(0.5 + (x - middle) / apart / 5, 0),
                    role="value",
                    width=1 + 6 * weight,
                )
            sheet.words((middle, 475), f"what “{of}” gets", "value", bold=True)
        return sheet

    asked = "; ".join(
        f"{word}: key {_listed(k)}, dot product {query @ k:.0f}, score {score:.0f}, weight"
        f" {weight:.3f}, value {_listed(v)}"
        for word, k, score, weight, v in zip(words, key, scores, weights, value, strict=True)
    )
    return Picture(
        f"From top to bottom. The query of {of}, {_listed(query)}, sends an arrow to the key of"
        " each word, and each arrow is a dot product. The scores go through one softmax, and"
        f" each weight multiplies a value. Word by word: {asked}. The three lines, as thick as"
        f" the weights, end in the output, {_listed(output, 3)}.",
        draw,
        steps=(
            f"The query of “{of}” meets each key. A dot product, divided by"
            f" {len(query) ** 0.5:.0f}, is a score: {_spoken(scores)}.",
            f"The softmax compares the scores and makes weights of them: {_spoken(weights, 3)}.",
            f"Each value is multiplied by its weight, and “{of}” gets the sum.",
        ),
    )


def _spoken(numbers, decimals=0):
    *first, last = (f"{number:.{decimals}f}" for number in numbers)
    return f"{', '.join(first)} and {last}"


def _listed(numbers, decimals=0):
    return "[" + ", ".join(f"{number:.{decimals}f}" for number in numbers) + "]"


def one_row_two_vectors(word, row, directions, sentences, vectors, weights, outputs):
    """Draw how one row of the table goes into two sentences and comes out as two vectors.

    Args:
        word: the one that is in both.
        row: its two numbers.
        directions: what the two numbers mean.
        sentences: the two.
        vectors: for each sentence (seq_len, 2).
        weights: for each sentence (seq_len,), of the word.
        outputs: (2, 2), what comes out for the word in each.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, cell, apart = Drawing(), (26, 24), 66
        span = apart * (max(len(each.split()) for each in sentences) - 1)
        panels = [(0, 96), (0, 336)] if phone else [(0, 110), (span + 84, 110)]
        top = (span / 2 if phone else span + 42, 0)
        whole = sheet.cells(
            (top[0] - 26, 0), [_whole(row)], "plain", cell=cell, shares=[[0.5, 0.5]]
        )
        sheet.words((top[0], -14), f"the row of “{word}” in the table", bold=True)
        for (x, y), sentence, given, shares, made, role in zip(
            panels, sentences, vectors, weights, outputs, ("blue", "orange"), strict=True
        ):
            words = sentence.split()
            x += (span - apart * (len(words) - 1)) / 2
            places = []
            for place, (each, numbers) in enumerate(zip(words, given, strict=True)):
                centre = x + apart * place
                kind = "plain" if each == word else "muted"
                sheet.words((centre, y), each, "" if each == word else kind, bold=each == word)
                places.append(
                    sheet.cells(
                        (centre - 26, y + 14),
                        [_whole(numbers)],
                        "plain",
                        cell=cell,
                        shares=[[0.5 * (each == word)] * 2],
                    )
                )
            at = words.index(word)
            if not phone or y < 200:
                sheet.arrow(whole.south, (x + apart * at, y - 10))
            else:
                sheet.words((x + apart * at, y - 18), "the same row", "muted", size=SMALL)
            out = sheet.cells(
                (x + apart * (len(words) - 1) / 2 - 46, y + 146),
                [[f"{n:.2f}" for n in made]],
                role,
                cell=(46, 26),
                shares=[[0.9, 0.9]],
            )
            for box, share in zip(places, shares, strict=True):
                sheet.arrow(box.south, out.north, role=role, width=0.8 + 12 * share)
            for box, share in zip(places, shares, strict=True):
                (x0, y0), (x1, y1) = box.south, out.north
                at = x0 + 0.36 * (x1 - x0), y0 + 0.36 * (y1 - y0)
                sheet.words(at, f"{share:.2f}", role, size=SMALL, halo=True)
            for place, name in enumerate(directions):
                sheet.words((out.column(place, 2).centre[0], out.y + 36), name, "muted", size=SMALL)
        return sheet

    told = "; ".join(
        f"in “{sentence}” the shares are "
        + ", ".join(f"{w} {p:.2f}" for w, p in zip(sentence.split(), shares, strict=True))
        + f", and {_listed(made, 2)} comes out"
        for sentence, shares, made in zip(sentences, weights, outputs, strict=True)
    )
    return Picture(
        f"The row of {word} in the table, {_listed(row)}, goes into two sentences, where lines as"
        f" thick as its shares of each word meet in a new vector of {' and '.join(directions)}:"
        f" {told}.",
        draw,
    )


def attention_as_grids(words, x, query, key, value, weights, output, row):
    """Draw attention of a whole sentence as matrices: projections, dot products, weights, output.

    Args:
        words: of the sentence.
        x: (seq_len, d_model), their vectors.
        query, key: (seq_len, d_k).
        value: (seq_len, d_v).
        weights: (seq_len, seq_len).
        output: (seq_len, d_v).
        row: the place of the word whose row is framed from beginning to end.

    Returns:
        the Picture.
    """
    dots, rows = query @ key.T, len(words)

    def draw(phone):
        sheet, (wide, high) = Drawing(), (22, 19) if phone else (26, 22)
        tall = rows * high

        def grid(middle, top, name, numbers, role, cell=wide, decimals=0, framed=True, named=False):
            left = middle - cell * numbers.shape[1] / 2
            most = np.abs(numbers).max()
            place = sheet.cells(
                (left, top),
                [[_number(each, decimals) for each in line] for line in numbers],
                role,
                cell=(cell, high),
                shares=np.round(0.8 * np.abs(numbers) / most, 1),
            )
            shape = f"{name} ({', '.join(map(str, numbers.shape))})"
            sheet.words((middle, top - 12), shape, "" if role == "plain" else role, bold=True)
            for n, word in enumerate(words):
                if named:
                    at = (left - 6, place.row(n, rows).centre[1])
                    sheet.words(at, word, anchor="end", size=SMALL, bold=n == row)
            if framed:
                line = place.row(row, rows)
                size = {"width": line.width, "height": line.height}
                sheet.box(line.centre, role="green", kind="outline", **size)
            return place

        def keys_below(place):
            for n, word in enumerate(words):
                middle = place.column(n, rows).centre[0]
                sheet.words((middle, place.at(0, 1)[1] + 11), word, "key", size=SMALL)

        gives = 252 if phone else 486
        whole = grid(148 if phone else 250, 0, "X", x, "plain", named=True)
        below = tall + (74 if phone else 78)
        asks = grid(44 if phone else 52, below, "Q", query, "query", named=True)
        finds = grid(148 if phone else 200, below, "K", key, "key", framed=False)
        values = grid(gives, below, "V", value, "value", framed=False)
        for place, role in ((asks, "query"), (finds, "key"), (values, "value")):
            (x0, y0), (x1, y1) = whole.south, (place.centre[0], below - 22)
            sheet.arrow((x0, y0), (x1, y1), role=role)
            at = (x0 + 0.7 * (x1 - x0), y0 + 0.6 * (y1 - y0))
            sheet.words(at, f"× w_{role}", role, size=SMALL, halo=True)

        below += tall + (78 if phone else 82)
        met = grid(
            72 if phone else 78, below, "QKᵀ", dots, "plain", 24 if phone else 26, named=True
        )
        if not phone:
            keys_below(met)
        sign = sheet.circle((met.centre[0], below - 44), 11, "·")
        sheet.arrow(asks.south, sign.at(0.1, 0.15), role="query")
        sheet.arrow(finds.south, sign.at(0.9, 0.15), role="key")
        sheet.arrow(sign.south, (met.centre[0], below - 21))
        root = f"÷ √{key.shape[1]}"
        if phone:
            below += tall + 66
            sheet.arrow(
                (met.centre[0], met.at(0, 1)[1]),
                (met.centre[0], below - 22),
                text=f"{root}, softmax of each row",
            )
        middle, cell = (90, 30) if phone else (348, 33)
        shares = grid(middle, below, "weights", weights, "query", cell, 2, named=phone)
        keys_below(shares)
        if not phone:
            between = (met.east[0] + shares.x) / 2
            sheet.words((between, below - 20), f"{root}, softmax\nof each row", "muted", size=SMALL)
            for n in range(rows):
                y = met.row(n, rows).centre[1]
                role = "green" if n == row else "plain"
                sheet.arrow((met.east[0] + 6, y), (shares.x - 6, y), role=role)
        times = sheet.circle((gives, shares.centre[1]), 11, "×")
        sheet.arrow(values.south, times.north, role="value")
        sheet.arrow(shares.east, times.west, role="query")
        if phone:
            below += tall + 46
            made = grid(gives, below, "output", output, "value", 36, 2, named=True)
            sheet.arrow(times.south, (gives, below - 22), role="value")
        else:
            made = grid(590, below, "output", output, "value", 36, 2)
            sheet.arrow(times.east, made.west, role="value")
        return sheet

    its = ", ".join(
        f"{word} {dot:.0f} and {weight:.2f}"
        for word, dot, weight in zip(words, dots[row], weights[row], strict=True)
    )
    every = "; ".join(
        f"{word}: {', '.join(f'{weight:.2f}' for weight in line)}"
        for word, line in zip(words, weights, strict=True)
    )
    return Picture(
        f"Matrices of {rows} rows, one for each word of {' '.join(words)}. From X, with"
        f" {x.shape[1]} columns, come Q and K with {key.shape[1]} and V with {value.shape[1]}. The"
        f" product of Q and K transposed has {rows} columns, and so have the weights, a softmax of"
        f" each row. The weights times V are the output, with {output.shape[1]} columns. Framed is"
        f" the row of {words[row]}. Its query is {_listed(query[row])}, and its dot products and"
        f" weights are: {its}. Its output is {_listed(output[row], 2)}. The weights of all rows,"
        f" {every}.",
        draw,
    )


def _number(number, decimals):
    return f"{number:.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def _whole(numbers):
    return [f"{number:.0f}" for number in numbers]
