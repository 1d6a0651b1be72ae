"""What stands around the pages of the book: their descriptions, the picture of a shared link, the
course's version, how to cite it, where to report an error.

As an extension of Sphinx (`_config.yml` names it) this writes into the head of each page what
search engines and those who show a shared link read there, and into its foot the version. A page
describes itself in its front matter (`myst: html_meta: description:`); a notebook is described by
its exercises. Addresses are absolute where `html: baseurl:` in `_config.yml` says where the book is
published, and otherwise relative to the page.

`python -m book.sphinx_ext.frame` draws the picture of a shared link anew, and the icon for home
screens.
"""

import html
import json
import posixpath
import re
import tomllib
from pathlib import Path
from urllib.parse import urlencode

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
CITATION = ROOT / "CITATION.cff"
CITING_PAGE = "book/references"
STATIC = ROOT / "book" / "_static"
FAVICON = STATIC / "favicon.svg"
ICON, ICON_SIZE = "apple-touch-icon.png", 180  # of a home screen, which does not take `favicon.svg`
PICTURE = "open-graph.png"
PICTURE_SIZE = (1200, 630)  # pixels, as those who show links ask for it
COLOURS = (
    128  # of the picture: the letters stay smooth, and the file is a third of what it would be
)
PICTURE_TEXT = (
    "The title of the course beside an attention map: for each word of “il tuo gatto è un gatto"
    " adorabile”, where a translator looked in “your cat is a lovely cat”."
)
# Characters of a description: search engines pass over what is shorter, and cut off what is longer.
SHORTEST, LONGEST = (120, 160)
ENDINGS = (
    ", and have each checked at once, with a hint where it is wrong.",
    ", and have each checked at once.",
    ".",
)

FIRST_PAGE = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta http-equiv="refresh" content="0; url={target}" />
    <title>{title}</title>
{tags}  </head>
  <body><p><a href="{target}">{title}</a></p></body>
</html>
"""


def course_version():
    """Return the version that `pyproject.toml` gives the course."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]


def description_of(source):
    """Return what a page says of itself, in a sentence or two; None where it says nothing.

    Args:
        source: path of the page's source: a `.md`, with or without front matter, or a released
            notebook.
    """
    text = Path(source).read_text(encoding="utf-8")
    if Path(source).suffix == ".ipynb":
        return _description_of_notebook(json.loads(text)["cells"])
    front = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    settings = yaml.safe_load(front[1]) if front else {}
    return settings.get("myst", {}).get("html_meta", {}).get("description")


def _description_of_notebook(cells):
    """Name as many of a notebook's exercises as there is room for."""
    sources = ["".join(cell["source"]) for cell in cells]
    title = re.search(r"^# (.+)", "\n".join(sources), re.MULTILINE)[1]
    names = [name for source in sources for name in re.findall(r'^check\("(\w+)"\)', source)]
    for count in range(len(names), 0, -1):
        *most, last = names[:count] if count == len(names) else [*names[:count], "more"]
        some = f"{', '.join(most)} and {last}" if most else last
        for ending in ENDINGS:
            told = f"Notebook to the chapter “{title}”: write {some} yourself{ending}"
            if SHORTEST <= len(told) <= LONGEST:
                return told
    return None


def setup(app):
    """Be an extension of Sphinx."""
    app.connect("config-inited", tell_version)
    app.connect("html-page-context", frame_page)
    # Before sphinx_external_toc writes a bare one.
    app.connect("build-finished", write_first_page, priority=400)
    app.add_directive("how-to-cite", HowToCite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def tell_version(app, config):
    """Let Sphinx know the course's version."""
    config.version = config.release = course_version()


def frame_page(app, page_name, template_name, context, doctree):
    """Put description and picture into the head of a page, and the version into its foot.

    Pages without a source, such as that of the search, have the description of the whole book.
    """
    path_to = context["pathto"]
    source = app.env.doc2path(page_name if page_name in app.env.all_docs else app.config.root_doc)
    card = link_card(
        _plain(context.get("title", "")),
        description_of(source),
        book=_plain(app.config.html_title),
        kind="website" if page_name == app.config.root_doc else "article",
        picture=path_to(f"_static/{PICTURE}", 1),
        base=app.config.html_baseurl,
        address=context.get("pageurl"),
    )
    tags = context.get("metatags") or ""
    tags += _meta_tags({name: told for name, told in card.items() if f'name="{name}"' not in tags})
    context["metatags"] = (
        f'{tags}    <link rel="apple-touch-icon" href="{path_to(f"_static/{ICON}", 1)}" />\n'
    )
    # "#" alone where this is that page.
    cite = path_to(CITING_PAGE).removesuffix("#") + "#how-to-cite"
    report = report_link(app.config.html_theme_options.get("repository_url", ""), context)
    context["theme_extra_footer"] = (
        f'<p>Version {course_version()}. <a href="{cite}">How to cite</a>{report}</p>'
    )


def report_link(repository, context):
    """Return a link with which a reader reports an error of a page; nothing without a repository.

    Args:
        repository: its address.
        context: of the page, with its title and name.
    """
    if not repository:
        return ""
    asked = {
        "title": f"Error in “{_plain(context.get('title', ''))}”",
        "body": f"Page: {context['pagename']}\n\nIt says:\n\nIt should say:\n",
    }
    address = html.escape(f"{repository}/issues/new?{urlencode(asked)}")
    return f'. <a href="{address}">Report an error on this page</a>'


def link_card(title, description, *, book, kind, picture, base, address):
    """Return dict: name of a meta tag -> what it says about a page.

    Args:
        title, description: of the page; a description that is None is left out.
        book: the title of the book.
        kind: "website" or "article".
        picture: where it lies, seen from the page.
        base: address at which the book is published, or empty.
        address: of the page, or None.
    """
    card = {
        "description": description,
        "og:title": title,
        "og:description": description,
        "og:type": kind,
        "og:site_name": book,
        "og:url": address,
        "og:image": posixpath.join(base, "_static", PICTURE) if base else picture,
        "og:image:width": str(PICTURE_SIZE[0]),
        "og:image:height": str(PICTURE_SIZE[1]),
        "og:image:alt": PICTURE_TEXT,
        "twitter:card": "summary_large_image",
    }
    return {name: told for name, told in card.items() if told}


def _plain(title):
    """Take a title's markup away."""
    return html.unescape(re.sub(r"<[^>]+>", "", title))


def _meta_tags(card):
    """Write meta tags, one a line; Open Graph calls a name a property."""
    return "".join(
        f'    <meta {"property" if name.startswith("og:") else "name"}="{name}"'
        f' content="{html.escape(told)}" />\n'
        for name, told in card.items()
    )


def write_first_page(app, exception):
    """Write the page at the top of the book's folder, which leads to the book's first page and says
    the same of itself.
    """
    root = app.config.root_doc
    if exception is not None or app.builder.name != "html" or root == "index":
        return
    title, base = _plain(app.config.html_title), app.config.html_baseurl
    card = link_card(
        title,
        description_of(app.env.doc2path(root)),
        book=title,
        kind="website",
        picture=f"_static/{PICTURE}",
        base=base,
        address=posixpath.join(base, f"{root}.html") if base else None,
    )
    page = FIRST_PAGE.format(target=f"{root}.html", title=html.escape(title), tags=_meta_tags(card))
    (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


class HowToCite(SphinxDirective):
    """Says how to cite the course, in words and for BibTeX, out of `CITATION.cff`."""

    def run(self):
        self.env.note_dependency(str(CITATION))
        given = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
        authors = " and ".join(author["name"] for author in given["authors"])
        year = re.search(r"\d{4}", self.config.copyright)[0]
        words = (
            f"{authors[0].upper()}{authors[1:]} ({year}). {given['title']}. Version"
            f" {given['version']}."
        )
        entry = (
            "@software{attention_built_by_hand,\n"
            f"  author  = {{{{{authors}}}}},\n"
            f"  title   = {{{given['title']}}},\n"
            f"  version = {{{given['version']}}},\n"
            f"  year    = {{{year}}}\n"
            "}"
        )
        block = nodes.literal_block(entry, entry, language="bibtex")
        return [nodes.paragraph(words, words), block]


def draw_picture(path=STATIC / PICTURE):
    """Draw the picture of a shared link: the course's title, and where a trained translator looked.

    For each word that it wrote, that is the mean over the heads of its last layer, as the explorer
    of the first page shows it.
    """
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    from book import figures
    from book.experiments import measurements

    figures.use_house_style()
    given = measurements.load("first_translations")["runs"][0]
    weights = np.array(given["weights"])[:-1, -1].mean(
        axis=1
    )  # (written words, source words), without <eos>
    title = yaml.safe_load(CITATION.read_text(encoding="utf-8"))["title"]
    figure = figures.open_graph(
        weights, given["source"], given["written"][:-1], title, PICTURE_SIZE
    )
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    pixels.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def draw_icon(path=STATIC / ICON):
    """Draw the squares of `favicon.svg` as pixels. The corners stay square: home screens round them
    themselves.
    """
    from PIL import Image, ImageColor, ImageDraw

    svg = FAVICON.read_text(encoding="utf-8")
    ground, *squares = [
        dict(re.findall(r'([a-z]+)="([^"]+)"', tag)) for tag in re.findall("<rect[^>]*>", svg)
    ]
    paper, ink = (
        ImageColor.getrgb(ground["fill"]),
        ImageColor.getrgb(re.search('<g fill="([^"]+)"', svg)[1]),
    )
    scale = 45  # large first, and then smaller: 180 is no multiple of 32
    icon = Image.new("RGB", (int(ground["width"]) * scale, int(ground["height"]) * scale), paper)
    for square in squares:
        left, top, width, height = (
            int(square[name]) * scale for name in ("x", "y", "width", "height")
        )
        opacity = float(square.get("opacity", 1))
        colour = tuple(
            round(below + opacity * (above - below))
            for below, above in zip(paper, ink, strict=True)
        )
        ImageDraw.Draw(icon).rectangle((left, top, left + width - 1, top + height - 1), fill=colour)
    icon.resize((ICON_SIZE, ICON_SIZE), Image.Resampling.BOX).save(path, optimize=True)


if __name__ == "__main__":
    draw_picture()
    draw_icon()
