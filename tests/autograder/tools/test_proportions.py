"""An author sees which wrong answers keep too much or too little."""

from autograder.__main__ import main
from autograder.tools.proportions import proportions


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
    shares = {belief: kept for kept, belief in proportions("ch01_embeddings")["one_hot"]}
    assert shares["float32 is precise enough for a 1"] > 0.9
