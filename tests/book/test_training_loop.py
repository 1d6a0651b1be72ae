"""Chapter 9's loop and its bugs: the page shows the loop whole, the experiments run what the page
shows, and the questions find what was planted.
"""

import pytest
import torch

from book.experiments import measurements
from book.experiments.training import (
    learning_rates,
    overfitting,
    planted_bugs,
    reports,
    training_loop,
)
from book.experiments.training.bugs import BUGS, NONE

MOST_LINES = 25
IN_EVERY_LOOP = (
    "batches.epoch",
    "model(src, decoder_input)",
    "label_smoothed_loss",
    "loss.backward()",
    "clip_grad_norm_",
    "optimizer.step()",
    'group["lr"] = rate *',
    "validation",
)
FOUND_BEFORE_TRAINING = {  # the first question that finds it
    "the decoder sees later words": "later_word",
    "padding of the source is not masked": "source_padding",
    "cross-attention reads the decoder": "other_source",
    "scores are not divided by √d_k": "scores",
    "the same, and tied to the generator": "first_loss",
    "softmax before the loss": "one_batch",
    "the answer is not shifted": "target_padding",
    "the loss counts padding": "target_padding",
    "no zero_grad": "old_gradients",
    "no zero_grad, no clipping": "old_gradients",
    "the optimizer holds a copy": "old_gradients",
}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_the_page_has_the_whole_loop_in_few_lines():
    lines = training_loop.cell("training-loop").rstrip().splitlines()
    assert len(lines) <= MOST_LINES
    assert f"{len(lines)} lines" in training_loop.PAGE.read_text(encoding="utf-8")
    for part in IN_EVERY_LOOP:
        assert part in "\n".join(lines)


def test_an_edit_changes_what_is_run_and_must_fit():
    changed = training_loop.loop_with([("highest=1e-2", "highest=5.0")])
    assert changed["train"].__defaults__[0] == 5.0
    with pytest.raises(ValueError, match="say 0 times: highest=7"):
        training_loop.loop_with([("highest=7", "highest=8")])
    with pytest.raises(ValueError, match="times: step"):
        training_loop.loop_with([("step", "steps")])
    with pytest.raises(ValueError, match="0 cells tagged training-nothing"):
        training_loop.cell("training-nothing")


def test_the_loop_learns():
    page = training_loop.loop_with()
    model = page["new_model"](seed=7)
    history = page["train"](model, page["training"], page["validation"], steps=60)
    assert [step for step, *_ in history] == [20, 40, 60]
    assert history[-1][2] < history[0][2] - 0.5
    assert history[-1][1] < history[0][1] - 0.5
    assert all(len(norms) == 20 and min(norms) > 0 for *_, norms in history)


@pytest.mark.parametrize("bug", BUGS)
def test_what_is_asked_before_training_finds_these_bugs_and_no_others(bug):
    """With a seed that neither the page nor the recorded run uses."""
    expected = FOUND_BEFORE_TRAINING.get(bug)
    questions = [each for each in planted_bugs.BEFORE_TRAINING if each != "one_batch"]
    questions += ["one_batch"] if expected == "one_batch" else []
    given = planted_bugs.answers(bug, seed=11, questions=questions)
    assert next(iter(planted_bugs.found_by({"answers": given})), None) == expected


def test_the_recorded_bugs_are_those_that_are_planted():
    measured = measurements.load("planted_bugs")
    assert list(reports.by_bug(measured)) == list(BUGS) == list(reports.WHY)
    assert list(reports.ASKED) == list(planted_bugs.QUESTIONS)
    assert all(
        len(runs) == measured["budget"]["seeds"] for runs in reports.by_bug(measured).values()
    )
    assert all(set(run["answers"]) >= set(planted_bugs.QUESTIONS) for run in measured["runs"])


def test_the_table_names_what_fails_and_where_the_loss_is():
    def run(bug, loss, **wrong):
        right = dict.fromkeys(planted_bugs.QUESTIONS, 0.0)
        right |= {"scores": 0.3, "other_source": 1.0, "exchanged": 3.0, "forced": 1.0}
        return {"bug": bug, "loss": loss, "exact": 0.5, "answers": right | wrong}

    leak = "the decoder sees later words"
    runs = [run(NONE, 0.8), run(NONE, 1.0), run(leak, 0.5, later_word=0.2), run(leak, 0.7)]
    runs += [run("no zero_grad", 0.9, forced=0.5), run("no zero_grad", 2.0, forced=0.4)]
    lines = reports.bug_table({"runs": runs}).data.splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    cells = [[each.strip() for each in row.strip("|").split("|")] for row in rows]
    assert [row[2] for row in cells] == ["0.80–1.00", "0.50–0.70", "0.90–2.00"]
    assert [row[1] for row in cells] == ["", "(3 later word), 11 loss ↓", "10 own translation"]
    assert all(bug in row[0] for bug, row in zip((NONE, leak, "no zero_grad"), cells, strict=True))
    assert reports.beside([run(NONE, 1.1)], runs[:2]) == reports.HIGHER


def test_a_small_text_is_measured_on_both_sides():
    run = overfitting.one_run(40, 0.2, 7)
    assert [step for step, _, _ in run["curve"]] == [20, 40]
    assert run["curve"][1][1] < run["curve"][0][1] and 0 <= run["exact"] <= 1
    assert overfitting.lowest({"curve": [(20, 3.0, 2.0), (40, 2.0, 1.5), (60, 1.0, 1.7)]}) == (
        40,
        1.5,
    )


def test_the_best_rate_is_chosen_for_each_length_and_seed():
    runs = [
        {"steps": steps, "rate": rate, "seed": seed, "validation_loss": loss}
        for steps, rate, seed, loss in (
            (10, 0.1, 0, 3.0),
            (10, 0.1, 1, 1.0),
            (10, 0.2, 0, 2.0),
            (10, 0.2, 1, 2.0),
            (20, 0.1, 0, 0.5),
            (20, 0.1, 1, 0.6),
            (20, 0.2, 0, 0.7),
            (20, 0.2, 1, 0.8),
        )
    ]
    measured = {"budget": {"seeds": 2}, "runs": runs}
    assert learning_rates.losses_by_rate(measured)[10] == {0.1: [3.0, 1.0], 0.2: [2.0, 2.0]}
    assert learning_rates.best_rates(measured) == {10: {0.1, 0.2}, 20: {0.1}}


@pytest.mark.long
def test_a_short_run_finds_the_rate_that_a_longer_one_wants_with_an_unseen_seed():
    page = training_loop.loop_with()
    for steps in (100, 400):
        losses = {
            rate: learning_rates.loss_after(page, rate, steps, seed=11)
            for rate in (0.003, 0.01, 0.03)
        }
        assert min(losses, key=losses.get) == 0.01


@pytest.mark.long
def test_only_forcing_a_model_on_its_own_output_finds_a_wrong_decoder():
    """The headline claim, with an unseen seed, and at twice the steps of the recorded run."""
    exact = {}
    for bug in (NONE, "the decoder gets the last word alone"):
        suspect = planted_bugs.Suspect(planted_bugs.BUGS[bug], seed=11)
        model, _ = suspect.trained(400)
        src, ids = suspect.written(model)
        exact[bug] = suspect.exact(ids)
        assert (suspect.forced(model, src, ids) == 1) == (bug == NONE)
    assert exact[NONE] > 0.7 > 0.2 > exact["the decoder gets the last word alone"]
