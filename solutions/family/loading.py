"""Other people's weights in the course's blocks, or in a learner's own."""

from dataclasses import dataclass
from functools import partial, reduce
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional

from solutions import ch07_layers, ch08_encoder_decoder, ch09_training, ch13_family
from solutions.family.checkpoint import LoadingError, read_config, read_tensors
from solutions.family.filling import fill
from solutions.family.models import Bert, VisionTransformer
from solutions.family.names import TABLES
from solutions.translator.own_model import failures_told, own_module

tanh_gelu = partial(functional.gelu, approximate="tanh")
ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "gelu_new": tanh_gelu,
    "gelu_pytorch_tanh": tanh_gelu,
    "silu": functional.silu,
    "swish": functional.silu,
}
BLOCKS = {
    "LayerNorm": ch07_layers,
    "EncoderLayer": ch07_layers,
    "Transformer": ch08_encoder_decoder,
    "greedy_decode": ch08_encoder_decoder,
    "beam_search": ch09_training,
    "LanguageModel": ch13_family,
    "next_word_distribution": ch13_family,
}


@dataclass
class Loaded:
    """A model with other people's weights.

    Args:
        kind: gpt2, bert, vit or marian.
        model: in eval mode.
        config: what `config.json` says.
        table: list of (their name, shape as a text, where it went).
        blocks: the functions and classes that it was made with, by name.
    """

    kind: str
    model: nn.Module
    config: dict
    table: list
    blocks: SimpleNamespace


def load(folder, own_path=None):
    """Make a model, and fill it with the weights of a checkpoint.

    The model has no dropout. Weights of 16 bits are converted to float32, because a CPU computes
    slowly with fewer bits.

    Args:
        folder: Path of the checkpoint.
        own_path: of a learner's package or module; the course's blocks replace what it lacks.

    Returns:
        Loaded.

    Raises:
        LoadingError: if anything in the checkpoint has no place in our blocks, or the other way
            round.
    """
    config = read_config(folder)
    kind = config.get("model_type")
    if kind not in TABLES:
        raise LoadingError(
            f"{folder} is of the type {kind!r}; there are tables for {', '.join(TABLES)}"
        )
    refuse_what_ours_cannot(kind, config)
    tensors = read_tensors(folder)
    if not tensors:
        raise LoadingError(f"{folder} holds no tensors")
    blocks = blocks_of(own_path)
    with failures_told():
        model = MAKERS[kind](config, blocks, tensors).eval()
        model.to(precision(tensors))
        set_activation(model, activation_of(config))
    order = sorted_features(config["d_model"]) if kind == "marian" else None
    table = fill(model, TABLES[kind], tensors, order)
    if kind == "marian":
        never_write(model, id_of(config, "decoder_start_token_id"))
    return Loaded(kind, model, config, table, blocks)


def precision(tensors):
    """Return the widest dtype of some tensors, and float32 where all have fewer bits."""
    dtypes = {each.dtype for each in tensors.values() if each.is_floating_point()}
    return reduce(torch.promote_types, dtypes, torch.float32)


def blocks_of(path):
    """Return classes and functions by name: a learner's where their package has them."""
    own = vars(own_module(path)) if path else {}
    return SimpleNamespace(
        **{name: own.get(name, getattr(module, name)) for name, module in BLOCKS.items()}
    )


def refuse_what_ours_cannot(kind, config):
    """Stop where a config asks for something that our blocks do not do."""
    for name, (value, what) in TABLES[kind].only.items():
        if config.get(name, value) != value:
            raise LoadingError(
                f"the config says {name}: {config[name]!r}, which means {what}; our blocks have"
                " nothing of the kind"
            )


def size(config, *names):
    """Return a whole number of a config, which must be the same under all names.

    Raises:
        LoadingError: if there is none, or they differ.
    """
    values = [config.get(name) for name in names]
    if not isinstance(values[0], int) or values[0] < 1:
        raise LoadingError(f"the config says {names[0]}: {values[0]!r}, which is no size")
    if len(set(values)) > 1:
        said = ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
        raise LoadingError(f"the config says {said}; in our blocks they are the same")
    return values[0]


def id_of(config, name):
    """Return an id of a config's vocabulary.

    Raises:
        LoadingError: if there is none.
    """
    value = config.get(name)
    if not isinstance(value, int) or not 0 <= value < config["vocab_size"]:
        raise LoadingError(f"the config says {name}: {value!r}, which is no id of its vocabulary")
    return value


def activation_of(config):
    """Return the function between the two linear layers of the feed-forward networks."""
    name = config.get("activation_function", config.get("hidden_act"))
    if name not in ACTIVATIONS:
        raise LoadingError(
            f"the activation {name!r} is unknown; known are {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]


def set_activation(model, activation):
    """Put a function between the linear layers of all feed-forward networks.

    Raises:
        LoadingError: if a network computes something else then.
    """
    for name, module in model.named_modules():
        if name.endswith("feed_forward"):
            module.activation = activation
            inner = module.linear_1
            x = torch.linspace(-3, 3, inner.in_features, dtype=inner.weight.dtype)
            if not torch.allclose(module(x), module.linear_2(activation(inner(x))), atol=1e-4):
                raise LoadingError(
                    "your FeedForward does not use its attribute `activation`, and this model needs"
                    " another function there than ReLU; chapter 7 says how to keep one"
                )


def set_norms(model, blocks, eps):
    """Give every norm of a model its eps."""
    for name, module in list(model.named_modules()):
        if "norm" in name.rpartition(".")[2]:
            model.set_submodule(name, blocks.LayerNorm(len(module.weight), eps))


def set_layers(model, blocks, sizes, norm_first):
    """Let a learner's layers replace those of a model of the course."""
    if blocks.EncoderLayer is not ch07_layers.EncoderLayer:
        model.layers = nn.ModuleList(
            blocks.EncoderLayer(*sizes, norm_first=norm_first) for _ in model.layers
        )


def make_gpt2(config, blocks, tensors):
    """Return an empty LanguageModel of a config's sizes."""
    d_model, num_heads = size(config, "n_embd"), size(config, "n_head")
    d_ff = config.get("n_inner") or 4 * d_model
    vocab_size, max_len = size(config, "vocab_size"), size(config, "n_positions")
    depth = size(config, "n_layer")
    model = blocks.LanguageModel(vocab_size, max_len, d_model, num_heads, depth, d_ff)
    set_layers(model, blocks, (d_model, num_heads, d_ff), norm_first=True)
    set_norms(model, blocks, config.get("layer_norm_epsilon", 1e-5))
    return model


def sizes_of_layers(config):
    """Return d_model, num_heads and d_ff, as BERT and ViT call them."""
    names = "hidden_size", "num_attention_heads", "intermediate_size"
    return tuple(size(config, name) for name in names)


def make_bert(config, blocks, tensors):
    """Return an empty Bert of a config's sizes."""
    d_model, num_heads, d_ff = sizes_of_layers(config)
    model = Bert(
        size(config, "vocab_size"),
        size(config, "max_position_embeddings"),
        d_model,
        num_heads,
        size(config, "num_hidden_layers"),
        d_ff,
        num_types=size(config, "type_vocab_size"),
    )
    set_layers(model, blocks, (d_model, num_heads, d_ff), norm_first=False)
    set_norms(model, blocks, config.get("layer_norm_eps", 1e-12))
    return model


def make_vit(config, blocks, tensors):
    """Return an empty VisionTransformer of a config's sizes; without a head where the file has
    none.
    """
    d_model, num_heads, d_ff = sizes_of_layers(config)
    head = tensors.get("classifier.weight")
    model = VisionTransformer(
        size(config, "image_size"),
        size(config, "patch_size"),
        size(config, "num_channels"),
        1 if head is None else len(head),
        d_model,
        num_heads,
        size(config, "num_hidden_layers"),
        d_ff,
    )
    if head is None:
        model.head = nn.Identity()
    set_layers(model, blocks, (d_model, num_heads, d_ff), norm_first=True)
    set_norms(model, blocks, config.get("layer_norm_eps", 1e-12))
    return model


def make_marian(config, blocks, tensors):
    """Return an empty Transformer of a config's sizes, with one embedding for both languages and
    for the output.

    Marian begins a translation with its padding, which our masks would hide. So that id only
    begins, and the one after the vocabulary is for padding.
    """
    vocab_size = size(config, "vocab_size")
    model = blocks.Transformer(
        vocab_size + 1,
        vocab_size + 1,
        d_model=size(config, "d_model"),
        num_heads=size(config, "encoder_attention_heads", "decoder_attention_heads"),
        num_encoder_layers=size(config, "encoder_layers"),
        num_decoder_layers=size(config, "decoder_layers"),
        d_ff=size(config, "encoder_ffn_dim", "decoder_ffn_dim"),
        dropout=0.0,
        pad_id=vocab_size,
    )
    model.tgt_embedding.weight = model.generator.weight = model.src_embedding.weight
    return model


MAKERS = {"gpt2": make_gpt2, "bert": make_bert, "vit": make_vit, "marian": make_marian}


def sorted_features(d_model):
    """Say which of Marian's features each of ours is: its positions have all sines before all
    cosines, ours have them in turns. Nothing else in a Transformer depends on their order.

    Returns:
        (d_model,) int64.
    """
    return torch.arange(d_model).view(2, -1).T.flatten()


def never_write(model, start_id):
    """Give the two ids that are no words, the first of a translation and padding, the probability
    0.
    """
    with torch.no_grad():
        model.generator.bias[[start_id, -1]] = -torch.inf
