"""Small models of `transformers` with random weights, saved in the hub's layout. Nothing is
downloaded.
"""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers.models.bert.modeling_bert import BertConfig, BertForMaskedLM, BertModel
from transformers.models.gpt2.modeling_gpt2 import GPT2Config, GPT2LMHeadModel
from transformers.models.marian.modeling_marian import MarianConfig, MarianMTModel
from transformers.models.vit.modeling_vit import ViTConfig, ViTForImageClassification, ViTModel
from transformers.utils import logging

from solutions.ch08_encoder_decoder import sinusoidal_positions

logging.disable_progress_bar()

VOCAB_SIZE, D_MODEL, HEADS, D_FF, LAYERS, LONGEST = 23, 12, 3, 20, 2, 16
START = PAD = VOCAB_SIZE - 1  # of Marian
MODELS = {
    "gpt2": (GPT2LMHeadModel, GPT2Config),
    "bert": (BertModel, BertConfig),
    "bert_with_head": (BertForMaskedLM, BertConfig),
    "vit": (ViTModel, ViTConfig),
    "vit_with_head": (ViTForImageClassification, ViTConfig),
    "marian": (MarianMTModel, MarianConfig),
}
OF_LAYERS = {
    "hidden_size": D_MODEL,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": D_FF,
}
OPTIONS = {
    "gpt2": {
        "vocab_size": VOCAB_SIZE,
        "n_positions": LONGEST,
        "n_embd": D_MODEL,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "n_inner": D_FF,
        "bos_token_id": VOCAB_SIZE - 1,
        "eos_token_id": VOCAB_SIZE - 1,
    },
    "bert": {
        **OF_LAYERS,
        "vocab_size": VOCAB_SIZE,
        "max_position_embeddings": LONGEST,
    },
    "vit": {**OF_LAYERS, "image_size": 12, "patch_size": 4, "num_channels": 3, "num_labels": 5},
    "marian": {
        "vocab_size": VOCAB_SIZE,
        "d_model": D_MODEL,
        "encoder_layers": LAYERS,
        "decoder_layers": LAYERS + 1,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": D_FF,
        "decoder_ffn_dim": D_FF,
        "max_position_embeddings": LONGEST,
        "pad_token_id": PAD,
        "decoder_start_token_id": START,
        "eos_token_id": 0,
        "forced_eos_token_id": None,
        "activation_function": "swish",
        "scale_embedding": True,
    },
}


def theirs(name, dtype=torch.float64, seed=0, **options):
    """Return a model of `transformers` in eval mode, whose biases and norms are random, too."""
    model_class, config_class = MODELS[name]
    model = model_class(config_class(**OPTIONS[name.partition("_")[0]] | options)).to(dtype).eval()
    generator = torch.Generator().manual_seed(seed)
    trained = [*model.parameters()]
    if name == "marian":
        # theirs are rounded to 32 bits, and are no parameters that are trained
        sorted_halves = sinusoidal_positions(LONGEST, D_MODEL, dtype).view(LONGEST, -1, 2).mT
        for stack in model.model.encoder, model.model.decoder:
            stack.embed_positions.weight.data.copy_(sorted_halves.reshape(LONGEST, D_MODEL))
        positions = {
            stack.embed_positions.weight for stack in (model.model.encoder, model.model.decoder)
        }
        trained = [each for each in trained if each not in positions] + [model.final_logits_bias]
    with torch.no_grad():
        for each in trained:
            noise = torch.randn(each.shape, dtype=dtype, generator=generator)
            # norms near 1 and small biases, or all positions would say nearly the same
            if min(each.shape) > 1:
                each.copy_(1.6 * noise / D_MODEL**0.5)
            else:
                each.add_(0.1 * noise)
    return model


def saved(folder, name, **options):
    """Save such a model; return the model and its folder."""
    model = theirs(name, **options)
    model.save_pretrained(folder)
    return model, folder
