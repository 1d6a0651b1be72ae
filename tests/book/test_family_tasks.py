"""The tasks of chapter 13 whose answers the grammar knows, and what is trained on them: gold is
right word by word, scores and baselines are those that are counted by hand, every model learns; and
what the recorded runs tell apart, seeds that the page does not show tell apart, too.
"""

import math

import pytest
import torch

from book.experiments import measurements
from book.experiments.family import (
    digits,
    few_answers,
    few_digits,
    grammar_tasks,
    text_to_text,
)
from book.experiments.family.grammar_tasks import ADJUNCTS, ASKED, TASKS, WORDS_BEFORE
from book.experiments.undisturbed import undisturbed
from solutions.translator import corpus
from solutions.translator.data.tokenizer import BOS, EOS, PAD, SPECIALS

pytestmark = pytest.mark.xdist_group("corpus")  # drawn in one process, for all of its tests
UNSEEN = range(100, 103)


@pytest.fixture(scope="module")
def known():
    return [each for name in ("validation", "random") for each in corpus.annotations()[name]]


@pytest.fixture(scope="module")
def words(known):
    special = [*WORDS_BEFORE, *ASKED.values()]
    return [*special, *sorted({word for each in known for word in each.english} - {*special})]


@pytest.fixture
def reader(words):
    with undisturbed():
        torch.manual_seed(0)
        return grammar_tasks.Reader(words)


def annotated(text):
    """Return an Annotation from "word/role/entity" for each word; role and entity may be empty."""
    english, roles, entities = zip(*(each.split("/") for each in text.split()), strict=True)
    nothing = frozenset()
    return corpus.Annotation(english, (), nothing, nothing, nothing, (roles, ()), (entities, ()))


def test_answers_by_hand():
    one = annotated(
        "paolo/subject/name sees/verb/ the/object/ cat/object/ in/place/ rome/place/place"
    )
    assert grammar_tasks.kind(one) == "object"
    assert grammar_tasks.bio(one) == ["B-name", "O", "O", "O", "O", "B-place"]
    assert grammar_tasks.questions(one) == {"who": (0, 1), "what": (2, 4), "where": (4, 6)}
    assert grammar_tasks.summary(one) == ["paolo", "sees", "the", "cat"]
    two = annotated("new/place/place york/place/place sleeps/verb/ but/conjunction/ she/subject/")
    assert grammar_tasks.kind(two) == "neither"
    assert grammar_tasks.bio(two) == ["B-place", "I-place", "O", "O", "O"]
    assert grammar_tasks.questions(two) == {"who": (4, 5), "where": (0, 2)}


def test_what_a_sentence_has_twice_is_not_asked_for():
    twice = annotated("they/subject/ read/verb/ but/conjunction/ she/subject/ slept/verb/")
    assert grammar_tasks.questions(twice) == {}


def test_a_question_is_asked_if_a_role_stands_once_and_together(known):
    asked = 0
    for each in known:
        answers = grammar_tasks.questions(each)
        for role, word in ASKED.items():
            places = [place for place, found in enumerate(each.roles[0]) if found == role]
            together = bool(places) and places[-1] - places[0] + 1 == len(places)
            assert answers.get(word) == ((places[0], places[-1] + 1) if together else None)
        asked += len(answers)
    assert asked > len(known)


def test_a_summary_is_the_sentence_without_the_words_of_adjuncts(known):
    shorter = 0
    for each in known:
        rest = iter(zip(each.english, each.roles[0], strict=True))
        for word in grammar_tasks.summary(each):
            found, role = next(rest)
            while role in ADJUNCTS:
                found, role = next(rest)
            assert found == word
        assert all(role in ADJUNCTS for _, role in rest)
        shorter += len(grammar_tasks.summary(each)) < len(each.english)
    assert 0.2 < shorter / len(known) < 0.5


def test_tensors_lead_back_to_answers(known, words):
    data, some = grammar_tasks.Data(words), known[:200]
    for task, gold in (
        ("roles", lambda each: list(each.roles[0])),
        ("entities", grammar_tasks.bio),
    ):
        names = {number: tag for tag, number in data.tags[task].items()}
        token_ids, types, answers = data.of(task, some)
        assert not types.any()
        for each, ids, row in zip(some, token_ids.tolist(), answers.tolist(), strict=True):
            assert [words[token] for token in ids if token != PAD] == ["<class>", *each.english]
            assert [names[tag] for tag in row if tag != -100] == gold(each)
    _, _, answers = data.of("kind", some)
    assert [grammar_tasks.KINDS[each] for each in answers] == [*map(grammar_tasks.kind, some)]


def test_no_sentence_of_the_test_was_seen():
    """Neither without its answers nor with them."""
    seen = {pair[0] for pair in corpus.splits()["train"]}
    pool, test = (
        {corpus.sentence(each.english) for each in corpus.annotations()[name]}
        for name in ("validation", "random")
    )
    assert not test & seen and not test & pool and not pool & seen


def test_all_fits_into_the_models(known, words):
    data = grammar_tasks.Data(words)
    for task in TASKS:
        assert data.of(task, known)[0].shape[1] <= grammar_tasks.SHAPE["max_len"]
    answers = [answer for each in known for _, _, answer in text_to_text.texts_of(each)]
    assert max(map(len, answers)) + len(("<bos>", "<eos>")) <= 24


def test_texts_hold_the_answers(known):
    for each in known[:300]:
        texts = text_to_text.texts_of(each)
        by_task = {task: answer for task, _, answer in texts}
        pairs = zip(each.entities[0], each.english, strict=True)
        named = [pair for pair in pairs if pair[0]]
        assert by_task["entities"] == ([part for pair in named for part in pair] or ["none"])
        assert by_task["summary"] == grammar_tasks.summary(each)
        assert [role.strip("?") for role in by_task["roles"]] == list(each.roles[0])
        questions = {text[2]: answer for task, text, answer in texts if task == "question"}
        assert questions == {
            word: list(each.english[start:end])
            for word, (start, end) in grammar_tasks.questions(each).items()
        }


def scores_for(found, classes):
    return torch.nn.functional.one_hot(torch.tensor(found), classes).float()


def test_scores_by_hand():
    right = grammar_tasks.right
    tags = torch.tensor([[-100, 1, 0, 3, -100], [-100, 0, 0, 1, 1]])
    said = scores_for([[1, 1, 0, 0, 3], [0, 3, 0, 1, 1]], 5)
    assert right("roles", said, tags) == pytest.approx(5 / 7)
    assert right("entities", said, tags) == pytest.approx(2 * 3 / (4 + 4))
    spans = torch.tensor([[2, 3], [2, 2], [4, 5]])
    assert right("question", scores_for([[2, 3], [2, 3], [3, 5]], 7), spans) == pytest.approx(1 / 3)
    assert right("kind", scores_for([0, 1, 1], 3), torch.tensor([0, 1, 2])) == pytest.approx(2 / 3)


def counted(task, ids, answers, test_ids, wanted):
    train, test = (
        (torch.tensor(rows), None, torch.tensor(gold))
        for rows, gold in ((ids, answers), (test_ids, wanted))
    )
    return grammar_tasks.counted(task, train, test)


def test_baselines_by_hand():
    tags = [[-100, 1, 2], [-100, 2, 2]]
    # the second test sentence has word 8 once more, now with another tag
    found = counted("roles", [[7, 8, 9], [7, 9, 9]], tags, [[7, 8, 10], [7, 9, 8]], tags)
    assert found == {"majority": 0.75, "words": 0.75}
    spans = [[2, 2], [2, 2], [3, 4], [3, 4], [3, 4]]
    asked = [[5, 8], [5, 9], [6, 8], [6, 9], [6, 7]]
    found = counted("question", asked, spans, [[5, 7], [6, 7]], [[2, 2], [3, 4]])
    assert found == {"majority": 0.5, "words": 1.0}
    bags = [[5, 8], [5, 8], [5, 9]] * 20
    found = counted("kind", bags, [0, 0, 1] * 20, [[5, 8], [5, 9]], [0, 1])
    assert found == {"majority": 0.5, "words": 1.0}


def test_padding_changes_no_score_and_is_no_answer(reader, known, words):
    data = grammar_tasks.Data(words)
    short, *_, long = sorted(known[:100], key=lambda each: len(each.english))
    reader.eval()
    for task in TASKS:
        alone, types, answers = data.of(task, [short])
        both, both_types, _ = data.of(task, [short, long])
        with torch.no_grad():
            one, padded = reader(task, alone, types), reader(task, both, both_types)[: len(alone)]
        length = alone.shape[1]
        if task == "question":
            assert (padded[:, :, length:] == -torch.inf).all() and answers.max() < length
            padded = padded[:, :, :length]
        elif task != "kind":
            padded = padded[:, :length]
        assert torch.allclose(one, padded, atol=1e-5), task


@pytest.mark.parametrize("task", TASKS)
def test_bert_learns_a_few_sentences_by_heart(task, reader, known, words):
    data = grammar_tasks.Data(words).of(task, known[:16])
    before = grammar_tasks.score(reader, task, data)
    with undisturbed():
        torch.manual_seed(0)
        grammar_tasks.tune(reader, task, data, steps=120)
    assert grammar_tasks.score(reader, task, data) > max(before, 0.9)


@pytest.mark.parametrize("module", [grammar_tasks, few_answers])
def test_hidden_words_are_learned(module, reader, known, words):
    rows = grammar_tasks.Data(words).encoded([["<class>", *each.english] for each in known[:64]])

    def loss():
        reader.eval()
        hidden = rows.clone()
        hidden[:, 1] = grammar_tasks.MASK
        with torch.no_grad():
            return grammar_tasks.loss_of(reader.guessed(hidden)[:, 1], rows[:, 1]).item()

    before = loss()
    with undisturbed():
        torch.manual_seed(0)
        module.pretrain(reader, rows, words, steps=60)
    assert loss() < before - 1


def test_the_rate_rises_and_falls():
    weight = torch.nn.Parameter(torch.zeros(1))
    rates = [each.param_groups[0]["lr"] for each in grammar_tasks.steps_of([weight], 200)]
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert 0 < rates[-1] < 0.01 * grammar_tasks.PEAK < max(rates) <= grammar_tasks.PEAK


def test_a_seed_of_the_tasks_says_all_and_leaves_no_trace(known, words):
    data = grammar_tasks.Data(words)
    sentences = data.encoded([["<class>", *each.english] for each in known[:64]])
    given = 0, words, data, sentences, known[:60], known[60:90], 2, (5, 20), 2
    state = torch.get_rng_state()
    rows = list(grammar_tasks.of_seed(*given))
    assert torch.equal(state, torch.get_rng_state())
    found = [(row["task"], row["labelled"]) for row in rows]
    assert found == [(task, count) for task in TASKS for count in (5, 20)] + [("summary", 20)]
    ways = {"pretrained", "from_scratch", "words", "majority"}
    assert all(ways <= row.keys() for row in rows[:-1])
    assert rows == list(grammar_tasks.of_seed(*given))


def test_only_columns_of_padding_are_cut_off():
    ids = torch.tensor([[5, 6, PAD, PAD], [7, PAD, PAD, PAD]])
    tags, places = torch.arange(8).reshape(2, 4), torch.tensor([[0, 1], [0, 0]])
    cut, cut_tags, same = few_answers.trimmed(ids, tags, places)
    assert cut.tolist() == [[5, 6], [7, PAD]] and cut_tags.tolist() == [[0, 1], [4, 5]]
    assert same is places


def test_the_pretrained_model_of_the_page_fills_gaps():
    bert, data = few_answers.loaded()
    sentences = few_answers.annotated(300, seed=2)
    ids = data.encoded([["<class>", *each.english] for each in sentences])
    hidden = ids.clone()
    hidden[:, 2] = grammar_tasks.MASK
    with torch.no_grad():
        scores = bert(hidden)[:, 2] @ bert.token_embedding.weight.T
    right = (scores.argmax(dim=-1) == ids[:, 2]).float().mean()
    assert right > (ids[:, 2] == ids[:, 2].mode().values).float().mean() + 0.05
    assert few_answers.WEIGHTS.stat().st_size < 400_000


def test_sentences_drawn_from_two_seeds_are_different():
    first, second = ({each.english for each in few_answers.annotated(200, seed)} for seed in (0, 1))
    assert len(first) == len(second) == 200 and not first & second


@pytest.mark.parametrize("task", few_answers.TASKS)
def test_tuning_ends_with_the_weights_that_were_best(task, reader, known, words, monkeypatch):
    monkeypatch.setattr(few_answers, "EVERY", 10)
    monkeypatch.setattr(few_answers, "PATIENCE", 30)
    data = grammar_tasks.Data(words)
    given, held = data.of(task, known[:30]), data.of(task, known[30:60])
    with undisturbed():
        torch.manual_seed(0)
        found = few_answers.tune(reader, task, given, held, most=150)
    assert grammar_tasks.score(reader, task, held) == pytest.approx(found["validation"])
    assert 0 < found["steps"] <= 150 and found["steps"] % 10 == 0


def test_no_answer_that_chooses_the_steps_is_learned_or_asked(known, words, monkeypatch):
    """What is given, held back and asked has no sentence in common."""
    seen = []
    data = grammar_tasks.Data(words)
    monkeypatch.setattr(data, "of", lambda task, some: seen.append(some) or (task, some))
    monkeypatch.setattr(few_answers, "tune", lambda *_: {"validation": 0.5, "steps": 1})
    monkeypatch.setattr(few_answers, "score", lambda *_: 0.5)
    monkeypatch.setattr(few_answers, "counted", lambda *_: {})
    monkeypatch.setattr(few_answers, "pretrain", lambda *_: None)
    pool, test = known[:300], known[300:330]
    rows = list(few_answers.of_seed(0, words, data, None, pool, test, 1, (25, 100), 1))
    assert [(row["task"], row["labelled"]) for row in rows] == [
        (task, count) for task in few_answers.TASKS for count in (25, 100)
    ]
    asked, held, *given = ([id(each) for each in some] for some in seen)
    assert [len(each) for each in (asked, held, *given)] == [30, few_answers.HELD, 25, 100]
    assert not {*asked} & {*held} and not {*given[1]} & {*held, *asked}
    assert {*given[0]} < {*given[1]}


def test_spared_answers_by_hand():
    many = {25: 0.2, 100: 0.4, 400: 0.8}
    assert few_answers.spared(0.1, many) == 25
    assert few_answers.spared(0.4, many) == pytest.approx(100)
    assert few_answers.spared(0.6, many) == pytest.approx(200)
    assert few_answers.spared(0.9, many) == math.inf


def test_text_to_text_says_all_of_each_task(known):
    train, test = (
        [text for each in some for text in text_to_text.texts_of(each)]
        for some in (known[:60], known[:10])
    )
    spelled = sorted({word for each in train for side in each[1:] for word in side})
    numbers = {word: number for number, word in enumerate((*SPECIALS, *spelled))}
    src = text_to_text.padded(text_to_text.ids_of([each[1] for each in train], numbers))
    tgt = text_to_text.ids_of([each[2] for each in train], numbers)
    tgt = text_to_text.padded([[BOS, *row, EOS] for row in tgt])
    common = {}
    for task, _, answer in train:
        common.setdefault(task, text_to_text.Counter())[tuple(answer)] += 1
    rows = list(text_to_text.of_seed(0, 2, src, tgt, test, numbers, common))
    assert {row["task"] for row in rows} == {*common}
    assert sum(row["asked"] for row in rows) == len(test)
    by_task = {row["task"]: row for row in rows}
    same = [grammar_tasks.summary(each) == list(each.english) for each in known[:10]]
    assert by_task["summary"]["copy"] == pytest.approx(sum(same) / 10)
    most = common["kind"].most_common(1)[0][0][0]
    kinds = [grammar_tasks.kind(each) == most for each in known[:10]]
    assert by_task["kind"]["majority"] == pytest.approx(sum(kinds) / 10)


def test_every_image_is_in_one_split():
    parts = digits.splits(3)
    assert [len(labels) for _, labels in parts.values()] == [1200, 297, 300]
    whole = torch.cat([images for images, _ in parts.values()]).flatten(1)
    plain = torch.cat([images for images, _ in digits.splits(4).values()]).flatten(1)
    assert sorted(whole.tolist()) == sorted(plain.tolist())
    assert not torch.equal(whole, plain)
    assert whole.min() == 0 and whole.max() == 1


def test_vit_learns_and_without_positions_has_none():
    parts = {"train": tuple(each[:128] for each in digits.splits(0)["train"])}
    model = digits.trained(parts, 60, seed=0)
    assert digits.right(model, *parts["train"]) > 0.5
    assert not digits.trained(parts, 1, seed=0, positions=False).positions.any()


def test_few_digits_train_both_networks_alike_and_the_same_each_time():
    images, labels = (each[:100] for each in digits.splits(0)["train"])
    sizes = []
    for build in (few_digits.convolution, few_digits.vit):
        one, same, longer = (
            few_digits.trained(build, images, labels, steps, 0) for steps in (2, 2, 120)
        )
        for first, second in zip(one.parameters(), same.parameters(), strict=True):
            assert torch.equal(first, second)
        assert digits.right(longer, images, labels) > 0.5
        sizes.append(sum(each.numel() for each in one.parameters()))
    assert max(sizes) < 1.5 * min(sizes)


def apart(runs, better, worse, by):
    """Return the groups in which every recorded seed of `better` is above every one of `worse`."""
    groups = {}
    for run in runs:
        if better in run and worse in run:
            groups.setdefault(tuple(run[name] for name in by), []).append(run)
    return {
        group
        for group, found in groups.items()
        if min(run[better] for run in found) > max(run[worse] for run in found)
    }


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("name", "module", "by", "better", "baselines"),
    [
        (
            "grammar_tasks",
            grammar_tasks,
            ("task", "labelled"),
            "pretrained",
            ("from_scratch", "words", "majority", "copy"),
        ),
        ("text_to_text", text_to_text, ("task",), "right", ("copy", "majority")),
        ("digits", digits, ("epochs",), "vit", ("without_positions", "pixels", "majority")),
        ("few_digits", few_digits, ("images", "steps"), "convolution", ("vit",)),
    ],
)
def test_what_recorded_seeds_tell_apart_others_do_too(name, module, by, better, baselines):
    """At the recorded budget: what is better with every recorded seed is so with others, on the
    mean of three.
    """
    recorded = measurements.load(name)
    if recorded is None:
        pytest.skip("nothing was measured yet")
    claims = {
        (worse, group)
        for worse in baselines
        for group in apart(recorded["runs"], better, worse, by)
    }
    assert claims
    others = module.measure(**recorded["budget"] | {"seeds": UNSEEN})
    for worse, group in claims:
        of_group = [
            run for run in others if worse in run and tuple(run[key] for key in by) == group
        ]
        gain = sum(run[better] - run[worse] for run in of_group) / len(of_group)
        assert gain > 0, (worse, group)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_pretraining_spares_answers_with_other_seeds():
    budget = measurements.load("few_answers")["budget"]
    others = few_answers.measure(**budget | {"labelled": (50,), "seeds": UNSEEN})
    for task in few_answers.TASKS:
        rows = [row for row in others if row["task"] == task]
        assert all(row["pretrained"] > row["from_scratch"] for row in rows), task
