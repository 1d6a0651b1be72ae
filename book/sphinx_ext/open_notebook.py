"""Where an exercise is done: the directives `open-notebook` and `get-course`, an extension of
Sphinx.

In a page, after the sentence that names the exercise:

    ```{open-notebook} ch04_attention
    ```

The first of a page becomes a short paragraph with the command that opens a copy of the notebook,
the copy's path, and a link to read it in the book. Where `_config.yml` says that the course is on
GitHub (`repository`), links open it in Colab and in Binder too. The others name the copy alone.
`get-course`, on the first page, says how to get the course: from that place, or, without one, from
the book itself, which then carries all of the last commit as a zip.
"""

import re
import subprocess
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

from autograder.course import ROOT, repository

GET_COURSE = "get-course"  # a label on the first page
ARCHIVE = "attention.zip"  # in the book's folder
NEEDED = "You need Python 3.11 or newer, {} (on Windows, use WSL). "
NO_ADDRESS = (
    "In the course’s folder, “attention”, which you have from your teacher or from whoever sent you"
    " here, type in a terminal:"
)
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


class OpenNotebook(SphinxDirective):
    """The paragraph for one chapter's notebook; its argument is the chapter's stem."""

    required_arguments = 1

    def run(self):
        """Return the paragraph.

        Raises:
            DirectiveError: if there is no such notebook.
        """
        stem = self.arguments[0]
        path = f"notebooks/{stem}/{stem}"
        if not Path(self.env.srcdir, f"{path}.ipynb").exists():
            raise self.error(f"there is no {path}.ipynb; name a chapter, such as ch04_attention")
        text, code = nodes.Text, lambda words: nodes.literal(text=words)
        copy, read = code(f"work/{stem}.ipynb"), page_link("read it here", "doc", f"/{path}", self)
        known = self.env.temp_data.setdefault("opened notebooks", set())  # of this page
        if stem in known:
            parts = [nodes.strong(text="In your notebook:"), text(" "), copy, text(" (or "), read]
            return [nodes.paragraph("", "", *parts, text(")."), classes=["open-notebook"])]
        known.add(stem)
        parts = [
            nodes.strong(text="Open the notebook:"),
            text(" type "),
            code("make lab"),
            text(" "),
            page_link("in the course’s folder", "ref", GET_COURSE, self),
            text(" and open your own copy, "),
        ]
        parts += [copy, text(". You can "), read, text(", but not run it.")]
        if links := links_elsewhere(path, *self.config.course_repository):
            colab, binder = (
                nodes.reference("", words, refuri=address) for words, address in links.items()
            )
            parts += [
                text(" To run it without installing anything, "),
                colab,
                text(" or "),
                binder,
                text("."),
            ]
        return [nodes.paragraph("", "", *parts, classes=["open-notebook"])]


class GetCourse(SphinxDirective):
    """The commands that get the course and open its notebooks."""

    def run(self):
        """Return what they need, and a block of code with them.

        Raises:
            subprocess.CalledProcessError: if git cannot make the zip.
        """
        address, branch = self.config.course_repository
        lab = "make lab    # the first time it sets everything up: one to five minutes"
        if address:
            lines = [f"git clone --branch {branch} {address} attention", "cd attention", lab]
            told = [nodes.Text(NEEDED.format("git and make") + "Type in a terminal:")]
        elif (ROOT / ".git").exists():
            lines = ["cd attention", lab]
            told = [nodes.Text(NEEDED.format("and make")), self.download()]
            told += [nodes.Text(", unpack it, and type in a terminal:")]
        else:
            lines, told = [lab], [nodes.Text(NEEDED.format("and make") + NO_ADDRESS)]
        block = nodes.literal_block(text="\n".join(lines), language="sh")
        return [nodes.paragraph("", "", *told), block]

    def download(self):
        """Put the last commit into the book as a zip; return a link to it, with its size."""
        path = Path(self.env.app.outdir, ARCHIVE)
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["git", "archive", "--prefix=attention/", f"--output={path}", "HEAD"]
        subprocess.run(command, cwd=ROOT, check=True)
        up = "../" * self.env.docname.count("/")
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        link = nodes.reference("", "Download the course", refuri=up + ARCHIVE, internal=True)
        return nodes.inline("", "", link, nodes.Text(f" ({size})"))


def links_elsewhere(path, address, branch):
    """Return the addresses that open a notebook on other people's machines, by what their links
    say; none without a place on GitHub.

    Args:
        path: of the notebook in the repository, without its ending.
        address, branch: as `repository` gives them.
    """
    if not (match := GITHUB.fullmatch(address)):
        return {}
    name, branch, file = match[1], quote(branch), f"{path}.ipynb"
    return {
        "open it in Colab": f"https://colab.research.google.com/github/{name}/blob/{branch}/{file}",
        "open it in Binder": (
            f"https://mybinder.org/v2/gh/{name}/{quote(branch, safe='')}"
            f"?labpath={quote(file, safe='')}"
        ),
    }


def page_link(text, kind, target, directive):
    """Return a link which Sphinx resolves: to a page of the book ("doc") or to a place on one
    ("ref").
    """
    place = {"refdomain": "std", "reftype": kind, "reftarget": target}
    place |= {"refdoc": directive.env.docname, "refexplicit": True, "refwarn": True}
    return pending_xref("", nodes.inline(text=text), **place)


def setup(app):
    """Be an extension of Sphinx."""
    app.add_config_value(
        "course_repository", lambda config: repository(), "env", types=[tuple, list]
    )
    app.add_directive("open-notebook", OpenNotebook)
    app.add_directive("get-course", GetCourse)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
