"""Chapter 2: the order of words, lost and kept, and a row of clocks."""

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture


def order_lost_and_kept(sentences, word, alone, placed):
    """Draw what a layer makes of one word in two orders of a sentence, without positions and with
    them.

    Args:
        sentences: the two sentences, of the same words.
        word: the one whose output is drawn.
        alone, placed: (2, d_model) its output in each sentence, from the words alone, and from
            words to which their positions were added.

    Returns:
        the Picture.
    """
    panels = (
        ("words alone", alone, np.allclose(*alone)),
        ("words, and their positions added", placed, np.allclose(*placed)),
    )

    def draw(phone):
        sheet = Drawing()
        for panel, (title, vectors, same) in enumerate(panels):
            x, y = (0, 176 * panel) if phone else (368 * panel, 0)
            sheet.words((x, y), title, anchor="start", bold=True)
            sheet.words((x + 232, y + 24), f"what comes out for “{word}”", "muted", size=SMALL)
            places = []
            for row, sentence in enumerate(sentences):
                middle = y + 54 + 64 * row
                boxes = []
                for place, each in enumerate(sentence.split()):
                    role = "orange" if each == word else "plain"
                    centre = (x + 23 + 50 * place, middle)
                    boxes.append(sheet.box(centre, each, role, width=46, height=26, size=SMALL))
                    if panel:
                        below = (centre[0], middle + 21)
                        sheet.words(below, f"+ p{place}", "blue", size=SMALL)
                numbers = [[_signed(number) for number in vectors[row]]]
                role = "orange" if same or not row else "blue"
                corner = (x + 164, middle - 12)
                out = sheet.cells(corner, numbers, role, cell=(34, 24), shares=[[0.6] * 4])
                sheet.arrow(boxes[-1].east, out.west)
                places.append(out)
            sign, role = ("=", "wrong") if same else ("≠", "right")
            between = (places[0].centre[0], y + 54 + 32)
            said = "the same vector" if same else "two vectors"
            sheet.words((between[0], between[1]), f"{sign}  {said}", role, bold=True)
        return sheet

    first, second = sentences
    told = [
        f"from {title} it is {'the same in both' if same else 'different in each'}"
        for title, _, same in panels
    ]
    return Picture(
        f"The sentences “{first}” and “{second}”, and the vector that a layer makes of “{word}”"
        f" in each: {' and '.join(told)}.",
        draw,
    )


def _signed(number):
    return f"{number:.1f}".replace("-", "\N{MINUS SIGN}")


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
