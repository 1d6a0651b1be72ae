"""A package of a learner's own functions, one module per chapter: theirs where they pass, the
course's elsewhere, and it runs without a notebook.
"""

import importlib
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.__main__ import main
from autograder.authoring.loading import load_exercises
from autograder.authoring.release import source_notebook
from autograder.course import CourseError, chapters
from autograder.export import package as exporting
from autograder.export.chapter import chapters_of
from autograder.export.package import package_path
from autograder.export.settle import files_of, settled_files, write_files
from autograder.export.standing import Standing
from tests.conftest import solved_notebook

FOUR, FIVE, SIX = "ch04_attention", "ch05_multi_head", "ch06_masking"

# Imports the package where there is neither a notebook nor the grader, and puts it to work.
USE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("IPython", "autograder", "ipykernel"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
my = __import__(sys.argv[1])

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
print(*sorted({type(part).__module__ for part in model.modules() if "torch" not in type(part).__module__}))
"""


def used(path):
    """Import a package and train it for a moment, in a process that has neither IPython nor the
    grader.

    Returns:
        the text of each of its modules by name, and the modules that its Transformer is made of.
    """
    ran = subprocess.run(
        [sys.executable, "-c", USE, path.name], cwd=path.parent, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    texts = {each.stem: each.read_text(encoding="utf-8") for each in path.glob("*.py")}
    return texts, ran.stdout.split()


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


# --- names on which a package is refused, before anything is graded


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("my-transformer", "digits and _: my_transformer"),
        ("mine.py", "digits and _: mine$"),
        ("2nd", "cannot be imported"),
        ("class", "digits and _: class"),
        (".", "cannot be imported"),
        ("torch", "there is a package torch already"),
        ("math/", "there is a package math already"),
        ("solutions", "there is a package solutions already"),
        ("nowhere/mine", "no folder nowhere"),
    ],
)
def test_a_name_that_does_not_do_is_told_at_once(work, name, told):
    with pytest.raises(CourseError, match=told):
        package_path(name, force=False)


@pytest.mark.parametrize("make", ["file", "folder", "package", "link", "module"])
def test_what_is_not_an_export_is_never_overwritten(work, make, capsys):
    mine, elsewhere = Path("mine"), Path("elsewhere")
    elsewhere.mkdir()
    match make:
        case "file":
            mine.write_text("precious")
        case "folder":
            mine.mkdir()
        case "package":
            mine.mkdir()
            (mine / "__init__.py").write_text("precious = 1")
        case "link":
            mine.symlink_to(elsewhere)
        case "module":
            Path("mine.py").write_text("precious = 1")
    before = sorted(Path().rglob("*"))
    assert main(["export", "mine", "--reference", "--force"]) == 2
    assert "mine" in capsys.readouterr().err
    assert sorted(Path().rglob("*")) == before


def test_without_work_the_command_that_makes_it_is_named(work, capsys):
    assert main(["export", "my_transformer"]) == 2
    told = capsys.readouterr().err
    assert "make lab" in told
    assert "--reference" in told
    assert "Traceback" not in told


# --- the package as a whole


@pytest.mark.long
def test_a_learners_parts_meet_the_courses(work, capsys):
    hand_in(
        work,
        FOUR,
        {
            "softmax": None,
            "attention_scores": ATTENTION_SCORES,
            "scaled_dot_product_attention": WRONG_AXIS,
        },
        [
            "%matplotlib inline\n!echo hello",
            "largest = 1",
            "%%time\ndef attend(query, key):\n    return query @ key.swapaxes(-1, -2)",
            "import time\nlosses = [time.sleep(0.01) for _ in range(100)]\nprint(losses)",
            "raise RuntimeError('to be continued')",
        ],
    )
    hand_in(work, FIVE, {"MultiHeadAttention": LEAN_ATTENTION}, [EXTRA_HELPERS])
    hand_in(work, SIX, {"causal_mask": TURNED_ROUND})
    hand_in(work, "ch07_layers", {"LayerNorm": LAYER_NORM, "EncoderLayer": None})
    assert main(["export", "mine/"]) in (None, 0)
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
    yours = 10
    assert f"mine: {yours} of {len(exporting_names())} parts are yours" in told
    texts, made_of = used(work.parent / "here" / "mine")
    assert "# the root of the width, for which" in texts[FOUR]
    assert "is not begun\nfrom solutions.ch04_attention import softmax\n" in texts[FOUR]
    assert "from solutions.ch06_masking import causal_mask" in texts[SIX]
    assert "from .ch05_multi_head import MultiHeadAttention" in texts["ch07_layers"]
    assert "need_weights=False, and your class does not take it" in texts[FIVE]
    assert "attention_scores              yours" in texts["__init__"]
    for left_out in (
        "matplotlib",
        "echo",
        "check(",
        "print(",
        "assert",
        "sleep",
        "to be continued",
    ):
        assert left_out not in "".join(texts.values())
    # the course's layers and model work with the learner's attention and norm
    assert made_of == ["mine.ch05_multi_head", "mine.ch07_layers", "mine.ch08_encoder_decoder"]


def test_a_notebook_that_cannot_be_read_is_told(work, capsys, monkeypatch):
    monkeypatch.setattr(exporting, "chapters", lambda: [FOUR])
    (work / f"{FOUR}.ipynb").write_text("{ this is no notebook")
    assert main(["export", "mine"]) in (None, 0)
    assert f"softmax the course's {FOUR}.ipynb is not a notebook" in " ".join(
        capsys.readouterr().out.split()
    )


def test_the_reference_alone_is_to_be_had_and_written_over_where_asked(work, capsys):
    assert main(["export", "course", "--reference"]) in (None, 0)
    assert "the course's own" in capsys.readouterr().out
    folder = work.parent / "here" / "course"
    texts, made_of = used(folder)
    assert "Yours" not in "".join(texts.values())
    assert set(exporting_names()) <= set(texts["__init__"].split('"'))
    assert {name.partition(".")[0] for name in made_of} == {"solutions"}
    (folder / f"{FOUR}.py").write_text("old")
    (folder / "notes.txt").write_text("precious")
    assert main(["export", "course", "--reference"]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["export", "course", "--reference", "--force"]) in (None, 0)
    assert (folder / f"{FOUR}.py").read_text(encoding="utf-8") == texts[FOUR]
    assert (folder / "notes.txt").read_text() == "precious"


def exporting_names():
    return [
        name for stem in chapters() if "ch04" <= stem[:4] <= "ch09" for name in load_exercises(stem)
    ]


# --- what does not work in this company gives way


def settled(stem, cells, ask):
    """Settle a package of one chapter, all of it a learner's but the exercises named None.

    Args:
        cells: sources, or the names of exercises where they are checked.
        ask: exercise -> whether it is the learner's.
    """
    standings = [Standing(stem, name, yours, "not yet") for name, yours in ask.items()]
    files = settled_files(standings, {stem: notebook_of(cells, ask)}, {stem: source_notebook(stem)})
    return files[f"{stem}.py"], {each.exercise: each for each in standings}


def test_what_works_only_beside_a_part_that_failed_gives_way():
    cells = [
        SETUP,
        "LayerNorm",
        LAYER_NORM,
        "FeedForward",
        "class FeedForward(nn.Module):\n    pass",
    ]
    cells += ["EncoderLayer", ENCODER_LAYER]
    ask = {"LayerNorm": True, "FeedForward": False, "EncoderLayer": True}
    text, standings = settled("ch07_layers", cells, ask)
    assert [each.yours for each in standings.values()] == [True, False, False]
    assert "but not beside the parts here" in standings["EncoderLayer"].why
    assert "think" in standings["EncoderLayer"].why
    assert "of chapter 7, and nothing like the other" in text


def test_what_cannot_be_imported_gives_way_and_nothing_else():
    # in the notebook, `cut` has run beside a feed-forward network that has failed since
    decorated = (
        "def marked(kind):\n    return lambda function: function\n\n"
        "@marked(FeedForward.kind)\ndef cut(x):\n    return x"
    )
    encoder = ENCODER_LAYER.replace("return self", "return cut(x) + self")
    cells = [SETUP, "LayerNorm", LAYER_NORM, "FeedForward"]
    cells += ["class FeedForward(nn.Module):\n    kind = 1", decorated, "EncoderLayer", encoder]
    ask = {"LayerNorm": True, "FeedForward": False, "EncoderLayer": True}
    _, standings = settled("ch07_layers", cells, ask)
    assert [each.yours for each in standings.values()] == [True, False, False]
    assert "FeedForward' has no attribute 'kind'" in standings["EncoderLayer"].why


def test_a_helper_that_a_later_cell_defines_anew_is_named():
    other = "def attend(x):\n    return 0 * x"
    feed_forward = RIGHT_FEED_FORWARD.replace("self.linear_2(", "attend(x) + self.linear_2(")
    cells = [SETUP, "LayerNorm", LAYER_NORM, "FeedForward", f"{other}\n{feed_forward}"]
    _, standings = settled("ch07_layers", cells, {"LayerNorm": True, "FeedForward": True})
    assert [each.yours for each in standings.values()] == [False, True]
    assert (
        "a later cell of your notebook redefines attend; use another name"
        in standings["LayerNorm"].why
    )


# --- modules: a chapter's cells in their order, and no more than the exercises need


def notebook_of(cells, ask):
    """Return a notebook of a learner's cells, where the name of an exercise makes the next cell its
    solution, with a check after it.
    """
    notebook, solution = nbformat.v4.new_notebook(), None
    for source in cells:
        if source in ask:
            solution = source
            continue
        notebook.cells.append(nbformat.v4.new_code_cell(source, id=f"extra-{len(notebook.cells)}"))
        if solution:
            for kind in ("", "check_", "hidden_"):
                about = {"grade_id": kind + solution, "solution": not kind, "grade": bool(kind)}
                if kind:
                    notebook.cells.append(nbformat.v4.new_code_cell(f'check("{solution}")'))
                notebook.cells[-1].metadata = nbformat.from_dict({"nbgrader": about})
            solution = None
    return notebook


def imported(folder, monkeypatch, **by_stem):
    """Write a package of chapters, all a learner's, and import it.

    Args:
        by_stem: sources of cells; an exercise is a name of one letter, its solution the next cell.

    Returns:
        the package, and the text of its modules.
    """
    ask = {name: stem for stem, cells in by_stem.items() for name in cells if len(name) == 1}
    notebooks = {stem: notebook_of(cells, ask) for stem, cells in by_stem.items()}
    standings = [Standing(stem, name, True) for name, stem in ask.items()]
    made = chapters_of(standings, notebooks, notebooks)
    files = files_of(made, standings)
    write_files(folder / "mine", files)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("mine"), files


def test_equal_names_of_two_chapters_stay_apart(tmp_path, monkeypatch):
    one = ["def step(x): return x + 1", "f", "def f(x): return step(x)"]
    two = ["def step(x): return x + 10", "g", "def g(x, step=step): return step(x)"]
    mine, _ = imported(tmp_path, monkeypatch, **{FOUR: one, FIVE: two})
    assert (mine.f(1), mine.g(1)) == (2, 11)


def test_what_is_used_at_once_is_what_it_was_then(tmp_path, monkeypatch):
    cells = ["base = 1", "def h(x=base): return x", "base = 2", "f", "def f(): return h(), base"]
    mine, _ = imported(tmp_path, monkeypatch, **{FOUR: cells})
    assert mine.f() == (1, 2)


def test_an_exercise_stays_what_it_was_when_it_was_checked(tmp_path, monkeypatch):
    play = ["def f(): return 2", "f.name = 'played with'", "h = 3"]
    cells = ["h = 1", "f", "def f(): return h", *play, "g", "def g(): return f()"]
    mine, files = imported(tmp_path, monkeypatch, **{FOUR: cells})
    assert (mine.f(), mine.g()) == (1, 1)
    assert "played with" not in files[f"{FOUR}.py"]


def test_what_changes_a_helper_comes_with_it(tmp_path, monkeypatch):
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
        "if count: limit = 5",
        "f",
        "def f(): return A().name(), A.size, table, count, limit",
    ]
    mine, _ = imported(tmp_path, monkeypatch, **{FOUR: cells})
    assert mine.f() == ("mine", 3, {"x": 1, "y": 1}, 2, 5)


def test_what_no_exercise_needs_is_left_out(tmp_path, monkeypatch, capsys):
    cells = [
        "import math, json\nfrom autograder import check\nprint('hello')",
        "for step in range(3):\n    print(step)",
        "math.pi\nscratch = math.tau\nnumbers = [step for step in range(3)]",
        "f",
        "def f(step):\n    scratch = step * math.pi\n    return scratch\n\nprint(f(1))\ncheck('f')",
        "this is no Python",
        "1 / 0",
    ]
    mine, files = imported(tmp_path, monkeypatch, **{FOUR: cells})
    assert mine.f(0) == 0
    assert capsys.readouterr().out == ""
    assert files[f"{FOUR}.py"].split('"""')[-1].split() == (
        [
            "import",
            "math",
            "def",
            "f(step):",
            "scratch",
            "=",
            "step",
            "*",
            "math.pi",
            "return",
            "scratch",
        ]
    )


def test_earlier_chapters_are_the_packages_own(tmp_path, monkeypatch):
    one = ["f", "def f(): return 'mine'", "h", "def h(): return 'mine, too'"]
    two = [
        f"from solutions.{FOUR} import f as first, softmax\nimport torch.nn, torch",
        f"from solutions.{FOUR} import *",
        "g",
        "def g(): return first(), h(), softmax.__module__, torch.nn, scaled_dot_product_attention",
    ]
    mine, _ = imported(tmp_path, monkeypatch, **{FOUR: one, FIVE: two})
    assert mine.g()[:3] == ("mine", "mine, too", f"solutions.{FOUR}")


def test_a_helper_hides_a_name_for_its_own_chapter_alone(tmp_path, monkeypatch):
    one = ["def sum(xs): return -1", "f", "def f(xs): return sum(xs)"]
    two = [
        f"from solutions.{FOUR} import f",
        "def f(xs): return 'of chapter 5'",
        "g",
        "def g(xs): return sum(xs), f(xs)",
    ]
    mine, _ = imported(tmp_path, monkeypatch, **{FOUR: one, FIVE: two})
    assert (mine.f([1, 2]), mine.g([1, 2])) == (-1, (3, "of chapter 5"))


def test_an_import_from_the_future_comes_first(tmp_path, monkeypatch):
    cells = [
        "import math",
        "f",
        "from __future__ import annotations\ndef f(x: Any) -> int: return 1",
    ]
    mine, _ = imported(tmp_path, monkeypatch, **{FOUR: cells})
    assert mine.f.__annotations__ == {"x": "Any", "return": "int"}


def test_names_that_nothing_defines_are_known():
    cells = ["def h(x): return display(x)", "f", "def f(x): return h(x) + ghost", "ghost = 1"]
    standings = [Standing(FOUR, "f", True)]
    notebooks = {FOUR: notebook_of(cells, ["f"])}
    chapter = chapters_of(standings, notebooks, notebooks)[FOUR]
    assert chapter.needs("f").missing == {"display", "ghost"}


def test_a_part_of_the_courses_takes_the_place_of_all_that_bears_its_name():
    cells = [
        f"from solutions.{FOUR} import softmax",
        "softmax",
        "def helper(): return 1\n\ndef softmax(x): raise NotImplementedError",
        "attention_scores",
        "def attention_scores(query, key): return helper()",
    ]
    ask = {"softmax": False, "attention_scores": True}
    standings = [Standing(FOUR, name, yours, "not yet") for name, yours in ask.items()]
    chapter = chapters_of(
        standings, {FOUR: notebook_of(cells, ask)}, {FOUR: source_notebook(FOUR)}
    )[FOUR]
    assert chapter.text().endswith(
        "def helper(): return 1\n\n\n"
        f"# The course's softmax: not yet\nfrom solutions.{FOUR} import softmax\n\n\n"
        "def attention_scores(query, key): return helper()\n"
    )
    assert chapter.text().count("def softmax") == 0


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
