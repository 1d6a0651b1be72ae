"""The dependency probe: change one input of a model, and measure how far each output moves.

The four models are the reference's, with two layers and random weights, because who may look at
whom is a matter of the masks and not of training. The encoder-decoder of chapter 8 has the masks of
T5 and takes its part. All compute in float64, so that an output that cannot move stays exactly
where it was.
"""

import torch

from book.experiments.undisturbed import undisturbed
from solutions.ch08_encoder_decoder import Transformer
from solutions.ch13_family import LanguageModel
from solutions.family.models import Bert, VisionTransformer

SENTENCE = ["the", "old", "cat", "sleeps", "here"]
SOURCE = ["the", "old", "cat", "sleeps"]
TARGET = ["<bos>", "il", "vecchio", "gatto", "dorme"]
IMAGE = [  # brightness of 6 x 6 pixels: a seven
    [0.9, 1.0, 1.0, 1.0, 1.0, 0.9],
    [0.2, 0.2, 0.2, 0.2, 0.9, 0.8],
    [0.0, 0.0, 0.0, 0.5, 1.0, 0.2],
    [0.0, 0.0, 0.1, 0.9, 0.6, 0.0],
    [0.0, 0.0, 0.5, 1.0, 0.1, 0.0],
    [0.0, 0.0, 0.8, 0.7, 0.0, 0.0],
]
PATCH = 2
SIZES = {"d_model": 16, "num_heads": 2, "num_layers": 2, "d_ff": 32}


def probed():
    """Probe the four models, for the explorer.

    Returns:
        list of dicts: `name`; `inputs` and `outputs`, lists of labels; `sources`, how many of them
        belong to an encoder beside a decoder; `moved`, lists (input, output): the root mean square
        of the change of an output's vector, which a norm has scaled; `image`, ViT's pixels.
    """
    with undisturbed(), torch.no_grad():
        torch.manual_seed(0)
        return [bert(), gpt(), t5(), vit()]


def movements(outputs_of, tensor, places):
    """Measure how far outputs move, for one changed input after the other.

    Args:
        outputs_of: takes a tensor like `tensor`; returns (outputs, features).
        tensor: the inputs.
        places: for each input a function that returns the tensor with this input changed.
    """
    before = outputs_of(tensor)
    changes = [outputs_of(change(tensor)) - before for change in places]
    return [change.square().mean(dim=-1).sqrt().tolist() for change in changes]


def other_id(place):
    """Return the function that puts another word, which the sentence doesn't have, at a place."""

    def changed(token_ids):
        return token_ids.index_fill(1, torch.tensor([place]), token_ids.max().item() + 1)

    return changed


def ids_of(words):
    """Return (1, seq_len) ids from 1 on, because 0 is padding."""
    return torch.arange(1, 1 + len(words))[None]


def bert():
    """Probe the vectors that BERT makes of a sentence."""
    model = Bert(len(SENTENCE) + 2, len(SENTENCE), **SIZES).double().eval()
    places = [other_id(place) for place in range(len(SENTENCE))]
    moved = movements(lambda ids: model(ids)[0], ids_of(SENTENCE), places)
    return {"name": "BERT", "inputs": SENTENCE, "outputs": SENTENCE, "sources": 0, "moved": moved}


def gpt():
    """Probe the vectors from which GPT scores the words."""
    model = LanguageModel(len(SENTENCE) + 2, len(SENTENCE), **SIZES).double().eval()
    found = []
    model.final_norm.register_forward_hook(lambda norm, inputs, output: found.append(output))

    def outputs_of(ids):
        model(ids)
        return found.pop()[0]

    places = [other_id(place) for place in range(len(SENTENCE))]
    moved = movements(outputs_of, ids_of(SENTENCE), places)
    return {"name": "GPT", "inputs": SENTENCE, "outputs": SENTENCE, "sources": 0, "moved": moved}


def t5():
    """Probe the encoder's vectors and the decoder's, of a model that has both."""
    sources, words = len(SOURCE), SOURCE + TARGET
    sizes = {name: SIZES[name] for name in ("d_model", "num_heads", "d_ff")}
    stacks = {f"num_{stack}_layers": SIZES["num_layers"] for stack in ("encoder", "decoder")}
    model = Transformer(len(words) + 2, len(words) + 2, **sizes, **stacks, dropout=0.0)
    model = model.double().eval()

    def outputs_of(ids):
        src, tgt = ids[:, :sources], ids[:, sources:]
        memory = model.encode(src)
        return torch.cat([memory, model.decode(tgt, memory, src)], dim=1)[0]

    moved = movements(outputs_of, ids_of(words), [other_id(place) for place in range(len(words))])
    return {"name": "T5", "inputs": words, "outputs": words, "sources": sources, "moved": moved}


def vit():
    """Probe the rows of ViT: the first one, which a class is read from, and one for each patch."""
    model = VisionTransformer(len(IMAGE), PATCH, 1, 10, **SIZES).double().eval()
    across = len(IMAGE) // PATCH

    def negated(row, column):
        def changed(image):
            copy = image.clone()
            patch = copy[:, :, PATCH * row :, PATCH * column :][:, :, :PATCH, :PATCH]
            patch.copy_(1 - patch)
            return copy

        return changed

    places = [negated(row, column) for row in range(across) for column in range(across)]
    image = torch.tensor(IMAGE, dtype=torch.float64)[None, None]
    patches = [f"patch {number + 1}" for number in range(len(places))]
    moved = movements(lambda image: model.encode(image)[0], image, places)
    outputs = ["class row", *patches]
    return {
        "name": "ViT", "inputs": patches, "outputs": outputs, "sources": 0, "moved": moved,
        "image": IMAGE,
    }  # fmt: skip
