"""One page of the book, built alone, so that a contributor sees a change while it is fresh.

The page gets what it leans on (the other pages of its chapter, the notebook, the glossary, the
references) and uses the results
that `make book` has kept of executed pages. Links to the other pages lead nowhere here; whether
they are right, `make book` says.
"""

import re
import subprocess
import sys
from pathlib import Path

import yaml

from autograder.course import BUILD, ROOT, CourseError, notebook_of, pages_of

BOOK = ROOT / "book"
COMPANIONS = ("book/glossary", "book/references")
ELSEWHERE = re.compile(r"Unknown source document '(.+?)'")
LABEL_ELSEWHERE = re.compile(r"(?:cross-reference target not found|undefined label): '(.+?)'")
WARNING = re.compile(r"(WARNING|ERROR|CRITICAL)\b")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def build_page(name):
    """Build one page and print where it is.

    Args:
        name: "ch07", "ch07_layers" or "glossary"; of a chapter of several pages the first.

    Returns:
        0, or 1 where something is wrong with the page; what, is printed.

    Raises:
        CourseError: if there is no such page.
    """
    stem = page_named(name)
    folder = BUILD / "pages" / stem
    folder.mkdir(parents=True, exist_ok=True)
    toc, config = folder / "toc.yml", folder / "config.yml"
    toc.write_text(yaml.safe_dump(contents_around(stem)), encoding="utf-8")
    config.write_text(yaml.safe_dump(settings()), encoding="utf-8")
    print(
        f"Building book/{stem}.md: about ten seconds, and up to a minute more where its cells,"
        " or a module that they import, have changed, because then they run again",
        flush=True,
    )
    command = [Path(sys.executable).parent / "jupyter-book", "build", "--all", "-q"]
    command += ["--toc", toc, "--config", config, "--path-output", folder, ROOT]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    wrong = warnings_of(COLOUR.sub("", ran.stdout + ran.stderr), stem)
    page = folder / "_build" / "html" / "book" / f"{stem}.html"
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if ran.returncode or not page.exists():
        print(ran.stdout[-2000:] + ran.stderr[-2000:], file=sys.stderr)
        return 1
    print(page.relative_to(ROOT))
    return 1 if wrong else 0


def page_named(name):
    """Return the stem of the page that a name means.

    Raises:
        CourseError: if there is none, or more than one.
    """
    stems = sorted(path.stem for path in BOOK.glob("*.md"))
    found = [stem for stem in stems if stem == name] or [
        stem for stem in stems if stem.startswith(f"{name}_")
    ]
    if len(found) > 1 and set(found) == set(pages_of(found[0])):
        return pages_of(found[0])[0]
    if len(found) != 1:
        raise CourseError(f"there is no page {name!r} in book/; there are: {', '.join(stems)}")
    return found[0]


def contents_around(stem):
    """Return a table of contents that holds a page and what it leans on."""
    page = f"book/{stem}"
    others = [f"book/{other}" for other in pages_of(stem)] + list(COMPANIONS)
    others = [other for other in others if other != page]
    chapter = pages_of(stem)[0]
    if notebook_of(chapter).exists():
        others.append(f"notebooks/{chapter}/{chapter}")
    return {"format": "jb-book", "root": page, "chapters": [{"file": each} for each in others]}


def settings():
    """Return the book's settings, with results taken from where the whole book keeps them."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["execute"]["cache"] = str(BUILD / ".jupyter_cache")
    return config


def warnings_of(printed, stem):
    """Return what Sphinx says is wrong with a page, but for links to pages that are not here."""
    lines = [line for line in printed.splitlines() if WARNING.search(line)]
    return [line for line in lines if f"{stem}.md" in line and not is_elsewhere(line)]


def is_elsewhere(line):
    """Return whether a warning is of a link to another page of the book, or to a section there."""
    if page := ELSEWHERE.search(line):
        return (ROOT / f"{page[1]}.md").exists()
    label = LABEL_ELSEWHERE.search(line)
    return bool(label) and any(
        f"({label[1]})=" in path.read_text(encoding="utf-8") for path in BOOK.glob("*.md")
    )
