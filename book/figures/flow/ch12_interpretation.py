"""Chapter 12: which word translates which, the path of an ablation, two heads in turn, and what one
of them looks for and copies.
"""

from book.figures.flow.hand import SMALL, Drawing, Picture

HEADS = ("blue", "orange", "green", "purple")


def path_of_an_ablation(parts, gates, kept, whole, without):
    """Draw where a head is taken away: after its weights and its average, and before the matrix
    of the output.

    Args:
        parts: (heads, head_dim) what each head found at one position.
        gates: (heads,) of 0 and 1.
        kept: (heads, head_dim), the parts times their gates.
        whole, without: (d_model,) the output with all heads, and with the gates.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, cell, size = Drawing(), (40, 25) if phone else (48, 27), SMALL
        heads, wide = len(parts), len(parts[0]) * (40 if phone else 48)

        def row(y, numbers, roles, share=0.5):
            shown = [[_signed(number) for number in numbers]]
            return sheet.cells(
                (0, y), shown, [roles], cell=cell, size=size, shares=[[share] * len(numbers)]
            )

        flat = [HEADS[head] for head in range(heads) for _ in parts[head]]
        off = [
            "masked" if not gate else HEADS[head]
            for head, gate in enumerate(gates)
            for _ in parts[head]
        ]
        found = row(44, [number for part in parts for number in part], flat)
        gated = row(176, [number for part in kept for number in part], off)
        for head, gate in enumerate(gates):
            x, role = wide * (head + 0.5), HEADS[head]
            name = sheet.box(
                (x, 0),
                f"head {head + 1}",
                role,
                width=wide - 14,
                height=28,
                size=SMALL,
            )
            sheet.arrow(name.south, (x, found.y), role=role)
            sign = sheet.circle((x, 122), 15, f"×{gate:.0f}", role if gate else "masked")
            sheet.arrow((x, found.y + cell[1]), sign.north, role=role)
            sheet.arrow(sign.south, (x, gated.y), role=role if gate else "masked", dashed=not gate)
        middle = wide * heads / 2
        sheet.words((middle, 122), "gates", "muted", size=SMALL)
        matrix = sheet.box(
            (middle, 244), "the matrix of the output", width=210, height=28, size=SMALL + 1
        )
        sheet.arrow(gated.south, matrix.north)
        out = row(300, without, ["plain"] * len(without))
        sheet.arrow(matrix.south, out.north)
        sheet.words((0, 290), "output now", anchor="start", size=SMALL, bold=True)
        row(352, whole, ["plain"] * len(whole), 0.1)
        sheet.words((0, 341), "with all heads it was", "muted", anchor="start", size=SMALL)
        return sheet

    off = [str(head + 1) for head, gate in enumerate(gates) if not gate]
    return Picture(
        f"There are {len(parts)} heads side by side, each with the numbers that it found. Below"
        f" each is a gate: the gate of head {' and '.join(off)} multiplies by 0, the other by 1."
        f" What is left goes through the matrix of the output, which makes {_listed(without)};"
        f" with all heads it was {_listed(whole)}.",
        draw,
    )


def _signed(number):
    return f"{float(number) + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def _listed(numbers):
    return "[" + ", ".join(_signed(number) for number in numbers) + "]"


def two_heads_in_turn(words, before, induction):
    """Draw how an induction head uses what an earlier head has brought.

    Args:
        words: of the text.
        before: for each position, the one at which the first head looks.
        induction: for each position, the one at which the second head looks.

    Returns:
        the Picture.
    """
    last = len(words) - 1
    there = induction[last]

    def draw(phone):
        sheet, apart = Drawing(), 47 if phone else 84
        wide = apart - (3 if phone else 18)

        def level(y, role, texts, marked):
            boxes = []
            for place, text in enumerate(texts):
                kinds = (marked[place], "solid") if place in marked else (role, "box")
                centre, size = (apart * place, y), {"width": wide, "height": 28, "size": SMALL}
                boxes.append(sheet.box(centre, text, kinds[0], kind=kinds[1], **size))
            return boxes

        brought = [words[place] for place in before]
        low = level(200, "plain", words, {last: "query", there: "right"})
        middle = level(100, "key", brought, {there: "key"})
        size = {"width": wide, "height": 28, "size": SMALL, "kind": "solid"}
        high = sheet.box((apart * last, 0), words[there], "right", **size)
        for place in range(len(words)):
            sheet.arrow(low[before[place]].north, middle[place].south, role="key")
        beside = apart * last + wide / 2 + (5 if phone else 12)
        outside = beside + (6 if phone else 14)
        asks = (beside, 200), (beside, 56), (apart * there, 56), middle[there].north
        sheet.arrow(low[last].east, *asks, role="query")
        under = (apart * there, 238), (outside, 238), (outside, 0)
        sheet.arrow(low[there].south, *under, high.east, role="right", width=3)
        between = apart * (there + last) / 2
        sheet.words((between, 254), f"finds “{words[there]}”", "right", size=SMALL)
        sheet.words(
            (between - 6, 28),
            f"my word is “{words[last]}”:\nwho had it before?",
            "query",
            size=SMALL,
        )
        left = -wide / 2
        sheet.words((left, 230), "the text", "muted", anchor="start", size=SMALL)
        sheet.words((left, 70), "head 1: the word before", "key", anchor="start", size=SMALL)
        sheet.words((left, 0), "head 2", "right", anchor="start", size=SMALL)
        return sheet

    return Picture(
        f"The text “{' '.join(words)}” in a row. Above each position is what the first head brought"
        " to it, the word before; the first position has none, and looks at itself. The second head"
        f" works at the last position, whose word is {words[last]}: it looks for the position whose"
        f" word before was {words[last]}, so its query meets the key of position {there}, and it"
        f" takes what is written there, {words[there]}.",
        draw,
    )


def qk_and_ov(word, follower, d_model, head_dim, words):
    """Draw the two circuits of an induction head: from its own word and the word before a place to
    a score, and from the word at that place to a logit.

    Args:
        word: the head's own, which was before the place, too.
        follower: the word at the place.
        d_model, head_dim: features of a state, and of a head.
        words: how many there are.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 109 if phone else 214
        wide, tall = apart - (12 if phone else 40), 44
        lanes, levels = [0, apart, 2 * apart], [300, 170, 85, 0]

        def box(lane, level, text, role, kind="box"):
            centre = (lanes[lane], levels[level])
            return sheet.box(centre, text, role, width=wide, height=tall, size=SMALL, kind=kind)

        def up(lower, upper, text, role):
            sheet.arrow(lower.north, upper.south, role=role, text=text)

        mine = box(0, 0, f"my own word:\n“{word}”", "query")
        before = box(1, 0, f"word before:\n“{word}”", "key")
        there = box(2, 0, f"word there:\n“{follower}”", "value")
        query = box(0, 1, f"query\n({head_dim})", "query")
        key = box(1, 1, f"key\n({head_dim})", "key")
        value = box(2, 1, f"value\n({head_dim})", "value")
        up(mine, query, "w_q", "query")
        up(before, key, "head 1, w_k", "key")
        up(there, value, "w_v", "value")
        middle = (apart / 2, levels[2])
        product = sheet.circle(middle, 13, "·")
        sheet.arrow(query.north, (lanes[0], levels[2]), product.west, role="query")
        sheet.arrow(key.north, (lanes[1], levels[2]), product.east, role="key")
        size = {"width": wide, "height": tall, "size": SMALL, "kind": "solid"}
        score = sheet.box((middle[0], 0), "high score:\nlook there", "plain", **size)
        sheet.arrow(product.north, score.south)
        state = box(2, 2, f"added\n({d_model})", "value")
        logit = box(2, 3, f"logit of\n“{follower}”", "right", "solid")
        up(value, state, "w_o", "value")
        up(state, logit, "", "value")
        around = 5 if phone else 14
        sheet.frame([mine, before, score], "QK circuit", around=around)
        sheet.frame([there, logit], "OV circuit", around=around)
        return sheet

    return Picture(
        f"Two circuits of one head. QK: its own word, “{word}”, becomes a query of {head_dim}"
        f" features, and the word before some place, also “{word}”, which the previous-token head"
        f" has brought there, becomes a key of {head_dim} features; their product is a high score,"
        f" so the head looks there. OV: the word there, “{follower}”, becomes a value of"
        f" {head_dim} features, then {d_model} features that are added to the state, and the"
        f" generator turns them into a high logit of “{follower}”, one of {words} words.",
        draw,
    )
