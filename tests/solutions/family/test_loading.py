"""Checkpoints in the hub's layout: what fits is loaded and used, what does not is refused in a
sentence.
"""

import json
import re
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers.utils import sentencepiece_model_pb2_new as sentencepiece

import solutions
from solutions.ch09_training import beam_search
from solutions.family import checkpoint
from solutions.family.__main__ import main
from solutions.family.checkpoint import LoadingError
from solutions.family.loading import load
from solutions.family.text import MarianText
from solutions.family.writing import NOWHERE, translate, write
from solutions.translator.own_model import OwnModelError
from tests.solutions.family.other_people import (
    D_MODEL,
    LAYERS,
    PAD,
    START,
    VOCAB_SIZE,
    saved,
    theirs,
)

PROMPT = [3, 1, 4, 1, 5]
CHAPTERS = ("ch04_attention", "ch05_multi_head", "ch06_masking", "ch07_layers")
CHAPTERS += ("ch08_encoder_decoder", "ch09_training")
TEXT = "a cat sees the dog and the dogs see two cats while a bird sings to the cat"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A saved model of each kind, by name: (model, folder)."""
    root = tmp_path_factory.mktemp("saved")
    names = "gpt2", "bert", "bert_with_head", "vit", "vit_with_head", "marian"
    return {name: saved(root / name, name) for name in names}


@pytest.fixture
def copied(folders, tmp_path):
    """Copy a saved model, and return its folder."""

    def copy(name):
        for file in ("config.json", "model.safetensors"):
            (tmp_path / file).write_bytes((folders[name][1] / file).read_bytes())
        return tmp_path

    return copy


def with_config(folder, **changes):
    """Change a config; None takes an entry out."""
    config = json.loads((folder / "config.json").read_text()) | changes
    config = {name: value for name, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def with_tensors(folder, change):
    """Change the tensors of a checkpoint by a function of their dict."""
    tensors = load_file(folder / "model.safetensors")
    changed = change(tensors) or tensors
    save_file({name: each.clone() for name, each in changed.items()}, folder / "model.safetensors")
    return folder


def test_gpt2_continues_a_text_as_generate_does(folders):
    model, folder = folders["gpt2"]
    expected = model.generate(
        torch.tensor([PROMPT]), max_new_tokens=8, do_sample=False, pad_token_id=VOCAB_SIZE - 1
    )[0, len(PROMPT) :].tolist()
    written = write(load(folder), PROMPT, 8, temperature=0)
    assert written == [word for word in expected if word != VOCAB_SIZE - 1] and written


def test_gpt2_draws_the_same_with_the_same_seed_and_goes_on_beyond_its_positions(folders):
    loaded = load(folders["gpt2"][1])
    texts = [write(loaded, PROMPT, 6, 2.0, 10, 0.9, seed) for seed in (0, 0, 1, None)]
    assert texts[0] == texts[1] != texts[2]
    loaded.config["eos_token_id"] = None
    assert len(write(loaded, PROMPT, 30)) == 30


def until_new(words):
    """Return words up to the first that differs from all before it, and that one."""
    place = next(place for place in range(1, len(words)) if words[place] not in words[:place])
    return words[:place], words[place]


@pytest.mark.parametrize("beam", [1, 3])
def test_the_id_that_ends_a_text_ends_it(folders, beam):
    gpt2, marian = (load(folders[name][1]) for name in ("gpt2", "marian"))
    expected, gpt2.config["eos_token_id"] = until_new(write(gpt2, PROMPT, 8, seed=3))
    assert write(gpt2, PROMPT, 8, seed=3) == expected
    word = translate(marian, PROMPT, longest=9)[0]
    marian.config["eos_token_id"] = word
    assert word not in translate(marian, PROMPT, beam, longest=9)


@pytest.mark.parametrize("sentence", [[5, 7, 9, 0], [2, 2, 0], [8, 1, 3, 11, 6, 4, 0]])
def test_marian_translates_as_generate_does(folders, sentence):
    model, folder = folders["marian"]
    options = {"max_length": 12, "do_sample": False, "bad_words_ids": [[PAD]]}
    expected = model.generate(torch.tensor([sentence]), num_beams=1, **options)[0].tolist()
    assert expected[0] == START
    ours = translate(load(folder), sentence, longest=12)
    assert ours == [word for word in expected if word not in (START, 0)] and ours


def test_a_marian_that_has_learned_to_reverse_does_so_in_our_blocks(tmp_path):
    model = theirs("marian")
    sources = torch.tensor([[5, 7, 9, 0], [2, 3, 2, 0], [8, 1, 3, 0]])
    targets = torch.cat([sources[:, :3].flip(1), sources[:, 3:]], dim=1)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    for _ in range(250):
        optimizer.zero_grad()
        model(sources, labels=targets).loss.backward()
        optimizer.step()
    expected = model.generate(sources, max_length=9, do_sample=False, bad_words_ids=[[PAD]])
    assert torch.equal(expected[:, 1:], targets)
    model.save_pretrained(tmp_path)
    loaded = load(tmp_path)
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        for beam in (1, 4):
            assert [*translate(loaded, source, beam, 9), 0] == target


@pytest.mark.parametrize("sentence", [[5, 7, 9, 0], [8, 1, 3, 11, 6, 4, 0]])
def test_marian_s_beam_finds_what_it_finds_with_their_model(folders, sentence):
    model, folder = folders["marian"]

    def step_log_probs(prefixes):
        source = torch.tensor([sentence] * len(prefixes))
        logits = model(source, decoder_input_ids=prefixes).logits[:, -1]
        return logits.index_fill(1, torch.tensor([PAD]), -torch.inf).log_softmax(-1)

    expected = beam_search(step_log_probs, START, 0, beam_size=4, max_len=12)
    assert translate(load(folder), sentence, beam=4, longest=12) == expected


def test_float16_becomes_float32(copied):
    folder = with_tensors(
        copied("bert"), lambda found: {name: each.half() for name, each in found.items()}
    )
    assert {each.dtype for each in load(folder).model.parameters()} == {torch.float32}


def test_several_files_are_one_checkpoint(folders, tmp_path):
    model, folder = folders["bert"]
    model.save_pretrained(tmp_path, max_shard_size="3KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    whole, parts = load(folder).model.state_dict(), load(tmp_path).model.state_dict()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def as_on_the_hub(tensors):
    """Name GPT-2's tensors as the hub does: no prefix, and the masks beside them."""
    mask = torch.ones(1, 1, 4, 4).tril()
    return {name.removeprefix("transformer."): each for name, each in tensors.items()} | {
        f"h.{index}.attn.bias": mask for index in range(LAYERS)
    }


def as_it_was(tensors):
    """Name BERT's norms as its first checkpoints did."""
    old = {".weight": ".gamma", ".bias": ".beta"}
    return {
        re.sub(r"(?<=LayerNorm)\.\w+$", lambda found: old[found[0]], name): each
        for name, each in tensors.items()
    }


def without_shared(tensors):
    """Keep of Marian's one matrix only the name that its output layer has for it, and the sines."""
    tensors["lm_head.weight"] = tensors.pop("model.shared.weight")
    tensors["model.encoder.embed_positions.weight"] = torch.zeros(4, D_MODEL)


def with_both(tensors):
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gpt2", as_on_the_hub),
        ("gpt2", with_both),
        ("bert_with_head", as_it_was),
        ("marian", without_shared),
    ],
)
def test_other_names_for_the_same(copied, folders, name, change):
    expected = load(folders[name][1]).model.state_dict()
    found = load(with_tensors(copied(name), change)).model.state_dict()
    assert all(torch.equal(found[each], expected[each]) for each in expected)


def test_the_table_names_every_tensor(folders, capsys):
    for name, (_, folder) in folders.items():
        assert main(["load", str(folder)]) == 0
        said = capsys.readouterr().out
        for each in load_file(folder / "model.safetensors"):
            assert re.sub(r"^(transformer|bert|vit|model)\.", "", each) in said, (name, each)
        assert "every one of them has been filled" in said
    main(["load", str(folders["bert"][1])])
    assert "left out: a layer on the first word" in capsys.readouterr().out


CONFIGS = {  # what the config says, and what is said of it
    "gpt2": {
        "is of the type 'llama'; there are tables for gpt2, bert, vit, marian": {
            "model_type": "llama"
        },
        "is of the type None": {"model_type": None},
        "the activation 'quick_gelu' is unknown": {"activation_function": "quick_gelu"},
        "scores that are not divided by sqrt(head_dim)": {"scale_attn_weights": False},
        "scores divided by the layer's number": {"scale_attn_by_inverse_layer_idx": True},
        "cross-attention": {"add_cross_attention": True},
        "an output layer with weights of its own": {"tie_word_embeddings": False},
        "the config says n_embd: None, which is no size": {"n_embd": None},
        "wpe.weight has the shape 16 x 12, and does not fit": {"n_positions": 17},
        "the checkpoint has no tensor h.2.ln_1.weight, for our layers.2.norm_1.weight": {
            "n_layer": 3
        },
        "no place: h.1.attn.c_attn.bias, h.1.attn.c_attn.weight, h.1.attn.c_proj.bias and 9 more": {
            "n_layer": 1
        },
        "5 heads cannot share 12 features": {"n_head": 5},
    },
    "bert": {
        "relative positions": {"position_embedding_type": "relative_key"},
        "a causal mask": {"is_decoder": True},
    },
    "vit": {
        "queries, keys and values without a bias": {"qkv_bias": False},
        "the config says image_size: [12, 12], which is no size": {"image_size": [12, 12]},
    },
    "marian": {
        "not multiplied by sqrt(d_model)": {"scale_embedding": False},
        "a vocabulary for each language": {"share_encoder_decoder_embeddings": False},
        "norms before the sublayers": {"normalize_before": True},
        "in our blocks they are the same": {"decoder_ffn_dim": 24},
        "the config says decoder_start_token_id: 99, which is no id": {
            "decoder_start_token_id": 99
        },
        "the config says encoder_attention_heads: 0, which is no size": {
            "encoder_attention_heads": 0
        },
        "shared.weight has the shape 23 x 12": {"vocab_size": 24},
    },
}


@pytest.mark.parametrize(
    ("name", "sentence"), [(name, sentence) for name in CONFIGS for sentence in CONFIGS[name]]
)
def test_what_a_config_asks_for_in_vain_is_refused(copied, capsys, name, sentence):
    folder = with_config(copied(name), **CONFIGS[name][sentence])
    assert main(["load", str(folder)]) == 2
    seen = capsys.readouterr()
    assert seen.out == "" and seen.err.startswith("family: ") and sentence in seen.err


def without_a_bias(tensors):
    del tensors["encoder.layer.1.output.dense.bias"]


def with_one_more(tensors):
    tensors["encoder.layer.0.gate.weight"] = torch.zeros(2, 2)


def of_no_shape(tensors):
    tensors["encoder.layer.0.attention.self.query.weight"] = torch.tensor(1.0)


def of_another_shape(tensors):
    tensors["encoder.layer.0.intermediate.dense.weight"] = torch.zeros(20, 11)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without_a_bias, "has no tensor encoder.layer.1.output.dense.bias, for our layers.1.feed"),
        (with_one_more, "tensors for which our model has no place: encoder.layer.0.gate.weight"),
        (of_no_shape, "query.weight has the shape one number, and does not fit into our layers.0"),
        (of_another_shape, "20 x 11, and does not fit into our layers.0.feed_forward.linear_1.weight of the shape 20 x 12"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit_are_refused(copied, change, sentence):
    with pytest.raises(LoadingError, match=re.escape(sentence)):
        load(with_tensors(copied("bert"), change))


def test_tied_matrices_that_differ_are_refused(copied):
    def untied(tensors):
        tensors["lm_head.weight"] = 1 + tensors["transformer.wte.weight"]

    with pytest.raises(LoadingError, match=r"lm_head\.weight differs from wte\.weight"):
        load(with_tensors(copied("gpt2"), untied))


def files(folder, **written):
    """Write files of some texts, and take out those that are None."""
    for name, text in written.items():
        file = folder / name.replace("__", ".")
        file.unlink(missing_ok=True) if text is None else file.write_text(text)
    return folder


INDEX = "model__safetensors__index__json"
FILES = {
    "cannot be read": {"model__safetensors": "not tensors"},
    "config.json cannot be read": {"config__json": "{"},
    "config.json holds no entries with names": {"config__json": "[]"},
    "has no model.safetensors": {"model__safetensors": None},
    "has its tensors only in pytorch_model.bin, a pickle, which can run code": {
        "model__safetensors": None,
        "pytorch_model__bin": "",
    },
    "there__safetensors cannot be read".replace("__", "."): {
        "model__safetensors": None,
        INDEX: '{"weight_map": {"wte.weight": "there.safetensors"}}',
    },
    "names a file outside of its folder: ../there.safetensors": {
        "model__safetensors": None,
        INDEX: '{"weight_map": {"wte.weight": "../there.safetensors"}}',
    },
    "does not say which file has which tensor": {"model__safetensors": None, INDEX: "[]"},
}


@pytest.mark.parametrize("sentence", FILES)
def test_files_that_cannot_be_read_are_told(copied, capsys, sentence):
    folder = files(copied("gpt2"), **FILES[sentence])
    assert main(["load", str(folder)]) == 2
    assert sentence in capsys.readouterr().err


def test_a_pickle_is_copied_only_when_asked_and_only_tensors(copied, capsys):
    folder = copied("gpt2")
    tensors = load_file(folder / "model.safetensors")
    expected = load(folder).model.state_dict()
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"]
    torch.save(tensors, folder / "pytorch_model.bin")
    files(folder, model__safetensors=None)
    assert main(["convert", str(folder)]) == 0
    assert "lm_head.weight" not in load_file(folder / "model.safetensors")
    found = load(folder).model.state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    for content in ([1, 2], {"path": Path("somewhere")}):
        torch.save(content, folder / "pytorch_model.bin")
        assert main(["convert", str(folder)]) == 2
    assert "is refused" in capsys.readouterr().err


def test_a_name_is_looked_up_only_when_asked(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(checkpoint, "MODELS", tmp_path)
    assert main(["load", "somebody/model"]) == 2
    assert (
        "no folder somebody/model; --download fetches a model of that name"
        in capsys.readouterr().err
    )
    assert main(["load", "somebody/model", "--download"]) == 2
    assert "somebody/model cannot be downloaded: is there a network" in capsys.readouterr().err
    assert main(["load", str(tmp_path)]) == 2
    assert "has no config.json" in capsys.readouterr().err


def test_what_was_downloaded_is_found_by_its_name(copied, monkeypatch, capsys):
    folder = copied("vit")
    monkeypatch.setattr(checkpoint, "MODELS", folder.parent)
    assert main(["load", folder.name]) == 0


def package(folder, **changes):
    """Write a package as an export does, with a module for each chapter; `changes` replace text."""
    folder.mkdir()
    for stem in CHAPTERS:
        text = (Path(solutions.__file__).parent / f"{stem}.py").read_text()
        for old, new in changes.items():
            text = text.replace(old, new)
        (folder / f"{stem}.py").write_text(re.sub(r"from solutions\.", "from .", text))
    (folder / "__init__.py").write_text("".join(f"from .{stem} import *\n" for stem in CHAPTERS))
    return folder


@pytest.mark.parametrize("name", ["gpt2", "bert", "vit_with_head", "marian"])
def test_a_learner_s_own_layers_give_the_same(folders, tmp_path, name):
    folder = folders[name][1]
    own, course = load(folder, package(tmp_path / "mine")), load(folder)
    layers = own.model.encoder if name == "marian" else own.model.layers
    assert type(layers[0]).__module__ == "own_model.ch07_layers"
    assert type(layers[0].norm_1).__module__ == "own_model.ch07_layers"
    words, images = torch.tensor([PROMPT]), torch.ones(1, 3, 12, 12, dtype=torch.float64)
    inputs = {"vit_with_head": (images,), "marian": (words, words), "gpt2": (words, NOWHERE)}
    given = inputs.get(name, (words,))
    assert torch.equal(own.model(*given), course.model(*given))
    if name == "marian":
        assert own.blocks.greedy_decode.__module__ == "own_model.ch08_encoder_decoder"
        assert all(
            translate(own, PROMPT, beam) == translate(course, PROMPT, beam) for beam in (1, 3)
        )


def test_an_own_layer_that_keeps_no_activation_is_told(copied, tmp_path):
    own = package(tmp_path / "mine", **{"self.activation(": "torch.relu("})
    folder = with_config(copied("bert"), hidden_act="relu")
    load(folder, own)
    with pytest.raises(LoadingError, match="your FeedForward does not use its attribute"):
        load(with_config(folder, hidden_act="gelu"), own)


def test_an_own_layer_with_more_parameters_is_told(copied, tmp_path):
    more = "self.num_heads = num_heads; self.gate = nn.Parameter(torch.ones(1))"
    own = package(tmp_path / "mine", **{"self.num_heads = num_heads": more})
    sentence = "parameters for which the checkpoint has no tensor: layers.0.self_attention.gate"
    with pytest.raises(LoadingError, match=sentence):
        load(copied("gpt2"), own)


def test_an_own_layer_that_fails_is_told(copied, tmp_path):
    own = package(tmp_path / "mine", **{"self.num_heads = num_heads": "self.num_heads = heads"})
    with pytest.raises(OwnModelError, match="your own model fails, in __init__"):
        load(copied("gpt2"), own)


def test_gpt2_writes_text(copied, capsys):
    folder = copied("gpt2")
    tokenizer = Tokenizer(
        models.WordLevel({word: index for index, word in enumerate(sorted(set(TEXT.split())))})
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    given = ["write", str(folder), "the cat", "--words", "5", "--seed", "1", "--top-k", "4"]
    assert main(given) == 0
    assert capsys.readouterr().out.startswith("the cat")
    assert main(["write", str(folder), ""]) == 2
    assert "an empty text has no token" in capsys.readouterr().err
    assert main([*given, "--top-p", "2"]) == 2
    assert "top_p is 2.0" in capsys.readouterr().err


def test_a_model_does_what_it_can(folders, capsys):
    for command, name, said in (("write", "bert", "bert, which cannot continue"), ("translate", "gpt2", "gpt2, which cannot translate")):  # fmt: skip
        assert main([command, str(folders[name][1]), "a cat"]) == 2
        assert said in capsys.readouterr().err
    for command, name, file in (("write", "gpt2", "tokenizer.json"), ("translate", "marian", "source.spm")):  # fmt: skip
        assert main([command, str(folders[name][1]), "a cat"]) == 2
        assert f"has no {file}" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["load", "there", "--revision", "old"])
    assert "--revision is for --download" in capsys.readouterr().err


def pieces():
    """Return the pieces of a small Unigram model of TEXT, with log-probabilities."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=40, unk_token="<unk>", special_tokens=["<unk>"])
    tokenizer.train_from_iterator([TEXT] * 3, trainer)
    return [tuple(each) for each in json.loads(tokenizer.to_str())["model"]["vocab"][1:]]


def tab_to_space():
    """Return SentencePiece's table of characters to replace, with a single one: a trie as a double
    array (its size in bytes, then units of 32 bits), and the texts that it points at.

    A unit holds the byte that leads to it, whether a text ends there (bit 8), and from bit 10 on
    what is to be combined with the next byte to find the next unit.
    """
    units = [0] * 256
    units[0] = 16 << 10
    units[16 ^ ord("\t")] = 1 << 10 | 1 << 8 | ord("\t")
    units[16 ^ ord("\t") ^ 1] = 1 << 31  # the text at 0
    return struct.pack("<I256I", 4 * len(units), *units) + b" \0"


TAB_TO_SPACE = tab_to_space()


def with_text(folder, **trained):
    """Write the files of Marian's tokenizer, with the writer of `transformers`."""
    model = sentencepiece.ModelProto()
    for piece, score, kind in [("<unk>", 0, 2), ("</s>", 0, 3), *((*each, 1) for each in pieces())]:
        model.pieces.add(piece=piece, score=score, type=kind)
    model.trainer_spec.model_type = trained.get("model_type", 1)
    model.trainer_spec.input.append("the words above")
    model.normalizer_spec.name = "a tab is a space"
    model.normalizer_spec.precompiled_charsmap = TAB_TO_SPACE
    (folder / "source.spm").write_bytes(model.SerializeToString())
    known = sorted((score, piece) for piece, score in pieces())
    names = ["</s>", "<unk>", *(piece for _, piece in known)][: VOCAB_SIZE - 2]
    numbers = {name: index for index, name in enumerate([*names, ">>ita<<", "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(numbers))
    return numbers


def cut_by_hand(text, scores):
    """Find the likeliest way to cut a text into pieces by trying all beginnings of the rest."""
    best = {0: (0.0, [])}
    for end in range(1, len(text) + 1):
        ways = [
            (best[start][0] + scores[text[start:end]], [*best[start][1], text[start:end]])
            for start in range(end)
            if start in best and text[start:end] in scores
        ]
        if ways:
            best[end] = max(ways)
    return best[len(text)][1]


@pytest.mark.parametrize("sentence", ["the cat sings", "  two   dogs\tsee a bird\t", "cats"])
def test_marian_s_sentences_are_cut_into_the_likeliest_pieces(tmp_path, sentence):
    numbers = with_text(tmp_path)
    found = MarianText(tmp_path).encode(sentence)
    expected = cut_by_hand("▁" + "▁".join(sentence.split()), dict(pieces()))
    assert found == [*(numbers.get(piece, 1) for piece in expected), 0]


def test_marian_s_text_comes_back_and_what_is_unknown_is_one_id(tmp_path):
    numbers = with_text(tmp_path)
    text = MarianText(tmp_path)
    assert text.encode("") == text.encode("  ") == [0]
    assert text.encode("日本")[-2:] == [1, 0]
    assert text.encode(">>ita<< ")[0] == numbers[">>ita<<"]
    words = [index for index, piece in text.pieces.items() if piece.startswith("▁")]
    assert text.decode(words) == " ".join(text.pieces[index][1:] for index in words).strip()


def test_marian_translates_text(copied, capsys):
    def without_end(tensors):
        tensors["final_logits_bias"][0, 0] = -99

    folder = with_tensors(copied("marian"), without_end)
    with_text(folder)
    for beam in ("1", "4"):
        assert (
            main(["translate", str(folder), "the cat sees a dog", "--beam", beam, "--longest", "9"])
            == 0
        )
        assert capsys.readouterr().out.strip()


def test_a_sentencepiece_model_of_another_kind_is_refused(tmp_path):
    with_text(tmp_path, model_type=2)
    with pytest.raises(LoadingError, match="no plain Unigram model"):
        MarianText(tmp_path)
    (tmp_path / "source.spm").write_bytes(b"\x0a\xff\xff")
    with pytest.raises(LoadingError, match="no model of SentencePiece"):
        MarianText(tmp_path)
