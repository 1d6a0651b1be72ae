"""Chapter 1: from a sentence to rows of a table, back to them, and how the rows learn."""

import numpy as np

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
        left, first = (52, top + 220) if phone else (362, 24)
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
        x = left + whole.width + (44 if phone else 78)
        middle = whole.centre[1] - height * len(tokens) / 2
        for place, row in enumerate(token_ids):
            y, role = middle + height * (place + 0.5), repeated[row]
            found = _decimals(embedded[[place]])
            out = sheet.cells(
                (x, y - 11), found, role, cell=(34, 22), shares=[[0.7] * len(table[0])]
            )
            sheet.arrow(whole.row(row, len(table)).east, out.west, role=role)
            sheet.words((out.east[0] + 6, y), tokens[place], anchor="start", size=SMALL)
        sheet.words((x + 51, middle - 10), "embeddings", "muted", size=SMALL)
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


def _plain(rows):
    return [[f"{number + 0:g}".replace("-", _MINUS) for number in row] for row in rows]


def _signed(number):
    return _hundredths([[number]])[0][0]


def _vector(numbers):
    return "[" + ", ".join(f"{number:g}" for number in numbers).replace("-", _MINUS) + "]"


def one_pair_learns(sentence, centre, neighbour, row, candidates, step):
    """Draw one step of training on one pair, part by part.

    Args:
        sentence: its words.
        centre, neighbour: the pair: two of these words, at most two places apart.
        row: (2,) the row of the centre in the table.
        candidates: the possible neighbours.
        step: dict with `readout` (candidates, 2), their rows, `scores`, `probabilities` and `error`
            (candidates,), and what the step makes of both: `row` (2,) and `moved` (candidates, 2).

    Returns:
        the Picture.
    """
    true = candidates.index(neighbour)
    near = [abs(place - sentence.index(centre)) for place in range(len(sentence))]
    roles = ["blue" if role == true else "plain" for role in range(len(candidates))]

    pushes = -np.array(step["error"])[:, None] * step["readout"]

    def draw(phone):
        sheet, high, top = Drawing(), 26, 118
        with sheet.step(1):
            x = 0
            for word, away in zip(sentence, near, strict=True):
                width = 7 * len(word) + 16
                role = "orange" if away == 0 else "blue" if away <= 2 else "muted"
                kind = "frame" if away > 2 else "box" if word != neighbour else "solid"
                at = (x + width / 2, 0)
                sheet.box(at, word, role, width=width, height=24, size=SMALL, kind=kind)
                x += width + 6

        def column(left, wide, name, cells, kinds, shares, number, first=top):
            with sheet.step(number):
                at = (left + wide * len(cells[0]) / 2, first - 12)
                sheet.words(at, name, "muted", size=SMALL)
                return sheet.cells((left, first), cells, kinds, cell=(wide, high), shares=shares)

        def tinted(numbers):
            return [[min(1, abs(number))] for number in numbers]

        def names(first, number):
            with sheet.step(number):
                for place, word in enumerate(candidates):
                    role = "blue" if place == true else ""
                    at = (44, first + high * (place + 0.5))
                    sheet.words(at, word, role, anchor="end", size=SMALL, bold=place == true)

        pairs = [[role, role] for role in roles]
        even = [[0.5, 0.5]] * len(candidates)
        with sheet.step(2):
            sheet.words((44, 36), "W", "muted", anchor="end", size=SMALL)
            sheet.words((44, top - 12), "R", "muted", anchor="end", size=SMALL)
            here = sheet.cells((50, 48), _plain([row]), "orange", cell=(30, high), shares=even[:1])
            sheet.words((44, 61), centre, anchor="end", size=SMALL)
        names(top, 2)
        table = column(50, 30, "", _plain(step["readout"]), pairs, even, 2)
        with sheet.step(2):
            sheet.arrow(here.south, table.north, role="orange")
        scores = _plain([[number] for number in step["scores"]])
        column(115, 32, "score", scores, "plain", [[0]] * len(scores), 3)
        shares = [[f"{number:.2f}"] for number in step["probabilities"]]
        column(150, 36, "prob.", shares, "plain", tinted(step["probabilities"]), 3)
        errors = [[f"{number:+.2f}".replace("-", _MINUS)] for number in step["error"]]
        wrong = column(191, 43, "error", errors, "plain", tinted(step["error"]), 4)
        name, shares = f"pushes on {centre}", np.minimum(1, abs(pushes))
        pushed = column(256, 37, name, _hundredths(pushes), "orange", shares, 5)
        with sheet.step(5):
            sheet.arrow(wrong.east, pushed.west)
        with sheet.step(6):
            new = _hundredths([step["row"]])
            there = sheet.cells((256, 48), new, "orange", cell=(37, high), shares=even[:1])
            sheet.arrow(here.east, there.west, role="orange", text="plus the pushes")
            sheet.arrow((there.south[0], top - 22), there.south, role="orange")
        left, first = (50, top + high * len(candidates) + 34) if phone else (362, top)
        column(left, 40, "R after", _hundredths(step["moved"]), pairs, even, 6, first)
        if phone:
            names(first, 6)
        return sheet

    before, after = step["probabilities"][true], step["after"]
    rises = np.dot(step["moved"][true], step["row"])
    others = ", ".join(
        f"{word} has score {score:g}, probability {share:.2f} and error {error:+.2f}"
        for word, score, share, error in zip(
            candidates, step["scores"], step["probabilities"], step["error"], strict=True
        )
    )
    return Picture(
        f"In the sentence {' '.join(sentence)} the centre is {centre}, and the words at most two"
        f" places away are its neighbours. For the pair of {centre} and {neighbour}, the row"
        f" {_vector(row)} meets the row of each possible neighbour: {others}. One step moves the"
        f" row of {centre} and all the rows that it met.",
        draw,
        steps=(
            f"A window over the sentence: “{centre}” (orange) is the centre, and each blue word"
            f" gives a pair with it. We take the pair “{centre}”, “{neighbour}”.",
            f"The row of “{centre}” is looked up in W. It meets the row of each possible"
            " neighbour in R, here just four of them.",
            "Each dot product is a score, and the scores become probabilities. The true"
            f" neighbour, “{neighbour}”, gets {before:.2f}.",
            "The error is the probability, minus 1 for the true neighbour. Below 0: this score"
            " should rise. Above 0: it should fall.",
            f"Each row of R pushes “{centre}”: minus the error, times the row. “{neighbour}” pulls"
            f" it closer, and the other rows push it away.",
            f"Added up: {_sum_of_pushes(row, pushes, step['row'])}. The rows of R move, too. So the"
            f" score of “{neighbour}” rises from {_signed(step['scores'][true])} to"
            f" {_signed(rises)}, and it would now get {after:.2f}.",
        ),
    )


_MINUS = "\N{MINUS SIGN}"


def _sum_of_pushes(row, pushes, after):
    """Write out how the pushes make the new row from the old one."""
    terms = " + ".join(f"[{', '.join(each)}]" for each in _hundredths([*pushes, after]))
    terms, _, result = terms.rpartition(" + ")
    return f"{_vector(row)} + {terms} = {result}"


def _hundredths(rows):
    return [[f"{number + 0:.2f}".replace("-", _MINUS) for number in row] for row in rows]


def paths_of_rows(groups, paths, notes):
    """Draw how rows of a table wander while they are trained.

    Args:
        groups: dict from a name to its words; all the words are the rows of `paths`, in order.
        paths: (len(notes), words, 2) where each row is at each moment.
        notes: dict from the number of steps of each moment, the first 0, to a sentence about it.

    Returns:
        the Picture.
    """
    names = [name for name, words in groups.items() for _ in words]
    roles = dict(zip(groups, ("orange", "blue"), strict=True))
    low, high = paths.min(axis=(0, 1)), paths.max(axis=(0, 1))
    scale = min(250 / (high - low)[0], 280 / (high - low)[1])
    spots = (paths - low) * scale * [1, -1]

    def draw(_):
        sheet = Drawing()
        for number, now in enumerate(spots):
            with sheet.step(number + 1):
                for word, (name, at) in enumerate(zip(names, now, strict=True)):
                    if number:
                        sheet.arrow(spots[number - 1][word], at, role=roles[name], head=False)
                    sheet.circle(at, 5 if number == len(spots) - 1 else 2, role=roles[name])
        with sheet.step(1):
            start, (x, y) = spots[0].mean(axis=0), -low * scale * [1, -1]
            sheet.words((start[0], start[1] + 22), "start", "muted", size=SMALL)
            for end in ((16, 0), (0, 16)):
                sheet.arrow((x - end[0], y - end[1]), (x + end[0], y + end[1]), head=False)
        with sheet.step(len(spots)):
            for name, role in roles.items():
                ends = dict(
                    zip(groups[name], spots[-1][[each == name for each in names]], strict=True)
                )
                left = np.mean([x for x, _ in ends.values()]) < start[0]  # away from the paths
                anchor, away = ("end", -1) if left else ("start", 1)
                side = max(away * x for x, _ in ends.values()) * away + away * 26
                y = np.mean([end for _, end in ends.values()]) - 15 * (len(ends) + 1) / 2
                sheet.words((side, y), name, role, anchor=anchor)
                for row, word in enumerate(sorted(ends, key=lambda word: ends[word][1]), 1):
                    point, at = ends[word], (side, y + 15 * row + 2)
                    line = (point[0] + 5 * away, point[1]), (side - 3 * away, at[1])
                    sheet.arrow(*line, width=0.6, head=False)
                    sheet.words(at, word, anchor=anchor, size=SMALL)
        return sheet

    listed = "; ".join(f"{name}: {', '.join(words)}" for name, words in groups.items())
    return Picture(
        f"{paths.shape[1]} points in a plane, one for each row ({listed}), and the paths that they"
        f" take in {max(notes)} steps of training. All begin in one heap and set out together. Then"
        f" the paths part, and the {' and the '.join(groups)} end in two small groups.",
        draw,
        steps=list(notes.values()),
    )
