"""Chapter 7: what a residual connection adds, and where norms go."""

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
            sheet.words((x + 46, -2 * high - 88), title, bold=True)
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
            if title == "pre-norm":  # once, on top of the stack
                end = (x, -2 * high - 26)
                top = sheet.box(end, "last norm", width=78, height=28, size=SMALL + 1, kind="frame")
                sheet.arrow(last.north, top.south, role="blue", width=5, head=False)
                last = top
            sheet.arrow(last.north, (x, -2 * high - 70), role="blue", width=5)
        return sheet

    return Picture(
        "Two layers drawn from bottom to top. A thick line leads from x to the top. In both,"
        " attention and feed-forward are on branches, and a plus sign adds what they find to the"
        " line. Post-norm: on the line lie a plus, norm 1, a plus, norm 2. Pre-norm: on the line"
        " lie only the two pluses, because norm 1 is on the branch before attention, and norm 2"
        " on the branch before feed-forward. A dashed box, the last norm, follows at the top.",
        draw,
    )
