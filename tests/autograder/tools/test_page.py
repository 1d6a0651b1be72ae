"""One page of the book, built alone."""

import subprocess

import pytest

from autograder.course import CourseError
from autograder.tools import page


def test_before_a_build_begins_it_is_said_what_is_built_and_how_long_it_takes(
    monkeypatch, tmp_path, capsys
):
    class BegunError(Exception):
        pass

    def run(*arguments, **options):
        raise BegunError

    monkeypatch.setattr(page, "BUILD", tmp_path)
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(BegunError):
        page.build_page("ch07")
    said = capsys.readouterr().out
    assert "book/ch07_layers.md" in said and "seconds" in said and "minute" in said


def test_a_chapter_of_two_pages_is_built_whole():
    pages = ["book/ch09_training", "book/ch09_translating"]
    assert page.page_named("ch09") == "ch09_training"
    for stem, other in (("ch09_training", pages[1]), ("ch09_translating", pages[0])):
        around = page.contents_around(stem)
        assert around["root"] == f"book/{stem}"
        listed = [each["file"] for each in around["chapters"]]
        assert other in listed and "notebooks/ch09_training/ch09_training" in listed
        assert len({around["root"], *listed}) == 1 + len(listed)


def test_two_pages_of_different_chapters_have_no_name_in_common():
    with pytest.raises(CourseError, match="there is no page 'ch0'"):
        page.page_named("ch0")
    assert page.page_named("ch07") == "ch07_layers"


@pytest.mark.parametrize(
    ("warning", "forgiven"),
    [
        ("Unknown source document 'book/ch07_layers' [myst.xref_missing]", True),
        ("Unknown source document 'book/ch99_nothing' [myst.xref_missing]", False),
        ("'myst' cross-reference target not found: 'masks' [myst.xref_missing]", True),
        ("'myst' cross-reference target not found: 'no-such' [myst.xref_missing]", False),
        ("undefined label: 'fig' [ref.ref]", False),
    ],
)
def test_links_to_pages_that_are_not_built_are_forgiven_if_they_exist(warning, forgiven):
    printed = f"reading\nbook/ch05_multi_head.md:7: WARNING: {warning}\n"
    assert (page.warnings_of(printed, "ch05_multi_head") == []) is forgiven
