"""The figures of chapter 2: clocks, and how alike positions are."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from book.figures.flow import SMALL, Drawing, Picture
from book.figures.style import BLUE, GREY, ORANGE


def _signed_colours():
    return LinearSegmentedColormap.from_list("signed", [ORANGE, "white", BLUE])


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
            x, y = (0, 176 * panel) if phone else (340 * panel, 0)
            sheet.words((x, y), title, anchor="start", bold=True)
            sheet.words((x + 258, y + 24), f"what comes out for “{word}”", "muted", size=SMALL)
            places = []
            for row, sentence in enumerate(sentences):
                middle = y + 54 + 64 * row
                boxes = []
                for place, each in enumerate(sentence.split()):
                    role = "orange" if each == word else "plain"
                    centre = (x + 25 + 54 * place, middle)
                    boxes.append(sheet.box(centre, each, role, width=50, height=26, size=SMALL))
                    if panel:
                        below = (centre[0], middle + 21)
                        sheet.words(below, f"+ p{place}", "blue", size=SMALL)
                numbers = [[_signed(number) for number in vectors[row]]]
                role = "orange" if same or not row else "blue"
                corner = (x + 188, middle - 12)
                out = sheet.cells(corner, numbers, role, cell=(36, 24), shares=[[0.6] * 4])
                sheet.arrow(boxes[-1].east, out.west)
                places.append(out)
            sign, role = ("=", "wrong") if same else ("≠", "right")
            between = (places[0].centre[0], y + 54 + 32)
            said = "the same vector" if same else "two vectors"
            sheet.words((between[0], between[1]), f"{sign}  {said}", role, bold=True)
        return sheet

    first, second = sentences
    told = [f"from {title} it is {'the same in both' if same else 'different'}" for title, _, same in panels]
    return Picture(
        f"The sentences “{first}” and “{second}”, and the vector that a layer makes of “{word}”"
        f" in each: {' and '.join(told)}.",
        draw,
    )


def _signed(number):
    return f"{number:.1f}".replace("-", "\N{MINUS SIGN}")


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
                sheet.words((x, y + radius + 12), f"{angles[place, pair]:.0f}°", "blue", size=SMALL)
        return sheet

    ways = "; ".join(
        f"{name}: " + ", ".join(f"{angle:.0f}" for angle in angles[:, pair]) + " degrees"
        for pair, name in enumerate(column_labels)
    )
    return Picture(
        f"Two rows of {len(encoding)} clock faces, one face for each position. Each hand starts at"
        f" twelve o'clock and turns clockwise. {ways}.",
        draw,
    )


def position_heatmap(encoding):
    """Show an encoding as colours from -1 (orange) over 0 (white) to 1 (blue), one row a position.

    Args:
        encoding: (positions, columns) between -1 and 1.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.6))
    image = ax.imshow(
        encoding, cmap=_signed_colours(), vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
    )
    ax.set(xlabel="column", ylabel="position")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    figure.colorbar(image, ax=ax, ticks=[-1, 0, 1], shrink=0.8, aspect=25)
    return figure


def similarity_by_offset(curves):
    """Draw how alike the encodings of two positions are against the distance between them.

    Args:
        curves: dict from the number of columns to the (offsets,) similarities at offsets 0, 1, 2
            and so on.

    Returns:
        the matplotlib figure.
    """
    figure, ax = plt.subplots(figsize=(4.8, 3.2))
    for (columns, similarity), colour, width in zip(
        curves.items(), (GREY, ORANGE, BLUE), (1.0, 1.4, 2.2), strict=True
    ):
        ax.plot(similarity, color=colour, linewidth=width, label=f"{columns} columns")
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.set(
        xlabel="offset between the positions",
        ylabel="similarity",
        ylim=(-0.6, 1.05),
        xlim=(0, None),
        yticks=[-0.5, 0, 0.5, 1],
    )
    ax.legend(loc="lower center", ncols=3, handlelength=1.2, columnspacing=1.2)
    return figure


def signed_matrix(matrix, decimals=3):
    """Show a small square matrix as colours from -1 (orange) over 0 (white) to 1 (blue), its
    non-zero numbers in the cells.
    """
    figure, ax = plt.subplots(figsize=(4.6, 3.4))
    ax.imshow(matrix, cmap=_signed_colours(), vmin=-1, vmax=1, aspect="auto")
    ax.set(xlabel="column of $PE[pos]$", ylabel="column of $PE[pos + k]$")
    ax.set_xticks(range(len(matrix)))
    ax.set_yticks(range(len(matrix)))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for (row, column), number in np.ndenumerate(matrix):
        if number != 0:
            colour = "white" if abs(number) > 0.6 else "black"
            ax.text(
                column,
                row,
                f"{number:.{decimals}f}",
                ha="center",
                va="center",
                color=colour,
                fontsize=8,
            )
    return figure
