"""The map of the whole Transformer, large on the first page and small at the top of every chapter:
an extension of Sphinx.

The directive `transformer-map` draws the large map. The small one needs no text in a page: it is
put beneath the title of each page that a box leads to.
"""

import html

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book.sphinx_ext.map_boxes import boxes_of
from book.sphinx_ext.map_drawing import large, small

LARGE_MAP = "map-of-the-transformer"


def here(page):
    """Return in plain words which part of the Transformer a page teaches."""
    names = dict.fromkeys(box.name for box in boxes_of(page))
    return " and ".join(names)


class TransformerMap(SphinxDirective):
    """The large map."""

    def run(self):
        """Return it as a node that holds HTML."""
        builder, page = self.env.app.builder, self.env.docname

        def address(stem):
            return builder.get_relative_uri(page, f"book/{stem}")

        static = "../" * page.count("/") + "_static/transformer_map.js"
        made = (
            f'<nav class="transformer-map" id="{LARGE_MAP}" aria-label="Map of the Transformer">'
            '<div class="following"><p class="does" aria-hidden="true">Point at a box to see what'
            " it does; choose it to open its chapter.</p></div>"
            f"{large('wide', address)}{large('phone', address)}"
            '<p class="visually-hidden"'
            f' role="status"></p></nav><script defer src="{static}"></script>'
        )
        return [nodes.raw("", made, format="html")]


def put_small_map(app, doctree, page_name):
    """Put the small map beneath the title of a page that a box leads to."""
    page = page_name.removeprefix("book/")
    if not here(page):
        return
    stop = "" if here(page).endswith("?") else "."
    home = app.builder.get_relative_uri(page_name, app.config.root_doc)
    made = (
        f'<div class="transformer-map at-the-top">{small(page)}<p>You are here: '
        f"<strong>{html.escape(here(page))}</strong>{stop}"
        f' <a href="{home}#{LARGE_MAP}">The whole map</a></p></div>'
    )
    title = next(doctree.findall(nodes.title))
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", made, format="html"))


def setup(app):
    """Be an extension of Sphinx."""
    app.add_directive("transformer-map", TransformerMap)
    app.connect("doctree-resolved", put_small_map)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
