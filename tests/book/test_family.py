"""The experiments of chapter 13: answers that the grammar knows are right, what is trained can do
what its name says, and what the page claims holds with seeds that it does not show.
"""

import pytest
import torch

from book.experiments.family import alice, digits, grammar_tasks, scaling, since_2017, text_to_text
from solutions.family.lora import LoRA, with_lora
from solutions.family.models import VisionTransformer
from solutions.translator import corpus


@pytest.fixture(scope="module")
def sentences():
    return corpus.annotations()["random"]


def test_a_question_is_answered_by_all_words_of_a_role(sentences):
    for known in sentences:
        for asked, (start, end) in grammar_tasks.questions(known).items():
            role = {word: role for role, word in grammar_tasks.ASKED.items()}[asked]
            places = [place for place, found in enumerate(known.roles[0]) if found == role]
            assert places == list(range(start, end))


def test_tags_are_well_formed(sentences):
    for known in sentences:
        tags = grammar_tasks.bio(known)
        for before, tag, entity in zip(["O", *tags], tags, known.entities[0], strict=False):
            assert tag == "O" if not entity else tag[2:] == entity
            assert tag[0] != "I" or before[2:] == entity


def test_a_summary_drops_adjuncts_and_nothing_else(sentences):
    for known in sentences:
        dropped = [role for role in known.roles[0] if role in grammar_tasks.ADJUNCTS]
        assert len(grammar_tasks.summary(known)) == len(known.english) - len(dropped)
    long = next(known for known in sentences if "time" in known.roles[0])
    at = long.roles[0].index("time")
    assert long.english[at] not in grammar_tasks.summary(long)


def test_answers_stand_where_the_tensors_say(sentences):
    words = [*grammar_tasks.WORDS_BEFORE, *grammar_tasks.ASKED.values()]
    words += sorted({word for known in sentences for word in known.english} - set(words))
    data = grammar_tasks.Data(words)
    token_ids, types, answers = data.of("question", sentences[:50])
    asked = [pair for known in sentences[:50] for pair in grammar_tasks.questions(known).items()]
    owners = [known for known in sentences[:50] for _ in grammar_tasks.questions(known)]
    assert len(asked) == len(answers) == len(token_ids)
    for row, (first, last), known, (_, span) in zip(
        token_ids.tolist(), answers.tolist(), owners, asked, strict=True
    ):
        assert [words[each] for each in row[first : last + 1]] == list(known.english[slice(*span)])
    assert types[:, :2].all()
    assert not types[:, 2:].any()
    token_ids, _, answers = data.of("roles", sentences[:50])
    assert ((answers == -100) == (token_ids == 0) | (token_ids == data.ids["<class>"])).all()


def test_every_task_of_the_grammar_is_a_text(sentences):
    found = [each for known in sentences for each in text_to_text.texts_of(known)]
    assert {task for task, _, _ in found} == {
        "translate",
        "kind",
        "entities",
        "roles",
        "summary",
        "question",
    }
    assert all(text[:2] == [task, ":"] and answer for task, text, answer in found)


@pytest.mark.parametrize("order", [0, 1, 4])
def test_counted_probabilities_sum_to_one(order):
    vocabulary = alice.letters()
    counts = alice.Counts(alice.texts()["train"][:5000], order, vocabulary)
    for context in ("", "the ", "qqqq", "Alice was"):
        total = sum(counts.probability(letter, context) for letter in vocabulary)
        assert total == pytest.approx(1)


def test_the_book_is_cut_into_whole_parts():
    parts = alice.texts()
    assert "".join(parts.values()) == alice.TEXT.read_text(encoding="utf-8")
    pieces = alice.cut(alice.encoded(parts["test"]), 96)
    predicted = pieces[:, 1:].flatten().tolist()
    assert predicted == alice.encoded(parts["test"])[1 : 1 + len(predicted)].tolist()


def test_a_training_keeps_its_best_weights():
    ids = alice.encoded(alice.texts()["train"][:4000])
    validation = alice.encoded(alice.texts()["validation"][:500])
    torch.manual_seed(0)
    model = alice.Letters(len(alice.letters()), **scaling.sizes(8))
    history = alice.train(model, ids, validation, steps=3, seed=0)
    loss = alice.loss_on(model, alice.cut(validation, model.max_len))
    assert loss == pytest.approx(min(each["validation"] for each in history))


@pytest.mark.parametrize("variant", since_2017.VARIANTS)
def test_every_variant_looks_back_only(variant):
    torch.manual_seed(0)
    model = since_2017.Letters(12, since_2017.parts_of(variant)).eval()
    token_ids = torch.randint(12, (1, 9))
    other = token_ids.clone()
    other[0, 5] = (other[0, 5] + 1) % 12
    moved = (model(token_ids) - model(other)).abs().amax(-1)[0] > 1e-7
    assert moved.tolist() == [False] * 5 + [True] * 4


def test_variants_differ_by_a_tenth_at_most():
    sizes = {
        variant: sum(
            each.numel()
            for each in since_2017.Letters(68, since_2017.parts_of(variant)).parameters()
        )
        for variant in since_2017.VARIANTS[:-1]
    }
    assert len(set(sizes.values())) == len(sizes)
    assert min(sizes.values()) > 0.9 * max(sizes.values())


def test_without_positions_an_image_is_a_bag_of_patches():
    torch.manual_seed(0)
    model = VisionTransformer(8, 2, 1, 10, **digits.SHAPE).eval()
    image = torch.randn(1, 1, 8, 8)
    moved = image.roll(2, dims=2)  # by a row of patches
    assert not torch.allclose(model(image), model(moved), atol=1e-3)
    model.positions.data.zero_()
    assert torch.allclose(model(image), model(moved), atol=1e-5)


def test_a_straight_line_is_found():
    sizes = [10, 100, 1000]
    power, off = scaling.straight_line(sizes, [3 * size**-0.25 for size in sizes])
    assert power == pytest.approx(0.25)
    assert off == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("bias", [True, False])
def test_lora_changes_nothing_at_the_start_and_merges(bias):
    linear = torch.nn.Linear(6, 4, bias=bias, dtype=torch.float64)
    x = torch.randn(3, 6, dtype=torch.float64)
    lora = LoRA(linear, rank=2, scale=0.5)
    assert torch.equal(lora(x), linear(x))
    torch.nn.init.normal_(lora.up)
    assert torch.allclose(lora(x), lora.merged()(x), rtol=0, atol=1e-12)
    assert not torch.allclose(lora(x), linear(x), atol=1e-3)


def test_lora_learns_beside_frozen_layers():
    model = with_lora(alice.Letters(9, 8, 16, 2, 2, 32), rank=3)
    learning = {name for name, each in model.named_parameters() if each.requires_grad}
    assert learning == {
        f"layers.{layer}.self_attention.{name}.{side}"
        for layer in (0, 1)
        for name in ("w_q", "w_v")
        for side in ("up", "down")
    }
    model(torch.randint(9, (2, 5)), pad_id=-1).sum().backward()
    assert model.layers[0].self_attention.w_q.linear.weight.grad is None
