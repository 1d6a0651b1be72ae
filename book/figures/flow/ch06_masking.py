"""Chapter 6: who may look at whom, and what padding would mix in."""

from book.figures.flow.hand import SMALL, Drawing, Picture

APART = 74  # of two words, in pixels


def who_may_look(inputs, answers, masks, of):
    """Draw which inputs each position may look at, with the answer that one position must not see.

    Args:
        inputs: the words that are read, one a position.
        answers: what each position should say.
        masks: dict from a title to (query_len, key_len) bool, True where a query may attend.
        of: the position whose answer is marked.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet = Drawing()
        for panel, (title, mask) in enumerate(masks.items()):
            left, top = (0, 236 * panel) if phone else (342 * panel, 0)
            xs = [left + APART * place for place in range(len(inputs))]
            sheet.words((left - 28, top - 30), title, anchor="start", bold=True)
            leaks = bool(mask[of][of + 1])
            for x, word in zip(xs, answers, strict=True):
                sheet.box((x, top), word, "decoder", width=60, height=28, size=SMALL)
            for query, row in enumerate(mask):
                for key, may in enumerate(row):
                    if may and (query, key) != (of, of + 1):
                        start, end = (xs[key], top + 118), (xs[query], top + 15)
                        sheet.arrow(start, end, role="decoder" if query == of else "masked")
            if leaks:
                start, end = (xs[of + 1], top + 118), (xs[of], top + 15)
                sheet.arrow(start, end, role="wrong", width=3)
            for place, (x, word) in enumerate(zip(xs, inputs, strict=True)):
                role = "wrong" if leaks and place == of + 1 else "decoder"
                sheet.box((x, top + 132), word, role, width=60, height=28, size=SMALL, kind="solid")
            sheet.words((xs[0] - 30, top + 160), "reads", "muted", anchor="start", size=SMALL)
            said = f"“{inputs[of]}” should say “{answers[of]}”" + (", and sees it" if leaks else "")
            sheet.words(
                (xs[-1] + 30, top + 160),
                said,
                "wrong" if leaks else "right",
                anchor="end",
                size=SMALL,
            )
        return sheet

    counted = "; ".join(f"{title}: {int(mask.sum())} arrows" for title, mask in masks.items())
    return Picture(
        f"Below, the words that a decoder reads, “{' '.join(inputs)}”; above, what it should say at"
        f" each of them, “{' '.join(answers)}”. An arrow leads from each word to the positions that"
        f" may look at it; {counted}. Without a mask one arrow leads from {answers[of]} to the"
        " very position that should say it; with the mask every arrow comes from the same"
        " position or an earlier one.",
        draw,
    )


def padding_mixed_in(words, of, rows):
    """Draw what one position of a short sentence averages, with and without the padding.

    Args:
        words: of the sentence, padding among them.
        of: the position that looks.
        rows: dict from a title to the (key_len,) weights of that position.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet = Drawing()
        for panel, (title, weights) in enumerate(rows.items()):
            left, top = (0, 214 * panel) if phone else (342 * panel, 0)
            xs = [left + APART * place for place in range(len(words))]
            sheet.words((left - 28, top - 30), title, anchor="start", bold=True)
            out = sheet.box(
                (xs[of], top + 134), f"“{words[of]}”, averaged", "decoder", kind="solid", size=SMALL
            )
            for x, word, weight in zip(xs, words, weights, strict=True):
                pad = word == "<pad>"
                role = "decoder" if not pad else "wrong" if weight else "masked"
                box = sheet.box((x, top), word, role, width=60, height=28, size=SMALL)
                end = out.at(0.5 + (x - xs[of]) / 400, 0)
                sheet.arrow(
                    box.south,
                    end,
                    role=role,
                    width=1 + 8 * float(weight),
                    dashed=not weight,
                    head=bool(weight),
                    text=f"{weight:.2f}" if weight else "0",
                )
        return sheet

    told = "; ".join(
        f"{title}: "
        + ", ".join(f"{word} {weight:.2f}" for word, weight in zip(words, row, strict=True))
        for title, row in rows.items()
    )
    return Picture(
        f"Lines from the positions “{' '.join(words)}” to the average that {words[of]} gets, as"
        f" thick as its weights; {told}. With the mask the lines from padding are dashed and"
        " count nothing.",
        draw,
    )
