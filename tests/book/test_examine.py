"""The command that asks the questions of chapter 9 of somebody's own code: nothing is wrong with the
course's, and what is planted there is found.
"""

import pytest
import torch

from book.experiments import leaky_transformer, measurements
from book.experiments.training import bugs, examine, planted_bugs, reports, training_loop
from book.experiments.training.bugs import NONE
from solutions.ch09_training import label_smoothed_loss, teacher_forcing_pair, train_step

pytestmark = pytest.mark.xdist_group("corpus")  # drawn in one process, for all of its tests

AROUND = {  # a question -> answers that are just right and just wrong
    "first_loss": [(0.49, 0.51), (-0.49, -0.51)],
    "scores": [(0.21, 0.19), (0.59, 0.61)],
    "later_word": [(0.00009, 0.0001)],
    "other_source": [(0.011, 0.01)],
    "source_padding": [(0.00009, 0.0001)],
    "target_padding": [(0.00009, 0.0001)],
    "old_gradients": [(0.009, 0.01)],
    "one_batch": [(0.09, 0.1)],
    "exchanged": [(0.51, 0.5)],
    "forced": [(1, 0.995)],
}


def step_that_adds_up(model, optimizer, src, tgt, smoothing=0.1, max_norm=1.0):
    """Forget to clear the gradients."""
    model.train()
    decoder_input, expected = teacher_forcing_pair(tgt)
    loss = label_smoothed_loss(model(src, decoder_input), expected, smoothing=smoothing)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


def step_that_clears_twice(model, optimizer, src, tgt, **named):
    """Leave no gradients behind, which is allowed."""
    loss = train_step(model, optimizer, src, tgt, **named)
    optimizer.zero_grad()
    return loss


FOUND = {
    "course": ({}, []),
    "leak": ({"Transformer": leaky_transformer.Transformer}, ["later_word", "target_padding"]),
    "unscaled": ({"Transformer": bugs.Unscaled}, ["scores"]),
    "deaf": ({"Transformer": bugs.ReadingItself}, ["other_source"]),
    "sums": ({"train_step": step_that_adds_up}, ["old_gradients"]),
    "clears twice": ({"train_step": step_that_clears_twice}, []),
    "unshifted": ({"teacher_forcing_pair": lambda ids: (ids[:, :-1], ids[:, :-1])}, None),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_cheap_questions_find_what_is_wrong_and_nothing_else(name):
    parts, expected = FOUND[name]
    answers = planted_bugs.asked(examine.OwnCode(parts, seed=11), examine.CHEAP)
    wrong = planted_bugs.found_by({"answers": answers})
    assert wrong == (["target_padding"] if expected is None else expected)
    said = examine.before_training(parts, seed=11).splitlines()[1:]
    assert [line.endswith("wrong") for line in said] == [name in wrong for name in examine.CHEAP]


@pytest.mark.parametrize("question", planted_bugs.QUESTIONS)
def test_an_answer_is_wrong_where_the_page_says_so(question):
    is_right = planted_bugs.QUESTIONS[question]
    for right, wrong in AROUND[question]:
        assert is_right(right) and not is_right(wrong)
    assert question in examine.WRONG_IF


def test_the_learners_step_trains():
    suspect = examine.OwnCode({}, seed=11)
    _, loss = suspect.trained(40)
    page = training_loop.loop_with()
    model = page["new_model"](seed=11)
    batches = page["batches_of"](page["easy"]["train"], seed=11)
    *_, last = page["train"](model, batches, page["validation"], steps=40)
    assert loss == pytest.approx(last[2], abs=1e-3)  # the course's step is the page's


def test_the_summary_names_the_bugs_that_fail_the_same_questions():
    planted = measurements.load("planted_bugs")
    by_bug = reports.by_bug(planted)
    for bug in ("the decoder sees later words", "no zero_grad, no clipping"):
        assert bug in examine.summary(by_bug[bug], planted)
    said = examine.summary(by_bug[NONE], planted)
    assert said.endswith("right") and "Bugs" not in said
    assert "wrong: lower" in examine.summary(by_bug["the decoder sees later words"], planted)


def test_the_command_says_what_it_lacks(tmp_path, capsys):
    assert examine.main([]) == examine.main([str(tmp_path / "nothing")]) == 2
    assert "there is no Python package" in capsys.readouterr().err


@pytest.mark.long
def test_the_command_examines_a_package(tmp_path, capsys):
    package = tmp_path / "mine"
    package.mkdir()
    source = "from book.experiments.leaky_transformer import Transformer\n"
    (package / "__init__.py").write_text(source)
    assert examine.main([str(package)]) == 0
    said = capsys.readouterr()
    assert "asking Transformer" in said.err
    assert "later word" in said.out and "wrong with 3 of 3 seeds" in said.out
    assert "same questions: the decoder sees later words" in said.out
