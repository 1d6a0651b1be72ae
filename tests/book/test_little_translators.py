"""The counts of chapter 8's little translators, and the decoders that lack a part."""

import pytest
import torch

from book.experiments.little import decoder_parts, little_translators
from book.experiments.little.toy_translation import KEPT_BACK, Translator, corpus
from solutions.ch08_encoder_decoder import Transformer


def test_each_italian_word_is_given_its_english_one():
    expected = {
        "your cat is a lovely cat": [0, 0, 1, 2, 3, 5, 4],
        "the black cat sees my white hen": [0, 2, 1, 3, 4, 4, 6, 5],
        "my hungry goat is white": [0, 0, 2, 1, 3, 4],
    }
    for english, places in expected.items():
        assert [place for _, place in little_translators.aligned_words(english)] == places
    pairs, held_out = corpus(50, 50)
    for english, italian in pairs + held_out:
        kinds = [kind for kind, _ in little_translators.aligned_words(english)]
        assert len(kinds) == len(italian.split())
        assert all(
            (kind == "noun") == (word in little_translators.ITALIAN_NOUNS)
            for kind, word in zip(kinds, italian.split(), strict=True)
        )


@pytest.mark.parametrize(
    ("written", "kinds"),
    [
        ("volpe adorabile corre", ["as if nothing", "from the verb on"]),
        ("una volpe adorabile corre", ["corrected", "from the verb on"]),
        ("cavallo adorabile corre", ["other noun", "from the verb on"]),
        ("volpe volpe adorabile dorme", ["twice"]),
    ],
)
def test_what_came_after_a_slip(written, kinds):
    meant = KEPT_BACK["a lovely fox runs"].split()
    assert little_translators.what_came(written.split(), meant) == kinds


def test_a_translation_may_choose_and_keeps_to_its_choice():
    pairs, held_out = decoder_parts.choice_corpus(200, 20)
    formal = set(decoder_parts.FORMAL.values())
    chosen = [
        {word in formal for word in italian.split() if word in formal | set(decoder_parts.FORMAL)}
        for _, italian in pairs + held_out
    ]
    assert all(len(kinds) == 1 for kinds in chosen)
    assert 70 < sum(kinds == {True} for kinds in chosen[:200]) < 130
    assert not {english for english, _ in pairs} & {english for english, _ in held_out}


@pytest.mark.parametrize("variant", decoder_parts.VARIANTS)
def test_a_variant_lacks_what_its_name_says(variant):
    torch.manual_seed(0)
    model = decoder_parts.VARIANTS[variant](9, 9, 8, 2, 1, 1, 16).eval()
    src, ids = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 4, 5, 6]])
    with torch.no_grad():
        logits = model(src, ids)[0, -1]
        other_past = model(src, torch.tensor([[1, 7, 5, 6]]))[0, -1]
        other_source = model(torch.tensor([[4, 8, 6]]), ids)[0, -1]
    assert torch.equal(logits, other_past) == (variant == "no looking back")
    assert torch.equal(logits, other_source) == (variant == "no looking across")
    plain = Transformer(9, 9, 8, 2, 1, 1, 16).eval()
    plain.load_state_dict(model.state_dict())
    with torch.no_grad():
        same = torch.allclose(plain(src, ids)[0, -1], logits, atol=1e-5)
    assert same == (variant == "all three parts")


def test_a_short_training_can_be_examined():
    translator, held_out = decoder_parts.train_variant("a choice", "no looking back", steps=2)
    assert isinstance(translator, Translator)
    found = decoder_parts.examined(translator, held_out, "a choice")
    assert 0 < found["kept"] < 1 and 0 <= found["others"] < 1
    shares = little_translators.aligned_shares(translator, held_out[:20])
    assert set(shares) == {"article", "possessive", "noun", "adjective", "verb"}
