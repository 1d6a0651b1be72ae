"""An answer in words is shown as it was typed, and nothing in it becomes markup."""

import pytest

from autograder.grading.answers import as_text


@pytest.mark.parametrize("dropped", ["\u200b", "\r", "\u202e", ""])
def test_what_is_not_shown_does_not_end_the_frame_around_an_answer(dropped):
    shown = as_text(f"because\n\n``{dropped}``\n\n<img src=x onerror=alert(1)>\n").split("\n")
    fence = shown[0].removesuffix("text")
    assert set(fence) == {"`"} and shown[-1] == fence
    assert all(fence not in line for line in shown[1:-1])
