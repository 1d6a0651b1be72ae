"""One module of a learner's own functions: theirs where they pass, the course's elsewhere, and it
runs on its own.
"""

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.__main__ import main
from autograder.authoring.exercise import load_exercises
from autograder.course import CourseError, chapters
from autograder.export import package as exporting
from autograder.export.collect import Code, Collection
from autograder.export.names import global_names, renamed
from autograder.export.package import Standing, module_path, reference_code, settled_module
from tests.conftest import solved_notebook

# Imports the module by its path where there is neither a notebook nor this course, and puts it to
# work.
USE = """
import importlib.util, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("IPython", "autograder", "solutions", "ipykernel"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
spec = importlib.util.spec_from_file_location("my_transformer", sys.argv[1])
my = importlib.util.module_from_spec(spec)
sys.modules["my_transformer"] = my
spec.loader.exec_module(my)

import torch
torch.manual_seed(0)
model = my.Transformer(9, 9, d_model=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, d_ff=16, dropout=0.0)
src, tgt = torch.tensor([[4, 5, 0]]), torch.tensor([[1, 6, 7]])
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
losses = []
for _ in range(30):
    loss = torch.nn.functional.cross_entropy(model(src, tgt).flatten(0, 1), torch.tensor([6, 7, 2]))
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 2, losses
assert my.greedy_decode(model, src).tolist() == [[1, 6, 7, 2]]
print("works")
"""


def used(path):
    """Import a module and train it for a moment, in a process that has neither IPython nor this
    course.
    """
    ran = subprocess.run(
        [sys.executable, "-c", USE, str(path)], cwd=path.parent, capture_output=True, text=True
    )
    assert ran.stdout == "works\n", ran.stderr
    return path.read_text(encoding="utf-8")


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder of notebooks in the place of `work/`; the current folder is another one."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setattr(exporting, "WORK", folder)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


def hand_in(work, stem, changes=None, extra_cells=()):
    nbformat.write(solved_notebook(stem, changes, extra_cells), work / f"{stem}.ipynb")


# --- names on which a module is refused, before anything is graded


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("my-transformer", "my_transformer"),
        ("2nd", "cannot be imported"),
        ("class", "cannot be imported"),
        ("torch", "there is a package torch already"),
        ("math.py", "there is a package math already"),
        ("solutions", "there is a package solutions already"),
        ("nowhere/mine", "no folder nowhere"),
    ],
)
def test_a_name_that_does_not_do_is_told_at_once(work, name, told):
    with pytest.raises(CourseError, match=told):
        module_path(name, force=False)


def test_what_is_there_is_not_overwritten(work, capsys):
    Path("mine.py").write_text("precious")
    assert main(["export", "mine", "--reference"]) == 2
    assert "--force" in capsys.readouterr().err
    assert Path("mine.py").read_text() == "precious"


def test_without_work_the_command_that_makes_it_is_named(work, capsys):
    assert main(["export", "my_transformer"]) == 2
    told = capsys.readouterr().err
    assert "make lab" in told
    assert "--reference" in told
    assert "Traceback" not in told


# --- the module as a whole


def test_a_learners_parts_meet_the_courses(work, capsys):
    hand_in(
        work,
        "ch04_attention",
        {
            "softmax": None,
            "attention_scores": ATTENTION_SCORES,
            "scaled_dot_product_attention": WRONG_AXIS,
        },
        [
            "%matplotlib inline\n!echo hello",
            "largest = 1",
            "%%time\ndef attend(query, key):\n    return query @ key.swapaxes(-1, -2)",
        ],
    )
    hand_in(work, "ch05_multi_head", {"MultiHeadAttention": LEAN_ATTENTION}, [EXTRA_HELPERS])
    hand_in(work, "ch06_masking", {"causal_mask": TURNED_ROUND})
    hand_in(work, "ch07_layers", {"LayerNorm": LAYER_NORM, "EncoderLayer": None})
    Path("mine.py").touch()
    assert main(["export", "mine", "--force"]) in (None, 0)
    told = " ".join(capsys.readouterr().out.split())
    assert "softmax the course's yours is not begun" in told
    assert "attention_scores yours" in told
    assert (
        "scaled_dot_product_attention the course's yours fails, also beside the parts here: scaled"
        in told
    )
    assert "causal_mask the course's yours fails “" in told
    assert "decoder_mask yours yours passes beside another causal_mask than yours" in told
    assert "there is no work/ch08_encoder_decoder.ipynb" in told
    assert "mine.py: 10 of" in told
    text = used(work.parent / "here" / "mine.py")
    assert "attention_scores uses it.\n# the root of" in text
    assert "# Yours, from work/ch04_attention.ipynb.\ndef attention_scores(" in text
    assert "# The course's, from solutions/ch04_attention.py.\ndef softmax(" in text
    assert "from torch.nn.functional import softmax as softmax_ch05" in text
    assert "def attend_ch07(" in text
    assert "need_weights=False, and your class does not take it" in text
    assert "matplotlib" not in text


def test_a_notebook_that_cannot_be_read_is_told(work, capsys, monkeypatch):
    monkeypatch.setattr(exporting, "chapters", lambda: ["ch04_attention"])
    (work / "ch04_attention.ipynb").write_text("{ this is no notebook")
    assert main(["export", "mine"]) in (None, 0)
    assert "softmax the course's ch04_attention.ipynb is not a notebook" in " ".join(
        capsys.readouterr().out.split()
    )


def test_the_reference_alone_is_to_be_had(work, capsys):
    assert main(["export", "course", "--reference"]) in (None, 0)
    text = used(work.parent / "here" / "course.py")
    assert "BEGIN SOLUTION" not in text
    assert "Yours" not in text
    assert set(exporting_names()) <= set(text.split('"'))
    assert "the course's own" in capsys.readouterr().out


def exporting_names():
    return [
        name for stem in chapters() if "ch04" <= stem[:4] <= "ch09" for name in load_exercises(stem)
    ]


def test_what_works_only_beside_a_part_that_failed_gives_way():
    stem = "ch07_layers"
    own = taken_apart(
        stem,
        [SETUP, LAYER_NORM, "class FeedForward(nn.Module):\n    pass", ENCODER_LAYER],
        ask=("LayerNorm", "FeedForward", "EncoderLayer"),
    )
    references = {name: reference_code(name) for name in chapters()}
    standings = [Standing(stem, name, name != "FeedForward", "") for name in own.asked]
    text = settled_module(Path("mine.py"), standings, {stem: own}, references)
    assert [each.yours for each in standings] == [True, False, False]
    assert "but not beside the parts here" in standings[2].why
    assert "think" in standings[2].why
    assert "# Yours, from work/ch07_layers.ipynb.\nclass LayerNorm" in text


def test_what_cannot_be_imported_gives_way_and_nothing_else():
    stem = "ch07_layers"
    decorated = (
        "def marked(kind):\n    return lambda function: function\n\n"
        "@marked(FeedForward.kind)\ndef flat(x):\n    return x - x.mean(-1, keepdim=True)"
    )
    layer_norm = LAYER_NORM.replace("x = attend(x)", "x = flat(attend(x))")
    own = taken_apart(
        stem,
        [
            SETUP,
            "class FeedForward(nn.Module):\n    kind = 1",
            decorated,
            layer_norm,
            RIGHT_FEED_FORWARD,
        ],
        ask=("LayerNorm", "FeedForward"),
    )
    references = {name: reference_code(name) for name in chapters()}
    standings = [Standing(stem, "LayerNorm", True), Standing(stem, "FeedForward", True)]
    settled_module(Path("mine.py"), standings, {stem: own}, references)
    assert [each.yours for each in standings] == [False, True]
    assert "FeedForward' has no attribute 'kind'" in standings[0].why


# --- parts: what a name meant when it was asked


def taken_apart(stem, cells, ask):
    """Take cells apart as a learner's notebook, all of them written before the exercises are
    asked.
    """
    cells = [nbformat.v4.new_code_cell(source) for source in cells]
    for name in ask:
        cells.append(nbformat.v4.new_code_cell())
        cells[-1].metadata = nbformat.from_dict(
            {"nbgrader": {"grade": True, "grade_id": f"hidden_{name}"}}
        )
    return Code.of(
        stem,
        f"work/{stem}.ipynb",
        nbformat.v4.new_notebook(cells=cells),
        is_yours=lambda cell: True,
    )


def collected(*codes, references=()):
    """Return the Collection of all exercises of some notebooks, and what its text defines when it
    runs.
    """
    chosen = {name: code for code in codes for name in code.asked}
    collection = Collection(chosen, {code.stem: code for code in references or codes})
    text = "\n\n".join([collection.imports(), *(part.text() for part in collection.in_order())])
    names = {}
    exec(compile(text, "module", "exec"), names)
    return collection, text, names


def test_equal_names_of_two_chapters_stay_apart_and_equal_helpers_become_one():
    twice = "def twice(x):\n    return 2 * x"
    one = taken_apart(
        "ch04_a", [twice, "def step(x): return x + 1", "def f(x): return step(twice(x))"], ["f"]
    )
    two = taken_apart(
        "ch05_b",
        [twice, "def step(x): return x + 10", "def g(x, step=step): return step(twice(x))"],
        ["g"],
    )
    _, text, names = collected(one, two)
    assert (names["f"](1), names["g"](1)) == (3, 12)
    assert text.count("def twice") == 1
    assert "def step_ch05(x)" in text
    assert "def g(x, step=step_ch05): return step(twice(x))" in text


def test_equal_helpers_that_call_different_ones_stay_apart():
    through = "def through(x): return step(x)"
    one = taken_apart(
        "ch04_a", ["def step(x): return x + 1", through, "def f(x): return through(x)"], ["f"]
    )
    two = taken_apart(
        "ch05_b", ["def step(x): return x + 10", through, "def g(x): return through(x)"], ["g"]
    )
    _, _, names = collected(one, two)
    assert (names["f"](1), names["g"](1)) == (2, 11)


def test_what_is_used_at_once_is_what_it_was_then():
    cells = ["base = 1", "def h(x=base): return x", "base = 2", "def f(): return h(), base"]
    _, _, names = collected(taken_apart("ch04_a", cells, ["f"]))
    assert names["f"]() == (1, 2)


def test_a_helper_is_what_it_was_when_the_exercise_was_asked():
    code = taken_apart("ch04_a", ["def h(): return 1", "def f(): return h()"], ["f"])
    later = taken_apart("ch04_a", ["def h(): return 2", "def g(): return h()"], ["g"])
    at = len(code.statements)
    code.statements += later.statements
    code.asked["g"] = at + later.asked["g"]
    _, _, names = collected(code)
    assert (names["f"](), names["g"]()) == (1, 2)


def test_what_changes_a_part_comes_with_it():
    cells = [
        "class A:\n    pass",
        "def name(self): return 'mine'",
        "A.name = name",
        "setattr(A, 'size', 3)",
        "table = {}",
        "table['x'] = 1",
        "table.update(y=1)",
        "count = 1",
        "count += 1",
        "A = (lambda c: c)(A)",
    ]
    _, _, names = collected(
        taken_apart(
            "ch04_a", [*cells, "def f(): return A().name(), A.size, table, count"], ["f", "A"]
        )
    )
    assert names["f"]() == ("mine", 3, {"x": 1, "y": 1}, 2)


def test_a_part_stands_after_what_it_needs_to_run():
    cells = [
        "def f(): return B().g()",
        "def base(): return object",
        "class A(base()): pass",
        "class B(A):\n    def g(self): return f",
    ]
    _, _, names = collected(taken_apart("ch04_a", cells, ["f"]))
    assert names["f"]() is names["f"]


def test_what_comes_from_earlier_chapters_is_the_modules_own():
    reference = taken_apart(
        "ch05_x", ["def shared(): return 'course'", "def f(): return 'course'"], ["f"]
    )
    own = taken_apart("ch05_x", ["def f(): return 'mine'"], ["f"])
    cells = [
        "from solutions.ch05_x import f as first, shared\nimport torch.nn, torch",
        "def g(): return first(), shared(), torch.nn",
    ]
    last = taken_apart("ch06_y", cells, ["g"])
    _, text, names = collected(own, last, references=(reference, last))
    assert names["g"]()[:2] == ("mine", "course")
    assert "solutions" not in text


def test_a_helper_that_hides_what_python_has_hides_it_for_nobody_else():
    one = taken_apart("ch04_a", ["def sum(xs): return -1", "def f(xs): return sum(xs)"], ["f"])
    two = taken_apart("ch05_b", ["def g(xs): return sum(xs)"], ["g"])
    _, _, names = collected(one, two)
    assert (names["f"]([1, 2]), names["g"]([1, 2])) == (-1, 3)


def test_names_that_nothing_defines_are_known():
    code = taken_apart(
        "ch04_a", ["def h(x): return display(x)", "def f(x): return h(x) + ghost"], ["f"]
    )
    collection, _, _ = collected(code)
    assert set().union(*(part.missing for part in collection.exercise("f").helpers())) == {
        "display",
        "ghost",
    }


@pytest.mark.parametrize(
    ("source", "uses"),
    [
        ("def f(x, y=a): return [b for c in x if c for d in e(c)]", {"a", "b", "e"}),
        (
            "class C(a):\n    b = c\n    def f(self): return b, super().f(C)",
            {"a", "c", "b", "super"},
        ),
        ("f = lambda x: (x, y)", {"y"}),
        ("def f():\n    def g(): nonlocal x; x = y\n    x = 1", {"y"}),
        ("def f():\n    global x\n    x = 1", {"x"}),
        ("def f():\n    if (n := m): return [k := n for _ in ()], k", {"m"}),
        ("def f():\n    try: pass\n    except E as e: return e\n    import os; return os", {"E"}),
        ("def f(v):\n    match v:\n        case [x, *r] | {'k': x, **r}: return x, r, z", {"z"}),
        ("@d\ndef f(x: t) -> u: return f'{x} {w!r:{v}}'", {"d", "t", "u", "w", "v"}),
    ],
)
def test_used_names_are_those_of_the_module(source, uses):
    names = global_names(ast.parse(source))
    assert names.uses - names.binds == uses


@pytest.mark.parametrize(
    ("source", "right"),
    [
        ("def h(x, h2=h): return x.h(h=h)  # h", "def N(x, h2=N): return x.h(h=N)  # h"),
        ("def f(h): return h", "def f(h): return h"),
        ("x = 'à' + h(1)", "x = 'à' + N(1)"),
        ("class h(h):\n    h = 1", "class N(N):\n    h = 1"),
        ("def f():\n    return [h for h in h]", "def f():\n    return [h for h in N]"),
        ("async  def  h(): pass", "async  def  N(): pass"),
    ],
)
def test_renaming_changes_the_modules_name_and_nothing_else(source, right):
    assert renamed(source, {"h": "N"}) == right


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    global h\n    h = 1",
        "x = f'{h} {h:>{h}}'",
        "try:\n    import h\nexcept E: h = 1",
    ],
)
def test_renaming_is_right_where_the_text_cannot_be_edited(source):
    names = global_names(ast.parse(renamed(source, {"h": "N"})))
    assert (names.uses | names.binds) & {"h", "N"} == {"N"}


SETUP = (
    "import torch\nfrom torch import nn\nfrom solutions.ch05_multi_head import MultiHeadAttention"
)

ATTENTION_SCORES = """
# the root of the width, for which I looked at section 3.2.1
def root(n): return n ** .5; 

def attention_scores(query, key):
    return attend(query, key) / largest / root(query.shape[-1])

print(attention_scores(np.ones((2, 3)), np.ones((2, 3))))
assert largest == 1
"""

WRONG_AXIS = """def scaled_dot_product_attention(query, key, value):
    weights = softmax(attention_scores(query, key), axis=-2)
    return weights @ value, weights"""

TURNED_ROUND = """
def causal_mask(seq_len, device=None):
    return torch.ones(seq_len, seq_len, dtype=torch.bool, device=device).triu()[None, None]
"""

EXTRA_HELPERS = """
from torch.nn.functional import softmax
import torch.nn.functional

def attend(scores, mask):
    "of chapter 5"
    return softmax(scores if mask is None else scores.masked_fill(~mask, lowest), dim=-1)

lowest = float("-inf")
"""

LEAN_ATTENTION = """
class Projections(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model))

class MultiHeadAttention(Projections):
    def __init__(self, d_model, num_heads):
        if d_model % num_heads:
            raise ValueError("no")
        super(MultiHeadAttention, self).__init__(d_model)
        self.num_heads = num_heads

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(layer(x), self.num_heads) for layer, x in [(self.w_q, query), (self.w_k, key), (self.w_v, value)])
        weights = attend(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), mask)
        return self.w_o(merge_heads(weights @ v)), weights
"""

LAYER_NORM = """
def attend(x):
    "of chapter 7, and nothing like the other"
    return x - x.mean(-1, keepdim=True)

class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps, self.weight, self.bias = eps, nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        x = attend(x)
        return x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt() * self.weight + self.bias
"""

ENCODER_LAYER = """
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__()
        self.self_attention, self.feed_forward = MultiHeadAttention(d_model, num_heads), FeedForward(d_model, d_ff)
        self.norm_1, self.norm_2 = LayerNorm(d_model), LayerNorm(d_model)

    def forward(self, x, mask=None):
        return self.feed_forward.think(x)
"""

RIGHT_FEED_FORWARD = """
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear_2(self.dropout(self.linear_1(x).relu()))
"""
