"""All quizzes of the book on one page, to be asked again over days: an extension of Sphinx.

The directive `review` has no content: it stands for the quizzes of all chapters, each beneath the
title of its page. Without a script they are all there to read; `review.js` asks them one by one,
and spaces them. The same questions are written as a deck for Anki, `_static/DECK`, when the book is
built.
"""

import copy
import hashlib
from pathlib import Path

import genanki
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from book.sphinx_ext.quiz import quiz, quiz_option, quiz_question

DECK = "attention-built-by-hand.apkg"
# Random, and never changed: a deck that is imported again brings those of before up to date.
DECK_ID, MODEL_ID = 1_840_227_513, 1_297_604_881
CARD = genanki.Model(
    MODEL_ID,
    "Attention, built by hand: a quiz",
    fields=[{"name": name} for name in ("Question", "Answer", "Chapter")],
    templates=[
        {
            "name": "Card",
            "qfmt": "{{Question}}<p class='chapter'>{{Chapter}}</p>",
            "afmt": "{{FrontSide}}<hr id='answer'>{{Answer}}",
        }
    ],
    css=".card { font: 18px sans-serif; text-align: left; } .chapter { color: #777; }",
)


class review(nodes.General, nodes.Element):
    """Where the quizzes of all chapters are to be."""


class Review(SphinxDirective):
    """Stands for the quizzes of all chapters."""

    def run(self):
        """Return the place for them."""
        static = "../" * self.env.docname.count("/") + "_static/"
        script = f'<script defer src="{static}review.js"></script>'
        deck = f'<p><a class="review-deck" href="{static}{DECK}" download>The deck for Anki</a></p>'
        return [nodes.raw("", deck, format="html"), review(), nodes.raw("", script, format="html")]


class QuizzesOfAllChapters(SphinxPostTransform):
    """Puts copies of the quizzes where `review` stands."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs):
        """Fill every place for them; there is one page that has it."""
        for place in list(self.document.findall(review)):
            sections = [
                section_of(self.env, name, self.env.docname)
                for name in sorted(self.env.found_docs)
                if name != self.env.docname
            ]
            place.replace_self([section for section in sections if section])
            mathematics = self.env.get_domain("math").data["has_equations"]
            mathematics[self.env.docname] = any(self.document.findall(nodes.math))


def section_of(env, name, home):
    """Return the quizzes of a page beneath its title; None if it has none.

    Args:
        env: Sphinx's environment.
        name: of the page.
        home: name of the page on which they will stand, from where their links lead.
    """
    found = [copy.deepcopy(each) for each in env.get_doctree(name).findall(quiz)]
    if not found:
        return None
    stem = name.rpartition("/")[2]
    for each in found:
        each["card"] = card_of(each)
        each["ids"] = [f"{stem}-{number}" for number in each["ids"]]
        (question,) = each.findall(quiz_question)
        question["ids"] = [f"{each['ids'][0]}-question"]
        for option in each.findall(quiz_option):
            option["name"] = each["ids"][0]
        for reference in each.findall(addnodes.pending_xref):
            reference["refdoc"] = home
    title = env.titles[name].astext()
    link = addnodes.pending_xref(
        "", nodes.inline("", title), refdomain="std", reftype="doc", reftarget=f"/{name}",
        refexplicit=True, refdoc=home, refwarn=True,
    )  # fmt: skip
    heading = nodes.title("", "", link)
    return nodes.section("", heading, *found, ids=[f"review-{stem}"], names=[], classes=["review"])


def card_of(found):
    """Return the name of a quiz's card, which stays while its question does."""
    (question,) = found.findall(quiz_question)
    return hashlib.sha256(question.astext().encode()).hexdigest()[:10]


def write_deck(app, pagename, templatename, context, doctree):
    """Write the deck, from the page that holds all quizzes."""
    body = context.get("body") or ""
    if "data-card" not in body:
        return
    deck = genanki.Deck(DECK_ID, app.config.project)
    for section in BeautifulSoup(body, "html.parser").select("section.review"):
        for link in section.find_all("a"):
            link.unwrap()  # they lead nowhere in Anki
        chapter = section.find(["h1", "h2"]).get_text()
        for each in section.select(".quiz"):
            fields = [*sides(each), chapter]
            deck.add_note(genanki.Note(CARD, fields, guid=genanki.guid_for(each["data-card"])))
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    genanki.Package(deck).write_to_file(folder / DECK)


def sides(found):
    """Return the two sides of a quiz's card, as HTML: the question with its options, and the right
    one with its explanation, then why the others are not right.
    """
    options = found.select(".quiz-option")
    choices = [each.select_one(".quiz-choice").decode_contents() for each in options]
    before = [
        str(each)
        for each in found.find_all(recursive=False)
        if not {"quiz-hint", "quiz-question", "quiz-option"} & set(each.get("class", ()))
    ]
    asked = f"<b>{found.select_one('.quiz-question').decode_contents()}</b>"
    listed = "".join(f"<li>{choice}</li>" for choice in choices)
    answers = []
    for option, choice in sorted(
        zip(options, choices, strict=True), key=lambda pair: "quiz-wrong" in pair[0]["class"]
    ):
        option.summary.extract()
        answers.append(f"<p><b>{choice}</b></p>{option.decode_contents()}")
    return f"{asked}{''.join(before)}<ul>{listed}</ul>", "".join(answers)


def setup(app):
    """Be an extension of Sphinx."""
    app.add_node(review)
    app.add_directive("review", Review)
    app.add_post_transform(QuizzesOfAllChapters)
    app.connect("html-page-context", write_deck, priority=440)  # with formulas as they are written
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
