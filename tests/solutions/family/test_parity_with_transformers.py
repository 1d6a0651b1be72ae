"""The same weights give the same: our blocks with those of `transformers`, outputs and
gradients.
"""

import pytest
import torch
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.t5.tokenization_t5 import T5Tokenizer

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
