"""Where the parts of the course lie, and which chapters it has."""

from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "solutions"
NOTEBOOKS = ROOT / "notebooks"
WORK = ROOT / "work"
BUILD = ROOT / "_build"
PRIVATE = ROOT / "autograder" / "private"
AUTOGRADED = ROOT / "autograder" / "autograded"
FEEDBACK = ROOT / "autograder" / "feedback"
GRADEBOOK = ROOT / "autograder" / "gradebook.db"
SEED_KEY = ROOT / "autograder" / "seed.key"


class CourseError(Exception):
    """Something that a person can put right; its message says what was wrong and what to do."""


def chapters():
    """Return the stems of the chapters that have exercises, in the order of `_toc.yml`."""
    stems = [page.removeprefix("book/") for page in _pages() if page.startswith("book/ch")]
    return [stem for stem in stems if source_of(stem).exists()]


def pages():
    """Return every page of the book and every notebook, as `_toc.yml` names and orders them: the
    first page, chapters, each followed by the sections below it, and the rest.
    """
    return [_contents()["root"], *(page for some in _pages().values() for page in some)]


def pages_of(stem):
    """Return the stems of the pages that a page of the book shares its chapter with, itself among
    them, the chapter's own page first; itself alone where it is in no chapter.
    """
    for pages in _pages().values():
        if f"book/{stem}" in pages:
            return [page.removeprefix("book/") for page in pages]
    return [stem]


def _pages():
    """Return dict: the page of a chapter, or of whatever else `_toc.yml` lists -> this page, and
    the sections below it.
    """
    listed = [chapter for part in _contents()["parts"] for chapter in part["chapters"]]
    return {
        chapter["file"]: [each["file"] for each in (chapter, *chapter.get("sections", []))]
        for chapter in listed
    }


def _contents():
    """Return what `_toc.yml` holds."""
    return _parsed((ROOT / "_toc.yml").read_text(encoding="utf-8"))


@cache  # to read the file is quick, to parse it takes 10 ms, and a class of 30,000 asks as often
def _parsed(text):
    import yaml  # here, because a learner's `check` imports this module and has no use for it

    return yaml.safe_load(text)


def repository():
    """Return the address of the course's public repository and its branch; the address is empty
    where `_config.yml` gives none.
    """
    import yaml  # here, for the same reason

    given = (
        yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8")).get("repository") or {}
    )
    return given.get("url") or "", given.get("branch") or "main"


def source_of(stem):
    """Return the path of a chapter's reference, from which its notebook is made."""
    return SOURCES / f"{stem}.py"


def notebook_of(stem):
    """Return the path of a chapter's released notebook."""
    return NOTEBOOKS / stem / f"{stem}.ipynb"


def require_chapter(stem):
    """Return the chapter with exercises that a stem names, or the beginning of one: "ch04".

    Raises:
        CourseError: if there is none; the message lists those that are.
    """
    begin_so = [each for each in chapters() if each.startswith(f"{stem}_")]
    if len(begin_so) == 1:
        return begin_so[0]
    if stem not in chapters():
        raise CourseError(f"there is no chapter {stem!r}; there are: {', '.join(chapters())}")
    return stem
