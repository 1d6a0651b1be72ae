"""What has changed since 2017: an old layer and a new one, who reaches the last word, and experts
at work.
"""

from book.figures.flow.hand import SMALL, Drawing, Picture, Place


def old_and_new_layer():
    """Draw a layer of GPT-2 and one of Llama 3 from bottom to top, with what is new in orange.

    Returns:
        the Picture.
    """
    size = {"width": 124, "size": SMALL}

    def draw(phone):
        sheet = Drawing()
        for column, title in enumerate(("GPT-2, 2019", "Llama 3, 2024")):
            new, x = bool(column), column * (172 if phone else 300)
            side, fresh = x + 86, "orange" if column else "plain"
            kind = "solid" if new else "box"
            sheet.words((x + 76, -530), title, bold=True)
            last = sheet.words((x, 0), "word", size=SMALL)
            if not new:
                place = sheet.box((side, -34), "+ its position", **size)
                plus = sheet.circle((x, -34), 11, "+", "blue")
                sheet.arrow(place.west, plus.east)
                sheet.arrow(last.north, plus.south, role="blue", width=4, head=False)
                last = plus
            norm = "RMSNorm" if new else "LayerNorm"

            def branch(start, parts, end, *, x=x, side=side, sheet=sheet):
                below = sheet.box((side, start - 34), *parts[0], **size)
                sheet.arrow((x, start), (side, start), below.south)
                for up, part in parts[1:]:
                    box = sheet.box((side, start - up), *part, **size)
                    sheet.arrow(below.north, box.south)
                    below = box
                plus = Place(x - 11, end - 11, 22, 22)
                sheet.arrow(below.north, (side, end), plus.east)
                return plus

            heads = "query heads\nshare keys" if new else "each query head\nhas its keys"
            parts = [(norm, fresh), (82, (heads, fresh))]
            if new:
                parts.append((134, ("rotary: turn\nqueries, keys", "orange")))
            parts.append((183, ("attention", "query")))
            network = "SwiGLU:\nwith a gate" if new else "linear, GELU,\nlinear"
            for start, found, end in (
                (-62, parts, -280),
                (-300, [(norm, fresh), (86, (network, fresh))], -424),
            ):
                plus = branch(start, found, end)
                sheet.arrow(last.north, plus.south, role="blue", width=4, head=False)
                last = sheet.circle((x, end), 11, "+", "blue")
            look = {**size, "width": 82}
            top = sheet.box((x + 20, -466), norm, fresh, kind=kind, **look)
            sheet.arrow(last.north, (x, top.south[1]), role="blue", width=4, head=False)
            sheet.arrow((x, top.north[1]), (x, -512), role="blue", width=4)
        return sheet

    return Picture(
        "Two layers from bottom to top, GPT-2 of 2019 and Llama 3 of 2024, each with a thick line"
        " from a word to the top, and two branches whose results are added to it. GPT-2: the"
        " position is added to the word; LayerNorm, query heads that each have their keys,"
        " attention; LayerNorm, and a network of linear, GELU, linear; a last LayerNorm. Llama 3:"
        " no position is added; RMSNorm, query heads that share keys, rotary positions that"
        " turn queries and keys, attention; RMSNorm, and SwiGLU, with a gate; a last RMSNorm. All"
        " that differs is orange in Llama 3's layer. The line, the branches, the sums and attention"
        " are the same.",
        draw,
    )


def three_ways_to_look_back(words, window, layers, left):
    """Draw what of a text can reach its last word: by attention to all, through layers with a
    window, and through a state.

    Args:
        words: the text.
        window: how many words a position sees, itself included.
        layers: how many layers with a window are drawn.
        left: (words,) the share of each word in the last state.

    Returns:
        the Picture.
    """
    count = len(words)
    last, reach = count - 1, layers * (window - 1) + 1
    windowed = f"keeps {window} keys and values;\n{layers} layers reach {reach} words"
    kept = {
        "attention": f"keeps {count} keys and values,\none more for each word",
        f"window of {window}": windowed,
        "state": "keeps one state of a fixed size,\nin which words fade",
    }

    def draw(phone):
        sheet, unit, up = Drawing(), 38 if phone else 26, 46
        lows = (0, 290, 566) if phone else (0, 0, 0)
        for panel, (title, note) in enumerate(kept.items()):
            left_end, low = 0 if phone else 233 * panel, lows[panel]
            xs = [left_end + unit * (place + 0.5) for place in range(count)]
            top = low - up * (layers if panel == 1 or not phone else 1 + 0.8 * (panel == 2))
            sheet.words((left_end, top - 66), title, anchor="start", bold=True)
            sheet.words((left_end, top - 36), note, "muted", anchor="start", size=SMALL)
            for x, word in zip(xs, words, strict=True):
                sheet.upright((x, low + 16), word, up=False)

            def node(place, layer, role, kind="box", *, xs=xs, low=low, sheet=sheet):
                return sheet.box(
                    (xs[place], low - up * layer), "", role, width=18, height=18, kind=kind
                )

            if title == "attention":
                for place in range(count):
                    line = {"role": "key", "width": 1.1, "head": False}
                    sheet.arrow((xs[place], low - 9), (xs[last], low - up + 9), **line)
                for place in range(count):
                    node(place, 0, "key", "solid")
                node(last, 1, "query", "solid")
            elif title == "state":
                for place in range(count):
                    width = 0.8 + 16 * left[place]
                    line = {"role": "value", "width": width, "head": False}
                    sheet.arrow((xs[place], low - 9), (xs[place], low - up + 9), **line)
                    if place:
                        sheet.arrow(
                            (xs[place - 1] + 9, low - up), (xs[place] - 9, low - up), role="value"
                        )
                for place in range(count):
                    node(place, 0, "plain")
                    node(place, 1, "value", "solid" if place == last else "box")
                    said = f"{100 * left[place]:.0f}"
                    sheet.words((xs[place], low - up - 20), said, "value", size=SMALL)
                sheet.words((xs[0] - 9, low - up - 40), "% in the last state", "value", **_SMALL)
            else:
                seen = {last}
                for layer in range(layers, 0, -1):
                    below = {
                        place - back for place in seen for back in range(window) if place >= back
                    }
                    for place in seen:
                        for back in range(min(window, place + 1)):
                            start = xs[place - back], low - up * (layer - 1) - 9
                            end = xs[place], low - up * layer + 9
                            sheet.arrow(start, end, role="key", width=1.1, head=False)
                    for place in seen:
                        node(place, layer, "query", "solid" if layer == layers else "box")
                    seen = below
                for place in range(count):
                    inside = place in seen
                    node(place, 0, "key" if inside else "masked", "solid" if inside else "frame")
        return sheet

    faded = ", ".join(f"{100 * share:.0f}" for share in left)
    return Picture(
        f"Three pictures of the words {' '.join(words)}. Attention: lines lead from all {count}"
        f" words to the last one, and {count} keys and values are kept. Window of {window}: each"
        f" position is joined to itself and the {window - 1} before it, so through {layers} layers"
        f" the last {reach} words reach the last position, and what comes before them is dashed,"
        " out of reach. State: each word enters a state of a fixed size, handed from word"
        f" to word; of the words {faded} percent are left in the last one.",
        draw,
    )


_SMALL = {"anchor": "start", "size": SMALL}


def experts_at_work(letters, roles, routes, read):
    """Draw where a router sends the letters of a text, letter by letter.

    Args:
        letters: what is read.
        roles: the colour of each letter.
        routes: for each letter a list of two (expert, share).
        read: for each expert the letters that come to it most often.

    Returns:
        the Picture, which moves.
    """
    shown = [each if each.strip() else "␣" for each in letters]

    def draw(phone):
        sheet, unit = Drawing(), 24 if phone else 36
        wide, deep = unit * len(letters), 150
        across = wide / len(read)
        for number, often in enumerate(read):
            x = across * (number + 0.5)
            sheet.box((x, deep), str(number), "plain", width=across - 6, height=26, size=SMALL)
            sheet.words((x, deep + 28), often, "muted", size=SMALL)
        sheet.words((wide / 2, deep + 50), "experts, and what each reads most", "muted", size=SMALL)
        for place, (letter, role, route) in enumerate(zip(shown, roles, routes, strict=True)):
            x = unit * (place + 0.5)
            with sheet.step(place + 1):
                for number, share in route:
                    aside = across * (number + 0.5) + (place / (len(letters) - 1) - 0.5) * (
                        across - 14
                    )
                    line = {"role": role, "width": 0.8 + 4 * share, "head": False}
                    sheet.arrow((x, 13), (aside, deep - 13), **line)
            sheet.box((x, 0), letter, role, width=unit - 4, height=26, size=SMALL, kind="solid")
        return sheet

    told = [
        f"“{letter}” goes to expert {route[0][0]} ({route[0][1]:.0%}) and"
        f" {route[1][0]} ({route[1][1]:.0%})."
        for letter, route in zip(shown, routes, strict=True)
    ]
    return Picture(
        f"The letters {' '.join(shown)} in a row, and {len(read)} experts below. From each letter"
        " two lines lead to the two experts that work on it, wide where its share is large."
        f" {' '.join(told)} What each expert reads most: {'; '.join(read)}.",
        draw,
        steps=told,
    )
