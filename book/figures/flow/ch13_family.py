"""Chapter 13: who depends on whom in four models, and an image as a sentence of patches."""

import numpy as np

from book.figures.flow.hand import SMALL, Drawing, Picture

ON_A_PHONE = ((0, 0), (190, 0), (0, 296), (0, 600))  # where the four models are


def four_models(models):
    """Draw who depends on whom in several models: inputs below, outputs above, and a line wherever
    an output moves with an input.

    Args:
        models: list of four dict: `title`; `inputs`, a word for each place; `encoder`, how many of
            the places belong to an encoder; `sees`, a set of (output, input); `predicts`, dict from
            an output to what is asked of it.

    Returns:
        the Picture.
    """

    def draw(phone):
        sheet, apart = Drawing(), 31
        for panel, model in enumerate(models):
            left, top = ON_A_PHONE[panel] if phone else (352 * (panel % 2), 320 * (panel // 2))
            places = range(len(model["inputs"]))
            roles = ["encoder" if place < model["encoder"] else "decoder" for place in places]
            xs = [left + apart * place for place in places]
            sheet.words((left - 10, top - 74), model["title"], anchor="start", bold=True)
            for output, source in sorted(model["sees"]):
                start, end = (xs[source], top + 99), (xs[output], top + 9)
                sheet.arrow(start, end, role=roles[output], width=1.1, head=False)
            for x, word, role, place in zip(xs, model["inputs"], roles, places, strict=True):
                sheet.circle((x, top), 9, "", role)
                sheet.circle((x, top + 108), 9, "", role)
                sheet.upright((x, top + 124), word, up=False)
                asked = model["predicts"].get(place, "")
                if asked:
                    sheet.upright((x, top - 15), asked, "right")
        return sheet

    told = []
    for model in models:
        asked = ", ".join(model["predicts"].values())
        told.append(
            f"{model['title']}: {len(model['inputs'])} places, {len(model['sees'])} lines, asked"
            f" for {asked}"
        )
    return Picture(
        "Four panels, each with a row of inputs below, a row of outputs above, and a line"
        f" wherever an output moves with an input: {'; '.join(told)}. In BERT every output is"
        " joined to all inputs, in ViT to all patches, in GPT to the inputs at its place and to the"
        " left, and in T5 the outputs on the right are joined to all words of the encoder and to"
        " their own up to their place.",
        draw,
    )


def image_to_patches(image, patches, patch_size, rows):
    """Draw an image with its patches, the row of pixels that each becomes, and the vectors that a
    matrix makes of these.

    Args:
        image: (height, width), dark where it is large.
        patches: (count, patch_size * patch_size), as `patchify` returns them.
        rows: (count, d_model), what the matrix makes of them.

    Returns:
        the Picture.
    """
    count, marked = len(patches), len(patches) // 2
    per_row = image.shape[1] // patch_size
    largest = image.max()

    def draw(phone):
        sheet, pixel, cell = Drawing(), 17 if phone else 26, 15 if phone else 24
        height = len(image) * pixel
        blank = [[""] * image.shape[1] for _ in image]
        whole = sheet.cells(
            (0, 0), blank, "plain", cell=(pixel, pixel), shares=1.7 * image / largest
        )
        for place in range(count):
            x, y = (pixel * patch_size * each for each in (place % per_row, place // per_row))
            side = pixel * patch_size
            role, kind = ("orange", "frame") if place != marked else ("orange", "outline")
            sheet.box((x + side / 2, y + side / 2), "", role, width=side, height=side, kind=kind)
        left = whole.width + (34 if phone else 70)
        line, starts = height / count, []
        for place, patch in enumerate(patches):
            role = "orange" if place == marked else "plain"
            corner = (left, line * place + 1)
            starts.append(
                sheet.cells(
                    corner,
                    [[""] * len(patch)],
                    role,
                    cell=(cell, line - 3),
                    shares=[1.7 * patch / largest],
                )
            )
        x, y = (pixel * patch_size * (each + 0.5) for each in (marked % per_row, marked // per_row))
        sheet.arrow((x + pixel * patch_size / 2, y), starts[marked].west, role="orange", width=2)
        after = starts[0].east[0] + (46 if phone else 96)
        broad = (70 if phone else 160) / len(rows[0])
        strong = np.abs(rows) / np.abs(rows).max()
        for place, row in enumerate(strong):
            role = "orange" if place == marked else "encoder"
            corner = (after, line * place + 1)
            end = sheet.cells(corner, [[""] * len(row)], role, cell=(broad, line - 3), shares=[row])
            sheet.arrow(
                starts[place].east, end.west, role="orange" if place == marked else "plain", width=1
            )
        sheet.words((whole.centre[0], -16), "an image", size=SMALL)
        sheet.words(
            (left + cell * len(patches[0]) / 2, -16),
            f"{count} rows of\n{len(patches[0])} pixels"
            if phone
            else f"{count} rows of {len(patches[0])} pixels",
            size=SMALL,
        )
        sheet.words(
            (after + broad * len(rows[0]) / 2, -16),
            f"{count} vectors\nof {len(rows[0])}"
            if phone
            else f"{count} vectors of {len(rows[0])}",
            "encoder",
            size=SMALL,
        )
        sheet.words(((starts[0].east[0] + after) / 2, height + 14), "× matrix", "muted", size=SMALL)
        return sheet

    return Picture(
        f"An image of {image.shape[0]} by {image.shape[1]} pixels is cut into {count} patches of"
        f" {patch_size} by {patch_size}. Each patch becomes a row of {len(patches[0])} pixels,"
        " from the upper left patch to the lower right one, and a matrix makes a vector of"
        f" {len(rows[0])} numbers of each row. Patch {marked + 1} is marked on its way.",
        draw,
    )
