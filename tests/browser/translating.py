"""What tests of explorers that run the trained translator share."""

import contextlib

MODEL = "**/translator-model/*"  # what a page fetches of it
SHEET = "**/translator-model.css*"  # hides the field for a sentence in a book without the model


def serve_model(page, model_files):
    """Have a page get these files where it asks for the trained translator."""
    ask_for_a_sentence(page)
    page.route(
        MODEL, lambda route: route.fulfill(path=model_files / route.request.url.rsplit("/", 1)[1])
    )


def ask_for_a_sentence(page):
    """Have the first page offer its field, as in a book with the model."""
    page.route(SHEET, lambda route: route.fulfill(body="", content_type="text/css"))


@contextlib.contextmanager
def wait_for_the_end(page, explorer):
    """Wait, after what is done within, until an explorer has written the sentence to its end."""
    box = f".explorer[data-explorer={explorer}]"
    before = int(page.locator(box).get_attribute("data-finished") or 0)
    yield
    page.wait_for_function(
        "([box, before]) => Number(document.querySelector(box).dataset.finished) > before",
        arg=[box, before],
    )
