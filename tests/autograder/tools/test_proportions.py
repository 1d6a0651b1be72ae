"""An author sees which wrong answers keep too much or too little."""

import pytest

from autograder.__main__ import main
from autograder.authoring.loading import load_exercises
from autograder.shared.judge import share
from autograder.tools.proportions import proportions
from tests.conftest import judged


def test_a_slip_at_the_edge_keeps_much_and_an_answer_wrong_everywhere_little(capsys):
    main(["proportions", "ch06"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "padding_mask: the share of points that each known wrong answer keeps"
    kept = {
        line[9:]: int(line[:7])
        for line in (each.replace("%", " ") for each in lines)
        if "keeps" not in line
    }
    assert max(kept.values()) < 100
    assert kept["True marks what is masked"] < 25
    assert kept["ones and zeros are as good as True and False"] > 50


def test_an_answer_that_leaves_its_arguments_alone_keeps_the_cases_about_them():
    shares = {wrong.belief: kept for kept, wrong in proportions("ch01_embeddings")["one_hot"]}
    assert shares["float32 is precise enough for a 1"] > 0.9


@pytest.mark.parametrize(
    ("name", "belief", "least", "most"),
    [
        ("ch01_embeddings:build_vocabulary", "the rarest word comes first", 0, 0.25),
        ("ch01_embeddings:build_vocabulary", "the alphabet decides alone", 0, 0.25),
        ("ch01_embeddings:build_vocabulary", "the text's own order is the order", 0, 0.3),
        ("ch01_embeddings:embed", "<pad> has the vector zero", 0.7, 0.95),
        ("ch01_embeddings:embedding_gradient", "<pad> learns nothing", 0.7, 0.95),
        ("ch04_attention:attention_scores", "the scale belongs to the number of keys", 0, 0.25),
        ("ch04_attention:softmax_backward", "the sum runs over the queries", 0, 0.25),
        ("ch04_attention:scaled_dot_product_attention", "the scale is sqrt(key_len)", 0, 0.25),
        ("ch04_attention:scaled_dot_product_attention", "the scale is sqrt(d_v)", 0, 0.25),
        ("ch04_attention:scaled_dot_product_attention", "all weights together sum to 1", 0, 0.25),
        ("ch05_multi_head:MultiHeadAttention", "the scale belongs to the number of heads", 0, 0.25),
        ("ch07_layers:LayerNorm", "eps is added to the standard deviation", 0.6, 0.85),
        ("ch07_layers:LayerNorm", "no eps is needed", 0.5, 0.8),
    ],
)
def test_what_is_wrong_everywhere_and_what_slips_at_the_edge(name, belief, least, most):
    stem, exercise = name.split(":")
    exercise = load_exercises(stem)[exercise]
    [wrong] = [each for each in exercise.misconceptions if each.belief == belief]
    cells = [
        judged(exercise.prepare(b"one", visible), wrong.implementation) for visible in (True, False)
    ]
    kept = sum(map(share, cells)) / len(cells)
    assert least <= kept <= most, f"it keeps {kept:.0%}"


def test_a_step_with_the_right_weights_keeps_what_they_earn():
    """What is returned, the mode and the weights are asked for in cases of their own, too."""
    shares = {
        wrong.belief: kept
        for kept, wrong in proportions("ch09_training", seeds=(b"one",))["train_step"]
    }
    for belief in ("the loss is looked up after the step", "the model rests in eval mode"):
        assert 0.4 <= shares[belief] <= 0.6, belief
    for belief in ("backward moves the weights", "two steps are better than one"):
        assert shares[belief] <= 0.2, belief
