"""Chapter 11: tiles that come and go, a cache that grows, and heads that share."""

from book.figures.flow.hand import SMALL, Drawing, Picture


def tiles(query_len, key_len, block_size, now):
    """Draw how attention goes through the table of scores block by block.

    Args:
        query_len, key_len: rows and columns of the table.
        block_size: columns of a tile.
        now: which block is in memory, counted from 0.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, unit = Drawing(), 12 if phone else 24
        high = query_len * (20 if phone else 24)
        sheet.box((-24, high / 2), "", "query", width=20, height=high, kind="solid")
        sheet.upright((-24, high / 2 + 22), "queries", "", size=SMALL)
        wide, here = unit * block_size, None
        for place in range(-(-key_len // block_size)):
            across = min(block_size, key_len - place * block_size) * unit
            x = place * wide + across / 2
            key = sheet.box(
                (x, -26),
                f"{place + 1}",
                "key",
                width=across - 2,
                height=24,
                size=SMALL,
                kind="solid" if place == now else "box",
            )
            if place == now:
                here = sheet.box(
                    (x, high / 2), "", "orange", width=across - 2, height=high, kind="solid"
                )
                sheet.upright((x, high / 2 + 30), "in memory", size=SMALL)
                sheet.arrow(key.south, here.north, role="key")
            else:
                sheet.box((x, high / 2), "", "masked", width=across - 2, height=high, kind="frame")
                said = "gone" if place < now else "not yet"
                sheet.upright((x, high / 2 + 20), said, "muted", size=SMALL)
        sheet.words((wide * (now + 0.5), -50), "keys, block by block", "key", size=SMALL)
        left, kept = unit * key_len + (34 if phone else 60), []
        for place, name in enumerate(("maximum", "total", "average")):
            column = sheet.box(
                (left + 26 * place, high / 2), "", "value", width=20, height=high, kind="solid"
            )
            sheet.upright((left + 26 * place, high / 2 + 26), name, size=SMALL)
            kept.append(column)
        low = high + 22
        sheet.arrow(
            here.south,
            (here.centre[0], low),
            (kept[1].centre[0], low),
            kept[1].south,
            role="orange",
            width=2.4,
            text="merged",
        )
        sheet.words((kept[1].centre[0], -18), "all that\nis kept", "value", size=SMALL)
        return sheet

    blocks = -(-key_len // block_size)
    return Picture(
        f"A table of scores cut into {blocks} upright blocks, with queries at its left and keys"
        f" above. The first {now} blocks are marked gone, block {now + 1} is filled and marked in"
        " memory, the others are not yet made. An arrow leads from the filled block to three"
        " narrow columns: maximum, total and average.",
        draw,
    )


def growing_cache(words):
    """Draw which keys and values are made at each step, without a cache and with one.

    Args:
        words: the words that are written one after the other.

    Returns:
        the Picture.
    """
    count = len(words)
    made = {"without a cache": count * (count + 1) // 2, "with a cache": count}

    def draw(phone):
        sheet, wide, step = Drawing(), 46, 29
        for panel, (title, total) in enumerate(made.items()):
            left, top = (
                (0, (step * count + 62) * panel) if phone else ((wide * count + 78) * panel, 0)
            )
            sheet.words((left - 6, top - 28), f"{title}: {total} made", anchor="start", bold=True)
            for row in range(count):
                y = top + step * row
                sheet.words((left - 10, y), str(row + 1), "muted", anchor="end", size=SMALL)
                with sheet.step(row + 1):
                    for place, word in enumerate(words[: row + 1]):
                        new = not panel or place == row
                        centre = (left + wide * (place + 0.5), y)
                        kind = "solid" if new else "frame"
                        sheet.box(
                            centre, word, "key", width=wide - 4, height=24, size=SMALL, kind=kind
                        )
        return sheet

    told = "; ".join(f"{title} {total}" for title, total in made.items())
    return Picture(
        f"Two triangles of words, one row for each of {count} steps. Without a cache all boxes of"
        " all rows are filled. With a cache only the last box of each row is filled, and the"
        " others are dashed, because their keys and values are kept. Keys and values made:"
        f" {told}.",
        draw,
        steps=(
            f"Step {row + 1}: keys and values of {_words(row + 1)} without a cache, of one with it."
            for row in range(count)
        ),
    )


def _words(count):
    return f"{count} words" if count > 1 else "one word"


def shared_heads(layouts):
    """Draw which heads of queries share which heads of keys and values.

    Args:
        layouts: dict from a title to (heads, kv_heads).

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, unit = Drawing(), 32 if phone else 25
        left = top = 0
        for title, (heads, kv_heads) in layouts.items():
            wide = unit * heads
            sheet.words((left, top - 30), title, anchor="start", bold=True)
            size = {"width": unit - 5, "height": 24, "size": SMALL}
            shared = [
                sheet.box(
                    (left + wide * (group + 0.5) / kv_heads, top + 72), str(group), "key", **size
                )
                for group in range(kv_heads)
            ]
            for head in range(heads):
                box = sheet.box((left + unit * (head + 0.5), top), str(head), "query", **size)
                sheet.arrow(
                    box.south, shared[head * kv_heads // heads].north, role="masked", head=False
                )
            left, top = (0, top + 144) if phone else (left + wide + 32, 0)
        return sheet

    told = "; ".join(
        f"{title}: {heads} of queries, {kv} of keys and values"
        for title, (heads, kv) in layouts.items()
    )
    return Picture(
        f"Numbered heads of queries above, heads of keys and values below, joined by lines: {told}."
        " Where heads share, neighbours are joined to the same head below.",
        draw,
    )
