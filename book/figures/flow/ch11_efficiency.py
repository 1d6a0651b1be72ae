"""Chapter 11: tiles that come and go, what they move, a cache that grows, and heads that share."""

from book.figures.flow.hand import SMALL, Drawing, Picture, Place


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
            kind = "solid" if place == now else "box"
            look = {"width": across - 2, "height": 24, "size": SMALL, "kind": kind}
            key = sheet.box((x, -26), f"{place + 1}", "key", **look)
            value = sheet.box((x, high + 26), f"{place + 1}", "value", **look)
            if place == now:
                here = sheet.box(
                    (x, high / 2), "", "orange", width=across - 2, height=high, kind="solid"
                )
                sheet.upright((x, high / 2 + 52), "scores in memory", size=SMALL)
                sheet.arrow(key.south, here.north, role="key")
                sheet.arrow(here.south, value.north, role="orange", width=2.4)
                weighed = value
            else:
                sheet.box((x, high / 2), "", "masked", width=across - 2, height=high, kind="frame")
                said = "gone" if place < now else "not yet"
                sheet.upright((x, high / 2 + 20), said, "muted", size=SMALL)
        sheet.words((wide * (now + 0.5), -50), "keys, block by block", "key", size=SMALL)
        sheet.words(
            (weighed.centre[0] - 12, high + 50), "values", "value", anchor="end", size=SMALL
        )
        left, kept = unit * key_len + (34 if phone else 60), []
        for place, name in enumerate(("maximum", "total", "average")):
            column = sheet.box(
                (left + 26 * place, high / 2), "", "value", width=20, height=high, kind="solid"
            )
            sheet.upright((left + 26 * place, high / 2 + 26), name, size=SMALL)
            kept.append(column)
        whole, low = sheet.frame(kept, role="value", around=5), high + 60
        sheet.arrow(
            weighed.south,
            (weighed.centre[0], low),
            (whole.centre[0], low),
            whole.south,
            role="orange",
            width=2.4,
            text="described and merged",
            side=(0, 13),
        )
        sheet.words((whole.centre[0], -24), "all that\nis kept", "value", size=SMALL)
        return sheet

    blocks = -(-key_len // block_size)
    return Picture(
        f"A table of scores cut into {blocks} upright blocks, with queries at its left, keys"
        f" above and values below. The first {now} blocks are marked gone, block {now + 1} is"
        " filled and says: scores in memory; the others are not yet made. An arrow, described and"
        " merged, leads from the filled block through its values to three narrow columns, all"
        " that is kept: maximum, total and average.",
        draw,
    )


def two_loops(blocks, tile, now):
    """Draw what flash attention moves between the memories of a GPU.

    Args:
        blocks: how many blocks (of queries, of keys) there are.
        tile: how many (queries, keys) a tile has.
        now: which block (of queries, of keys) is in fast memory, counted from 0.

    Returns:
        the Picture.
    """
    (rows, columns), (query_now, key_now) = tile, now
    marked = [[place == query_now] for place in range(blocks[0])]
    done = [[0.7 * (place < query_now)] for place in range(blocks[0])]
    read = [[place == key_now] for place in range(blocks[1])]

    def draw(phone):
        sheet, (left, middle, right) = Drawing(), (0, 96, 212) if phone else (0, 200, 430)
        cell, low, top = (58, 17), 17 * max(blocks), 17 * max(blocks) + 132
        slow = [
            sheet.cells(
                (x - 29, low - 17 * len(shares)),
                [[""]] * len(shares),
                role,
                cell=cell,
                shares=shares,
            )
            for x, role, shares in (
                (left, "query", marked),
                (middle, "key", read),
                (right, "value", done),
            )
        ]
        names = ("queries", "query"), ("keys, values", "key"), ("output", "value")
        for place, (name, role) in zip(slow, names, strict=True):
            sheet.words((place.centre[0], place.y - 12), name, role, size=SMALL)
        sheet.frame(
            [*slow, Place(left - 40, -24, right - left + 80, low)],
            "main memory: large and slow, 2 TB/s",
            around=12,
        )
        size = {"height": 40, "size": SMALL}
        query = sheet.box((left, top), f"{rows}\nqueries", "query", width=68, kind="solid", **size)
        key, value = (
            sheet.box(
                (middle + across, top), f"{columns}\n{name}", role, width=54, kind="solid", **size
            )
            for across, name, role in (
                (-32 if phone else -40, "keys", "key"),
                (26 if phone else 40, "values", "value"),
            )
        )
        known = sheet.box((right, top), "maximum, total,\naverage", "value", width=108, **size)
        tile_at = ((left + key.centre[0]) / 2, top + 84)
        scores = sheet.box(
            tile_at, f"{rows} × {columns}\nscores", "orange", width=80, kind="solid", **size
        )
        sheet.frame(
            [query, key, value, known, scores],
            "fast memory of one multiprocessor: 163 KB",
            around=12,
            above=False,
        )
        sheet.arrow(slow[0].south, query.north, role="query", text="once")
        for box, role in ((key, "key"), (value, "value")):
            sheet.arrow(slow[1].south, box.north, role=role)
        between = (middle, (slow[1].south[1] + key.north[1]) / 2)
        sheet.words(
            between, "one by one,\nfor each block\nof queries", "key", size=SMALL, halo=True
        )
        sheet.arrow(known.north, slow[2].south, role="value", text="once, at\nthe end")
        for box in (query, key):
            sheet.arrow(box.south, scores.north, role="orange")
        sheet.arrow(value.south, (value.centre[0], scores.centre[1] - 2), role="value")
        corner = (known.centre[0], scores.centre[1])
        sheet.arrow(
            scores.east, corner, known.south, role="orange", width=2.4, text="merged", side=(0, 12)
        )
        return sheet

    return Picture(
        "Two frames. The upper one is the main memory of a GPU, large and slow with its 2 TB/s:"
        f" {blocks[0]} blocks of queries, {blocks[1]} of keys and values, {blocks[0]} of the"
        " output. The lower one is the fast memory of one multiprocessor, 163 KB:"
        f" {rows} queries, {columns} keys with their values, the {rows} by {columns} scores that"
        " are made of queries and keys, and the"
        " maximum, total and average into which scores and values are merged. A block of queries"
        " comes down once, the blocks of keys and values come one by one, for each block of"
        " queries again, and a block of the output goes up once, at the end. The scores have no"
        " arrow to the upper frame.",
        draw,
    )


def growing_cache(words):
    """Draw which words go through the layers at each step, without a cache and with one.

    Args:
        words: what the decoder reads, one word more in each step.

    Returns:
        the Picture.
    """
    count = len(words)
    made = {"without a cache": count * (count + 1) // 2, "with a cache": count}

    def draw(phone):
        sheet, wide, step = Drawing(), 48, 29
        for panel, (title, total) in enumerate(made.items()):
            left, top = (
                (0, (step * count + 62) * panel) if phone else ((wide * count + 78) * panel, 0)
            )
            sheet.words(
                (left - 6, top - 28), f"{title}: {total} computed", anchor="start", bold=True
            )
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
        " others are dashed, because their keys and values are kept. Words computed:"
        f" {told}.",
        draw,
        steps=(
            f"Step {row + 1}: {_words(row + 1)} through the layers without a cache, one with it."
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
