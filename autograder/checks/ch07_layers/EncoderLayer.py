"""An encoder layer: self-attention and a feed-forward network."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.authoring import draw
from autograder.authoring.checks import Checks, subclass
from autograder.authoring.drawn import drawn
from autograder.checks.ch07_layers import (
    DROPPING_THE_SUM,
    WITHOUT_RESIDUAL,
    AlwaysDropping,
    InSteps,
    only,
    post_norm,
    pre_norm,
    pre_norm_without_stream,
    undropped_post_norm,
    undropped_pre_norm,
    without_inner_dropout,
    without_norm,
)
from autograder.checks.ch07_layers.FeedForward import NetworkAsSequence, float64_normal
from autograder.shared.probes import arguments_after, extremes, gradients, moved, returned_for_views
from solutions import ch07_layers as reference
from solutions.ch05_multi_head import merge_heads, split_heads
from solutions.ch06_masking import causal_mask, decoder_mask, padding_mask


@drawn
def layer_case(
    rng,
    batch,
    seq_len,
    d_model=4,
    heads=2,
    d_ff=6,
    *,
    norm_first=None,
    dropout=0.0,
    mask=None,
    **parts,
):
    """Make the inputs of an EncoderLayer; its `mask` may be a description, and without `norm_first`
    its default is meant.
    """
    constructor = (d_model, heads, d_ff)
    if norm_first is not None:
        constructor += (dropout, norm_first)
    forward = {"x": (1.5 * float64_normal(rng, batch, seq_len, d_model) + 0.5).round(decimals=3)}
    if mask is not None:
        forward["mask"] = mask
    return draw.module_case(
        rng, reference.EncoderLayer, constructor, forward, torch.float64, **parts
    )


@drawn
def gentle(rng, dtype, norm_first, batch=1):
    """Make a case for a narrow dtype: rows whose norm is nowhere near 0 / 0, and small matrices, so
    that no rounding grows on its way.
    """
    made = layer_case(rng, batch, 3, norm_first=norm_first)
    rows = (
        rng.permuted([[-1.5, -0.5, 0.5, 1.5]] * (3 * batch), axis=-1)
        + rng.integers(-2, 3, (3 * batch, 1)) / 4
    )
    made["forward"]["x"] = torch.from_numpy(rows).reshape(batch, 3, 4).to(dtype)
    for name, weight in made["weights"].items():
        shrunk = weight * (0.4 if weight.ndim > 1 else 1)
        made["weights"][name] = shrunk.round(decimals=3).to(dtype)
    return made


@drawn
def padding(rng, *lengths, seq_len):
    return padding_mask(draw.padded(rng, rng.permutation(lengths), seq_len))


def what_is_masked_changes(norm_first):
    """Make a case in which x changes at a position that nobody may attend to."""

    def change(rng, x):
        up, down = draw.normal(rng, 2, 4, dtype=torch.float64)
        return x + torch.stack([1 + up.abs(), -2 - down])

    mask = draw.padded([3, 4], 5).then(padding_mask)
    return draw.changing(layer_case(2, 5, norm_first=norm_first, mask=mask), "x", 4, change)


def sized(rng, *shape):
    """Draw numbers between 1 and 2 in size, of either sign: none that could be dropped unseen."""
    return torch.from_numpy(((1 + rng.random(shape)) * rng.choice([-1, 1], shape)).round(3))


@drawn
def almost_silent(rng, speaking, norm_first, train, dropout, d_model=2):
    """Make a case in which both parts return zeros, except for what one parameter adds.

    Then dropout can touch only a few numbers, and each way to drop them comes up in 400 calls.
    """
    made = layer_case(rng, 1, 1, d_model, 1, 2, norm_first=norm_first, dropout=dropout, train=train)
    for weight in draw.weights_named(made, "w_o", "linear_2"):
        weight.zero_()
    [weight] = draw.weights_named(made, speaking)
    weight += sized(rng, *weight.shape)
    [awake] = draw.weights_named(made, "linear_1.bias")
    awake.copy_(6 + sized(rng, 2))  # whatever comes in
    made["forward"]["x"] = 3 * sized(rng, 1, 1, d_model)
    return made


ATTENTION_SPEAKS, NETWORK_SPEAKS = "self_attention.w_o.bias", "feed_forward.linear_2.weight"


class Steps(InSteps, reference.EncoderLayer):
    order = 1, 2

    def attend(self, x, mask):
        return self.self_attention(x, x, x, mask)[0]

    def forward(self, x, mask=None):
        return self.through(x, lambda x: self.attend(x, mask))


def norm_at_both_ends(self, x, part, norm):
    return norm(pre_norm(self, x, part, norm))


checks = Checks(
    reference.EncoderLayer,
    family=Steps,
    shortcuts="TransformerEncoderLayer TransformerEncoder _transformer_encoder_layer_fwd",
)
shown, hidden, wrong, right = checks.words

shown("post-norm is the default", layer_case(2, 3), weight=6)
shown("pre-norm, when norm_first is True", layer_case(2, 3, norm_first=True), weight=3)
shown("a single position", layer_case(1, 1))
shown("as many sentences as positions", layer_case(3, 3, norm_first=False))
shown(
    "post-norm with padding masked",
    layer_case(2, 4, norm_first=False, mask=padding(2, 4, seq_len=4)),
    weight=2,
)
shown(
    "a causal mask of two axes",
    layer_case(2, 3, mask=causal_mask(3)[0, 0]),
    weight=2,
)
shown(
    "pre-norm with padding masked", layer_case(2, 4, norm_first=True, mask=padding(3, 2, seq_len=4))
)
shown("what is masked is not seen", what_is_masked_changes(False), probe=moved)
shown("gradients, post-norm", layer_case(1, 2, 4, 2, 3), probe=gradients, weight=2)
shown("gradients, pre-norm", layer_case(1, 2, 4, 2, 3, norm_first=True), probe=gradients)
shown("without a dropout, train mode changes nothing", layer_case(2, 3, train=True))
shown(
    "in train mode the attention's output is dropped",
    almost_silent(ATTENTION_SPEAKS, norm_first=True, train=True, dropout=0.4),
    probe=extremes,
)
shown(
    "and the network's, inside it and after it",
    almost_silent(NETWORK_SPEAKS, norm_first=True, train=True, dropout=0.5),
    probe=extremes,
)
shown(
    "in eval mode nothing is dropped",
    almost_silent(NETWORK_SPEAKS, norm_first=True, train=False, dropout=0.5),
    probe=extremes,
)
shown("float32 in, float32 out", gentle(torch.float32, False))
shown("x stays as it was", layer_case(2, 3, norm_first=True), probe=arguments_after)
hidden("post-norm on a larger batch", layer_case(3, 5, 8, 4, 10), weight=7)
hidden("pre-norm on a larger batch", layer_case(3, 5, 6, 3, 9, norm_first=True), weight=3)
hidden("as many sentences as positions, more heads", layer_case(4, 4, 8, 4))
hidden("one head, one position", layer_case(2, 1, 4, 1, 3, norm_first=False))
hidden(
    "pre-norm with padding masked, a larger batch",
    layer_case(3, 5, norm_first=True, mask=padding(2, 5, 3, seq_len=5)),
)
hidden(
    "post-norm with a causal mask of four axes",
    layer_case(2, 4, norm_first=False, mask=causal_mask(4)),
)
hidden(
    "a mask for each sentence",
    layer_case(2, 4, mask=draw.padded([4, 2], 4).then(decoder_mask)),
)
hidden(
    "post-norm with a mask for each head",
    layer_case(2, 3, norm_first=False, mask=draw.mask(2, 2, 3, 3)),
)
hidden("what is masked is not seen, whatever it is", what_is_masked_changes(False), probe=moved)
hidden(
    "earlier words do not see the last one",
    draw.changing(layer_case(2, 4, mask=causal_mask(4)), "x", 3, lambda rng, x: x + 1),
    probe=moved,
)
hidden("gradients on a batch, post-norm", layer_case(2, 3), probe=gradients, weight=2)
hidden(
    "gradients under a mask, pre-norm",
    layer_case(2, 3, norm_first=True, mask=causal_mask(3)[0, 0]),
    probe=gradients,
)
hidden("a dropout of 0 in train mode", layer_case(2, 4, train=True))
hidden(
    "dropout before the sum, post-norm",
    almost_silent(ATTENTION_SPEAKS, norm_first=False, train=True, dropout=0.5, d_model=3),
    probe=extremes,
)
hidden(
    "dropout in the network and after it, three features",
    almost_silent(NETWORK_SPEAKS, norm_first=True, train=True, dropout=0.5, d_model=3),
    probe=extremes,
)
hidden(
    "no dropout in eval mode, post-norm",
    almost_silent(ATTENTION_SPEAKS, norm_first=False, train=False, dropout=0.5, d_model=3),
    probe=extremes,
)
hidden("float32, pre-norm", gentle(torch.float32, True, batch=2))
hidden("bfloat16 in, bfloat16 out", gentle(torch.bfloat16, True))
hidden("float16 in, float16 out", gentle(torch.float16, True))
hidden("numbers that are not contiguous in memory", layer_case(2, 3), probe=returned_for_views)
hidden("x stays as it was, post-norm", layer_case(2, 3), probe=arguments_after)


wrong(
    "there is only post-norm",
    "Your layer does the same, whatever norm_first says. Where in forward do you look at it?",
    pre=post_norm,
)


wrong(
    "there is only pre-norm",
    """Your layer normalises what goes into each part, and never the sum. What is the default of
    norm_first, and which order does it mean?""",
    post=pre_norm,
)


wrong(
    "norm_first is the other one",
    "Both orders are there, but swapped. Which of the two normalises before the part?",
    post=pre_norm,
    pre=post_norm,
)


wrong(
    "attention finds the mask by itself",
    """Without a mask your result is right. Follow the argument mask through your forward: where
    does it end up?""",
    mask=None,
)


wrong(
    "True in a mask means hidden",
    "Your layer sees what should be hidden. What does True mean in a mask of this course?",
    mask=torch.logical_not,
)


wrong(
    "attention returns one thing",
    "What does MultiHeadAttention return, and which part of that does the layer go on with?",
    attend=lambda self, x, mask: self.self_attention(x, x, x, mask),
)


wrong(
    "x may be written into",
    """The numbers are right, but compare x before and after the call. Which of your operators write
    into x?""",
    pre=lambda self, x, part, norm: x.add_(self.dropout(part(norm(x)))),
)


wrong(
    "attention returns its weights first",
    """What does MultiHeadAttention return, in which order, and which part of that does the layer go
    on with?""",
    attend=lambda self, x, mask: self.self_attention(x, x, x, mask)[1],
)


wrong(
    "queries and keys are enough for attention",
    """What are the first four arguments of MultiHeadAttention's forward, and which of them do you
    give it?""",
    attend=lambda self, x, mask: self.self_attention(x, x, mask)[0],
)


wrong(
    "only pre-norm needs the mask",
    "In post-norm your attention sees what is masked. Does the mask reach it in both orders?",
    attend=lambda self, x, mask: self.self_attention(x, x, x, mask if self.norm_first else None)[0],
)


wrong(
    "only post-norm needs the mask",
    "In pre-norm your attention sees what is masked. Does the mask reach it in both orders?",
    attend=lambda self, x, mask: self.self_attention(x, x, x, None if self.norm_first else mask)[0],
)


@wrong(
    "after pre-norm comes post-norm",
    """In pre-norm x goes through both parts twice. What does your forward do after the lines for
    norm_first?""",
)
class InBothOrders(Steps):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = Steps.forward(self, x, mask)
            self.norm_first = False
            x = Steps.forward(self, x, mask)
            self.norm_first = True
            return x
        return Steps.forward(self, x, mask)


for number, name in enumerate(("attention", "the feed-forward network")):
    wrong(
        f"in post-norm the sum after {name} stays as it is",
        f"In post-norm, look at the sum after {name}. What happens to it before it goes on?",
    )(subclass(Steps, post=only(number, 2, without_norm, post_norm)))
    wrong(
        f"in pre-norm {name} reads the sum as it is",
        f"In pre-norm, what does {name} read: the sum itself?",
    )(subclass(Steps, pre=only(number, 2, without_norm, pre_norm)))
    wrong(
        f"what {name} returns is not dropped",
        f"In train mode, what should happen to the output of {name} before it is added?",
    )(
        subclass(
            Steps,
            post=only(number, 2, undropped_post_norm, post_norm),
            pre=only(number, 2, undropped_pre_norm, pre_norm),
        )
    )


wrong(
    "a part replaces what it reads",
    """In your layer, what a part returns replaces x. What does a residual connection do with the
    two?""",
    **WITHOUT_RESIDUAL,
)


wrong(
    "only attention needs a residual",
    """Around attention all is well. Compare your lines for the two parts: what does the first add
    that the second does not?""",
    post=(post_norm, WITHOUT_RESIDUAL["post"]),
    pre=(pre_norm, WITHOUT_RESIDUAL["pre"]),
)


wrong(
    "the residual starts after the norm",
    """In your pre-norm x itself is lost, because you add each result to something that is already
    normalised. Which tensor should go around the part untouched?""",
    pre=pre_norm_without_stream,
)


wrong(
    "both residuals start at the layer's input",
    """Your second sum starts again from the layer's input. What should the feed-forward network's
    output be added to?""",
    post=lambda self, x, part, norm: norm(self.start + self.dropout(part(x))),
    pre=lambda self, x, part, norm: self.start + self.dropout(part(norm(x))),
)


wrong(
    "the two parts work side by side",
    "Your feed-forward network reads the layer's input. Should it see what attention has found?",
    post=(post_norm, lambda self, x, part, norm: x + post_norm(self, self.start, part, norm)),
    pre=lambda self, x, part, norm: x + self.dropout(part(norm(self.start))),
)


wrong(
    "attention is all of it",
    """The weights of the feed-forward network do not matter to your result. How many parts does a
    layer have?""",
    order=(1,),
)


wrong(
    "one norm serves both parts",
    "norm_2 does not matter to your result. Which norm belongs to the second part?",
    norms=(1, 1),
)


@wrong(
    "two names may hold one norm",
    "norm_1 and norm_2 are one and the same module in your layer. How many norms did you make?",
    rule="made",
)
def with_one_norm(self):
    self.norm_2 = self.norm_1


wrong(
    "residuals are enough",
    "Neither norm_1 nor norm_2 matters to your result. Where in the formulas are they?",
    post=without_norm,
    pre=without_norm,
)


wrong(
    "a pre-norm layer ends with a norm too",
    """Your pre-norm result has been normalised. In the formulas of pre-norm, does a norm act on a
    sum?""",
    pre=(pre_norm, norm_at_both_ends),
)


wrong(
    "norm_1 belongs to the feed-forward network",
    """Both norms are used, but each with the other's part. In which order does the docstring name
    them?""",
    norms=(2, 1),
)


wrong(
    "the feed-forward network comes first",
    """Your two parts run in the wrong order. Which one looks around, and which one thinks about
    what was found?""",
    order=(2, 1),
    norms=(1, 2),
)


@wrong(
    "attention runs over the first axis",
    """Positions of different sentences see each other in your layer. Which axis does
    MultiHeadAttention take for the positions?""",
    rule="attend",
)
def over_the_batch(self, x, mask):
    x = x.transpose(0, 1)
    return self.self_attention(x, x, x, mask)[0].transpose(0, 1)


wrong(
    "the norm goes around the part",
    """You normalise what a part returns and add x afterwards. What does post-norm normalise: the
    part's output, or the sum?""",
    post=lambda self, x, part, norm: x + norm(self.dropout(part(x))),
)


wrong(
    "post-norm normalises x before the sum",
    """In post-norm you normalise x alone and add what the part returns afterwards. What does the
    formula have within the norm?""",
    post=lambda self, x, part, norm: norm(x) + self.dropout(part(x)),
)


wrong(
    "normalising twice is safer",
    "Each of your norms is applied twice. How often does it appear in each formula?",
    post=norm_at_both_ends,
    pre=norm_at_both_ends,
)


wrong(
    "only the query is normalised",
    """In pre-norm your queries are normalised, but your keys and values are not. In self-attention,
    are these made from different tensors?""",
    attend=lambda self, x, mask: self.self_attention(x, self.start, self.start, mask)[0],
)


wrong(
    "the network needs no dropout of its own",
    """In train mode nothing is dropped inside the feed-forward network. What did you give it when
    you made it?""",
    made=without_inner_dropout,
)


wrong(
    "dropout belongs to the network alone",
    """In train mode the outputs of the two parts are added in full. What should happen to them
    first?""",
    dropping=nn.Identity,
)


wrong(
    "dropout may go on after training",
    "Your results vary in eval mode, too. How does your dropout know which mode the layer is in?",
    dropping=AlwaysDropping,
)


wrong(
    "dropout comes after the sum",
    """In train mode you drop parts of the sum, and therefore parts of x itself. Which of the two
    terms should dropout touch?""",
    **DROPPING_THE_SUM,
)


wrong(
    "dropout comes before a part",
    "In train mode you drop what goes into a part. What does dropout act on in the statement?",
    post=lambda self, x, part, norm: norm(x + part(self.dropout(x))),
    pre=lambda self, x, part, norm: x + part(self.dropout(norm(x))),
)


@right
class LayerOfTorchsParts(Steps):
    """PyTorch's norms, each under two names, and a network that is a sequence."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=False):
        super().__init__(d_model, num_heads, d_ff, dropout, norm_first)
        self.feed_forward = NetworkAsSequence(d_model, d_ff, dropout)
        self.both = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])
        self.norm_1, self.norm_2 = self.both


@right
class LayerOfFunctions(Steps):
    def attend(self, x, mask):
        own = self.self_attention
        heads = (split_heads(each(x), own.num_heads) for each in (own.w_q, own.w_k, own.w_v))
        return own.w_o(merge_heads(F.scaled_dot_product_attention(*heads, attn_mask=mask)))

    def dropped(self, x):
        return F.dropout(x, self.dropout.p, self.training)

    def normal(self, x, norm):
        return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)

    def post(self, x, part, norm):
        return self.normal(self.dropped(part(x)) + x, norm)

    def pre(self, x, part, norm):
        return self.dropped(part(self.normal(x, norm))) + x
