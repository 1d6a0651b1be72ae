"""What chapter 5 says of heads and questions, with seeds that its page does not use."""

import numpy as np
import pytest

from book.experiments import four_questions


@pytest.mark.long
def test_four_heads_answer_what_one_head_cannot_however_long_it_trains():
    seeds, steps = range(100, 103), (500, 4000)
    measured = {"runs": four_questions.measure((1, 4), steps, seeds)}
    one, four = (
        {budget: four_questions.shares_of(measured, heads, budget) for budget in steps}
        for heads in (1, 4)
    )
    assert four[500].mean(axis=1).min() > 0.97
    assert one[4000].mean(axis=1).max() < 0.85
    after = four_questions.QUESTIONS.index("after")
    assert one[4000][:, after].max() < 0.6 < 0.95 < four[500][:, after].min()


def test_shares_of_a_record_are_those_of_its_heads_and_steps():
    runs = four_questions.measure((1, 2), (1, 2), range(2))
    found = four_questions.shares_of({"runs": runs}, heads=2, steps=1)
    assert found.shape == (2, 4)
    chosen = [run for run in runs if run["heads"] == 2 and run["steps"] == 1]
    assert np.array_equal(found, [list(run["right"].values()) for run in chosen])


@pytest.mark.long
def test_a_hidden_layer_reads_more_from_one_average_but_not_all():
    plain, bent = (
        four_questions.shares_of(
            {"runs": four_questions.measure((1,), (2000,), [100], hidden=hidden)}, 1, 2000
        )
        for hidden in (0, 128)
    )
    assert plain.mean() + 0.1 < bent.mean() < 0.97
