"""Chapter 7: what a residual connection adds, the stream that it makes, and where norms go."""

import itertools

from book.figures.flow.hand import SMALL, Drawing, Picture, Place


def what_is_added(word, before, found, after):
    """Draw a residual connection with numbers: the word goes on, and what was found is added.

    Args:
        word: whose features they are.
        before, found, after: (features,) whole numbers; after is their sum.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, cell = Drawing(), (28, 26)

        def row(corner, numbers, role):
            shown = [[f"{number:.0f}".replace("-", "\N{MINUS SIGN}") for number in numbers]]
            return sheet.cells(corner, shown, role, cell=cell, shares=[[0.5] * len(numbers)])

        if phone:
            came, part = row((0, 0), before, "blue"), sheet.box((236, 64), "attention", "query")
            plus = sheet.circle((56, 128), 12, "+", "blue")
            extra = row((180, 115), found, "query")
            goes = row((0, 176), after, "blue")
            sheet.arrow(came.south, plus.north, role="blue", width=3)
            sheet.arrow((56, 64), part.west, role="query")
            sheet.arrow(part.south, extra.north, role="query")
            sheet.arrow(extra.west, plus.east, role="query")
            sheet.arrow(plus.south, goes.north, role="blue", width=3)
        else:
            came, part = row((0, 0), before, "blue"), sheet.box((230, 78), "attention", "query")
            extra = row((300, 65), found, "query")
            plus = sheet.circle((356, 13), 12, "+", "blue")
            goes = row((430, 0), after, "blue")
            sheet.arrow(came.east, plus.west, role="blue", width=3)
            sheet.arrow((150, 13), (150, 78), part.west, role="query")
            sheet.arrow(part.east, extra.west, role="query")
            sheet.arrow(extra.north, plus.south, role="query")
            sheet.arrow(plus.east, goes.west, role="blue", width=3)
        sheet.words((came.centre[0], came.y - 13), f"“{word}”", bold=True)
        below = goes.y + (39 if phone else -13)
        sheet.words((goes.centre[0], below), f"still “{word}”, and more", bold=True)
        sheet.words((extra.centre[0], extra.y + 38), "what it found", "query", size=SMALL)
        return sheet

    said = [
        [f"{number:.0f}".replace("-", "\N{MINUS SIGN}") for number in each]
        for each in (before, found, after)
    ]
    one, other, both = (", ".join(each) for each in said)
    return Picture(
        f"The features of {word}, [{one}], go straight on along a thick line. On the way a branch"
        f" goes through attention, which finds [{other}]; a plus sign adds it, and [{both}] goes"
        " on.",
        draw,
    )


ATTENTION, NETWORK = ("attention", "query"), ("feed-forward", "value")


def two_norm_orders():
    """Draw an encoder layer in post-norm and in pre-norm along the path that x takes: what it must
    pass, and what is only on a branch of it.

    Returns:
        the Picture.
    """
    high = 160  # of an attention or a feed-forward network, with its norm

    def draw(phone):
        sheet = Drawing()
        for place, title in enumerate(("post-norm", "pre-norm")):
            x, side = place * (176 if phone else 270), place * (176 if phone else 270) + 78
            sheet.words((x + 46, -2 * high - 52), title, bold=True)
            last = sheet.words((x, 0), "x", italic=True)

            def box(centre, name, role):
                width = 66 if role == "plain" else 94
                return sheet.box(centre, name, role, width=width, height=28, size=SMALL + 1)

            for number, (name, role) in enumerate((ATTENTION, NETWORK)):
                low, norm = -high * number, (f"norm {number + 1}", "plain")
                if title == "post-norm":
                    part, plus = box((side, low - 58), name, role), (x, low - 96)
                    sheet.arrow((x, low - 22), (side, low - 22), part.south, role=role)
                else:
                    first = box((side, low - 52), *norm)
                    part, plus = box((side, low - 97), name, role), (x, low - 138)
                    sheet.arrow((x, low - 22), (side, low - 22), first.south, role=role)
                    sheet.arrow(first.north, part.south, role=role)
                made = Place(plus[0] - 12, plus[1] - 12, 24, 24)
                sheet.arrow(last.north, made.south, role="blue", width=5, head=False)
                sheet.circle(plus, 12, "+", "blue")
                sheet.arrow(part.north, (side, plus[1]), made.east, role=role)
                last = made
                if title == "post-norm":
                    last = box((x, low - 140), *norm)
                    sheet.arrow(made.north, last.south, role="blue", width=5, head=False)
            sheet.arrow(last.north, (x, -2 * high - 34), role="blue", width=5)
        return sheet

    return Picture(
        "Two layers drawn from bottom to top. A thick line leads from x to the top. In both,"
        " attention and feed-forward are on branches, and a plus sign adds what they find to the"
        " line. Post-norm: on the line lie a plus, norm 1, a plus, norm 2. Pre-norm: on the line"
        " lie only the two pluses, because norm 1 is on the branch before attention, and norm 2"
        " on the branch before feed-forward.",
        draw,
    )


def residual_stream(shape, layers):
    """Draw pre-norm layers along one stream that they read from and add to.

    Args:
        shape: of x, which never changes.
        layers: how many.

    Returns:
        the Picture.
    """
    said = f"({', '.join(map(str, shape))})"
    parts = [ATTENTION, NETWORK] * layers

    def draw(phone):
        sheet, step = Drawing(), 92 if phone else 148
        length = step * len(parts) + (20 if phone else 36)

        def at(along, across):
            return (across, along) if phone else (along, across)

        sheet.words(at(-12, 0) if phone else (-14, 0), "x", italic=True, anchor="middle")
        marks = []
        for place, (name, role) in enumerate(parts):
            along, off = 14 + step * place, 118 if phone else 96
            norm = along + 4
            middle = along + step * (0.42 if phone else 0.45)
            plus = along + step * (0.8 if phone else 0.84)
            marks += [plus]
            if phone:
                box = sheet.box(
                    (196, middle), f"norm,\n{name}", role, width=106, height=44, size=SMALL + 1
                )
                sheet.arrow((0, norm), (196, norm), box.north, role=role)
                sheet.arrow(box.south, (196, plus), (13, plus), role=role)
            else:
                box = sheet.box(
                    (middle, off), f"norm,\n{name}", role, width=92, height=44, size=SMALL + 1
                )
                sheet.arrow((norm, 0), (norm, off), box.west, role=role)
                sheet.arrow(box.east, (plus, off), (plus, 13), role=role)
        stops = [0, *marks, length]
        for start, end in itertools.pairwise(stops):
            sheet.arrow(
                at(start + (12 if start else 0), 0),
                at(end - (12 if end != length else 0), 0),
                role="blue",
                width=5,
                head=end == length,
            )
        for plus in marks:
            sheet.circle(at(plus, 0), 12, "+", "blue")
        sheet.words(at(length + 14, 0) if phone else (length - 10, -18), said, "blue", size=SMALL)
        beside, anchor = ((10, 34), "start") if phone else ((60, -18), "middle")
        sheet.words(beside, said, "blue", size=SMALL, anchor=anchor)
        for layer in range(layers):
            along = 14 + step * (2 * layer + 1)
            where = (284, along) if phone else (along, 140)
            sheet.words(
                where,
                f"layer\n{layer + 1}" if phone else f"layer {layer + 1}",
                "muted",
                size=SMALL,
                bold=True,
            )
        return sheet

    return Picture(
        f"One thick line, x, of shape {said} from beginning to end. On it hang {len(parts)} parts,"
        f" attention and feed-forward in turn, {layers} layers of both. Each part reads a"
        " copy from the line, through its norm, and a plus sign adds what it finds to the line.",
        draw,
    )
