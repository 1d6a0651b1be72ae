"""The experiments on the translator's heads, on an untrained little model and on weights that are
made by hand, so that the truth is known.
"""

from contextlib import ExitStack
from dataclasses import replace

import pytest
import torch

from book.experiments.heads import (
    ablations,
    alignments,
    explanations,
    other_weights,
    patching,
    same_heads,
    switched,
)
from book.experiments.heads.alignments import perfect
from book.experiments.heads.translators import (
    Seen,
    Sentences,
    all_heads,
    article_at,
    attentions,
    head_replaced,
    read,
)
from solutions.ch08_encoder_decoder import Transformer
from solutions.ch12_interpretation import ablate_heads
from solutions.translator import corpus
from solutions.translator.corpus import grammar
from solutions.translator.corpus.draw import draw
from solutions.translator.corpus.lexicon import NOUNS, VERBS
from solutions.translator.data.tokenizer import Tokenizer
from solutions.translator.decoding import translate_ids


class Run:
    """Stands in for a FinishedRun: an untrained model, and tokenizers that know the sentences."""

    about = {"state": {"seconds": 0.0}}  # noqa: RUF012

    def __init__(self, known):
        self.source, self.target = (
            Tokenizer.words([corpus.sentence(words) for words in side])
            for side in zip(*((one.english, one.italian) for one in known), strict=True)
        )
        torch.manual_seed(0)
        sizes = self.source.vocab_size, self.target.vocab_size
        self.model = Transformer(*sizes, 16, 2, 2, 2, 32, 0.0, norm_first=True).eval()


@pytest.fixture(scope="module")
def known():
    writer = corpus.Writer("heads", frozenset())
    shapes = ("deed", "gift", "whereabouts", "kind_of", "question", "health")
    return [corpus.annotate(draw(writer, (shape,))) for shape in shapes for _ in range(5)]


@pytest.fixture(scope="module")
def run(known):
    return Run(known)


@pytest.fixture
def sentences(run, known):
    return read(run, known)


def test_what_is_read_is_what_is_known(sentences, run):
    for known, src, tgt, expected in zip(
        sentences.known, sentences.src, sentences.tgt, sentences.expected, strict=True
    ):
        assert run.source.decode(src[src > 0].tolist()) == corpus.sentence(known.english)
        words = [*known.italian, "<eos>"]
        assert int((expected > 0).sum()) == len(words) and tgt[0] == 1
        assert tgt[1 : len(words)].tolist() == expected[: len(words) - 1].tolist()


def test_pronouns_are_no_articles():
    see = VERBS["see", "vedere"]
    known = corpus.annotate(grammar.clause(grammar.pronoun("he"), see, "past", clitic="her"))
    assert known.italian == ("l'", "ha", "vista") and not article_at(known, 0)
    friend = grammar.noun_phrase("the", NOUNS["friend"])
    known = corpus.annotate(grammar.clause(friend, see, "past", clitic="her"))
    assert known.italian[:2] == ("l'", "amico") and article_at(known, 0)
    assert known.italian[2] == "l'" and not article_at(known, 2)


def test_perfect_weights_have_few_errors_and_late_ones_many(sentences):
    weights = perfect(sentences)
    now, later = (alignments.error_rate(weights, sentences, shift) for shift in (0, 1))
    # a row has one word, and "nel" two sure ones
    assert now < 0.15 and later > 0.6
    shifted = weights.roll(1, dims=2)
    assert alignments.error_rate(shifted, sentences, 1) == now
    shares = alignments.where_the_most_is(weights, sentences)
    assert shares["linked"] == {"articles": 1, "others": 1}


def test_it_is_seen_where_articles_look(sentences):
    weights = torch.zeros_like(perfect(sentences))
    for row, known in zip(weights[:, 0], sentences.known, strict=True):
        for i, j in known.agreement:
            row[j, i] = 1 / len([link for link in known.agreement if link[1] == j])
    found = alignments.where_articles_look(weights[:, 0], sentences)
    assert found["noun"] == pytest.approx(1) and found["article"] == 0 < found["rows"]
    found = alignments.where_articles_look(perfect(sentences)[:, 0], sentences)
    assert found["noun"] == 0 and found["article"] == pytest.approx(1)


def test_the_end_looks_at_the_last_word(sentences):
    weights = torch.zeros_like(perfect(sentences))[:, 0]
    for row, known in zip(weights, sentences.known, strict=True):
        row[len(known.italian), len(known.english) - 1] = 0.5 if known.english[-1] == "?" else 0.25
    assert alignments.where_the_end_looks(weights, sentences) == {"last": 0.25, "stop": 0.5}


def test_seen_is_what_the_model_computes(run, sentences):
    model = run.model
    with torch.no_grad(), Seen(model) as seen:
        logits = model(sentences.src, sentences.tgt)
    assert torch.allclose(logits, model(sentences.src, sentences.tgt), atol=1e-5)
    assert len(seen.weights) == 6 and len(seen.hidden) == 2
    weights = seen.weights["cross", 1]
    assert torch.allclose(weights.sum(dim=-1), torch.ones(weights.shape[:-1]), atol=1e-5)
    values = seen.values["cross", 1].unflatten(-1, (2, -1)).transpose(1, 2)
    heads = (weights @ values).transpose(1, 2).flatten(-2)
    assert torch.allclose(heads, seen.outputs["cross", 1], atol=1e-5)
    module = attentions(model)["cross"][1]
    assert not module._forward_hooks and not module.w_o._forward_pre_hooks


def test_a_head_replaced_by_zero_is_a_head_switched_off(run, sentences):
    model = run.model
    for _, _, head, module in all_heads(model):
        gates = torch.ones(2)
        gates[head] = 0
        with torch.no_grad(), ablate_heads(module, gates):
            gated = model(sentences.src, sentences.tgt)
        with torch.no_grad(), head_replaced(module, head, torch.zeros(8)):
            replaced = model(sentences.src, sentences.tgt)
        assert torch.allclose(gated, replaced, atol=1e-6)
    assert not module.w_o._forward_pre_hooks


def test_sets_of_heads_that_are_switched_off_at_once_are_those_that_are_off_alone(run, known):
    words = [
        [side.token(number) for number in range(side.vocab_size)]
        for side in (run.source, run.target)
    ]
    found = switched.recorded(run.model, corpus.sentence(known[0].english), *words)
    first, without = found["first"], {off: rest for off, *rest in found["without"]}
    assert sorted(without) == [*range(2**4), *(1 << head for head in range(4, 12))]
    src = torch.tensor([[words[0].index(word) for word in first["source"]]])
    whole, rivals = ([words[1].index(word) for word in first[key]] for key in ("written", "rivals"))
    tgt = torch.tensor([[1, *whole[:-1]]])
    heads = [
        (group, layer, head) for group in switched.GROUPS for layer in (0, 1) for head in (0, 1)
    ]
    modules, changed = attentions(run.model), 0
    for off, (sentence, *leads) in without.items():
        with ExitStack() as blocks, torch.no_grad():
            for bit, (group, layer, head) in enumerate(heads):
                if off >> bit & 1:
                    gates = torch.ones(2).index_fill(0, torch.tensor(head), 0)
                    blocks.enter_context(ablate_heads(modules[group][layer], gates))
            logits = run.model(src, tgt)[0]
            (written,) = translate_ids(run.model, [src[0].tolist()])
        expected = [
            row[rival] - row[word] for row, word, rival in zip(logits, whole, rivals, strict=True)
        ]
        assert leads == pytest.approx([float(each) for each in expected], abs=0.051)
        said = [words[1].index(word) for word in found["sentences"][sentence] if word != "<eos>"]
        length = min(len(said), len(written))
        assert said[:length] == written[:length] and length
        changed += sentence > 0
    assert changed and not any(module.w_o._forward_pre_hooks for module in modules["cross"])


def test_ablations_have_a_row_for_each_head_and_each_set(run, known, monkeypatch):
    monkeypatch.setattr(ablations, "SENTENCES_ONE_BY_ONE", 3)
    monkeypatch.setattr(ablations, "MOSTLY", 0.0)  # each head looks at the noun somewhat
    rows = list(ablations.rows_of(0, run, run.model, known))
    assert [row["group"] for row in rows] == [
        "none",
        *["encoder"] * 4,
        *["decoder"] * 4,
        *["cross"] * 4,
        "noun heads",
    ]
    none = rows[0]
    assert none["articles"] <= none["articles_in_all"] < none["words"]
    assert len(rows[-1]["heads"]) == 4
    assert rows[-1]["zero"] != rows[-2]["zero"] != rows[-2]["mean"]


def test_the_importance_is_the_slope_of_the_loss(run, known):
    model = run.model
    model.requires_grad_(False)
    few = read(run, known[:2])
    found, _ = ablations.importances(model, few, singles=1)
    module, losses = attentions(model)["decoder"][1], []
    for gate in (1.01, 0.99):
        with ablate_heads(module, torch.tensor([1.0, gate])):
            losses.append(ablations.errors(model, few, few.is_article(), digits=9)["loss"])
    assert found["decoder"][1, 1] == pytest.approx(abs(losses[0] - losses[1]) / 0.02, rel=0.05)


def test_gradients_are_those_of_the_right_words(run, known):
    few = read(run, known[:4])
    run.model.requires_grad_(False)
    lengths, products = explanations.gradients(run.model, few)
    assert lengths.shape == (4, few.tgt.shape[1], few.src.shape[1]) == products.shape
    padding = few.src[:, None].expand_as(lengths) == 0
    assert lengths[padding].abs().max() < 1e-6 < lengths[~padding].max()


def test_erasing_and_swapping_leave_padding_alone(run, known):
    few = read(run, known[:4])
    drops = explanations.erased(run.model, few)
    swaps = explanations.swapped(run.model, few, torch.Generator().manual_seed(0))
    padding = few.src[:, None].expand_as(drops) == 0
    assert drops[padding].abs().max() < 1e-5 < drops[~padding].abs().max()
    assert swaps[padding].abs().max() < 1e-5 < swaps[~padding].abs().max()


def test_scores_that_are_the_effect_are_perfect(sentences):
    effect = torch.rand(len(sentences.known), sentences.tgt.shape[1], sentences.src.shape[1])
    found = explanations.compared(effect, effect, sentences)
    assert found["rank"] == pytest.approx(1) and found["top"] == 1 and found["rows"] > 30
    found = explanations.compared(-effect, effect, sentences)
    assert found["rank"] == pytest.approx(-1) and found["top"] == 0
    found = explanations.compared(perfect(sentences)[:, 0], effect, sentences)
    assert found["linked"] == 1


def test_heads_are_paired_by_what_they_share(run, known):
    layers, said, articles = same_heads.looked(run, run.model, known)
    swapped = [layer.flip(0) for layer in layers], said, articles
    row = same_heads.compared(0, 1, 1, (layers, said, articles), swapped)
    assert row["pairing"] == [1, 0] and row["matched"] == pytest.approx(1) and row["agree"] == 1
    assert row["by_number"] < 1 and row["overlap"][0][1] == 1
    alone = row["articles"]
    assert alone["pairing"] == [1, 0] and alone["by_chance"] != row["by_chance"]


def test_other_weights_are_found_where_there_are_some(monkeypatch):
    there = torch.ones(1, 5, dtype=torch.bool)
    weights = torch.tensor([[[0.6, 0.1, 0.1, 0.1, 0.1]]])
    alike = torch.ones(1, 5, 3) + 0.001 * torch.randn(1, 5, 3)  # one value is as good as another
    other = other_weights.searched(weights, alike, there)
    assert other[0, 0, 0] < 0.2
    apart = other_weights.searched(weights, torch.eye(5)[None], there)
    off = (apart - weights).norm() / weights.norm()
    assert off <= other_weights.ALLOWED + 1e-4 and apart[0, 0, 0] > 0.5
    monkeypatch.setattr(other_weights, "SEARCH", 1)
    monkeypatch.setattr(other_weights, "ALLOWED", 1e-3)  # one step goes farther
    back = other_weights.searched(weights, torch.eye(5)[None], there)
    assert (back - weights).norm() / weights.norm() == pytest.approx(1e-3, rel=0.01)
    assert torch.allclose(other.sum(dim=-1), torch.ones(1, 1))
    assert other_weights.ranks(torch.eye(5)[None], there).tolist() == [5]
    assert other_weights.ranks(torch.ones(1, 5, 3), there).tolist() == [1]


def test_shuffled_weights_stay_on_the_words():
    there = torch.tensor([[True] * 4 + [False]])
    weights = torch.tensor([[[0.4, 0.3, 0.2, 0.1, 0.0]]]).expand(1, 20, 5)
    shuffled = other_weights.shuffled(weights, there, torch.Generator().manual_seed(0))
    assert torch.equal(shuffled.sort(dim=-1).values, weights.sort(dim=-1).values)
    assert not shuffled[..., 4].any() and not torch.equal(shuffled, weights)


def test_a_model_whose_heads_are_replaced_by_themselves_says_the_same(run, known):
    rows = list(other_weights.rows_of(0, run, run.model, known[:3]))
    assert len(rows) == 5 and rows[-1]["layer"] == "all"
    assert all(0 <= row["even"] <= 1 and 0 <= row["shuffled"] <= 1 for row in rows)


def test_one_sentence_of_many(sentences):
    one = sentences.only(3)
    assert isinstance(one, Sentences) and one.known == [sentences.known[3]]
    assert torch.equal(one.src[0], sentences.src[3]) and len(one.expected) == 1


@pytest.fixture(scope="module")
def swaps(known):
    return patching.drawn_swaps(known)


def test_a_swap_changes_one_noun_and_the_gender_of_its_article(swaps):
    forms = {
        (noun.english[plural], plural): (noun.italian[plural], noun.gender[plural])
        for noun in NOUNS.values()
        for plural in (False, True)
    }
    assert len(swaps) >= 3
    for one, english, place, determiner, noun in swaps:
        both = zip(one.english, english, strict=True)
        assert [i for i, (old, new) in enumerate(both) if old != new] == [noun]
        assert (noun, place) in one.agreement and (determiner, place) in one.sure
        word, gender = forms[english[noun], one.italian[place] in ("i", "le")]
        article = grammar.definite_article(gender, one.italian[place] in ("i", "le"), word)
        if one.english[determiner] == "a":
            article = grammar.before({"m": "un", "f": "una"}[gender], word)
        assert article == patching.OTHER[one.italian[place]]


@pytest.fixture
def both(known, swaps):
    others = [replace(one, english=english) for one, english, *_ in swaps]
    run = Run([*known, *others])
    with torch.no_grad():
        made = patching.BothRuns(run.model, patching.as_pairs(run, swaps))
        made.kept = torch.ones_like(made.kept)  # an untrained model has few articles right
        yield made


def test_copying_everything_makes_the_other_run(both):
    heads = list(patching.cross_heads(both.model))
    everywhere = both.memory_with(["determiner", "noun", "rest"])
    assert both.moved_by()["moved"] == pytest.approx(0, abs=1e-3)
    assert both.moved_by(everywhere)["moved"] == pytest.approx(1, abs=1e-3)
    # the rows before have looked at the source, too, and are not copied
    assert len(heads) == 4 and both.moved_by(heads=heads)["moved"] == pytest.approx(1, abs=0.1)
    parts = [both.moved_by(both.memory_with([name]))["moved"] for name in both.pairs.places]
    assert len({*parts, 0, 1}) == 5


def test_a_patched_head_changes_one_row(both):
    pairs, model = both.pairs, both.model
    source = pairs.sentences.src, pairs.sentences.tgt
    before = model(*source)
    module, found = model.decoder[1].cross_attention, both.seen[1].outputs["cross", 1]
    found = pairs.at(found)[:, patching.block_of(1, module)]
    with patching.head_replaced(module, 1, found, (range(len(pairs.row)), pairs.row)):
        after = model(*source)
    moved = ((after - before).abs() > 1e-5).any(dim=-1)
    there = torch.arange(moved.shape[1]) == pairs.row[:, None]
    assert moved[there].all() and not moved[~there].any()


def test_what_a_head_adds_straight_is_a_part_of_the_difference(both):
    """The parts of the last state, each normed alike, add up to the logits."""
    layer, norm, pairs = both.model.decoder[1].cross_attention, both.model.decoder_norm, both.pairs
    state, generator = pairs.at(both.seen[0].hidden[-1]), both.model.generator
    added = sum(both.added(both.seen[0], 1, head) for head in range(layer.num_heads))
    heads = pairs.at(both.seen[0].outputs["cross", 1]) @ layer.w_o.weight.T
    rest = state - heads  # with all else that was added
    centred = rest - rest.mean(dim=-1, keepdim=True)
    deviation = (state.var(dim=-1, correction=0, keepdim=True) + norm.eps).sqrt()
    without = both.difference(generator(centred / deviation * norm.weight + norm.bias))
    assert torch.allclose(both.difference(generator(norm(state))) - without, added, atol=1e-4)


def test_patches_have_a_row_for_each_part(known, swaps, monkeypatch):
    everything = torch.ones(len(swaps), dtype=torch.bool)
    monkeypatch.setattr(patching, "right", lambda logits, ids: everything)
    run = Run([*known, *(replace(one, english=english) for one, english, *_ in swaps)])
    rows = list(patching.rows_of(0, run, run.model, swaps, known))
    assert [row["patch"] for row in rows] == ["states"] * 5 + ["head"] * 4 + ["heads"] * 5
    assert {row["pairs"] for row in rows} == {len(swaps)}
