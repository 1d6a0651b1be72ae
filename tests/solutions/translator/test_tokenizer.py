"""Tokenizers: what is encoded comes back, the same text always gives the same ids, and a damaged
file is told.
"""

import json
import pickle
import random
import subprocess
import sys
import unicodedata

import pytest

from autograder.course import ROOT
from solutions.translator.data.tokenizer import (
    BOS,
    EOS,
    PAD,
    SPECIALS,
    UNK,
    Tokenizer,
    TokenizerError,
)

SENTENCES = [
    "il gatto dell'amico è sull'albero",
    "where is the cat?",
    "your cat is a lovely cat",
    "il tuo gatto è un gatto adorabile",
    "non c'è nessun amico, vero?",
    "the well-known price is 3.50, not 4",
]
ODD = [
    "",
    " ",
    "  two  spaces ",
    "<eos> <pad><unk>",
    "\t\n\r\x00\x7f",
    "▁ Ġ ##ing",
    "a\u2028b\u00a0c",
    "日本語 한국어 हिन्दी",
    "👩‍👩‍👧 🏳️‍🌈",
    "e\u0301\u0302 ﬁ Å",
]


@pytest.fixture(scope="module")
def words():
    return Tokenizer.words(SENTENCES)


@pytest.fixture(scope="module")
def pieces():
    return Tokenizer.byte_pairs(SENTENCES * 4, 330)


def odd_sentences(count):
    """Return sentences of letters, spaces and signs from all over Unicode."""
    rng = random.Random(0)
    ranges = [
        (0x20, 0x7F),
        (0xA0, 0x180),
        (0x300, 0x370),
        (0x2000, 0x2070),
        (0x3040, 0x30FF),
        (0x1F300, 0x1F700),
        (0, 0xD800),
    ]
    return [
        "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.randrange(30)))
        for _ in range(count)
    ]


# --- words


def test_words_come_back_as_people_write_them(words):
    assert [words.decode(ids) for ids in words.encode(SENTENCES)] == SENTENCES


def test_an_apostrophe_ends_a_word_and_a_sign_is_one(words):
    assert words.tokens("dell'amico, vero?") == ["dell'", "amico", ",", "vero", "?"]
    assert words.tokens("3.50 well-known") == ["3.50", "well-known"]


def test_frequent_words_come_first_then_the_alphabet():
    tokenizer = Tokenizer.words(["b a c", "b c", "b"])
    assert tokenizer.encode(["b c a"]) == [[4, 5, 6]]
    assert Tokenizer.words(["b a c", "b c", "b"], vocab_size=6).encode(["b c a"]) == [[4, 5, UNK]]
    assert tokenizer.vocab_size == 7


def test_unknown_words_are_named_in_order_and_once(words):
    assert words.unknown_words("il cane è un cane, e dell'orso <eos>?") == [
        "cane",
        "e",
        "orso",
        "<",
        "eos",
        ">",
    ]
    assert words.encode(["il cane"])[0][1] == UNK
    assert words.decode(words.encode(["il cane"])[0]) == "il <unk>"


def test_composed_and_decomposed_letters_are_one_word(words):
    assert words.encode([unicodedata.normalize("NFD", SENTENCES[0])]) == words.encode(SENTENCES[:1])


# --- byte pairs


@pytest.mark.parametrize("text", ODD)
def test_any_text_comes_back(pieces, text):
    assert pieces.decode(pieces.encode([text])[0]) == unicodedata.normalize("NFC", text)


def test_random_text_comes_back(pieces):
    texts = odd_sentences(2_000)
    back = [pieces.decode(ids) for ids in pieces.encode(texts)]
    assert back == [unicodedata.normalize("NFC", text) for text in texts]


def test_pieces_are_shorter_than_bytes_and_unknown_to_nobody(pieces):
    (ids,) = pieces.encode([SENTENCES[3]])
    assert len(ids) < len(SENTENCES[3].encode()) / 2
    assert pieces.tokens("gatto cat") == [" gatto", " cat"]
    assert pieces.unknown_words("日本語 never seen") == []


def test_learning_again_in_another_process_gives_the_same_ids(pieces):
    again = f"""
from solutions.translator.data.tokenizer import Tokenizer
print(Tokenizer.byte_pairs({SENTENCES * 4!r}, 330).fingerprint, Tokenizer.words({SENTENCES!r}).fingerprint)
"""
    runs = {
        subprocess.check_output([sys.executable, "-c", again], cwd=ROOT, text=True)
        for _ in range(2)
    }
    assert runs == {f"{pieces.fingerprint} {Tokenizer.words(SENTENCES).fingerprint}\n"}


# --- both


@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_no_text_becomes_a_special_id(kind, request):
    tokenizer = request.getfixturevalue(kind)
    for ids in tokenizer.encode([*SPECIALS, "".join(SPECIALS), *ODD, *odd_sentences(200)]):
        assert not {PAD, BOS, EOS} & set(ids)
        assert all(0 <= each < tokenizer.vocab_size for each in ids)


@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_special_ids_are_passed_over_and_foreign_ones_told(kind, request):
    tokenizer = request.getfixturevalue(kind)
    (ids,) = tokenizer.encode([SENTENCES[2]])
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == SENTENCES[2]
    assert tokenizer.decode([]) == ""
    for foreign in (-1, tokenizer.vocab_size):
        with pytest.raises(ValueError, match=f"there is no id {foreign}"):
            tokenizer.decode([foreign])


@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_half_a_character_from_a_terminal_does_no_harm(kind, request):
    tokenizer = request.getfixturevalue(kind)
    assert tokenizer.decode(tokenizer.encode(["cat \udce8"])[0]).startswith("cat ")


@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_a_tokenizer_comes_back_from_its_file_and_from_another_process(kind, request, tmp_path):
    tokenizer = request.getfixturevalue(kind)
    tokenizer.save(tmp_path / "tokenizer.json")
    texts = [*SENTENCES, *ODD]
    for again in (
        Tokenizer.load(tmp_path / "tokenizer.json"),
        pickle.loads(pickle.dumps(tokenizer)),
    ):
        assert again.encode(texts) == tokenizer.encode(texts)
        assert (again.vocab_size, again.kind) == (tokenizer.vocab_size, tokenizer.kind)
        assert again.fingerprint == tokenizer.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


def test_one_sentence_is_no_list_of_sentences(words):
    for call in (words.encode, Tokenizer.words):
        with pytest.raises(TypeError, match="list of sentences"):
            call("the cat")


def test_what_cannot_be_learnt_from_is_told():
    for call in (lambda: Tokenizer.words([" ", ""]), lambda: Tokenizer.byte_pairs([" ", ""], 300)):
        with pytest.raises(ValueError, match="right file"):
            call()
    with pytest.raises(ValueError, match="at least 260"):
        Tokenizer.byte_pairs(SENTENCES, 259)
    with pytest.raises(ValueError, match="above 4"):
        Tokenizer.words(SENTENCES, vocab_size=4)


@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_a_damaged_file_is_told(kind, request, tmp_path):
    path = tmp_path / "tokenizer.json"
    request.getfixturevalue(kind).save(path)
    whole = path.read_text(encoding="utf-8")
    content = json.loads(whole)
    vocabulary = content["tokenizer"]["model"]["vocab"]
    swapped = {
        **vocabulary,
        **dict(zip(list(vocabulary)[-2:], [*vocabulary.values()][:-3:-1], strict=True)),
    }
    damaged = {
        "breaks off": whole[: len(whole) // 2],
        "is not a tokenizer": json.dumps(content["tokenizer"]),
        "is not a tokenizer of": "[1, 2]",
        "is damaged": json.dumps(
            {**content, "tokenizer": {**content["tokenizer"], "model": {"type": "BPE"}}}
        ),
        "is damaged: it": json.dumps(
            {name: each for name, each in content.items() if name != "tokenizer"}
        ),
        "is damaged: it is": json.dumps({**content, "kind": "letters"}),
        "is damaged: it is not": json.dumps(
            {
                **content,
                "tokenizer": {
                    **content["tokenizer"],
                    "model": {**content["tokenizer"]["model"], "vocab": swapped},
                },
            }
        ),
    }
    for told, text in damaged.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(TokenizerError, match=told):
            Tokenizer.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(TokenizerError, match="not JSON"):
        Tokenizer.load(path)
    with pytest.raises(TokenizerError, match="no tokenizer"):
        Tokenizer.load(tmp_path / "absent.json")
