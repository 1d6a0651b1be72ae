"""The first page: one query of the trained translator, from its keys to the mix of values."""

from book.figures.flow.hand import SMALL, Drawing, Picture, width_of

LEAST = 0.005  # a smaller weight is drawn as a thin line


def one_query(words, scores, weights, writes):
    """Draw attention for one query from top to bottom: keys, scores, softmax, shares, mix.

    Args:
        words: of the sentence that was read.
        scores, weights: (key_len,), of this query.
        writes: the word that is written then.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 47 if phone else 88
        wide, size = apart - 4, SMALL if phone else 14
        left = width_of("× value", SMALL) + wide / 2 + (6 if phone else 18)
        centres = [left + apart * place for place in range(len(words))]
        middle = (centres[0] + centres[-1]) / 2

        def name(y, text, role):
            sheet.words((0, y), text, role, anchor="start", size=SMALL, bold=True)

        query = sheet.box((middle, 0), "query: what comes next?", "query", height=28, size=size)
        name(66, "key", "key")
        name(101, "score", "muted")
        name(175, "share", "query")
        name(212, "× value", "value")
        softmax = sheet.box(
            (middle, 135),
            "softmax: all positive, sum 1",
            width=centres[-1] - centres[0] + wide,
            height=24,
            size=size,
        )
        mix = sheet.box((middle, 282), f"the mix helps to find “{writes}”", "value", size=size)
        for x, word, score, weight in zip(centres, words, scores, weights, strict=True):
            same = {"width": wide, "height": 25, "size": size}
            key = sheet.box((x, 66), word, "key", **same)
            across = 0.5 + 0.7 * (x - middle) / (centres[-1] - centres[0])
            sheet.arrow(query.at(across, 1), key.north, role="query", width=1)
            sheet.words((x, 101), _minus(f"{score:.1f}"), size=size)
            sheet.arrow((x, 110), (x, softmax.y), width=1)
            share = sheet.cells(
                (x - wide / 2, 162),
                [[f"{weight:.2f}"]],
                "query",
                cell=(wide, 25),
                size=size,
                shares=[[weight]],
            )
            sheet.arrow((x, softmax.at(0, 1)[1]), share.north, width=1)
            value = sheet.box((x, 212), word, "value", **same)
            heavy = 0.6 if weight < LEAST else 1 + 5 * weight
            sheet.arrow(value.south, mix.at(across, 0), role="value", width=heavy)
        return sheet

    asked = "; ".join(
        f"{word}: score {score:.1f}, share {weight:.2f}"
        for word, score, weight in zip(words, scores, weights, strict=True)
    )
    return Picture(
        "From top to bottom. One query is compared with the key of each English word, which gives"
        f" scores; one softmax makes shares of them. Word by word: {asked}. Each share multiplies"
        " the value of its word, and lines as thick as the shares end in the mix, which helps to"
        f" find {writes}.",
        draw,
    )


def _minus(text):
    return text.replace("-", "\N{MINUS SIGN}")
