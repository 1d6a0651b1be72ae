"""Pages are executed side by side, before Sphinx reads them, and once."""

import os

import pytest
from sphinx.application import Sphinx
from sphinx.errors import SphinxWarning
from sphinx.util.docutils import docutils_namespace, patch_docutils

HEAD = """---
orphan: true
file_format: mystnb
kernelspec:
  name: python3
---

# A page

```{code-cell} ipython3
"""
WAITS = """import time
from pathlib import Path

Path("{name}.txt").open("a").write("x")
for _ in range(300):
    if Path("{other}.txt").exists():
        break
    time.sleep(0.1)
print("not alone:", Path("{other}.txt").exists())
"""


def build(folder, **cells):
    """Build a book with a page for each cell; a warning is an error. Return the folder of HTML."""
    for name, cell in cells.items():
        (folder / f"{name}.md").write_text(f"{HEAD}{cell}\n```\n")
    settings = {
        "extensions": ["myst_nb", "book.sphinx_ext.execute"],
        "root_doc": min(cells),
        "nb_execution_mode": "cache",
        "nb_merge_streams": True,
        "exclude_patterns": ["html"],
    }
    html = folder / "html"
    with patch_docutils(), docutils_namespace():
        Sphinx(
            folder,
            None,
            html,
            folder / "trees",
            "html",
            settings,
            status=None,
            warning=None,
            warningiserror=True,
        ).build()
    return html


@pytest.mark.skipif(os.cpu_count() < 2, reason="one core executes one page at a time")
def test_pages_run_at_the_same_time_and_once(tmp_path):
    pages = {
        name: WAITS.format(name=name, other=other)
        for name, other in (("one", "two"), ("two", "one"))
    }
    html = build(tmp_path, **pages)
    for name in pages:
        assert "not alone: True" in (html / f"{name}.html").read_text(encoding="utf-8")
        assert (tmp_path / f"{name}.txt").read_text() == "x"


def test_a_line_that_arrives_in_two_pieces_is_shown_as_one(tmp_path):
    html = build(tmp_path, one='print(6 * 7, end=" ", flush=True)\nprint("answers")')
    assert "42 answers" in (html / "one.html").read_text(encoding="utf-8")


def test_a_page_that_fails_fails_the_build_and_is_named(tmp_path):
    with pytest.raises(SphinxWarning, match=r"broken\.md.*[Ee]xecuting notebook failed"):
        build(tmp_path, fine="6 * 7", broken="1 / 0")
