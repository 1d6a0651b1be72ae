"""Chapter 1: from a sentence to rows of a table, and back to them."""

from book.figures.flow.hand import SMALL, Drawing, Picture


def sentence_to_rows(tokens, token_ids, one_hot, row_labels, table, embedded):
    """Draw how a sentence becomes numbers: words, ids, one-hot rows, and the rows of the table that
    these select.

    Args:
        tokens: the words of the sentence.
        token_ids: (seq_len,) int.
        one_hot: (seq_len, vocab_size).
        row_labels: the tokens of the vocabulary.
        table: (vocab_size, d_model).
        embedded: (seq_len, d_model), which is one_hot @ table.

    Returns:
        the Picture.
    """
    repeated = _role_of_each(token_ids)

    def draw(phone):
        sheet, cell, height = Drawing(), (20 if phone else 19, 22), 34
        top = 24 if phone else 64
        sheet.words((26, top - 14), "word", "muted", size=SMALL)
        sheet.words((74, top - 14), "id", "muted", size=SMALL)
        sheet.words((196, top - 14), "one-hot: a single 1", "muted", size=SMALL)
        ends = []
        for place, (token, row) in enumerate(zip(tokens, token_ids, strict=True)):
            y, role = top + height * (place + 0.5), repeated[row]
            word = sheet.words((26, y), token)
            number = sheet.box((74, y), str(row), role, width=26, height=24)
            hot = [f"{number:.0f}" for number in one_hot[place]]
            shown = sheet.cells((104, y - 11), [hot], role, cell=cell, shares=one_hot[[place]])
            sheet.arrow((word.east[0] + 2, y), number.west)
            sheet.arrow(number.east, shown.west)
            ends.append(shown)
        left, first = (62, top + 220) if phone else (362, 24)
        at = (left, first)
        lit = [[0.7 if row in repeated else 0.0] * len(table[0]) for row in range(len(table))]
        roles = [[repeated.get(row, "plain")] * len(table[0]) for row in range(len(table))]
        number = _decimals(table)
        wide = (34, 23)
        whole = sheet.cells(at, number, roles, cell=wide, shares=lit)
        for row, label in enumerate(row_labels):
            y = whole.row(row, len(table)).west[1]
            kind = "" if row in repeated else "muted"
            sheet.words((left - 6, y), label, kind, anchor="end", size=SMALL)
        sheet.words((whole.centre[0], first - 14), "table", "muted", size=SMALL)
        x = left + whole.width + (60 if phone else 78)
        middle = whole.centre[1] - height * len(tokens) / 2
        for place, row in enumerate(token_ids):
            y, role = middle + height * (place + 0.5), repeated[row]
            found = _decimals(embedded[[place]])
            out = sheet.cells(
                (x, y - 11), found, role, cell=(34, 22), shares=[[0.7] * len(table[0])]
            )
            sheet.arrow(whole.row(row, len(table)).east, out.west, role=role)
            if not phone:
                sheet.words((out.east[0] + 6, y), tokens[place], anchor="start", size=SMALL)
        sheet.words((x + 51, middle - 10), "its rows", "muted", size=SMALL)
        if phone:
            y = top + height * len(tokens)
            sheet.arrow(
                (196, y + 4),
                (196, y + 26),
                (whole.centre[0], y + 26),
                (whole.centre[0], first - 24),
            )
        else:
            sheet.arrow((104 + 19 * len(table) + 4, whole.centre[1]), (left - 46, whole.centre[1]))
        return sheet

    ways = ", ".join(f"{token} has id {row}" for token, row in zip(tokens, token_ids, strict=True))
    twice = sorted({t for t in tokens if tokens.count(t) > 1})
    return Picture(
        f"A sentence goes from left to right through four stations. {ways}. Each id becomes a row"
        f" of {len(table)} cells with a single 1 at the id, and that 1 selects one row of"
        f" {len(table[0])} numbers from the table. {' and '.join(twice).capitalize()}, which"
        " occurs twice, gets the same row twice.",
        draw,
    )


def _role_of_each(token_ids):
    """Return a colour for each row that is looked up: orange where that happens more than once."""
    ids = [int(row) for row in token_ids]
    return {row: "orange" if ids.count(row) > 1 else "blue" for row in ids}


def _decimals(rows):
    return [[f"{number:.1f}".replace("-", "\N{MINUS SIGN}") for number in row] for row in rows]


def scatter_add(tokens, token_ids, grad_output, row_labels, gradient):
    """Draw how the gradients of the positions travel to the rows of the table and add up there.

    Args:
        tokens: the words of the sentence.
        token_ids: (seq_len,) int: the row that each position looked up.
        grad_output: (seq_len, d_model) the gradient at each position.
        row_labels: the tokens of the vocabulary.
        gradient: (vocab_size, d_model) the gradient of the table.

    Returns:
        the Picture.
    """
    repeated = _role_of_each(token_ids)

    def draw(phone):
        sheet, cell = Drawing(), (26, 22)
        rows = len(row_labels)
        right, width = (250, 52), 52
        whole = sheet.cells(
            (right[0], 0),
            [[f"{number:g}" for number in row] for row in gradient],
            [[repeated.get(row, "plain")] * 2 for row in range(rows)],
            cell=cell,
            shares=[[0.7 if row in repeated else 0.0] * 2 for row in range(rows)],
        )
        for row, label in enumerate(row_labels):
            y = whole.row(row, rows).west[1]
            kind = "" if row in repeated else "muted"
            sheet.words((right[0] + width + 6, y), label, kind, anchor="start", size=SMALL)
        for place, (token, row) in enumerate(zip(tokens, token_ids, strict=True)):
            y, role = 40 * place + 46, repeated[int(row)]
            numbers = [[f"{number:g}" for number in grad_output[place]]]
            given = sheet.cells((54, y - 11), numbers, role, cell=cell, shares=[[0.7, 0.7]])
            sheet.words((48, y), token, anchor="end", size=SMALL)
            sheet.arrow(given.east, whole.row(row, rows).west, role=role)
        sheet.words((80, 14), "gradient at\neach position", "muted", size=SMALL)
        sheet.words((right[0] + 26, -12), "gradient of the table", "muted", size=SMALL)
        return sheet

    sums = ", ".join(
        f"{row_labels[row]} gets {_vector(gradient[row])}" for row in dict.fromkeys(token_ids)
    )
    return Picture(
        f"On the left {len(tokens)} positions with their gradients, and arrows to the rows of the"
        f" table that they looked up: {sums}. Where a word occurs twice, two arrows arrive and the"
        " row holds their sum. Rows without an arrow hold zeros.",
        draw,
    )


def _vector(numbers):
    return "[" + ", ".join(f"{number:g}" for number in numbers) + "]"
