"""Text to ids and back, with the tokenizer that lies beside other people's weights."""

import json
import re
import struct

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers

from solutions.family.checkpoint import LoadingError, first_line

SPACE = "▁"  # how SentencePiece writes the space before a word
NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5  # kinds of pieces
UNIGRAM = 1  # among the kinds of models


def tokenizer_of(folder):
    """Return the `tokenizers.Tokenizer` of GPT-2 or BERT.

    Raises:
        LoadingError: if there is none.
    """
    file = folder / "tokenizer.json"
    if not file.exists():
        raise LoadingError(f"{folder} has no tokenizer.json, so a text cannot become ids")
    try:
        return tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more exact
        raise LoadingError(f"{file} cannot be read: {first_line(error)}") from None


class MarianText:
    """Marian's texts: SentencePiece cuts the source, and one vocabulary numbers both languages.

    Its own preprocessing also unified punctuation with a script of Moses; like `transformers`
    without the package sacremoses, this leaves that out.
    """

    def __init__(self, folder):
        for name in ("source.spm", "vocab.json"):
            if not (folder / name).exists():
                raise LoadingError(f"{folder} has no {name}, so a text cannot become ids")
        self.cut = unigram((folder / "source.spm").read_bytes())
        self.ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        self.pieces = {index: piece for piece, index in self.ids.items()}

    def encode(self, text):
        """Return a sentence's ids, with the one that ends it.

        ">>ita<< A sentence" asks a model of several languages for Italian.
        """
        language, text = re.fullmatch(r"(>>.+?<<)?(.*)", text, re.DOTALL).groups()
        found = [language] if language else []
        found += self.cut.encode(text).tokens if text.strip() else []
        unknown = self.ids["<unk>"]
        return [*(self.ids.get(piece, unknown) for piece in found), self.ids["</s>"]]

    def decode(self, ids):
        """Return the text of ids that are words."""
        return "".join(self.pieces.get(index, "") for index in ids).replace(SPACE, " ").strip()


def unigram(data):
    """Make a `tokenizers.Tokenizer` of a SentencePiece model.

    Args:
        data: bytes of a `.spm` file: a protocol buffer (`sentencepiece_model.proto`) with the
            pieces in field 1, how they were trained in field 2, how texts are normalised in 3.

    Raises:
        LoadingError: if it is none, or not of the kind Unigram.

    Source: Kudo 2018 for the model.
    """
    try:
        parts = list(fields(data))
        trained = dict(fields(b"".join(value for number, value in parts if number == 2)))
        rules = dict(fields(b"".join(value for number, value in parts if number == 3)))
        pieces = [piece_of(value) for number, value in parts if number == 1]
    except (IndexError, KeyError, TypeError, ValueError, struct.error):
        raise LoadingError("source.spm is no model of SentencePiece") from None
    strange = {kind for _, _, kind in pieces} - {NORMAL, UNKNOWN, CONTROL, UNUSED}
    if trained.get(3, UNIGRAM) != UNIGRAM or strange:
        raise LoadingError("source.spm is no plain Unigram model, and others are not read here")
    normal = [(piece, score) for piece, score, kind in pieces if kind == NORMAL]
    cut = tokenizers.Tokenizer(models.Unigram([("<unk>", 0.0), *normal], unk_id=0))
    steps = [normalizers.Precompiled(rules[2])] if rules.get(2) else []
    if rules.get(4, True):
        steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    cut.normalizer = normalizers.Sequence(steps)
    scheme = "always" if rules.get(3, True) else "never"
    cut.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme=scheme)
    return cut


def piece_of(data):
    """Return a piece, its log-probability and its kind."""
    about = dict(fields(data))
    (score,) = struct.unpack("<f", about.get(2, bytes(4)))
    return about[1].decode(), score, about.get(3, NORMAL)


def fields(data):
    """Yield the fields of a protocol buffer: (number, int or bytes).

    Source: the wire format of Protocol Buffers.
    """
    place = 0
    while place < len(data):
        key, place = whole_number(data, place)
        if key & 7 == 0:
            value, place = whole_number(data, place)
        else:
            fixed = {1: 8, 5: 4}
            length, place = whole_number(data, place) if key & 7 == 2 else (fixed[key & 7], place)
            if place + length > len(data):
                raise ValueError("the data ends within a field")
            value, place = data[place : place + length], place + length
        yield key >> 3, value


def whole_number(data, place):
    """Return the number of 7 bits a byte, the lowest first, that begins at a place, and where it
    ends.
    """
    value = shift = 0
    while True:
        byte = data[place]
        value, place, shift = value | (byte & 127) << shift, place + 1, shift + 7
        if byte < 128:
            return value, place
