"""How long the course takes: the sum of what the top of each chapter's page says."""

import re
from pathlib import Path

MINUTES = {
    "two and a half hours": 150,
    "an hour and a half": 90,
    "an hour and a quarter": 75,
    "two hours": 120,
    "an hour": 60,
}
BUILDS = 9  # the chapter that ends with the reader's own translator


def minutes(text):
    """Return the minutes that a page says it takes to read, and those of its exercises.

    Args:
        text: the page's source.
    """
    said = re.search(r"\*\*Time:\*\* (.+?)\*\*You need", " ".join(text.split()))[1]
    for words, number in MINUTES.items():
        said = said.replace(words, f"{number} minutes")
    reading, exercises = re.findall(r"(\d+) minutes", said)
    return int(reading), int(exercises)


def hours():
    """Return the hours of reading up to the translator, of its exercises, and of all the rest."""
    reading = exercises = after = 0
    for page in Path(__file__).parent.glob("ch*.md"):
        here = minutes(page.read_text(encoding="utf-8"))
        if int(page.name[2:4]) > BUILDS:
            after += sum(here)
        else:
            reading, exercises = reading + here[0], exercises + here[1]
    return tuple(round(each / 60) for each in (reading, exercises, after))
