"""The same weights give the same: our blocks with those of `transformers`, outputs and
gradients.
"""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.t5.tokenization_t5 import T5Tokenizer

from book.experiments.after_2017 import since_2017
from solutions.ch13_family import span_corruption
from solutions.family.loading import load
from solutions.family.t5 import relative_buckets
from solutions.family.writing import NOWHERE
from tests.solutions.family.other_people import LONGEST, PAD, START, VOCAB_SIZE, saved

TOLERANCE = 1e-12  # float64, whose sums differ only in their order


def ids(*shape, least=1, below=VOCAB_SIZE - 1, seed=0):
    return torch.randint(least, below, shape, generator=torch.Generator().manual_seed(seed))


def equal(ours, others):
    torch.testing.assert_close(ours, others, rtol=TOLERANCE, atol=TOLERANCE)


def weighed(outputs):
    """Make a number of outputs, to which every one of them matters differently."""
    generator = torch.Generator().manual_seed(3)
    return (outputs * torch.randn(outputs.shape, dtype=outputs.dtype, generator=generator)).sum()


def assert_the_same(loaded, model, ours, others, folder, but=()):
    """Compare outputs, and the gradients of all parameters: theirs are saved and loaded like
    weights, and so arrive where they belong.

    Args:
        but: names of our parameters whose gradients are compared elsewhere.
    """
    equal(ours, others)
    weighed(ours).backward()
    weighed(others).backward()
    with torch.no_grad():
        for each in model.parameters():
            each.copy_(torch.zeros_like(each) if each.grad is None else each.grad)
    model.save_pretrained(folder / "gradients")
    gradients = load(folder / "gradients").model
    compared = [name for name, _ in loaded.model.named_parameters() if name not in but]
    assert len(compared) > 20
    for name in compared:
        equal(loaded.model.get_parameter(name).grad, gradients.get_parameter(name))
    return gradients


ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_new", "silu"])


@ACTIVATIONS
def test_gpt2(tmp_path, activation):
    model, folder = saved(tmp_path, "gpt2", activation_function=activation, layer_norm_epsilon=1e-3)
    loaded, sentence = load(folder), ids(2, LONGEST, least=0)

    ours = loaded.model(sentence, pad_id=NOWHERE)
    assert_the_same(loaded, model, ours, model(sentence).logits, folder)


@ACTIVATIONS
def test_bert(tmp_path, activation):
    model, folder = saved(tmp_path, "bert", hidden_act=activation)
    loaded, sentences, types = load(folder), ids(2, 9), ids(2, 9, least=0, below=2)
    sentences[1, 6:] = 0
    words = sentences != 0

    ours = loaded.model(sentences, types)
    others = model(sentences, words.long(), token_type_ids=types).last_hidden_state
    assert_the_same(loaded, model, ours[words], others[words], folder)


@ACTIVATIONS
def test_vit(tmp_path, activation):
    model, folder = saved(tmp_path, "vit", hidden_act=activation)
    loaded = load(folder)
    images = torch.randn(2, 3, 12, 12, dtype=torch.float64)

    ours = loaded.model.encode(images)
    assert_the_same(loaded, model, ours, model(images).last_hidden_state, folder)
    equal(loaded.model(images), ours[:, 0])  # without a head, the first row itself


def test_vit_scores_classes(tmp_path):
    model, folder = saved(tmp_path, "vit_with_head")
    images = torch.randn(2, 3, 12, 12, dtype=torch.float64)
    equal(load(folder).model(images), model(images).logits)


@pytest.mark.parametrize("activation", ["swish", "relu", "gelu"])
def test_marian(tmp_path, activation):
    model, folder = saved(tmp_path, "marian", activation_function=activation)
    loaded = load(folder)
    source, written = ids(2, 7), ids(2, 6, seed=1)
    written[:, 0] = START
    source[1, 5:] = PAD
    words = source != PAD
    ours = loaded.model(source.where(words, loaded.model.pad_id), written)
    others = model(source, words.long(), decoder_input_ids=written).logits
    assert ours.shape[-1] == VOCAB_SIZE + 1 and START == VOCAB_SIZE - 1
    assert (ours[..., START:] == -torch.inf).all()  # which are no words

    # their bias is none that is trained, and their first word's row does not learn
    but = {"src_embedding.weight", "generator.bias"}
    outputs = ours[..., :START], others[..., :START]
    gradients = assert_the_same(loaded, model, *outputs, folder, but)
    tied = loaded.model.src_embedding.weight
    assert tied is loaded.model.tgt_embedding.weight is loaded.model.generator.weight
    equal(tied.grad[:START], gradients.src_embedding.weight[:START])
    assert not tied[loaded.model.pad_id].any()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (8, 20), (16, 50)])
def test_t5_s_buckets(causal, num_buckets, max_distance):
    distance = torch.arange(200) - torch.arange(150)[:, None]
    expected = T5Attention._relative_position_bucket(
        distance, not causal, num_buckets, max_distance
    )
    found = relative_buckets(150, 200, num_buckets, max_distance, causal)
    assert torch.equal(found, expected) and found.dtype == torch.int64
    never = set() if causal else {num_buckets // 2}  # a key after the query at distance 0
    assert set(found.unique().tolist()) == set(range(num_buckets)) - never


def test_t5_s_sentinels():
    tokenizer = T5Tokenizer()
    sentinels = [tokenizer.convert_tokens_to_ids(f"<extra_id_{index}>") for index in range(100)]
    assert sentinels[0] == len(tokenizer) - 1
    end = tokenizer.eos_token_id
    inputs, targets = span_corruption([5, 6, 7, 8, 9], [(1, 2), (3, 5)], sentinels[0], end)
    assert inputs == [5, sentinels[0], 7, sentinels[1], end]
    assert targets == [sentinels[0], 6, sentinels[1], 8, 9, sentinels[2], end]


def pairs_for_halves(matrix, heads):
    """Renumber the rows of each head: feature i and the one half a head further become a pair."""
    return matrix.unflatten(0, (heads, 2, -1)).transpose(1, 2).reshape(matrix.shape)


def llama_with_our_sizes():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=since_2017.D_MODEL,
        intermediate_size=4 * since_2017.D_MODEL * 2 // 3,
        num_hidden_layers=since_2017.LAYERS,
        num_attention_heads=since_2017.HEADS,
        num_key_value_heads=since_2017.HEADS // 2,
        rms_norm_eps=1e-5,
        initializer_range=0.2,
        tie_word_embeddings=True,
    )
    theirs = LlamaForCausalLM(config).double().eval()
    for name, each in theirs.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(each, mean=1, std=0.3)
    return theirs


def test_all_that_is_new_since_2017_is_a_llama():
    """Chapter 13's model with all four changes takes the weights of a small Llama."""
    theirs = llama_with_our_sizes()
    ours = since_2017.Letters(VOCAB_SIZE, since_2017.parts_of("all four")).double().eval()
    weights = {"embedding.weight": theirs.model.embed_tokens.weight}
    for number, layer in enumerate(theirs.model.layers):
        attention = f"attentions.{number}.w_"
        for part, heads in (("q", since_2017.HEADS), ("k", since_2017.HEADS // 2)):
            matrix = layer.self_attn.get_parameter(f"{part}_proj.weight")
            weights[f"{attention}{part}.weight"] = pairs_for_halves(matrix, heads)
        weights[f"{attention}v.weight"] = layer.self_attn.v_proj.weight
        weights[f"{attention}o.weight"] = layer.self_attn.o_proj.weight
        for part in ("gate", "up", "down"):
            matrix = layer.mlp.get_parameter(f"{part}_proj.weight")
            weights[f"networks.{number}.w_{part}.weight"] = matrix
        weights[f"norms.{2 * number}.weight"] = layer.input_layernorm.weight
        weights[f"norms.{2 * number + 1}.weight"] = layer.post_attention_layernorm.weight
    weights[f"norms.{2 * since_2017.LAYERS}.weight"] = theirs.model.norm.weight
    missing, unexpected = ours.load_state_dict(weights, strict=False)
    assert not unexpected and all(name.endswith("bias") for name in missing)
    for name in missing:  # a Llama has no biases
        torch.nn.init.zeros_(ours.get_parameter(name))
    sentence = ids(2, 30)
    with torch.no_grad():
        # theirs computes the angles in float32
        torch.testing.assert_close(ours(sentence), theirs(sentence).logits, rtol=1e-4, atol=1e-4)
        assert theirs(sentence).logits.std() > 0.1
