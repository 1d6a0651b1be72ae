"""Chapter 10: a sum that goes round a ring of workers."""

from book.figures.flow.hand import SMALL, Drawing, Picture


def ring(states):
    """Draw what the workers of an all-reduce hold before it and after each turn.

    Args:
        states: arrays (workers, chunks): of how many workers' gradients each chunk is the sum;
            first as it was before, then after each turn.

    Returns:
        the Picture.
    """
    workers = len(states[0])
    half = workers - 1
    rows = {"reduce-scatter": range(half + 1), "all-gather": range(half + 1, 2 * half + 1)}

    def draw(phone):
        sheet, cell, gap = Drawing(), 17 if phone else 22, 18 if phone else 34
        left, top = 0 if phone else 130, 0
        for name, turns in rows.items():
            point = (0, top - 34) if phone else (0, top + cell * workers / 2)
            sheet.words(point, name, bold=True, anchor="start", size=SMALL + 1)
            for place, turn in enumerate(turns):
                x = left + place * (workers * cell + gap)
                title = f"turn {turn}" if turn else "before"
                sheet.words((x + workers * cell / 2, top - 12), title, "muted", size=SMALL)
                counts = [[int(each) for each in row] for row in states[turn]]
                tints = [[0.8 * each / workers for each in row] for row in counts]
                sheet.cells((x, top), counts, "orange", cell=(cell, cell), shares=tints)
            top += cell * workers + (64 if phone else 48)
        return sheet

    told = "; ".join(
        f"{'after turn ' + str(turn) if turn else 'before'}: "
        + ", ".join(" ".join(str(int(each)) for each in row) for row in state)
        for turn, state in enumerate(states)
    )
    return Picture(
        f"Grids of {workers} workers (rows) and {workers} chunks (columns). A number says of how"
        f" many workers' gradients a chunk is the sum, row after row. {told}.",
        draw,
    )
