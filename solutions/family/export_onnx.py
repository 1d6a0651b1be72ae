"""Chapter 13's small language models as files that a browser can run: an ONNX graph and its words.

`NAME.onnx` takes `token_ids`, (1, seq_len) for any length up to the model's, and returns `logits`,
(seq_len, vocab_size). `NAME.json` holds `words`, where a word's place in the list is its id, and
`max_len`.
"""

import json
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

from solutions.translator.export_onnx import graph

SMALL = 64  # numbers: less than this is not worth a node that widens it


class Scores(nn.Module):
    """Score the words at each position of one sequence.

    Args:
        model: LanguageModel.
        pad_id: the id of its padding.
    """

    def __init__(self, model, pad_id):
        super().__init__()
        self.model, self.pad_id = model, pad_id

    def forward(self, token_ids):
        """Return logits (seq_len, vocab_size) for `token_ids` (1, seq_len)."""
        return self.model(token_ids, self.pad_id)[0]


def export(model, words, pad_id, folder, name):
    """Write a model and its words for a browser.

    Args:
        model: LanguageModel; it is left in eval mode.
        words: list of str in the order of their ids.
        pad_id: the id of padding; -1 where no id is.
        folder: gets `NAME.onnx` and `NAME.json`.
        name: of the files.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    inputs = {"token_ids": torch.tensor([[1, 2, 3]])}
    length = torch.export.Dim("seq_len", max=model.position_embedding.num_embeddings)
    whole = graph(Scores(model, pad_id), inputs, ({1: length},), ("logits",))
    onnx.save(halved(whole), folder / f"{name}.onnx")
    about = {"words": list(words), "max_len": model.position_embedding.num_embeddings}
    (folder / f"{name}.json").write_text(
        json.dumps(about, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )


def halved(model):
    """Store in 16 bits all parameters that lose nothing by it, as those do that were read from a
    file of 16 bits; the graph widens them again before it computes.
    """
    parameters = list(model.graph.initializer)
    del model.graph.initializer[:]
    widened = []
    for parameter in parameters:
        numbers = numpy_helper.to_array(parameter)
        if numbers.dtype == np.float32 and numbers.size > SMALL:
            short = numbers.astype(np.float16)
            if np.array_equal(short, numbers):
                half = f"{parameter.name}.half"
                widened.append(
                    onnx.helper.make_node(
                        "Cast", [half], [parameter.name], to=onnx.TensorProto.FLOAT
                    )
                )
                parameter = numpy_helper.from_array(short, half)
        model.graph.initializer.append(parameter)
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*widened, *nodes])
    return model
