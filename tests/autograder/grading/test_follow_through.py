"""An error carried forward is charged once, and nobody earns anything by it for work not done."""

import nbformat
import pytest

from autograder.authoring.loading import solution_sources
from autograder.grading.follow_through import better, calls_in, carried_errors
from autograder.grading.grade import grade_notebook
from autograder.grading.handed_in.submission import rebuild, submission_of
from autograder.reporting.record import outcomes_of
from tests.conftest import solved_notebook

VIEW_ALONE = """def split_heads(x, num_heads):
    batch, seq_len, d_model = x.shape
    if d_model % num_heads:
        raise ValueError("num_heads must divide d_model")
    return x.reshape(batch, num_heads, seq_len, d_model // num_heads)
"""
STUB = """def split_heads(x, num_heads):
    raise NotImplementedError
"""
FROM_ITS_NAMESPACE = """class MultiHeadAttention:
    def __new__(cls, *arguments):
        found = split_heads.__globals__["MultiHeadAttention"]
        return object.__new__(cls) if found is cls else found(*arguments)
"""
BY_AN_UNWRITTEN_EXERCISE = """def softmax(scores, axis=-1):
    rows = np.moveaxis(scores, axis, -1)
    size = rows.shape[-1]
    _, weights = scaled_dot_product_attention(rows[..., None, :], np.eye(size) * size**0.5, np.eye(size))
    return np.moveaxis(weights[..., 0, :], -1, axis)
"""


def graded(stem, changes, extra_cells=()):
    """Return the outcome of each exercise of a chapter that is right but for some."""
    own = solved_notebook(stem, changes, extra_cells)
    notebook = rebuild(stem, submission_of(f"{stem}.ipynb", nbformat.writes(own).encode()))
    grade_notebook(notebook, stem, "ada", seed=b"any")
    return outcomes_of(notebook.metadata["autograder"]), notebook


def test_a_wrong_split_costs_attention_nothing_and_itself_what_it_costs(sandbox):
    outcomes, notebook = graded("ch05_multi_head", {"split_heads": VIEW_ALONE})
    assert outcomes["MultiHeadAttention"].score == outcomes["MultiHeadAttention"].points
    assert outcomes["split_heads"].score < outcomes["split_heads"].points / 2
    texts = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "text" in output
    ]
    assert sum("asked again with the course's own split_heads" in text for text in texts) == 2


def test_a_fault_of_its_own_is_named_although_a_part_stops_first(sandbox):
    not_copied = """def merge_heads(x):
    return x.transpose(1, 2).view(x.shape[0], x.shape[2], -1)"""
    takes_away = solution_sources("ch05_multi_head")["MultiHeadAttention"]
    for old, new in (
        ("scores = scores.masked_fill(~mask, -math.inf)", "pass"),
        (
            "weights = torch.softmax(scores, dim=-1)",
            "weights = torch.softmax(scores, dim=-1) * (1 if mask is None else mask)",
        ),
    ):
        assert old in takes_away
        takes_away = takes_away.replace(old, new)
    changes = {"merge_heads": not_copied, "MultiHeadAttention": takes_away}
    _, notebook = graded("ch05_multi_head", changes)
    said = [
        case["message"]
        for cell in notebook.metadata["autograder"]["cells"]
        if cell["exercise"] == "MultiHeadAttention"
        for case in cell["cases"]
        if case["message"]
    ]
    told = "Also with the course's own merge_heads: What do the weights of a row sum to after"
    assert any(each.startswith(told) for each in said)
    assert not any("view" in each for each in said)


def test_an_innocent_part_is_not_pointed_to(sandbox):
    last_axis = """def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)"""
    unscaled = """def scaled_dot_product_attention(query, key, value):
    weights = softmax(attention_scores(query, key) * key.shape[-1] ** 0.5)
    return weights @ value, weights"""
    changes = {"softmax": last_axis, "scaled_dot_product_attention": unscaled}
    outcomes, notebook = graded("ch04_attention", changes)
    attention = outcomes["scaled_dot_product_attention"]
    assert attention.score < attention.points
    cases = [
        case
        for cell in notebook.metadata["autograder"]["cells"]
        if cell["exercise"] == "scaled_dot_product_attention"
        for case in cell["cases"]
    ]
    said = " ".join(case["message"] for case in cases)
    assert said and "look there first" not in said
    assert any(case["misconception"] for case in cases)


def test_an_error_is_carried_through_a_function_of_ones_own():
    names = "softmax", "scaled_dot_product_attention"
    failed = [{"exercise": name, "score": 0, "points": 1} for name in names]
    sources = {"scaled_dot_product_attention": "w = _weights(q)", "softmax": "x"}
    added = [
        "!ls\ndef _scores(q):\n    return softmax(q)",
        "def _weights(q):\n    return _scores(q)",
    ]
    assert carried_errors("ch04_attention", sources, failed) == {}
    again = {("softmax",): ["scaled_dot_product_attention"]}
    assert carried_errors("ch04_attention", sources, failed, added) == again


def test_a_wrong_softmax_costs_attention_nothing_through_a_helper_and_a_magic(sandbox):
    softmax = """def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max())
    return e / e.sum()"""
    attention = """%%time
def scaled_dot_product_attention(query, key, value):
    weights = _weights(query, key)
    return weights @ value, weights"""
    helper = "def _weights(query, key):\n    return softmax(attention_scores(query, key))"
    changes = {"softmax": softmax, "scaled_dot_product_attention": attention}
    outcomes, _ = graded("ch04_attention", changes, [helper])
    assert outcomes["softmax"].score < outcomes["softmax"].points
    assert outcomes["scaled_dot_product_attention"].score == 3


@pytest.mark.parametrize("line", ["%%time\n{}", "!true\n{}", "{}\n%timeit 1", "{}\nsoftmax?"])
def test_a_line_for_ipython_does_not_hide_whose_mistake_it_is(line):
    source = "def scaled_dot_product_attention(query, key, value):\n    return softmax(query)"
    failed = [
        {"exercise": name, "score": 0, "points": 1}
        for name in ("softmax", "scaled_dot_product_attention")
    ]
    sources = {"scaled_dot_product_attention": line.format(source), "softmax": "x"}
    again = carried_errors("ch04_attention", sources, failed)
    assert again == {("softmax",): ["scaled_dot_product_attention"]}


@pytest.mark.parametrize(
    "attention", [FROM_ITS_NAMESPACE, None], ids=["from a namespace", "a stub"]
)
def test_nothing_is_earned_through_a_part_of_the_course(sandbox, attention):
    outcomes, _ = graded("ch05_multi_head", {"split_heads": STUB, "MultiHeadAttention": attention})
    assert outcomes["MultiHeadAttention"].score == outcomes["split_heads"].score == 0


def test_an_unwritten_exercise_is_nobodys_answer(sandbox):
    changes = {"softmax": BY_AN_UNWRITTEN_EXERCISE, "scaled_dot_product_attention": None}
    outcomes, _ = graded("ch04_attention", changes)
    assert outcomes["softmax"].score == outcomes["scaled_dot_product_attention"].score == 0


def test_what_ran_in_either_process_is_told():
    before = {"score": 1, "cases": []}
    after = {"score": 2, "cases": [], "used": ["torch.softmax"]}
    assert better(before, after, ["split_heads"], {})["used"] == ["torch.softmax"]
    both = better({**before, "used": ["scipy.special.softmax"]}, after, ["split_heads"], {})
    assert both["used"] == ["torch.softmax", "scipy.special.softmax"]
    assert "used" not in better(before, {"score": 2, "cases": []}, ["split_heads"], {})


BY_ALIAS_AFTERWARDS = """def scaled_dot_product_attention(query, key, value):
    try:
        mine
    except NameError:
        import torch
        where = torch.nn.functional
        f = getattr(where, "scaled_dot_" + "product_attention")
        q, k, v, eye = map(torch.from_numpy, (query, key, value, np.eye(len(key))))
        return f(q, k, v).numpy(), f(q, k, eye).numpy()
    return softmax(query), softmax(query)
"""


def test_a_library_is_seen_where_it_runs_in_the_second_process_alone(sandbox):
    softmax = "def softmax(scores, axis=-1):\n    return scores\nmine = True"
    changes = {"softmax": softmax, "scaled_dot_product_attention": BY_ALIAS_AFTERWARDS}
    _, notebook = graded("ch04_attention", changes)
    cells = notebook.metadata["autograder"]["cells"]
    told = [cell for cell in cells if cell["exercise"] == "scaled_dot_product_attention"]
    assert any("scaled_dot_product_attention" in str(cell.get("used")) for cell in told)


def test_only_what_the_reference_calls_is_replaced():
    assert calls_in("ch05_multi_head")["MultiHeadAttention"] == {"split_heads", "merge_heads"}
    assert calls_in("ch04_attention")["softmax"] == set()
    failing = [
        {"exercise": name, "score": 0, "points": 1}
        for name in ("split_heads", "MultiHeadAttention")
    ]
    calling = {"MultiHeadAttention": "split_heads(x, 2)", "split_heads": "1"}
    assert carried_errors("ch05_multi_head", calling, failing) == {
        ("split_heads",): ["MultiHeadAttention"]
    }
    assert not carried_errors("ch05_multi_head", {**calling, "MultiHeadAttention": "1"}, failing)
    assert not carried_errors("ch05_multi_head", calling, failing[1:])
