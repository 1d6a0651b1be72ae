"""The reference is the real thing: with the same weights it gives what PyTorch's own modules give,
outputs and gradients.
"""

import io
import math

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch05_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch06_masking import causal_mask, decoder_mask, masked_attention, padding_mask
from solutions.ch07_layers import EncoderLayer, FeedForward, LayerNorm
from solutions.ch08_encoder_decoder import (
    DecoderLayer,
    Transformer,
    greedy_decode,
    sinusoidal_positions,
)

BATCH, QUERY_LEN, KEY_LEN, D_MODEL, HEADS, D_FF = 3, 5, 7, 12, 3, 20

# float32 adds in another order than PyTorch's kernels; in float64 the same difference is a hundred
# thousand times smaller
precisions = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)]
)
norm_orders = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
modes = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])


def normal(*shape, dtype, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def shaken(module, dtype, seed=1):
    """Give every parameter a random value, so that no bias is 0 and no gain is 1."""
    generator = torch.Generator().manual_seed(seed)
    module = module.to(dtype)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(
                torch.randn(parameter.shape, dtype=dtype, generator=generator) / math.sqrt(D_MODEL)
            )
    return module


def some_keys_masked():
    """Return a mask (batch, 1, query_len, key_len) in which every row has a True and no two batches
    agree.
    """
    mask = (
        torch.rand(BATCH, 1, QUERY_LEN, KEY_LEN, generator=torch.Generator().manual_seed(2)) < 0.6
    )
    mask[..., 0] = True
    return mask


def attention_state(ours, prefix=""):
    """Return the weights of our attention under the names of `nn.MultiheadAttention`."""
    projections = ours.w_q, ours.w_k, ours.w_v
    return {
        f"{prefix}in_proj_weight": torch.cat([linear.weight for linear in projections]).detach(),
        f"{prefix}in_proj_bias": torch.cat([linear.bias for linear in projections]).detach(),
        f"{prefix}out_proj.weight": ours.w_o.weight.detach(),
        f"{prefix}out_proj.bias": ours.w_o.bias.detach(),
    }


def layer_state(ours, prefix=""):
    """Return the weights of one of our layers under PyTorch's names."""
    attentions = {"self_attention": "self_attn.", "cross_attention": "multihead_attn."}
    state = {}
    for name, theirs in attentions.items():
        if hasattr(ours, name):
            state |= attention_state(getattr(ours, name), f"{prefix}{theirs}")
    parts = {"norm_1": "norm1", "norm_2": "norm2", "norm_3": "norm3"}
    for name, theirs in parts.items():
        if hasattr(ours, name):
            state |= {
                f"{prefix}{theirs}.{key}": value.detach()
                for key, value in getattr(ours, name).named_parameters()
            }
    for name, theirs in {"linear_1": "linear1", "linear_2": "linear2"}.items():
        linear = getattr(ours.feed_forward, name)
        state |= {
            f"{prefix}{theirs}.{key}": value.detach() for key, value in linear.named_parameters()
        }
    return state


def assert_same_outputs_and_gradients(ours, theirs, inputs, tolerance):
    """Compare two functions of the same inputs: what they return, and the gradient that reaches
    each input.
    """
    results = []
    for function in (ours, theirs):
        leaves = [each.clone().requires_grad_() for each in inputs]
        outputs = function(*leaves)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        total = sum(
            (output * normal(*output.shape, dtype=output.dtype, seed=9)).sum() for output in outputs
        )
        results.append((*outputs, *torch.autograd.grad(total, leaves)))
    for mine, other in zip(*results, strict=True):
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance)


def gradients_by_name(module):
    return {name: parameter.grad for name, parameter in module.named_parameters()}


@precisions
@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_equals_torchs(dtype, tolerance, masked):
    ours = shaken(MultiHeadAttention(D_MODEL, HEADS), dtype)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).to(dtype)
    theirs.load_state_dict(attention_state(ours))
    mask = some_keys_masked() if masked else None
    # PyTorch's True means "may not"
    blocked = None if mask is None else ~mask.expand(-1, HEADS, -1, -1).flatten(0, 1)
    inputs = [
        normal(BATCH, length, D_MODEL, dtype=dtype, seed=seed)
        for seed, length in enumerate((QUERY_LEN, KEY_LEN, KEY_LEN))
    ]
    assert_same_outputs_and_gradients(
        lambda *qkv: ours(*qkv, mask),
        lambda *qkv: theirs(*qkv, attn_mask=blocked, average_attn_weights=False),
        inputs,
        tolerance,
    )
    assert_same_outputs_and_gradients(
        lambda *qkv: ours(*qkv, mask, need_weights=False)[0],
        lambda *qkv: theirs(*qkv, attn_mask=blocked, need_weights=False)[0],
        inputs,
        tolerance,
    )


@precisions
def test_the_gradients_of_the_projections_equal_torchs(dtype, tolerance):
    ours = shaken(MultiHeadAttention(D_MODEL, HEADS), dtype)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).to(dtype)
    theirs.load_state_dict(attention_state(ours))
    x = normal(BATCH, QUERY_LEN, D_MODEL, dtype=dtype)
    for module in (ours, theirs):
        module(x, x, x)[0].square().sum().backward()
    together = torch.cat([linear.weight.grad for linear in (ours.w_q, ours.w_k, ours.w_v)])
    torch.testing.assert_close(
        together, theirs.in_proj_weight.grad, rtol=tolerance, atol=10 * tolerance
    )
    torch.testing.assert_close(
        ours.w_o.weight.grad, theirs.out_proj.weight.grad, rtol=tolerance, atol=10 * tolerance
    )


@precisions
@pytest.mark.parametrize("shape", [(4, D_MODEL), (BATCH, 4, D_MODEL), (2, BATCH, 4, D_MODEL)])
def test_layer_norm_equals_torchs(dtype, tolerance, shape):
    ours = shaken(LayerNorm(D_MODEL, eps=1e-3), dtype)
    theirs = nn.LayerNorm(D_MODEL, eps=1e-3).to(dtype)
    theirs.load_state_dict(ours.state_dict())
    assert_same_outputs_and_gradients(ours, theirs, [normal(*shape, dtype=dtype)], tolerance)


@precisions
@norm_orders
@modes
@pytest.mark.parametrize("masked", [False, True])
def test_the_encoder_layer_equals_torchs(dtype, tolerance, norm_first, training, masked):
    ours = shaken(EncoderLayer(D_MODEL, HEADS, D_FF, norm_first=norm_first), dtype).train(training)
    theirs = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm_first
    )
    theirs = theirs.to(dtype).train(training)
    theirs.load_state_dict(layer_state(ours))
    words = torch.arange(KEY_LEN) < torch.tensor([[7], [4], [1]])  # (batch, key_len)
    mask = (words[:, None, None] & causal_mask(KEY_LEN)) if masked else None
    blocked = (
        {"src_key_padding_mask": ~words, "src_mask": ~causal_mask(KEY_LEN)[0, 0]} if masked else {}
    )
    assert_same_outputs_and_gradients(
        lambda x: ours(x, mask),
        lambda x: theirs(x, **blocked),
        [normal(BATCH, KEY_LEN, D_MODEL, dtype=dtype)],
        tolerance,
    )


@precisions
def test_another_activation_between_the_layers_equals_torchs(dtype, tolerance):
    gelu = nn.functional.gelu
    ours = EncoderLayer(D_MODEL, HEADS, D_FF)
    ours.feed_forward = FeedForward(D_MODEL, D_FF, activation=gelu)
    assert ours.feed_forward.activation is gelu
    ours = shaken(ours, dtype)
    theirs = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, 0.0, gelu, batch_first=True).to(dtype)
    theirs.load_state_dict(layer_state(ours))
    x = normal(BATCH, KEY_LEN, D_MODEL, dtype=dtype)
    assert_same_outputs_and_gradients(ours, theirs, [x], tolerance)


@precisions
@norm_orders
@modes
@pytest.mark.parametrize("masked", [False, True])
def test_the_decoder_layer_equals_torchs(dtype, tolerance, norm_first, training, masked):
    ours = shaken(DecoderLayer(D_MODEL, HEADS, D_FF, norm_first=norm_first), dtype).train(training)
    theirs = nn.TransformerDecoderLayer(
        D_MODEL, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm_first
    )
    theirs = theirs.to(dtype).train(training)
    theirs.load_state_dict(layer_state(ours))
    words = torch.arange(KEY_LEN) < torch.tensor([[7], [4], [1]])  # (batch, key_len)
    masks = (causal_mask(QUERY_LEN), words[:, None, None]) if masked else (None, None)
    blocked = (
        {"tgt_mask": ~causal_mask(QUERY_LEN)[0, 0], "memory_key_padding_mask": ~words}
        if masked
        else {}
    )
    assert_same_outputs_and_gradients(
        lambda x, memory: ours(x, memory, *masks),
        lambda x, memory: theirs(x, memory, **blocked),
        [
            normal(BATCH, QUERY_LEN, D_MODEL, dtype=dtype),
            normal(BATCH, KEY_LEN, D_MODEL, dtype=dtype, seed=1),
        ],
        tolerance,
    )


@precisions
@norm_orders
def test_the_stacks_equal_torchs(dtype, tolerance, norm_first):
    """Encoder and decoder with their weights in PyTorch's stacks, which end with a norm only where
    the layers begin with one.
    """
    ours = shaken(
        Transformer(11, 9, D_MODEL, HEADS, 2, 3, D_FF, dropout=0.0, norm_first=norm_first), dtype
    )
    layer = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm_first
    )
    encoder = nn.TransformerEncoder(
        layer, 2, nn.LayerNorm(D_MODEL) if norm_first else None, enable_nested_tensor=False
    )
    layer = nn.TransformerDecoderLayer(
        D_MODEL, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm_first
    )
    decoder = nn.TransformerDecoder(layer, 3, nn.LayerNorm(D_MODEL) if norm_first else None)
    for stack, twin, norm in (
        (ours.encoder, encoder, "encoder_norm"),
        (ours.decoder, decoder, "decoder_norm"),
    ):
        state = {}
        for index, each in enumerate(stack):
            state |= layer_state(each, f"layers.{index}.")
        if norm_first:
            state |= {
                f"norm.{name}": value for name, value in getattr(ours, norm).state_dict().items()
            }
        twin.to(dtype).load_state_dict(state)

    src = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]])
    tgt = torch.tensor([[1, 4, 5, 6, 2], [1, 7, 2, 0, 0]])

    def theirs(src_embedding, tgt_embedding):
        x = src_embedding[src] * math.sqrt(D_MODEL) + torch.tensor(
            sinusoidal_encoding(4, D_MODEL), dtype=dtype
        )
        memory = encoder(x, src_key_padding_mask=src == 0)
        y = tgt_embedding[tgt] * math.sqrt(D_MODEL) + torch.tensor(
            sinusoidal_encoding(5, D_MODEL), dtype=dtype
        )
        future = ~causal_mask(5)[0, 0]
        return decoder(
            y,
            memory,
            tgt_mask=future,
            tgt_key_padding_mask=tgt == 0,
            memory_key_padding_mask=src == 0,
        )

    def mine(src_embedding, tgt_embedding):
        tables = {
            "model.src_embedding.weight": src_embedding,
            "model.tgt_embedding.weight": tgt_embedding,
        }
        return torch.func.functional_call(Stacks(ours), tables, (src, tgt))

    inputs = [ours.src_embedding.weight.detach(), ours.tgt_embedding.weight.detach()]
    assert_same_outputs_and_gradients(mine, theirs, inputs, tolerance)
    logits = ours(src, tgt)
    torch.testing.assert_close(
        logits, ours.generator(theirs(*inputs)), rtol=tolerance, atol=tolerance
    )


class Stacks(nn.Module):
    """The Transformer without its generator."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, src, tgt):
        return self.model.decode(tgt, self.model.encode(src), src)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_the_fused_path_equals_the_one_with_weights(dtype):
    attention = shaken(MultiHeadAttention(D_MODEL, HEADS), dtype)
    query, key = (
        normal(BATCH, length, D_MODEL, dtype=dtype, seed=length) for length in (QUERY_LEN, KEY_LEN)
    )
    for mask in (None, some_keys_masked(), some_keys_masked()[:1], some_keys_masked()[0, 0]):
        plain, weights = attention(query, key, key, mask)
        fused, none = attention(query, key, key, mask, need_weights=False)
        assert none is None
        assert weights.shape == (BATCH, HEADS, QUERY_LEN, KEY_LEN)
        assert fused.dtype == plain.dtype == dtype
        coarse = {torch.float64: 1e-12, torch.float32: 1e-6}.get(dtype, 2e-2)
        torch.testing.assert_close(fused, plain, rtol=coarse, atol=coarse)


def test_masked_attention_equals_the_fused_kernel_and_numpys():
    query, key, value = (
        normal(BATCH, HEADS, 4, 8, dtype=torch.float64, seed=seed) for seed in range(3)
    )
    mask = decoder_mask(torch.tensor([[5, 6, 7, 0], [5, 0, 0, 0], [5, 6, 7, 8]]))
    output, weights = masked_attention(query, key, value, mask)
    fused = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(output, fused, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, HEADS, 4, dtype=torch.float64))


def test_positions_equal_those_of_chapter_2():
    for dtype in (torch.float32, torch.float64):
        expected = torch.tensor(sinusoidal_encoding(300, 16), dtype=dtype)
        torch.testing.assert_close(
            sinusoidal_positions(300, 16, dtype), expected, rtol=1e-4, atol=2e-5
        )


@norm_orders
def test_the_transformer_works_in_half_precision_and_on_views(norm_first):
    model = Transformer(11, 9, 8, 2, 1, 1, 16, dropout=0.0, norm_first=norm_first).to(
        torch.bfloat16
    )
    src = torch.tensor([[4, 8], [5, 9], [6, 0], [7, 0]]).T
    assert not src.is_contiguous()
    logits = model(src, torch.tensor([[1, 4], [1, 5]]))
    assert logits.dtype == torch.bfloat16
    assert torch.isfinite(logits).all()


def test_a_source_of_nothing_but_padding_spoils_nothing():
    model = shaken(Transformer(11, 9, 8, 2, 2, 2, 16, dropout=0.0), torch.float64)
    src, tgt = torch.tensor([[4, 5, 6], [0, 0, 0]]), torch.tensor([[1, 4, 5], [1, 4, 5]])
    logits = model(src, tgt)
    logits.sum().backward()
    assert torch.isfinite(logits).all()
    assert all(torch.isfinite(gradient).all() for gradient in gradients_by_name(model).values())
    torch.testing.assert_close(logits[:1], model(src[:1], tgt[:1]))


@pytest.mark.long  # the translator's export is tried often
@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
def test_the_transformer_exports_to_onnx(norm_first):
    """One graph serves every batch and length, and gives what the module gives."""
    model = shaken(Transformer(11, 9, 8, 2, 2, 2, 16, norm_first=norm_first), torch.float32).eval()
    src, tgt = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]]), torch.tensor([[1, 4, 5], [1, 6, 0]])
    batch, src_len, tgt_len = (torch.export.Dim(name) for name in ("batch", "src_len", "tgt_len"))
    program = torch.onnx.export(
        model,
        (src, tgt),
        dynamo=True,
        verbose=False,
        input_names=["src", "tgt"],
        dynamic_shapes=({0: batch, 1: src_len}, {0: batch, 1: tgt_len}),
    )
    file = io.BytesIO()
    program.save(file)
    session = onnxruntime.InferenceSession(file.getvalue())
    longer = torch.tensor([[4, 5, 6, 7, 8, 9, 3]]), torch.tensor([[1, 4, 5, 6, 7, 0]])
    for sentence in ((src, tgt), longer):
        feed = {name: ids.numpy() for name, ids in zip(("src", "tgt"), sentence, strict=True)}
        np.testing.assert_allclose(
            session.run(None, feed)[0], model(*sentence).detach().numpy(), rtol=1e-3, atol=1e-4
        )


def test_greedy_decoding_takes_the_likeliest_word_each_time():
    model = shaken(Transformer(11, 9, 8, 2, 1, 1, 16), torch.float64)
    src = torch.tensor([[4, 5, 6], [7, 8, 0]])
    ids = greedy_decode(model, src, max_len=6)
    assert model.training
    model.eval()
    for row, (source, written) in enumerate(zip(src, ids, strict=True)):
        source = source[source != 0][None]  # alone, without its padding
        for length in range(1, ids.shape[1]):
            if (written[:length] == 2).any():
                assert written[length] == 0, row
            else:
                assert written[length] == model(source, written[None, :length])[0, -1].argmax(), row


def test_shapes_are_those_of_the_contract():
    x = normal(2, 6, 12, dtype=torch.float32)
    assert split_heads(x, 4).shape == (2, 4, 6, 3)
    assert torch.equal(merge_heads(split_heads(x, 4)), x)
    assert padding_mask(torch.ones(2, 5, dtype=torch.int64)).shape == (2, 1, 1, 5)
    assert causal_mask(3).shape == (1, 1, 3, 3)
    assert FeedForward(12, 24)(x).shape == x.shape
