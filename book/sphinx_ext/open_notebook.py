"""Where an exercise is done: the directives `open-notebook` and `get-course`, an extension of
Sphinx.

In a page, after the sentence that names the exercise:

    ```{open-notebook} ch04_attention
    ```

It becomes a short paragraph with the command that opens a copy of the notebook, the copy's path,
and a link to read it in the book. Where `_config.yml` says that the course is on GitHub
(`repository`), links open it in Colab and in Binder too. `get-course`, on the first page, says how
to get the course.
"""

import re
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

from autograder.course import repository

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
        parts = [
            nodes.strong(text="Open the notebook:"),
            text(" type "),
            code("make lab"),
            text(" "),
            page_link("in the course’s folder", self.config.root_doc, self.env.docname),
            text(" and open your own copy, "),
        ]
        parts += [code(f"work/{stem}.ipynb"), text(". In the book you can ")]
        parts += [page_link("read it", path, self.env.docname), text(", but not run it.")]
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
        """Return them as a block of code."""
        address, branch = self.config.course_repository
        get = (
            f"git clone --branch {branch} {address} attention"
            if address
            else "# once: get the course's folder, as a zip or with git"
        )
        lines = [
            get,
            "cd attention",
            "make lab    # the first time it sets everything up: one to five minutes",
        ]
        before = nodes.paragraph(
            "", "On a computer with Python 3.11 or newer, git and make, in a terminal:"
        )
        return [before, nodes.literal_block(text="\n".join(lines), language="sh")]


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


def page_link(text, path, docname):
    """Return a link to a page of the book, which Sphinx resolves."""
    target = {"refdomain": "std", "reftype": "doc", "reftarget": f"/{path}", "refdoc": docname}
    return pending_xref("", nodes.inline(text=text), **target, refexplicit=True, refwarn=True)


def setup(app):
    """Be an extension of Sphinx."""
    app.add_config_value(
        "course_repository", lambda config: repository(), "env", types=[tuple, list]
    )
    app.add_directive("open-notebook", OpenNotebook)
    app.add_directive("get-course", GetCourse)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
