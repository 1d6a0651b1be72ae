"""Checks of `ch06_masking`.

The contract leaves open, and so nothing here asks: digits beyond float32, for whoever computes half
precision in float32 and comes back gives right answers in every dtype that it names.
"""

import math

import numpy as np
import torch

from autograder.authoring import draw
from autograder.authoring.exercise import Case, Exercise, Misconception
from autograder.shared.probes import (
    arguments_after,
    device_kept,
    gradients,
    moved,
    returned_for_views,
)
from solutions import ch06_masking as reference

HIDES_PADDING = ("hides_padding", {})
LOOKS_BACK = ("looks_back_only", {})
EXACT_ZEROS = ("zero_where_masked", {})
WEIGHTS_SUM_TO_ONE = ("sums_to_one", {"of": "weights"})
INSIDE_THE_VALUES = ("between_the_values", {})


def sentences(lengths, seq_len, pad_id=None, **parts):
    """Draw padded sentences of these lengths, in any order; with another `pad_id`, the id 0 is a
    word.
    """

    def inputs(rng):
        token_ids = draw.padded(rng, rng.permutation(lengths).tolist(), seq_len, pad_id=pad_id or 0)
        if pad_id is None:
            return {"token_ids": token_ids, **parts}
        token_ids[:, 0] = torch.where(token_ids[:, 0] == pad_id, token_ids[:, 0], 0)
        return {"token_ids": token_ids, "pad_id": pad_id, **parts}

    return inputs


def padding_first(lengths, seq_len):
    """Draw sentences whose padding stands in front of the words."""
    return lambda rng: {"token_ids": sentences(lengths, seq_len)(rng)["token_ids"].flip(1)}


def padding_anywhere(rng):
    """Draw sentences with padding in their middle, words at both ends of one, and one word at least
    in each.
    """
    token_ids = draw.words(rng, 3, 6).masked_fill(torch.from_numpy(rng.random((3, 6)) < 0.4), 0)
    token_ids[0, [0, 5]], token_ids[0, 2:4] = 7, 0
    token_ids[1, 0], token_ids[1, 1] = 0, 5
    token_ids[2, 3] = 8
    return {"token_ids": token_ids}


def short_ids(rng):
    return {"token_ids": sentences([4, 2, 1], 5)(rng)["token_ids"].int()}


def additive(mask):
    """Write a mask as what is added to the scores: 0 or -inf."""
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


# --- padding_mask
# ----------------------------------------------------------------------------------------------------


def padding_upside_down(token_ids, pad_id=0):
    return ~reference.padding_mask(token_ids, pad_id)


def padding_always_0(token_ids, pad_id=0):
    return reference.padding_mask(token_ids)


def padding_above(token_ids, pad_id=0):
    return (token_ids > pad_id)[:, None, None, :]


def padding_without_axes(token_ids, pad_id=0):
    return token_ids != pad_id


def padding_with_one_axis(token_ids, pad_id=0):
    return (token_ids != pad_id)[:, None, :]


def padding_of_queries(token_ids, pad_id=0):
    return (token_ids != pad_id)[:, None, :, None]


def padding_for_every_query(token_ids, pad_id=0):
    return reference.padding_mask(token_ids, pad_id).repeat(1, 1, token_ids.shape[1], 1)


def padding_additive(token_ids, pad_id=0):
    return additive(reference.padding_mask(token_ids, pad_id))


def padding_of_ones(token_ids, pad_id=0):
    return reference.padding_mask(token_ids, pad_id).int()


def padding_by_length(token_ids, pad_id=0):
    lengths = (token_ids != pad_id).sum(dim=1)
    return (torch.arange(token_ids.shape[1]) < lengths[:, None])[:, None, None]


def padding_ends_the_sentence(token_ids, pad_id=0):
    return (token_ids != pad_id).cumprod(dim=1).bool()[:, None, None]


def padding_of_the_first_sentence(token_ids, pad_id=0):
    return reference.padding_mask(token_ids[:1], pad_id)


def padding_in_place(token_ids, pad_id=0):
    return token_ids.ne_(pad_id).bool()[:, None, None]


def padding_by_view(token_ids, pad_id=0):
    batch, seq_len = token_ids.shape
    return torch.ne(token_ids, pad_id).reshape(batch, 1, 1, seq_len)


def padding_negated(token_ids, pad_id=0):
    return token_ids.eq(pad_id).logical_not().unsqueeze(1).unsqueeze(2)


def padding_by_loops(token_ids, pad_id=0):
    rows = [[[[word != pad_id for word in sentence]]] for sentence in token_ids.tolist()]
    return torch.tensor(rows, device=token_ids.device)


def padding_by_where(token_ids, pad_id=0):
    return torch.where(token_ids == pad_id, torch.tensor(0), torch.tensor(1))[
        :, None, None, :
    ].bool()


PADDING = Exercise(
    reference=reference.padding_mask,
    cases=(
        Case(
            "a word may be attended to, padding may not",
            sentences([3, 1], 3),
            properties=(HIDES_PADDING,),
            weight=2,
        ),
        Case(
            "padding may have any id, and 0 may be a word",
            sentences([3, 2], 4, pad_id=20),
            weight=2,
        ),
        Case(
            "as many sentences as positions",
            sentences([4, 3, 2, 1], 4),
            properties=(HIDES_PADDING,),
        ),
        Case(
            "padding may stand in front", padding_first([4, 2, 1], 4), properties=(HIDES_PADDING,)
        ),
        Case("the token ids stay as they were", sentences([3, 1], 3), probe=arguments_after),
        Case(
            "a larger batch",
            sentences([9, 1, 4, 6, 2], 9),
            properties=(HIDES_PADDING,),
            visible=False,
            weight=2,
        ),
        Case("another id of padding", sentences([6, 2, 3], 6, pad_id=3), visible=False, weight=2),
        Case("padding between words", padding_anywhere, properties=(HIDES_PADDING,), visible=False),
        Case(
            "a sentence of nothing but padding",
            sentences([5, 0, 2], 5),
            properties=(HIDES_PADDING,),
            visible=False,
        ),
        Case("token ids of 32 bits", short_ids, visible=False),
        Case(
            "ids that do not lie side by side",
            sentences([5, 3, 1], 5),
            returned_for_views,
            visible=False,
        ),
        Case(
            "a batch of token ids stays as it was",
            sentences([4, 2, 3], 5),
            arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "True marks what is masked",
            padding_upside_down,
            "Your mask is upside down. What does True mean here, for a word and for padding?",
        ),
        Misconception(
            "padding always has the id 0",
            padding_always_0,
            "Which id fills up? Look at the second parameter, and at what 0 stands for when padding"
            " has another id.",
        ),
        Misconception(
            "words have larger ids than padding",
            padding_above,
            "Are all words' ids larger than that of padding? It can be any number.",
        ),
        Misconception(
            "a mask has the shape of the ids",
            padding_without_axes,
            "This mask has to meet scores of shape (batch, heads, query_len, key_len). Which of"
            " their axes does yours have, and where do those that are missing belong?",
        ),
        Misconception(
            "one axis for all heads and queries is enough",
            padding_with_one_axis,
            "Count the axes of the scores from the right: which one would the batch of your mask"
            " meet?",
        ),
        Misconception(
            "the queries are masked",
            padding_of_queries,
            "Rows are queries, columns are keys. Which of them must not be padding, for the others'"
            " sake?",
        ),
        Misconception(
            "every query needs a copy",
            padding_for_every_query,
            "The mask is the same for every query. What does an axis of length 1 do when it meets a"
            " longer one?",
        ),
        Misconception(
            "a mask is what is added to the scores",
            padding_additive,
            "In this course a mask is boolean; what becomes of the scores is decided later.",
        ),
        Misconception(
            "ones and zeros are as good as True and False",
            padding_of_ones,
            "Your numbers say the right thing in the wrong type: `~` does to an integer 1 something"
            " else than to True.",
        ),
        Misconception(
            "the words of a sentence come first",
            padding_by_length,
            "Does your mask say how many words there are, or where they are? Padding may stand in"
            " front of words, too.",
        ),
        Misconception(
            "behind padding there are no words",
            padding_ends_the_sentence,
            "What comes behind the first padding in your mask? Padding may stand in front of words,"
            " too.",
        ),
        Misconception(
            "one sentence speaks for the batch",
            padding_of_the_first_sentence,
            "Each sentence has padding of its own. What is the first axis of your result?",
        ),
        Misconception(
            "the caller's ids are free to be worked in",
            padding_in_place,
            "Compare `token_ids` before and after the call. A method whose name ends in an"
            " underscore writes where it reads.",
        ),
    ),
    alternatives=(padding_by_view, padding_negated, padding_by_loops, padding_by_where),
)

# --- causal_mask
# -----------------------------------------------------------------------------------------------------


def positions(low, high, **parts):
    return lambda rng: {"seq_len": int(rng.integers(low, high + 1)), **parts}


def causal_by(diagonals, triangle=torch.tril):
    """Return a function that makes a triangle of another kind."""

    def causal_mask(seq_len, device=None):
        square = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)
        return triangle(square, diagonal=diagonals)[None, None]

    return causal_mask


def causal_everything(seq_len, device=None):
    return torch.ones(1, 1, seq_len, seq_len, dtype=torch.bool, device=device)


def causal_itself_only(seq_len, device=None):
    return torch.eye(seq_len, dtype=torch.bool, device=device)[None, None]


def causal_without_axes(seq_len, device=None):
    return reference.causal_mask(seq_len, device)[0, 0]


def causal_with_one_axis(seq_len, device=None):
    return reference.causal_mask(seq_len, device)[0]


def causal_of_floats(seq_len, device=None):
    return torch.ones(seq_len, seq_len, device=device).tril()[None, None]


def causal_additive(seq_len, device=None):
    return torch.full((1, 1, seq_len, seq_len), -math.inf, device=device).triu(1)


def causal_on_the_default_device(seq_len, device=None):
    return reference.causal_mask(seq_len)


def causal_by_tril(seq_len, device=None):
    return torch.ones((1, 1, seq_len, seq_len), dtype=torch.bool, device=device).tril()


def causal_by_triu(seq_len, device=None):
    return ~torch.triu(torch.ones(1, 1, seq_len, seq_len, device=device), diagonal=1).bool()


def causal_by_loops(seq_len, device=None):
    mask = torch.zeros(1, 1, seq_len, seq_len, dtype=torch.bool, device=device)
    for query in range(seq_len):
        for key in range(query + 1):
            mask[0, 0, query, key] = True
    return mask


def causal_by_numpy(seq_len, device=None):
    return torch.from_numpy(np.tri(seq_len, dtype=bool)).to(device)[None, None]


CAUSAL = Exercise(
    reference=reference.causal_mask,
    cases=(
        Case("a few positions", positions(3, 9), properties=(LOOKS_BACK,), weight=2),
        Case("a few more", positions(8, 20), properties=(LOOKS_BACK,), weight=2),
        Case(
            'the mask is made on the device asked for, here "meta"',
            positions(2, 20, device="meta"),
            device_kept,
        ),
        Case(
            "a long sequence", positions(40, 99), properties=(LOOKS_BACK,), visible=False, weight=2
        ),
        Case(
            "a device given by name",
            positions(2, 30, device="cpu"),
            properties=(LOOKS_BACK,),
            visible=False,
        ),
        Case("a short sequence", positions(2, 5), properties=(LOOKS_BACK,), visible=False),
        Case(
            "the device asked for, again",
            positions(2, 40, device="meta"),
            device_kept,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "rows are keys",
            causal_by(0, torch.triu),
            "Rows are queries, columns are keys. Read your last row: what may the last position"
            " attend to? Is the triangle the other way round?",
        ),
        Misconception(
            "True marks what is masked",
            causal_by(1, torch.triu),
            "Your mask is upside down: True means that a query may attend to a key. May the first"
            " position attend to itself?",
        ),
        Misconception(
            "a position must not see itself",
            causal_by(-1),
            "What is left for the first position to attend to? The word that a position predicts is"
            " not the one that it holds.",
        ),
        Misconception(
            "a position may see the next one",
            causal_by(1),
            "In training, the next position holds the very word that this one should predict. Look"
            " at the diagonal above the main one.",
        ),
        Misconception(
            "a position sees itself alone",
            causal_itself_only,
            "Look at your last row: the last position may attend to all that came before it.",
        ),
        Misconception(
            "every position sees every other",
            causal_everything,
            "Which keys lie in the future of the first query? Print the mask for three positions.",
        ),
        Misconception(
            "a mask of queries and keys has two axes",
            causal_without_axes,
            "The mask has to meet the padding mask and the scores, which have four axes. Where do"
            " batch and heads stand?",
        ),
        Misconception(
            "one axis stands for batch and heads",
            causal_with_one_axis,
            "Batch and heads are two axes. How many has your mask before those of queries and"
            " keys?",
        ),
        Misconception(
            "ones and zeros are as good as True and False",
            causal_of_floats,
            "Your triangle is right, its type is not. Which dtype has a tensor of ones unless it is"
            " told otherwise?",
        ),
        Misconception(
            "a mask is what is added to the scores",
            causal_additive,
            "In this course a mask is boolean; what becomes of the scores is decided later.",
        ),
        Misconception(
            "masks live on the CPU",
            causal_on_the_default_device,
            "Where do the functions with which you make new tensors put them? Look at the second"
            " parameter.",
        ),
    ),
    alternatives=(causal_by_tril, causal_by_triu, causal_by_loops, causal_by_numpy),
    shortcuts=("generate_square_subsequent_mask", "causal_lower_right", "causal_upper_left"),
)

# --- decoder_mask
# ----------------------------------------------------------------------------------------------------


def decoder_with(combine, causal=reference.causal_mask, padding=reference.padding_mask):
    """Return a function that combines masks in another way, or other masks."""

    def decoder_mask(token_ids, pad_id=0):
        return combine(padding(token_ids, pad_id), causal(token_ids.shape[1], token_ids.device))

    return decoder_mask


def both(words, past):
    return words & past


def decoder_with_a_default_id(token_ids, pad_id=0):
    return reference.decoder_mask(token_ids)


def decoder_on_the_default_device(token_ids, pad_id=0):
    return reference.padding_mask(token_ids, pad_id) & reference.causal_mask(token_ids.shape[1])


def decoder_of_rows_and_columns(token_ids, pad_id=0):
    mask = reference.decoder_mask(token_ids, pad_id)
    return mask & reference.padding_mask(token_ids, pad_id).mT


def decoder_that_always_sees_itself(token_ids, pad_id=0):
    itself = torch.eye(token_ids.shape[1], dtype=torch.bool, device=token_ids.device)
    return reference.decoder_mask(token_ids, pad_id) | itself


def decoder_of_the_first_sentence(token_ids, pad_id=0):
    return reference.decoder_mask(token_ids[:1], pad_id)


def decoder_without_heads(token_ids, pad_id=0):
    return reference.decoder_mask(token_ids, pad_id)[:, 0]


def decoder_additive(token_ids, pad_id=0):
    return additive(reference.decoder_mask(token_ids, pad_id))


def decoder_upside_down(token_ids, pad_id=0):
    return ~reference.decoder_mask(token_ids, pad_id)


def decoder_by_tril(token_ids, pad_id=0):
    seq_len = token_ids.shape[1]
    return (token_ids != pad_id)[:, None, None, :].expand(-1, 1, seq_len, -1).tril()


def decoder_by_product(token_ids, pad_id=0):
    return reference.padding_mask(token_ids, pad_id) * reference.causal_mask(
        token_ids.shape[1], token_ids.device
    )


def decoder_by_loops(token_ids, pad_id=0):
    batch, seq_len = token_ids.shape
    mask = torch.zeros(batch, 1, seq_len, seq_len, dtype=torch.bool, device=token_ids.device)
    for row, query in np.ndindex(batch, seq_len):
        mask[row, 0, query, : query + 1] = token_ids[row, : query + 1] != pad_id
    return mask


def decoder_by_lists(token_ids, pad_id=0):
    rows = [
        [
            [
                [key <= query and word != pad_id for key, word in enumerate(sentence)]
                for query in range(len(sentence))
            ]
        ]
        for sentence in token_ids.tolist()
    ]
    return torch.tensor(rows, device=token_ids.device)


def decoder_by_exclusion(token_ids, pad_id=0):
    position = torch.arange(token_ids.shape[-1], device=token_ids.device)
    barred = (token_ids == torch.tensor(pad_id))[:, None, None] | (position > position[:, None])
    return barred.logical_not()


DECODER_LAWS = (LOOKS_BACK, HIDES_PADDING)
DECODER = Exercise(
    reference=reference.decoder_mask,
    cases=(
        Case(
            "words, and none of them later", sentences([3, 2], 3), properties=DECODER_LAWS, weight=2
        ),
        Case(
            "as many sentences as positions",
            sentences([4, 3, 2, 1], 4),
            properties=DECODER_LAWS,
            weight=2,
        ),
        Case("padding may have any id", sentences([4, 2], 4, pad_id=20), properties=DECODER_LAWS),
        Case(
            "padding in front leaves queries with nothing",
            padding_first([3, 2], 4),
            properties=DECODER_LAWS,
        ),
        Case('the mask lies where the ids are, here on "meta"', sentences([3, 2], 3), device_kept),
        Case("the token ids stay as they were", sentences([3, 2], 3), probe=arguments_after),
        Case(
            "a larger batch",
            sentences([7, 2, 5, 4, 6], 7),
            properties=DECODER_LAWS,
            visible=False,
            weight=2,
        ),
        Case(
            "another id of padding",
            sentences([5, 3, 2], 5, pad_id=3),
            properties=DECODER_LAWS,
            visible=False,
        ),
        Case(
            "padding between words",
            padding_anywhere,
            properties=DECODER_LAWS,
            visible=False,
            weight=2,
        ),
        Case(
            "a sentence of nothing but padding",
            sentences([5, 0, 2], 5),
            properties=DECODER_LAWS,
            visible=False,
        ),
        Case("token ids of 32 bits", short_ids, properties=DECODER_LAWS, visible=False),
        Case(
            "ids that do not lie side by side",
            sentences([4, 2, 3], 4),
            returned_for_views,
            visible=False,
        ),
        Case("the device of the ids, again", sentences([4, 1, 3], 4), device_kept, visible=False),
    ),
    misconceptions=(
        Misconception(
            "either permission is enough",
            decoder_with(lambda words, past: words | past),
            "A key needs both permissions: to be a word, and not to lie in the future. How did you"
            " join them?",
        ),
        Misconception(
            "and joins what it stands between",
            decoder_with(lambda words, past: words and past),
            "Python's `and` asks whether a whole tensor is true. Which operator joins booleans"
            " entry by entry?",
        ),
        Misconception(
            "in a decoder only the future matters",
            decoder_with(lambda words, past: past.expand(len(words), -1, -1, -1)),
            "The future is masked, but may padding be attended to?",
        ),
        Misconception(
            "in a decoder only padding matters",
            decoder_with(lambda words, past: words.expand(-1, -1, words.shape[-1], -1)),
            "Padding is masked. What of the words that a query has yet to predict?",
        ),
        Misconception(
            "the queries are masked",
            decoder_with(both, padding=lambda *arguments: reference.padding_mask(*arguments).mT),
            "Your rows of padding are empty, but its columns are open: rows are queries, columns"
            " are keys.",
        ),
        Misconception(
            "padding must not attend either",
            decoder_of_rows_and_columns,
            "You emptied the rows of padding as well. The rule speaks of keys alone: what may a"
            " query of padding attend to?",
        ),
        Misconception(
            "every position may see itself",
            decoder_that_always_sees_itself,
            "Look at the diagonal where a position is padding: may anything attend to it, itself"
            " included?",
        ),
        Misconception(
            "True marks what is masked",
            decoder_upside_down,
            "Your mask is upside down: True means that a query may attend to a key.",
        ),
        Misconception(
            "the triangle's rows are keys",
            decoder_with(
                both, causal=lambda seq_len, device: reference.causal_mask(seq_len, device).mT
            ),
            "Is your triangle the other way round? Read the first row: what may the first query"
            " attend to?",
        ),
        Misconception(
            "a position must not see itself",
            decoder_with(both, causal=causal_by(-1)),
            "What is left for the first query to attend to? The word that a position predicts is"
            " not the one that it holds.",
        ),
        Misconception(
            "padding always has the id 0",
            decoder_with_a_default_id,
            "Follow `pad_id` through your function: where does it go?",
        ),
        Misconception(
            "masks live on the CPU",
            decoder_on_the_default_device,
            "Two masks can only meet on one device. Where was each of yours made?",
        ),
        Misconception(
            "one sentence speaks for the batch",
            decoder_of_the_first_sentence,
            "Each sentence has padding of its own. What is the first axis of your result?",
        ),
        Misconception(
            "heads need no axis",
            decoder_without_heads,
            "The scores have four axes. Which one has your mask lost?",
        ),
        Misconception(
            "a mask is what is added to the scores",
            decoder_additive,
            "In this course a mask is boolean; what becomes of the scores is decided later.",
        ),
    ),
    alternatives=(
        decoder_by_tril,
        decoder_by_product,
        decoder_by_loops,
        decoder_by_lists,
        decoder_by_exclusion,
    ),
    shortcuts=("generate_square_subsequent_mask",),
)

# --- masked_attention
# ------------------------------------------------------------------------------------------------


def attention_case(
    *batch, query_len, key_len, head_dim, d_v=None, mask=None, dtype=torch.float32, scale=1.0
):
    """Draw queries, keys and values; `mask(rng)` draws the mask, and without it the argument is
    left away.
    """

    def inputs(rng):
        drawn = {
            "query": draw.normal(rng, *batch, query_len, head_dim, dtype=dtype, scale=scale),
            "key": draw.normal(rng, *batch, key_len, head_dim, dtype=dtype),
            "value": draw.normal(rng, *batch, key_len, d_v or head_dim, dtype=dtype),
        }
        return drawn if mask is None else {**drawn, "mask": mask(rng)}

    return inputs


def any_mask(*shape):
    """Draw a mask in which every query may attend to something, some may not attend to all, and the
    first key is barred once.
    """

    def drawn(rng):
        mask = draw.mask(rng, *shape)
        mask[..., 0, 0], mask[..., 0, -1] = False, True
        return mask

    return drawn


def with_an_empty_row(*shape):
    """Draw a mask in which one query of each table may attend to nothing, and the last one to
    something, but not all.
    """

    def drawn(rng):
        mask = any_mask(*shape)(rng)
        mask[..., 0, :] = False
        mask[..., -1, 0], mask[..., -1, -1] = True, False
        return mask

    return drawn


def causal(seq_len):
    return lambda rng: reference.causal_mask(seq_len)


def padding(lengths, seq_len):
    return lambda rng: reference.padding_mask(sentences(lengths, seq_len)(rng)["token_ids"])


def decoder_padded_first(lengths, seq_len):
    return lambda rng: reference.decoder_mask(padding_first(lengths, seq_len)(rng)["token_ids"])


def far_below_zero(rng):
    """Draw queries and keys whose scores are all -2**32, about -4e9: exact in float32, so that the
    keys share the weight.
    """
    query, key = torch.zeros(3, 16), torch.zeros(4, 16)
    query[:, 0], key[:, 0] = 2**17, -(2**17)
    value = draw.normal(rng, 4, 2)
    return {"query": query, "key": key, "value": value, "mask": any_mask(3, 4)(rng)}


def rows_far_apart(rng):
    """Draw queries of which some have scores around 200, some around -200, and the first a masked
    key far ahead.

    At 200, exp overflows in float32, and two ways to add up a score still agree to 1e-5.
    """
    inputs = attention_case(2, query_len=3, key_len=4, head_dim=4, mask=any_mask(2, 3, 4))(rng)
    inputs["query"][:, :, 0] = 200 * torch.tensor([1.0, -1.0, 1.0])
    inputs["key"][:, :, 0] = 2
    inputs["query"][:, 0, 1], inputs["key"][:, 0, 1] = 2, 4000
    return inputs


def masked_key_far_ahead(rng):
    """Draw a masked key whose score is so high that beside it every other weight would round to
    0.
    """
    inputs = attention_case(query_len=2, key_len=3, head_dim=2, mask=any_mask(2, 3))(rng)
    inputs["query"][0, 0], inputs["key"][0, 0] = 2, 2000
    return inputs


def masked_keys_changed(mask_of_case, *batch, seq_len, head_dim):
    """Change key and value at the last position, which only the last query may attend to, or none
    where it is padding.
    """

    def inputs(rng):
        forward = attention_case(
            *batch, query_len=seq_len, key_len=seq_len, head_dim=head_dim, mask=mask_of_case
        )(rng)
        key, value = forward["key"].clone(), forward["value"].clone()
        key[..., -1, :] = 3 + draw.normal(rng, *batch, head_dim)
        value[..., -1, :] += 5
        return {"forward": forward, "changed": {"key": key, "value": value}}

    return inputs


def scores_of(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def attention_with(weights_of):
    """Return an attention whose weights come from `weights_of(scores, mask)`; without a mask it is
    right.
    """

    def masked_attention(query, key, value, mask=None):
        scores = scores_of(query, key)
        weights = torch.softmax(scores, dim=-1) if mask is None else weights_of(scores, mask)
        return weights @ value, weights

    return masked_attention


def attention_filled(stand_in, zeroed=False):
    """Return an attention in which a number takes the place of a masked score, and perhaps 0 that
    of its weight.
    """

    def weights_of(scores, mask):
        weights = torch.softmax(scores.masked_fill(~mask, stand_in), dim=-1)
        return weights.masked_fill(~mask, 0) if zeroed else weights

    return attention_with(weights_of)


def after_the_softmax(scores, mask):
    return torch.softmax(scores, dim=-1) * mask


def times_the_scores(scores, mask):
    return torch.softmax(scores * mask, dim=-1)


def mask_is_added(scores, mask):
    return torch.softmax(scores + mask, dim=-1)


def bias_of(mask, dtype):
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def added_and_swept(scores, mask):
    return torch.softmax(scores + bias_of(mask, scores.dtype), dim=-1).nan_to_num(0.0)


def output_swept(query, key, value, mask=None):
    mask = torch.tensor(True) if mask is None else mask
    weights = torch.softmax(scores_of(query, key).masked_fill(~mask, -math.inf), dim=-1)
    return (weights @ value).nan_to_num(0.0), weights.nan_to_num(0.0)


def renormalised_with_epsilon(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)


def renormalised(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


def renormalised_too_late(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def over_the_queries(scores, mask):
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-2)
    return weights.masked_fill(~mask, 0)


def lowered(scores, mask):
    return torch.softmax(scores - (~mask).to(scores.dtype) * 1e9, dim=-1)


def weights_zeroed_too_late(query, key, value, mask=None):
    if mask is None:
        return reference.masked_attention(query, key, value)
    weights = torch.softmax(
        scores_of(query, key).masked_fill(~mask, torch.finfo(query.dtype).min), dim=-1
    )
    return weights @ value, weights.masked_fill(~mask, 0)


def output_masked(query, key, value, mask=None):
    weights = torch.softmax(scores_of(query, key), dim=-1)
    output = weights @ value
    if mask is not None:
        output = output * mask.any(dim=-1, keepdim=True)
    return output, weights


def values_masked(query, key, value, mask=None):
    output, weights = reference.masked_attention(query, key, value)
    return (
        (output, weights)
        if mask is None
        else (reference.masked_attention(query, key, value, mask)[0], weights)
    )


def mask_upside_down(query, key, value, mask=None):
    return reference.masked_attention(query, key, value, None if mask is None else ~mask)


def mask_turned(query, key, value, mask=None):
    return reference.masked_attention(
        query, key, value, mask if mask is None or mask.ndim < 2 else mask.mT
    )


def mask_of_the_first_sentence(query, key, value, mask=None):
    return reference.masked_attention(
        query, key, value, mask[:1] if mask is not None and mask.ndim > 2 else mask
    )


def mask_always_there(query, key, value, mask=None):
    weights = torch.softmax(
        scores_of(query, key).masked_fill(~mask, torch.finfo(query.dtype).min), dim=-1
    )
    weights = weights.masked_fill(~mask, 0)
    return weights @ value, weights


def mask_ignored(query, key, value, mask=None):
    return reference.masked_attention(query, key, value)


def mask_turned_round_in_place(query, key, value, mask=None):
    if mask is None:
        return reference.masked_attention(query, key, value)
    barred = mask.logical_not_()
    return reference.masked_attention(query, key, value, ~barred)


def query_scaled_in_place(query, key, value, mask=None):
    with torch.no_grad():
        query /= math.sqrt(query.shape[-1])
    return reference.masked_attention(query * math.sqrt(query.shape[-1]), key, value, mask)


def left_in_float32(query, key, value, mask=None):
    return reference.masked_attention(query.float(), key.float(), value.float(), mask)


def unscaled(query, key, value, mask=None):
    return reference.masked_attention(query * math.sqrt(query.shape[-1]), key, value, mask)


def cut_off_from_the_graph(query, key, value, mask=None):
    output, weights = reference.masked_attention(query, key, value, mask)
    return output, weights.detach()


def attention_by_where(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = torch.where(
        mask, torch.where(mask, scores, torch.finfo(scores.dtype).min).softmax(-1), 0.0
    )
    return weights @ value, weights


def by_a_finite_bias(scores, mask):
    barred = (~mask).to(scores.dtype)
    weights = torch.softmax(scores + barred * torch.finfo(scores.dtype).min / 2, dim=-1)
    return weights * mask


def by_renormalising(scores, mask):
    largest = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True)
    weights = (scores - largest).clamp(max=0).exp() * mask
    total = weights.sum(dim=-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1)


def opened_where_empty(scores, mask):
    """Rows without a permission are opened before the softmax and closed behind it."""
    empty = ~mask.any(dim=-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(~(mask | empty), -math.inf), dim=-1)
    return weights.masked_fill(empty, 0)


def filled_and_swept(scores, mask):
    """The fill's own gradient is 0 at every masked score, so that it stops the nan of the
    softmax.
    """
    return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num(0.0)


def in_float32_inside(scores, mask):
    return opened_where_empty(scores.float(), mask).to(scores.dtype)


def attention_in_float32_throughout(query, key, value, mask=None):
    answers = reference.masked_attention(query.float(), key.float(), value.float(), mask)
    return tuple(each.to(query.dtype) for each in answers)


def attention_by_the_fused_kernel(query, key, value, mask=None):
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2])
    _, weights = reference.masked_attention(query, key, value, mask)
    return (
        torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask),
        weights,
    )


def attention_by_loops(query, key, value, mask=None):
    scores = scores_of(query, key)
    open_keys = (
        torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    )
    rows = [
        torch.zeros_like(row).masked_scatter(seen, row[seen].softmax(-1)) if seen.any() else 0 * row
        for row, seen in zip(scores.flatten(0, -2), open_keys.flatten(0, -2), strict=True)
    ]
    weights = torch.stack(rows).reshape(scores.shape)
    return weights @ value, weights


MASKED_LAWS = (WEIGHTS_SUM_TO_ONE, EXACT_ZEROS, INSIDE_THE_VALUES)
HALF_LAWS = (WEIGHTS_SUM_TO_ONE, EXACT_ZEROS)
MASKED = Exercise(
    reference=reference.masked_attention,
    returns=("output", "weights"),
    cases=(
        Case(
            "what is masked gets no weight, the rest share all of it",
            attention_case(query_len=2, key_len=3, head_dim=2, mask=any_mask(2, 3)),
            properties=MASKED_LAWS,
            weight=2,
        ),
        Case(
            "without a mask every key is seen",
            attention_case(query_len=2, key_len=3, head_dim=2),
            properties=(WEIGHTS_SUM_TO_ONE, INSIDE_THE_VALUES),
            weight=2,
        ),
        Case(
            "one causal mask for all sentences and heads",
            attention_case(2, 2, query_len=3, key_len=3, head_dim=2, mask=causal(3)),
            properties=MASKED_LAWS,
        ),
        Case(
            "one row of padding for each sentence",
            attention_case(2, 2, query_len=2, key_len=3, head_dim=2, mask=padding([3, 2], 3)),
            properties=MASKED_LAWS,
        ),
        Case(
            "a query that may attend to nothing gets nothing",
            attention_case(query_len=3, key_len=3, head_dim=2, mask=with_an_empty_row(3, 3)),
            properties=(EXACT_ZEROS,),
            weight=2,
        ),
        Case(
            "the gradients under a mask",
            attention_case(query_len=3, key_len=3, head_dim=2, mask=any_mask(3, 3)),
            probe=gradients,
        ),
        Case(
            "gradients stay finite where a query may attend to nothing",
            attention_case(query_len=3, key_len=3, head_dim=2, mask=with_an_empty_row(3, 3)),
            probe=gradients,
            weight=2,
        ),
        Case(
            "nothing that is masked can move an output",
            masked_keys_changed(causal(4), 1, 1, seq_len=4, head_dim=2),
            probe=moved,
        ),
        Case(
            "a masked key with by far the highest score",
            masked_key_far_ahead,
            properties=MASKED_LAWS,
        ),
        Case("scores far below zero", far_below_zero, properties=MASKED_LAWS, weight=2),
        Case(
            "bfloat16 in, bfloat16 out",
            attention_case(
                query_len=2, key_len=3, head_dim=4, mask=any_mask(2, 3), dtype=torch.bfloat16
            ),
            properties=HALF_LAWS,
        ),
        Case(
            "float16, with a query that may attend to nothing",
            attention_case(
                query_len=3,
                key_len=3,
                head_dim=4,
                mask=with_an_empty_row(3, 3),
                dtype=torch.float16,
            ),
            properties=(EXACT_ZEROS,),
        ),
        Case(
            "the arguments stay as they were",
            attention_case(query_len=2, key_len=3, head_dim=2, mask=any_mask(2, 3)),
            probe=arguments_after,
        ),
        Case(
            "batch and heads, each with a table of its own",
            attention_case(
                2, 3, query_len=4, key_len=5, head_dim=3, d_v=2, mask=any_mask(2, 3, 4, 5)
            ),
            properties=MASKED_LAWS,
            visible=False,
            weight=2,
        ),
        Case(
            "a mask for each head",
            attention_case(2, 3, query_len=3, key_len=3, head_dim=3, mask=any_mask(1, 3, 3, 3)),
            properties=MASKED_LAWS,
            visible=False,
        ),
        Case(
            "one table, fewer axes than the scores",
            attention_case(3, 2, query_len=3, key_len=4, head_dim=2, mask=any_mask(3, 4)),
            properties=MASKED_LAWS,
            visible=False,
        ),
        Case(
            "one row of a mask for every query",
            attention_case(query_len=4, key_len=5, head_dim=3, mask=any_mask(1, 5)),
            properties=MASKED_LAWS,
            visible=False,
        ),
        Case(
            "padding of sentences of different lengths",
            attention_case(3, 2, query_len=4, key_len=4, head_dim=4, mask=padding([4, 2, 1], 4)),
            properties=MASKED_LAWS,
            visible=False,
        ),
        Case(
            "a sentence of nothing but padding beside another",
            attention_case(2, 2, query_len=3, key_len=4, head_dim=2, mask=padding([3, 0], 4)),
            properties=(EXACT_ZEROS,),
            visible=False,
            weight=2,
        ),
        Case(
            "gradients of a decoder whose padding comes first",
            attention_case(
                2, 1, query_len=4, key_len=4, head_dim=3, mask=decoder_padded_first([3, 2], 4)
            ),
            probe=gradients,
            visible=False,
            weight=2,
        ),
        Case(
            "gradients without a mask",
            attention_case(2, query_len=3, key_len=4, head_dim=3),
            probe=gradients,
            visible=False,
        ),
        Case(
            "gradients in bfloat16 beside an empty row",
            attention_case(
                query_len=2,
                key_len=3,
                head_dim=2,
                mask=with_an_empty_row(2, 3),
                dtype=torch.bfloat16,
            ),
            probe=gradients,
            visible=False,
        ),
        Case(
            "padding cannot move an output",
            masked_keys_changed(padding([3, 4], 5), 2, 1, seq_len=5, head_dim=3),
            probe=moved,
            visible=False,
        ),
        Case(
            "rows whose scores lie far apart", rows_far_apart, properties=MASKED_LAWS, visible=False
        ),
        Case(
            "scores below any everyday number",
            far_below_zero,
            properties=MASKED_LAWS,
            visible=False,
            weight=2,
        ),
        Case(
            "float32 in, float32 out",
            attention_case(
                2, 2, query_len=3, key_len=3, head_dim=4, mask=causal(3), dtype=torch.float32
            ),
            properties=MASKED_LAWS,
            visible=False,
        ),
        Case(
            "float16 in, float16 out",
            attention_case(
                2, 2, query_len=3, key_len=3, head_dim=4, mask=causal(3), dtype=torch.float16
            ),
            properties=HALF_LAWS,
            visible=False,
        ),
        Case(
            "bfloat16, with a query that may attend to nothing",
            attention_case(
                2,
                query_len=3,
                key_len=4,
                head_dim=4,
                mask=with_an_empty_row(3, 4),
                dtype=torch.bfloat16,
            ),
            properties=(EXACT_ZEROS,),
            visible=False,
        ),
        Case(
            "tensors that do not lie side by side",
            attention_case(2, 2, query_len=3, key_len=3, head_dim=4, mask=any_mask(2, 1, 3, 3)),
            probe=returned_for_views,
            visible=False,
        ),
        Case(
            "arguments of a whole batch stay as they were",
            attention_case(2, 2, query_len=3, key_len=3, head_dim=2, mask=any_mask(2, 1, 3, 3)),
            probe=arguments_after,
            visible=False,
        ),
    ),
    misconceptions=(
        Misconception(
            "True marks what is masked",
            mask_upside_down,
            "You bar what is allowed and allow what is barred. What does True mean in this course?",
        ),
        Misconception(
            "the weights are masked",
            attention_with(after_the_softmax),
            "The mask comes too late. The weights that are left no longer sum to 1, and what was"
            " barred still counts in the softmax that made them. Where do scores become weights?",
        ),
        Misconception(
            "a masked score is 0",
            attention_with(times_the_scores),
            "A score of 0 is a score like any other: what is its exponential? Which score has an"
            " exponential of 0?",
        ),
        Misconception(
            "True and False can be added to scores",
            attention_with(mask_is_added),
            "Adding True raises a score by 1, and adding False leaves it. What should be added"
            " where a key is barred?",
        ),
        Misconception(
            "-inf is all that is needed",
            attention_filled(-math.inf),
            "What is the softmax of a row in which every score is -inf? Divide 0 by 0 to find out.",
        ),
        Misconception(
            "nan_to_num on the weights mends all, where -inf was added",
            attention_with(added_and_swept),
            "You sweep nan out of the result, but the way back still goes through the softmax that"
            " made it. Can you keep nan from arising?",
        ),
        Misconception(
            "nan_to_num on the output mends all",
            output_swept,
            "The output is clean, but the weights that made it were nan, and the gradient of the"
            " values is a product with them.",
        ),
        Misconception(
            "-1e9 is as good as -inf",
            attention_filled(-1e9),
            "How far does float16 reach? Could a score lie below -1e9 itself? And what does a"
            " softmax make of a row in which all scores are the same?",
        ),
        Misconception(
            "a score lowered by 1e9 is a score of -inf",
            attention_with(lowered),
            "If all scores of a row are lowered by the same number, what does the softmax make of"
            " them? And how far does float16 reach?",
        ),
        Misconception(
            "what every dtype holds is what float32 holds",
            attention_filled(torch.finfo(torch.float32).min, zeroed=True),
            "Your lowest number is that of one dtype. Which dtype do the scores have?",
        ),
        Misconception(
            "zeros in the returned weights are enough",
            weights_zeroed_too_late,
            "The weights that you return are right. Are they the ones that made the output?",
        ),
        Misconception(
            "-1e4 fits every dtype",
            attention_filled(-1e4),
            "Could scores lie below your stand-in? And what does a softmax make of a row in which"
            " all of them are the same?",
        ),
        Misconception(
            "-1e4, and zeros behind it, hold for all scores",
            attention_filled(-1e4, zeroed=True),
            "Scores may be of any size. What if those that are allowed lie below the number that"
            " stands for -inf?",
        ),
        Misconception(
            "-1e9, and zeros behind it, hold for all dtypes",
            attention_filled(-1e9, zeroed=True),
            "Does the number that stands for -inf fit into float16? And what if the scores that are"
            " allowed lie below it?",
        ),
        Misconception(
            "the lowest number alone gives nothing to an empty row",
            lambda query, key, value, mask=None: attention_filled(torch.finfo(query.dtype).min)(
                query, key, value, mask
            ),
            "If all scores of a row are equally low, what does the softmax make of them? A query"
            " that may attend to nothing should get nothing.",
        ),
        Misconception(
            "what is left can be divided by its sum",
            attention_with(renormalised),
            "You divide by the sum of what the mask has left. When is that sum 0, and what should"
            " happen then?",
        ),
        Misconception(
            "a small epsilon makes the division safe",
            attention_with(renormalised_with_epsilon),
            "Your weights are divided by a little too much, and in float16 your epsilon is 0. When"
            " is the sum 0, and what should happen then?",
        ),
        Misconception(
            "weights that rounded to 0 can be scaled up again",
            attention_with(renormalised_too_late),
            "What if a masked key has by far the largest score? Look at the weights of the others"
            " before you divide.",
        ),
        Misconception(
            "the softmax runs over the queries",
            attention_with(over_the_queries),
            "Take one query: over which axis do its weights have to sum to 1?",
        ),
        Misconception(
            "the output is masked",
            output_masked,
            "You mask queries, and only behind the average. Which keys took part in it?",
        ),
        Misconception(
            "the unmasked weights are what is returned",
            values_masked,
            "The output is right. Which weights made it, and which do you return?",
        ),
        Misconception(
            "rows of the mask are keys",
            mask_turned,
            "Rows are queries, columns are keys. Does your mask meet the scores as it is?",
        ),
        Misconception(
            "one sentence's mask serves the batch",
            mask_of_the_first_sentence,
            "Each sentence has a mask of its own. Does yours reach all of them?",
        ),
        Misconception(
            "there is always a mask",
            mask_always_there,
            "What does your function do with the mask that it is given when nobody gives one?",
        ),
        Misconception(
            "the mask can wait",
            mask_ignored,
            "These are the weights without any mask.",
        ),
        Misconception(
            "the caller's mask is free to be worked in",
            mask_turned_round_in_place,
            "Compare `mask` before and after the call. A method whose name ends in an underscore"
            " writes where it reads.",
        ),
        Misconception(
            "the caller's query is free to be worked in",
            query_scaled_in_place,
            "Compare `query` before and after the call. Which line of yours writes into it instead"
            " of making a tensor of its own?",
        ),
        Misconception(
            "float32 is always welcome",
            left_in_float32,
            "Working in a wider dtype is fine. In which one does the caller expect the result?",
        ),
        Misconception(
            "the dot products are the scores",
            unscaled,
            "The weights are sharper than they should be. What happens to the dot products before"
            " the softmax?",
        ),
        Misconception(
            "returned weights are only to be looked at",
            cut_off_from_the_graph,
            "The numbers are right, but somewhere the weights lose their history, and no gradient"
            " finds its way back.",
        ),
    ),
    alternatives=(
        attention_by_where,
        attention_with(by_a_finite_bias),
        attention_with(by_renormalising),
        attention_with(opened_where_empty),
        attention_with(filled_and_swept),
        attention_with(in_float32_inside),
        attention_in_float32_throughout,
        attention_by_the_fused_kernel,
        attention_by_loops,
    ),
    shortcuts=(
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
        "MultiheadAttention",
        "flex_attention",
    ),
)

EXERCISES = (PADDING, CAUSAL, DECODER, MASKED)
