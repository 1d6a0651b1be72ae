"""How long the course takes, as the first page says."""

import pytest

from autograder.course import ROOT, pages
from book.reading_times import hours, minutes

CHAPTERS = [page for page in pages() if page.startswith("book/ch")]


def test_times_in_words_and_in_numbers_are_read():
    said = "**Time:** an hour and a quarter to read,\n and 40 minutes for all. **You need** nothing"
    assert minutes(said) == (75, 40)
    assert minutes(said.replace("an hour and a quarter", "two hours")) == (120, 40)


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_chapter_says_how_long_it_takes(page):
    reading, exercises = minutes((ROOT / f"{page}.md").read_text(encoding="utf-8"))
    assert 15 <= reading <= 180 and 0 <= exercises <= 240


def test_hours_are_the_sums_of_all_chapters():
    said = [minutes((ROOT / f"{page}.md").read_text(encoding="utf-8")) for page in CHAPTERS]
    assert sum(hours()) == pytest.approx(sum(map(sum, said)) / 60, abs=1.5)  # each is rounded
