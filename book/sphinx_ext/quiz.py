"""A question that a reader answers by opening one of its options: the directive `quiz`, an
extension of Sphinx.

In a page, with explanations indented by two spaces, in as many paragraphs as they need:

    ```{quiz} Eight words attend to eight words. Along which axis does the softmax run?
    - [ ] Down each column
      Then each *key* would hand out a total of 1, and a query might get nothing.
    - [x] Along each row
      Each query spreads a total of 1 over the keys.
    - [ ] Over the whole table
      Then all queries would share a total of 1, and a short sentence would get more of it.
    ```

What stands before the first option belongs to the question. In HTML an option is a `details`
element, so that a quiz works without a script, by keyboard, and on paper; other builders get a
nested list. A quiz that is not well made is an error with its page and line.
"""

import re
from dataclasses import dataclass

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

FEWEST_OPTIONS = 3
OPTION = re.compile(r"- \[(?P<box>[ xX])\]\s*(?P<choice>.*)")
INDENT = "  "
HINT = "Quiz: choose an answer."
VERDICTS = {True: "Right.", False: "Not quite."}

logger = logging.getLogger(__name__)


class quiz(nodes.General, nodes.Element):
    """A question, what belongs to it, and its options."""


class quiz_question(nodes.General, nodes.TextElement):
    """What is asked."""


class quiz_option(nodes.General, nodes.Element):
    """A choice and its explanation; `right` says whether it is the right one."""


class quiz_choice(nodes.General, nodes.TextElement):
    """The option as it is offered."""


@dataclass
class Option:
    """An option as the page has it.

    Args:
        start: index of its first line in the directive's content.
        right: whether its box has a cross.
        choice: the rest of that line.
        explanation: the lines beneath it, without their indent.
    """

    start: int
    right: bool
    choice: str
    explanation: list[str]


class QuizError(ValueError):
    """A quiz is not well made.

    Args:
        told: what is wrong.
        start: index of the line in the directive's content; None stands for the directive's first
            line.
    """

    def __init__(self, told, start=None):
        super().__init__(told)
        self.start = start


def read_options(lines):
    """Take a quiz's content apart.

    Args:
        lines: the directive's content, a string for each line.

    Returns:
        The lines before the first option, and the options.

    Raises:
        QuizError: if a line belongs to no option, or the options are not those of a quiz.
    """
    before, options = [], []
    for index, line in enumerate(lines):
        if line.startswith("- "):
            found = OPTION.fullmatch(line.rstrip())
            if not found:
                raise QuizError("an option begins with '- [ ]', the right one with '- [x]'", index)
            options.append(Option(index, found["box"] != " ", found["choice"], []))
        elif not options:
            before.append(line)
        elif line.strip() and not line.startswith(INDENT):
            raise QuizError("an explanation is indented by two spaces beneath its option", index)
        else:
            options[-1].explanation.append(line.removeprefix(INDENT))
    check(options)
    return before, options


def check(options):
    """Raise a QuizError unless these are three options or more, all explained, and one of them
    right.
    """
    for option in options:
        if not option.choice:
            raise QuizError("an option says nothing", option.start)
        if not "".join(option.explanation).strip():
            raise QuizError(f"the option '{option.choice}' has no explanation", option.start)
    if len(options) < FEWEST_OPTIONS:
        raise QuizError(
            f"a quiz has at least {FEWEST_OPTIONS} options, this one has {len(options)}"
        )
    right = sum(option.right for option in options)
    if right != 1:
        raise QuizError(f"a quiz has exactly one right option, this one has {right}")


class QuizDirective(SphinxDirective):
    """Reads a quiz; its argument is the question."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        """Return the quiz as one node; none, and an error in the log, if it is not well made."""
        try:
            before, options = read_options(self.content)
        except QuizError as error:
            line = self.lineno if error.start is None else self.first_line() + error.start
            logger.error("quiz: %s", error, location=(self.env.docname, line), type="quiz")
            return []
        name = f"quiz-{self.env.new_serialno('quiz') + 1}"
        question = self.one_line(quiz_question, self.arguments[0], self.lineno)
        question["ids"] = [f"{name}-question"]
        made = quiz("", question, ids=[name])
        self.state.nested_parse(before, self.content_offset, made)
        made += [self.option(option, name) for option in options]
        return [made]

    def first_line(self):
        """Return the line of the page at which the content begins."""
        return self.lineno + self.content_offset + 1

    def one_line(self, kind, text, line):
        """Return a node of a kind that holds a line of the page, parsed."""
        parsed, messages = self.state.inline_text(text, line)
        made = kind(text, "", *parsed, *messages)
        made.source, made.line = self.get_source_info()[0], line
        return made

    def option(self, option, name):
        """Return an option's node, in whose explanation the verdict comes first."""
        choice = self.one_line(quiz_choice, option.choice, self.first_line() + option.start)
        made = quiz_option("", choice, right=option.right, name=name)
        self.state.nested_parse(option.explanation, self.content_offset + option.start + 1, made)
        if not isinstance(made[1], nodes.paragraph):
            made.insert(1, nodes.paragraph())
        verdict = nodes.strong("", VERDICTS[option.right], classes=["quiz-verdict"])
        made[1][:0] = [verdict, nodes.Text(" ")]
        return made


class QuizAsList(SphinxPostTransform):
    """Turns each quiz into a paragraph and a nested list, for builders that have nothing to
    unfold.
    """

    default_priority = 900  # when references are resolved

    def run(self, **kwargs):
        """Replace every quiz, unless the builder writes HTML."""
        if self.app.builder.format == "html":
            return
        for found in list(self.document.findall(quiz)):
            choices = nodes.bullet_list()
            for option in found.findall(quiz_option):
                choice, *explanation = option.children
                item = nodes.list_item("", nodes.paragraph("", "", *choice.children))
                choices += nodes.list_item(
                    "", *item.children, nodes.bullet_list("", nodes.list_item("", *explanation))
                )
            question, *others = found.children
            before = [each for each in others if not isinstance(each, quiz_option)]
            asked = nodes.paragraph("", "", nodes.strong("", "", *question.children))
            found.replace_self([asked, *before, choices])


def visit_quiz(writer, node):
    (name,) = node["ids"]
    card = f' data-card="{node["card"]}"' if "card" in node else ""  # see review.py
    said = f'class="quiz" id="{name}" aria-labelledby="{name}-question"{card}'
    writer.body.append(f"<section {said}>\n")
    writer.body.append(f'<p class="quiz-hint">{HINT}</p>\n')


def depart_quiz(writer, node):
    writer.body.append("</section>\n")


def visit_question(writer, node):
    (name,) = node["ids"]
    writer.body.append(f'<p class="quiz-question" id="{name}">')


def depart_question(writer, node):
    writer.body.append("</p>\n")


def visit_option(writer, node):
    kind = "right" if node["right"] else "wrong"
    writer.body.append(f'<details class="quiz-option quiz-{kind}" name="{node["name"]}">\n')


def depart_option(writer, node):
    writer.body.append("</details>\n")


def visit_choice(writer, node):
    writer.body.append('<summary><span class="quiz-choice">')


def depart_choice(writer, node):
    writer.body.append("</span></summary>\n")


def setup(app):
    """Be an extension of Sphinx."""
    app.add_node(quiz, html=(visit_quiz, depart_quiz))
    app.add_node(quiz_question, html=(visit_question, depart_question))
    app.add_node(quiz_option, html=(visit_option, depart_option))
    app.add_node(quiz_choice, html=(visit_choice, depart_choice))
    app.add_directive("quiz", QuizDirective)
    app.add_post_transform(QuizAsList)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
