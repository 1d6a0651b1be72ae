"""A model of language: GPT, or a bidirectional encoder."""

import torch
from torch import nn
from torch.nn import functional

from autograder.authoring.checks import Checks
from autograder.authoring.draw import by_name, changing, module_case, padded
from autograder.authoring.drawn import drawn, integer
from autograder.shared.probes import (
    arguments_after,
    extremes,
    gradients,
    moved,
    numbers_at_the_start,
    returned_at_words,
    returned_for_views,
)
from solutions import ch13_family as reference
from solutions.ch02_positional_encoding import sinusoidal_encoding
from solutions.ch06_masking import causal_mask, decoder_mask, padding_mask
from solutions.ch07_layers import EncoderLayer, LayerNorm


@drawn
def model_case(
    rng,
    lengths=(4, 4),
    vocab_size=7,
    max_len=6,
    sizes=(4, 2, 1, 5),
    dropout=0.0,
    causal=True,
    pad_id=None,
    dtype=torch.float64,
    **parts,
):
    """Make the inputs of a case.

    Args:
        lengths: words of each sentence; the longest has no padding.
        sizes: d_model, num_heads, num_layers and d_ff.
        pad_id: given by name where it is not None; then 0 is a word, and among the words.
    """
    constructor = vocab_size, max_len, *sizes
    if dropout or not causal:  # in a message, a shorter call reads better
        constructor += (dropout,)
    if not causal:
        constructor += (False,)
    token_ids = padded(rng, lengths, max(lengths), vocab_size, pad_id or 0)
    token_ids[:, 0] = 1
    forward = {"token_ids": token_ids}
    if pad_id is not None:
        token_ids[:, 1] = torch.where(token_ids[:, 1] == pad_id, pad_id, 0)
        forward["pad_id"] = pad_id
    return module_case(rng, reference.LanguageModel, constructor, forward, dtype, **parts)


def another_word(rng, token_ids):
    return 9 - token_ids  # 4 becomes 5, and 5 becomes 4


@drawn
def a_word_changes(rng, position, **kind):
    case = model_case(rng, vocab_size=6, lengths=(5, 5), **kind)
    return changing(rng, case, "token_ids", position, another_word)


@drawn
def normalised_already(rng, lengths=(4, 4)):
    """Make a case without layers whose words have mean 0 and variance 1 (less what the norm adds to
    it), and whose positions are 0: a norm that does nothing changes nothing.
    """
    case = model_case(rng, lengths, sizes=(6, 1, 0, 2))
    weights = case["weights"]
    table = weights["token_embedding.weight"]
    table = table - table.mean(dim=-1, keepdim=True)
    weights["token_embedding.weight"] = table * ((1 - 1e-5) / table.var(-1, False, True)) ** 0.5
    weights["position_embedding.weight"].zero_()
    weights["final_norm.weight"].fill_(1)
    weights["final_norm.bias"].zero_()
    return case


@drawn
def a_new_model(rng, causal=True):
    made = integer(rng, 8, 20), integer(rng, 5, 9), 4, 2, integer(rng, 1, 4), 6, 0.0, causal
    return {"constructor": by_name(reference.LanguageModel, made)}


class Pieces(reference.LanguageModel):
    def mask(self, token_ids, pad_id):
        make = decoder_mask if self.causal else padding_mask
        return make(token_ids, pad_id)

    def words(self, token_ids):
        return self.token_embedding(token_ids)

    def positions(self, seq_len):
        return self.position_embedding(torch.arange(seq_len))

    def summed(self, words, positions):
        return self.dropout(words + positions)

    def through(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def scored(self, x):
        return functional.linear(self.final_norm(x), self.token_embedding.weight)

    def checked(self, seq_len):
        if seq_len > self.position_embedding.num_embeddings:
            raise ValueError("too long")

    def forward(self, token_ids, pad_id=0):
        self.checked(token_ids.shape[1])
        positions = self.positions(token_ids.shape[1])
        x = self.summed(self.words(token_ids), positions)
        return self.scored(self.through(x, self.mask(token_ids, pad_id)))


checks = Checks(
    reference.LanguageModel,
    family=Pieces,
    shortcuts="""TransformerEncoder TransformerEncoderLayer GPT2LMHeadModel GPT2Model BertModel
    LlamaModel""",
)
shown, hidden, wrong, right = checks.words

shown("two sentences without padding", model_case(), weight=3)
shown("no layer at all: words, positions, norm and scores", model_case(sizes=(4, 1, 0, 2)))
shown("words that are normalised already", normalised_already())
shown("two layers, as many words as there are positions", model_case((6, 6), sizes=(4, 2, 2, 3)))
shown("padding after the words of a GPT", model_case((4, 2)), probe=returned_at_words)
shown("a bidirectional encoder", model_case(causal=False), weight=2)
shown(
    "padding after the words of a bidirectional encoder",
    model_case((4, 2), causal=False),
    probe=returned_at_words,
    weight=2,
)
shown(
    "padding has another id",
    model_case((3, 5), causal=False, pad_id=3),
    probe=returned_at_words,
)
shown("a later word changes nothing before it", a_word_changes(2), probe=moved, weight=2)
shown("unless the model is bidirectional", a_word_changes(2, causal=False), probe=moved)
shown("more words than positions are refused", model_case((7, 7)))
shown("in eval mode nothing is dropped, even with dropout=1", model_case(dropout=1.0))
shown(
    "with dropout=1 in train mode nothing of the words is left",
    model_case(sizes=(4, 1, 0, 2), dropout=1.0, train=True),
)
shown(
    "with dropout=1 in train mode layers add nothing either",
    model_case(sizes=(4, 2, 2, 3), dropout=1.0, train=True),
)
shown("gradients", model_case((3,), sizes=(4, 1, 1, 2)), probe=gradients, weight=2)
shown(
    "the output layer has no numbers of its own",
    a_new_model(),
    probe=numbers_at_the_start,
    weight=3,
)
shown("float32 stays float32", model_case(dtype=torch.float32))
hidden("more layers, more heads", model_case((5, 5, 5), 11, 8, (6, 3, 3, 7)), weight=3)
hidden(
    "a bidirectional encoder of more layers",
    model_case((5, 5), 9, 8, (6, 2, 2, 5), causal=False),
    weight=2,
)
hidden(
    "padding in a larger batch",
    model_case((5, 2, 4), 9, 8, (4, 2, 2, 3)),
    probe=returned_at_words,
)
hidden(
    "padding in a larger batch of a bidirectional encoder",
    model_case((5, 1, 3), 9, 8, (4, 2, 2, 3), causal=False),
    probe=returned_at_words,
    weight=2,
)
hidden(
    "another id of padding, among words",
    model_case((5, 2), 9, causal=False, pad_id=5),
    probe=returned_at_words,
)
hidden("a larger batch of words that are normalised already", normalised_already((5, 5, 5)))
hidden("one word, and nothing is dropped if nobody says so", model_case((1, 1), train=True))
hidden("one word of a bidirectional encoder", model_case((1,), causal=False))
hidden("the second word changes", a_word_changes(1, sizes=(4, 2, 2, 3)), probe=moved)
hidden("the last word changes, both ways", a_word_changes(4, causal=False), probe=moved)
hidden("one word too many is refused", model_case((4, 3), max_len=3))
hidden("as many words as positions are not", model_case((5, 5), max_len=5))
hidden("eval mode, dropout=1, bidirectional", model_case(dropout=1.0, causal=False))
hidden(
    "with dropout=1 in train mode more layers add nothing",
    model_case((5, 5), sizes=(6, 3, 3, 4), dropout=1.0, train=True),
)
hidden(
    "half of the sum is dropped",
    model_case((2,), sizes=(4, 1, 0, 2), dropout=0.5, train=True),
    probe=extremes,
)
hidden("gradients through two layers", model_case(sizes=(4, 2, 2, 3)), probe=gradients, weight=2)
hidden("gradients of a bidirectional encoder", model_case((3, 3), causal=False), probe=gradients)
hidden(
    "a bidirectional one has as many numbers",
    a_new_model(False),
    probe=numbers_at_the_start,
    weight=3,
)
hidden("ids that do not lie in one piece", model_case((4, 4)), probe=returned_for_views)
hidden("the ids stay as they were", model_case((4, 2)), probe=arguments_after)


wrong(
    "layers know the order of words by themselves",
    """Shuffle the words, and your bidirectional model only shuffles its scores. What tells the
    first word from the last?""",
    positions=lambda self, seq_len: 0,
)


wrong(
    "positions count from 1",
    "Which row of `position_embedding` belongs to the first word? Python counts from 0.",
    positions=lambda self, seq_len: self.position_embedding(
        (torch.arange(seq_len) + 1).clamp(max=self.position_embedding.num_embeddings - 1)
    ),
)


wrong(
    "every word has the first position",
    "All your words have the same position.",
    positions=lambda self, seq_len: self.position_embedding(torch.zeros(seq_len, dtype=torch.long)),
)


wrong(
    "positions are sines and cosines",
    "Changing `position_embedding.weight` does not change your result. Which positions do you add?",
    positions=lambda self, seq_len: torch.from_numpy(
        sinusoidal_encoding(seq_len, self.token_embedding.embedding_dim)
    ).to(self.token_embedding.weight),
)


wrong(
    "embeddings are multiplied by the root of d_model",
    """You scale the words, as the Transformer of 2017 does. What does the statement say about the
    sum?""",
    words=lambda self, token_ids: (
        self.token_embedding(token_ids) * self.token_embedding.embedding_dim**0.5
    ),
)


wrong(
    "a GPT sees the whole sentence",
    "Change a word, and your results before it move. What may a position of a GPT see?",
    mask=lambda self, token_ids, pad_id: padding_mask(token_ids, pad_id),
)


wrong(
    "every model looks back only",
    """With `causal=False` yours is still a GPT. What may a word see in a bidirectional encoder?""",
    mask=lambda self, token_ids, pad_id: decoder_mask(token_ids, pad_id),
)


wrong(
    "causal means bidirectional",
    "You have swapped the two kinds of model. Which of them looks back only?",
    mask=lambda self, token_ids, pad_id: (padding_mask if self.causal else decoder_mask)(
        token_ids, pad_id
    ),
)


wrong(
    "padding is seen by nobody if nobody asks for it",
    """Your result is right without padding, but in your bidirectional encoder words attend to it:
    which mask do your layers get?""",
    mask=lambda self, token_ids, pad_id: causal_mask(token_ids.shape[1]) if self.causal else None,
)


wrong(
    "padding is 0",
    """Your result is right as long as padding is 0. Where do you use the argument that gives its
    id?""",
    pad_id=0,
)


wrong(
    "a mask says what is hidden",
    """Your layers see what they should not, and nothing else. What does True mean in a mask of this
    course?""",
    mask=lambda self, token_ids, pad_id: (
        ~Pieces.mask(self, token_ids, pad_id) | torch.eye(token_ids.shape[1], dtype=torch.bool)
    ),
)


@wrong(
    "the output layer learns a matrix of its own",
    """Your model has more numbers than it should. Which matrix turns a vector into scores for the
    words?""",
    rule="made",
)
def untied(self):
    self.head = nn.Linear(
        self.token_embedding.embedding_dim, self.token_embedding.num_embeddings, bias=False
    )
    self.scored = lambda x: self.head(self.final_norm(x))


@wrong(
    "the output layer has a bias",
    "What does the statement say about a bias of the output layer?",
    rule="made",
)
def with_a_bias(self):
    self.bias = nn.Parameter(torch.zeros(self.token_embedding.num_embeddings))
    self.scored = lambda x: Pieces.scored(self, x) + self.bias


wrong(
    "the embedding is not trained from behind",
    """The values are right, but the gradient of the embedding is not. It is used twice: is one of
    its two paths cut?""",
    scored=lambda self, x: functional.linear(
        self.final_norm(x), self.token_embedding.weight.detach()
    ),
)


wrong(
    "pre-norm layers need no norm behind them",
    """Changing `final_norm` does not change your result. What do pre-norm layers leave
    unnormalised?""",
    scored=lambda self, x: functional.linear(x, self.token_embedding.weight),
)


wrong(
    "there is a norm in front of the layers, too",
    "You normalise the sum before the first layer sees it. How many norms does the statement name?",
    summed=lambda self, words, positions: self.dropout(self.final_norm(words + positions)),
)


@wrong(
    "layers are post-norm",
    """Your layers normalise after the sum, as in 2017. What does the statement say about
    `norm_first`?""",
    rule="made",
)
def with_post_norm_layers(self):
    for layer in self.layers:
        layer.norm_first = False


@wrong(
    "one layer serves as all of them",
    "Only your first layer is ever used. How many are there, each with numbers of its own?",
    rule="through",
)
def through_the_first_again_and_again(self, x, mask):
    for _ in self.layers:
        x = self.layers[0](x, mask)
    return x


@wrong(
    "one layer can be put into the list several times",
    """Your layers share their numbers: changing one changes all. How often does your code make a
    layer, and how often does the list hold it?""",
    rule="made",
)
def of_one_layer_repeated(self):
    self.layers = nn.ModuleList([*self.layers[:1]] * len(self.layers))


@wrong(
    "layers all read the embeddings",
    "What does your second layer get: what the first one returns, or what it got?",
    rule="through",
)
def side_by_side(self, x, mask):
    start = x
    for layer in self.layers:
        x = layer(start, mask)
    return x


wrong(
    "layers drop enough",
    """Your result is right in eval mode. In train mode, what should happen to the sum of words and
    positions?""",
    summed=lambda self, words, positions: words + positions,
)


wrong(
    "words are dropped, positions are not",
    "What is dropped: the words, or their sum with the positions?",
    summed=lambda self, words, positions: self.dropout(words) + positions,
)


@wrong(
    "dropout is there once",
    "Your result is right in eval mode. Does your `dropout` reach the layers?",
    rule="made",
)
def layers_without_dropout(self):
    for module in self.layers.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0


@wrong(
    "dropout acts in eval mode, too",
    "When a model is used, nothing should be left to chance. How does yours know its mode?",
    rule="summed",
)
def always_dropping(self, words, positions):
    return functional.dropout(words + positions, self.dropout.p, training=True)


wrong(
    "there are always enough positions",
    """More words than `max_len` raise an error, but not the one that the docstring names. Which
    line raises it?""",
    checked=lambda self, seq_len: None,
)


@wrong(
    "a long text is cut to fit",
    "Part of the text is dropped silently. What does the docstring say under Raises?",
    rule="forward",
)
def cutting(self, token_ids, pad_id=0):
    return Pieces.forward(self, token_ids[:, : self.position_embedding.num_embeddings], pad_id)


wrong(
    "max_len itself is too long",
    "A text of exactly `max_len` words fits. Look at your comparison.",
    checked=lambda self, seq_len: Pieces.checked(self, seq_len + 1),
)


wrong(
    "the result are probabilities",
    "Your rows sum to 1. Should they yet, when the docstring says logits?",
    then=lambda logits: logits.softmax(-1),
)


wrong(
    "the result are log-probabilities",
    """Your results differ from the right ones by one number for each position. What did you do
    after the last product?""",
    then=lambda logits: logits.log_softmax(-1),
)


wrong(
    "only the last position has something to say",
    "How many positions does your result have? Training asks all of them.",
    then=lambda logits: logits[:, -1:],
)


checks.usual("in float32")


@right
class WithATiedLayer(nn.Module):
    def __init__(
        self, vocab_size, max_len, d_model, num_heads, num_layers, d_ff, dropout=0.0, causal=True
    ):
        super().__init__()
        self.max_len, self.causal = max_len, causal
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            [
                EncoderLayer(d_model, num_heads, d_ff, dropout, norm_first=True)
                for _ in range(num_layers)
            ]
        )
        self.final_norm = LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.token_embedding.weight

    def forward(self, token_ids, pad_id=0):
        if token_ids.size(1) > self.max_len:
            raise ValueError("more words than positions")
        allowed = (token_ids != pad_id)[:, None, None, :]
        if self.causal:
            seq_len = token_ids.size(1)
            allowed = allowed & torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
        x = self.drop(
            self.token_embedding(token_ids) + self.position_embedding.weight[: token_ids.size(1)]
        )
        for layer in self.layers:
            x = layer(x, allowed)
        return self.head(self.final_norm(x))


@right
class WithoutAMaskOfPadding(reference.LanguageModel):
    """A GPT's words cannot see what comes after them, so padding needs no mask of its own."""

    def forward(self, token_ids, pad_id=0):
        seq_len = token_ids.shape[1]
        if seq_len > len(self.position_embedding.weight):
            raise ValueError("more words than positions")
        x = self.token_embedding(token_ids) + self.position_embedding(torch.arange(seq_len))
        x = self.dropout(x)
        mask = causal_mask(seq_len) if self.causal else padding_mask(token_ids, pad_id)
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x) @ self.token_embedding.weight.T


@right
class WithItsOwnInitialisation(reference.LanguageModel):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.apply(self.initialise)

    @staticmethod
    def initialise(module):
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
