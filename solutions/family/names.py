"""What other people call the parts of our models: one table for each kind of checkpoint.

A row says where a tensor goes: their name, then ours, each without `.weight` and `.bias` where a
module has both. `{}` is the number of a layer. Several names of ours after one of theirs share its
rows in equal parts, as GPT-2 keeps queries, keys and values in one matrix.
"""

from dataclasses import dataclass, field

OLD_ENDINGS = {".gamma": ".weight", ".beta": ".bias"}  # of norms, in BERT's first checkpoints


@dataclass(frozen=True)
class Names:
    """How to read one kind of checkpoint.

    Args:
        rows: their name -> ours, or a tuple of ours.
        prefix: which a checkpoint that has a head puts before the names of its body.
        turned: ends of their names whose matrices are stored as (in, out), and not as (out, in).
        flat: their name -> the axis from which on ours has a single one.
        per_word: their names whose first axis is the vocabulary, which in ours ends with padding.
        again: further names for the tensor of a row, which files may hold twice.
        left_out: beginnings of names of tensors that ours has no use for -> why.
        only: entries of the config that must have one value, because ours can do nothing else ->
            (that value, also what it is where the config does not say, and what it is about).
    """

    rows: dict
    prefix: str
    turned: tuple = ()
    flat: dict = field(default_factory=dict)
    per_word: tuple = ()
    again: dict = field(default_factory=dict)
    left_out: dict = field(default_factory=dict)
    only: dict = field(default_factory=dict)


def attention(theirs, ours, names):
    """Return the four rows of an attention.

    Args:
        theirs: "encoder.layer.{}.attention.", what comes before each of the names.
        ours: "layers.{}.self_attention".
        names: of queries, keys, values and output.
    """
    parts = ("w_q", "w_k", "w_v", "w_o")
    return {f"{theirs}{name}": f"{ours}.{part}" for name, part in zip(names, parts, strict=True)}


ROWS_OF_BERT = {
    "embeddings.word_embeddings": "token_embedding",
    "embeddings.position_embeddings": "position_embedding",
    "embeddings.token_type_embeddings": "type_embedding",
    "embeddings.LayerNorm": "embedding_norm",
    **attention(
        "encoder.layer.{}.attention.",
        "layers.{}.self_attention",
        ("self.query", "self.key", "self.value", "output.dense"),
    ),
    "encoder.layer.{}.attention.output.LayerNorm": "layers.{}.norm_1",
    "encoder.layer.{}.intermediate.dense": "layers.{}.feed_forward.linear_1",
    "encoder.layer.{}.output.dense": "layers.{}.feed_forward.linear_2",
    "encoder.layer.{}.output.LayerNorm": "layers.{}.norm_2",
}

ROWS_OF_VIT = {
    "embeddings.cls_token": "class_row",
    "embeddings.patch_embeddings.projection": "patch_embedding",
    "embeddings.position_embeddings": "positions",
    **attention(
        "encoder.layer.{}.attention.",
        "layers.{}.self_attention",
        ("attention.query", "attention.key", "attention.value", "output.dense"),
    ),
    "encoder.layer.{}.layernorm_before": "layers.{}.norm_1",
    "encoder.layer.{}.layernorm_after": "layers.{}.norm_2",
    "encoder.layer.{}.intermediate.dense": "layers.{}.feed_forward.linear_1",
    "encoder.layer.{}.output.dense": "layers.{}.feed_forward.linear_2",
    "layernorm": "final_norm",
    "classifier": "head",
}

ROWS_OF_GPT2 = {
    "wte": "token_embedding",
    "wpe": "position_embedding",
    "h.{}.ln_1": "layers.{}.norm_1",
    "h.{}.attn.c_attn": tuple(
        f"layers.{{}}.self_attention.{part}" for part in ("w_q", "w_k", "w_v")
    ),
    "h.{}.attn.c_proj": "layers.{}.self_attention.w_o",
    "h.{}.ln_2": "layers.{}.norm_2",
    "h.{}.mlp.c_fc": "layers.{}.feed_forward.linear_1",
    "h.{}.mlp.c_proj": "layers.{}.feed_forward.linear_2",
    "ln_f": "final_norm",
}


def rows_of_marian(stack, attentions):
    """Return the rows of Marian's encoder or decoder.

    Args:
        stack: "encoder" or "decoder".
        attentions: their name -> ours, in the order in which they act.
    """
    theirs, ours, rows = f"{stack}.layers.{{}}.", f"{stack}.{{}}.", {}
    for place, (name, attends) in enumerate(attentions.items(), start=1):
        projections = ("q_proj", "k_proj", "v_proj", "out_proj")
        rows |= attention(f"{theirs}{name}.", f"{ours}{attends}", projections)
        rows[f"{theirs}{name}_layer_norm"] = f"{ours}norm_{place}"
    return rows | {
        f"{theirs}fc1": f"{ours}feed_forward.linear_1",
        f"{theirs}fc2": f"{ours}feed_forward.linear_2",
        f"{theirs}final_layer_norm": f"{ours}norm_{len(attentions) + 1}",
    }


ROWS_OF_MARIAN = {
    "shared": "src_embedding",  # which is the target's and the generator's, too
    **rows_of_marian("encoder", {"self_attn": "self_attention"}),
    **rows_of_marian("decoder", {"self_attn": "self_attention", "encoder_attn": "cross_attention"}),
    "final_logits_bias": "generator.bias",
}

TABLES = {
    "gpt2": Names(
        ROWS_OF_GPT2,
        prefix="transformer.",
        turned=("c_attn.weight", "c_proj.weight", "c_fc.weight"),
        again={"lm_head": "wte"},
        left_out={
            "h.{}.attn.bias": "the causal mask, which ours computes",
            "h.{}.attn.masked_bias": "a constant of the mask",
        },
        only={
            "scale_attn_weights": (True, "scores that are not divided by sqrt(head_dim)"),
            "scale_attn_by_inverse_layer_idx": (False, "scores divided by the layer's number"),
            "add_cross_attention": (False, "cross-attention"),
            "tie_word_embeddings": (True, "an output layer with weights of its own"),
        },
    ),
    "bert": Names(
        ROWS_OF_BERT,
        prefix="bert.",
        left_out={
            "pooler.": "a layer on the first word, for tasks with whole sentences",
            "cls.": "a head that guesses hidden words",
            "embeddings.position_ids": "0, 1, 2, ..., which ours counts",
        },
        only={
            "position_embedding_type": ("absolute", "relative positions"),
            "is_decoder": (False, "a causal mask"),
            "add_cross_attention": (False, "cross-attention"),
        },
    ),
    "vit": Names(
        ROWS_OF_VIT,
        prefix="vit.",
        flat={"embeddings.patch_embeddings.projection.weight": 1},
        left_out={"pooler.": "a layer on the first row, for classification"},
        only={"qkv_bias": (True, "queries, keys and values without a bias")},
    ),
    "marian": Names(
        ROWS_OF_MARIAN,
        prefix="model.",
        flat={"final_logits_bias": 0},
        per_word=("shared.weight", "final_logits_bias"),
        again=dict.fromkeys(("encoder.embed_tokens", "decoder.embed_tokens", "lm_head"), "shared"),
        left_out={
            "encoder.embed_positions.": "sines and cosines, which ours computes",
            "decoder.embed_positions.": "sines and cosines, which ours computes",
        },
        only={
            "scale_embedding": (True, "embeddings that are not multiplied by sqrt(d_model)"),
            "share_encoder_decoder_embeddings": (True, "a vocabulary for each language"),
            "tie_word_embeddings": (True, "an output layer with weights of its own"),
            "static_position_embeddings": (True, "learned positions"),
            "normalize_before": (False, "norms before the sublayers"),
            "normalize_embedding": (False, "a norm on the embeddings"),
            "add_final_layer_norm": (False, "a norm after each stack"),
        },
    ),
}
