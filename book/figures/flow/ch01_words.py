"""Chapter 1: words that are described by two numbers, the window that makes pairs of them, and four
words whose differences agree.
"""

import numpy as np

from book.figures.flow.hand import LETTER, SMALL, Drawing, Picture

_MINUS = "\N{MINUS SIGN}"


def words_in_a_plane(described, questions, cosines, roles):
    """Draw words as arrows in a plane, beside the numbers that lead to their tips.

    Args:
        described: dict from a word to its two numbers, from -1 to 1.
        questions: the two questions that the numbers answer: that across, and that upwards.
        cosines: for each word, the cosine of the angle between its arrow and that of the first.
        roles: a colour for each word.

    Returns:
        the Picture.
    """
    first = next(iter(described))

    def draw(phone):
        sheet, half = Drawing(), 128
        across, down = (0, 0) if phone else (330, 0)

        def at(x, y):
            return across + half * x, down - half * y

        for end, start, text, turned in (
            ((1.08, 0), (-1.08, 0), questions[0], (0.98, -0.1)),
            ((0, 1.08), (0, -1.08), questions[1], (0, 1.2)),
        ):
            sheet.arrow(at(*start), at(*end))
            anchor = "end" if turned[0] else "middle"
            sheet.words(at(*turned), text, "muted", anchor=anchor, size=SMALL)
        for (word, (x, y)), role in zip(described.items(), roles, strict=True):
            sheet.arrow(at(0, 0), at(x, y), role=role, width=2)
            side = 0.07 if abs(y) >= abs(x) else 0.03
            anchor = "start" if x > 0 else "end"
            tip = at(x + (side if x > 0 else -side), y + (0.05 if y > 0 else -0.05))
            sheet.words(tip, word, role, anchor=anchor)

        left, top, cell = (-86, half + 66, (56, 24)) if phone else (0, -60, (56, 24))
        numbers = [[_signed(number) for number in each] for each in described.values()]
        shares = [[abs(number) * 0.7 for number in each] for each in described.values()]
        colours = [[role, role] for role in roles]
        found = sheet.cells((left, top), numbers, colours, cell=cell, shares=shares)
        for column, question in enumerate(questions):
            x = found.column(column, 2).centre[0]
            sheet.words((x, top - 12), question, "muted", size=SMALL)
        for row, (word, cosine) in enumerate(zip(described, cosines, strict=True)):
            line = found.row(row, len(described))
            sheet.words((line.west[0] - 8, line.west[1]), word, anchor="end", size=SMALL)
            sheet.words((line.east[0] + 40, line.east[1]), f"{_signed(cosine, 2)}", size=SMALL)
        sheet.words((found.east[0] + 42, top - 20), f"cosine\nwith {first}", "muted", size=SMALL)
        return sheet

    told = "; ".join(
        f"{word}: {_signed(x)} and {_signed(y)}, cosine with {first} {_signed(cosine, 2)}"
        for (word, (x, y)), cosine in zip(described.items(), cosines, strict=True)
    )
    return Picture(
        f"A table with two numbers for each word, which answer {questions[0]} and {questions[1]},"
        f" and the words as arrows in a plane with one direction for each question. {told}.",
        draw,
    )


def _signed(number, decimals=1):
    return f"{number + 0:.{decimals}f}".replace("-", _MINUS)


def window_slides(sentence, reach):
    """Draw how a window slides over a sentence, and the pairs that each of its places gives.

    Args:
        sentence: its words.
        reach: how many places to each side of the centre the window goes.

    Returns:
        the Picture.
    """
    pairs = [
        [(centre, word) for j, word in enumerate(sentence) if 0 < abs(i - j) <= reach]
        for i, centre in enumerate(sentence)
    ]

    def draw(phone):
        sheet, high = Drawing(), 54 if phone else 32
        for row, given in enumerate(pairs):
            x, y = 0, high * row
            for place, word in enumerate(sentence):
                away = abs(place - row)
                width = LETTER * SMALL * len(word) + 16
                role = "orange" if away == 0 else "blue" if away <= reach else "muted"
                kind = "solid" if away == 0 else "box" if away <= reach else "frame"
                at = (x + width / 2, y)
                sheet.box(at, word, role, width=width, height=22, size=SMALL, kind=kind)
                x += width + 5
            listed = "  ".join(f"({centre}, {word})" for centre, word in given)
            end = (0, y + 23) if phone else (x + 10, y)
            sheet.words(end, listed, anchor="start", size=SMALL)
        return sheet

    counts = ", ".join(f"{word} {len(given)}" for word, given in zip(sentence, pairs, strict=True))
    return Picture(
        f"The sentence {' '.join(sentence)}, once for each of its words as the centre of a window"
        f" that goes {reach} places to each side. The centre makes a pair with every other word in"
        f" the window. Pairs by centre: {counts}.",
        draw,
    )


def parallelogram(corners, gains):
    """Draw four words, and what becomes likelier on the way from one to another.

    Args:
        corners: dict from a word to its place, (2,). The way from the first to the second is like
            that from the third to the fourth, and so is that from the first to the third like that
            from the second to the fourth.
        gains: what becomes likelier on each of these two ways.

    Returns:
        the Picture.
    """
    words, places = list(corners), np.array(list(corners.values()), dtype=float)
    ways = (((0, 1), (2, 3), gains[0], "orange"), ((0, 2), (1, 3), gains[1], "blue"))

    def draw(_):
        sheet, middle = Drawing(), places.mean(axis=0)
        span = np.ptp(places, axis=0)
        spots = (places - middle) * min(230 / span[0], 170 / span[1]) * [1, -1]
        for *pairs, gain, role in ways:
            for start, end in pairs:
                away = 10 * (spots[end] - spots[start]) / np.linalg.norm(spots[end] - spots[start])
                line = spots[start] + away, spots[end] - away
                sheet.arrow(*line, role=role, width=2, text=f"more {gain}")
        for word, at in zip(words, spots, strict=True):
            sheet.circle(at, 4)
            sheet.words((at[0], at[1] + (17 if at[1] > 0 else -17)), word)
        return sheet

    told = [
        f"Both the arrow from {words[first[0]]} to {words[first[1]]} and that from"
        f" {words[second[0]]} to {words[second[1]]} lead to more {gain}; their cosine is"
        f" {_signed(_cosine(*(places[end] - places[start] for start, end in (first, second))), 2)}"
        for first, second, gain, _ in ways
    ]
    return Picture(
        f"Four words are the corners of what is nearly a parallelogram. {'. '.join(told)}.", draw
    )


def _cosine(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)
