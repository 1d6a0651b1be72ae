"""Two sentences, one above the other, with lines between their words: chapters 3 and 12."""

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture, width_of


def _two_rows(phone, above, below, gap):
    """Begin a drawing with two rows of words of about the same length.

    Returns:
        the Drawing, and for each row the Places of its words.
    """
    sheet, size, rows = Drawing(), SMALL if phone else 15, []
    long = max(sum(width_of(word, size) + gap for word in words) for words in (above, below))
    for words, y in ((above, 0), (below, 110)):
        spare = (long - sum(width_of(word, size) for word in words)) / len(words)
        x, places = 0, []
        for word in words:
            wide = width_of(word, size) + spare
            places.append(sheet.words((x + wide / 2, y), word, size=size))
            x += wide
        rows.append(places)
    return sheet, rows


def crossing_lines(read, written, weights, least=0.05):
    """Draw the words read above the words written, with lines from each written word to those that
    attention looks at, as thick as its weights.

    Args:
        read, written: the words.
        weights: (words written, words read), each row summing to 1.
        least: the smallest weight that gets a line.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, rows = _two_rows(phone, read, written, 7 if phone else 24)
        for (row, column), weight in np.ndenumerate(weights):
            if weight >= least:
                ends = rows[1][row].north, rows[0][column].south
                sheet.arrow(*ends, role="query", width=0.4 + 4 * weight, head=False)
        sheet.words((0, -24), "read", "muted", anchor="start", size=SMALL)
        sheet.words((0, 134), "written", "muted", anchor="start", size=SMALL)
        return sheet

    looked = ", ".join(
        f"{word} on {read[row.argmax()]} ({row.max():.2f})"
        for word, row in zip(written, np.asarray(weights), strict=True)
    )
    return Picture(
        f"The words read, “{' '.join(read)}”, above the words written, “{' '.join(written)}”, with"
        f" lines as thick as attention's weights. The largest weight of each written word: {looked}"
        ".",
        draw,
    )


def word_links(english, italian, sure, possible, language="Italian"):
    """Draw two sentences, one above the other, with lines between words that translate each other.

    Args:
        english, italian: the words.
        sure, possible: sets of (English word, Italian word); the possible ones are dashed.
        language: that of the second sentence.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, rows = _two_rows(phone, english, italian, 12 if phone else 26)
        for i, j in sorted(possible):
            known = (i, j) in sure
            sheet.arrow(
                rows[0][i].south,
                rows[1][j].north,
                role="right" if known else "masked",
                width=2.2,
                dashed=not known,
                head=False,
            )
        return sheet

    def told(links):
        return ", ".join(f"{english[i]} with {italian[j]}" for i, j in sorted(links))

    dashed = f" Dashed: {told(possible - sure)}." if possible - sure else ""
    return Picture(
        f"The English words “{' '.join(english)}” above, the {language} words"
        f" “{' '.join(italian)}” below, and lines between words that translate each other. Solid:"
        f" {told(sure)}.{dashed}",
        draw,
    )
