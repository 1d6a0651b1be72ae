"""The whole model: embeddings, two stacks and a generator."""

from functools import partial

import torch
from torch import nn

from autograder.authoring.checks import Checks, subclass
from autograder.authoring.draw import by_name, changing, module_case, normal, padded, weights_named
from autograder.authoring.drawn import drawn, integer
from autograder.checks.ch08_encoder_decoder.DecoderLayer import LayerOnTopOfAnEncoderLayer, and_more
from autograder.shared.probes import (
    arguments_after,
    at_the_start,
    extremes,
    gradients,
    left_out,
    moved,
    returned_for_views,
)
from autograder.shared.probes.calls import defaults_of
from solutions import ch08_encoder_decoder as reference
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch06_masking import causal_mask, decoder_mask, padding_mask
from solutions.ch07_layers import LayerNorm


@drawn
def model_case(
    rng,
    src_lengths=(4, 4),
    tgt_lengths=(3, 3),
    vocab=(7, 6),
    sizes=(4, 2, 1, 1, 3),
    dropout=0.0,
    pad_id=0,
    norm_first=False,
    dtype=torch.float64,
    method="forward",
    **parts,
):
    """Make the inputs of a case.

    Args:
        src_lengths, tgt_lengths: words of each sentence; the longest has no padding.
        vocab: sizes of the two vocabularies, above 4.
        sizes: d_model, num_heads, num_encoder_layers, num_decoder_layers and d_ff.
    """
    constructor = (*vocab, *sizes, dropout)
    if pad_id or norm_first:  # in a message, a shorter call reads better
        constructor += (pad_id, norm_first)
    src = padded(rng, src_lengths, max(src_lengths), vocab[0], pad_id)
    tgt = padded(rng, tgt_lengths, max(tgt_lengths), vocab[1], pad_id)
    tgt[:, 0] = 1
    memory = normal(rng, *src.shape, sizes[0], dtype=dtype)
    arguments = {
        "forward": {"src": src, "tgt": tgt},
        "encode": {"src": src},
        "decode": {"tgt": tgt, "memory": memory, "src": src},
    }
    if method != "forward":
        parts = {"method": method, **parts}
    return module_case(rng, reference.Transformer, constructor, arguments[method], dtype, **parts)


@drawn
def a_layer_that_drops(rng, norm_first):
    """Make a case in which four numbers are dropped at random: two of the position, and two of what
    an encoder layer adds to it.
    """
    case = model_case(
        rng,
        (1,),
        sizes=(4, 1, 1, 0, 2),
        dropout=0.5,
        norm_first=norm_first,
        method="encode",
        train=True,
    )
    for weight in weights_named(case, "src_embedding", "attention.w_o", "linear_2.weight"):
        weight.zero_()
    case["weights"]["encoder.0.feed_forward.linear_2.bias"][1::2] = 0
    return case


def another_word(rng, token_ids):
    return 9 - token_ids  # 4 becomes 5, and 5 becomes 4


def a_later_target_word_changes(rng):
    case = model_case(rng, (3, 2), (4, 4), norm_first=bool(rng.integers(2)))
    return changing(rng, case, "tgt", 2, another_word)


@drawn
def a_new_model(rng, norm_first, low=5):
    vocab_size = integer(rng, low, low + 9)
    made = vocab_size, vocab_size + 2, 4, 2, 1, 2, 3, 0.0, 0, norm_first
    return {"constructor": by_name(reference.Transformer, made)}


class Pieces(reference.Transformer):
    power = 0.5

    def source_mask(self, src):
        return padding_mask(src, self.pad_id)

    def target_mask(self, tgt):
        return decoder_mask(tgt, self.pad_id)

    def memory_mask(self, tgt, src):
        return padding_mask(src, self.pad_id)

    def finished(self, x, norm):
        return getattr(self, norm)(x) if self.norm_first else x

    def through(self, x, layers, *context):
        for layer in layers:
            x = layer(x, *context)
        return x

    def encode(self, src):
        x = self.embed(src, self.src_embedding)
        x = self.through(x, self.encoder, self.source_mask(src))
        return self.finished(x, "encoder_norm")

    def decode(self, tgt, memory, src):
        x = self.embed(tgt, self.tgt_embedding)
        # Layers that ask for weights, as a learner's do: the fused kernel would complain about a
        # mask that does not fit in words of its own.
        layers = [partial(LayerOnTopOfAnEncoderLayer.forward, layer) for layer in self.decoder]
        masks = self.target_mask(tgt), self.memory_mask(tgt, src)
        return self.finished(self.through(x, layers, memory, *masks), "decoder_norm")

    def positions(self, seq_len, dtype):
        return reference.sinusoidal_positions(seq_len, self.d_model, dtype)

    def summed(self, words, positions):
        return self.dropout(words + positions)

    def embed(self, token_ids, embedding):
        words = embedding(token_ids) * self.d_model**self.power
        return self.summed(words, self.positions(token_ids.shape[1], words.dtype))


def without_generator(self, src, tgt):
    return self.decode(tgt, self.encode(src), src)


checks = Checks(
    reference.Transformer,
    family=Pieces,
    shortcuts="""Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder
    TransformerDecoderLayer""",
)
shown, hidden, wrong, right = checks.words

shown("two sentences without padding", model_case(), weight=2)
shown("padding in the source", model_case((2, 4), (3, 3)), weight=2)
shown("padding in the target", model_case((3, 3), (4, 2)))
shown(
    "the encoder alone: words, positions, no layer",
    model_case((4, 4), sizes=(4, 1, 0, 0, 2), method="encode"),
)
shown("the encoder alone: one layer", model_case((4, 2), method="encode"))
shown(
    "the decoder alone, with a memory that it is given", model_case((4, 2), (3, 2), method="decode")
)
shown(
    "three layers in the encoder, two in the decoder",
    model_case((3, 2), (2, 2), sizes=(4, 1, 3, 2, 2)),
)
shown("pre-norm", model_case((3, 2), (2, 3), norm_first=True))
shown("padding has another id", model_case((2, 3), (3, 2), pad_id=3))
shown("two vocabularies of one size", model_case((3, 2), vocab=(6, 6)))
shown("a source of 600 words", model_case((600,), (2,), sizes=(4, 1, 1, 1, 2)))
shown("a later word changes nothing before it", a_later_target_word_changes, probe=moved)
# The padding of the first sentence sees the change, too.
shown(
    "in the encoder every word sees every other",
    changing(model_case((3, 4), vocab=(6, 6), method="encode"), "src", 2, another_word),
    probe=moved,
)
shown(
    "padding may hold anything in the memory",
    changing(model_case((2, 4), (2, 3), method="decode"), "memory", 3, and_more),
    probe=moved,
)
shown(
    "in eval mode nothing is dropped, even with dropout=1", model_case((3, 2), (2, 2), dropout=1.0)
)
shown(
    "half of the sum, and half of what a layer adds, is dropped in train mode",
    a_layer_that_drops(norm_first=True),
    probe=extremes,
)
shown("gradients", model_case((3,), (2,), (5, 5), (4, 1, 1, 1, 2)), probe=gradients)
shown("a new model has these parameters", a_new_model(False), probe=at_the_start)
shown("float32 stays float32", model_case((3, 2), (2, 2), dtype=torch.float32))
hidden("more layers, more heads", model_case((5, 3), (4, 2), (11, 9), (6, 3, 1, 2, 5)), weight=2)
hidden(
    "more layers, pre-norm",
    model_case((5, 3), (4, 2), (9, 11), (6, 2, 2, 1, 5), norm_first=True),
    weight=2,
)
hidden("two layers in the decoder, none in the encoder", model_case((4, 2), sizes=(4, 2, 0, 2, 2)))
hidden("another id of padding, pre-norm", model_case((2, 4), (4, 2), pad_id=2, norm_first=True))
hidden("the encoder alone, pre-norm", model_case((4, 2), norm_first=True, method="encode"))
hidden("the decoder alone, pre-norm", model_case((4, 2), (2, 3), norm_first=True, method="decode"))
hidden("as many words in the target as in the source", model_case((4, 2), (4, 3), vocab=(8, 8)))
hidden("a source of one word, a target of one word", model_case((1, 1), (1, 1)))
hidden("a source of 5,500 words", model_case((5500,), (2,), sizes=(4, 1, 0, 1, 2)))
hidden("a target of 900 words", model_case((2,), (900,), sizes=(4, 1, 1, 0, 2)))
hidden("a later word changes nothing before it, again", a_later_target_word_changes, probe=moved)
hidden(
    "half of the sum, and half of what a post-norm layer adds",
    a_layer_that_drops(norm_first=False),
    probe=extremes,
)
hidden("in eval mode, with dropout=1, the encoder", model_case(dropout=1.0, method="encode"))
hidden(
    "half of the sum of words and positions is dropped",
    model_case((3,), sizes=(4, 1, 0, 0, 2), dropout=0.5, method="encode", train=True),
    probe=extremes,
)
hidden(
    "gradients through two layers, pre-norm",
    model_case(sizes=(4, 2, 2, 2, 3), norm_first=True),
    probe=gradients,
)
hidden("a new pre-norm model has these parameters", a_new_model(True), probe=at_the_start)
hidden("a new post-norm model of another size", a_new_model(False, 20), probe=at_the_start)
hidden(
    "a new model by default has six layers on each side",
    # narrow, so that it is made fast; from the number of layers on the defaults hold
    constructor={"src_vocab_size": integer(5, 30), "tgt_vocab_size": 6, "d_model": 8},
    probe=at_the_start,
)
hidden(
    "arguments that are left out are as in the paper",
    forward={"src_vocab_size": integer(5, 30), "tgt_vocab_size": 6},
    left_out=defaults_of(reference.Transformer),
    probe=left_out,
)
hidden(
    "bfloat16: words and positions far into a text",
    model_case((400,), sizes=(4, 1, 0, 0, 2), dtype=torch.bfloat16, method="encode"),
)
hidden(
    "float16: words and positions",
    model_case((9, 4), sizes=(4, 1, 0, 0, 2), dtype=torch.float16, method="encode"),
)
hidden(
    "token ids that do not lie in one piece", model_case((4, 2), (3, 2)), probe=returned_for_views
)
hidden("the token ids stay as they were", model_case((4, 2), (3, 2)), probe=arguments_after)


wrong(
    "layers know the order of words by themselves",
    """Shuffle the words of the source, and your memory is shuffled in the same way. What tells the
    first word from the last?""",
    positions=lambda *_: 0,
)


@wrong(
    "only the source needs positions",
    "The memory is right. How does the decoder know where a word of the target is?",
    rule="embed",
)
def source_alone_with_positions(self, token_ids, embedding):
    if embedding is self.src_embedding:
        return Pieces.embed(self, token_ids, embedding)
    return self.dropout(embedding(token_ids) * self.d_model**self.power)


wrong(
    "embeddings are added as they are",
    """Compare the size of the words with that of the positions. What happens to an embedding before
    they are added?""",
    power=0,
)


wrong(
    "embeddings are divided by the root of d_model",
    """Your words are small beside the positions. Is the root of d_model meant to make them larger
    or smaller?""",
    power=-0.5,
)


@wrong(
    "the decoder reads the target with the source's table",
    """The memory is right. One of your two tables is never used: which words does it hold?""",
)
class WithTheSourcesTable(Pieces):
    def embed(self, token_ids, embedding):
        return Pieces.embed(self, token_ids, self.src_embedding)


wrong(
    "embeddings are multiplied by d_model",
    "Your words are too large beside the positions. Which power of d_model are they multiplied by?",
    power=1,
)


wrong(
    "the factor multiplies the positions, too",
    "A position's numbers lie between -1 and 1. Do yours still do so when the layers see them?",
    summed=lambda self, words, positions: self.dropout(
        words + positions * self.d_model**self.power
    ),
)


wrong(
    "positions count from 1",
    "What is the encoding of the first position? Chapter 2 begins to count where Python does.",
    positions=lambda self, seq_len, dtype: Pieces.positions(self, seq_len + 1, dtype)[1:],
)


@wrong(
    "sines come first, then cosines",
    "Print the positions that you add, and compare their columns with those of chapter 2.",
    rule="positions",
)
def in_halves(self, seq_len, dtype):
    table = Pieces.positions(self, seq_len, dtype)
    return torch.cat([table[:, ::2], table[:, 1::2]], dim=-1)


wrong(
    "single precision is enough for positions",
    """The numbers agree to seven digits. In which dtype were your positions made, and in which does
    the model compute?""",
    positions=lambda self, seq_len, dtype: Pieces.positions(self, seq_len, torch.float32).to(dtype),
)


@wrong(
    "half precision can count positions",
    """Far into a text, neighbouring words get the same position. Which whole numbers can the
    model's dtype hold?""",
    rule="positions",
)
def counted_in_half(self, seq_len, dtype):
    rates = 10000.0 ** (-torch.arange(0, self.d_model, 2) / self.d_model)
    angles = torch.arange(seq_len).to(dtype)[:, None] * rates.to(dtype)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


wrong(
    "512 positions are enough",
    "How many positions does your table have, and how many words may a sentence have?",
    positions=lambda self, seq_len, dtype: Pieces.positions(self, 512, dtype)[:seq_len],
)


wrong(
    "the encoder may look at padding",
    "In the encoder, words attend to padding. Which mask do your encoder layers get?",
    source_mask=lambda self, src: None,
)


wrong(
    "the decoder may look at the source's padding",
    """The memory is right, but padding of the source gets weight when the decoder reads it. What is
    `src` good for in `decode`?""",
    memory_mask=lambda self, tgt, src: None,
)


wrong(
    "the decoder reads the memory under the target's mask",
    """The cross-attention has a row for each word of the target and a column for each word of the
    source. Whose padding should its mask know?""",
    memory_mask=lambda self, tgt, src: self.target_mask(tgt),
)


wrong(
    "cross-attention hides the padding of the target",
    """The cross-attention has a column for each word of the source. Whose padding should its mask
    know?""",
    memory_mask=lambda self, tgt, src: self.source_mask(tgt),
)


wrong(
    "in the target only the future is hidden",
    """Right where there is no padding in the target. Two things must be hidden from a word there;
    you hide one.""",
    target_mask=lambda self, tgt: causal_mask(tgt.shape[1]),
)


wrong(
    "the decoder may look at everything in the target",
    """Change a word of the target, and your results before it move. Which mask do your decoder's
    layers get for the target?""",
    target_mask=lambda self, tgt: None,
)


wrong(
    "the decoder's words see the future",
    """Change a word of the target, and your results before it move. The decoder must write word by
    word: what may a word see?""",
    target_mask=Pieces.source_mask,
)


wrong(
    "the encoder may not look ahead either",
    "The whole source is known from the start. Why should one of its words not look at the next?",
    source_mask=Pieces.target_mask,
)


wrong(
    "padding is 0",
    "Right as long as padding is 0. What has become of the argument that says which id it has?",
    pad_id=0,
)


wrong(
    "decode returns logits",
    """Your `forward` is right. What should `decode` return: a vector for each position, or scores
    for each word?""",
    decode=lambda self, *given: self.generator(Pieces.decode(self, *given)),
    forward=without_generator,
)


wrong(
    "the decoder reads the source",
    """Your logits have a row for each word of the source. Which sentence does the decoder write,
    and which one has become the memory?""",
)(
    subclass(
        Pieces,
        forward=lambda self, src, tgt: self.generator(self.decode(src, self.encode(src), src)),
    )
)


wrong(
    "the target becomes the memory",
    """Your `encode` and `decode` are right. Which sentence does your `forward` give to the
    encoder?""",
)(
    subclass(
        Pieces,
        forward=lambda self, src, tgt: self.generator(self.decode(tgt, self.encode(tgt), src)),
    )
)


wrong(
    "the result are probabilities",
    "Your rows sum to 1. Do the rows of logits, which the docstring asks for, have to?",
    then=lambda logits: logits.softmax(-1),
)


wrong(
    "the result are log-probabilities",
    """Your results differ from the right ones by one number for each row. What did you do after the
    last linear layer?""",
    then=lambda logits: logits.log_softmax(-1),
)


wrong(
    "the decoder's vectors are the result",
    """Your result has as many numbers at a position as the model is wide. How many words could come
    next?""",
    forward=without_generator,
)


wrong(
    "only the last position counts",
    """In training every position of the target predicts its next word. How many positions does your
    result have?""",
    then=lambda logits: logits[:, -1],
)


wrong(
    "decode encodes the source itself",
    "Your `forward` is right, but `decode` ignores its second argument. What is the memory for?",
    decode=lambda self, tgt, memory, src: Pieces.decode(self, tgt, self.encode(src), src),
)


@wrong(
    "one embedding serves both languages",
    "Two languages have two vocabularies. How many tables do you make?",
    rule="made",
)
def with_one_embedding(self):
    self.tgt_embedding = self.src_embedding


@wrong(
    "no norm is needed after the stacks",
    "Right for post-norm. In pre-norm, has anything normalised the sum that leaves the last layer?",
    rule="made",
)
def without_final_norms(self):
    if self.norm_first:
        del self.encoder_norm, self.decoder_norm


wrong(
    "the norms after the stacks are there, but not used",
    "Right for post-norm. In pre-norm, what passes through your final norms?",
    finished=lambda self, x, norm: x,
)


@wrong(
    "there is always a norm after a stack",
    "Right for pre-norm. In post-norm, what is the last thing that the last layer does?",
    rule="made",
    finished=lambda self, x, norm: getattr(self, norm)(x),
)
def with_final_norms_always(self):
    self.encoder_norm, self.decoder_norm = LayerNorm(self.d_model), LayerNorm(self.d_model)


@wrong(
    "encoder and decoder change their heights",
    "Count your layers on either side, and compare with the arguments.",
    rule="__init__",
)
def with_counts_swapped(self, *arguments):
    heights = arguments[4:6]
    reference.Transformer.__init__(self, *arguments[:4], *heights[::-1], *arguments[6:])


@wrong(
    "a stack is one layer, many times",
    "Do your layers learn different things? Ask Python whether the first one `is` the second one.",
    rule="made",
)
def with_one_layer_many_times(self):
    self.encoder = nn.ModuleList(list(self.encoder[:1]) * len(self.encoder))
    self.decoder = nn.ModuleList(list(self.decoder[:1]) * len(self.decoder))


@wrong(
    "a Python list holds layers as well",
    """The layers are in your lists, but the module does not know of them. Which class of torch.nn
    is a list that registers what it holds?""",
    rule="made",
)
def with_plain_lists(self):
    encoder, decoder = list(self.encoder), list(self.decoder)
    del self.encoder, self.decoder
    self.encoder, self.decoder = encoder, decoder


wrong(
    "an encoder layer changes what it is given",
    """Your encoder's layers have no effect. What becomes of what a layer returns?""",
    encode=lambda self, src: self.finished(self.embed(src, self.src_embedding), "encoder_norm"),
)


wrong(
    "a decoder layer changes what it is given",
    """Your decoder's layers have no effect. What becomes of what a layer returns?""",
    decode=lambda self, tgt, memory, src: self.finished(
        self.embed(tgt, self.tgt_embedding), "decoder_norm"
    ),
)


@wrong(
    "the first layer is all of them",
    """Right for one layer. When do your methods return: after the loop, or within it?""",
)
class ThroughTheFirst(Pieces):
    def through(self, x, layers, *context):
        return layers[0](x, *context) if layers else None


@wrong(
    "each layer starts from the words again",
    """Right for one layer. What does your second layer get: what the first one made, or what the
    first one got?""",
    rule="through",
)
def side_by_side(self, words, layers, *context):
    x = words
    for layer in layers:
        x = layer(words, *context)
    return x


@wrong(
    "the generator needs no bias",
    """A linear layer may add something to its products. Compare the parameters of your last layer
    with the docstring.""",
    rule="made",
)
def without_generator_bias(self):
    self.generator.bias = None


@wrong(
    "norm_first is for the final norms alone",
    "The final norms are there. Do your layers know of norm_first?",
    rule="made",
)
def with_post_norm_layers(self):
    for layer in (*self.encoder, *self.decoder):
        layer.norm_first = False


wrong(
    "the sum of words and positions is not dropped",
    """The layers drop what they should. What should happen to the sum of embeddings and positions
    before the first layer?""",
    summed=lambda self, words, positions: words + positions,
)


wrong(
    "words are dropped, positions are not",
    "Your positions always come through. Is it the words that dropout is for, or the sum?",
    summed=lambda self, words, positions: self.dropout(words) + positions,
)


wrong(
    "dropout is always on",
    "In eval mode nothing should be dropped. How does your dropout know the mode?",
    summed=lambda self, words, positions: nn.functional.dropout(words + positions, self.dropout.p),
)


@wrong(
    "the layers are made without dropout",
    "Before the first layer you drop what you should. Which arguments do the layers get?",
    rule="made",
)
def without_dropout_in_the_layers(self):
    for layer in (*self.encoder, *self.decoder):
        layer.dropout.p = layer.feed_forward.dropout.p = 0.0


@right
class TransformerOfOtherParts(Pieces):
    """Masks of full size, chapter 2's positions, `nn.Identity` where there is no norm, and zeros
    for padding.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        norm = nn.LayerNorm if self.norm_first else nn.Identity
        self.encoder_norm, self.decoder_norm = norm(self.d_model), norm(self.d_model)
        self.src_embedding.padding_idx = self.tgt_embedding.padding_idx = self.pad_id

    def finished(self, x, norm):
        return getattr(self, norm)(x)

    def source_mask(self, src):
        return self.memory_mask(src, src)

    def target_mask(self, tgt):
        return causal_mask(tgt.shape[1])[0, 0] & tgt.ne(self.pad_id)[:, None, None]

    def memory_mask(self, tgt, src):
        return src.ne(self.pad_id)[:, None, None].expand(-1, 1, tgt.shape[1], -1)

    def positions(self, seq_len, dtype):
        return torch.tensor(sinusoidal_encoding(seq_len, self.d_model)).to(dtype)

    def summed(self, words, positions):
        return nn.functional.dropout(words + positions, self.dropout.p, self.training)


@right
class TransformerWithAGrowingTable(Pieces):
    """Keeps the table of positions, and makes a longer one when it must."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.register_buffer("table", torch.empty(0, self.d_model), persistent=False)

    def positions(self, seq_len, dtype):
        if len(self.table) < seq_len or self.table.dtype != dtype:
            self.table = super().positions(max(16, 2 * seq_len), dtype)
        return self.table[:seq_len]
