"""Pictures of the flow: each chapter has some, they fit a phone, say in words what they show, and
their numbers are those that were computed.
"""

import inspect
import itertools
import re

import numpy as np
import pytest

from autograder.course import ROOT, pages
from book import figures
from book.figures.flow import hand
from book.palette import ROLES
from solutions.ch01_embeddings import embed, embedding_gradient, one_hot
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch03_bottleneck import additive_attention
from solutions.ch04_attention import attention_scores, scaled_dot_product_attention

CHAPTERS = [page for page in pages() if page.startswith("book/ch")]
PICTURES = {
    name: made
    for name, made in vars(figures).items()
    if inspect.isfunction(made) and made.__module__.startswith("book.figures.flow.")
}
LEAST = 2  # in a chapter
MOST_BYTES = 60_000  # of a picture, both of its drawings
SMALLEST = 11  # words on a phone, in pixels
ON_A_WIDE_PAGE, ON_A_PHONE = 690, 342  # pixels that a page leaves to a figure, or nearly so
KNOWN = {*ROLES, "blue", "orange", "green", "purple", "plain", "muted"}
LOOKS = {"wide", "phone", "both", "bold", "italic", "ground", "arrow", "head", "dashed"}
LOOKS |= {"box", "solid", "frame", "cell", "sheet", "outline"}

RNG = np.random.default_rng(0)
IDS = np.array([4, 5, 8, 4])
TOKENS = ["cats", "like", "other", "cats"]
ENTRIES = ["<pad>", "<bos>", "<eos>", "<unk>", "cats", "like", "dogs", "fish", "other"]
TABLE = RNG.normal(size=(9, 3)).round(1)
GRADIENT = RNG.integers(0, 9, size=(4, 2)).astype(float)
SOURCE, TARGET = ["your", "cat", "is", "lovely"], ["il", "tuo", "gatto"]
KEYS = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=float)
SUMS = KEYS + np.array([3, 0])
CONTEXT, ADDITIVE = additive_attention(
    np.array([3.0, 0]), KEYS, np.eye(2), np.eye(2), np.array([2.0, 2])
)
QUERY = np.array([[2, 4, 2, 2]], dtype=float)
KEY = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=float)
VALUE = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0]], dtype=float)
OUTPUT, WEIGHTS = scaled_dot_product_attention(QUERY, KEY, VALUE)
BANKS = ["the bank of the river", "the bank lends money"]
FOUND = {"x": (6, 512), "projected": (6, 512), "split": (8, 6, 64), "weights": (8, 6, 6)}
FOUND |= {"found": (8, 6, 64), "merged": (6, 512), "output": (6, 512)}
PAST = np.tril(np.ones((4, 4), dtype=bool))
WRITTEN = ["il", "gatto", "nero", "dorme", "<eos>"]
STAGES = {"source ids": (2, 7), "embedded": (2, 7, 32), "memory": (2, 7, 32)}
STAGES |= {"target ids": (2, 9), "target embedded": (2, 9, 32), "decoder": (2, 9, 32)}
STAGES |= {"logits": (2, 9, 39), "cross-attention": (2, 4, 9, 7)}
BYTES = {"weights, gradients, moments": 1e9, "layers": 12e9, "loss": 11e9}
EDGES = {("", "un"): 0.55, ("", "il"): 0.45, ("un", "un gatto"): 0.4, ("il", "il gatto"): 0.9}
LEVELS = [[("", "<bos>", 1)], [("un", "un", 2), ("il", "il", 0)]]
LEVELS += [[("un gatto", "gatto", 2), ("il gatto", "gatto", 0)]]
PIXELS = RNG.random((6, 6))
ONE_STEP = {"readout": np.eye(2), "scores": [1, 0], "probabilities": [0.73, 0.27], "after": 0.93}
ONE_STEP |= {"error": [-0.27, 0.27], "row": [1.27, -0.27], "moved": [[1.27, 0], [-0.27, 1]]}
PATHS = np.array([[[2, 1], [2, 2], [2, 0]], [[0, 2], [0, 3], [0, -2]]], dtype=float)
EXAMPLES = {  # the picture -> what it is given
    "one_query": (
        *(["your", "cat", "is", "a", "lovely", "cat"], [13.4, 10.4, -1.8, 2.2, -9.7, 2.8]),
        *([0.95, 0.05, 0, 0, 0, 0], "il"),
    ),
    "sentence_to_rows": (TOKENS, IDS, one_hot(IDS, 9), ENTRIES, TABLE, embed(IDS, TABLE)),
    "scatter_add": (TOKENS, IDS, GRADIENT, ENTRIES, embedding_gradient(IDS, GRADIENT, 9)),
    "one_pair_learns": (
        *(["they", "feed", "the", "cat", "every", "day"], "cat", "feed", [1.0, 0.0]),
        *(["feed", "cook"], ONE_STEP),
    ),
    "paths_of_rows": (
        {"animals": ["cat", "dog"], "foods": ["rice"]},
        PATHS,
        {0: "Together.", 9: "Apart."},
    ),
    "words_in_a_plane": (
        *({"cat": [0.9, -0.8], "bread": [-0.8, 0.9]}, ["alive?", "eaten?"]),
        *([1, -0.99], ["orange", "blue"]),
    ),
    "window_slides": (["they", "feed", "the", "cat", "every", "day"], 2),
    "parallelogram": (
        {"man": [0, 0], "king": [2, 0], "woman": [0, 1], "queen": [2, 1.5]},
        ("“rules”", "“her”"),
    ),
    "clock_hands": (sinusoidal_encoding(4, 4), ["0: dog", "1", "2", "3"], ["pair 0", "pair 1"]),
    "turned_together": ({"dog": [0.7, 0.3], "man": [0.9, 0.1]}, [(0, 2), (100, 102), (0, 1)]),
    "one_vector_machine": (SOURCE, TARGET, 16, 32),
    "looking_back_machine": (SOURCE, TARGET, [0.15, 0.68, 0.14, 0.03], 2),
    "look_back_by_hand": (
        *(SOURCE, KEYS, SUMS, np.tanh(SUMS), np.tanh(SUMS) @ [2, 2]),
        *(ADDITIVE, CONTEXT),
    ),
    "lstm_cell": (),
    "crossing_lines": (
        ["your", "lovely", "cat", "saw", "that", "lovely", "dog", "on", "the", "mat"],
        ["your", "cat", "lovely", "saw", "that", "dog", "lovely", "on", "the", "mat"],
        np.eye(10)[[0, 2, 1, 3, 4, 6, 5, 7, 8, 9]],
    ),
    "attention_by_hand": (
        *(["The", "cat", "sat"], QUERY[0], KEY, VALUE),
        *(attention_scores(QUERY, KEY)[0], WEIGHTS[0], OUTPUT[0], "sat"),
    ),
    "one_row_two_vectors": (
        *("bank", [1, 1], ["water", "money"], BANKS),
        *([np.ones((len(each.split()), 2)) for each in BANKS],),
        *([np.full(len(each.split()), 0.2) for each in BANKS], [[1.1, 0.4], [0.4, 1.3]]),
    ),
    "attention_as_grids": (
        *(["The", "cat", "sat"], VALUE, KEY[:, :3], KEY[:, 1:], VALUE[:, :2]),
        *(np.full((3, 3), 1 / 3), VALUE[:, :2] / 3, 2),
    ),
    "one_head_or_two": (
        *(["dog", "bites", "man", "today"], "bites", VALUE[[0, 1, 2, 0], :2]),
        *(("dog?", "man?"), np.full(4, 0.25)),
        {"before": np.full(4, 0.25), "after": np.full(4, 0.25)},
    ),
    "split_attend_join": (FOUND, 8),
    "dealt_features": (["dog", "bites", "man", "today"], 2),
    "who_may_look": (
        *(["<bos>", *WRITTEN[:-1]][:4], WRITTEN[:4]),
        *({"without": np.ones((4, 4), dtype=bool), "with": PAST}, 1),
    ),
    "padding_mixed_in": (
        *(["<bos>", "il", "<pad>", "<pad>"], 1),
        *({"without": [0.3, 0.2, 0.25, 0.25], "with": [0.6, 0.4, 0, 0]},),
    ),
    "what_is_added": ("cat", np.array([2, 8]), np.array([-1, 1]), np.array([1, 9])),
    "two_norm_orders": (),
    "transformer_diagram": (STAGES,),
    "two_stacks": (3,),
    "generation_loop": (
        *(["the", "black", "cat", "sleeps"], ["<bos>", *WRITTEN[:-1]], WRITTEN),
        *([0.9, 0.95, 1, 1, 1], (4, 4)),
    ),
    "all_at_once": (["<bos>", *WRITTEN[:-1]], WRITTEN),
    "training_loop": (
        {"src": (64, 9), "tgt": (64, 11)}
        | {"reads": (64, 10), "says": (64, 10), "logits": (64, 10, 345)},
        *(5.81, 123456),
    ),
    "questions_of_a_sentence": (
        ["<bos>", "il", "gatto", "è", "adorabile", "<eos>"],
        [1, 4, 22, 6, 130, 2],
    ),
    "beam_tree": (
        *(LEVELS, EDGES),
        *({"greedy: 0.22": ["", "un", "un gatto"], "beam: 0.41": ["", "il", "il gatto"]},),
    ),
    "shared_runs": (WRITTEN[:3], {1: [True, False, True], 2: [False, True]}),
    "inside_a_gpu": (
        {
            "registers": ("256 KiB", ""),
            "shared memory": ("228 KiB", "31 TB/s"),
            "L2 cache": ("50 MiB", "12 TB/s"),
            "main memory": ("80 GB", "3.35 TB/s"),
        },
        132,
    ),
    "tiled_product": (4, 3),
    "memory_bars": ({"as it is": BYTES, "loss in\nslices": BYTES | {"loss": 1e9}}, 16e9),
    "two_workers": ([46, 12], 20, 0.0),
    "four_ways": (),
    "pipeline": ({"in turn": ([[("forward", 0)], [None], [("backward", 0)]], [1])},),
    "ring": ([np.ones((4, 4)) + turn / 2 for turn in range(7)],),
    "tiles": (6, 15, 3, 2),
    "two_loops": ((4, 6), (128, 64), (1, 3)),
    "growing_cache": (["il", "tuo", "gatto", "è", "un", "gatto"],),
    "shared_heads": ({"each its own": (8, 8), "grouped": (8, 2)},),
    "word_links": (SOURCE, TARGET, {(0, 1), (1, 2)}, {(0, 1), (1, 2), (3, 0)}),
    "path_of_an_ablation": (
        *(np.ones((2, 4)), [1, 0], np.ones((2, 4)) * [[1], [0]]),
        *(RNG.normal(size=8), RNG.normal(size=8)),
    ),
    "two_heads_in_turn": (
        ["<bos>", "the", "cat", "sat", ".", "the", "cat"],
        [0, 0, 1, 2, 3, 4, 5],
        [0, 0, 0, 0, 0, 2, 3],
    ),
    "qk_and_ov": ("cat", "does", 64, 32, 32),
    "bert_reads": (
        {
            "before": ([["the", "<mask>"], ["it", "was"]], {0: ["next"], 2: ["cat"]}),
            "after": ([["who", "slept"], ["the", "cat"]], {0: ["kind", "asks"], 4: ["start"]}),
        },
    ),
    "four_models": (
        [
            *(
                {"title": f"model {n}", "inputs": TOKENS, "encoder": n, "sees": {(1, 0)}}
                | {"learned": n % 2, "predicts": {1: "a word"}}
                for n in range(4)
            ),
        ],
    ),
    "image_to_patches": (
        *(PIXELS, PIXELS.reshape(3, 2, 3, 2).swapaxes(1, 2).reshape(9, 4)),
        *(2, RNG.normal(size=(9, 8))),
    ),
    "gated_features": ([2, 2, 2], [-6, -1, 6], [-0.01, -0.27, 5.99], [-0.03, -0.54, 11.97]),
    "thin_matrices": (64, 2),
    "old_and_new_layer": (),
    "three_ways_to_look_back": (
        *(["the", "cat", "that", "you", "fed", "is", "on", "my"], 3, 3),
        [0.3 * 0.7**back for back in range(7, -1, -1)],
    ),
    "experts_at_work": (
        *("a b", ["blue", "muted", "orange"]),
        *([[(0, 0.75), (1, 0.25)], [(1, 0.6), (0, 0.4)], [(1, 0.5), (0, 0.5)]], ["a e", "b c"]),
    ),
}


@pytest.fixture(params=EXAMPLES)
def picture(request):
    """Each picture, drawn from an example."""
    return PICTURES[request.param](*EXAMPLES[request.param])


def words_in(drawing):
    """Return all that is written in a drawing, in one line."""
    return " ".join(re.findall(r">([^<>]+)</text>", drawing.svg("wide")))


def test_there_is_an_example_of_each_picture():
    assert set(EXAMPLES) == set(PICTURES)


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_has_pictures_that_are_neither_map_nor_curve(page):
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    called = re.findall(r"^figures\.(\w+)\(.*[^;]$", text, re.MULTILINE)  # ";" would hide it
    assert len(PICTURES.keys() & set(called)) >= LEAST
    hidden = re.findall(r"^figures\.(\w+)\(.*;$", text, re.MULTILINE)
    assert not PICTURES.keys() & set(hidden)


def test_a_picture_says_in_words_what_it_shows(picture):
    assert re.match(r"[A-Z0-9].{80,}\.$", picture.alt, re.DOTALL)
    assert "  " not in picture.alt and picture.alt == repr(picture)
    assert 'role="img" aria-label="' in picture._repr_html_()
    assert picture._repr_html_().count('aria-hidden="true"') == picture._repr_html_().count("<svg")


def test_words_of_a_picture_can_be_read_on_a_phone(picture):
    sizes = [int(size) for size in re.findall(r'font-size="(\d+)"', picture.phone.svg("phone"))]
    assert min(sizes) * min(1, ON_A_PHONE / (picture.phone.width + 2 * hand.MARGIN)) >= SMALLEST
    assert picture.wide.width <= ON_A_WIDE_PAGE and picture.phone.width <= ON_A_PHONE


def test_a_picture_is_light_and_its_colours_are_those_of_the_palette(picture):
    assert len(picture._repr_html_().encode()) < MOST_BYTES
    drawn = picture.wide.svg("wide") + picture.phone.svg("phone")
    assert not re.search(r'="[^"]*(nan|inf|#)', drawn)
    kinds = {kind for each in re.findall(r'class="([^"]*)"', drawn) for kind in each.split()}
    assert kinds <= KNOWN | LOOKS


def test_the_numbers_are_those_that_were_computed():
    by_hand = PICTURES["attention_by_hand"](*EXAMPLES["attention_by_hand"])
    for drawing, number in itertools.product((by_hand.wide, by_hand.phone), WEIGHTS[0]):
        assert f"{number:.3f}" in words_in(drawing)
    assert all(f"{number:.3f}" in words_in(by_hand.phone) for number in OUTPUT[0])
    asked = PICTURES["one_query"](*EXAMPLES["one_query"])
    for drawing in (asked.wide, asked.phone):
        assert "13.4 0.95" in words_in(drawing) and "\N{MINUS SIGN}9.7 0.00" in words_in(drawing)
    assert "your: score 13.4, share 0.95" in asked.alt and asked.alt.endswith("find il.")
    summed = PICTURES["scatter_add"](*EXAMPLES["scatter_add"])
    twice = GRADIENT[0] + GRADIENT[3]  # "cats" is at both positions
    assert f"cats gets [{twice[0]:g}, {twice[1]:g}]" in summed.alt
    assert f"{twice[0]:g} {twice[1]:g}" in words_in(summed.wide)
    learns = PICTURES["one_pair_learns"](*EXAMPLES["one_pair_learns"])
    assert "\N{MINUS SIGN}0.27 +0.27" in words_in(learns.phone) and "1.27" in words_in(learns.wide)
    assert "would now get 0.93" in learns.steps[-1]
    assert "rises from 1.00 to 1.61" in learns.steps[-1]  # the rows that met were [1, 0] and [1, 0]
    windows = PICTURES["window_slides"](*EXAMPLES["window_slides"])
    assert "Pairs by centre: they 2, feed 3, the 4, cat 4, every 3, day 2" in windows.alt
    for drawing in (windows.wide, windows.phone):
        assert len(re.findall(r"\(\w+, \w+\)", words_in(drawing))) == 18
    corners = PICTURES["parallelogram"](*EXAMPLES["parallelogram"])
    assert "to queen lead to more “rules”; their cosine is 0.97" in corners.alt
    assert words_in(corners.phone).count("more “her”") == 2
    context = words_in(PICTURES["look_back_by_hand"](*EXAMPLES["look_back_by_hand"]).phone)
    assert all(f"{number:.2f}" in context for number in CONTEXT)
    shapes = words_in(PICTURES["transformer_diagram"](STAGES).phone)
    assert "(2, 9, 39)" in shapes and "(2, 9, 32)" in shapes
    hands = PICTURES["clock_hands"](*EXAMPLES["clock_hands"])
    turned = PICTURES["turned_together"](*EXAMPLES["turned_together"])
    same, again, other = re.findall(r"\d+° apart", turned.alt)
    assert same == again != other and words_in(turned.phone).count(same) == 2
    gated = PICTURES["gated_features"](*EXAMPLES["gated_features"])
    assert "\N{MINUS SIGN}0.27" in words_in(gated.wide) and "11.97" in words_in(gated.phone)
    assert "4,096" in words_in(PICTURES["thin_matrices"](64, 2).phone)
    ways = PICTURES["three_ways_to_look_back"](*EXAMPLES["three_ways_to_look_back"])
    assert "3 layers reach 7 words" in words_in(ways.phone) and "2 4 5 7 10 15" in words_in(
        ways.wide
    )
    experts = PICTURES["experts_at_work"](*EXAMPLES["experts_at_work"])
    assert (
        "\N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK} goes to expert 0 (75%)"
        in (experts.alt)
    )
    workers = PICTURES["two_workers"]([46, 12], 20, 1e-7)
    for drawing in (workers.wide, workers.phone):
        assert "is more than 1e-07 from one that trained alone" in words_in(drawing)
    assert "57°" in words_in(hands.wide) and "115" in hands.alt  # one radian, and two


def test_a_picture_that_moves_has_a_sentence_for_each_step():
    moving = [name for name, given in EXAMPLES.items() if PICTURES[name](*given).steps]
    assert moving == [
        *("one_pair_learns", "paths_of_rows"),
        *("attention_by_hand", "generation_loop", "growing_cache", "experts_at_work"),
    ]
    for name in moving:
        made = PICTURES[name](*EXAMPLES[name])
        for drawing in (made.wide, made.phone):
            found = {int(step) for step in re.findall(r'data-step="(\d+)"', drawing.svg("wide"))}
            assert found == set(range(1, len(made.steps) + 1))


def test_a_picture_without_two_layouts_is_sent_once():
    assert PICTURES["two_norm_orders"]()._repr_html_().count("<svg") == 2
    assert PICTURES["scatter_add"](*EXAMPLES["scatter_add"])._repr_html_().count("<svg") == 1


def test_an_arrow_ends_where_it_was_told_to_and_writes_on_its_middle():
    sheet = hand.Drawing()
    one, other = sheet.box((0, 0), "a"), sheet.box((100, 0), "b")
    sheet.arrow(one.east, other.west, text="(2, 3)")
    drawn = sheet.svg("wide")
    assert f"M{one.east[0]:.4g} 0L{other.west[0]:.4g} 0" in drawn and 'x="50"' in drawn
    assert "(2, 3)" in words_in(sheet)
