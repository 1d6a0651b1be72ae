"""Chapter 4: attention by hand, one word in two sentences, and the three roles of a word."""

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
                (middle, 232), "softmax: positive, and together 1", width=wide, height=30
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
            for share, each, x in zip(shares, value, centres, strict=True):
                sheet.arrow(share.south, (x, 342), role="value", text="× value", side=(8, 0))
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


def three_roles(words, x, query, key, value, weights, output):
    """Draw attention from the words' vectors on: three matrices, dot products, weights, output.

    Args:
        words: the one that asks, and two that answer.
        x: (3, d_model), their vectors.
        query, key: (3, d_k).
        value: (3, d_v).
        weights: (2,), of the two that answer; other words may have a share, too.
        output: (d_v,).

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, cell = Drawing(), (21, 24) if phone else (28, 26)
        gap, apart = (10, 12) if phone else (14, 34)
        keys, values = (cell[0] * each.shape[1] for each in (key, value))
        block = keys + gap + values

        def row(centre, y, numbers, role):
            corner = (centre - cell[0] * len(numbers) / 2, y)
            return sheet.cells(corner, [_whole(numbers)], role, cell=cell)

        asker = cell[0] * len(x[0]) / 2
        whole = row(asker, 0, x[0], "plain")
        sheet.words((asker, -14), f"“{words[0]}”", bold=True)
        asks = row(asker, 88, query[0], "query")
        sheet.arrow(whole.south, asks.north, role="query", text="w_query")
        sheet.words((0, 188), "dot product", "muted", anchor="start", size=SMALL)
        scale = f"÷ √{key.shape[1]}, softmax"
        sheet.words((0, 226), scale, "muted", anchor="start", size=SMALL)
        left, shares = whole.at(1, 0)[0] + (apart if phone else 1.5 * apart), []
        for n, weight in enumerate(weights, start=1):
            middle = left + block / 2
            its = row(middle, 0, x[n], "plain")
            sheet.words((middle, -14), f"“{words[n]}”", bold=True)
            its_key = row(left + keys / 2, 88, key[n], "key")
            its_value = row(left + keys + gap + values / 2, 88, value[n], "value")
            sheet.arrow(its.at(0.25, 1), its_key.north, role="key", text="w_key")
            sheet.arrow(its.at(0.75, 1), its_value.north, role="value", text="w_value")
            dot = sheet.box(
                (its_key.centre[0], 170), f"{query[0] @ key[n]:.0f}", width=34, height=26
            )
            sheet.arrow(asks.south, dot.west, role="query")
            sheet.arrow(its_key.south, dot.north, role="key")
            corner = (its_value.centre[0] - 23, 213)
            share = sheet.cells(
                corner, [[f"{weight:.2f}"]], "query", cell=(46, 26), shares=[[weight]]
            )
            sheet.arrow(dot.south, (dot.centre[0], 226), share.west)
            sheet.arrow(its_value.south, share.north, role="value", text="×")
            shares.append(share)
            left += block + apart
        middle = sum(share.centre[0] for share in shares) / 2
        made = [[f"{number:.2f}" for number in output]]
        corner = (middle - 24 * len(output), 288)
        out = sheet.cells(corner, made, "value", cell=(48, 26), shares=[[0.9] * len(output)])
        for share, weight in zip(shares, weights, strict=True):
            sheet.arrow(share.south, out.north, role="value", width=1 + 6 * weight)
        sheet.words((middle, 328), f"what “{words[0]}” gets", "value", bold=True)
        return sheet

    answers = "; ".join(
        f"{word} has the key {_listed(k)}, the dot product {query[0] @ k:.0f}, the weight"
        f" {weight:.2f} and the value {_listed(v)}"
        for word, k, v, weight in zip(words[1:], key[1:], value[1:], weights, strict=True)
    )
    return Picture(
        f"One matrix makes of the vector of {words[0]}, {_listed(x[0])}, its query,"
        f" {_listed(query[0])}. Two others make a key and a value of each word that answers:"
        f" {answers}. The values, each times its weight, add up to {_listed(output, 2)}.",
        draw,
    )


def _whole(numbers):
    return [f"{number:.0f}" for number in numbers]
