"""Chapter 2: a row of clocks, and two words turned by their positions."""

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture


def degrees(angle):
    """Write an angle in degrees, a small one with a decimal, so that no two look equal."""
    return f"{angle:.{0 if abs(angle) >= 10 else 1}f}°"


def clock_hands(encoding, row_labels, column_labels):
    """Draw each pair of an encoding as the hand of a clock: sine to the right, cosine up, so that 0
    is at twelve.

    Args:
        encoding: (positions, 2 * pairs), sine and cosine side by side.
        row_labels: what is at each position.
        column_labels: what each pair is called.

    Returns:
        the Picture.
    """
    radius, apart = 33, 84
    turns = encoding[:, 0::2], encoding[:, 1::2]
    angles = np.degrees(np.arctan2(*turns))

    def draw(phone):
        sheet = Drawing()
        for pair, name in enumerate(column_labels):
            top = 130 * pair
            sheet.words((-radius, top - 54), name, "muted", anchor="start", size=SMALL)
            for place, label in enumerate(row_labels):
                x, y = apart * place, top
                sine, cosine = encoding[place, 2 * pair : 2 * pair + 2]
                if not pair:
                    sheet.words((x, -78), label)
                sheet.circle((x, y), radius)
                sheet.arrow((x, y), (x, y - radius + 2), role="plain", dashed=True, head=False)
                tip = (x + (radius - 2) * sine, y - (radius - 2) * cosine)
                sheet.arrow((x, y), tip, role="blue", width=2.6)
                sheet.words((x, y + radius + 12), degrees(angles[place, pair]), "blue", size=SMALL)
        return sheet

    ways = "; ".join(
        f"{name}: " + ", ".join(map(degrees, angles[:, pair]))
        for pair, name in enumerate(column_labels)
    )
    return Picture(
        f"Two rows of {len(encoding)} clock faces, one face for each position. Each hand starts at"
        f" twelve o'clock and turns clockwise. Angles: {ways}.",
        draw,
    )


def turned_together(vectors, places, roles=("blue", "orange")):
    """Draw two numbers of two words as hands of a clock, turned by 1 radian per position, and the
    angle between the hands.

    Args:
        vectors: dict from each of two words to its (2,) numbers: right and up, not turned yet.
        places: list of (position of the first word, position of the second), one clock each.
        roles: the colours of both.

    Returns:
        the Picture.
    """
    radius, apart = 52, 118
    start = [np.arctan2(*numbers) for numbers in vectors.values()]
    lengths = [np.hypot(*numbers) for numbers in vectors.values()]
    between = [
        np.degrees((start[1] + second - start[0] - first + np.pi) % (2 * np.pi) - np.pi)
        for first, second in places
    ]

    def draw(phone):
        sheet = Drawing()
        for column, (both, angle) in enumerate(zip(places, between, strict=True)):
            x = (apart if phone else 200) * column
            sheet.circle((x, 0), radius)
            hands = zip(vectors, both, start, lengths, roles, strict=True)
            for row, (word, place, begin, length, role) in enumerate(hands):
                reach = (radius - 3) * length / max(lengths)
                way = np.sin(begin + place), -np.cos(begin + place)
                sheet.arrow((x, 0), (x + reach * way[0], reach * way[1]), role=role, width=2.6)
                sheet.words((x, -radius - 34 + 18 * row), f"{word} at {place}", role, size=SMALL)
            said = f"{degrees(abs(angle))} apart"
            sheet.words((x, radius + 14), said, bold=True, size=SMALL)
        return sheet

    first, second = vectors
    ways = "; ".join(
        f"{first} at {one} and {second} at {other}, {degrees(abs(angle))} apart"
        for (one, other), angle in zip(places, between, strict=True)
    )
    return Picture(
        f"{len(places)} clock faces, each with a hand for {first} and one for {second}: {ways}.",
        draw,
    )
