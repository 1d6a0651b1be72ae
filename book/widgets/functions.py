"""Explorers of functions that need no trained model: each shows what a learner's own function
returns for what is set in it.

PyTorch is imported where it is needed: the first notebooks do without.
"""

import numpy as np

from book.widgets.driven import Unfit, called, drive, kind_of, made, name_of, numbers, pair

PLANE = {  # what the explorer starts from in the page of chapter 4
    "words": ["The", "cat", "sat", "on", "mat"],
    "keys": [[-2.0, 0.7], [1.8, 1.25], [-0.35, 2.0], [-1.2, -1.7], [1.7, -1.2]],
    "values": [[-2.4, -1.2], [1.4, 2.4], [1.3, -2.2], [-1.5, -2.3], [2.6, -1.0]],
}
CLOCKS = 8  # pairs of columns that have a clock, from the fastest to the slowest
POSITIONS = 193  # of the plots: positions to 128, and offsets to 64
FARTHEST = 64  # offset in the curve of similarities
MASKED = {  # what the explorer starts from in the page of chapter 6
    "words": ["<bos>", "il", "gatto", "dorme", "<pad>"],
    "x": [[0.9, 0.2], [-0.4, 1.1], [1.3, 0.8], [0.3, -1.2], [-0.9, -0.5]],
    "w_q": [[1.2, -0.6], [0.5, 1.4]],
    "w_k": [[1.0, 0.7], [-0.8, 1.1]],
    "w_v": [[1.1, -0.3], [0.4, 0.9]],
}
MASKED_IDS = [1, 4, 5, 6, 0]
ROUNDING = 1e-6  # of gradients in float32: what is smaller counts as 0
VOCABULARY = ["<pad>", "<bos>", "<eos>", "<unk>", "cats", "like", "dogs", "fish", "other"]
LONGEST_SENTENCE = 6  # words that the explorer of chapter 1 shows


def explore_lookup(embed, one_hot=None, encode=None, sentence="cats like other cats"):
    """Show the table of chapter 1, and the rows that a learner's functions take from it.

    Args:
        embed: called with ids (seq_len,) and table (vocab_size, 3); returns (seq_len, 3).
        one_hot: called with ids (seq_len,) and vocab_size; returns (seq_len, vocab_size).
        encode: called with a sentence and a vocabulary; returns (seq_len,). Without these two the
            explorer has its own.
        sentence: what it starts from.
    """
    vocabulary = {word: token_id for token_id, word in enumerate(VOCABULARY)}
    vocab_size = len(vocabulary)

    def ask(sentence, table):
        words = sentence.split()[:LONGEST_SENTENCE]
        token_ids = np.array(
            [vocabulary.get(word, vocabulary["<unk>"]) for word in words], dtype=np.int64
        )
        found = {}
        if encode:
            ids = numbers(
                called(encode, " ".join(words), dict(vocabulary)), (len(words),), "ids", encode
            )
            if not np.isin(ids, np.arange(vocab_size)).all():
                raise Unfit(
                    f"Your {name_of(encode)} returns ids that are not in the vocabulary of"
                    f" {vocab_size} words."
                )
            token_ids = ids.astype(np.int64)
            found["ids"] = token_ids
        if one_hot:
            shape = (len(words), vocab_size)
            vectors = called(one_hot, token_ids.copy(), vocab_size)
            found["oneHot"] = numbers(vectors, shape, "one-hot vectors", one_hot)
        vectors = called(embed, token_ids.copy(), np.array(table, dtype=np.float64))
        return {**found, "product": numbers(vectors, (len(words), 3), "embeddings", embed)}

    # The page's, too.
    table = np.random.default_rng(0).uniform(-1, 1, size=(vocab_size, 3)).round(1).tolist()
    return drive(
        "lookup", ask, embed, {"sentence": sentence, "table": table}, {"vocabulary": vocabulary}
    )


def explore_positions(sinusoidal_encoding, position=5, offset=3, d_model=64):
    """Show the clocks of chapter 2, set by a learner's encoding.

    Args:
        sinusoidal_encoding: called with seq_len and d_model; returns (seq_len, d_model).
        position, offset, d_model: where the sliders start; d_model is a power of two from 4 to 512.
    """

    def ask(position, offset, d_model, dial):
        shape = (POSITIONS, d_model)
        table = numbers(
            called(sinusoidal_encoding, *shape), shape, "an encoding", sinusoidal_encoding
        )
        pairs = d_model // 2
        shown = np.floor(
            np.arange(min(CLOCKS, pairs)) * (pairs - 1) / (min(CLOCKS, pairs) - 1) + 0.5
        ).astype(int)
        chosen = shown[min(dial, len(shown) - 1)]
        return {
            "first": table[position],
            "second": table[position + offset],
            "curve": table[: 2 * FARTHEST + 1] @ table[FARTHEST] / pairs,
            "wave": table[:, 2 * chosen : 2 * chosen + 2].T,
        }

    inputs = {"position": position, "offset": offset, "d_model": d_model, "dial": 1}
    return drive("positions", ask, sinusoidal_encoding, inputs)


def explore_attention(
    scaled_dot_product_attention, attention_scores=None, query=(1.6, 0.4), d_k=2, **state
):
    """Show the plane of chapter 4, with the weights and the output of a learner's attention.

    Args:
        scaled_dot_product_attention: called with query (1, d_k), key (key_len, d_k) and value
            (key_len, 2); returns output (1, 2) and weights (1, key_len).
        attention_scores: called with query and key; returns scores (1, key_len). Without it the
            explorer has its own.
        query, d_k: where the explorer starts; d_k is a power of two from 2 to 512.
        state: `words`, `keys` and `values` of one's own, as many of each, the last two as points of
            the plane.
    """
    fixed = {**PLANE, **state}

    def ask(query, d_k):
        arguments = (
            widened([query], d_k),
            widened(fixed["keys"], d_k),
            np.array(fixed["values"], dtype=np.float64),
        )
        output, weights = pair(
            called(scaled_dot_product_attention, *arguments), scaled_dot_product_attention
        )
        key_len = len(fixed["keys"])
        scores = {}
        if attention_scores:
            found = called(attention_scores, *arguments[:2])
            scores["scores"] = numbers(found, (1, key_len), "scores", attention_scores)[0]
        return {
            **scores,
            "weights": numbers(weights, (1, key_len), "weights", scaled_dot_product_attention)[0],
            "output": numbers(output, (1, 2), "an output", scaled_dot_product_attention)[0],
        }

    inputs = {"query": list(query), "d_k": d_k}
    return drive("attention", ask, scaled_dot_product_attention, inputs, fixed)


def widened(vectors, d_k):
    """Return vectors of the plane in d_k dimensions, stretched so that their dot products grow by
    sqrt(d_k / 2).
    """
    vectors = (d_k / 2) ** 0.25 * np.array(vectors, dtype=np.float64)
    return np.pad(vectors, [(0, 0), (0, d_k - 2)])


def explore_masks(masked_attention, causal_mask=None, padding_mask=None, decoder_mask=None):
    """Show the masks of chapter 6: the weights of a learner's attention, and what moves what, by
    its gradients.

    Args:
        masked_attention: called with query, key, value (1, 1, seq_len, 2) and mask (1, 1, seq_len,
            seq_len); returns output and weights.
        causal_mask, padding_mask, decoder_mask: the learner's, for the masks "causal", "padding"
            and "both"; without them the explorer has its own.
    """
    import torch

    token_ids = torch.tensor([MASKED_IDS])
    seq_len = len(MASKED_IDS)
    presets = {
        "causal": (causal_mask, seq_len),
        "padding": (padding_mask, token_ids),
        "both": (decoder_mask, token_ids),
    }
    projections = [torch.tensor(MASKED[name]) for name in ("w_q", "w_k", "w_v")]

    def ask(preset, mask):
        maker, argument = presets.get(preset, (None, None))
        mask = torch.tensor([[mask]]) if maker is None else permissions(maker, argument, seq_len)

        def attend(x):
            found = called(
                masked_attention, *(x[None, None] @ matrix for matrix in projections), mask.clone()
            )
            return pair(found, masked_attention)

        x = torch.tensor(MASKED["x"], requires_grad=True)
        output, weights = attend(x)
        weights = numbers(weights, (1, 1, seq_len, seq_len), "weights", masked_attention)[0, 0]
        numbers(output, (1, 1, seq_len, 2), "an output", masked_attention)
        slopes = called(
            torch.autograd.functional.jacobian,
            lambda x: attend(x)[0][0, 0],
            x,
            speaker=masked_attention,
        )
        sizes = numbers(
            slopes.square().sum((1, 3)).sqrt(), (seq_len, seq_len), "gradients", masked_attention
        )
        return {
            "mask": mask[0, 0].tolist(),
            "weights": weights,
            "gradients": np.where(sizes < ROUNDING, 0, sizes),
        }

    inputs = {"preset": "none", "mask": [[True] * seq_len] * seq_len}
    return drive("masking", ask, masked_attention, inputs, MASKED)


def permissions(maker, argument, seq_len):
    """Return what a learner's mask function makes, as (1, 1, seq_len, seq_len) bool.

    Raises:
        Unfit: if it is no boolean tensor that broadcasts to this shape.
    """
    import torch

    shape = (1, 1, seq_len, seq_len)
    mask = called(maker, argument.clone() if torch.is_tensor(argument) else argument)
    kind = mask.dtype if torch.is_tensor(mask) else kind_of(mask)
    if kind != torch.bool:
        raise Unfit(f"Your {name_of(maker)} returns {kind}; a mask is a boolean tensor.")
    try:
        return mask.detach().cpu().expand(shape)
    except RuntimeError as error:
        seen = tuple(mask.shape)
        raise Unfit(
            f"Your {name_of(maker)} returns a mask of shape {seen}, which does not broadcast to"
            f" {shape}."
        ) from error


def explore_layer_norm(LayerNorm, x=(1, 9, 7, 7)):
    """Show the four features of chapter 7 before and after a learner's layer normalisation.

    Args:
        LayerNorm: called with d_model and eps; its parameters are weight and bias.
        x: the four features at the start.
    """
    import torch

    def ask(x, eps, gain, bias):
        ones = torch.ones(len(x))
        module = made(LayerNorm, {"weight": gain * ones, "bias": bias * ones}, len(x), eps=eps)
        with torch.no_grad():
            result = called(module, torch.tensor([x], dtype=torch.float32), speaker=LayerNorm)
        return {"result": numbers(result, (1, len(x)), "a result", LayerNorm)[0]}

    inputs = {"x": list(x), "eps": 1e-5, "gain": 1, "bias": 0}
    return drive("layernorm", ask, LayerNorm, inputs)
